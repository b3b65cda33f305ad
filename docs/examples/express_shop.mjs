// A shop with Express: npm install express, begin as docs/integrate.md says, and run this file.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { CALLBACK, Denied, Rejected, Unavailable, Wallet } from "credential-presentation";
import express from "express";

const { WALLET_URL = "http://localhost:8000", WALLET_ROOT = "root.pem" } = process.env;
const { CLIENT_ID, CLIENT_SECRET: secret, SHOP_URL = "http://127.0.0.1:5000" } = process.env;
const root = readFileSync(WALLET_ROOT, "utf8"); // the certificate's file, from the operator
const wallet = new Wallet(WALLET_URL, CLIENT_ID, `${SHOP_URL}/callback`, { root, secret });
const sessions = new Map(); // on the server; in production a table
const app = express();
const POLICY = "default-src 'none'; script-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

app.use((_request, response, next) => {
  response.set("Content-Security-Policy", `${POLICY}; require-trusted-types-for 'script'`);
  response.set("Referrer-Policy", "same-origin");
  response.set("Cache-Control", "no-store");
  next();
});

app.get("/", (_request, response) => {
  response.send('<!doctype html><html lang="en"><title>Shop</title><main><a href="/start">Prove your age</a></main>');
});

app.get("/start", async (_request, response) => {
  const { url, pending } = await wallet.request({ scope: "basic", login_hint: "sam@example.org" });
  const session = randomBytes(32).toString("base64url");
  sessions.set(session, pending);
  response.cookie("session", session, { httpOnly: true, sameSite: "lax", secure: SHOP_URL.startsWith("https:") });
  response.redirect(303, url);
});

app.get("/callback", (_request, response) => response.sendFile("callback.html", { root: CALLBACK }));
app.get("/callback.js", (_request, response) => response.sendFile("callback.js", { root: CALLBACK }));

app.post("/callback", express.urlencoded({ extended: false }), async (request, response) => {
  const session = /(?:^|; )session=([\w-]+)/.exec(request.headers.cookie ?? "")?.[1], pending = sessions.get(session);
  sessions.delete(session); // each request is used once
  response.type("text/plain");
  if (!pending) return response.status(400).send("Please start again.");
  try {
    const { claims } = await wallet.finish(pending, request.body);
    const ofAge = claims.age_equal_or_over["18"];
    return response.send(ofAge ? `Welcome, ${claims.given_name}!` : "You are too young.");
  } catch (error) {
    if (error instanceof Denied) return response.send("You were not let in.");
    if (error instanceof Rejected) return response.status(400).send("We cannot accept this answer.");
    if (error instanceof Unavailable) return response.status(503).send("We cannot check this now. Please start again.");
    throw error;
  }
});

app.listen(new URL(SHOP_URL).port, "127.0.0.1");
