// A click that was meant for something else must not decide. A page may lure somebody into a double click on
// its own window and bring this page under the pointer in between; frame-ancestors does not prevent that.
// So the two answers take no click until they have been in view for a moment. Without JavaScript they do at once.

const LONG_ENOUGH_TO_SEE = 600; // milliseconds, more than a double click takes

const answers = [...document.querySelectorAll(".decision button")];
let timer = 0;

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
document.addEventListener("visibilitychange", wait);
window.addEventListener("focus", wait);
wait();
