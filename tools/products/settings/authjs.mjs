import { ExpressAuth } from "@auth/express";

export const config = {
  trustHost: true,
  secret: "<32 random characters>",
  providers: [
    {
      id: "wallet",
      name: "Wallet",
      type: "oidc",
      issuer: "{base_url}",
      clientId: "<client ID>",
      clientSecret: "<client secret>",
    },
  ],
};

export const install = (app) => app.use("/auth", ExpressAuth(config));
