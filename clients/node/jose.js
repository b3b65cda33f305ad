// JWS, JWE and their certificates: ES256 (RFC 7518 §3.4), ECDH-ES with AES-GCM (§4.6, §5.3), `x5c` (RFC 7515 §4.1.6).
import * as crypto from "node:crypto";
import { isIP } from "node:net";
import { demand, Rejected } from "./errors.js";

const CONTENT_KEYS = { A128GCM: 16, A256GCM: 32 }; // bytes of the key, by `enc`
const LONGEST_RESPONSE = 131_072; // characters of an encrypted answer
const MOST = 5; // certificates below the root
const SIGNATURE = /** @type {const} */ ({ dsaEncoding: "ieee-p1363" });
const utf8 = new TextDecoder("utf-8", { fatal: true });

export const digest = (text) => crypto.createHash("sha256").update(text).digest("base64url");
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** The octets of base64url without padding, in its only canonical form. */
export function decode(text) {
  const octets = Buffer.from(String(text), "base64url");
  demand(octets.toString("base64url") === text, "structure", "a part is not base64url");
  return octets;
}

export function readJson(text) {
  try { return JSON.parse(typeof text === "string" ? text : utf8.decode(text)); }
  catch { throw new Rejected("structure", "a part is not JSON"); }
}

export function readObject(text) {
  const found = readJson(text);
  demand(isObject(found), "structure", "a part is not a JSON object");
  return found;
}

/** A compact JWS (RFC 7515 §7.1) that carries an object. No signature is verified. */
export function readJwt(text) {
  const [header, payload, signature, ...others] = String(text).split(".");
  demand(signature !== undefined && others.length === 0, "structure", "a JWT has three parts");
  const [head, said] = [header, payload].map((part) => readObject(decode(part)));
  return { header: head, payload: said, signed: Buffer.from(`${header}.${payload}`), signature: decode(signature) };
}

/** Verifies the signature with ES256, the only algorithm that is accepted. */
export function verifySignature({ header, signed, signature }, key, check) {
  demand(header.alg === "ES256" && !("crit" in header), check, "alg is not ES256");
  const verified = signature.length === 64 && crypto.verify("sha256", signed, { key, ...SIGNATURE }, signature);
  demand(verified, check, "the signature does not verify");
}

/** The public key of a JWK on the curve P-256 (RFC 7518 §6.2.1). */
export function publicKey(jwk, check) {
  const { kty, crv, x, y, d } = isObject(jwk) ? jwk : {};
  demand(kty === "EC" && crv === "P-256" && d === undefined, check, "there is no public key on the curve P-256");
  try { return crypto.createPublicKey({ key: { kty, crv, x, y }, format: "jwk" }); }
  catch { throw new Rejected(check, "the point is not on the curve"); }
}

/** A fresh private key for one encrypted answer, as a JWK. */
export function newKey(kid) {
  const { privateKey } = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...privateKey.export({ format: "jwk" }), kid, use: "enc", alg: "ECDH-ES" };
}

/** A JWT signed with ES256 by the private key of a JWK. */
export function sign(payload, jwk) {
  const parts = [{ alg: "ES256", kid: jwk.kid }, payload];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  const signature = crypto.sign("sha256", Buffer.from(signed), { key: jwk, format: "jwk", ...SIGNATURE });
  return `${signed}.${signature.toString("base64url")}`;
}

/** The protected header of a compact JWE (RFC 7516 §7.1). */
export function jweHeader(compact) {
  demand(String(compact).length <= LONGEST_RESPONSE, "encryption", "it is too long");
  return readObject(decode(String(compact).split(".")[0]));
}

/** The object in a compact JWE that was encrypted to the private key of a JWK. */
export function decrypt(compact, jwk) {
  const { alg, enc, epk, apu = "", apv = "", crit, zip } = jweHeader(compact);
  const [head, none, initial, sealed, tag, ...others] = String(compact).split(".");
  demand(tag && !none && others.length === 0, "encryption", "it is not a JWE for direct key agreement");
  const size = Object.hasOwn(CONTENT_KEYS, enc) ? CONTENT_KEYS[enc] : 0;
  demand(alg === "ECDH-ES" && size && !crit && !zip, "encryption", "the header names another algorithm");
  const privateKey = crypto.createPrivateKey({ key: jwk, format: "jwk" });
  const shared = crypto.diffieHellman({ privateKey, publicKey: publicKey(epk, "encryption") });
  const number = (value) => Buffer.from([0, 0, value >> 8, value & 255]);
  const texts = [Buffer.from(enc), decode(apu), decode(apv)].flatMap((each) => [number(each.length), each]);
  const hashed = Buffer.concat([number(1), shared, ...texts, number(size * 8)]); // Concat KDF (RFC 7518 §4.6.2)
  const key = crypto.createHash("sha256").update(hashed).digest().subarray(0, size);
  try {
    const algorithm = /** @type {"aes-256-gcm"} */ (`aes-${size * 8}-gcm`);
    const cipher = crypto.createDecipheriv(algorithm, key, decode(initial), { authTagLength: 16 });
    cipher.setAuthTag(decode(tag)).setAAD(Buffer.from(head));
    return readObject(Buffer.concat([cipher.update(decode(sealed)), cipher.final()]));
  } catch { throw new Rejected("encryption", "it was not encrypted to this key, or it was changed"); }
}

/** The key of the first certificate in `x5c`, if the chain leads to the root and is for the issuer's host. */
export function certifiedKey({ header }, issuer, root, now) {
  const sent = Array.isArray(header.x5c) ? header.x5c : [], check = "certificate-chain";
  demand(sent.length > 0 && sent.length <= MOST, "x5c", "there is no chain of certificates");
  let path, host;
  try {
    path = [...sent.map((each) => new crypto.X509Certificate(Buffer.from(each, "base64"))), root];
    host = new URL(issuer).hostname.replace(/^\[|\]$/g, "");
  } catch { throw new Rejected(check, "a certificate cannot be read"); }
  path.forEach((each, at) => {
    const inTime = Date.parse(each.validFrom) <= now * 1000 && now * 1000 <= Date.parse(each.validTo);
    demand(inTime, check, "a certificate is not valid at this time");
    if (at === 0) return;
    const issued = each.ca && path[at - 1].checkIssued(each) && path[at - 1].verify(each.publicKey);
    demand(issued && pathLength(each) >= at - 1, check, "a certificate was not issued by the next");
  });
  const exactly = /** @type {const} */ ({ subject: "never", wildcards: false });
  const named = isIP(host) ? path[0].checkIP(host) : path[0].checkHost(host, exactly);
  demand(named, check, "the certificate is for another host");
  return path[0].publicKey;
}

// `pathLenConstraint` of the basic constraints (RFC 5280 §4.2.1.9), which `X509Certificate` does not tell.
function pathLength(certificate) {
  const found = /0603551d13(?:0101ff)?040830060101ff0201(..)/.exec(certificate.raw.toString("hex"));
  return found ? parseInt(found[1], 16) : Infinity;
}
