// Submits the form of a sign-in code as soon as its field has six digits: typed, pasted or filled in by the
// phone. A code that was submitted is not submitted by itself again, so a wrong one that the browser fills in
// once more uses up no further try. Without JavaScript the button submits.
"use strict";

// How the server reads it: `infra/typed_digits.py`. A test reads the same texts with both.
const LONGEST = 1000;
const INVISIBLE = /\p{Cf}|\p{Me}|\u034f|[\u115f\u1160]|[\u17b4\u17b5]|\u2800|\u3164|\uffa0|[\ufe00-\ufe0f]/gu;
const SIX = /(?<![0-9A-Za-z])[0-9]{6}(?![0-9A-Za-z])/g;
const GROUPS = /(?<![0-9A-Za-z])[0-9](?:[ .·-]?[0-9])*(?![0-9A-Za-z])/g;

// The digits of each script stand one after another, from 0 to 9.
function digit(character) {
  const point = character.codePointAt(0);
  let before = 0;
  while (/\p{Nd}/u.test(String.fromCodePoint(point - before - 1))) before += 1;
  return String(before % 10);
}

function plain(text) {
  const visible = text.normalize("NFKC").replace(INVISIBLE, "").replace(/\p{Nd}/gu, digit);
  return visible.replace(/[\p{Pd}\u2212]/gu, "-").replace(/[\p{Z}\p{Cc}]+/gu, " ");
}

// The only code of six digits in the text, or nothing.
function sixDigits(typed) {
  if ([...typed].length > LONGEST) return "";
  const text = plain(typed);
  const digits = text.replace(/[^0-9]/g, "");
  if (digits.length === 6 && !/\p{L}/u.test(text)) return digits;
  const groups = (text.match(GROUPS) ?? []).map((group) => group.replace(/[^0-9]/g, ""));
  for (const found of [text.match(SIX) ?? [], groups.filter((group) => group.length === 6)]) {
    if (found.length > 0) return new Set(found).size === 1 ? found[0] : "";
  }
  return "";
}

for (const form of document.querySelectorAll("form[data-submits-itself]")) {
  const field = form.querySelector("input[autocomplete='one-time-code']");
  const memory = `code:${location.pathname}`;
  for (const words of form.querySelectorAll("[data-says-so]")) words.hidden = false;

  const submitIfWhole = (event) => {
    const code = sixDigits(field.value);
    if (event?.isComposing || code === "" || sessionStorage.getItem(memory) === code) return;
    form.requestSubmit();
  };
  field.addEventListener("input", submitIfWhole);
  form.addEventListener("submit", () => sessionStorage.setItem(memory, sixDigits(field.value)));
  submitIfWhole(); // the code may be quicker than this script
}
