// A second implementation looks at authorization responses: given {"issuer", "clientId", "responses": [{"url",
// "state"}]} on standard input, openid-client does discovery in both of its ways, and oauth4webapi, which it is made
// of, checks each response (RFC 9207 §2.4). Prints for each what came: "accepted", the error, or why it is refused.
import { readFileSync } from "node:fs";
import * as oauth from "oauth4webapi";
import * as client from "openid-client";

const { issuer, clientId, responses } = JSON.parse(readFileSync(0, "utf8"));

async function discovered(algorithm) {
  const options = { algorithm, execute: [client.allowInsecureRequests] };
  return (await client.discovery(new URL(issuer), clientId, undefined, client.None(), options)).serverMetadata();
}

function outcome(server, { url, state }) {
  try {
    const parameters = new URLSearchParams(new URL(url).hash.slice(1));
    oauth.validateAuthResponse(server, { client_id: clientId }, parameters, state);
    return "accepted";
  } catch (error) {
    return error.error ?? error.message;
  }
}

const [server, again] = [await discovered("oidc"), await discovered("oauth2")];
if (JSON.stringify(server) !== JSON.stringify(again)) throw new Error("discovery differs");
console.log(JSON.stringify(responses.map((response) => outcome(server, response))));
