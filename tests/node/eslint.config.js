// Rules for the JavaScript and CSS of the pages and for the scripts of the tests. `make lint` runs ESLint from the top
// of the repository with this file, because the packages that it imports are installed in this directory.

import css from "@eslint/css";
import js from "@eslint/js";
import globals from "globals";

const MODULES = ["sandbox/static/**/*.js"]; // loaded with <script type="module">
const SCRIPTS = ["config/static/**/*.js"]; // loaded with <script defer>
const SCRIPTS_OF_CLIENTS = ["clients/**/callback/*.js"]; // for the pages of relying applications
const NODE = ["{tests,clients/tests}/**/*.mjs", "tests/node/*.js", "clients/node/*.js", "docs/examples/*.mjs"];

export default [
  { ignores: ["var/", "**/node_modules/", "test-artifacts/", ".venv/"] },
  {
    files: [...MODULES, ...SCRIPTS, ...SCRIPTS_OF_CLIENTS, ...NODE],
    ...js.configs.recommended,
    linterOptions: { reportUnusedDisableDirectives: "error", reportUnusedInlineConfigs: "error" },
    rules: {
      ...js.configs.recommended.rules,
      eqeqeq: "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-script-url": "error",
      "no-shadow": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", ignoreRestSiblings: true }], // `{ a, ...others }` leaves `a` out
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  { files: MODULES, languageOptions: { sourceType: "module", globals: globals.browser } },
  { files: [...SCRIPTS, ...SCRIPTS_OF_CLIENTS], languageOptions: { sourceType: "script", globals: globals.browser } },
  { files: NODE, languageOptions: { sourceType: "module", globals: globals.node } },
  {
    files: ["**/*.css"],
    plugins: { css },
    language: "css/css",
    rules: {
      ...css.configs.recommended.rules,
      // Variables come from style.css and from the admin of Django.
      "css/no-invalid-properties": ["error", { allowUnknownVariables: true }],
      // A browser that does not know these shows the page all the same, only less neatly.
      "css/use-baseline": [
        "error",
        {
          allowAtRules: ["property"],
          allowProperties: [
            "accent-color",
            "content-visibility",
            "paint-order",
            "text-size-adjust",
            "text-wrap",
            "user-select",
          ],
          allowSelectors: ["details-content"],
        },
      ],
    },
  },
];
