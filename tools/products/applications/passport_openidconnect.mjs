import passport from "passport";
import { app, serve } from "./express.mjs";
import "./settings.mjs";

passport.serializeUser((user, done) => done(null, user));
passport.deserializeUser((user, done) => done(null, user));
app.use(passport.session());
app.get("/login", passport.authenticate("openidconnect"));
app.get("/callback", passport.authenticate("openidconnect", { successRedirect: "/me" }));
app.get("/me", (request, response) => response.json(request.user ?? null));
serve();
