import grant from "grant";

export const install = (app) =>
  app.use(
    grant.express({
      defaults: { origin: "https://shop.example", transport: "session", state: true, nonce: true },
      wallet: {
        oauth: 2,
        authorize_url: "{base_url}/verifiable-credentials/v1/presentation/authorize",
        access_url: "{base_url}/oauth/v2/token",
        profile_url: "{base_url}/openid-connect/userinfo",
        key: "<client ID>",
        secret: "<client secret>",
        scope: ["openid", "profile", "email"],
        scope_delimiter: " ",
        // for PKCE
        pkce: true,
        response: ["tokens", "jwt", "profile"],
        callback: "/me",
      },
    }),
  );
