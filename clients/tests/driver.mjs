// Drives the installed library for Node.js: reads a command a line, and prints an answer a line.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import * as library from "credential-presentation";
import { fieldsOf, holder } from "credential-presentation/testing";

const NAMES = {
  client_id: "clientId", transaction_data: "transactionData", decryption_key: "decryptionKey",
  transaction_data_hashes: "transactionDataHashes", private_key: "privateKey", key_id: "keyId",
};
const renamed = (object, names) =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [names[name] ?? name, value]));
const camel = (object) => renamed(object, NAMES);
const snake = (object) => renamed(object, Object.fromEntries(Object.entries(NAMES).map(([one, other]) => [other, one])));
const told = ({ claims, vpToken, archive }) => ({ claims, vp_token: vpToken, archive: archive() });

let wallet;
const commands = {
  open({ documents, now, base_url, client_id, redirect_uri, ...facts }) {
    if (documents) {
      facts.clock = () => now;
      facts.fetch = async (address) => {
        const init = { status: Object.hasOwn(documents, address) ? 200 : 404, headers: { "Cache-Control": "max-age=0" } };
        return new Response(documents[address], init);
      };
    }
    wallet = new library.Wallet(base_url, client_id, redirect_uri, camel(facts));
    return library.CALLBACK;
  },
  async request(asking) {
    const { url, pending } = await wallet.request(camel(asking));
    return { url, pending: snake(pending), nonce_sha256: library.nonceSha256(pending) };
  },
  finish: async ({ pending, fields }) => told(await wallet.finish(camel(pending), fields)),
  through_a_cookie({ pending, key, keys }) {
    const text = library.sealPending(camel(pending), key);
    return { text, pending: snake(library.openPending(text, ...keys)) };
  },
  opened: ({ text, keys }) => snake(library.openPending(text, ...keys)),
  async archived({ pending, fields, data }) {
    const result = await wallet.finish(camel(pending), fields);
    return data.length > 0 ? result.archive(data) : result.archive();
  },
  verify: async ({ vp_token, ...expected }) => told(await wallet.verify(vp_token, camel(expected))),
  // What each case of the file is refused for; "" where the answer and its archive are accepted.
  async vectors({ file }) {
    const refused = {};
    for (const [name, { wallet: facts, pending, fields }] of Object.entries(JSON.parse(readFileSync(file, "utf8")))) {
      try {
        commands.open(facts);
        const { claims, archive } = await commands.finish({ pending, fields });
        const archived = await library.verifyArchive(archive, facts.root);
        refused[name] = isDeepStrictEqual(archived.claims, [claims]) ? "" : "another archive";
      } catch (error) {
        const noRoot = error.name === "TypeError" && /\broot is not\b|\bof root is not\b/.test(error.message);
        if (!noRoot && !["Rejected", "Unavailable"].includes(error.name)) throw error;
        refused[name] = noRoot ? "root" : (error.check ?? "unavailable");
      }
    }
    return refused;
  },
  archive: async ({ document, root }) => snake(await library.verifyArchive(document, root)),
  webhook: ({ headers, body, secrets }) => library.readWebhook(headers, Buffer.from(body), ...secrets),
  state_of: ({ fields }) => library.stateOf(fields),
  async holder({ url, ...choices }) {
    const address = await holder(url, choices);
    return { address, fields: fieldsOf(address) };
  },
  async milliseconds(command) {
    const begun = performance.now();
    for (let times = 0; times < 50; times++) await commands.finish(command);
    return (performance.now() - begun) / 50;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { do: name, ...command } = JSON.parse(line);
  let answer;
  try {
    answer = { answer: await commands[name](command) };
  } catch (error) {
    if (!["Denied", "Rejected", "Unavailable", "TypeError"].includes(error.name)) throw error;
    answer = { error: error.name, code: error.code ?? error.check ?? "", text: `${error} ${error.reference ?? ""}` };
  }
  console.log(JSON.stringify(answer));
}
