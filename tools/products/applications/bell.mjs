import Hapi from "@hapi/hapi";
import { install } from "./settings.mjs";

const server = Hapi.server({ port: process.env.PORT, host: "127.0.0.1" });
await install(server);
server.route({
  method: ["GET", "POST"],
  path: "/login",
  options: { auth: "wallet" },
  handler: (request) => request.auth.credentials.profile,
});
await server.start();
