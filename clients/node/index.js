// `Wallet` sends requests for verified claims and verifies the answers.
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { issuerKey, readRoots } from "./certificates.js";
import { cached, parsed, send } from "./documents.js";
import { attempt, decrypt, demand, Denied, hash, newKey, offered, publicKey, readJson } from "./jose.js";
import { readPresentation, TOLERANCE, verify } from "./verification.js";

export { Denied, Rejected, stateOf, Unavailable } from "./jose.js";
export { verifyArchive } from "./verification.js";

const PRESENTATION = "/verifiable-credentials/v1/presentation";
const SCOPE = "urn:service:params:scope:verifiable-credentials:";
// The claims of the scopes with which every service begins. A person may leave off one with a question mark.
const SCOPES = {
  "basic": ["given_name", "family_name", "age_equal_or_over.18"], "age-over-18": ["age_equal_or_over.18"],
  "identity": ["birth_date", "nationalities?"], "contact": ["email"],
};
/** The folder of callback.html and callback.js. */
export const CALLBACK = `${import.meta.dirname}/callback`;
const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const fresh = () => randomBytes(24).toString("base64url");
const same = (one, other) => timingSafeEqual(hash(one), hash(other)); // in constant time

/**
 * A request that waits for its answer. Keep it in the person's session on your server; use it once.
 * @typedef {{ issuer: string, clientId: string, nonce: string, claims?: readonly string[],
 *   transactionData: readonly string[], state: string, begun: number, decryptionKey?: object }} Pending
 */
/**
 * A verified presentation. `archive` returns its evidence as a JSON document, which `verifyArchive` checks years later.
 * It is the `evidence` of the service's verification, but without the service's signed statement.
 * @typedef {{ claims: Record<string, any>, vpToken: string, archive: () => string }} Result
 */
/**
 * `root` is the root certificate (PEM) that the operator gave you; never fetch it from the service. While the service
 * changes its root, it is a text with both certificates, or a list: each counts. With `secret`, your client secret,
 * requests are pushed, so that no address bar holds them. `lifetime` is how many seconds a person may take. `fetch`
 * replaces the platform's.
 * @typedef {{ root: string | Uint8Array | readonly (string | Uint8Array)[], secret?: string, lifetime?: number,
 *   clock?: () => number, fetch?: typeof fetch }} Options
 */

/** One relying party at one service. */
export class Wallet {
  #own;

  /**
   * @param {string} baseUrl @param {string} clientId
   * @param {string} redirectUri your registered callback or, for `direct_post`, your response URI
   * @param {Options} options
   */
  constructor(baseUrl, clientId, redirectUri, { root, ...options }) {
    if (!clientId || ("secret" in options && !options.secret)) throw new TypeError("clientId or secret is empty");
    const own = { issuer: baseUrl.replace(/\/+$/, ""), clientId, redirectUri, roots: readRoots(root) };
    this.#own = { lifetime: 7200, clock: () => Date.now() / 1000, ...options, ...own, read: cached(options.fetch) };
  }

  /**
   * The address to which you redirect the browser, and what `finish` needs. `scope` is one of the four with which every
   * service begins, or several with spaces between them. For others, or with a `dcql_query`, name the `claims` that you
   * expect, such as `age_equal_or_over.21`, or `nationalities?` for one that may be missing. Further parameters are
   * sent as they are, such as `login_hint`; objects and lists as JSON. Throws `Denied` or `Unavailable` if the request
   * is pushed.
   * @param {{ scope?: string, claims?: readonly string[], transactionData?: readonly object[], login_hint?: string,
   *   response_mode?: string, dcql_query?: string | object, [parameter: string]: unknown }} [asking]
   * @returns {Promise<{ url: string, pending: Pending }>}
   */
  async request({ scope = "basic", claims, transactionData: objects = [], ...parameters } = {}) {
    const { issuer, clientId, redirectUri, secret, clock } = this.#own, nonce = fresh(), state = fresh();
    const names = parameters.dcql_query ? ["dcql_query"] : scope.split(" ").map((name) => name.replace(SCOPE, ""));
    const transactionData = objects.map((each) => Buffer.from(asText(each)).toString("base64url"));
    const mode = parameters.response_mode ?? "", decryptionKey = mode === "direct_post.jwt" ? newKey(state) : undefined;
    const unknown = new TypeError(`the claims of ${names} are not known: name them (known: ${Object.keys(SCOPES)})`);
    const asked = claims ?? attempt(() => names.flatMap((name) => [...SCOPES[name]]), unknown), begun = clock();
    const pending = { issuer, clientId, nonce, state, transactionData, claims: asked, begun, decryptionKey };
    const filled = Object.entries({
      response_type: "vp_token", client_id: clientId, nonce, state,
      scope: parameters.dcql_query ? "" : names.map((name) => (name.includes(":") ? name : SCOPE + name)).join(" "),
      [mode.startsWith("direct_post") ? "response_uri" : "redirect_uri"]: redirectUri,
      transaction_data: transactionData.join(" "), client_metadata: decryptionKey && offered(decryptionKey),
      ...parameters,
    }).filter(([, value]) => value).map(([name, value]) => [name, asText(value)]);
    const sent = secret ? await this.#pushed(new URLSearchParams([...filled, ["client_secret", secret]])) : filled;
    return { url: `${issuer}${PRESENTATION}/authorize?${new URLSearchParams(sent)}`, pending };
  }

