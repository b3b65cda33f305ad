import { memoryAdapter } from "better-auth/adapters/memory";
import { fromNodeHeaders, toNodeHandler } from "better-auth/node";
import { app, serve, SHOP } from "./express.mjs";
import { auth as connect } from "./settings.mjs";

const auth = connect(memoryAdapter({ user: [], session: [], account: [], verification: [] }));
// What the product's library in the browser does when the person presses the button.
app.get("/login", async (_request, response) => {
  const body = { provider: "wallet", callbackURL: `${SHOP}/me`, errorCallbackURL: `${SHOP}/failed` };
  const begun = await auth.api.signInSocial({ body, asResponse: true });
  for (const cookie of begun.headers.getSetCookie()) response.append("set-cookie", cookie);
  response.redirect((await begun.json()).url);
});
app.get("/me", async (request, response) =>
  response.json(await auth.api.getSession({ headers: fromNodeHeaders(request.headers) })),
);
app.get("/failed", (request, response) => response.status(403).json(request.query));
app.all("/api/auth/*splat", toNodeHandler(auth));
serve();
