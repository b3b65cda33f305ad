// A request in a cookie: AES-256-GCM with a key for each text (HKDF, RFC 5869).
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { need } from "./authorization.js";
import { attempt, decode, digest, readJson, Rejected } from "./jose.js";

const PURPOSE = "credential-presentation: a pending request";
const SALT = 32, TAG = 16, LONGEST = 3500; // octets, and characters: browsers take 4,096

// The key of each salt is used once, so the initial value may be the same.
function cipherKey(key, salt) {
  need((typeof key === "string" || key instanceof Uint8Array) && key.length >= 32, "the key has fewer than 32 characters");
  return Buffer.from(hkdfSync("sha256", key, salt, PURPOSE, 32));
}

/**
 * A request encrypted and authenticated, in at most 3,500 characters, for a cookie; payments are hashes there. `key` is
 * a secret of your server with at least 32 characters. The text says nothing to the browser, which can keep it, however,
 * and send it again: remember `nonce` where an answer may count only once. Throws `TypeError` if the key is too short,
 * or there are too many claims.
 * @param {import("./index.js").Pending} pending @param {string | Uint8Array} key @returns {string}
 */
export function sealPending({ transactionData, ...others }, key) {
  const hashes = transactionData.length > 0 ? transactionData.map(digest) : others.transactionDataHashes ?? [];
  const facts = { ...others, transactionData: [], transactionDataHashes: hashes };
  const salt = randomBytes(SALT), cipher = createCipheriv("aes-256-gcm", cipherKey(key, salt), Buffer.alloc(12));
  const parts = [salt, cipher.update(JSON.stringify(facts)), cipher.final()];
  const text = Buffer.concat([...parts, cipher.getAuthTag()]).toString("base64url");
  need(text.length <= LONGEST, "the request has too many claims for a cookie: keep it on your server");
  return text;
}

/**
 * What was sealed with one of the keys: your key, or the new and the old one while you change it. Throws `Rejected` if
 * it was not, or was changed.
 * @param {string | undefined} text @param {...(string | Uint8Array)} keys
 * @returns {import("./index.js").Pending}
 */
export function openPending(text, ...keys) {
  const octets = typeof text === "string" && text.length <= LONGEST ? decode(text) : Buffer.alloc(0);
  const changed = new Rejected("state", "the request was not sealed with this key, or was changed");
  for (const derived of keys.map((key) => cipherKey(key, octets.subarray(0, SALT)))) {
    try {
      const cipher = createDecipheriv("aes-256-gcm", derived, Buffer.alloc(12), { authTagLength: TAG });
      cipher.setAuthTag(octets.subarray(Math.max(octets.length - TAG, SALT)));
      const opened = Buffer.concat([cipher.update(octets.subarray(SALT, -TAG)), cipher.final()]);
      return /** @type {any} */ (attempt(() => readJson(opened), changed));
    } catch { continue; }
  }
  throw changed;
}
