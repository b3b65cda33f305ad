// Whether the issuer signed a token: its algorithm, key, signature and certificates. A credential and a status
// list are checked alike. `p.jwt` is the token as decoded; `e` what we know: `jwks`, `trustedRoot`, `now`.

import { fromBase64 } from "./encoding.js";
import { readCertificate, verifyChain } from "./x5c.js";

/** A check throws if it fails; otherwise it returns the value that it checked. */
export const SIGNED_BY_ISSUER = {
  // RFC 8725 §3.1: accept the algorithms you expect, never "whatever the header says", never "none".
  alg: (p) => same("alg", p.jwt.header.alg, "ES256"),

  // RFC 7517 §4.5: the key is the one of that name in the key set. Fetch the set anew, once, if it is missing.
  kid: (p, e) => `found ${findKey(p.jwt, e).kid}`,

  // RFC 9901 §7.1 step 2b: the signature over header and payload, exactly as they were sent.
  "issuer-signature": async (p, e) => verifySignature(p.jwt, findKey(p.jwt, e)),

  // RFC 7515 §4.1.6: the chain in the header. It must be the published one, without the root.
  x5c: (p, e) => {
    const sent = p.jwt.header.x5c ?? [];
    const published = findKey(p.jwt, e).x5c ?? [];
    if (!sent.length) throw new Error("the header has no x5c");
    if (sent.some((certificate, i) => certificate !== published[i]) || sent.length >= published.length) {
      throw new Error("the chain in the token is not the chain in the key set");
    }
    return `${sent.length} of the ${published.length} published certificates, the root left out`;
  },

  // RFC 7517 §4.7: the key in the first certificate must be the key of the JWK.
  "certificate-key": async (p, e) => {
    const jwk = findKey(p.jwt, e);
    const leaf = readCertificate(fromBase64(p.jwt.header.x5c[0]));
    const inside = await crypto.subtle.exportKey("jwk", await leaf.publicKey());
    if (inside.x !== jwk.x || inside.y !== jwk.y) throw new Error("the certificate is about another key");
    return `${leaf.subject}, valid until ${leaf.notAfter.toISOString().slice(0, 10)}`;
  },

  // RFC 5280 §6: every certificate is signed by the next, up to a root that we trusted before.
  "certificate-chain": async (p, e) =>
    verifyChain(p.jwt.header.x5c.map(fromBase64), e.trustedRoot, new Date(e.now * 1000)),
};

/** The key of the key set that the header names. */
function findKey(jwt, e) {
  const { kid } = jwt.header;
  const key = e.jwks.keys.find((jwk) => kid !== undefined && jwk.kid === kid);
  if (!key) throw new Error(`the key set has no key ${show(kid)}`);
  return key;
}

/** ES256 (RFC 7518 §3.4): ECDSA on P-256 with SHA-256; the signature is r and s, 32 bytes each. */
export async function verifySignature(jwt, { kty, crv, x, y }) {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("jwk", { kty, crv, x, y }, algorithm, false, ["verify"]);
  const signed = new TextEncoder().encode(jwt.signingInput);
  if (!(await crypto.subtle.verify(algorithm, key, jwt.signature, signed))) {
    throw new Error("the signature does not fit: something was changed, or another key signed");
  }
  return "ES256, the signature fits";
}

/** Throws an error with both values unless they are equal. */
export function same(what, found, wanted) {
  if (found !== wanted || found === undefined) throw new Error(`${what} is ${show(found)}, expected ${show(wanted)}`);
  return `${found}`;
}

/** Throws an error unless the header names this media type. A short name stands for one with `application/` before it (RFC
 * 7515 §4.1.9), and the upper and lower case of ASCII are the same (RFC 2045 §5.1). */
export function sameType({ typ }, wanted) {
  const isPlain = typeof typ === "string" && /^[\x20-\x7e]+$/.test(typ);
  return same("typ", isPlain ? typ.toLowerCase().replace(/^application\//, "") : typ, wanted);
}

/** A value in a sentence. */
export function show(value) {
  return value === undefined ? "missing" : `“${typeof value === "string" ? value : JSON.stringify(value)}”`;
}
