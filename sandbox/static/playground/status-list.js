// Looks up the status of a credential in the issuer's list (Token Status List, draft-ietf-oauth-status-list).
//
// A list is one signed token for a million credentials. Fetch it once, keep it for its `ttl`, and look up as
// many as you like: so the issuer does not learn which credential you were shown.

import { decodeJwt } from "./decode.js";
import { fromBase64url, isObject } from "./encoding.js";
import { SIGNED_BY_ISSUER, same, sameType } from "./issuer-signed.js";

const CLOCK_SKEW = 30; // seconds that two honest clocks may differ
const LONGEST = 2 ** 22; // bytes; a hostile list may inflate to far more
const MEANINGS = ["valid", "invalid: the issuer or its holder took it back", "suspended for now"];

/** §8.3: the status of this credential in the list. Throws unless it is `valid`. */
export async function checkStatus(payload, e) {
  const { idx, uri } = reference(payload);
  // The list is the issuer's own; an address elsewhere would make us fetch whatever a token likes.
  if (!uri.startsWith(`${e.issuer}/`)) throw new Error(`the list at ${uri} is not the issuer's`);
  const list = decodeJwt(await e.fetchStatusList(uri), "the status list");
  sameType(list.header, "statuslist+jwt");
  // Signed as credentials are: by a key of the key set, whose certificates lead to the root.
  for (const check of Object.values(SIGNED_BY_ISSUER)) await check({ jwt: list }, e);
  // The signed name of the list is the address in the credential: no other list can stand in for it.
  same("sub", list.payload.sub, uri);
  const { iat, exp, status_list: content } = list.payload;
  if (!(iat <= e.now + CLOCK_SKEW)) throw new Error("the list does not say when it was made, or made up when");
  if (!(e.now < exp)) throw new Error("the list has ended, and an old list says nothing");
  const status = await statusAt(content, idx);
  if (status !== 0) throw new Error(MEANINGS[status] ?? `status ${status}, which nobody here knows`);
  return `${MEANINGS[0]}, entry ${idx} of ${uri}`;
}

/** §6.2: the list and index of the credential. A credential without them is not one of ours. */
function reference(payload) {
  const { idx, uri } = payload.status?.status_list ?? {};
  if (!Number.isInteger(idx) || idx < 0 || typeof uri !== "string") throw new Error("the credential names no place in a list");
  return { idx, uri };
}

/** §4.1: `bits` for each entry, the lowest bits of a byte first, compressed with ZLIB. */
export async function statusAt(content, idx) {
  const { bits, lst } = isObject(content) ? content : {};
  if (![1, 2, 4, 8].includes(bits) || typeof lst !== "string") throw new Error("this is not a list of entries of 1, 2, 4 or 8 bits");
  const bytes = await inflate(fromBase64url(lst));
  if (idx >= (bytes.length * 8) / bits) throw new Error(`the list has no entry ${idx}`);
  return (bytes[Math.floor((idx * bits) / 8)] >> ((idx * bits) % 8)) & (2 ** bits - 1);
}

async function inflate(compressed) {
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const chunks = [];
  let length = 0;
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    chunks.push(value);
    length += value.length;
    if (length > LONGEST) throw new Error("the list is longer than any list may be");
  }
}
