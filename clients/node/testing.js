// For tests of your application: the sandbox's holder answers a request in place of a person.
import { setTimeout } from "node:timers/promises";
import { parsed, send } from "./documents.js";
import { Denied, Unavailable } from "./jose.js";

/**
 * The address to which the browser would be redirected. Throws `Denied` where a person would stay on a page, as with a
 * request that was answered before: its `code` is `no_redirect`, and its `description` has the words of the page. The
 * `code` `invalid_request` means that the call itself is wrong, such as an unknown persona.
 * @param {string} url from `Wallet.request`
 * @param {{ persona?: string, decision?: "share" | "decline", optional?: string[] }} [choices]
 * @returns {Promise<string>}
 */
export async function holder(url, choices) {
  const address = `${url.split("/verifiable-credentials/")[0]}/sandbox/holder`;
  const body = JSON.stringify({ authorize_url: url, ...choices });
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body };
  let sent = await send(address, request);
  for (let tries = 1; sent.status === 503 && tries < 100; tries++) { // other calls for this person are being answered
    sent = await setTimeout(200).then(() => send(address, request));
  }
  if (sent.status === 429 || sent.status >= 500) throw new Unavailable(`${address} answered with ${sent.status}`);
  const { redirect_to: target, page = {}, error = "no_redirect", ...said } = parsed(address, sent.text);
  if (target) return target; // otherwise the page has status, heading and text
  throw new Denied(error, said.error_description ?? Object.values(page).join(": ").replaceAll("’", "'"));
}

/** The fields that the page at your callback would post: those in the fragment of its address.
 * @param {string} address @returns {Record<string, string>} */
export const fieldsOf = (address) => Object.fromEntries(new URLSearchParams(address.split("#")[1]));
