// The page to which the answer returns: reads it, removes it from the address, verifies it, shows the result.

import { checkAnswer, readAnswer, readPosted } from "./answer.js";
import { fromBase64url, fromJson } from "./encoding.js";
import { MEMORY, byId, offerCopying } from "./page.js";
import { leaves, verifyPresentation } from "./sd-jwt.js";

const { issuer, vct, postedTo } = byId("settings").dataset;

// First of all: the token must not stay in the address bar, the history, or a bookmark.
const fragment = location.hash;
const responseCode = new URLSearchParams(location.search).get("response_code");
history.replaceState(null, "", location.pathname);

/** The request that this tab sent. It is removed, so that it can be read only once. */
function recall() {
  const request = JSON.parse(sessionStorage.getItem(MEMORY));
  sessionStorage.removeItem(MEMORY);
  return request;
}

/** The posted answer. Only this tab can read it: it has the response code and the state (§13.3). */
async function fetchPosted(request) {
  const body = new URLSearchParams({ response_code: responseCode, state: request.state });
  const response = await fetch(postedTo, { method: "POST", body, credentials: "omit" });
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`the playground's server answered ${response.status}`);
  const { form } = await response.json();
  return readPosted(form, request.privateKey);
}

async function main() {
  let answer, request;
  try {
    if (responseCode) request = recall();
    if (responseCode && !request) return reveal("foreign");
    answer = responseCode ? await fetchPosted(request) : readAnswer(fragment);
  } catch (error) {
    byId("broken-detail").textContent = error.message;
    return reveal("broken");
  }
  if (!answer) return reveal("empty");
  request ??= recall();
  if (!request || request.state !== answer.state) {
    if (request) byId("foreign-detail").textContent = `state ${answer.state ?? "–"}, sent ${request.state}`;
    return reveal("foreign");
  }
  if (answer.error && answer.iss !== issuer) {
    // RFC 9207 §2.4: an error of another service says nothing about this one.
    byId("foreign-detail").textContent = `iss ${answer.iss ?? "–"}, expected ${issuer}`;
    return reveal("foreign");
  }
  byId("who").textContent = request.name;
  return answer.error ? showError(answer) : showAnswer(answer, request);
}

function showError(answer) {
  const sections = [...document.querySelectorAll("[data-error]")];
  const section = sections.find((each) => each.dataset.error === answer.error) ?? sections.at(-1);
  section.hidden = false;
  for (const field of document.querySelectorAll("[data-field]")) {
    field.textContent = answer[field.dataset.field] || "–";
  }
  reveal("error-details");
}

async function showAnswer(answer, request) {
  reveal("checking");
  let expected;
  try {
    expected = { ...(await fetchIssuer()), ...request, issuer, vct, now: Date.now() / 1000, maxAge: 300, fetchStatusList };
  } catch (error) {
    byId("checking").hidden = true;
    byId("broken-detail").textContent = error.message;
    return reveal("broken");
  }
  const { checks, presentation } = await verifyPresentation(answer.presentation, expected);
  const all = [...checkAnswer(answer, request, issuer), ...checks];
  all.forEach(showCheck);
  document.querySelectorAll("[data-check]:not(.pass, .fail)").forEach(showSkipped);
  showToken(answer.presentation);
  byId("shared").hidden = !all.every((check) => check.passed); // what is not believed is not shown as shared
  if (presentation) {
    await showClaims(presentation.claims, request.claims);
    showTransactions(request.transactionData);
    showParts(presentation);
  }
  showVerdict(all);
  byId("checking").hidden = true;
  reveal("result");
}

/** The published documents. The page fetches the root too; you install it once, from a source you trust. */
async function fetchIssuer() {
  if (!crypto.subtle) throw new Error("this browser offers WebCrypto only on https and on localhost");
  const discovery = await fetchJson(`${issuer}/.well-known/openid-configuration`);
  const jwks = await fetchJson(discovery.jwks_uri);
  const root = await fetchFrom(`${issuer}/trust/root.der`);
  return { discovery, jwks, trustedRoot: new Uint8Array(await root.arrayBuffer()) };
}

async function fetchJson(url) {
  return (await fetchFrom(url)).json();
}

