// The page and the script of the folder `callback` as texts, because bundlers leave that folder behind.

/** What your callback answers a GET with. */
export const CALLBACK_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>One moment</title>
<script src="callback.js" defer></script>
<main>
  <h1>One moment</h1>
  <p id="said" role="status" data-sending="Your answer is being sent." data-nothing="There is no answer here."></p>
  <noscript><p>Your answer cannot be sent, because your browser runs no scripts. Allow them, and reload this page.</p></noscript>
  <form id="answer" method="post" hidden><button>Continue</button></form>
  <p id="again">If nothing happens, go <a href="/">back to the start</a>.</p>
</main>
</html>
`;

/** What stands beside it as `callback.js`. */
export const CALLBACK_SCRIPT = `// Takes the answer from the fragment of the address to your server: a POST to this page's own address, where your
// server compares \`state\` with the session.
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
`;
