// Prevents clickjacking by a double click: a hostile page can make the user double-click on its own window and
// bring this page under the pointer between the clicks; frame-ancestors does not prevent that. So the two buttons
// ignore clicks until they have been visible for a moment. Without JavaScript they work at once.

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
