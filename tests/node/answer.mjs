// A second implementation reads an answer in the OpenID4VP 1.0 format: given {"request", "answer", "bound"} on standard
// input (`bound`: what a Key Binding JWT says of the transaction data), @openid4vc/openid4vp prints what it found.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Openid4vpVerifier } from "@openid4vc/openid4vp";

const { request, answer, bound } = JSON.parse(readFileSync(0, "utf8"));
const hash = (data, algorithm) => createHash(algorithm.replace("-", "")).update(data).digest();
const verifier = new Openid4vpVerifier({ callbacks: { hash } });
const found = await verifier.parseOpenid4vpAuthorizationResponse({
  authorizationResponse: answer,
  authorizationRequestPayload: request,
  callbacks: { hash },
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
  }),
);
