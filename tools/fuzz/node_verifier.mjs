// Calls the library for Node.js for `tools.fuzz.verifiers`: reads a call a line, and writes how it ended a line.
import { createInterface } from "node:readline";
import { readWebhook, stateOf, verifyArchive, Wallet } from "../../clients/node/index.js";

const NAMES = { client_id: "clientId", transaction_data: "transactionData" };
const camel = (object) => Object.fromEntries(Object.entries(object).map(([name, value]) => [NAMES[name] ?? name, value]));

const calls = {
  archive: ({ document, root }) => verifyArchive(document, root),
  webhook: ({ headers, body, secret }) => readWebhook(headers, Buffer.from(body), secret),
  state_of: ({ fields }) => stateOf(fields),
  finish({ documents, pending, fields, now, root, base_url, client_id, redirect_uri }) {
    const fetch = async (address) => {
      const init = { status: Object.hasOwn(documents, address) ? 200 : 404, headers: { "Cache-Control": "max-age=0" } };
      return new Response(documents[address], init);
    };
    return new Wallet(base_url, client_id, redirect_uri, { root, fetch, clock: () => now }).finish(camel(pending), fields);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const call = JSON.parse(line);
  let ended = { name: "accepted", stack: "" };
  try {
    await calls[call.call](call);
  } catch (error) {
    ended = { name: String(error?.name), stack: String(error?.stack).split("\n").slice(0, 3).join(" ") };
  }
  console.log(JSON.stringify(ended));
}
