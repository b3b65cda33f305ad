// Verification of an SD-JWT VC presentation (RFC 9901 §7.3, OpenID4VP 1.0 §8.6), without a network.
import { isDeepStrictEqual } from "node:util";
import { inflateSync } from "node:zlib";
import { issuerKey, readRoots } from "./certificates.js";
import * as jose from "./jose.js";
import { attempt, decode, demand, digest, isObject, readJson, readJwt, Rejected, verifySignature } from "./jose.js";

export const TOLERANCE = 300; // seconds by which any time may differ, so that all of them fail at the same clock
// Characters of a presentation, strings of a part of an archive, and bytes of an unpacked list.
const LONGEST = 65_536, MOST = 100, LONGEST_LIST = 2 ** 22;
// Never disclosed selectively (SD-JWT VC §2.2.2.3). They describe the token and not the person.
const OF_THE_TOKEN = ["iss", "aud", "iat", "nbf", "exp", "cnf", "vct", "vct#integrity", "aka_vcts", "status", "_sd_alg"];
const PARTS = ["presentations", "transaction_data", "certificates", "status_lists"]; // of an archive
const isWhole = Number.isSafeInteger, isText = (value) => typeof value === "string";

/** The only presentation, taken apart: a text, or in an object by the ID of its query (OpenID4VP 1.0 §8.1). */
export function readPresentation(vpToken) {
  const found = isText(vpToken) && vpToken.startsWith("{") ? readJson(vpToken.slice(0, LONGEST)) : vpToken;
  const lists = isObject(found) ? Object.values(found) : [[found]], token = lists[0]?.[0];
  const alone = lists.length === 1 && lists[0]?.length === 1 && isText(token) && token.length <= LONGEST;
  demand(alone, "structure", "there is not exactly one presentation");
  const [issued, ...shown] = token.split("~"), last = shown.pop();
  const disclosures = new Map(shown.map((each) => [digest(each), readJson(decode(each), Array.isArray)]));
  demand(disclosures.size === shown.length, "digests-once", "a disclosure is there twice");
  return { token, jwt: readJwt(issued), binding: readJwt(last), disclosures, bound: token.slice(0, -last.length) };
}

/**
 * The claims of the person, and the status list that says that the presentation is valid. `keyOf` returns the issuer's
 * key for a token, `listAt` the list at an address.
 */
export async function verify(given, request, keyOf, now, listAt) {
  const { iss, vct, exp, nbf = 0, _sd_alg: algorithm = "sha-256" } = given.jwt.payload;
  demand(iss === request.issuer, "iss", `its issuer is not ${request.issuer}, your baseUrl`);
  verifySignature(given.jwt, await keyOf(given.jwt), "dc+sd-jwt", "issuer-signature", "typ", "alg");
  demand(vct === `${iss}/credential-types/identity/v1`, "vct", "it is a credential of another type");
  const current = isWhole(exp) && now < exp + TOLERANCE && isWhole(nbf) && nbf <= now + TOLERANCE;
  demand(current, "exp", "it has expired, or is not valid yet");
  demand(algorithm === "sha-256", "sd-alg", "_sd_alg is not sha-256");
  const claims = disclosed(given);
  if (request.claims) checkClaims(claims, request.claims);
  checkBinding(given, request, now);
  return { claims, statusList: await checkStatus(given.jwt.payload, keyOf, now, listAt) };
}

