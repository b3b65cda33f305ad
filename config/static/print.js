// Shows the button that prints the page. Without scripts, the browser's menu prints it.
"use strict";
const button = document.querySelector("[data-print]");
button.hidden = false;
button.addEventListener("click", () => window.print());
