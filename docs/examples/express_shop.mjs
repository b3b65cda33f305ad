// A shop with Express: begin as docs/integrate.md says, then npm install express; node express_shop.mjs
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { CALLBACK, Denied, openPending, Rejected, sealPending, stateOf, Unavailable, Wallet } from "credential-presentation";
import express from "express";

const { WALLET_URL = "http://localhost:8000", WALLET_ROOT = "root.pem" } = process.env;
const { SECRET_KEY, CLIENT_ID, CLIENT_SECRET: secret, SHOP_URL = "http://127.0.0.1:5000" } = process.env;
const root = readFileSync(WALLET_ROOT, "utf8"); // the certificate's file, from the operator
const wallet = new Wallet(WALLET_URL, CLIENT_ID, `${SHOP_URL}/callback`, { root, secret });
const results = new Map(); // by cookie, on the server; in production a table
const safe = { httpOnly: true, sameSite: "lax", secure: SHOP_URL.startsWith("https:") };
const app = express();
const POLICY = "default-src 'none'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
  + "; require-trusted-types-for 'script'";
const cookieOf = (request, name) => new RegExp(`(?:^|; )${name}=([\\w-]+)`).exec(request.headers.cookie ?? "")?.[1];

app.use((_request, response, next) => {
  response.set({ "Content-Security-Policy": POLICY, "Referrer-Policy": "same-origin", "Cache-Control": "no-store" });
  next();
});

const HOME = '<!doctype html><html lang="en"><title>Shop</title><main><a href="/start">Prove your age</a>'
  + ' <a href="/pay">Pay for green tea</a></main>';
const items = [{ quantity: 1, unit_cost: 12.5, label: "Green tea" }], payload = { currency: "EUR", items };
const type = "urn:service:params:vc:transaction-data:payment-itemized:v1", credential_ids = ["basic"];
app.get("/", (_request, response) => response.send(HOME));
const begin = (transactionData) => async (_request, response) => {
  const { url, pending } = await wallet.request({ login_hint: "sam@example.org", transactionData });
  const cookie = { ...safe, path: "/callback", maxAge: 7_200_000 }; // one for each tab; the key has 32 characters or more
  response.cookie(`wallet-${pending.state}`, sealPending(pending, SECRET_KEY), cookie).redirect(303, url);
};
app.get("/start", begin([]));
app.get("/pay", begin({ type, credential_ids, payload }));
app.get("/callback", (_request, response) => response.sendFile("callback.html", { root: CALLBACK }));
app.get("/callback.js", (_request, response) => response.sendFile("callback.js", { root: CALLBACK }));
app.get("/result", (request, response) => {
  response.type("text").send(results.get(cookieOf(request, "result")) ?? "Start again.");
});

app.post("/callback", express.urlencoded({ extended: false }), async (request, response) => {
  const name = `wallet-${stateOf(request.body)}`, kept = /^wallet-[\w-]+$/.test(name) && cookieOf(request, name);
  if (!kept) return response.status(400).type("text").send("Please start again.");
  const pending = openPending(kept, SECRET_KEY), { claims } = await wallet.finish(pending, request.body);
  const paid = pending.transactionDataHashes.length > 0 ? " Your tea is paid for." : "";
  const welcome = `Welcome, ${claims.given_name || claims.family_name}!${paid}`, number = randomBytes(32).toString("hex");
  results.set(number, claims.age_equal_or_over["18"] ? welcome : "You are too young.");
  response.clearCookie(name, { path: "/callback" }); // if the service was unavailable, it stays for a reload
  response.cookie("result", number, safe).redirect(303, "/result");
});
app.use((error, _request, response, next) => {
  if (error instanceof Denied) return response.type("text").send("You were not let in.");
  if (error instanceof Rejected) return response.status(400).type("text").send("We cannot accept this answer.");
  if (error instanceof Unavailable) return response.status(503).type("text").send("Please reload this page in a minute.");
  return next(error);
});
app.listen(new URL(SHOP_URL).port, "127.0.0.1");
