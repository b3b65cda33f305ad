// Asks the browser for a passkey: to sign in, to add one, and to confirm on the consent page. A form with
// `data-passkey` names what to ask for; the answer is posted in its field `passkey`. Forms stay hidden, or lead
// to a code, where a browser cannot do this.
"use strict";

const RENEW_AFTER = 240_000; // milliseconds; a challenge is good for five minutes
const able =
  typeof globalThis.PublicKeyCredential === "function" &&
  typeof PublicKeyCredential.parseRequestOptionsFromJSON === "function" &&
  typeof PublicKeyCredential.parseCreationOptionsFromJSON === "function";
let waiting = null; // aborts the request that browsers show in a field

async function options(form) {
  const token = form.elements.csrfmiddlewaretoken; // only the forms of the admin have one
  const headers = token ? { "X-CSRFToken": token.value } : {};
  const response = await fetch(form.dataset.options, { method: "POST", headers });
  if (!response.ok) throw new Error(`The options were refused with ${response.status}.`);
  return response.json();
}

async function made(form, extra) {
  const json = await options(form);
  if (form.dataset.passkey === "create") {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(json);
    return navigator.credentials.create({ publicKey, ...extra });
  }
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(json);
  return navigator.credentials.get({ publicKey, ...extra });
}

function show(form, name) {
  for (const text of form.querySelectorAll("[data-problem]")) text.hidden = text.dataset.problem !== name;
}

function problemOf(error) {
  if (error.name === "InvalidStateError") return "known";
  return error.name === "NotAllowedError" || error.name === "AbortError" ? "cancelled" : "failed";
}

// Asks for a passkey, and submits the form with the answer.
async function ask(form, button) {
  if (form.getAttribute("aria-busy") === "true") return;
  form.setAttribute("aria-busy", "true");
  waiting?.abort();
  show(form, "");
  try {
    const credential = await made(form);
    form.elements.passkey.value = JSON.stringify(credential.toJSON());
    form.requestSubmit(button);
  } catch (error) {
    show(form, problemOf(error));
    offer(form);
  } finally {
    form.removeAttribute("aria-busy");
  }
}

// Lets the browser offer passkeys in the field for the e-mail address or the code, until the page is left.
async function offerInField(form) {
  const { signal } = (waiting = new AbortController());
  const renewal = setTimeout(() => {
    waiting.abort();
    offerInField(form);
  }, RENEW_AFTER);
  signal.addEventListener("abort", () => clearTimeout(renewal));
  try {
    const credential = await made(form, { mediation: "conditional", signal });
    form.elements.passkey.value = JSON.stringify(credential.toJSON());
    form.submit();
  } catch {
    clearTimeout(renewal); // the person has used the button, or goes on with a code
  }
}

async function offer(form) {
  const field = document.querySelector("input[autocomplete~=webauthn]");
  const conditional = form.dataset.passkey === "get" && field;
  if (conditional && (await PublicKeyCredential.isConditionalMediationAvailable?.())) offerInField(form);
}

function start(form) {
  form.hidden = false;
  for (const note of document.querySelectorAll("[data-passkey-missing]")) note.hidden = true;
  for (const note of form.querySelectorAll("[data-passkey-able]")) note.hidden = false;
  form.addEventListener("submit", (event) => {
    const button = event.submitter;
    const asks = form.dataset.passkey !== "confirm" || button?.dataset.passkeyButton !== undefined;
    if (!asks) return;
    if (!form.elements.passkey.value) {
      event.preventDefault();
      ask(form, button);
    }
  });
  form.elements.passkey.value = ""; // browsers may restore it
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) form.elements.passkey.value = "";
  });
  offer(form);
}

if (able) for (const form of document.querySelectorAll("form[data-passkey]")) start(form);
