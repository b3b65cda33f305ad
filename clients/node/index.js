// `Wallet` sends requests for verified claims and verifies the answers.
import { createHash, randomBytes, X509Certificate } from "node:crypto";
import { fileURLToPath } from "node:url";
import { cached, fetchDocument, parsed, send } from "./documents.js";
import { demand, Denied, Unavailable } from "./errors.js";
import { certifiedKey, decrypt, isObject, jweHeader, newKey, publicKey, readJson, sign } from "./jose.js";
import { checkStatus, LONGEST, readPresentation, verify } from "./verification.js";
import { same } from "./webhooks.js";

export { verifyArchive } from "./archive.js";
export { Denied, Rejected, Unavailable } from "./errors.js";
export { readWebhook } from "./webhooks.js";

const PRESENTATION = "/verifiable-credentials/v1/presentation";
const SCOPE = "urn:service:params:scope:verifiable-credentials:";
// The claims of the scopes with which every service begins. A person may leave off one with a question mark.
const SCOPES = {
  "basic": ["given_name", "family_name", "age_equal_or_over.18"],
  "age-over-18": ["age_equal_or_over.18"],
  "identity": ["birth_date", "nationalities?"],
  "contact": ["email"],
};
/** The folder of callback.html and callback.js. */
export const CALLBACK = fileURLToPath(new URL("callback", import.meta.url));
const fresh = () => randomBytes(24).toString("base64url");

/**
 * A request that waits for its answer. Keep it in the person's session on your server; use it once.
 * @typedef {{ issuer: string, clientId: string, nonce: string, claims?: readonly string[],
 *   transactionData: readonly string[], state: string, begun: number, decryptionKey?: object }} Pending
 */
/**
 * A verified presentation. `archive` returns its evidence as a JSON document, which `verifyArchive` checks years later.
 * @typedef {{ claims: Record<string, any>, vpToken: string, archive: () => string }} Result
 */
/**
 * `root` is the root certificate (PEM) that the operator gave you; never fetch it from the service. With `secret` (your
 * client secret) or `key` (your private key as a JWK with a `kid`, for `private_key_jwt`), requests are pushed, so that
 * no address bar holds them. `lifetime` is how many seconds a person may take.
 * @typedef {{ root: string | Uint8Array, secret?: string, key?: object, lifetime?: number, clock?: () => number,
 *   fetch?: (address: string) => Promise<{ text: string, maxAge: number }> }} Options
 */

/** One relying party at one service. */
export class Wallet {
  #options;
  #text;

  /**
   * @param {string} baseUrl @param {string} clientId
   * @param {string} redirectUri your registered callback or, for `direct_post`, your response URI
   * @param {Options} options
   */
  constructor(baseUrl, clientId, redirectUri, options) {
    this.baseUrl = baseUrl.replace(/\/+$/, "");
    this.clientId = clientId;
    this.redirectUri = redirectUri;
    const defaults = { lifetime: 7200, clock: () => Date.now() / 1000, fetch: fetchDocument };
    this.#options = { ...defaults, ...options, root: new X509Certificate(options.root) };
    this.#text = cached(this.#options.fetch);
  }

