// An Express application around the settings of one product, which it serves on a port of loopback.
import express from "express";
import session from "express-session";

export const { PORT, URL: SHOP } = process.env;
export const app = express();
app.use(session({ secret: "s".repeat(32), resave: false, saveUninitialized: true }));

export const serve = () => {
  app.use((error, _request, response, _next) => {
    console.error(error);
    response.status(error.status ?? 500).json({ error: error.error ?? error.name, message: error.message });
  });
  app.listen(Number(PORT), "127.0.0.1");
};
