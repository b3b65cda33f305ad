// An OpenID provider of our tests, made with oidc-provider: it signs people in by itself, and lies when told to.
// Arguments: port, the JWK of the client that signs assertions. It prints "ready" when it listens.
//   POST /play {mode, person, claims, …}   what happens from now on; claims: of the ID token, in mode "claims"
//   GET /calls                             how often each endpoint was called
//   SIGUSR2                                stop listening, or listen again; nothing is forgotten
import { once } from "node:events";
import { createServer } from "node:http";
import * as jose from "jose";
import { Provider } from "oidc-provider";

const [port, publicKey] = [Number(process.argv[2]), JSON.parse(process.argv[3])];
const issuer = `http://127.0.0.1:${port}`;
const SECRET = "a secret with +, % and: a colon!";
const PERSON = { given_name: "Ärla", family_name: "O’Neill", birthdate: "1990-02-01", nationalities: ["SWE", "IE"] };
const VERIFICATION = {
  trust_framework: "eidas",
  assurance_level: "high",
  time: "2026-01-20T10:00Z",
  evidence: [
    {
      type: "document",
      document_details: {
        type: "idcard",
        document_number: "X4RTBPFW4",
        issuer: { name: "Polisen", country_code: "SWE" },
        date_of_expiry: "2039-01-01",
      },
    },
  ],
};
const play = { mode: "good", person: {}, verification: {}, userinfo: "json", acr: "urn:test:strong" };
const calls = {};

const ours = await jose.generateKeyPair("ES256", { extractable: true });
const strange = await jose.generateKeyPair("ES256", { extractable: true });
const signing = { ...(await jose.exportJWK(ours.privateKey)), kid: "first", alg: "ES256", use: "sig" };

const common = {
  redirect_uris: ["https://service.example/wallet/identity/bank/return/"],
  response_types: ["code"],
  grant_types: ["authorization_code"],
  id_token_signed_response_alg: "ES256",
};
const clients = [
  { ...common, client_id: "asserting", token_endpoint_auth_method: "private_key_jwt", token_endpoint_auth_signing_alg: "ES256", jwks: { keys: [publicKey] }, require_pushed_authorization_requests: true },
  { ...common, client_id: "basic client", client_secret: SECRET, token_endpoint_auth_method: "client_secret_basic" },
  { ...common, client_id: "posting", client_secret: SECRET, token_endpoint_auth_method: "client_secret_post" },
  { ...common, client_id: "signed-userinfo", client_secret: SECRET, token_endpoint_auth_method: "client_secret_basic", userinfo_signed_response_alg: "ES256" },
];

function person() {
  const claims = { ...PERSON, ...play.person };
  for (const name of Object.keys(claims)) if (claims[name] === null) delete claims[name];
  return claims;
}

function verifiedClaims() {
  const one = { verification: { ...VERIFICATION, ...play.verification }, claims: person() };
  const low = { verification: { trust_framework: "eidas", assurance_level: "low" }, claims: { ...person(), given_name: "Low" } };
  const half = { verification: { ...VERIFICATION }, claims: { given_name: "Half" } };
  const foreign = { verification: { trust_framework: "of_mars" }, claims: person() };
  return { array: [half, foreign, low, one], low, halves: [half, { ...one, claims: { birthdate: "1980-01-01" } }] }[play.mode] ?? one;
}

const provider = new Provider(issuer, {
  clients,
  jwks: { keys: [signing] },
  claims: { openid: ["sub"], profile: ["given_name", "family_name", "birthdate", "nationalities"], verified_claims: null, acr: null },
  acrValues: ["urn:test:weak", "urn:test:strong"],
  features: {
    devInteractions: { enabled: false },
    claimsParameter: { enabled: true },
    pushedAuthorizationRequests: { enabled: true },
    jwtUserinfo: { enabled: true },
  },
  pkce: { required: () => true },
  discovery: { trust_frameworks_supported: ["eidas"], evidence_supported: ["document"] },
  interactions: { url: (ctx, interaction) => `/person/${interaction.uid}` },
  cookies: { keys: ["a key"] },
  ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600, AuthorizationCode: 600 },
  findAccount: (ctx, id) => ({
    accountId: id,
    claims: () => ({
      // The claims beside `verified_claims` are what this person typed: nobody may believe them.
      ...(play.mode === "plain" ? person() : { given_name: "Self", family_name: "Said", birthdate: "1900-01-01" }),
      ...(["missing", "plain"].includes(play.mode) ? {} : { verified_claims: verifiedClaims() }),
      sub: id,
    }),
  }),
  renderError: (ctx, out) => {
    ctx.type = "json";
    ctx.body = out;
  },
});
// The port of the service under test is another in each test.
provider.Client.prototype.redirectUriAllowed = (uri) => /^http:\/\/(localhost|127\.0\.0\.1):\d+\/(wallet\/identity\/\w+|admin\/single-sign-on)\/return\/$/.test(uri);

// What becomes of an ID token's claims, by mode. Undefined leaves a claim out.
const LIES = {
  "wrong-nonce": () => ({ nonce: "another" }),
  "no-nonce": () => ({ nonce: undefined }),
  "wrong-iss": () => ({ iss: "https://evil.example" }),
  "wrong-aud": () => ({ aud: "another" }),
  "aud-and-other": ({ aud }) => ({ aud: [aud, "another"] }),
  "aud-other-azp-ours": ({ aud }) => ({ aud: ["another"], azp: aud }),
  "aud-array": ({ aud }) => ({ aud: [aud] }),
  "wrong-azp": () => ({ azp: "another" }),
  "expired": () => ({ exp: 1 }),
  "no-exp": () => ({ exp: undefined }),
  "iat-1970": () => ({ iat: 1 }),
  "iat-future": () => ({ iat: 4e9 }),
  "wrong-at-hash": () => ({ at_hash: "AAAA" }),
  "no-sub": () => ({ sub: undefined }),
  "wrong-key": () => ({}),
  "unknown-key": () => ({}),
  "new-key": () => ({}),
  "alg-none": () => ({}),
  "alg-hs256": () => ({}),
  "claims": () => play.claims,
  "good-at-hash": (claims, token) => ({ at_hash: token }),
};

