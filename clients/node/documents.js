// The published documents of the service: fetched with limits, and cached as `Cache-Control` allows.
import { Unavailable } from "./errors.js";
import { readObject } from "./jose.js";

const LONGEST = 2 ** 23; // bytes of a document
const LONGEST_KEPT = 3600; // seconds
const AT_MOST_EVERY = 30; // seconds between fetches for an unknown key ID, because attackers can invent these

/** Status, text and `Cache-Control` of the response within five seconds. No redirect is followed. */
export async function send(address, request = {}) {
  try {
    const response = await fetch(address, { redirect: "manual", signal: AbortSignal.timeout(5000), ...request });
    const chunks = [];
    let room = LONGEST;
    for await (const chunk of response.body ?? []) {
      if ((room -= chunk.length) < 0) throw new RangeError();
      chunks.push(chunk);
    }
    const cacheControl = response.headers.get("cache-control") ?? "";
    return { status: response.status, text: Buffer.concat(chunks).toString(), cacheControl };
  } catch (cause) { throw new Unavailable(`${address} cannot be read (${Object(cause).name})`, { cause }); }
}

/** A document, and for how many seconds it may be kept (RFC 9111 §5.2.2.1).
 * @param {string} address @returns {Promise<{ text: string, maxAge: number }>} */
export async function fetchDocument(address) {
  const { status, text, cacheControl } = await send(address);
  if (status !== 200) throw new Unavailable(`${address} answered with status ${status}`);
  return { text, maxAge: Number(/(?:^|[ ,])max-age=(\d+)/.exec(cacheControl)?.[1] ?? 60) };
}

/** The JSON object that an address answered with. */
export function parsed(address, text) {
  try { return readObject(text); }
  catch { throw new Unavailable(`${address} did not answer with a JSON object`); }
}

/** A cache of published documents. `anew` fetches one again, but at most every 30 seconds. */
export function cached(fetchText) {
  const kept = new Map();
  return async (address, anew = false) => {
    const now = performance.now() / 1000, last = kept.get(address);
    if (last && now < (anew ? last.anewFrom : last.freshUntil)) return last.text;
    const { text, maxAge } = await fetchText(address);
    if (kept.size >= 100) kept.clear();
    kept.set(address, { text, freshUntil: now + Math.min(maxAge, LONGEST_KEPT), anewFrom: now + AT_MOST_EVERY });
    return text;
  };
}
