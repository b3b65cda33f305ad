// Verification of an SD-JWT VC presentation (RFC 9901 §7.3, OpenID4VP 1.0 §8.6), without a network.
import { inflateSync } from "node:zlib";
import { demand, Rejected } from "./errors.js";
import { decode, digest, isObject, publicKey, readJson, readJwt, verifySignature } from "./jose.js";

const CLOCK_SKEW = 30; // seconds
const FRESH = 300; // seconds since the holder signed
export const LONGEST = 65_536; // characters of a presentation
const DEEPEST = 16; // objects and arrays inside each other
const LONGEST_LIST = 2 ** 22; // bytes of an unpacked status list
// Never disclosed selectively (SD-JWT VC §2.2.2.3). They describe the token and not the person.
const OF_THE_TOKEN = ["iss", "iat", "nbf", "exp", "cnf", "vct", "vct#integrity", "aka_vcts", "status"];
const isWhole = Number.isSafeInteger;

/** An SD-JWT with a Key Binding JWT, taken apart (RFC 9901 §4). Nothing is verified. */
export function readPresentation(token) {
  demand(typeof token === "string" && token.length <= LONGEST, "structure", "there is no presentation");
  const [issued, ...shown] = token.split("~"), last = shown.pop();
  demand(last, "structure", "there is no key binding");
  const contents = shown.map((each) => readJson(decode(each)));
  demand(contents.every(Array.isArray), "structure", "a disclosure is not an array");
  const bound = token.slice(0, -last.length);
  return { token, jwt: readJwt(issued), binding: readJwt(last), shown, contents, bound };
}

/** The claims of the person. The status remains to be checked. `keyOf` returns the issuer's key for a token. */
export async function verify(given, { issuer, clientId, nonce, claims, transactionData }, keyOf, now) {
  const { header, payload } = given.jwt, { exp, nbf = 0, _sd_alg: algorithm = "sha-256" } = payload;
  demand(payload.iss === issuer, "iss", "it is from another issuer");
  demand(header.typ === "dc+sd-jwt", "typ", "it is not an SD-JWT VC");
  demand(header.alg === "ES256", "alg", "alg is not ES256");
  verifySignature(given.jwt, await keyOf(given.jwt), "issuer-signature");
  demand(payload.vct === `${issuer}/credential-types/identity/v1`, "vct", "it is a credential of another type");
  demand(isWhole(exp) && now < exp + CLOCK_SKEW, "exp", "it has expired");
  demand(isWhole(nbf) && nbf <= now + CLOCK_SKEW, "exp", "it is not valid yet");
  demand(algorithm === "sha-256", "sd-alg", "_sd_alg is not sha-256");
  const found = disclosed(given);
  if (claims) checkClaims(found, claims);
  checkBinding(given, { clientId, nonce, transactionData }, now);
  return found;
}

// The claims of the person, with the disclosures where their signed digests are (RFC 9901 §7.1).
function disclosed({ jwt, shown, contents }) {
  const byDigest = new Map(shown.map((text, at) => [digest(text), contents[at]])), seen = new Set();
  demand(byDigest.size === shown.length, "digests-once", "a disclosure is there twice");
  const salts = new Set(contents.map(([salt]) => salt).filter((salt) => typeof salt === "string"));
  demand(salts.size === shown.length, "disclosures-form", "a salt is missing or there twice");
  function take(digests, parts) {
    demand(Array.isArray(digests), "disclosures-form", "_sd is not an array");
    return digests.flatMap((each) => {
      demand(typeof each === "string", "disclosures-form", "a digest is not a string");
      demand(!seen.has(each), "digests-once", "a digest is there twice");
      seen.add(each);
      const content = byDigest.get(each); // without one, the digest may be a decoy (RFC 9901 §4.2.5)
      demand(!content || content.length === parts, "disclosures-form", "a disclosure has other parts");
      return content ? [content] : [];
    });
  }
  function unfold(node, depth, reserved = []) {
    demand(depth <= DEEPEST, "disclosures-form", "it is nested too deeply");
    if (Array.isArray(node)) {
      const isPlace = (each) => isObject(each) && Object.keys(each).join() === "...";
      const contentsOf = (each) => (isPlace(each) ? take([each["..."]], 2) : [["", each]]);
      return node.flatMap((each) => contentsOf(each).map(([, value]) => unfold(value, depth + 1)));
    }
    if (!isObject(node)) return node;
    const found = Object.create(null); // so that a claim named __proto__ is an ordinary one
    const { _sd: digests = [], ...plain } = node;
    for (const [name, value] of Object.entries(plain)) found[name] = unfold(value, depth + 1);
    demand(!("_sd_alg" in found) && !("..." in found), "disclosures-form", "a name is reserved");
    for (const [, name, value] of take(digests, 3)) {
      const free = typeof name === "string" && ![...reserved, "_sd", "..."].includes(name) && !(name in found);
      demand(free, "disclosures-form", "a disclosed name may not be there");
      found[name] = unfold(value, depth + 1);
    }
    return found;
  }
  const { _sd_alg: _, ...signed } = jwt.payload, claims = unfold(signed, 0, OF_THE_TOKEN);
  demand([...byDigest.keys()].every((each) => seen.has(each)), "disclosures-referenced", "one was not signed");
  for (const name of OF_THE_TOKEN) delete claims[name];
  return claims;
}