// The claims of the person, with the disclosures where their signed digests are (RFC 9901 §7.1).
function disclosed({ jwt, disclosures }) {
  const check = "disclosures-form", seen = new Set();
  function take(digests, parts) {
    demand(Array.isArray(digests) && digests.every(isText), check, "the digests are not an array of strings");
    demand(new Set([...seen, ...digests]).size === seen.size + digests.length, "digests-once", "one is there twice");
    digests.forEach((each) => seen.add(each));
    const found = digests.map((each) => disclosures.get(each)).filter(Boolean); // the others are decoys (§4.2.5)
    demand(found.every((each) => each.length === parts && isText(each[0])), check, "a disclosure has other parts");
    return found.map((each) => each.slice(1));
  }
  function unfold(node) {
    const placed = (each) => (Object.keys(each ?? []).join() === "..." ? take([each["..."]], 2).flat() : [each]);
    if (Array.isArray(node)) return node.flatMap(placed).map(unfold);
    if (!isObject(node)) return node;
    const { _sd: digests = [], ...plain } = node, entries = [...Object.entries(plain), ...take(digests, 3)];
    const names = new Set(entries.map(([name]) => name)), reserved = ["_sd", "_sd_alg", "..."];
    const free = names.size === entries.length && [...names].every((name) => isText(name) && !reserved.includes(name));
    demand(free, check, "a name may not be there");
    return Object.fromEntries(entries.map(([name, value]) => [name, unfold(value)])); // also one named __proto__
  }
  const ofThePerson = Object.entries(jwt.payload).filter(([name]) => !OF_THE_TOKEN.includes(name));
  const claims = unfold(Object.fromEntries(ofThePerson));
  demand(!OF_THE_TOKEN.some((name) => Object.hasOwn(claims, name)), check, "it may not be disclosed");
  demand([...disclosures.keys()].every((each) => seen.has(each)), "disclosures-referenced", "one was not signed");
  return claims;
}

// Exactly the requested claims are there; only those with a question mark may be missing.
function checkClaims(claims, requested) {
  const leaves = (node, above) => Object.entries(node).flatMap(([name, value]) =>
    isObject(value) && Object.keys(value).length > 0 ? leaves(value, `${above}${name}.`) : [`${above}${name}.`]);
  const found = leaves(claims, ""), isIn = (claim, leaf) => leaf.startsWith(`${claim.replace(/\?$/, "")}.`);
  const isMissing = (claim) => !claim.endsWith("?") && !found.some((leaf) => isIn(claim, leaf));
  demand(!requested.some(isMissing), "claims", `${requested.find(isMissing)} is missing`);
  demand(found.every((leaf) => requested.some((claim) => isIn(claim, leaf))), "claims", "more was disclosed");
}

// The Key Binding JWT (RFC 9901 §7.3 step 5) and its transaction data (OpenID4VP 1.0 B.3.3).
function checkBinding({ jwt, binding, bound }, { clientId, nonce, hashes }, now) {
  const { iat, aud, nonce: said, sd_hash, transaction_data_hashes: given, ...others } = binding.payload;
  const key = jose.publicKey(jwt.payload.cnf?.jwk, "kb-signature");
  verifySignature(binding, key, "kb+jwt", "kb-signature", "kb-typ", "kb-typ");
  demand(isWhole(iat) && Math.abs(now - iat) <= TOLERANCE, "kb-iat", "it was not made just now");
  const own = !Object.hasOwn(jwt.payload, "aud") || jose.isFor(jwt.payload, clientId);
  demand(aud === clientId && own, "kb-aud", "it was made for another client"); // a text (RFC 9901 §4.3)
  demand(nonce && said === nonce, "kb-nonce", "it has another nonce");
  demand(sd_hash === digest(bound), "kb-sd-hash", "it is bound to other disclosures");
  const wanted = hashes.length > 0 ? hashes : undefined;
  const sha256 = (others.transaction_data_hashes_alg ?? "sha-256") === "sha-256";
  demand(sha256 && isDeepStrictEqual(given, wanted), "transaction-data", "it is not that of the request");
}

