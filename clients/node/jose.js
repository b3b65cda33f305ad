// The exceptions, none of which repeats a value of a person. JWS and JWE: ES256 (RFC 7518 §3.4), ECDH-ES with AES-GCM
// (§4.6, §5.3).
import * as crypto from "node:crypto";

const LONGEST = 131_072, DEEPEST = 500; // characters of an encrypted answer, and levels of objects and arrays in JSON
// What the Concat KDF hashes beside the shared secret (RFC 7518 §4.6.2).
const COUNTER = Buffer.from("\0\0\0\x01"), CONTEXT = Buffer.from("\0\0\0\x07A256GCM\0\0\0\0\0\0\0\0\0\0\x01\0");
/** Posted fields as your framework has them.
 * @typedef {Readonly<Record<string, unknown>> | FormData | URLSearchParams} Fields */
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The person or the service said no, so nobody is verified. */
export class Denied extends Error {
  name = "Denied";
  /** @param {unknown} code @param {unknown} [description] @param {string | null} [requestId] */
  constructor(code, description = "", requestId = "") {
    super(`${code}: ${description}`.replace(/[^\x20-\x7e]/g, "").slice(0, 700)); // no line break forges a log
    /** The `error` of OAuth 2.0, such as `access_denied`. */
    this.code = String(code).replace(/[^a-z_]/g, "").slice(0, 64);
    /** Explains it to a developer; only the characters of RFC 6749 §4.1.2.1. */
    this.description = String(description).replace(/[^\x20-\x7e]/g, "").slice(0, 600);
    /** Of a request that was refused when it was pushed, to be found by the operator and, in the sandbox, by you. */
    this.reference = referenceOf(requestId);
  }
}

/** The answer is forged, changed, too old or for another request. */
export class Rejected extends Error {
  name = "Rejected";
  /** @param {string} check @param {string} reason */
  constructor(check, reason) {
    super(`${check}: ${reason}`);
    /** The name of what failed. */
    this.check = check;
  }
}

/** The service cannot be reached. Try again: an answer stays valid for five minutes. */
export class Unavailable extends Error {
  name = "Unavailable";
  /** @param {string} reason @param {{ cause?: unknown, retryAfter?: number, requestId?: string | null }} [facts] */
  constructor(reason, { cause, retryAfter = 0, requestId } = {}) {
    super(reason, { cause });
    /** After how many seconds, if the service said so. */
    this.retryAfter = retryAfter;
    /** Of the failed call, for the service's operator; "" if there was no response. */
    this.reference = referenceOf(requestId);
  }
}

/** The reference by which the operator finds a call, from its `X-Request-ID`. */
const referenceOf = (requestId) => String(requestId ?? "").replace(/[^0-9a-f]/g, "").slice(0, 8).toUpperCase();

/** Throws `Rejected` unless the condition holds.
 * @param {unknown} condition @param {string} check @param {string} reason */
export function demand(condition, check, reason) {
  if (!condition) throw new Rejected(check, reason);
}

/** What an action of the platform returns; if it fails, this error is thrown.
 * @template T @param {() => T} action @param {Error} error */
export function attempt(action, error) {
  try { return action(); }
  catch { throw error; }
}

export const hash = (content) => crypto.createHash("sha256").update(content).digest();
export const digest = (text) => hash(text).toString("base64url");
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** The octets of base64url without padding, in its only canonical form. */
export function decode(text) {
  const octets = Buffer.from(typeof text === "string" ? text : "=", "base64url");
  demand(octets.toString("base64url") === text, "structure", "a part is not base64url");
  return octets;
}

// How many names a JSON text has, which are strings before a colon. `JSON.parse` keeps only one of two that are equal.
const names = (json) => json.match(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g)?.filter((each) => each.endsWith(":")).length;

// Whether nothing is nested so deeply that a later step would exceed the stack.
function isFlat(value) {
  let level = [value], depth = 0;
  for (; level.length > 0 && depth <= DEEPEST; depth++) {
    level = level.flatMap((node) => (typeof node === "object" && node !== null ? Object.values(node) : []));
  }
  return level.length === 0;
}

/** The value of a JSON text in which no object has a name twice: an object, or what `fits` demands. */
export function readJson(text, fits = isObject) {
  const error = new Rejected("structure", "it is not JSON of this kind, or an object has a name twice");
  const json = attempt(() => utf8.decode(Buffer.from(text)), error), found = attempt(() => JSON.parse(json), error);
  if (!isFlat(found) || !fits(found) || attempt(() => names(JSON.stringify(found)), error) !== names(json)) throw error;
  return found;
}

/** A compact JWS (RFC 7515 §7.1) that carries an object. No signature is verified. */
export function readJwt(text) {
  const parts = typeof text === "string" ? text.split(".") : [], [head, body, signature] = parts;
  demand(parts.length === 3, "structure", "a JWT has three parts");
  const [header, payload] = [head, body].map((part) => readJson(decode(part)));
  return { header, payload, signed: Buffer.from(`${head}.${body}`), signature: decode(signature) };
}

