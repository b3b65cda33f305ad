// Verifies a presentation (SD-JWT VC with key binding) with nothing but WebCrypto.
//
// This file is also documentation: it is what a relying application has to do, in the order in which the
// standards say it. Read `CHECKS` from top to bottom. The standards are
//   RFC 9901              SD-JWT: disclosures, digests, key binding
//   SD-JWT VC             draft-ietf-oauth-sd-jwt-vc: `typ`, `vct`, whose key may sign
//   OpenID4VP 1.0         which request the presentation answers
//   Token Status List     draft-ietf-oauth-status-list: whether it was revoked since
// Here every check runs, even after another has failed, so that the page can show them all. Your application
// should stop at the first failure, do this on its server, and believe nothing that was not verified.

import { decode } from "./decode.js";
import { sha256 } from "./encoding.js";
import { SIGNED_BY_ISSUER, same, sameType, show, verifySignature } from "./issuer-signed.js";
import { checkStatus } from "./status-list.js";

const CLOCK_SKEW = 30; // seconds that two honest clocks may differ

/**
 * Every check by its name. `p` is the parsed presentation, not yet verified; `e` is what we expect: the discovery
 * document, the request that we sent, and the time. A check throws if it fails, and returns the checked value.
 */
export const CHECKS = {
  // ---- Who issued it? --------------------------------------------------------------------------------

  // RFC 8414 §3.3: the document must name the issuer that it was fetched for, letter by letter.
  discovery: (p, e) => same("issuer in the discovery document", e.discovery.issuer, e.issuer),

  // The issuer in the token must be the one that we trust; the token cannot choose it.
  iss: (p, e) => same("iss", p.jwt.payload.iss, e.discovery.issuer),

  // RFC 8725 §3.11, SD-JWT VC §2.2.1: the type says what kind of token this is; others use the same key.
  typ: (p) => sameType(p.jwt.header, "dc+sd-jwt"),

  // Its key, its signature and its certificates: issuer-signed.js.
  ...SIGNED_BY_ISSUER,

  // ---- What is it, and is it still good? ---------------------------------------------------------------

  // SD-JWT VC §2.2.2.1: a credential of the type that we asked for.
  vct: (p, e) => same("vct", p.jwt.payload.vct, e.vct),

  // RFC 7519 §4.1.4 and §4.1.5. `exp` is optional in SD-JWT VC; we refuse a token without an expiry.
  exp: (p, e) => {
    const { exp, nbf } = p.jwt.payload;
    if (!Number.isFinite(exp)) throw new Error("the token does not say when it ends");
    if (e.now >= exp + CLOCK_SKEW) throw new Error(`it ended ${showTime(exp)}`);
    if (nbf !== undefined && !(e.now + CLOCK_SKEW >= nbf)) throw new Error(`it begins ${showTime(nbf)}`);
    return `good until ${showTime(exp)}`;
  },

  // ---- Are the disclosed claims the issuer's? -----------------------------------------------------------

  // RFC 9901 §4.1.1: the hash that the digests were made with. Absent means sha-256.
  "sd-alg": (p) => same("_sd_alg", p.jwt.payload._sd_alg ?? "sha-256", "sha-256"),

  // RFC 9901 §7.1 step 3c: three elements for a property, two for an array element, no forbidden name.
  "disclosures-form": (p) => none(p.problems.form, `${p.disclosures.length} disclosures are well formed`),

  // RFC 9901 §7.1 step 4: no digest may appear twice.
  "digests-once": (p) => none(p.problems.repeated, `${p.digests} digests, each once`),

  // RFC 9901 §7.1 step 5: every disclosure hashes to a digest that the issuer signed.
  "disclosures-referenced": (p) =>
    none(p.problems.unreferenced, `${p.disclosures.length} disclosures, each under a signed digest`),

  // OpenID4VP 1.0 §8.6: what we asked for, and nothing else. The wallet may err; you decide.
  claims: (p, e) => sameClaims(p.claims, e.claims, e.optional),

  // ---- Was it made now, by the holder, for us? ------------------------------------------------------------

  // RFC 9901 §7.3 step 5d: the last part is a Key Binding JWT.
  "kb-typ": (p) => `${sameType(p.keyBinding.header, "kb+jwt")}, ${same("alg", p.keyBinding.header.alg, "ES256")}`,

  // RFC 9901 §7.3 step 5a-c: signed by the key that the issuer wrote into `cnf`, and only by that one.
  "kb-signature": (p) => {
    const key = p.jwt.payload.cnf?.jwk;
    if (!key) throw new Error("the issuer named no holder key (cnf.jwk)");
    return verifySignature(p.keyBinding, key);
  },

  // RFC 9901 §7.3 step 5e: made just now.
  "kb-iat": (p, e) => {
    const age = e.now - p.keyBinding.payload.iat;
    if (!(Math.abs(age) <= e.maxAge)) throw new Error(`made ${showTime(p.keyBinding.payload.iat)}, which is not now`);
    return `made ${Math.max(0, Math.round(age))} s ago`;
  },

  // RFC 9901 §7.3 step 5f: made for us, and not forwarded by another relying application.
  "kb-aud": (p, e) => same("aud", p.keyBinding.payload.aud, e.clientId),

  // RFC 9901 §7.3 step 5f: the answer to our question, and not an old answer shown again.
  "kb-nonce": (p, e) => same("nonce", p.keyBinding.payload.nonce, e.nonce),

  // RFC 9901 §4.3.1: over the token up to and with the last `~`: no disclosure was added or taken away.
  "kb-sd-hash": async (p) => same("sd_hash", p.keyBinding.payload.sd_hash, await sha256(p.bound)),

  // OpenID4VP 1.0 §8.4 and B.3.3: one hash per value, over the very string that we sent, in our order.
  "transaction-data": async (p, e) => {
    const { transaction_data_hashes: hashes, transaction_data_hashes_alg: alg } = p.keyBinding.payload;
    if (!e.transactionData.length) {
      if (hashes !== undefined) throw new Error("we sent no transaction, and the token is bound to one");
      return "none was sent, none is bound";
    }
    if (!Array.isArray(hashes)) throw new Error("we sent a transaction, and the token is not bound to it");
    same("transaction_data_hashes_alg", alg ?? "sha-256", "sha-256"); // the one we allow, not the one it says
    const wanted = await Promise.all(e.transactionData.map(sha256));
    return same("transaction_data_hashes", JSON.stringify(hashes), JSON.stringify(wanted));
  },

  // ---- Was it revoked? -------------------------------------------------------------------------------------

  // Token Status List §8.3: last, because nothing is fetched for a token that failed another check.
  status: (p, e) => checkStatus(p.jwt.payload, e),
};

