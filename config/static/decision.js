// Prevents clickjacking by a double click: a hostile page can make the user double-click on its own window and
// bring this page under the pointer between the clicks; frame-ancestors does not prevent that. So the pointer does
// not reach the answers until they have been visible for a moment. The keyboard does, and the answers are enabled
// at all times.
//
// A second click while the answer is on its way would make the browser drop the reply to the first, and with it the
// presentation, which is sent only once. So it is ignored until the reply should long be there.

const LONG_ENOUGH_TO_SEE = 600; // milliseconds, more than a double click takes
const LONGEST_REPLY = 20_000; // milliseconds
const answers = [...document.querySelectorAll("[data-while-open] [name=decision]")];
let sentAt = -Infinity;

function wait() {
  for (const answer of answers) answer.animate({ pointerEvents: ["none", "none"] }, LONG_ENOUGH_TO_SEE);
}

// On the window, so that it comes after those who send the form in their own way.
window.addEventListener("submit", (event) => {
  if (event.defaultPrevented || !answers.includes(event.submitter)) return;
  if (performance.now() - sentAt < LONGEST_REPLY) event.preventDefault();
  else sentAt = performance.now();
});
document.addEventListener("visibilitychange", wait);
window.addEventListener("focus", wait);
wait();
