// Adds a button that copies to every code block of the page and to every element with `data-copyable`, whose
// value is the name of what is copied. The script element has the texts of the buttons.
"use strict";
const { copy, copied } = document.currentScript.dataset;

function buttonFor(element) {
  const button = document.createElement("button");
  const name = element.dataset.copyable || element.getAttribute("aria-label");
  button.type = "button";
  button.className = "button-plain small copy-button";
  button.textContent = copy;
  if (name) button.setAttribute("aria-label", `${copy}: ${name}`);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(element.textContent.trimEnd());
    button.textContent = copied;
    button.setAttribute("aria-label", copied);
    setTimeout(() => button.replaceWith(buttonFor(element)), 2000);
  });
  return button;
}

if (navigator.clipboard) {
  for (const element of document.querySelectorAll("pre.code, [data-copyable]")) {
    element.after(buttonFor(element));
  }
}
