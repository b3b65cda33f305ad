import passport from "passport";
import { Strategy } from "passport-openidconnect";

passport.use(
  new Strategy(
    {
      issuer: "{base_url}",
      authorizationURL: "{base_url}/verifiable-credentials/v1/presentation/authorize",
      tokenURL: "{base_url}/oauth/v2/token",
      userInfoURL: "{base_url}/openid-connect/userinfo",
      clientID: "<client ID>",
      clientSecret: "<client secret>",
      callbackURL: "https://shop.example/callback",
      scope: "profile email",
      nonce: true,
    },
    (issuer, profile, done) => done(null, profile),
  ),
);
