// Polls the state of an identity check and changes only the announcement, so that the focus and the position of a
// screen reader are kept. The interval grows, and polling stops while the page is hidden. Without JavaScript the
// page refreshes itself. Where the person has to follow a link first (`data-begins`), the announcement is hidden
// until they do, or until there is something new: the wallet may also be opened in another tab.

const SOON = 5_000; // milliseconds until the first poll
const AT_MOST = 30_000; // milliseconds at most between two polls
const TO_BE_READ = 1_500; // milliseconds for which the last announcement is shown

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

function announce(text) {
  announcement.hidden = false; // first, because screen readers read what changes in sight
  announcement.textContent = text;
}

function goOn() {
  over = true;
  announce(announcement.dataset.over);
  setTimeout(() => location.replace(location.pathname), TO_BE_READ);
}

async function ask() {
  if (asking || over) return;
  asking = true;
  try {
    // Only the browser itself may follow a redirect, which may lead to another site.
    const answer = await fetch(location.pathname, { redirect: "manual", cache: "no-store" });
    if (answer.type === "opaqueredirect") return goOn();
    if (answer.status !== 429 && answer.status < 500) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const said = page.querySelector(".waiting");
      if (!said) return goOn();
      if (said.textContent !== announcement.textContent) {
        heading.textContent = page.querySelector("h1").textContent;
        announce(said.textContent);
      }
    }
  } catch {
    // No connection at the moment: the next poll may succeed.
  } finally {
    asking = false;
  }
  askLater();
}

document.querySelector("[data-begins]")?.addEventListener("click", () => announce(announcement.textContent));
document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : askNow()));
askLater();
