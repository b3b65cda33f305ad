// Verification of an SD-JWT VC presentation (RFC 9901 §7.3, OpenID4VP 1.0 §8.6), without a network.
import { inflateSync } from "node:zlib";
import { decode, demand, digest, isObject, publicKey, readJson, readJwt, Rejected, verifySignature } from "./jose.js";

const CLOCK_SKEW = 30; // seconds
const FRESH = 300; // seconds since the holder signed
export const LONGEST = 65_536; // characters of a presentation
const DEEPEST = 16; // objects and arrays inside each other
const LONGEST_LIST = 2 ** 22; // bytes of an unpacked status list
// Never disclosed selectively (SD-JWT VC §2.2.2.3). They describe the token and not the person.
const OF_THE_TOKEN = ["iss", "iat", "nbf", "exp", "cnf", "vct", "vct#integrity", "aka_vcts", "status"];

/** An SD-JWT with a Key Binding JWT, taken apart (RFC 9901 §4). Nothing is verified. */
export function readPresentation(token) {
  demand(typeof token === "string" && token.length <= LONGEST, "structure", "there is no presentation");
  const [issued, ...shown] = token.split("~"), last = shown.pop();
  demand(last, "structure", "there is no key binding");
  const contents = shown.map((each) => readJson(decode(each)));
  demand(contents.every(Array.isArray), "structure", "a disclosure is not an array");
  const bound = token.slice(0, token.length - last.length);
  return { token, jwt: readJwt(issued), binding: readJwt(last), shown, contents, bound };
}

/** The claims of the person. The status remains to be checked. `keyOf` returns the issuer's key for a token. */
export async function verify(given, request, keyOf, now) {
  const { header, payload } = given.jwt, { issuer } = request;
  demand(payload.iss === issuer, "iss", "it is from another issuer");
  demand(header.typ === "dc+sd-jwt", "typ", "it is not an SD-JWT VC");
  demand(header.alg === "ES256", "alg", "alg is not ES256");
  verifySignature(given.jwt, await keyOf(given.jwt), "issuer-signature");
  demand(payload.vct === `${issuer}/credential-types/identity/v1`, "vct", "it is a credential of another type");
  const { exp, nbf = 0, _sd_alg: algorithm = "sha-256" } = payload;
  demand(Number.isSafeInteger(exp) && now < exp + CLOCK_SKEW, "exp", "it has expired");
  demand(Number.isSafeInteger(nbf) && nbf <= now + CLOCK_SKEW, "exp", "it is not valid yet");
  demand(algorithm === "sha-256", "sd-alg", "_sd_alg is not sha-256");
  const claims = disclosed(given);
  if (request.claims) checkClaims(claims, request.claims);
  checkBinding(given, request, now);
  return claims;
}

/** The claims of the person, with the disclosures where the signed digests are (RFC 9901 §7.1). */
function disclosed({ jwt, shown, contents }) {
  const byDigest = new Map(shown.map((text, at) => [digest(text), contents[at]]));
  demand(byDigest.size === shown.length, "digests-once", "a disclosure is there twice");
  const salts = new Set(contents.map((each) => each[0]).filter((salt) => typeof salt === "string"));
  demand(salts.size === shown.length, "disclosures-form", "a salt is missing or there twice");
  const seen = new Set();

  function take(digests, parts) {
    demand(Array.isArray(digests), "disclosures-form", "_sd is not an array");
    return digests.flatMap((each) => {
      demand(typeof each === "string", "disclosures-form", "a digest is not a string");
      demand(!seen.has(each), "digests-once", "a digest is there twice");
      seen.add(each);
      const content = byDigest.get(each); // a digest without a disclosure may be a decoy (RFC 9901 §4.2.5)
      demand(!content || content.length === parts, "disclosures-form", "a disclosure has other parts");
      return content ? [content] : [];
    });
  }
  function element(place, depth) {
    const isDigest = isObject(place) && Object.keys(place).join() === "...";
    if (!isDigest) return [unfold(place, [], depth + 1)];
    return take([place["..."]], 2).map(([, value]) => unfold(value, [], depth + 1));
  }
  function unfold(node, reserved = [], depth = 0) {
    demand(depth <= DEEPEST, "disclosures-form", "it is nested too deeply");
    if (Array.isArray(node)) return node.flatMap((place) => element(place, depth));
    if (!isObject(node)) return node;
    const found = Object.create(null); // so that a claim named __proto__ is an ordinary one
    for (const [name, value] of Object.entries(node)) if (name !== "_sd") found[name] = unfold(value, [], depth + 1);
    demand(!("_sd_alg" in found) && !("..." in found), "disclosures-form", "a name is reserved");
    for (const [, name, value] of take(node._sd ?? [], 3)) {
      const free = typeof name === "string" && !["_sd", "...", ...reserved].includes(name) && !(name in found);
      demand(free, "disclosures-form", "a disclosed name may not be there");
      found[name] = unfold(value, [], depth + 1);
    }
    return found;
  }
  const { _sd_alg, ...signed } = jwt.payload, claims = unfold(signed, OF_THE_TOKEN);
  demand([...byDigest.keys()].every((each) => seen.has(each)), "disclosures-referenced", "a disclosure was not signed");
  for (const name of OF_THE_TOKEN) delete claims[name];
  return claims;
}

