// A second implementation looks at our tokens: @sd-jwt/sd-jwt-vc verifies one, given on standard input as
// {"token", "issuer" (public JWK), "nonce", "aud"} and perhaps "listIssuer" (public JWK, of its status list), and prints
// {"header", "payload", "kb"}; or fails, saying why.
import { readFileSync } from "node:fs";
import { ES256, digest, generateSalt } from "@sd-jwt/crypto-nodejs";
import { SDJwtVcInstance } from "@sd-jwt/sd-jwt-vc";

const { token, issuer, nonce, aud, listIssuer } = JSON.parse(readFileSync(0, "utf8"));

const verifier = new SDJwtVcInstance({
  hasher: digest,
  hashAlg: "sha-256",
  saltGenerator: generateSalt,
  verifier: await ES256.getVerifier(issuer),
  statusVerifier: await ES256.getVerifier(listIssuer ?? issuer),
  kbVerifier: async (data, signature, payload) => (await ES256.getVerifier(payload.cnf.jwk))(data, signature),
  // Fetching what a token points to is not what is tried here.
  loadTypeMetadataFormat: false,
});

try {
  const { header, payload, kb } = await verifier.verify(token, {
    requiredClaimKeys: ["iss", "vct", "exp", "cnf"],
    keyBindingNonce: nonce,
  });
  // The package leaves the audience to its caller.
  if (kb?.payload.aud !== aud) throw new Error("the key binding is for another audience");
  console.log(JSON.stringify({ header, payload, kb }));
} catch (error) {
  console.error(String(error.message ?? error));
  process.exitCode = 1;
}
