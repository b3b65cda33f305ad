// For tests of your application: the sandbox's holder answers a request in place of a person.
import { setTimeout } from "node:timers/promises";
import { parsed, send } from "./documents.js";
import { Denied, Unavailable } from "./jose.js";

/**
 * The address to which the browser would be redirected. Throws `Denied` where a person would stay on a page, as with a
 * request that was answered before; its description has the words of the page.
 * @param {string} url from `Wallet.request`
 * @param {{ persona?: string, decision?: "share" | "decline", optional?: string[] }} [choices]
 * @returns {Promise<string>}
 */
export async function holder(url, choices) {
  const address = `${url.split("/verifiable-credentials/")[0]}/sandbox/holder`;
  const body = JSON.stringify({ authorize_url: url, ...choices });
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body };
  for (let tries = 1; ; tries++) {
    const { status, text } = await send(address, request);
    const { redirect_to: target, page } = status === 200 ? parsed(address, text) : {};
    if (target) return target;
    if (page) throw new Denied("no_redirect", JSON.stringify(page));
    // 503: other calls for this person are being answered.
    if (status !== 503 || tries === 100) throw new Unavailable(`${address} answered with status ${status}: ${text}`);
    await setTimeout(200);
  }
}

/** The fields that the page at your callback would post: those in the fragment of its address.
 * @param {string} address @returns {Record<string, string>} */
export const fieldsOf = (address) => Object.fromEntries(new URLSearchParams(address.split("#")[1]));