/** Exactly the requested claims are there; only those with a question mark may be missing. */
function checkClaims(claims, requested) {
  const found = leaves(claims), paths = requested.map((claim) => `${claim.replace(/\?$/, "")}.`);
  requested.forEach((claim, at) => {
    const there = claim.endsWith("?") || found.some((leaf) => leaf.startsWith(paths[at]));
    demand(there, "claims", `${claim} is missing`);
  });
  const asked = found.every((leaf) => paths.some((path) => leaf.startsWith(path)));
  demand(asked, "claims", "more was disclosed than requested");
}

function leaves(claims, above = "") {
  return Object.entries(claims).flatMap(([name, value]) => {
    const inner = isObject(value) ? leaves(value, `${above}${name}.`) : [];
    return inner.length > 0 ? inner : [`${above}${name}.`];
  });
}

/** The Key Binding JWT (RFC 9901 §7.3 step 5) and its transaction data (OpenID4VP 1.0 B.3.3). */
function checkBinding({ jwt, binding, bound }, { clientId, nonce, transactionData }, now) {
  const { header, payload } = binding, hashes = payload.transaction_data_hashes;
  demand(header.typ === "kb+jwt" && header.alg === "ES256", "kb-typ", "it is no key binding");
  verifySignature(binding, publicKey(jwt.payload.cnf?.jwk, "kb-signature"), "kb-signature");
  const fresh = Number.isSafeInteger(payload.iat) && Math.abs(now - payload.iat) <= FRESH;
  demand(fresh, "kb-iat", "it was not made just now");
  demand(payload.aud === clientId, "kb-aud", "it was made for another client");
  demand(nonce && payload.nonce === nonce, "kb-nonce", "it has another nonce");
  demand(payload.sd_hash === digest(bound), "kb-sd-hash", "it is bound to other disclosures");
  const algorithm = payload.transaction_data_hashes_alg ?? "sha-256";
  demand(algorithm === "sha-256", "transaction-data", "it is hashed with another algorithm");
  const wanted = transactionData.length > 0 ? transactionData.map(digest) : undefined;
  const same = JSON.stringify(hashes) === JSON.stringify(wanted);
  demand(same, "transaction-data", "it is not the transaction data of the request");
}

/** Checks that the presentation was neither revoked nor suspended (Token Status List §8.3); returns the list. */
export async function checkStatus({ jwt }, { issuer }, keyOf, now, listAt) {
  const { idx, uri } = jwt.payload.status?.status_list ?? {};
  const named = Number.isSafeInteger(idx) && idx >= 0 && typeof uri === "string" && uri.startsWith(`${issuer}/`);
  demand(named, "status", "no status list of the issuer is named");
  const token = await listAt(uri);
  let list, bits, unpacked;
  try {
    list = readJwt(token);
    verifySignature(list, await keyOf(list), "status");
    bits = list.payload.status_list?.bits;
    const packed = decode(list.payload.status_list?.lst);
    const { buffer, engine } = inflateSync(packed, { maxOutputLength: LONGEST_LIST, info: true });
    demand(engine.bytesWritten === packed.length, "status", "something follows the list");
    unpacked = buffer;
  } catch (error) {
    if (!(error instanceof Rejected) && !/^ERR_BUFFER_TOO_LARGE|^Z_/.test(error.code)) throw error;
    throw new Rejected("status", `the status list cannot be used (${error.message})`);
  }
  const { sub, iat, exp } = list.payload;
  demand(list.header.typ === "statuslist+jwt" && sub === uri, "status", "it is another list");
  demand(Number.isSafeInteger(iat) && iat <= now + CLOCK_SKEW, "status", "the list is from the future");
  demand(Number.isSafeInteger(exp) && now < exp, "status", "the list has expired");
  const inside = [1, 2, 4, 8].includes(bits) && idx < Math.floor((unpacked.length * 8) / bits);
  demand(inside, "status", "the list has no such place");
  const value = (unpacked[Math.floor((idx * bits) / 8)] >> ((idx * bits) % 8)) & (2 ** bits - 1);
  demand(value === 0, "status", { 1: "it was revoked", 2: "it is suspended" }[value] ?? "it is not valid");
  return token;
}
