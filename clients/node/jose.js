// JWS, JWE and certificates on the curve P-256: ES256 (RFC 7518 §3.4), ECDH-ES with AES-GCM (§4.6, §5.3), x5c.
import * as crypto from "node:crypto";

const CONTENT_KEYS = { A128GCM: 16, A256GCM: 32 }; // bytes of the key, by `enc`
const LONGEST_RESPONSE = 131_072; // characters of an encrypted answer
const MOST_CERTIFICATES = 5; // below the root
const utf8 = new TextDecoder("utf-8", { fatal: true });

export class Rejected extends Error {
  constructor(check, reason) {
    super(`${check}: ${reason}`);
    this.name = "Rejected";
    this.check = check;
  }
}

export function demand(condition, check, reason) {
  if (!condition) throw new Rejected(check, reason);
}

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
export const digest = (text) => crypto.createHash("sha256").update(text).digest("base64url");

/** The octets of base64url without padding, in its only canonical form. */
export function decode(text) {
  const octets = Buffer.from(String(text), "base64url");
  demand(typeof text === "string" && octets.toString("base64url") === text, "structure", "a part is not base64url");
  return octets;
}

export function readJson(text) {
  try {
    return JSON.parse(typeof text === "string" ? text : utf8.decode(text));
  } catch {
    throw new Rejected("structure", "a part is not JSON");
  }
}

/** A compact JWS (RFC 7515 §7.1) that carries an object. No signature is verified. */
export function readJwt(text) {
  const parts = typeof text === "string" ? text.split(".") : [];
  demand(parts.length === 3, "structure", "a JWT has three parts");
  const [header, payload] = parts.slice(0, 2).map((part) => readJson(decode(part)));
  demand(isObject(header) && isObject(payload), "structure", "a JWT consists of objects");
  return { header, payload, signed: `${parts[0]}.${parts[1]}`, signature: decode(parts[2]) };
}

/** Verifies the signature with ES256, the only algorithm that is accepted. */
export function verifySignature({ header, signed, signature }, key, check) {
  demand(header.alg === "ES256" && !("crit" in header), check, "alg is not ES256");
  const verified = crypto.verify("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" }, signature);
  demand(signature.length === 64 && verified, check, "the signature does not verify");
}

export function publicKey(jwk, check) {
  const { kty, crv, x, y, d } = isObject(jwk) ? jwk : {};
  demand(kty === "EC" && crv === "P-256" && d === undefined, check, "there is no public key on the curve P-256");
  try {
    return crypto.createPublicKey({ key: { kty, crv, x, y }, format: "jwk" });
  } catch {
    throw new Rejected(check, "the point is not on the curve");
  }
}

/** A fresh private key for one encrypted answer, as a JWK. */
export function newKey(kid) {
  const { privateKey } = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...privateKey.export({ format: "jwk" }), kid, use: "enc", alg: "ECDH-ES" };
}

export function sign(payload, jwk) {
  const parts = [{ alg: "ES256", kid: jwk.kid }, payload];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  const key = { key: jwk, format: "jwk", dsaEncoding: "ieee-p1363" };
  return `${signed}.${crypto.sign("sha256", Buffer.from(signed), key).toString("base64url")}`;
}

/** The protected header of a compact JWE (RFC 7516 §7.1). */
export function jweHeader(compact) {
  demand(typeof compact === "string" && compact.length <= LONGEST_RESPONSE, "encryption", "it is too long");
  const header = readJson(decode(compact.split(".")[0]));
  demand(isObject(header), "encryption", "the header is not an object");
  return header;
}

/** The content of a compact JWE that was encrypted to the private key of a JWK. */
export function decrypt(compact, jwk) {
  const { alg, enc, epk, apu = "", apv = "", ...others } = jweHeader(compact), parts = compact.split(".");
  demand(parts.length === 5 && !parts[1], "encryption", "it is not a JWE for direct key agreement");
  const size = Object.hasOwn(CONTENT_KEYS, enc) && CONTENT_KEYS[enc];
  demand(alg === "ECDH-ES" && size && !others.crit && !others.zip, "encryption", "the header names another algorithm");
  const privateKey = crypto.createPrivateKey({ key: jwk, format: "jwk" });
  const shared = crypto.diffieHellman({ privateKey, publicKey: publicKey(epk, "encryption") });
  const number = (value) => Buffer.from([0, 0, value >> 8, value & 255]);
  const info = [Buffer.from(enc), decode(apu), decode(apv)].flatMap((each) => [number(each.length), each]);
  const derived = [number(1), shared, ...info, number(size * 8)]; // Concat KDF, RFC 7518 §4.6.2
  const key = crypto.createHash("sha256").update(Buffer.concat(derived)).digest().subarray(0, size);
  const [initial, sealed, tag] = parts.slice(2).map(decode);
  demand(initial.length === 12 && tag.length === 16, "encryption", "a part has another length");
  const cipher = crypto.createDecipheriv(`aes-${size * 8}-gcm`, key, initial, { authTagLength: 16 });
  try {
    cipher.setAuthTag(tag).setAAD(Buffer.from(parts[0]));
    return Buffer.concat([cipher.update(sealed), cipher.final()]);
  } catch {
    throw new Rejected("encryption", "it was not encrypted to this key, or it was changed");
  }
}

/** The key of the first certificate in `x5c`, if the chain leads to the root and is for the host of the issuer. */
export function certifiedKey({ header }, issuer, root, now) {
  const sent = Array.isArray(header.x5c) ? header.x5c : [];
  demand(sent.length > 0 && sent.length <= MOST_CERTIFICATES, "x5c", "there is no chain of certificates");
  let path, host;
  try {
    path = [...sent.map((each) => new crypto.X509Certificate(Buffer.from(each, "base64"))), root];
    host = new URL(issuer).hostname.replace(/^\[|\]$/g, "");
  } catch {
    throw new Rejected("x5c", "a certificate cannot be read");
  }
  path.forEach((each, at) => {
    const inTime = Date.parse(each.validFrom) <= now * 1000 && now * 1000 <= Date.parse(each.validTo);
    demand(inTime, "certificate-chain", "a certificate is not valid at this time");
    if (at === 0) return;
    const issued = each.ca && path[at - 1].checkIssued(each) && path[at - 1].verify(each.publicKey);
    demand(issued, "certificate-chain", "a certificate was not issued by the next");
    demand(pathLength(each) >= at - 1, "certificate-chain", "an authority may not issue this chain");
  });
  const named = path[0].checkHost(host, { subject: "never", wildcards: false }) ?? path[0].checkIP(host);
  demand(named, "certificate-chain", "the certificate is for another host");
  return path[0].publicKey;
}

// `X509Certificate` does not tell it: id-ce-basicConstraints, critical or not, with `cA` and `pathLenConstraint`.
function pathLength(certificate) {
  const found = /0603551d13(?:0101ff)?04083006(?:0101ff)0201(..)/.exec(certificate.raw.toString("hex"));
  return found ? parseInt(found[1], 16) : Infinity;
}
