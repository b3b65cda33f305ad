// Webhooks of the service, which it signs as Standard Webhooks specifies (https://www.standardwebhooks.com).
import { createHmac, timingSafeEqual } from "node:crypto";
import { demand } from "./errors.js";
import { readObject } from "./jose.js";

const TOLERANCE = 300; // seconds
const LONGEST = 65_536; // bytes

/** Compares in constant time, except for the length.
 * @param {string} one @param {string} other */
export function same(one, other) {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/**
 * The content of a webhook. Throws `Rejected` if it is forged or old. It may arrive twice, with the same `webhook-id`.
 * @param {Readonly<Record<string, unknown>>} headers with names in lower case, as Node has them
 * @param {Uint8Array} body as it arrived
 * @param {...string} secrets your secret (`whsec_…`), or the old and the new one while you change them
 * @returns {{ type: string, timestamp: string, data: Record<string, unknown> }}
 */
export function readWebhook(headers, body, ...secrets) {
  const [id, moment, signatures] = ["id", "timestamp", "signature"].map((name) => `${headers[`webhook-${name}`]}`);
  const short = body.length <= LONGEST && id.length + signatures.length <= 2048 && /^\d{1,12}$/.test(moment);
  demand(short, "webhook", "the headers or the body are not those of a webhook");
  const matches = secrets.flatMap((secret) => {
    const mac = createHmac("sha256", Buffer.from(secret.replace(/^whsec_/, ""), "base64"));
    const own = `v1,${mac.update(`${id}.${moment}.`).update(body).digest("base64")}`;
    return signatures.split(" ").map((each) => same(own, each));
  });
  demand(matches.includes(true), "webhook", "no signature is by one of the secrets");
  demand(Math.abs(Date.now() / 1000 - Number(moment)) <= TOLERANCE, "webhook", "it was not sent just now");
  return readObject(body);
}
