export const config = {
  secret: "<32 random characters>",
  providers: [
    {
      id: "wallet",
      name: "Wallet",
      type: "oauth",
      wellKnown: "{base_url}/.well-known/openid-configuration",
      clientId: "<client ID>",
      clientSecret: "<client secret>",
      authorization: { params: { scope: "openid profile email" } },
      idToken: true,
      checks: ["pkce", "state"],
      // for ES256
      client: { id_token_signed_response_alg: "ES256" },
      profile: (claims) => ({ id: claims.sub, name: claims.name, email: claims.email }),
    },
  ],
};