  /**
   * The address to which you redirect the browser, and what `finish` needs. `scope` is one of the four with which every
   * service begins, or several with spaces between them. For others, or with a `dcql_query`, name the `claims` that you
   * expect, such as `age_equal_or_over.21`, or `nationalities?` for one that may be missing. Further parameters are
   * sent as they are, such as `login_hint`. Throws `Denied` or `Unavailable` if the request is pushed.
   * @param {{ scope?: string, claims?: readonly string[], transactionData?: readonly object[], login_hint?: string,
   *   response_mode?: string, dcql_query?: string, [parameter: string]: unknown }} [asking]
   * @returns {Promise<{ url: string, pending: Pending }>}
   */
  async request({ scope = "basic", claims, transactionData: objects = [], ...parameters } = {}) {
    const names = scope.split(" "), mode = parameters.response_mode ?? "";
    const transactionData = objects.map((each) => Buffer.from(JSON.stringify(each)).toString("base64url"));
    const about = { issuer: this.baseUrl, clientId: this.clientId, nonce: fresh(), transactionData };
    const state = fresh(), decryptionKey = mode === "direct_post.jwt" ? newKey(state) : undefined;
    const asked = claims ?? names.flatMap(claimsOf), begun = this.#options.clock();
    const pending = { ...about, claims: asked, state, begun, decryptionKey };
    /** @type {Record<string, any>} */
    const all = {
      response_type: "vp_token",
      client_id: this.clientId,
      [mode.startsWith("direct_post") ? "response_uri" : "redirect_uri"]: this.redirectUri,
      scope: !parameters.dcql_query && names.map((name) => (name.includes(":") ? name : SCOPE + name)).join(" "),
      nonce: pending.nonce,
      state,
      transaction_data: transactionData.join(" "),
      client_metadata: decryptionKey && offered(decryptionKey),
      ...parameters,
    };
    /** @type {Record<string, string>} */
    let sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value));
    if (this.#options.secret || this.#options.key) {
      sent = { client_id: this.clientId, request_uri: await this.#push(sent) };
    }
    const query = new URLSearchParams(sent).toString().replaceAll("+", "%20");
    return { url: `${this.baseUrl}${PRESENTATION}/authorize?${query}`, pending };
  }

  /**
   * Verifies the fields that were posted to you. Throws `Denied`, `Rejected` or `Unavailable`. Remove `pending` from the
   * session first, so that it is used once.
   * @param {Pending} pending @param {Readonly<Record<string, unknown>>} fields
   * @returns {Promise<Result>}
   */
  async finish(pending, fields) {
    const { clock, lifetime } = this.#options, { state, begun, decryptionKey: key } = pending;
    const encrypted = fields.response !== undefined;
    demand(key || !encrypted, "encryption", "no encrypted answer was requested");
    const answer = encrypted ? decrypt(fields.response, key) : fields;
    demand(same(`${answer.state}`, state), "state", "it is for another session");
    demand((answer.iss ?? this.baseUrl) === this.baseUrl, "iss", "the answer is from another issuer");
    const age = clock() - begun;
    demand(age >= -60 && age <= lifetime, "state", "the request is too old");
    if (answer.error !== undefined) throw new Denied(answer.error, answer.error_description);
    demand(encrypted || !key, "encryption", "the answer is not encrypted");
    return this.#verified(answer.vp_token, pending);
  }

  /**
   * Verifies a presentation alone, such as the evidence in a token response of OpenID Connect. Call it within five
   * minutes. `nonce` is the `vp_nonce` of that response. `transactionData` are the strings that you sent. Without
   * `claims` any are accepted.
   * @param {unknown} vpToken
   * @param {{ nonce: string, claims?: readonly string[], transactionData?: readonly string[] }} expected
   * @returns {Promise<Result>}
   */
  async verify(vpToken, { nonce, claims, transactionData = [] }) {
    return this.#verified(vpToken, { issuer: this.baseUrl, clientId: this.clientId, nonce, claims, transactionData });
  }

  async #verified(vpToken, request) {
    const given = readPresentation(single(vpToken)), now = this.#options.clock();
    demand(request.issuer === this.baseUrl, "iss", "the request was sent to another issuer");
    const keyOf = (jwt) => this.#keyOf(jwt, now), { transactionData } = request;
    const claims = await verify(given, request, keyOf, now);
    const list = await checkStatus(given, request, keyOf, now, this.#text);
    const evidence = { presentations: [given.token], transaction_data: transactionData };
    Object.assign(evidence, { certificates: given.jwt.header.x5c, status_lists: [list] });
    return { claims, vpToken: given.token, archive: () => JSON.stringify(evidence) };
  }

  // The issuer's key for a token: published under its `kid`, and certified up to the root.
  async #keyOf(jwt, now) {
    const discovery = `${this.baseUrl}/.well-known/openid-configuration`, { kid } = jwt.header;
    const { issuer, jwks_uri: address } = parsed(discovery, await this.#text(discovery));
    const ours = issuer === this.baseUrl && String(address).startsWith(`${this.baseUrl}/`);
    demand(ours, "discovery", "the discovery document is another issuer's");
    let found = [];
    for (const anew of [false, true]) { // the key may be newer than the cached key set
      const { keys } = parsed(address, await this.#text(address, anew));
      found = (Array.isArray(keys) ? keys : []).filter((key) => kid && key?.kid === kid);
      if (found.length > 0) break;
    }
    demand(found.length === 1, "kid", "the key is not in the key set");
    const certified = certifiedKey(jwt, this.baseUrl, this.#options.root, now);
    demand(certified.equals(publicKey(found[0], "kid")), "certificate-key", "it is for another key");
    return certified;
  }

  // Pushes a request (RFC 9126) and returns its `request_uri`.
  async #push(parameters) {
    const { secret, key, clock } = this.#options, form = { ...parameters }, headers = {};
    if (key) { // RFC 7523 §3
      const about = { iss: this.clientId, sub: this.clientId, aud: this.baseUrl, jti: fresh() };
      form.client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
      form.client_assertion = sign({ ...about, exp: Math.floor(clock()) + 60 }, key);
    } else { // RFC 6749 §2.3.1
      const basic = [this.clientId, secret].map(encodeURIComponent).join(":");
      headers.Authorization = `Basic ${Buffer.from(basic).toString("base64")}`;
    }
    const address = `${this.baseUrl}${PRESENTATION}/par`, body = new URLSearchParams(form);
    const { status, text } = await send(address, { method: "POST", headers, body });
    if (status === 429 || status >= 500) throw new Unavailable(`${address} answered with status ${status}`);
    const answer = parsed(address, text);
    if (status !== 201) throw new Denied(answer.error, answer.error_description);
    return String(answer.request_uri);
  }
}

/** The `state` of an answer at your response URI (`direct_post`), by which you find its `Pending`.
 * @param {Readonly<Record<string, unknown>>} fields @returns {string} */
export function stateOf({ state, response }) {
  const found = response === undefined ? state : jweHeader(response).kid;
  demand(typeof found === "string" && found.length <= 100, "state", "the answer names no request");
  return found;
}

/** The name of a request in webhooks, `nonce_sha256`.
 * @param {Pending} pending @returns {string} */
export const nonceSha256 = ({ nonce }) => createHash("sha256").update(nonce).digest("hex");

function claimsOf(name) {
  if (!Object.hasOwn(SCOPES, name)) throw new TypeError(`Name the claims of the scope ${name}.`);
  return SCOPES[name];
}

/** The `client_metadata` of a request whose answer is encrypted to this key (OpenID4VP 1.0 §8.3).
 * @param {any} jwk */
function offered({ d: _, ...key }) {
  return JSON.stringify({ jwks: { keys: [key] }, encrypted_response_enc_values_supported: ["A256GCM", "A128GCM"] });
}

// The only presentation: the text itself, or in an object by the ID of its query (OpenID4VP 1.0 §8.1).
function single(vpToken) {
  const isJson = typeof vpToken === "string" && vpToken.startsWith("{") && vpToken.length <= LONGEST;
  const found = isJson ? readJson(vpToken) : vpToken;
  if (!isObject(found)) return found;
  const [list, ...others] = Object.values(found);
  const one = Array.isArray(list) && list.length === 1 && others.length === 0;
  demand(one, "structure", "there is not exactly one presentation");
  return list[0];
}
