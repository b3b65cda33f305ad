// `Wallet` sends requests for verified claims and verifies the answers.
import { createHash, createHmac, randomBytes, timingSafeEqual, X509Certificate } from "node:crypto";
import { certifiedKey, decrypt, demand, isObject, jweHeader, newKey, publicKey, readJson, Rejected, sign } from "./jose.js";
import { checkStatus, LONGEST, readPresentation, verify } from "./verification.js";
import { Documents, fetchDocument, parsed, send, Unavailable } from "./documents.js";

export { verifyArchive } from "./archive.js";
export { Rejected, Unavailable };

const PRESENTATION = "/verifiable-credentials/v1/presentation";
const SCOPE = "urn:service:params:scope:verifiable-credentials:";
// The claims of the scopes with which every service begins. A person may leave off one with a question mark.
const SCOPES = {
  "basic": ["given_name", "family_name", "age_equal_or_over.18"],
  "age-over-18": ["age_equal_or_over.18"],
  "identity": ["birth_date", "nationalities?"],
  "contact": ["email"],
};
const fresh = () => randomBytes(24).toString("base64url");
const same = (one, other) => one.length === other.length && timingSafeEqual(one, other);

export class Denied extends Error {
  constructor(code, description) {
    super(/^[a-z_]{1,64}$/.test(code) ? code : "unknown_error");
    this.name = "Denied";
    this.code = this.message;
    // RFC 6749 §4.1.2.1 allows these characters, and no line feed that could forge a line of a log.
    this.description = String(description ?? "").replace(/[^\x20-\x7e]/g, "").slice(0, 300);
  }
}

export class Wallet {
  #options;
  #root;
  #documents;

  constructor(baseUrl, clientId, redirectUri, options) {
    Object.assign(this, { baseUrl: baseUrl.replace(/\/+$/, ""), clientId, redirectUri });
    this.#options = { lifetime: 7200, clock: () => Date.now() / 1000, fetch: fetchDocument, ...options };
    this.#root = new X509Certificate(options.root);
    this.#documents = new Documents(this.#options.fetch);
  }

