// base64, hashes and JSON as the JOSE standards use them, strictly.

/** base64url(SHA-256(ASCII(text))), as RFC 9901 uses it everywhere. */
export async function sha256(text) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return btoa(String.fromCharCode(...hash)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** RFC 7515 §2: the URL-safe alphabet, no padding, no white space, no stray bits. */
export function fromBase64url(text) {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) throw new Error("this is not base64url");
  const standard = text.replaceAll("-", "+").replaceAll("_", "/");
  const padded = standard + "=".repeat((4 - (standard.length % 4)) % 4);
  const bytes = fromBase64(padded);
  const last = bytes.subarray(3 * Math.floor((bytes.length - 1) / 3)); // what the last four characters stand for
  if (btoa(String.fromCharCode(...last)) !== padded.slice(-4)) throw new Error("this is not base64url");
  return bytes;
}

/** Standard base64, which is what `x5c` uses. */
export function fromBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** JSON in UTF-8; throws for anything else. */
export function fromJson(bytes) {
  return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
