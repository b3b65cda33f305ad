// Warns two minutes before a request ends, without taking the focus, and asks for more time in the background,
// so that nothing that was chosen on the page is lost. When it has ended, what could answer it disappears.
// Without JavaScript the page has a form for more time, and a late answer leads to a page that says so.

(() => {
  const EARLY_ENOUGH = 120; // seconds before the end
  const LONGEST_SLEEP = 15; // seconds; timers stand still while a computer sleeps, so the clock is looked at again
  const warning = document.querySelector(".time-warning");
  const clock = new Intl.DateTimeFormat(document.documentElement.lang, { timeStyle: "short" });
  let end = Date.now() + Number(warning.dataset.seconds) * 1000;
  let timer = 0;

  function show(part) {
    for (const one of warning.children) one.hidden = one.dataset.part !== part;
    for (const one of document.querySelectorAll("[data-while-open]")) one.hidden = part === "over";
    for (const one of document.querySelectorAll("[data-when-over]")) one.hidden = part !== "over";
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
    timer = setTimeout(look, Math.min(next, LONGEST_SLEEP) * 1000 + 50);
  }

  // The page as it is now; only the browser itself may follow a redirect, which may lead to another site.
  async function pageNow() {
    const answer = await fetch(location.pathname, { redirect: "manual", cache: "no-store" });
    const page = new DOMParser().parseFromString(answer.ok ? await answer.text() : "", "text/html");
    return page.querySelector(".time-warning") && page;
  }

  function adopt(page) {
    const fresh = page.querySelector(".time-warning");
    end = Date.now() + Number(fresh.dataset.seconds) * 1000;
    for (const time of page.querySelectorAll("time")) time.textContent = clock.format(new Date(time.dateTime));
    warning.replaceChildren(...fresh.children);
    const [until, newly] = [document, page].map((each) => each.querySelector(".deadline > [data-while-open]"));
    if (newly) until?.replaceWith(newly);
    show("given");
    warning.focus({ preventScroll: true }); // the button that had the focus is gone
    look();
  }

  async function ask(form, button) {
    const body = new URLSearchParams(new FormData(form, button));
    await fetch(form.action, { method: "POST", body, redirect: "manual", cache: "no-store" });
    const page = await pageNow();
    if (page) adopt(page);
    else location.replace(form.action); // over meanwhile, or the answer to a form: leads to what comes next
  }

  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (button?.value !== "more_time") return;
    event.preventDefault();
    ask(event.target, button).catch(() => location.replace(event.target.action));
  });
  document.addEventListener("visibilitychange", look);
  for (const name of ["pageshow", "focus"]) window.addEventListener(name, look);
  look();
})();