async function halfHash(text) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return jose.base64url.encode(digest.slice(0, 16));
}

async function forged(body) {
  const claims = jose.decodeJwt(body.id_token);
  Object.assign(claims, LIES[play.mode](claims, await halfHash(body.access_token)));
  for (const name of Object.keys(claims)) if (claims[name] === undefined) delete claims[name];
  if (play.mode === "alg-none") return new jose.UnsecuredJWT(claims).encode();
  if (play.mode === "alg-hs256") return new jose.SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode(SECRET.padEnd(40)));
  const kid = ["unknown-key", "new-key"].includes(play.mode) ? "second" : "first";
  const key = ["wrong-key", "unknown-key", "new-key"].includes(play.mode) ? strange.privateKey : ours.privateKey;
  return new jose.SignJWT(claims).setProtectedHeader({ alg: "ES256", kid }).sign(key);
}

async function visit(ctx) {
  const { prompt, params, session } = await provider.interactionDetails(ctx.req, ctx.res);
  const finish = (result, merge) => provider.interactionFinished(ctx.req, ctx.res, result, { mergeWithLastSubmission: merge });
  if (play.mode === "never") return void (ctx.body = "The person closed the page.");
  const errors = { denied: "access_denied", broken: "server_error", "too-weak": "unmet_authentication_requirements" };
  if (errors[play.mode]) return finish({ error: errors[play.mode], error_description: "as the test says" }, false);
  if (prompt.name === "login") return finish({ login: { accountId: `person-${Math.random()}`, acr: play.acr, amr: ["pwd"] } }, false);
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  grant.addOIDCClaims(["verified_claims", "given_name", "family_name", "birthdate", "nationalities", "acr"]);
  return finish({ consent: { grantId: await grant.save() } }, true);
}

async function told(ctx) {
  Object.assign(play, { person: {}, verification: {}, claims: {}, acr: "urn:test:strong" }, JSON.parse(await new Response(ctx.req).text()));
  ctx.body = {};
}

provider.use(async (ctx, next) => {
  if (ctx.path === "/play") return told(ctx);
  if (ctx.path === "/calls") return void (ctx.body = calls);
  if (ctx.path.startsWith("/person/")) return visit(ctx);
  calls[ctx.path] = (calls[ctx.path] ?? 0) + 1;
  const forMachines = ["/token", "/request", "/me", "/jwks", "/.well-known/openid-configuration"].includes(ctx.path);
  if (play.mode === "slow" && forMachines) {
    await once(ctx.res, "close"); // the caller has given up before anything was done
    return undefined;
  }
  await next();
  if (play.mode === "slow-token" && ctx.path === "/token") await once(ctx.res, "close"); // the code is used up
  if (ctx.path === "/token" && ctx.body?.id_token) {
    if (play.mode === "no-id-token") delete ctx.body.id_token;
    if (LIES[play.mode]) ctx.body.id_token = await forged(ctx.body);
    if (play.mode === "token-array") ctx.body = [ctx.body];
  }
  if (ctx.path === "/jwks" && play.mode === "new-key") {
    const added = { ...(await jose.exportJWK(strange.publicKey)), kid: "second", alg: "ES256", use: "sig" };
    ctx.body = { keys: [...ctx.body.keys, added] };
  }
  if (ctx.path === "/me" && play.mode === "userinfo-500") ctx.status = 500;
  if (ctx.path === "/me" && play.mode === "other-sub") ctx.body = { ...ctx.body, sub: "somebody-else" };
  if (ctx.path === "/me" && play.mode === "userinfo-text") ctx.body = "not JSON";
  if (ctx.path === "/me" && play.mode === "userinfo-aud") {
    const claims = { ...jose.decodeJwt(ctx.body), aud: "another" };
    ctx.body = await new jose.SignJWT(claims).setProtectedHeader({ alg: "ES256", kid: "first" }).sign(ours.privateKey);
  }
  if (ctx.path === "/token" && play.mode === "redirect") ctx.redirect("/elsewhere");
  if (ctx.path === "/token" && play.mode === "huge") ctx.body = { access_token: "x".repeat(100_000) };
  if (ctx.path === "/.well-known/openid-configuration") {
    if (play.mode === "lying-issuer") ctx.body = { ...ctx.body, issuer: "https://evil.example" };
    if (play.mode === "lying-endpoint") ctx.body = { ...ctx.body, token_endpoint: "http://192.0.2.1/token" };
    if (play.mode === "metadata-array") ctx.body = [];
  }
});
provider.on("server_error", (ctx, error) => console.error("server_error", error));
provider.on("grant.error", (ctx, error) => console.error("grant.error", error.message, error.error_detail ?? ""));

const server = createServer(provider.callback());
const listen = () => new Promise((done) => server.listen(port, "127.0.0.1", done));
process.on("SIGUSR2", () => {
  if (!server.listening) return void listen();
  server.close();
  server.closeAllConnections();
  return undefined;
});
setInterval(() => {}, 60_000); // the process lives on while it does not listen
await listen();
console.log("ready");
