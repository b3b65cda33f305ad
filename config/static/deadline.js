// Warns two minutes before a request ends, without taking the focus, and asks for more time in the background,
// so that nothing that was chosen on the page is lost. Without JavaScript the same form works by itself.

(() => {
  const EARLY_ENOUGH = 120; // seconds before the end
  const warning = document.querySelector(".time-warning");
  const clock = new Intl.DateTimeFormat(document.documentElement.lang, { timeStyle: "short" });
  let end = Date.now() + Number(warning.dataset.seconds) * 1000;
  let timer = 0;

  function show(part) {
    for (const one of warning.children) one.hidden = one.dataset.part !== part;
  }

  function look() {
    clearTimeout(timer);
    const seconds = (end - Date.now()) / 1000;
    if (seconds <= 0) {
      show("over");
      return;
    }
    if (seconds <= EARLY_ENOUGH) show("soon");
    const next = seconds > EARLY_ENOUGH ? seconds - EARLY_ENOUGH : seconds;
    timer = setTimeout(look, next * 1000 + 50);
  }

  // The page as it is now; only the browser itself may follow a redirect, which may lead to another site.
  async function pageNow() {
    const answer = await fetch(location.pathname, { redirect: "manual", cache: "no-store" });
    const page = new DOMParser().parseFromString(answer.ok ? await answer.text() : "", "text/html");
    return page.querySelector(".time-warning") && page;
  }

  // early: whether the button below the page was pressed, and not that of the warning.
  function adopt(page, early) {
    const fresh = page.querySelector(".time-warning");
    end = Date.now() + Number(fresh.dataset.seconds) * 1000;
    const sentence = page.querySelector(".deadline");
    for (const time of fresh.querySelectorAll("time")) time.textContent = clock.format(new Date(time.dateTime));
    warning.replaceChildren(...fresh.children);
    if (sentence) {
      for (const time of sentence.querySelectorAll("time")) time.textContent = clock.format(new Date(time.dateTime));
      document.querySelector(".deadline")?.replaceWith(sentence);
    }
    const said = early && sentence ? sentence.querySelector(".notice") : warning;
    if (said === warning) show("given");
    else said.hidden = false;
    said.focus({ preventScroll: true }); // the button that had the focus is gone
    look();
  }

  async function ask(form, button) {
    const body = new URLSearchParams(new FormData(form, button));
    await fetch(form.action, { method: "POST", body, redirect: "manual", cache: "no-store" });
    const page = await pageNow();
    if (page) adopt(page, form.closest(".deadline") !== null);
    else location.replace(form.action); // over meanwhile, or the answer to a form: leads to what comes next
  }

  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (button?.value !== "more_time") return;
    event.preventDefault();
    ask(event.target, button).catch(() => location.replace(event.target.action));
  });
  document.addEventListener("visibilitychange", look);
  window.addEventListener("pageshow", look);
  look();
})();
