// What a client signs: its requests (RFC 9101 §4) and assertions in the place of a secret (RFC 7523 §2.2).
import { createPrivateKey, randomBytes, sign } from "node:crypto";
import { need } from "./authorization.js";
import { attempt } from "./jose.js";

const ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", LIFETIME = 300; // seconds

/** The private key whose public half is registered for a client. Throws `TypeError` if it is not on P-256. */
export function clientKey(pem, keyId) {
  const key = attempt(() => createPrivateKey(pem), new TypeError("privateKey is no unencrypted private key as PEM"));
  const fits = key.asymmetricKeyType === "ec" && key.asymmetricKeyDetails?.namedCurve === "prime256v1";
  need(fits, "privateKey is not on the curve P-256");

  function signed(typ, claims) {
    const header = { alg: "ES256", typ, ...(keyId ? { kid: keyId } : {}) };
    const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    return `${text}.${sign("sha256", Buffer.from(text), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
  }

  /** The fields of a pushed request: who it is from, and the parameters, both signed (RFC 9126 §3). */
  return (parameters, issuer, now) => {
    const { client_id } = parameters, iat = Math.floor(now);
    const times = { iat, exp: iat + LIFETIME, aud: issuer, iss: client_id };
    const assertion = { sub: client_id, jti: randomBytes(24).toString("base64url"), ...times };
    return {
      client_id, client_assertion_type: ASSERTION, client_assertion: signed("client-authentication+jwt", assertion),
      request: signed("oauth-authz-req+jwt", { ...parameters, ...times }),
    };
  };
}