// The status list, if it says that the presentation was neither revoked nor suspended (Token Status List §8.3).
async function checkStatus({ iss, status }, keyOf, now, listAt) {
  const check = "status", { idx, uri } = status?.status_list ?? {};
  demand(isWhole(idx) && idx >= 0 && isText(uri) && uri.startsWith(`${iss}/`), check, "no list of the issuer is named");
  const token = await listAt(uri), list = readJwt(token), { sub, iat, exp, status_list: content } = list.payload;
  try { verifySignature(list, await keyOf(list), "statuslist+jwt", check); }
  catch (error) { throw error instanceof Rejected ? new Rejected(check, `the list: ${error.message}`) : error; }
  const current = isWhole(iat) && iat <= now + TOLERANCE && isWhole(exp) && now < exp + TOLERANCE;
  demand(sub === uri && current, check, "the list is another, has expired, or is from the future");
  const { bits, lst } = content ?? {}, unpack = () => inflateSync(decode(lst), { maxOutputLength: LONGEST_LIST });
  const octets = attempt(unpack, new Rejected(check, "the list cannot be unpacked"));
  demand([1, 2, 4, 8].includes(bits) && idx < (octets.length * 8) / bits, check, "the list has no such place");
  const value = (octets[Math.floor((idx * bits) / 8)] >> ((idx * bits) % 8)) & (2 ** bits - 1);
  demand(value === 0, check, { 1: "it was revoked", 2: "it is suspended" }[value] ?? "it is not valid");
  return token;
}

/**
 * Checks `Result.archive()`, or the `evidence` of the service's verification. Throws `Rejected`. All is checked at one
 * time: that of the service's statement or, without one, of the newest signature. Compare `clientId` and `nonce` with
 * your records. `stated`: the service itself states the verification. `claims` are those of each presentation.
 * @param {string} document
 * @param {string | Uint8Array | readonly (string | Uint8Array)[]} root the root certificate (PEM), or all roots that
 *   the service has had
 * @returns {Promise<{ issuer: string, clientId: string, nonce: string, time: number, stated: boolean,
 *   claims: Record<string, unknown>[] }>}
 */
export async function verifyArchive(document, root) {
  const parts = readJson(document), texts = PARTS.map((name) => parts[name]);
  const roots = readRoots(root);
  const known = Object.keys(parts).every((name) => [...PARTS, "statement"].includes(name));
  demand(known, "structure", "it has a member that evidence has not");
  const fits = texts.every((part) => Array.isArray(part) && part.length <= MOST && part.every(isText));
  demand(fits && texts[0].length > 0, "structure", "a part is not a list of strings");
  const [presentations, data, , statusLists] = texts, given = presentations.map(readPresentation);
  // The service issues a credential for one presentation. Shown twice, it would give two sets of claims.
  const issued = new Set(given.map(({ jwt }) => jwt.signed.toString()));
  demand(issued.size === given.length, "structure", "a credential is presented twice");
  const statement = "statement" in parts ? readJwt(parts.statement) : undefined, lists = statusLists.map(readJwt);
  const signed = statement ? [statement] : [...lists, ...given.map(({ binding }) => binding)];
  const time = Math.max(...signed.map(({ payload }) => (isWhole(payload.iat) ? payload.iat : 0)));
  demand(time > 0 && time < 2 ** 33, "structure", "a time is not possible");
  const { iss: issuer } = given[0].jwt.payload, { aud: clientId, nonce } = given[0].binding.payload;
  const keyOf = (jwt) => issuerKey(jwt, issuer, roots, time);
  if (statement) {
    verifySignature(statement, keyOf(statement), "verification-statement+jwt", "statement");
    const sha256 = Object.fromEntries(PARTS.map((name) => [name, parts[name].map(digest)])), said = statement.payload;
    const expected = { ...said, iss: issuer, aud: clientId, nonce, valid: true, sha256 };
    demand(isDeepStrictEqual(said, expected), "statement", "the service stated something else");
  }
  const listAt = (uri) => statusLists[lists.findIndex(({ payload }) => payload.sub === uri)];
  const dataOf = ({ binding }) => data.filter((it) => binding.payload.transaction_data_hashes?.includes?.(digest(it)));
  const verified = await Promise.all(given.map((each) =>
    verify(each, { issuer, clientId, nonce, hashes: dataOf(each).map(digest) }, keyOf, time, listAt)));
  const bound = given.flatMap((each, at) => [...dataOf(each), ...each.jwt.header.x5c, verified[at].statusList]);
  // A list that nobody verified could move `time`.
  demand(texts.slice(1).flat().every((text) => bound.includes(text)), "transaction-data", "a part is not bound");
  const claims = verified.map((each) => each.claims);
  return { issuer, clientId, nonce, time, claims, stated: statement !== undefined };
}
