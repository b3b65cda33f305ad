// Relying applications made of others' libraries send requests: given {"issuer", "clientId", "jwk", "parameters",
// "query", "transactionData", "posted"} on standard input, it prints where each would send the browser. openid-client pushes
// (RFC 9126), signs (RFC 9101) and does both; @openid4vc/openid4vp makes an OpenID4VP request object, which jose signs.
import { readFileSync } from "node:fs";
import { Openid4vpVerifier } from "@openid4vc/openid4vp";
import { SignJWT, importJWK } from "jose";
import * as client from "openid-client";

const { issuer, clientId, jwk, parameters, query, transactionData, posted } = JSON.parse(readFileSync(0, "utf8"));
const ecdsa = { name: "ECDSA", namedCurve: "P-256" };
const key = { key: await crypto.subtle.importKey("jwk", jwk, ecdsa, false, ["sign"]), kid: jwk.kid };
const options = { execute: [client.allowInsecureRequests] };
const config = await client.discovery(new URL(issuer), clientId, undefined, client.PrivateKeyJwt(key), options);

const fresh = (number) => ({ ...parameters, nonce: `${parameters.nonce}-${number}` });
const signed = await client.buildAuthorizationUrlWithJAR(config, fresh(2), key);
// What openid-client signs is text, the DCQL query and the metadata too.
const { scope: _, ...withoutScope } = fresh(6);
const asText = { dcql_query: JSON.stringify(query), client_metadata: JSON.stringify({ vp_formats_supported: {} }) };
const queried = await client.buildAuthorizationUrlWithJAR(config, { ...withoutScope, ...asText }, key);
const pushedQuery = { ...withoutScope, ...asText, nonce: fresh(7).nonce };
const object = await client.buildAuthorizationUrlWithJAR(config, fresh(3), key);

async function signJwt(_signer, { header, payload }) {
  const jwt = await new SignJWT(payload).setProtectedHeader(header).sign(await importJWK(jwk, "ES256"));
  return { jwt, signerJwk: jwk };
}

const verifier = new Openid4vpVerifier({ callbacks: { signJwt } });
const make = async ({ scope, ...others }) => {
  const { authorizationRequest } = await verifier.createOpenId4vpAuthorizationRequest({
    scheme: config.serverMetadata().authorization_endpoint,
    authorizationRequestPayload: {
      ...others,
      client_id: clientId,
      dcql_query: query,
      transaction_data: transactionData,
    },
    jar: {
      jwtSigner: { method: "custom", alg: "ES256", kid: jwk.kid },
      expiresInSeconds: 60,
      additionalJwtPayload: { aud: issuer },
    },
  });
  return authorizationRequest;
};
const { redirect_uri, ...withoutRedirect } = fresh(5);

console.log(
  JSON.stringify({
    pushed: await client.buildAuthorizationUrlWithPAR(config, fresh(1)),
    signed,
    queried,
    "pushed query": await client.buildAuthorizationUrlWithPAR(config, pushedQuery),
    both: await client.buildAuthorizationUrlWithPAR(config, object.searchParams),
    openid4vp: await make(fresh(4)),
    posted: await make({ ...withoutRedirect, ...posted }),
  }),
);
