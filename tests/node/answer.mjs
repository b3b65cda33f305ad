// A second implementation reads an answer in the OpenID4VP 1.0 format: given {"request", "answer", "bound"} on standard
// input (`bound`: what a Key Binding JWT says of the transaction data), @openid4vc/openid4vp prints what it found. An
// answer that was encrypted is opened by jose with the private JWK "opening".
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Openid4vpVerifier } from "@openid4vc/openid4vp";
import { compactDecrypt, importJWK } from "jose";

const { request, answer, bound, opening } = JSON.parse(readFileSync(0, "utf8"));
const hash = (data, algorithm) => createHash(algorithm.replace("-", "")).update(data).digest();
async function decryptJwe(jwe) {
  const { plaintext } = await compactDecrypt(jwe, await importJWK(opening, "ECDH-ES"));
  return { decrypted: true, decryptionJwk: opening, payload: new TextDecoder().decode(plaintext) };
}
const verifier = new Openid4vpVerifier({ callbacks: { hash } });
const found = await verifier.parseOpenid4vpAuthorizationResponse({
  authorizationResponse: answer,
  authorizationRequestPayload: request,
  callbacks: { hash, decryptJwe },
});
const matched = await verifier.verifyTransactionData({
  transactionData: request.transaction_data,
  credentials: bound,
});
console.log(
  JSON.stringify({
    type: found.type,
    presentations: found.dcql.presentations,
    nonce: found.expectedNonce,
    matched: matched.length,
    encrypted: found.jarm?.type ?? null,
  }),
);
