// Prevents clickjacking by a double click: a hostile page can make the user double-click on its own window and
// bring this page under the pointer between the clicks; frame-ancestors does not prevent that. So the two buttons
// ignore clicks until they have been visible for a moment. Without JavaScript they work at once.
//
// A second click while the answer is on its way would make the browser drop the reply to the first, and with it the
// presentation, which is sent only once. So it is ignored until the reply should long be there.

const LONG_ENOUGH_TO_SEE = 600; // milliseconds, more than a double click takes

const answers = [...document.querySelectorAll(".decision button")];
const LONGEST_REPLY = 20_000; // milliseconds
let timer = 0;
let sentAt = -Infinity;

function wait() {
  clearTimeout(timer);
  for (const answer of answers) answer.setAttribute("aria-disabled", "true");
  timer = setTimeout(() => {
    for (const answer of answers) answer.removeAttribute("aria-disabled");
  }, LONG_ENOUGH_TO_SEE);
}

for (const answer of answers) {
  answer.addEventListener("click", (event) => {
    if (answer.hasAttribute("aria-disabled")) event.preventDefault();
  });
}
// On the window, so that it comes after those who send the form in their own way.
window.addEventListener("submit", (event) => {
  if (event.defaultPrevented || !answers.some((answer) => answer.form === event.target)) return;
  if (performance.now() - sentAt < LONGEST_REPLY) event.preventDefault();
  else sentAt = performance.now();
});
window.addEventListener("pageshow", () => {
  sentAt = -Infinity; // back from where the answer led to
});
document.addEventListener("visibilitychange", wait);
window.addEventListener("focus", wait);
wait();
