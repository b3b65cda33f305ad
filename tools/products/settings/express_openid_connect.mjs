import openidConnect from "express-openid-connect";

export const install = (app) => {
  app.use(
    openidConnect.auth({
      issuerBaseURL: "{base_url}",
      baseURL: "https://shop.example",
      clientID: "<client ID>",
      clientSecret: "<client secret>",
      secret: "<32 random characters>",
      authRequired: false,
      authorizationParams: { response_type: "code", scope: "openid profile email" },
      // for ES256
      idTokenSigningAlg: "ES256",
    }),
  );
  app.get("/me", openidConnect.requiresAuth(), (request, response) => response.json(request.oidc.user));
};
