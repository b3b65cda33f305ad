// `verifyArchive`: checks evidence years later with nothing but the root certificate, and without a network.
import { X509Certificate } from "node:crypto";
import { certifiedKey, demand, digest, isObject, readJson, readJwt, verifySignature } from "./jose.js";
import { checkStatus, readPresentation, verify } from "./verification.js";

const PARTS = ["presentations", "transaction_data", "certificates", "status_lists"];
const LONGEST = 4_000_000, MOST = 100; // characters of a document, and strings of a part
const isText = (value) => typeof value === "string" && /^[\x20-\x7e]*$/.test(value);

export async function verifyArchive(document, { root }) {
  demand(document.length <= LONGEST, "structure", "the document is too long");
  const parts = readJson(document), trusted = new X509Certificate(root);
  const lists = isObject(parts) ? PARTS.map((name) => parts[name]) : [null];
  const texts = lists.every((each) => Array.isArray(each) && each.length <= MOST && each.every(isText));
  demand(texts && lists[0].length > 0, "structure", "a part is not a list of strings");
  const given = parts.presentations.map(readPresentation), statusLists = new Map();
  for (const text of parts.status_lists) statusLists.set(readJwt(text).payload.sub, text);
  const statement = "statement" in parts ? readJwt(parts.statement) : undefined;
  const signed = statement ? [statement] : [...given.map((each) => each.binding), ...parts.status_lists.map(readJwt)];
  const { iss: issuer } = given[0].jwt.payload, { aud: clientId, nonce } = given[0].binding.payload;
  const now = Math.max(...signed.map((each) => (Number.isSafeInteger(each.payload.iat) ? each.payload.iat : 0)));
  const keyOf = (jwt) => certifiedKey(jwt, issuer, trusted, now);
  if (statement) {
    verifySignature(statement, keyOf(statement), "statement");
    const { header, payload } = statement, hashes = PARTS.map((name) => parts[name].map(digest));
    const stated = [header.typ, payload.valid, payload.iss, payload.aud, payload.nonce, PARTS.map((name) => payload.sha256?.[name])];
    const expected = ["verification-statement+jwt", true, issuer, clientId, nonce, hashes];
    demand(JSON.stringify(stated) === JSON.stringify(expected), "statement", "the service stated something else");
  }
  const claims = [], bound = new Set();
  for (const each of given) {
    const hashed = each.binding.payload.transaction_data_hashes;
    const data = parts.transaction_data.filter((text) => Array.isArray(hashed) && hashed.includes(digest(text)));
    const request = { issuer, clientId, nonce, transactionData: data };
    claims.push(await verify(each, request, keyOf, now));
    await checkStatus(each, request, keyOf, now, (uri) => statusLists.get(uri));
    for (const text of [...data, ...each.jwt.header.x5c]) bound.add(text);
  }
  const all = [...parts.transaction_data, ...parts.certificates].every((text) => bound.has(text));
  demand(all, "transaction-data", "no presentation is bound to a part");
  return { issuer, clientId, nonce, time: now, claims, stated: statement !== undefined };
}
