// Takes the answer from the fragment of the address to your server: a POST to this page's own address, where your
// server compares `state` with the session.
const given = new URLSearchParams(location.hash.slice(1));
history.replaceState(null, "", location.pathname + location.search); // no history or bookmark keeps the answer
const [form, said, again] = ["answer", "said", "again"].map((id) => document.getElementById(id));
for (const name of ["vp_token", "state", "error", "error_description", "iss"]) {
  const values = given.getAll(name);
  if (values.length !== 1) continue; // a name that is there twice is not handed on
  const field = document.createElement("input");
  field.type = "hidden";
  field.name = name;
  field.value = values[0];
  form.append(field);
}
if (form.elements.length > 1) {
  said.textContent = said.dataset.sending;
  again.hidden = true;
  form.hidden = false; // shows its button in case the submission fails
  form.submit();
} else {
  said.textContent = said.dataset.nothing;
}