/** Whether the header names this media type, written without `application/` (RFC 7515 §4.1.9). Upper and lower case of
 * ASCII are the same (RFC 2045 §5.1). */
export function isOfType({ typ }, wanted) {
  const short = (name) => name.toLowerCase().replace(/^application\//, "");
  return typeof typ === "string" && /^[\x20-\x7e]+$/.test(typ) && short(typ) === short(wanted);
}

/** Whether `aud` names this recipient, as a text or in an array of texts (RFC 7519 §4.1.3). */
export function isFor({ aud }, recipient) {
  const named = [aud].flat();
  return named.every((each) => typeof each === "string") && named.includes(recipient);
}

/** Verifies type and signature; ES256 is the only algorithm that is accepted. */
export function verifySignature({ header, signed, signature }, key, typ, check, typeCheck = check, algCheck = check) {
  demand(isOfType(header, typ), typeCheck, `it is not of the type ${typ}`);
  const plain = !Object.hasOwn(header, "crit") && !Object.hasOwn(header, "b64"); // no extension (RFC 7515 §4.1.11)
  demand(header.alg === "ES256" && plain, algCheck, "alg is not ES256, or the header asks for an extension");
  demand(signature.length === 64, check, "the signature has not 64 bytes");
  demand(crypto.verify("sha256", signed, { key, dsaEncoding: "ieee-p1363" }, signature), check, "wrong signature");
}

/** The public key of a JWK on the curve P-256 (RFC 7518 §6.2.1). */
export function publicKey(jwk, check) {
  const { kty, crv, x, y, d } = isObject(jwk) ? jwk : {}, error = new Rejected(check, "it is no public key on P-256");
  if (kty !== "EC" || crv !== "P-256" || d !== undefined) throw error;
  return attempt(() => crypto.createPublicKey({ key: { kty, crv, x, y }, format: "jwk" }), error);
}

/** A fresh private key for one encrypted answer, as a JWK. */
export function newKey(kid) {
  const { privateKey } = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...privateKey.export({ format: "jwk" }), kid, use: "enc", alg: "ECDH-ES" };
}

/** The `client_metadata` of a request whose answer is encrypted to this key (OpenID4VP 1.0 §8.3).
 * @param {any} jwk */
export const offered = ({ d: _, ...key }) =>
  JSON.stringify({ jwks: { keys: [key] }, encrypted_response_enc_values_supported: ["A256GCM"] });

/** The protected header of a compact JWE (RFC 7516 §7.1) of direct key agreement: its second part is empty. */
export function jweHeader(compact) {
  const short = typeof compact === "string" && compact.length <= LONGEST;
  demand(short && /^[^.]+\.(\.[^.]+){3}$/.test(compact), "encryption", "it is no JWE");
  return readJson(decode(compact.split(".")[0]));
}

const FIELDS = ["vp_token", "state", "error", "error_description", "iss", "response"];

/** The fields of an answer: an object of them, or `FormData` or `URLSearchParams`, in which none may be there twice.
 * @param {any} fields @returns {Record<string, unknown>} */
export function readFields(fields) {
  if (typeof fields?.getAll !== "function") return Object(fields);
  const found = FIELDS.map((name) => [name, fields.getAll(name)]).filter(([, values]) => values.length > 0);
  demand(found.every(([, values]) => values.length === 1), "structure", "a field is there twice");
  return Object.fromEntries(found.map(([name, values]) => [name, values[0]]));
}

/** The `state` of an answer at your response URI (`direct_post`), by which you find its `Pending`.
 * @param {Fields} fields @returns {string} */
export function stateOf(fields) {
  const { state, response } = readFields(fields);
  const found = response === undefined || response === null ? state : jweHeader(response).kid;
  demand(typeof found === "string" && found.length <= 100, "state", "the posted fields have no state");
  return found;
}

/** The object in a compact JWE that was encrypted to the private key of a JWK, if there is one. */
export function decrypt(compact, jwk) {
  return attempt(() => {
    const parts = String(compact).split("."), [initial, sealed, tag] = parts.slice(2).map(decode);
    const privateKey = crypto.createPrivateKey({ key: jwk, format: "jwk" });
    const shared = crypto.diffieHellman({ privateKey, publicKey: publicKey(jweHeader(compact).epk, "encryption") });
    const key = hash(Buffer.concat([COUNTER, shared, CONTEXT]));
    const cipher = crypto.createDecipheriv("aes-256-gcm", key, initial, { authTagLength: 16 });
    cipher.setAuthTag(tag).setAAD(Buffer.from(parts[0]));
    return readJson(Buffer.concat([cipher.update(sealed), cipher.final()]));
  }, new Rejected("encryption", "it was not encrypted to this key with A256GCM, or it was changed"));
}
