import Fastify from "fastify";
import { install } from "./settings.mjs";

const server = Fastify();
await install(server);
server.get("/callback", async (request) => {
  const { token } = await server.wallet.getAccessTokenFromAuthorizationCodeFlow(request);
  return server.wallet.userinfo(token.access_token);
});
await server.listen({ port: Number(process.env.PORT), host: "127.0.0.1" });
