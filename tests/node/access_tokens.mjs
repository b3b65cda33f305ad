// A second implementation asks for access tokens: given {"issuer", "attempts": [{"clientId", "method", "secret" or
// "jwk", "scope"}]} on standard input, openid-client does discovery and prints for each attempt what it got, or
// {"error", "status"}.
import { readFileSync } from "node:fs";
import * as client from "openid-client";

const { issuer, attempts } = JSON.parse(readFileSync(0, "utf8"));

async function proof({ method, secret, jwk }) {
  if (method === "client_secret_basic") return client.ClientSecretBasic(secret);
  if (method === "client_secret_post") return client.ClientSecretPost(secret);
  const key = await crypto.subtle.importKey("jwk", jwk, { name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
  return client.PrivateKeyJwt({ key, kid: jwk.kid });
}

async function granted(attempt) {
  const options = { execute: [client.allowInsecureRequests] };
  const config = await client.discovery(new URL(issuer), attempt.clientId, undefined, await proof(attempt), options);
  const supported = config.serverMetadata().token_endpoint_auth_methods_supported;
  if (!supported.includes(attempt.method)) throw new Error(`${attempt.method} is not in discovery`);
  try {
    return await client.clientCredentialsGrant(config, attempt.scope ? { scope: attempt.scope } : {});
  } catch (error) {
    return { error: error.error ?? error.cause?.error ?? String(error.code ?? error), status: error.status };
  }
}

const answers = [];
for (const attempt of attempts) answers.push(await granted(attempt));
console.log(JSON.stringify(answers));
