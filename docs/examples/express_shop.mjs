// A shop with Express: begin as docs/integrate.md says, then npm install express; node express_shop.mjs
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { CALLBACK, Denied, Rejected, stateOf, Unavailable, Wallet } from "credential-presentation";
import express from "express";

const { WALLET_URL = "http://localhost:8000", WALLET_ROOT = "root.pem" } = process.env;
const { CLIENT_ID, CLIENT_SECRET: secret, SHOP_URL = "http://127.0.0.1:5000" } = process.env;
const root = readFileSync(WALLET_ROOT, "utf8"); // the certificate's file, from the operator
const wallet = new Wallet(WALLET_URL, CLIENT_ID, `${SHOP_URL}/callback`, { root, secret });
const waiting = new Map(), results = new Map(); // by session, on the server; in production a table
const app = express();
const POLICY = "default-src 'none'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const sessionOf = (request) => /(?:^|; )session=([\w-]+)/.exec(request.headers.cookie ?? "")?.[1];

app.use((_request, response, next) => {
  response.set("Content-Security-Policy", `${POLICY}; require-trusted-types-for 'script'`);
  response.set("Referrer-Policy", "same-origin");
  response.set("Cache-Control", "no-store");
  next();
});

app.get("/", (_request, response) => {
  response.send('<!doctype html><html lang="en"><title>Shop</title><main><a href="/start">Prove your age</a></main>');
});

app.get("/start", async (request, response) => {
  const { url, pending } = await wallet.request({ scope: "basic", login_hint: "sam@example.org" });
  const session = sessionOf(request) ?? randomBytes(32).toString("base64url");
  waiting.set(`${session} ${pending.state}`, pending); // one for each tab
  response.cookie("session", session, { httpOnly: true, sameSite: "lax", secure: SHOP_URL.startsWith("https:") });
  response.redirect(303, url);
});

app.get("/callback", (_request, response) => response.sendFile("callback.html", { root: CALLBACK }));
app.get("/callback.js", (_request, response) => response.sendFile("callback.js", { root: CALLBACK }));
app.get("/result", (request, response) => response.type("text").send(results.get(sessionOf(request)) ?? "Start again."));

app.post("/callback", express.urlencoded({ extended: false }), async (request, response) => {
  const session = sessionOf(request), name = `${session} ${stateOf(request.body)}`, pending = waiting.get(name);
  waiting.delete(name); // each request is used once
  if (!pending) return response.status(400).type("text").send("Please start again.");
  const { claims } = await wallet.finish(pending, request.body).catch((error) => {
    if (error instanceof Unavailable) waiting.set(name, pending); // a reload verifies the same answer again
    throw error;
  });
  results.set(session, claims.age_equal_or_over["18"] ? `Welcome, ${claims.given_name}!` : "You are too young.");
  response.redirect(303, "/result");
});

app.use((error, _request, response, next) => {
  if (error instanceof Denied) return response.type("text").send("You were not let in.");
  if (error instanceof Rejected) return response.status(400).type("text").send("We cannot accept this answer.");
  if (error instanceof Unavailable) return response.status(503).type("text").send("Please reload this page in a minute.");
  return next(error);
});
app.listen(new URL(SHOP_URL).port, "127.0.0.1");
