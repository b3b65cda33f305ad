// NextAuth is made for Next.js, whose request has `query` and `cookies`; this gives it the same in Express.
import express from "express";
import nextAuth from "next-auth";
import { app, serve, SHOP } from "./express.mjs";
import { config } from "./settings.mjs";

process.env.NEXTAUTH_URL = SHOP;
app.use(express.urlencoded({ extended: true }));
app.use("/api/auth", (request, response) => {
  const steps = { ...request.query, nextauth: request.path.split("/").filter(Boolean) };
  Object.defineProperty(request, "query", { value: steps });
  const cookies = (request.headers.cookie ?? "").split("; ").map((pair) => pair.split(/=(.*)/s).slice(0, 2));
  request.cookies = Object.fromEntries(cookies.map(([name, value = ""]) => [name, decodeURIComponent(value)]));
  return (nextAuth.default ?? nextAuth)(request, response, config);
});
app.get("/", (_request, response) => response.redirect("/api/auth/session"));
serve();
