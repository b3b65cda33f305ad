// Submits the form of a sign-in code as soon as its field has six digits: typed, pasted or filled in by the
// phone. A code that was submitted is not submitted by itself again, so a wrong one that the browser fills in
// once more uses up no further try. Without JavaScript the button submits.
"use strict";

for (const form of document.querySelectorAll("form[data-submits-itself]")) {
  const field = form.querySelector("input[autocomplete='one-time-code']");
  const memory = `code:${location.pathname}`;
  for (const words of form.querySelectorAll("[data-says-so]")) words.hidden = false;

  // As the server reads it (`CodeForm.clean_code`).
  const digits = () => field.value.normalize("NFKC").replace(/[\s\-.·]+/g, "");

  const submitIfWhole = (event) => {
    const code = digits();
    if (event?.isComposing || !/^[0-9]{6}$/.test(code) || sessionStorage.getItem(memory) === code) return;
    form.requestSubmit();
  };
  field.addEventListener("input", submitIfWhole);
  form.addEventListener("submit", () => sessionStorage.setItem(memory, digits()));
  submitIfWhole(); // the code may be quicker than this script
}
