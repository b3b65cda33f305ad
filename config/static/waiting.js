// Asks whether an identity check has moved on and changes nothing else on the page, so that focus and a screen
// reader's place stay. It asks less and less often, and not while nobody can see the page. Without JavaScript the
// page refreshes itself.

const SOON = 5_000; // milliseconds until the first question
const AT_MOST = 30_000; // between two questions
const TO_BE_READ = 1_500; // how long the last announcement stands before the page goes on

const announcement = document.querySelector(".waiting");
const heading = document.querySelector("h1");
let pause = SOON;
let timer = 0;
let asking = false;
let over = false;

function askLater() {
  clearTimeout(timer);
  if (document.hidden || over) return;
  timer = setTimeout(ask, pause);
  pause = Math.min(pause * 1.25, AT_MOST);
}

function askNow() {
  clearTimeout(timer);
  pause = SOON;
  if (!document.hidden) ask();
}

function goOn() {
  over = true;
  announcement.textContent = announcement.dataset.over;
  setTimeout(() => location.replace(location.pathname), TO_BE_READ);
}

async function ask() {
  if (asking || over) return;
  asking = true;
  try {
    // A redirect leads on, perhaps to another site: only the browser itself is to follow it.
    const answer = await fetch(location.pathname, { redirect: "manual", cache: "no-store" });
    if (answer.type === "opaqueredirect") return goOn();
    if (answer.status !== 429 && answer.status < 500) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const said = page.querySelector(".waiting");
      if (!said) return goOn();
      if (said.textContent !== announcement.textContent) {
        heading.textContent = page.querySelector("h1").textContent;
        announcement.textContent = said.textContent;
      }
    }
  } catch {
    // No connection at the moment: the next question may get through.
  } finally {
    asking = false;
  }
  askLater();
}

document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : askNow()));
window.addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  over = false; // Back has revived the page: perhaps after it had gone on
  askNow();
});
askLater();
