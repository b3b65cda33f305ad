// `verifyArchive`: checks evidence years later with nothing but the root certificate, without a network.
import { X509Certificate } from "node:crypto";
import { demand } from "./errors.js";
import { certifiedKey, digest, readJwt, readObject, verifySignature } from "./jose.js";
import { checkStatus, readPresentation, verify } from "./verification.js";

const PARTS = ["presentations", "transaction_data", "certificates", "status_lists"];
const LONGEST = 4_000_000, MOST = 100; // characters of a document, and strings of a part
const isText = (value) => typeof value === "string" && /^[\x20-\x7e]*$/.test(value);

/**
 * Checks `Result.archive()`, or the `evidence` of the service's verification. Throws `Rejected`. All is checked at one
 * time: that of the service's statement or, without one, of the newest signature. Compare `clientId` and `nonce` with
 * your records. `stated`: the service itself states the verification. `claims` are those of each presentation.
 * @param {string} document @param {string | Uint8Array} root the root certificate, PEM
 * @returns {Promise<{ issuer: string, clientId: string, nonce: string, time: number, stated: boolean,
 *   claims: Record<string, unknown>[] }>}
 */
export async function verifyArchive(document, root) {
  demand(document.length <= LONGEST, "structure", "the document is too long");
  const parts = readObject(document), trusted = new X509Certificate(root);
  for (const name of PARTS) {
    const fits = Array.isArray(parts[name]) && parts[name].length <= MOST && parts[name].every(isText);
    demand(fits, "structure", `${name} is not a list of strings`);
  }
  const given = parts.presentations.map(readPresentation), lists = parts.status_lists.map(readJwt);
  demand(given.length > 0, "structure", "there is no presentation");
  const statement = "statement" in parts ? readJwt(parts.statement) : undefined;
  const signed = statement ? [statement] : [...lists, ...given.map((each) => each.binding)];
  const time = Math.max(...signed.map(({ payload }) => (Number.isSafeInteger(payload.iat) ? payload.iat : 0)));
  const { iss: issuer } = given[0].jwt.payload, { aud: clientId, nonce } = given[0].binding.payload;
  const keyOf = (jwt) => certifiedKey(jwt, issuer, trusted, time);
  if (statement) {
    verifySignature(statement, keyOf(statement), "statement");
    const { iss, aud, nonce: named, valid, sha256 } = statement.payload;
    const stated = [statement.header.typ, iss, aud, named, valid, PARTS.map((name) => sha256?.[name])];
    const hashes = PARTS.map((name) => parts[name].map(digest));
    const expected = ["verification-statement+jwt", issuer, clientId, nonce, true, hashes];
    demand(JSON.stringify(stated) === JSON.stringify(expected), "statement", "it says otherwise");
  }
  const listAt = (uri) => parts.status_lists[lists.findIndex(({ payload }) => payload.sub === uri)];
  const claims = [], bound = new Set();
  for (const each of given) {
    const hashes = [each.binding.payload.transaction_data_hashes].flat();
    const transactionData = parts.transaction_data.filter((text) => hashes.includes(digest(text)));
    const request = { issuer, clientId, nonce, claims: undefined, transactionData };
    claims.push(await verify(each, request, keyOf, time));
    await checkStatus(each, request, keyOf, time, listAt);
    for (const text of [...transactionData, ...each.jwt.header.x5c]) bound.add(text);
  }
  const all = [...parts.transaction_data, ...parts.certificates].every((text) => bound.has(text));
  demand(all, "transaction-data", "no presentation is bound to a part");
  return { issuer, clientId, nonce, time, claims, stated: statement !== undefined };
}
