import { app, serve } from "./express.mjs";
import { install } from "./settings.mjs";

install(app);
serve();
