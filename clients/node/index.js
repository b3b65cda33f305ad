// `Wallet` sends requests for verified claims and verifies the answers.
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import * as authorization from "./authorization.js";
import { need, onlyKnown, SCOPE } from "./authorization.js";
import { issuerKey, readRoots } from "./certificates.js";
import { clientKey } from "./client-key.js";
import { cached, call, parsed } from "./documents.js";
import { decrypt, demand, Denied, digest, hash, newKey, offered, publicKey, readFields, readJson } from "./jose.js";
import { readPresentation, TOLERANCE, verify } from "./verification.js";

export { Denied, Rejected, stateOf, Unavailable } from "./jose.js";
export { CALLBACK_PAGE, CALLBACK_SCRIPT } from "./callback-texts.js";
export { openPending, sealPending } from "./sealing.js";
export { verifyArchive } from "./verification.js";

const PRESENTATION = "/verifiable-credentials/v1/presentation";
const ADDRESS = /^https?:\/\/[^\s/?#@]+[^\s?#]*$/;
const ASKED = ["scope", "claims", "transactionData", "login_hint", "response_mode", "dcql_query", "ui_locales"];
/** The folder of callback.html and callback.js. In a bundle there is none: use the two texts. */
export const CALLBACK = `${import.meta.dirname}/callback`;
const fresh = () => randomBytes(24).toString("base64url");
const same = (one, other) => timingSafeEqual(hash(one), hash(other)); // in constant time

/**
 * A request that waits for its answer. Keep it in the person's session on your server, or `sealPending` it for a cookie; use
 * it once. The hashes are in the place of the transaction data once it was in a cookie.
 * @typedef {{ issuer: string, clientId: string, nonce: string, claims?: readonly string[],
 *   transactionData: readonly string[], transactionDataHashes?: readonly string[], state: string, begun: number,
 *   decryptionKey?: object }} Pending
 */
/**
 * A verified presentation. `archive` returns its evidence as a JSON document, which `verifyArchive` checks years later.
 * It is the `evidence` of the service's verification, but without the service's signed statement. After a cookie give
 * it the `transactionData` of the first `Pending`, because the cookie had hashes alone.
 * @typedef {{ claims: Record<string, any>, vpToken: string,
 *   archive: (transactionData?: readonly string[]) => string }} Result
 */
/**
 * `root` is the root certificate (PEM) that the operator gave you; never fetch it from the service. While the service
 * changes its root, it is a text with both certificates, or a list: each counts. With `secret`, your client secret,
 * requests are pushed, so that no address bar holds them. With `privateKey` in its place, whose public half is
 * registered, perhaps under `keyId`, they are also signed, as FAPI demands. `lifetime` is how many seconds a person may take. `fetch`
 * replaces the platform's.
 * @typedef {{ root: string | Uint8Array | readonly (string | Uint8Array)[], secret?: string,
 *   privateKey?: string | Buffer, keyId?: string, lifetime?: number,
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
    onlyKnown(options, ["secret", "privateKey", "keyId", "lifetime", "clock", "fetch"]);
    if (!clientId || ("secret" in options && !options.secret)) throw new TypeError("clientId or secret is empty");
    const issuer = baseUrl.replace(/\/+$/, ""), { lifetime = 7200, clock = () => Date.now() / 1000 } = options;
    need(ADDRESS.test(issuer), "baseUrl is no address such as https://wallet.example");
    need(redirectUri && !redirectUri.includes("#"), "redirectUri is empty, or has a fragment");
    need(lifetime > 0, "lifetime is no time, so that every answer would be too old");
    const own = { issuer, clientId, redirectUri, roots: readRoots(root), lifetime, clock };
    need(!options.secret || !options.privateKey, "secret and privateKey both prove who you are: give one");
    const key = options.privateKey === undefined ? undefined : clientKey(options.privateKey, options.keyId);
    this.#own = { ...options, ...own, key, read: cached(options.fetch) };
  }

  /**
   * The address to which you redirect the browser, and what `finish` needs. `scope` is one of the four with which every
   * service begins, or several with spaces between them. For others, or with a `dcql_query`, name the `claims` that you
   * expect, such as `age_equal_or_over.21`, or `nationalities?` for one that may be missing. `transactionData` is an
   * array of what is to be approved, or one such object. Throws `TypeError` if `finish` would reject every answer. If
   * the request is pushed, throws `Denied` or `Unavailable` too.
   * @param {{ scope?: string, claims?: readonly string[], transactionData?: object | readonly object[],
   *   login_hint?: string, response_mode?: "fragment" | "direct_post" | "direct_post.jwt",
   *   dcql_query?: string | object, ui_locales?: string }} [asking]
   * @returns {Promise<{ url: string, pending: Pending }>}
   */
  async request(asking = {}) {
    onlyKnown(asking, ASKED);
    const { scope = "basic", claims, transactionData: objects = [], response_mode: mode } = asking;
    const { issuer, clientId, redirectUri, secret, key, clock } = this.#own, nonce = fresh(), state = fresh();
    const query = authorization.readQuery(asking.dcql_query), names = authorization.scopeNames(scope);
    const expected = authorization.expectedClaims(names, claims, query);
    authorization.checkMode(mode);
    const transactionData = authorization.asList(objects)
      .map((each) => Buffer.from(authorization.asJson(each, "transactionData")).toString("base64url"));
    const decryptionKey = mode === "direct_post.jwt" ? newKey(state) : undefined, begun = clock();
    const pending = { issuer, clientId, nonce, state, transactionData, claims: expected, begun, decryptionKey };
    const parameters = Object.entries({
      response_type: "vp_token", response_mode: mode, client_id: clientId, nonce, state,
      [mode?.startsWith("direct_post") ? "response_uri" : "redirect_uri"]: redirectUri,
      scope: query ? "" : names.map((name) => (name.includes(":") ? name : SCOPE + name)).join(" "),
      dcql_query: query && authorization.asJson(query, "dcql_query"), transaction_data: transactionData.join(" "),
      client_metadata: decryptionKey && offered(decryptionKey),
      login_hint: asking.login_hint, ui_locales: asking.ui_locales,
    }).filter(([, value]) => value);
    const own = key ? key(Object.fromEntries(parameters), issuer, begun) : { client_secret: secret };
    const pushed = new URLSearchParams(key ? own : [...parameters, ...Object.entries(own)]);
    const sent = key || secret ? await this.#pushed(pushed) : parameters;
    return { url: `${issuer}${PRESENTATION}/authorize?${new URLSearchParams(sent)}`, pending };
  }

  /**
   * Verifies the fields that were posted to you. Throws `Denied`, `Rejected` or `Unavailable`. Remove `pending` from
   * the session first, so that it is used once.
   * @param {Pending} pending @param {import("./jose.js").Fields} posted
   * @returns {Promise<Result>}
   */
  async finish(pending, posted) {
    const fields = readFields(posted);
    const { issuer, clock, lifetime } = this.#own, { state, begun, decryptionKey: key } = pending;
    const encrypted = (fields.response ?? undefined) !== undefined, age = clock() - begun;
    const answer = encrypted ? decrypt(fields.response, key) : fields;
    demand(typeof answer.state === "string" && same(answer.state, state), "state", "it is for another session");
    demand(age >= -TOLERANCE && age <= lifetime, "state", "the request is too old");
    demand(pending.issuer === issuer && (answer.iss ?? issuer) === issuer, "iss", `it is not from ${issuer}`);
    if ((answer.error ?? undefined) !== undefined) throw new Denied(answer.error, answer.error_description);
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
  async verify(vpToken, expected) {
    onlyKnown(expected, ["nonce", "claims", "transactionData"]);
    return this.#verified(vpToken, expected);
  }

  async #verified(vpToken, /** @type {any} */ { nonce, claims: asked, transactionData = [], transactionDataHashes }) {
    const { issuer, clientId, clock, read } = this.#own, now = clock(), given = readPresentation(vpToken);
    const hashes = transactionData.length > 0 ? transactionData.map(digest) : transactionDataHashes ?? [];
    const request = { issuer, clientId, nonce, claims: asked, hashes }, { x5c } = given.jwt.header;
    const { claims, statusList } = await verify(given, request, (jwt) => this.#keyOf(jwt, now), now, read);
    const parts = { presentations: [given.token], certificates: x5c, status_lists: [statusList] };
    const archive = (data = transactionData) => {
      need(isDeepStrictEqual(data.map(digest), [...hashes]), "give the transactionData of the request: its cookie had hashes alone");
      return JSON.stringify({ ...parts, transaction_data: data });
    };
    return { claims, vpToken: given.token, archive };
  }

  // The issuer's key for a token: published under its `kid`, and certified up to the root.
  async #keyOf(jwt, now) {
    const { issuer, roots, read } = this.#own, address = `${issuer}/openid-connect/jwks`, { kid } = jwt.header;
    const find = async (anew) => {
      const text = await read(address, anew);
      return text ? parsed(address, text).keys?.find?.((key) => key?.kid === kid) : undefined;
    };
    const published = (await find(false)) ?? (await find(true)); // it may be newer than the cached key set
    const certified = issuerKey(jwt, issuer, roots, now);
    demand(certified.equals(publicKey(published, "kid")), "certificate-key", "it is for another key");
    return certified;
  }

  // Pushes a request (RFC 9126) and returns the parameters that refer to it.
  async #pushed(body) {
    const { issuer, clientId, fetch } = this.#own, address = `${issuer}${PRESENTATION}/par`;
    const { status, text, headers } = await call(address, { method: "POST", body }, fetch);
    const { error, error_description: description, request_uri } = parsed(address, text);
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
 * @param {Readonly<Record<string, unknown>> | Headers} headers with names in lower case, as Node has them
 * @param {Uint8Array | ArrayBuffer} body as it arrived
 * @param {...string} secrets your secret (`whsec_…`), or the old and the new one while you change them
 * @returns {{ type: string, timestamp: string, data: Record<string, unknown> }}
 */
export function readWebhook(headers, body, ...secrets) {
  const fits = secrets.every((secret) => /^whsec_[A-Za-z0-9+/]{43}=$/.test(secret));
  if (!fits) throw new TypeError("a webhook secret is missing or incomplete: it is whsec_ and 44 characters");
  const read = headers instanceof Headers ? (name) => headers.get(name) : (name) => headers[name];
  const [id, moment, signatures] = ["id", "timestamp", "signature"].map((name) => `${read(`webhook-${name}`)}`);
  const octets = body instanceof ArrayBuffer ? new Uint8Array(body) : body;
  const sign = (key) => createHmac("sha256", key).update(`${id}.${moment}.`).update(octets).digest("base64");
  const own = secrets.map((secret) => `v1,${sign(Buffer.from(secret.replace(/^whsec_/, ""), "base64"))}`);
  demand(own.some((mac) => signatures.split(" ").some((each) => same(each, mac))), "webhook", "no secret signed it");
  demand(Math.abs(Date.now() / 1000 - Number(moment)) <= TOLERANCE, "webhook", "it was not sent just now");
  return readJson(octets);
}
