// Calls of the service with limits, and its published documents, cached as its headers allow (RFC 9111 §4.2, §5.2.2).
import { attempt, readJson, Unavailable } from "./jose.js";

// Characters of a document; seconds that it is kept at most, that it is kept if nothing says so, and between fetches for
// an unknown key ID, because attackers can invent these.
const LONGEST = 2 ** 23, LONGEST_KEPT = 3600, UNSAID = 60, AT_MOST_EVERY = 30;
// Seconds after a failed fetch in which callers fail at once and the service is left alone; at most, if it asks for more.
const COOLDOWN = 3, LONGEST_COOLDOWN = 30;

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

/** The same, but a service that is overloaded or fails is `Unavailable`. */
export async function call(address, request, fetcher) {
  const response = await send(address, request, fetcher), { status, text, headers } = response;
  if (status !== 429 && status < 500) return response;
  const seconds = headers.get("retry-after") ?? "", retryAfter = /^\d{1,6}$/.test(seconds) ? Number(seconds) : 0;
  const reason = `${address} answered with status ${status}: ${JSON.stringify(text.slice(0, 300))}`;
  throw new Unavailable(reason, { retryAfter, requestId: headers.get("x-request-id") });
}

/** The JSON object that an address answered with. */
export const parsed = (address, text) =>
  attempt(() => readJson(text), new Unavailable(`${address} did not answer with a JSON object`));

/** For how many seconds a response may be used again. */
export function secondsFresh(headers) {
  const control = (headers.get("cache-control") ?? "").toLowerCase().split(",").map((part) => part.trim().split("="));
  const directives = new Map(control.map(([name, value = ""]) => [name, value]));
  if (directives.has("no-store") || directives.has("no-cache")) return 0;
  const number = (text, otherwise) => (/^\d{1,12}$/.test(text) ? Number(text) : otherwise);
  const lifetime = number((directives.get("max-age") ?? "").replace(/^"|"$/g, ""), UNSAID);
  return Math.max(Math.min(lifetime, LONGEST_KEPT) - number((headers.get("age") ?? "").trim(), 0), 0);
}

/**
 * A cache of published documents. `anew` fetches one again, but at most every 30 seconds: "" if that is not over. For
 * some seconds after a failed fetch there is no other.
 */
export function cached(fetcher) {
  const kept = new Map(), unknown = { text: "", freshUntil: 0, anewFrom: 0, failedUntil: 0 };
  function keep(address, found) {
    if (kept.size >= 100) kept.clear();
    kept.set(address, found);
  }
  return async (address, anew = false) => {
    const now = performance.now() / 1000, last = kept.get(address) ?? unknown;
    if (now < (anew ? last.anewFrom : last.freshUntil)) return anew ? "" : last.text;
    const left = last.failedUntil - now;
    if (left > 0) throw new Unavailable(`${address} failed just now`, { retryAfter: left });
    try {
      const { status, text, headers } = await call(address, {}, fetcher);
      if (status !== 200) throw new Unavailable(`${address} answered with status ${status}`);
      const fresh = secondsFresh(headers);
      const until = { freshUntil: now + fresh, anewFrom: now + AT_MOST_EVERY, failedUntil: 0 };
      keep(address, { text: fresh ? text : "", ...until });
      return text;
    } catch (error) {
      const wait = Math.min(Math.max(Object(error).retryAfter ?? 0, COOLDOWN), LONGEST_COOLDOWN);
      keep(address, { ...last, failedUntil: now + wait });
      throw error;
    }
  };
}
