// Takes a presentation apart: the issuer-signed JWT, the disclosures put where they belong, the Key Binding JWT
// (RFC 9901 §4). Nothing is verified here; sd-jwt.js does that.

import { fromBase64url, fromJson, isObject, sha256 } from "./encoding.js";

// Claims of the token itself. They are never selectively disclosable (SD-JWT VC §2.2) and say nothing about
// the person.
const OF_THE_TOKEN = ["iss", "iat", "nbf", "exp", "cnf", "vct", "vct#integrity", "status"];
const LIMIT = 65536; // characters; a token has a few thousand

/** Parses a presentation (RFC 9901 §4) without verifying it: the result is not yet trustworthy. */
export async function decode(token) {
  if (typeof token !== "string" || token.length > LIMIT) throw new Error("this is not a token, or far too long");
  const parts = token.split("~");
  const [jwt, bindingJwt] = [parts[0], parts.at(-1)];
  if (parts.length < 2) throw new Error("there is no ~ in it: an SD-JWT ends its JWT and every disclosure with one");
  // RFC 9901 §7.3 step 1: whether key binding is needed is our policy, not the token's.
  if (!bindingJwt) throw new Error("there is no Key Binding JWT behind the last ~");
  const disclosures = await Promise.all(parts.slice(1, -1).map(decodeDisclosure));
  const signed = decodeJwt(jwt, "the issuer-signed JWT");
  return {
    jwt: signed,
    disclosures,
    keyBinding: decodeJwt(bindingJwt, "the Key Binding JWT"),
    bound: token.slice(0, token.lastIndexOf("~") + 1),
    ...unfold(signed.payload, disclosures),
  };
}

/** RFC 9901 §4.2: the digest is over the text as sent; the JSON inside is never written anew. */
async function decodeDisclosure(encoded) {
  let content;
  try {
    content = fromJson(fromBase64url(encoded));
  } catch {
    throw new Error(`“${encoded.slice(0, 20)}…” is not a disclosure: base64url of JSON is expected`);
  }
  if (!Array.isArray(content)) throw new Error(`a disclosure is a JSON array, “${encoded.slice(0, 20)}…” is not`);
  const [salt, name, value] = content.length === 2 ? [content[0], undefined, content[1]] : content;
  return { encoded, digest: await sha256(encoded), length: content.length, salt, name, value, path: null };
}

/** RFC 7515 §3.1: three parts; the signature is over the first two with the dot between them. */
export function decodeJwt(compact, what) {
  const parts = compact.split(".");
  if (parts.length !== 3) throw new Error(`${what} does not have three parts`);
  try {
    const [header, payload] = parts.slice(0, 2).map((part) => fromJson(fromBase64url(part)));
    if (!isObject(header) || !isObject(payload)) throw new Error();
    return { header, payload, signingInput: `${parts[0]}.${parts[1]}`, signature: fromBase64url(parts[2]) };
  } catch {
    throw new Error(`${what} cannot be decoded: base64url of JSON objects is expected`);
  }
}

/**
 * RFC 9901 §7.1 steps 3 to 5: puts each disclosure where its digest stands, also inside other disclosures,
 * and drops digests without a disclosure (they may be decoys). Collects what a verifier must refuse.
 */
function unfold(payload, disclosures) {
  const byDigest = new Map(disclosures.map((disclosure) => [disclosure.digest, disclosure]));
  const problems = { form: [], repeated: [], unreferenced: [] };
  const seen = new Set();

  function find(digest) {
    if (typeof digest !== "string") problems.form.push("a digest is not a string");
    if (seen.has(digest)) problems.repeated.push(`digest ${digest} appears twice`);
    else if (seen.add(digest)) return byDigest.get(digest);
  }

  function walk(node, path) {
    if (Array.isArray(node)) return node.flatMap((element, i) => walkElement(element, [...path, i]));
    if (!isObject(node)) return node;
    const plain = Object.entries(node).filter(([name]) => name !== "_sd" && !(name === "_sd_alg" && !path.length));
    const entries = plain.map(([name, value]) => [name, walk(value, [...path, name])]);
    const taken = new Set(plain.map(([name]) => name));
    if (taken.has("_sd_alg") || taken.has("...")) problems.form.push(`“_sd_alg” or “...” inside ${path.join(".")}`);
    if ("_sd" in node && !Array.isArray(node._sd)) problems.form.push("_sd is not an array");
    for (const disclosure of [].concat(node._sd ?? []).map(find)) {
      if (!disclosure) continue;
      const problem = problemWithProperty(disclosure, taken, path);
      disclosure.path = [...path, disclosure.name];
      if (problem) problems.form.push(problem);
      else entries.push([disclosure.name, walk(disclosure.value, disclosure.path)]);
      taken.add(disclosure.name);
    }
    return Object.fromEntries(entries);
  }

  function walkElement(element, path) {
    if (!isObject(element) || Object.keys(element).join() !== "...") return [walk(element, path)];
    const disclosure = find(element["..."]);
    if (!disclosure) return []; // not disclosed
    disclosure.path = path;
    if (disclosure.length !== 2) problems.form.push("an array element's disclosure must have two parts");
    return [walk(disclosure.value, path)];
  }

  const claims = walk(payload, []);
  disclosures.forEach((disclosure, i) => {
    if (typeof disclosure.salt !== "string") problems.form.push("a salt is not a string");
    if (!byDigest.get(disclosure.digest).path) problems.unreferenced.push(`no signed digest for “${disclosure.name ?? disclosure.value}”`);
    if (byDigest.get(disclosure.digest) !== disclosure) problems.repeated.push(`disclosure ${i + 1} was sent twice`);
  });
  for (const name of OF_THE_TOKEN) delete claims[name];
  return { claims, problems, digests: seen.size };
}

function problemWithProperty({ length, name }, taken, path) {
  if (length !== 3 || typeof name !== "string") return "a property's disclosure must be [salt, name, value]";
  if (name === "_sd" || name === "...") return `“${name}” cannot be the name of a claim`;
  if (taken.has(name)) return `“${name}” is there already`;
  if (!path.length && OF_THE_TOKEN.includes(name)) return `“${name}” may not be selectively disclosable`;
}
