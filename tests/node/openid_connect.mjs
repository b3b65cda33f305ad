// Clients of OpenID Connect: given {"step", "issuer", "clientId", "secret", "redirectUri", "cases"} on standard input, the
// step "begin" prints for each case where the browser goes and what the session keeps, and "finish" what the library made of
// the address to which it came back: the claims of the ID token and UserInfo, or the error. A case names its library,
// openid-client or oauth4webapi, and whether it pushes its request.
import { readFileSync } from "node:fs";
import * as oauth from "oauth4webapi";
import * as client from "openid-client";

const { step, issuer, clientId, secret, redirectUri, cases } = JSON.parse(readFileSync(0, "utf8"));
const insecure = { [oauth.allowInsecureRequests]: true };
const es256 = { id_token_signed_response_alg: "ES256" };

const config = await client.discovery(new URL(issuer), clientId, { client_secret: secret, ...es256 }, undefined, {
  execute: [client.allowInsecureRequests],
});
const found = await oauth.discoveryRequest(new URL(issuer), insecure);
const server = await oauth.processDiscoveryResponse(new URL(issuer), found);
const me = { client_id: clientId, ...es256 };
const proof = oauth.ClientSecretBasic(secret);

async function begin({ library, pushed, extra = {} }) {
  const session = { verifier: oauth.generateRandomCodeVerifier(), state: oauth.generateRandomState() };
  const parameters = {
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "openid profile",
    state: session.state,
    code_challenge: await oauth.calculatePKCECodeChallenge(session.verifier),
    code_challenge_method: "S256",
    nonce: (session.nonce = oauth.generateRandomNonce()),
    ...extra,
  };
  if (library === "openid-client") {
    const build = pushed ? client.buildAuthorizationUrlWithPAR : client.buildAuthorizationUrl;
    return { url: await build(config, parameters), session };
  }
  const url = new URL(server.authorization_endpoint);
  let sent = { client_id: clientId, ...parameters };
  if (pushed) {
    const response = await oauth.pushedAuthorizationRequest(server, me, proof, parameters, insecure);
    const { request_uri } = await oauth.processPushedAuthorizationResponse(server, me, response);
    sent = { client_id: clientId, request_uri };
  }
  url.search = new URLSearchParams(sent);
  return { url, session };
}

async function byOpenidClient(address, { verifier, state, nonce }, maxAge) {
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, maxAge };
  const tokens = await client.authorizationCodeGrant(config, new URL(address), checks);
  const claims = tokens.claims();
  return { tokens, claims, told: await client.fetchUserInfo(config, tokens.access_token, claims.sub) };
}

async function byOauth4webapi(address, { verifier, state, nonce }, maxAge) {
  const given = oauth.validateAuthResponse(server, me, new URL(address), state);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    me,
    proof,
    given,
    redirectUri,
    verifier,
    insecure,
  );
  const expected = { expectedNonce: nonce, maxAge, requireIdToken: true };
  const tokens = await oauth.processAuthorizationCodeResponse(server, me, response, expected);
  await oauth.validateApplicationLevelSignature(server, response, insecure);
  const claims = oauth.getValidatedIdTokenClaims(tokens);
  const asked = await oauth.userInfoRequest(server, me, tokens.access_token, insecure);
  return { tokens, claims, told: await oauth.processUserInfoResponse(server, me, claims.sub, asked) };
}

async function finish({ library, address, session, maxAge }) {
  try {
    const { tokens, claims, told } = await (library === "openid-client" ? byOpenidClient : byOauth4webapi)(
      address,
      session,
      maxAge,
    );
    return { claims, told, evidence: [tokens.vp_token, tokens.vp_nonce] };
  } catch (error) {
    return { error: error.error ?? error.cause?.error ?? error.code ?? String(error) };
  }
}

const results = [];
for (const each of cases) results.push(await (step === "begin" ? begin : finish)(each));
console.log(JSON.stringify(results));
