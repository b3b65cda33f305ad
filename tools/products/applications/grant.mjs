import { app, serve } from "./express.mjs";
import { install } from "./settings.mjs";

install(app);
app.get("/me", (request, response) => response.json(request.session.grant?.response ?? null));
serve();
