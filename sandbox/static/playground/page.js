// Functions that both pages of the playground use.

/** Where the request is remembered until its answer comes: in this tab only. */
export const MEMORY = "playground-request";

/** The element of that id; throws for one that the template does not have. */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element;
}

/** The JSON that the server wrote into the page. */
export function fromPage(id) {
  return JSON.parse(byId(id).textContent);
}

/** Makes every [data-copy] button copy the text of the element it names. */
export function offerCopying() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    const label = button.textContent;
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(visibleText(byId(button.dataset.copy)));
      button.textContent = button.dataset.copied;
      setTimeout(() => (button.textContent = label), 2000);
    });
  }
}

function visibleText(element) {
  if (element.hidden) return "";
  return [...element.childNodes].map((node) => (node.nodeType === 3 ? node.data : visibleText(node))).join("");
}
