// Prevents clickjacking by a double click: a hostile page can make the user double-click on its own window and
// bring this page under the pointer between the clicks; frame-ancestors does not prevent that. So the pointer does
// not reach the answers until they have been visible for a moment. The keyboard does, and the answers are enabled
// at all times.

const LONG_ENOUGH_TO_SEE = 600; // milliseconds, more than a double click takes
const answers = [...document.querySelectorAll("[data-while-open] [name=decision]")];

function wait() {
  for (const answer of answers) answer.animate({ pointerEvents: ["none", "none"] }, LONG_ENOUGH_TO_SEE);
}

document.addEventListener("visibilitychange", wait);
window.addEventListener("focus", wait);
wait();
