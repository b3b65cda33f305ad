// A shop with Hono: begin as docs/integrate.md says, then npm install hono @hono/node-server; node hono_shop.mjs
import { readFileSync } from "node:fs";
import { serve } from "@hono/node-server";
import { CALLBACK, Denied, openPending, Rejected, sealPending, stateOf, Unavailable, Wallet } from "credential-presentation";
import { Hono } from "hono";
import { deleteCookie, getCookie, getSignedCookie, setCookie, setSignedCookie } from "hono/cookie";

const { WALLET_URL = "http://localhost:8000", WALLET_ROOT = "root.pem" } = process.env;
const { SECRET_KEY, CLIENT_ID, CLIENT_SECRET: secret, SHOP_URL = "http://127.0.0.1:5000" } = process.env;
const root = readFileSync(WALLET_ROOT, "utf8"); // the certificate's file, from the operator
const wallet = new Wallet(WALLET_URL, CLIENT_ID, `${SHOP_URL}/callback`, { root, secret });
const safe = { path: "/", httpOnly: true, sameSite: "Lax", secure: SHOP_URL.startsWith("https:") };
const POLICY = "default-src 'none'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
  + "; require-trusted-types-for 'script'";
const HOME = '<!doctype html><html lang="en"><title>Shop</title><main><a href="/start">Prove your age</a>'
  + ' <a href="/pay">Pay for green tea</a></main>';
const items = [{ quantity: 1, unit_cost: 12.5, label: "Green tea" }], payload = { currency: "EUR", items };
const type = "urn:service:params:vc:transaction-data:payment-itemized:v1", credential_ids = ["basic"];
const page = readFileSync(`${CALLBACK}/callback.html`, "utf8"), script = readFileSync(`${CALLBACK}/callback.js`, "utf8");
const app = new Hono();

app.use(async (context, next) => {
  await next();
  context.header("Content-Security-Policy", POLICY);
  context.header("Referrer-Policy", "same-origin");
  context.header("Cache-Control", "no-store");
});

const begin = (transactionData) => async (context) => {
  const { url, pending } = await wallet.request({ login_hint: "sam@example.org", transactionData });
  const cookie = { ...safe, path: "/callback", maxAge: 7200 }; // one for each tab; the key has 32 characters or more
  setCookie(context, `wallet-${pending.state}`, sealPending(pending, SECRET_KEY), cookie);
  return context.redirect(url, 303);
};
app.get("/", (context) => context.html(HOME));
app.get("/start", begin([]));
app.get("/pay", begin({ type, credential_ids, payload }));
app.get("/callback", (context) => context.html(page));
app.get("/callback.js", (context) => context.body(script, 200, { "Content-Type": "text/javascript" }));
app.get("/result", async (context) => context.text((await getSignedCookie(context, SECRET_KEY, "result")) || "Start again."));

app.post("/callback", async (context) => {
  const form = await context.req.formData(), name = `wallet-${stateOf(form)}`, kept = getCookie(context)[name];
  if (!kept) return context.text("Please start again.", 400);
  const pending = openPending(kept, SECRET_KEY), { claims } = await wallet.finish(pending, form);
  const paid = pending.transactionDataHashes.length > 0 ? " Your tea is paid for." : "";
  const welcome = `Welcome, ${claims.given_name || claims.family_name}!${paid}`;
  await setSignedCookie(context, "result", claims.age_equal_or_over["18"] ? welcome : "You are too young.", SECRET_KEY, safe);
  deleteCookie(context, name, { path: "/callback" }); // if the service was unavailable, it stays for a reload
  return context.redirect("/result", 303);
});
app.onError((error, context) => {
  if (error instanceof Denied) return context.text("You were not let in.");
  if (error instanceof Rejected) return context.text("We cannot accept this answer.", 400);
  if (error instanceof Unavailable) return context.text("Please reload this page in a minute.", 503);
  throw error;
});
serve({ fetch: app.fetch, port: new URL(SHOP_URL).port, hostname: "127.0.0.1" });