/**
 * Runs every check on an SD-JWT VC presentation.
 *
 * @param {string} token  `<issuer-signed JWT>~<disclosure>~…~<KB-JWT>`
 * @param {object} e      issuer, discovery, jwks, trustedRoot (DER bytes), vct, claims (paths), optional (names), clientId,
 *                        nonce, transactionData (strings as sent), now (seconds), maxAge (seconds),
 *                        fetchStatusList (address in, text of the list out)
 * @returns {{checks: {id, passed, detail}[], presentation: object|null}}  decoded parts and what was found
 */
export async function verifyPresentation(token, e) {
  let presentation;
  try {
    presentation = await decode(token);
  } catch (error) {
    return { checks: [{ id: "structure", passed: false, detail: error.message }], presentation: null };
  }
  const parts = `a signed JWT, ${presentation.disclosures.length} disclosures, a Key Binding JWT`;
  const checks = [{ id: "structure", passed: true, detail: parts }];
  for (const [id, check] of Object.entries(CHECKS)) {
    if (id === "status" && !checks.every((each) => each.passed)) continue;
    try {
      checks.push({ id, passed: true, detail: await check(presentation, e) });
    } catch (error) {
      checks.push({ id, passed: false, detail: error.message });
    }
  }
  return { checks, presentation };
}

function none(problems, otherwise) {
  if (problems.length) throw new Error(problems.join("; "));
  return otherwise;
}

/** The disclosed claims are those of the query: each one there unless it is optional, and no other. */
function sameClaims(claims, wanted, optional = []) {
  const found = leaves(claims).map((path) => path.join("."));
  const asked = wanted.map((path) => path.join("."));
  const covers = (path, leaf) => leaf === path || leaf.startsWith(`${path}.`);
  const absent = asked.filter((path) => !found.some((leaf) => covers(path, leaf)));
  const missing = absent.filter((path) => !optional.includes(path));
  const extra = found.filter((leaf) => !asked.some((path) => covers(path, leaf)));
  if (missing.length) throw new Error(`asked for, but not disclosed: ${missing.join(", ")}`);
  if (extra.length) throw new Error(`disclosed, but not asked for: ${extra.join(", ")}`);
  const withheld = absent.length ? ` (optional and withheld: ${absent.join(", ")})` : "";
  return asked.filter((path) => !absent.includes(path)).join(", ") + withheld;
}

/** The path of every single value in a tree of claims; an array counts as one value. */
export function leaves(node, path = []) {
  const isTree = typeof node === "object" && node !== null && !Array.isArray(node);
  if (!isTree || !Object.keys(node).length) return path.length ? [path] : [];
  return Object.entries(node).flatMap(([name, value]) => leaves(value, [...path, name]));
}

function showTime(seconds) {
  return Number.isFinite(seconds) ? new Date(seconds * 1000).toISOString().replace(".000Z", "Z") : show(seconds);
}
