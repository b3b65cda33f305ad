// Posts the statement that the address carries behind #, and takes it out of the bar.
"use strict";
const field = document.getElementById("statement");
const statement = location.hash.slice(1);
if (statement) {
  history.replaceState(null, "", location.pathname);
  field.value = statement;
  field.form.requestSubmit();
}
