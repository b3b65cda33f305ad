// A shop with Express: begin as docs/integrate.md says, then npm install express; node express_shop.mjs
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { CALLBACK, Denied, Rejected, stateOf, Unavailable, Wallet } from "credential-presentation";
import express from "express";

const { WALLET_URL = "http://localhost:8000", WALLET_ROOT = "root.pem" } = process.env;
const { CLIENT_ID, CLIENT_SECRET: secret, SHOP_URL = "http://127.0.0.1:5000" } = process.env;
const root = readFileSync(WALLET_ROOT, "utf8"); // the certificate's file, from the operator
const wallet = new Wallet(WALLET_URL, CLIENT_ID, `${SHOP_URL}/callback`, { root, secret });
const waiting = new Map(), results = new Map(); // by cookie, on the server; in production a table
const app = express();
const POLICY = "default-src 'none'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
  + "; require-trusted-types-for 'script'";
const cookieOf = (request, name) => new RegExp(`(?:^|; )${name}=([\\w-]+)`).exec(request.headers.cookie ?? "")?.[1];
const newCookie = (response, name) => {
  const value = randomBytes(32).toString("base64url");
  response.cookie(name, value, { httpOnly: true, sameSite: "lax", secure: SHOP_URL.startsWith("https:") });
  return value;
};

app.use((_request, response, next) => {
  response.set({ "Content-Security-Policy": POLICY, "Referrer-Policy": "same-origin", "Cache-Control": "no-store" });
  next();
});

const HOME = '<!doctype html><html lang="en"><title>Shop</title><main><a href="/start">Prove your age</a></main>';
app.get("/", (_request, response) => response.send(HOME));
app.get("/start", async (request, response) => {
  const { url, pending } = await wallet.request({ scope: "basic", login_hint: "sam@example.org" });
  const session = cookieOf(request, "session") ?? newCookie(response, "session");
  waiting.set(`${session} ${pending.state}`, pending); // one for each tab
  response.redirect(303, url);
});
app.get("/callback", (_request, response) => response.sendFile("callback.html", { root: CALLBACK }));
app.get("/callback.js", (_request, response) => response.sendFile("callback.js", { root: CALLBACK }));
app.get("/result", (request, response) => {
  response.type("text").send(results.get(cookieOf(request, "result")) ?? "Start again.");
});

app.post("/callback", express.urlencoded({ extended: false }), async (request, response) => {
  const session = cookieOf(request, "session"), name = `${session} ${stateOf(request.body)}`;
  const pending = session && waiting.get(name);
  waiting.delete(name); // each request is used once
  if (!pending) return response.status(400).type("text").send("Please start again.");
  const { claims } = await wallet.finish(pending, request.body).catch((error) => {
    if (error instanceof Unavailable) waiting.set(name, pending); // a reload verifies the same answer again
    throw error;
  });
  const welcome = `Welcome, ${claims.given_name || claims.family_name}!`;
  results.set(newCookie(response, "result"), claims.age_equal_or_over["18"] ? welcome : "You are too young.");
  response.redirect(303, "/result");
});
app.use((error, _request, response, next) => {
  if (error instanceof Denied) return response.type("text").send("You were not let in.");
  if (error instanceof Rejected) return response.status(400).type("text").send("We cannot accept this answer.");
  if (error instanceof Unavailable) return response.status(503).type("text").send("Please reload this page in a minute.");
  return next(error);
});
app.listen(new URL(SHOP_URL).port, "127.0.0.1");
