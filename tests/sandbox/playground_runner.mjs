// Runs the playground's verifier under Node. Reads {directory, presentations, signatures, fragments, answered}
// as JSON from standard input and writes what the modules in that directory make of them.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const given = JSON.parse(readFileSync(0, "utf8"));
const load = (name) => import(pathToFileURL(`${given.directory}/${name}.js`).href);
const { verifyPresentation, CHECKS } = await load("sd-jwt");
const { verifySignature } = await load("issuer-signed");
const { decode } = await load("decode");
const { checkAnswer, readAnswer, readPosted } = await load("answer");

const presentations = [];
for (const { token, expected } of given.presentations ?? []) {
  const trustedRoot = Uint8Array.from(Buffer.from(expected.trustedRoot, "base64"));
  const fetchStatusList = async (uri) => {
    if (!(uri in expected.statusLists)) throw new Error(`${uri} answered 404`);
    return expected.statusLists[uri];
  };
  presentations.push(await verifyPresentation(token, { ...expected, trustedRoot, fetchStatusList }));
}

const decoded = [];
for (const { token, issuerKey } of given.signatures ?? []) {
  const presentation = await decode(token);
  const holderKey = presentation.jwt.payload.cnf.jwk;
  decoded.push({
    ...presentation,
    issuer: await verifySignature(presentation.jwt, issuerKey),
    holder: await verifySignature(presentation.keyBinding, holderKey),
    sdHash: await CHECKS["kb-sd-hash"](presentation),
  });
}

const answers = (given.fragments ?? []).map((fragment) => {
  try {
    return readAnswer(fragment);
  } catch (error) {
    return { refused: error.message };
  }
});

const posted = [];
for (const { form, privateKey } of given.posted ?? []) {
  posted.push(await readPosted(form, privateKey).catch((error) => ({ refused: error.message })));
}

const issuer = "https://wallet.example";
const answered = (given.answered ?? []).map(([answer, request]) => checkAnswer(answer, request, issuer));

process.stdout.write(JSON.stringify({ presentations, decoded, answers, answered, posted, names: Object.keys(CHECKS) }));
