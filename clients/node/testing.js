// For tests of your application: the sandbox's holder answers a request in place of a person.
import { setTimeout } from "node:timers/promises";
import { parsed, send, Unavailable } from "./documents.js";

export async function holder(url, choices = {}) {
  const address = `${url.split("/verifiable-credentials/")[0]}/sandbox/holder`;
  const request = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ authorize_url: url, ...choices }),
  };
  for (let tries = 1; ; tries++) {
    const { status, text } = await send(address, request);
    if (status === 200) return parsed(address, text).redirect_to;
    // 503: other calls for this person are being answered.
    if (status !== 503 || tries === 100) throw new Unavailable(`${address} answered with status ${status}: ${text}`);
    await setTimeout(200);
  }
}

export function fieldsOf(address) {
  return Object.fromEntries(new URLSearchParams(address ? new URL(address).hash.slice(1) : ""));
}
