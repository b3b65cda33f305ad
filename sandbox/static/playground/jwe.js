// Opening an answer that was encrypted to us: ECDH-ES straight to the content key (RFC 7518 §4.6), AES-GCM.

import { fromBase64url, fromJson } from "./encoding.js";

const ALGORITHM = { name: "ECDH", namedCurve: "P-256" };
const BITS = { A128GCM: 128, A256GCM: 256 };
const LIMIT = 65536;
const bytesOf = (text) => new TextEncoder().encode(text);

/** A fresh key pair: the public half goes out as client metadata, the private one stays in this tab. */
export async function newKey(kid) {
  const pair = await crypto.subtle.generateKey(ALGORITHM, true, ["deriveBits"]);
  const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", pair.publicKey);
  return {
    metadata: {
      jwks: { keys: [{ kty, crv, x, y, kid, use: "enc", alg: "ECDH-ES" }] },
      encrypted_response_enc_values_supported: Object.keys(BITS).reverse(),
    },
    privateKey: await crypto.subtle.exportKey("jwk", pair.privateKey),
  };
}

/**
 * @param {string} token       a compact JWE
 * @param {object} privateKey  as `newKey` gave it
 * @returns {Promise<object>}  the decrypted JSON; throws if the token cannot be decrypted
 */
export async function decrypt(token, privateKey) {
  const parts = token.split(".");
  if (token.length > LIMIT || parts.length !== 5 || parts[1] !== "") throw new Error("this is not a JWE of ECDH-ES");
  const header = fromJson(fromBase64url(parts[0]));
  const { alg, enc, epk, crit, zip } = header;
  if (alg !== "ECDH-ES" || !(enc in BITS) || crit || zip) throw new Error(`encrypted as ${alg}, ${enc}: not as asked`);
  const key = await contentKey(await sharedSecret(epk, privateKey), header);
  const sealed = new Uint8Array([...fromBase64url(parts[3]), ...fromBase64url(parts[4])]);
  if (fromBase64url(parts[4]).length !== 16) throw new Error("the tag has not 128 bits");
  const how = { name: "AES-GCM", iv: fromBase64url(parts[2]), additionalData: bytesOf(parts[0]), tagLength: 128 };
  try {
    return fromJson(new Uint8Array(await crypto.subtle.decrypt(how, key, sealed)));
  } catch {
    throw new Error("it does not open with the key of this tab");
  }
}

async function sharedSecret({ kty, crv, x, y }, privateKey) {
  const theirs = await crypto.subtle.importKey("jwk", { kty, crv, x, y }, ALGORITHM, false, []);
  const ours = await crypto.subtle.importKey("jwk", privateKey, ALGORITHM, false, ["deriveBits"]);
  return new Uint8Array(await crypto.subtle.deriveBits({ name: "ECDH", public: theirs }, ours, 256));
}

/** Concat KDF, one round of SHA-256 (RFC 7518 §4.6.2). */
async function contentKey(secret, { enc, apu = "", apv = "" }) {
  const number = (value) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
  const withLength = (bytes) => [...number(bytes.length), ...bytes];
  const info = [bytesOf(enc), fromBase64url(apu), fromBase64url(apv)].flatMap(withLength);
  const input = new Uint8Array([...number(1), ...secret, ...info, ...number(BITS[enc])]);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", input));
  return crypto.subtle.importKey("raw", hash.slice(0, BITS[enc] / 8), "AES-GCM", false, ["decrypt"]);
}
