// A wallet made of others' libraries shows a PID: given {"link", "origin", "server", "authority", "issuer", "claims",
// "plain", "how"} on standard input, @openid4vc/openid4vp fetches the request behind `link`, verifies it against the
// certificate `authority` and answers it with a PID that @sd-jwt/sd-jwt-vc issues with `issuer` and presents. It prints
// what the service replied. `how` says how the wallet behaves. The service's `origin` is reached at `server`.
import { X509Certificate, createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { Openid4vpClient } from "@openid4vc/openid4vp";
import { ES256, digest, generateSalt } from "@sd-jwt/crypto-nodejs";
import { SDJwtVcInstance } from "@sd-jwt/sd-jwt-vc";
import { CompactEncrypt, decodeProtectedHeader, importJWK, jwtVerify } from "jose";

const { link, origin, server, authority, issuer, claims, plain, how } = JSON.parse(readFileSync(0, "utf8"));
const calls = [];

function call(url, options = {}) {
  calls.push(`${(options.method ?? "GET").toUpperCase()} ${new URL(url).pathname.split("/").at(-2)}`);
  return fetch(String(url).replace(origin, server), { ...options, redirect: "manual" });
}

function x509Names(certificate) {
  const names = new X509Certificate(Buffer.from(certificate, "base64")).subjectAltName ?? "";
  const dns = names.split(", ").filter((name) => name.startsWith("DNS:"));
  return { sanDnsNames: dns.map((name) => name.slice(4)), sanUriNames: [] };
}

async function verifyJwt(signer, { compact }) {
  const leaf = new X509Certificate(Buffer.from(signer.x5c[0], "base64"));
  if (!leaf.verify(new X509Certificate(authority).publicKey)) return { verified: false };
  await jwtVerify(compact, leaf.publicKey, { typ: "oauth-authz-req+jwt" });
  return { verified: true, signerJwk: leaf.publicKey.export({ format: "jwk" }) };
}

async function encryptJwe(encryptor, payload) {
  const { alg, enc, apu, apv, publicJwk } = encryptor;
  const header = { alg, enc: how === "A256GCM" ? how : enc, kid: publicJwk.kid };
  const parties = { ...(apu && { apu }), ...(apv && { apv }) };
  const encrypting = new CompactEncrypt(new TextEncoder().encode(payload));
  const key = await importJWK(publicJwk, alg);
  const jwe = await encrypting.setProtectedHeader({ ...header, ...parties }).encrypt(key);
  return { jwe, encryptionJwk: publicJwk };
}

const client = new Openid4vpClient({
  callbacks: {
    fetch: call,
    hash: (data, algorithm) => createHash(algorithm.replace("-", "")).update(data).digest(),
    generateRandom: (length) => randomBytes(length),
    getX509CertificateMetadata: x509Names,
    verifyJwt,
    encryptJwe,
  },
});

const metadata = { vp_formats_supported: { "dc+sd-jwt": { "sd-jwt_alg_values": ["ES256"] } } };
const parsed = client.parseOpenid4vpAuthorizationRequest({ authorizationRequest: link });
const resolved = await client.resolveOpenId4vpAuthorizationRequest({
  authorizationRequestPayload: how === "GET" ? { ...parsed.params, request_uri_method: undefined } : parsed.params,
  ...(how !== "GET" && { wallet: { metadata, nonce: randomBytes(16).toString("base64url") } }),
});
const request = resolved.authorizationRequestPayload;

async function presentation() {
  const holder = await ES256.generateKeyPair();
  const now = Math.floor(Date.now() / 1000);
  const instance = new SDJwtVcInstance({
    signer: await ES256.getSigner(issuer.key),
    signAlg: "ES256",
    hasher: digest,
    hashAlg: "sha-256",
    saltGenerator: generateSalt,
    kbSigner: await ES256.getSigner(holder.privateKey),
    kbSignAlg: "ES256",
  });
  const payload = { vct: "urn:eudi:pid:1", iat: now, exp: now + 86400, cnf: { jwk: holder.publicKey }, ...plain, ...claims };
  const withheld = { _sd: Object.keys(claims), nationalities: { _sd: claims.nationalities.map((_, index) => index) } };
  const header = { x5c: issuer.x5c, typ: "dc+sd-jwt" };
  const pid = await instance.issue(payload, withheld, { header });
  const shown = Object.fromEntries(Object.keys(claims).map((name) => [name, true]));
  shown.nationalities = Object.fromEntries(claims.nationalities.map((_, index) => [index, true]));
  if (how === "fewer claims") shown.birthdate = false;
  const aud = how === "another audience" ? "x509_hash:else" : request.client_id;
  const nonce = how === "another nonce" ? "else" : request.nonce;
  return instance.present(pid, shown, { kb: { payload: { iat: now, aud, nonce } } });
}

async function refusal() {
  const body = new URLSearchParams({ error: "access_denied", state: request.state });
  return call(request.response_uri, { method: "POST", body });
}

async function answer() {
  const [credential] = request.dcql_query.credentials;
  const { authorizationResponsePayload, jarm } = await client.createOpenid4vpAuthorizationResponse({
    authorizationRequestPayload: request,
    authorizationResponsePayload: { vp_token: { [credential.id]: [await presentation()] } },
    jarm: {
      encryption: { nonce: randomBytes(16).toString("base64url") },
      serverMetadata: {
        authorization_signing_alg_values_supported: [],
        authorization_encryption_alg_values_supported: ["ECDH-ES"],
        authorization_encryption_enc_values_supported: ["A128GCM", "A256GCM"],
      },
    },
  });
  const sent = { authorizationRequestPayload: request, authorizationResponsePayload, jarm };
  const { response } = await client.submitOpenid4vpAuthorizationResponse(sent);
  return { response, enc: decodeProtectedHeader(jarm.responseJwt).enc };
}

const { response, enc } = how === "stopped" ? { response: await refusal() } : await answer();
console.log(
  JSON.stringify({
    version: resolved.version,
    prefix: resolved.client.prefix,
    status: response.status,
    body: await response.clone().json(),
    enc,
    calls,
  }),
);
