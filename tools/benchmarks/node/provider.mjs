// An OpenID provider made with oidc-provider, as it would be deployed behind a proxy, with its state in PostgreSQL.
// Arguments: the number of an open file that listens, the issuer, the folder of PostgreSQL's socket, the name of the
// database, the client's ID and its redirect URI. It prints "ready" when it listens.
// `login_hint` signs a browser in that has no session; everything else asks for consent on a page with a form.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { Provider } from "oidc-provider";
import pg from "pg";
import { adapterOn } from "./adapter.mjs";

const [descriptor, issuer, host, database, clientId, redirectUri] = process.argv.slice(2);
const HOUR = 3600;

const pool = new pg.Pool({ host, database, user: "postgres" });
const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });

const provider = new Provider(issuer, {
  adapter: await adapterOn(pool),
  clients: [
    {
      client_id: clientId,
      client_name: "Acme Bank",
      client_secret: randomBytes(32).toString("base64url"),
      redirect_uris: [redirectUri],
      response_types: ["code"],
      grant_types: ["authorization_code"],
      id_token_signed_response_alg: "ES256",
    },
  ],
  jwks: { keys: [{ ...key, kid: "first", alg: "ES256", use: "sig" }] },
  claims: { openid: ["sub"], profile: ["given_name", "family_name", "birthdate"] },
  features: { devInteractions: { enabled: false } },
  pkce: { required: () => true },
  cookies: { keys: [randomBytes(32).toString("base64url")] },
  interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  ttl: { Interaction: HOUR, Session: 24 * HOUR, Grant: 24 * HOUR, AccessToken: HOUR, IdToken: HOUR, AuthorizationCode: 60 },
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
});
provider.proxy = true;

const ESCAPED = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text) => text.replace(/[&<>"]/g, (character) => ESCAPED[character]);

function page(name, uid, scopes) {
  const asked = scopes.map((scope) => `<li>${escaped(scope)}</li>`).join("");
  return `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Share with ${escaped(name)}?</title></head>
<body>
<main>
<h1>Share with ${escaped(name)}?</h1>
<ul>${asked}</ul>
<form method="post" action="/interaction/${uid}/confirm"><button name="allow" value="yes">Share</button></form>
<p><a href="/interaction/${uid}/abort">Do not share</a></p>
</main>
</body>
</html>
`;
}

async function confirmed({ grantId, session, params, prompt }) {
  const known = grantId && (await provider.Grant.find(grantId));
  const grant = known || new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope((prompt.details.missingOIDCScope ?? []).join(" "));
  const saved = await grant.save();
  return { consent: grantId ? {} : { grantId: saved } };
}

async function visited(ctx, action) {
  const interaction = await provider.interactionDetails(ctx.req, ctx.res);
  const finish = (result) => provider.interactionFinished(ctx.req, ctx.res, result);
  if (action === "abort") return finish({ error: "access_denied", error_description: "the person said no" });
  if (interaction.prompt.name === "login") {
    const { login_hint: accountId } = interaction.params;
    return accountId ? finish({ login: { accountId } }) : ctx.throw(403, "nobody is signed in");
  }
  if (action === "confirm" && ctx.method === "POST") return finish(await confirmed(interaction));
  const client = await provider.Client.find(interaction.params.client_id);
  ctx.set("Cache-Control", "no-store");
  ctx.type = "html";
  ctx.body = page(client.clientName, interaction.uid, interaction.params.scope.split(" "));
  return undefined;
}

provider.use((ctx, next) => {
  const [, place, , action] = ctx.path.split("/");
  return place === "interaction" ? visited(ctx, action) : next();
});
provider.on("server_error", (ctx, error) => console.error("server_error", error));

createServer(provider.callback()).listen({ fd: Number(descriptor) }, () => console.log("ready"));
