// The published documents of the service: fetched with limits, and cached as `Cache-Control` allows.
import { attempt, readJson, Unavailable } from "./jose.js";

// Characters of a document, seconds that it is kept at most, and seconds between fetches for an unknown key ID, because
// attackers can invent these.
const LONGEST = 2 ** 23, LONGEST_KEPT = 3600, AT_MOST_EVERY = 30;

/** Status, text and headers of the response within five seconds. No redirect is followed. */
export async function send(address, request = {}, fetcher = fetch) {
  try {
    const limits = { redirect: /** @type {const} */ ("manual"), signal: AbortSignal.timeout(5000) };
    const { status, headers, body } = await fetcher(address, { ...limits, ...request });
    let text = "";
    for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      if ((text += part).length > LONGEST) throw new RangeError();
    }
    return { status, text, headers };
  } catch (cause) { throw new Unavailable(`${address} failed (${Object(cause).cause?.code ?? cause})`, { cause }); }
}

/** The JSON object that an address answered with. Throws `Unavailable` if it is overloaded or fails. */
export const parsed = (address, text, status = 200) =>
  attempt(() => readJson(status === 429 || status >= 500 ? "" : text),
    new Unavailable(`${address} answered with status ${status}: ${JSON.stringify(text.slice(0, 300))}`));

/** A cache of published documents. `anew` fetches one again, but at most every 30 seconds. */
export function cached(fetcher) {
  const kept = new Map();
  return async (address, anew = false) => {
    const now = performance.now() / 1000, last = kept.get(address);
    if (last && now < (anew ? last.anewFrom : last.freshUntil)) return last.text;
    const { status, text, headers } = await send(address, {}, fetcher);
    if (status !== 200) throw new Unavailable(`${address} answered with status ${status}`);
    const maxAge = Number(/\bmax-age=(\d+)/.exec(headers.get("cache-control") ?? "")?.[1] ?? 60); // RFC 9111 §5.2.2.1
    if (kept.size >= 100) kept.clear();
    kept.set(address, { text, freshUntil: now + Math.min(maxAge, LONGEST_KEPT), anewFrom: now + AT_MOST_EVERY });
    return text;
  };
}