async function fetchStatusList(uri) {
  // Fetched every time, so that the page shows a change soon. Your application can cache a list for its `ttl`.
  const asked = { cache: "no-cache", headers: { Accept: "application/statuslist+jwt" } };
  return (await fetchFrom(uri, asked)).text();
}

async function fetchFrom(url, options = {}) {
  const response = await fetch(url, { credentials: "omit", ...options });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response;
}

function showCheck({ id, passed, detail }) {
  const item = document.querySelector(`[data-check="${id}"]`);
  const outcome = item.querySelector("[data-passed]");
  item.classList.add(passed ? "pass" : "fail");
  outcome.textContent = ` (${passed ? outcome.dataset.passed : outcome.dataset.failed})`;
  item.querySelector(".detail").textContent = detail;
  if (passed) return;
  const failed = document.createElement("li");
  failed.textContent = `${item.querySelector("strong").textContent}: ${detail}`;
  byId("failed").append(failed);
}

function showSkipped(item) {
  const outcome = item.querySelector("[data-skipped]");
  outcome.textContent = ` (${outcome.dataset.skipped})`;
  item.classList.add("skipped");
}

function showVerdict(checks) {
  const good = checks.every((check) => check.passed);
  byId("count").textContent = checks.length;
  reveal(good ? "verdict-good" : "verdict-bad");
  if (good) byId("again").textContent = byId("again").dataset.afterSuccess;
  reveal("receipt");
}

/** The claims as people read them, with the labels of the credential's own type metadata (SD-JWT VC §5). */
async function showClaims(claims, asked) {
  const list = byId("claims");
  const labels = await fetchLabels();
  const order = asked.map((path) => path.join());
  const paths = leaves(claims).sort((a, b) => order.indexOf(a.join()) - order.indexOf(b.join()));
  for (const path of paths) {
    const value = path.reduce((node, name) => node?.[name], claims);
    const words = { true: list.dataset.yes, false: list.dataset.no }[value];
    const [term, definition] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = labels[JSON.stringify(path)] ?? path.join(".");
    definition.textContent = (words ?? (typeof value === "string" ? value : JSON.stringify(value))) || "–";
    const row = document.createElement("div");
    row.append(term, definition);
    list.append(row);
  }
}

async function fetchLabels() {
  try {
    const { claims } = await fetchJson(vct);
    return Object.fromEntries(claims.map(({ path, display }) => [JSON.stringify(path), display[0].label]));
  } catch {
    return {}; // the names on the wire will do
  }
}

function showTransactions(sent) {
  byId("transaction").hidden = !sent.length;
  for (const value of sent) {
    const text = document.createElement("pre");
    text.className = "code";
    text.tabIndex = 0;
    text.textContent = JSON.stringify(fromJson(fromBase64url(value)), null, 2);
    byId("transactions").append(text);
  }
}

/** The token with its kinds of parts marked. */
function showToken(token) {
  byId("token-length").textContent = token.length;
  const parts = token.split("~");
  parts.forEach((part, i) => {
    const span = document.createElement("span");
    span.className = `part-${i === 0 ? "issuer" : i === parts.length - 1 ? "binding" : "disclosure"}`;
    span.textContent = part;
    byId("token").append(...(i ? ["~"] : []), span);
  });
}

function showParts({ jwt, keyBinding, disclosures }) {
  const parts = { "issuer-header": jwt.header, "issuer-payload": jwt.payload };
  Object.assign(parts, { "binding-header": keyBinding.header, "binding-payload": keyBinding.payload });
  for (const [id, part] of Object.entries(parts)) byId(id).textContent = JSON.stringify(part, null, 2);
  for (const { path, name, salt, value, digest } of disclosures) {
    const shown = byId("disclosure-template").content.cloneNode(true);
    const texts = { path: path?.join(".") ?? name ?? "?", value: JSON.stringify(value), salt, digest };
    for (const [part, text] of Object.entries(texts)) {
      shown.querySelector(`[data-part="${part}"]`).textContent = text;
    }
    byId("disclosures").append(shown);
  }
}

function reveal(id) {
  byId(id).hidden = false;
}

offerCopying();
main();
