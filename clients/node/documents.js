// The published documents of the service: fetched with limits, and cached as `Cache-Control` allows.
import { isObject, readJson } from "./jose.js";

const LONGEST = 2 ** 23; // bytes of a document
const LONGEST_KEPT = 3600; // seconds
const AT_MOST_EVERY = 30; // seconds between fetches for an unknown key ID, because attackers can invent these

export class Unavailable extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "Unavailable";
  }
}

/** Status, text and `Cache-Control` of the response within five seconds. No redirect is followed. */
export async function send(address, request = {}) {
  try {
    const response = await fetch(address, { redirect: "manual", signal: AbortSignal.timeout(5000), ...request });
    const chunks = [];
    let length = 0;
    for await (const chunk of response.body ?? []) {
      length += chunk.length;
      if (length > LONGEST) throw new Error("too long");
      chunks.push(chunk);
    }
    const cacheControl = response.headers.get("cache-control") ?? "";
    return { status: response.status, text: Buffer.concat(chunks).toString(), cacheControl };
  } catch (error) {
    throw new Unavailable(`${address} cannot be read (${error.name})`, { cause: error });
  }
}

/** A document, and for how many seconds it may be kept (RFC 9111 §5.2.2.1). */
export async function fetchDocument(address) {
  const { status, text, cacheControl } = await send(address);
  if (status !== 200) throw new Unavailable(`${address} answered with status ${status}`);
  return { text, maxAge: Number(/(?:^|[ ,])max-age=(\d+)/.exec(cacheControl)?.[1] ?? 60) };
}

/** The JSON object that an address answered with. */
export function parsed(address, text) {
  let found;
  try {
    found = readJson(text);
  } catch {
    // It is none.
  }
  if (!isObject(found)) throw new Unavailable(`${address} did not answer with a JSON object`);
  return found;
}

export class Documents {
  #fetch;
  #kept = new Map();

  constructor(fetch) {
    this.#fetch = fetch;
  }

  /** The document; `anew` fetches it again, but at most every 30 seconds. */
  async text(address, anew = false) {
    const now = performance.now() / 1000, kept = this.#kept.get(address);
    if (kept && now < (anew ? kept.anewFrom : kept.freshUntil)) return kept.text;
    const { text, maxAge } = await this.#fetch(address);
    if (this.#kept.size >= 100) this.#kept.clear();
    this.#kept.set(address, { text, freshUntil: now + Math.min(maxAge, LONGEST_KEPT), anewFrom: now + AT_MOST_EVERY });
    return text;
  }

  async object(address, anew) {
    return parsed(address, await this.text(address, anew));
  }
}
