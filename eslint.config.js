// Rules for the scripts of the pages (gptviz/widgets/kit, gptviz/widgets/<page>) and for their tools.

import js from "@eslint/js";
import globals from "globals";
import wordsOnly from "./tools/eslint/words-only.js";

const NEVER_HTML = ["innerHTML", "outerHTML", "insertAdjacentHTML", "setHTMLUnsafe", "createContextualFragment"].map(
  (property) => ({
    property,
    message: "What a user typed must never become HTML: use textContent, append() or phrase().",
  }),
);
const OURS = ["gptviz/widgets/*/**/*.js"];

export default [
  {
    ignores: [
      "**/*",
      "!gptviz/",
      "!gptviz/widgets/",
      "!gptviz/widgets/*/",
      "!gptviz/widgets/*/**",
      "!tools/",
      "!tools/eslint/",
    ].concat("!tools/eslint/**", "!eslint.config.js"),
  },
  js.configs.recommended,
  {
    files: ["**/*.js"],
    rules: {
      "no-unused-vars": "error",
      eqeqeq: "error",
      "prefer-const": "error",
      "no-var": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "max-len": ["error", { code: 120, ignoreUrls: true }],
      "max-lines": ["error", 350],
      "max-lines-per-function": ["error", { max: 80 }],
      complexity: ["error", 15],
      "no-restricted-properties": ["error", ...NEVER_HTML],
    },
  },
  {
    files: OURS,
    languageOptions: { globals: globals.browser },
    plugins: { gptviz: { rules: { "words-only": wordsOnly } } },
    rules: { "gptviz/words-only": "error" },
  },
  { files: ["eslint.config.js", "tools/eslint/**/*.js"], languageOptions: { globals: globals.node } },
];