  async request({ scope = "basic", claims, transactionData = [], ...parameters } = {}) {
    const known = claims ?? scope.split(" ").flatMap((name) => {
      if (!Object.hasOwn(SCOPES, name)) throw new TypeError("Name the claims of this scope.");
      return SCOPES[name];
    });
    const data = transactionData.map((each) => Buffer.from(JSON.stringify(each)).toString("base64url"));
    const [nonce, state, mode] = [fresh(), fresh(), parameters.response_mode ?? ""];
    const decryptionKey = mode === "direct_post.jwt" ? newKey(state) : undefined;
    const scopes = scope.split(" ").map((name) => (name.includes(":") ? name : SCOPE + name));
    let sent = {
      response_type: "vp_token",
      client_id: this.clientId,
      [mode.startsWith("direct_post") ? "response_uri" : "redirect_uri"]: this.redirectUri,
      scope: parameters.dcql_query ? undefined : scopes.join(" "),
      nonce,
      state,
      transaction_data: data.join(" "),
      client_metadata: decryptionKey && offered(decryptionKey),
      ...parameters,
    };
    sent = Object.fromEntries(Object.entries(sent).filter(([, value]) => value));
    const { secret, key } = this.#options;
    if (secret || key) sent = { client_id: this.clientId, request_uri: await this.#push(sent) };
    const request = { issuer: this.baseUrl, clientId: this.clientId, nonce, claims: known, transactionData: data };
    const pending = { ...request, state, begun: this.#options.clock(), decryptionKey };
    const query = new URLSearchParams(sent).toString().replaceAll("+", "%20");
    return { url: `${this.baseUrl}${PRESENTATION}/authorize?${query}`, pending };
  }

  async finish(pending, fields) {
    let answer = fields;
    if (fields.response !== undefined) {
      demand(pending.decryptionKey, "encryption", "no encrypted answer was requested");
      answer = readJson(decrypt(fields.response, pending.decryptionKey));
      demand(isObject(answer), "structure", "the answer is not an object");
    }
    const mine = same(Buffer.from(String(answer.state)), Buffer.from(pending.state));
    demand(mine, "state", "the answer is for another session");
    demand((answer.iss ?? this.baseUrl) === this.baseUrl, "iss", "the answer is from another issuer");
    const age = this.#options.clock() - pending.begun;
    demand(age >= -60 && age <= this.#options.lifetime, "state", "the request is too old");
    if (answer.error !== undefined) throw new Denied(answer.error, answer.error_description);
    demand(answer !== fields || !pending.decryptionKey, "encryption", "the answer is not encrypted");
    return this.#verified(answer.vp_token, pending);
  }

  async verify(vpToken, { nonce, claims, transactionData = [] }) {
    const request = { issuer: this.baseUrl, clientId: this.clientId, nonce, claims, transactionData };
    return this.#verified(vpToken, request);
  }

  async #verified(vpToken, request) {
    const given = readPresentation(single(vpToken)), now = this.#options.clock();
    demand(request.issuer === this.baseUrl, "iss", "the request was sent to another issuer");
    const keyOf = (jwt) => this.#keyOf(jwt, now);
    const claims = await verify(given, request, keyOf, now);
    const list = await checkStatus(given, request, keyOf, now, (uri) => this.#documents.text(uri));
    const evidence = {
      presentations: [given.token],
      transaction_data: request.transactionData,
      certificates: given.jwt.header.x5c,
      status_lists: [list],
    };
    return { claims, vpToken: given.token, archive: () => JSON.stringify(evidence) };
  }

  // The issuer's key for a token: published under its `kid`, and certified up to the root.
  async #keyOf(jwt, now) {
    const said = await this.#documents.object(`${this.baseUrl}/.well-known/openid-configuration`);
    const address = String(said.jwks_uri), ours = said.issuer === this.baseUrl && address.startsWith(`${this.baseUrl}/`);
    demand(ours, "discovery", "the discovery document is another issuer's");
    let found = [];
    for (const anew of [false, true]) {
      if (found.length > 0) break; // otherwise the key may be newer than the cached key set
      const { keys } = await this.#documents.object(address, anew);
      found = (Array.isArray(keys) ? keys : []).filter((key) => key?.kid === jwt.header.kid && key?.kid);
    }
    demand(found.length === 1, "kid", "the key is not in the key set");
    const certified = certifiedKey(jwt, this.baseUrl, this.#root, now);
    demand(certified.equals(publicKey(found[0], "kid")), "certificate-key", "it is for another key");
    return certified;
  }

  // Pushes a request (RFC 9126) and returns its `request_uri`.
  async #push(parameters) {
    const { secret, key, clock } = this.#options, form = { ...parameters }, headers = {};
    if (key) {
      const client = this.clientId, now = Math.floor(clock()); // RFC 7523 §3
      const facts = { iss: client, sub: client, aud: this.baseUrl, jti: fresh(), iat: now, exp: now + 60 };
      form.client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
      form.client_assertion = sign(facts, key);
    } else {
      const basic = [this.clientId, secret].map(encodeURIComponent).join(":"); // RFC 6749 §2.3.1
      headers.Authorization = `Basic ${Buffer.from(basic).toString("base64")}`;
    }
    const address = `${this.baseUrl}${PRESENTATION}/par`;
    const { status, text } = await send(address, { method: "POST", headers, body: new URLSearchParams(form) });
    if (status === 429 || status >= 500) throw new Unavailable(`${address} answered with status ${status}`);
    const answer = parsed(address, text);
    if (status !== 201) throw new Denied(answer.error, answer.error_description);
    return answer.request_uri;
  }
}

export function stateOf({ state, response }) {
  const found = response === undefined ? state : jweHeader(response).kid;
  demand(typeof found === "string" && found.length <= 100, "state", "the answer names no request");
  return found;
}

export const nonceSha256 = ({ nonce }) => createHash("sha256").update(nonce).digest("hex");

export function readWebhook(headers, body, ...secrets) {
  const [id, moment, signatures] = ["id", "timestamp", "signature"].map((name) => String(headers[`webhook-${name}`]));
  const short = body.length <= 65_536 && id.length + signatures.length <= 2048 && /^\d{1,12}$/.test(moment);
  demand(short, "webhook", "the headers or the body are not those of a webhook");
  const matches = secrets.flatMap((secret) => {
    const mac = createHmac("sha256", Buffer.from(secret.replace(/^whsec_/, ""), "base64"));
    const own = Buffer.from(`v1,${mac.update(`${id}.${moment}.`).update(body).digest("base64")}`);
    return signatures.split(" ").map((each) => same(own, Buffer.from(each)));
  });
  demand(matches.includes(true), "webhook", "no signature is by one of the secrets");
  demand(Math.abs(Date.now() / 1000 - Number(moment)) <= 300, "webhook", "it was not sent just now");
  const content = readJson(body);
  demand(isObject(content), "webhook", "it is not an object");
  return content;
}

// The `client_metadata` of a request whose answer is encrypted to this key (OpenID4VP 1.0 §8.3).
function offered({ d, ...key }) {
  return JSON.stringify({ jwks: { keys: [key] }, encrypted_response_enc_values_supported: ["A256GCM", "A128GCM"] });
}

// The only presentation: the text itself, or in an object by the ID of its query (OpenID4VP 1.0 §8.1).
function single(vpToken) {
  const text = typeof vpToken === "string" && vpToken.startsWith("{");
  const found = text ? readJson(vpToken.slice(0, LONGEST)) : vpToken;
  if (!isObject(found)) return found;
  const lists = Object.values(found), one = lists.length === 1 && Array.isArray(lists[0]) && lists[0].length === 1;
  demand(one, "structure", "there is not exactly one presentation");
  return lists[0][0];
}