// Exactly the requested claims are there; only those with a question mark may be missing.
function checkClaims(claims, requested) {
  const leaves = (node, above) => Object.entries(node).flatMap(([name, value]) =>
    isObject(value) && Object.keys(value).length > 0 ? leaves(value, `${above}${name}.`) : [`${above}${name}.`]);
  const found = leaves(claims, ""), paths = requested.map((claim) => `${claim.replace(/\?$/, "")}.`);
  for (const [at, claim] of requested.entries()) {
    const there = claim.endsWith("?") || found.some((leaf) => leaf.startsWith(paths[at]));
    demand(there, "claims", `${claim} is missing`);
  }
  const asked = found.every((leaf) => paths.some((path) => leaf.startsWith(path)));
  demand(asked, "claims", "more was disclosed than requested");
}

// The Key Binding JWT (RFC 9901 §7.3 step 5) and its transaction data (OpenID4VP 1.0 B.3.3).
function checkBinding({ jwt, binding, bound }, { clientId, nonce, transactionData }, now) {
  const { header, payload } = binding, { iat, transaction_data_hashes_alg: algorithm = "sha-256" } = payload;
  demand(header.typ === "kb+jwt" && header.alg === "ES256", "kb-typ", "it is no key binding");
  verifySignature(binding, publicKey(jwt.payload.cnf?.jwk, "kb-signature"), "kb-signature");
  demand(isWhole(iat) && Math.abs(now - iat) <= FRESH, "kb-iat", "it was not made just now");
  demand(payload.aud === clientId, "kb-aud", "it was made for another client");
  demand(nonce && payload.nonce === nonce, "kb-nonce", "it has another nonce");
  demand(payload.sd_hash === digest(bound), "kb-sd-hash", "it is bound to other disclosures");
  demand(algorithm === "sha-256", "transaction-data", "it is hashed with another algorithm");
  const wanted = transactionData.length > 0 ? transactionData.map(digest) : undefined;
  const same = JSON.stringify(payload.transaction_data_hashes) === JSON.stringify(wanted);
  demand(same, "transaction-data", "it is not the transaction data of the request");
}

/** Checks that the presentation was neither revoked nor suspended (Token Status List §8.3); returns the list. */
export async function checkStatus({ jwt }, { issuer }, keyOf, now, listAt) {
  const { idx, uri } = jwt.payload.status?.status_list ?? {};
  const named = isWhole(idx) && idx >= 0 && typeof uri === "string" && uri.startsWith(`${issuer}/`);
  demand(named, "status", "no status list of the issuer is named");
  const token = await listAt(uri), list = await readList(token, keyOf), { sub, iat, exp } = list.payload;
  demand(list.header.typ === "statuslist+jwt" && sub === uri, "status", "it is another list");
  demand(isWhole(iat) && iat <= now + CLOCK_SKEW, "status", "the list is from the future");
  demand(isWhole(exp) && now < exp, "status", "the list has expired");
  const { bits, lst } = list.payload.status_list ?? {}, octets = unpacked(lst);
  const inside = [1, 2, 4, 8].includes(bits) && idx < Math.floor((octets.length * 8) / bits);
  demand(inside, "status", "the list has no such place");
  const value = (octets[Math.floor((idx * bits) / 8)] >> ((idx * bits) % 8)) & (2 ** bits - 1);
  demand(value === 0, "status", { 1: "it was revoked", 2: "it is suspended" }[value] ?? "it is not valid");
  return token;
}

async function readList(token, keyOf) {
  try {
    const list = readJwt(token);
    verifySignature(list, await keyOf(list), "status");
    return list;
  } catch (error) {
    throw error instanceof Rejected ? new Rejected("status", `the status list: ${error.message}`) : error;
  }
}

function unpacked(lst) {
  try {
    const packed = decode(lst);
    const inflated = inflateSync(packed, { maxOutputLength: LONGEST_LIST, info: true });
    const { buffer, engine } = /** @type {{ buffer: Buffer, engine: any }} */ (/** @type {unknown} */ (inflated));
    return engine.bytesWritten === packed.length ? buffer : Buffer.alloc(0);
  } catch { throw new Rejected("status", "the status list cannot be unpacked"); }
}
