// What the rule must find, and what it must leave alone: node --test tools/eslint

import { RuleTester } from "eslint";
import test from "node:test";
import rule from "./words-only.js";

RuleTester.describe = (_, body) => body();
RuleTester.it = test;

const found = [
  'say("The mask is open")',
  "const a = `${n} tokens are left`",
  'node.textContent = "Run"',
  'node.title = on ? "open" : n',
  'el("p", { class: "gv-a" }, "Run")',
  'el("p", { "aria-label": "Run" })',
  'node.setAttribute("aria-label", "Layers")',
  'box.append("all", other)',
  'context.fillText("layer", 0, 0)',
  'node.textContent = n + " tokens"',
  'const names = ["no leak"];',
  '// not words:\nnode.textContent = "Run"',
];
const left = [
  'import { a } from "./some where.js"',
  'throw new Error("there is no such layer")',
  'el("p", { class: "gv-seg small" }, text("a.b"))',
  'node.className = "one two"',
  'box.classList.add("gv-a gv-b")',
  'box.querySelector("p span")',
  'context.font = "12px IBM Plex Sans"',
  'path.setAttribute("d", "M 0 0 L 10 10")',
  'node.textContent = text("mask.title")',
  'node.textContent = "×"',
  'if (node.title === "a word") run()',
  '"a b c".split(" ")',
  "// not words: a CSS shadow\nconst shadow = `inset ${x}px solid`",
  'const a = "two words"; // not words: a key of the old form',
  '// not words in this file: for developers\nsay("one two"); say("three four")',
];

new RuleTester({ languageOptions: { ecmaVersion: 2023, sourceType: "module" } }).run("words-only", rule, {
  valid: left,
  invalid: found.map((code) => ({ code, errors: [{ messageId: "english" }] })),
});