  /**
   * Verifies the fields that were posted to you. Throws `Denied`, `Rejected` or `Unavailable`. Remove `pending` from
   * the session first, so that it is used once.
   * @param {Pending} pending @param {Readonly<Record<string, unknown>>} fields
   * @returns {Promise<Result>}
   */
  async finish(pending, fields) {
    const { issuer, clock, lifetime } = this.#own, { state, begun, decryptionKey: key } = pending;
    const encrypted = (fields.response ?? undefined) !== undefined, age = clock() - begun;
    const answer = encrypted ? decrypt(fields.response, key) : fields;
    demand(typeof answer.state === "string" && same(answer.state, state), "state", "it is for another session");
    demand(age >= -TOLERANCE && age <= lifetime, "state", "the request is too old");
    demand(pending.issuer === issuer && (answer.iss ?? issuer) === issuer, "iss", `it is not from ${issuer}`);
    if ((answer.error ?? undefined) !== undefined) throw new Denied(answer.error, answer.error_description);
    demand(encrypted || !key, "encryption", "the answer is not encrypted");
    return this.verify(answer.vp_token, pending);
  }

  /**
   * Verifies a presentation alone, such as the evidence in a token response of OpenID Connect. Call it within five
   * minutes. `nonce` is the `vp_nonce` of that response. `transactionData` are the strings that you sent. Without
   * `claims` any are accepted.
   * @param {unknown} vpToken
   * @param {{ nonce: string, claims?: readonly string[], transactionData?: readonly string[] }} expected
   * @returns {Promise<Result>}
   */
  async verify(vpToken, { nonce, claims: asked, transactionData = [] }) {
    const { issuer, clientId, clock, read } = this.#own, now = clock(), given = readPresentation(vpToken);
    const request = { issuer, clientId, nonce, claims: asked, transactionData }, { x5c } = given.jwt.header;
    const { claims, statusList } = await verify(given, request, (jwt) => this.#keyOf(jwt, now), now, read);
    const parts = { presentations: [given.token], transaction_data: transactionData, certificates: x5c };
    return { claims, vpToken: given.token, archive: () => JSON.stringify({ ...parts, status_lists: [statusList] }) };
  }

  // The issuer's key for a token: published under its `kid`, and certified up to the root.
  async #keyOf(jwt, now) {
    const { issuer, roots, read } = this.#own, address = `${issuer}/openid-connect/jwks`, { kid } = jwt.header;
    const find = async (anew) => parsed(address, await read(address, anew)).keys?.find?.((key) => key?.kid === kid);
    const published = (await find(false)) ?? (await find(true)); // it may be newer than the cached key set
    const certified = issuerKey(jwt, issuer, roots, now);
    demand(certified.equals(publicKey(published, "kid")), "certificate-key", "it is for another key");
    return certified;
  }

  // Pushes a request (RFC 9126) and returns the parameters that refer to it.
  async #pushed(body) {
    const { issuer, clientId, fetch } = this.#own, address = `${issuer}${PRESENTATION}/par`;
    const { status, text, headers } = await send(address, { method: "POST", body }, fetch);
    const { error, error_description: description, request_uri } = parsed(address, text, status);
    if (status !== 201) throw new Denied(error, description, headers.get("x-request-id"));
    return { client_id: clientId, request_uri };
  }
}

/** The name of a request in webhooks, `nonce_sha256`.
 * @param {Pending} pending @returns {string} */
export const nonceSha256 = ({ nonce }) => hash(nonce).toString("hex");

/**
 * The content of a webhook. Throws `Rejected` if it is forged or old, `TypeError` if a secret is missing or too short.
 * It may arrive twice, with the same `webhook-id`.
 * @param {Readonly<Record<string, unknown>>} headers with names in lower case, as Node has them
 * @param {Uint8Array} body as it arrived
 * @param {...string} secrets your secret (`whsec_…`), or the old and the new one while you change them
 * @returns {{ type: string, timestamp: string, data: Record<string, unknown> }}
 */
export function readWebhook(headers, body, ...secrets) {
  const fits = secrets.every((secret) => /^whsec_[A-Za-z0-9+/]{43}=$/.test(secret));
  if (!fits) throw new TypeError("a webhook secret is missing or incomplete: it is whsec_ and 44 characters");
  const [id, moment, signatures] = ["id", "timestamp", "signature"].map((name) => `${headers[`webhook-${name}`]}`);
  const sign = (key) => createHmac("sha256", key).update(`${id}.${moment}.`).update(body).digest("base64");
  const own = secrets.map((secret) => `v1,${sign(Buffer.from(secret.replace(/^whsec_/, ""), "base64"))}`);
  demand(own.some((mac) => signatures.split(" ").some((each) => same(each, mac))), "webhook", "no secret signed it");
  demand(Math.abs(Date.now() / 1000 - Number(moment)) <= TOLERANCE, "webhook", "it was not sent just now");
  return readJson(body);
}
