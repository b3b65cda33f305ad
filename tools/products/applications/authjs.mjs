import { getSession } from "@auth/express";
import { app, serve } from "./express.mjs";
import { config, install } from "./settings.mjs";

install(app);
app.get("/me", async (request, response) => response.json(await getSession(request, config)));
serve();
