import bell from "@hapi/bell";

export const install = async (server) => {
  await server.register(bell);
  server.auth.strategy("wallet", "bell", {
    provider: {
      name: "wallet",
      protocol: "oauth2",
      useParamsAuth: true,
      auth: "{base_url}/verifiable-credentials/v1/presentation/authorize",
      token: "{base_url}/oauth/v2/token",
      scope: ["openid", "profile", "email"],
      pkce: "S256",
      profile: async (credentials, _answer, get) => {
        credentials.profile = await get("{base_url}/openid-connect/userinfo");
      },
    },
    clientId: "<client ID>",
    clientSecret: "<client secret>",
    password: "<32 random characters>",
    location: "https://shop.example",
    isSecure: "https://shop.example".startsWith("https:"),
  });
};
