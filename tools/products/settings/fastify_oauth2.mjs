import oauth2 from "@fastify/oauth2";

export const install = (server) =>
  server.register(oauth2, {
    name: "wallet",
    credentials: { client: { id: "<client ID>", secret: "<client secret>" } },
    scope: ["openid", "profile", "email"],
    startRedirectPath: "/login",
    callbackUri: "https://shop.example/callback",
    discovery: { issuer: "{base_url}" },
  });
