import { betterAuth } from "better-auth";
import { genericOAuth } from "better-auth/plugins";

export const options = {
  baseURL: "https://shop.example",
  secret: "<32 random characters>",
  plugins: [
    genericOAuth({
      config: [
        {
          providerId: "wallet",
          clientId: "<client ID>",
          clientSecret: "<client secret>",
          discoveryUrl: "{base_url}/.well-known/openid-configuration",
          scopes: ["openid", "profile", "email"],
        },
      ],
    }),
  ],
};
export const auth = (database) => betterAuth({ ...options, database });
