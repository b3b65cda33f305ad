// Asks while an e-mail is being sent, and replaces only the sentence about it, so that what was typed stays.
// The interval grows, and nothing is asked while the page is hidden. Without JavaScript the page loads itself again.

const SOON = 1_000; // milliseconds until the first question
const AT_MOST = 10_000; // milliseconds at most between two questions

let pause = SOON;
let timer = 0;

const shown = () => document.querySelector("[data-email-state]");
const over = () => !["sending", "delayed"].includes(shown().dataset.emailState);

async function ask() {
  try {
    // A redirect means that the browser has signed in elsewhere: the person finds that out with the next click.
    const answer = await fetch(location.pathname, { redirect: "manual", cache: "no-store" });
    if (answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const said = page.querySelector("[data-email-state]");
      if (said && said.dataset.emailState !== shown().dataset.emailState) {
        shown().dataset.emailState = said.dataset.emailState;
        shown().replaceChildren(...said.childNodes);
      }
    }
  } catch {
    // No connection at the moment: the next question may be answered.
  }
  askLater();
}

function askLater() {
  clearTimeout(timer);
  if (document.hidden || over()) return;
  timer = setTimeout(ask, pause);
  pause = Math.min(pause * 1.5, AT_MOST);
}

document.addEventListener("visibilitychange", askLater);
askLater();
