// The page on which a request is built. Without this script the server builds it; with it, the browser does,
// and makes the nonce itself, as the page of a relying application should.

import { sha256 } from "./encoding.js";
import { newKey } from "./jwe.js";
import { MEMORY, byId, fromPage, offerCopying } from "./page.js";

const form = byId("ask");
const go = byId("go");
byId("built-by-server").hidden = true;
go.hidden = false;
const known = fromPage("known");
const mistakes = fromPage("mistakes");
const [endpoint] = go.href.split("?");
const { redirectUri } = form.dataset;
const edited = { ...known.examples }; // the texts as the person left them
// A request of OpenID Connect is built by the server, which also exchanges the code.
const isByCode = () => known.parties[new FormData(form).get("client_id")].wireFormat === "openid";
const builtByServer = isByCode();
let secrets;
let encryption; // the key of this request, once there is one

/** 192 random bits, URL-safe. A nonce needs 128 (OpenID4VP 1.0 §14.1), and 16 characters here. */
function newSecret() {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
}

/** The chosen response mode, or fragment if the relying application has no response URI. */
function responseMode(fields) {
  const { posted } = known.parties[fields.get("client_id")];
  const mode = (posted && fields.get("response_mode")) || "fragment";
  return mode === "direct_post.jwt" && !encryption ? "fragment" : mode;
}

/** Where the answer goes (OpenID4VP 1.0 §8.2: `response_uri` in the place of `redirect_uri`). */
function destination(mode) {
  if (mode === "fragment") return { redirect_uri: redirectUri };
  const metadata = mode === "direct_post.jwt" && { client_metadata: JSON.stringify(encryption.metadata) };
  return { response_mode: mode, response_uri: known.responseUri, ...metadata };
}

/** The request's parameters, as chosen. */
function chosen(mode) {
  const fields = new FormData(form);
  const type = fields.get("transaction");
  return {
    response_type: "vp_token",
    client_id: fields.get("client_id"),
    ...destination(mode ?? responseMode(fields)),
    scope: fields.getAll("scope").join(" "),
    login_hint: fields.get("login_hint"),
    ...secrets,
    ...(type && { transaction_data: encodeTransaction(edited[type]) }),
  };
}

/** base64url of the JSON without its white space. The answer is bound to this very string. */
function encodeTransaction(text) {
  const bytes = new TextEncoder().encode(compact(text) ?? text);
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Numbers stay as they were written: JSON.stringify would make another price of 999999999999.000001. */
function compact(text) {
  try {
    JSON.parse(text);
    return text.replace(/("(?:[^"\\]|\\.)*")|[ \t\r\n]+/g, "$1");
  } catch {
    return null;
  }
}

/**
 * The text; with the ids of the chosen scopes' queries if it names the query of a scope that is not chosen.
 * The service refuses such a text, which was right before the scopes changed. examples.py does the same.
 */
function forScopes(text, scopes) {
  const wanted = scopes.map((scope) => known.queryIds[scope]);
  if (!wanted.length) wanted.push(Object.values(known.queryIds)[0]);
  const others = Object.values(known.queryIds).filter((id) => !wanted.includes(id));
  return text.replace(/("credential_ids":\s*)\[([^[\]]*)\]/, (list, name, ids) =>
    others.some((id) => ids.includes(`"${id}"`))
      ? name + JSON.stringify(wanted, null, 2).replaceAll("\n", "\n  ")
      : list,
  );
}

/** The address without white space. encodeURIComponent leaves ' unescaped, which breaks the shell command. */
function address(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null);
  const encode = (text) => encodeURIComponent(text).replaceAll("'", "%27");
  return `${endpoint}?${given.map(([name, value]) => `${name}=${encode(value)}`).join("&")}`;
}

