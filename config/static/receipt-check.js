// Posts the statement that the address carries behind #, and takes it out of the bar.
"use strict";
const field = document.getElementById("statement");

function check() {
  const statement = location.hash.slice(1);
  if (!statement) return;
  history.replaceState(null, "", location.pathname);
  field.value = statement;
  field.form.requestSubmit();
}

window.addEventListener("hashchange", check); // another statement in the bar of the same page
check();
