// Sends one form at a time. A second click, or Enter after a script has sent the code, would make the browser drop the
// reply to the first: and with it the presentation, or the session that a code began, which works only once. So a
// further form is not sent until the reply should long be there.
"use strict";

const LONGEST_REPLY = 20_000; // milliseconds
let sentAt = -Infinity;

// On the window, so that it comes after the scripts that send a form in their own way.
window.addEventListener("submit", (event) => {
  const method = event.submitter?.formMethod || event.target.method;
  if (event.defaultPrevented || method !== "post") return;
  if (performance.now() - sentAt < LONGEST_REPLY) event.preventDefault();
  else sentAt = performance.now();
});
window.addEventListener("pageshow", () => (sentAt = -Infinity));