/** Stores what is needed to verify the answer, in this tab only. */
function remember(parameters) {
  const scopes = parameters.scope.split(" ").filter(Boolean);
  const isOptional = (scope, name) => (known.optional[scope] ?? []).includes(name);
  const names = (scope) => (known.scopes[scope] ?? []).map((path) => path.join("."));
  const required = new Set(scopes.flatMap((scope) => names(scope).filter((name) => !isOptional(scope, name))));
  const request = {
    ...known.parties[parameters.client_id],
    clientId: parameters.client_id,
    nonce: parameters.nonce,
    state: parameters.state,
    claims: scopes.flatMap((scope) => known.scopes[scope] ?? []),
    optional: scopes.flatMap((scope) => known.optional[scope] ?? []).filter((name) => !required.has(name)),
    privateKey: parameters.response_mode === "direct_post.jwt" ? encryption.privateKey : null,
    transactionData: parameters.transaction_data ? [parameters.transaction_data] : [],
  };
  sessionStorage.setItem(MEMORY, JSON.stringify(request));
}

function show() {
  const parameters = chosen();
  const url = address(parameters);
  go.href = url;
  byId("authorize-url").textContent = url;
  for (const element of document.querySelectorAll("[data-parameter]")) {
    const name = element.dataset.parameter;
    element.textContent = name === "authorize-url" ? url : (parameters[name] ?? "");
  }
  for (const element of document.querySelectorAll("[data-with]")) {
    element.hidden = !(element.dataset.with in parameters);
  }
  for (const link of document.querySelectorAll("[data-mistake]")) {
    link.href = address({ ...chosen("fragment"), ...mistakes[link.dataset.mistake] });
  }
  const { posted } = known.parties[parameters.client_id];
  form.elements.response_mode.disabled = !posted;
  byId("not-posted").hidden = posted || document.getElementById("obstacle") !== null;
  remember(parameters);
}

/** Makes every transaction one for the chosen scopes. */
function fitScopes() {
  const scopes = new FormData(form).getAll("scope");
  for (const [type, text] of Object.entries(edited)) edited[type] = forScopes(text, scopes);
  form.elements.transaction_text.value = edited[form.elements.transaction.value] ?? "";
}

function showTransaction() {
  const type = form.elements.transaction.value;
  byId("transaction-editor").hidden = !type;
  byId("transaction-problem").hidden = !type || compact(edited[type]) !== null;
  const wrong = !byId("transaction-problem").hidden;
  form.elements.transaction_text.setAttribute("aria-invalid", String(wrong));
}

form.elements.transaction.addEventListener("change", () => {
  form.elements.transaction_text.value = edited[form.elements.transaction.value] ?? "";
});
form.elements.transaction_text.addEventListener("input", () => {
  edited[form.elements.transaction.value] = form.elements.transaction_text.value;
});
form.addEventListener("change", () => {
  if (builtByServer || isByCode()) form.submit();
});
form.addEventListener("input", (event) => {
  if (builtByServer || isByCode()) return;
  if (event.target.name === "scope") fitScopes();
  showTransaction();
  show();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  location.assign(go.href);
});
// Also when the page comes back from the browser's memory: a nonce is good for one request only.
addEventListener("pageshow", (event) => {
  if (builtByServer) {
    if (event.persisted) location.reload();
    return;
  }
  secrets = { nonce: newSecret(), state: newSecret() };
  const type = form.elements.transaction.value;
  if (type) edited[type] = form.elements.transaction_text.value;
  fitScopes(); // the browser may have restored other scopes than those that the examples are for
  encryption = null;
  showTransaction();
  show();
  prepareKey(secrets.state);
});

/** Browsers make keys on https and on localhost only. */
async function prepareKey(state) {
  if (!crypto.subtle) return;
  const made = await newKey(await sha256(state)); // the playground's server finds the tab's answer by it
  if (state !== secrets.state) return;
  encryption = made;
  byId("encrypted").disabled = false;
  show();
}

// The answer comes to the registered address, and a tab remembers only for the address it was on.
byId("wrong-origin").hidden = new URL(redirectUri).origin === location.origin;
offerCopying();
