// Shows on a disabled button how long the user has to wait, and removes the sentence beside it once the wait is
// over. Without JavaScript the button works, and the next page shows the time.

for (const button of document.querySelectorAll("button[data-ready-in]")) {
  const words = button.textContent;
  const sentence = document.getElementById(button.getAttribute("aria-describedby"));
  const readyAt = Date.now() + Number(button.dataset.readyIn) * 1000;

  const show = () => {
    const seconds = Math.ceil((readyAt - Date.now()) / 1000);
    if (seconds > 0) {
      const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
      button.textContent = `${words} (${clock})`;
      button.setAttribute("aria-disabled", "true");
      setTimeout(show, 250);
    } else {
      button.textContent = words;
      button.removeAttribute("aria-disabled");
      if (sentence) sentence.hidden = true;
    }
  };

  button.addEventListener("click", (event) => {
    if (button.hasAttribute("aria-disabled")) event.preventDefault();
  });
  show();
}
