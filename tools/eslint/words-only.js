// An ESLint rule: what a visitor reads comes from the words (kit/words.js), so no English may stand in a script.
//
// Two signs of it: letters, a blank and letters in any string (a sentence), and a word of two letters or more where
// text is put on the page (el()'s children, textContent, append(), title, aria-label …). What only looks like it says
// so in a comment on that line or the one before, `// not words: a CSS shadow`, or for all of a file,
// `// not words in this file: …`. What is thrown is for who writes the code and is left alone.

const SENTENCE = /\p{L}[\p{L}’']*[,;:.]?\s+\p{L}/u;
const WORD = /\p{L}{2,}/u;
const CLASSES = /^\s*(?:[\w]*-[\w-]*\s*)+$/; // gv-seg gv-small
const PATH = /^[MmLlHhVvCcSsQqTtAaZz\d\s.,+-]+$/; // M 0 0 L 10 10
const SHOWS = new Set(["textContent", "innerText", "title", "ariaLabel", "alt", "placeholder", "label", "aria-label"]);
const PUTS = new Set(["append", "prepend", "replaceChildren", "createTextNode", "fillText", "before", "after"]);
const STYLES = new Set(["class", "className", "style", "font", "cssText", "transform", "d", "points", "viewBox"]);
const ASKS = new Set(["querySelector", "querySelectorAll", "closest", "matches", "matchMedia", "setProperty", "split"]);

/** The name after the last dot of what is called or assigned to, or of a property. */
function nameOf(node) {
  if (!node) return "";
  if (node.type === "Identifier") return node.name;
  if (node.type === "Literal") return String(node.value);
  if (node.type === "MemberExpression") return nameOf(node.property);
  return "";
}

/** From a string up to what it is a part of: through templates, + and ?: and brackets. */
function outermost(node) {
  const through = new Set(["TemplateLiteral", "BinaryExpression", "ConditionalExpression", "LogicalExpression"]);
  let inner = node;
  while (through.has(inner.parent?.type) && inner.parent.test !== inner) {
    if (inner.parent.type === "BinaryExpression" && inner.parent.operator !== "+") return null; // compared, not shown
    inner = inner.parent;
  }
  return inner;
}

/** Is it inside something thrown? */
function thrown(node) {
  for (let up = node; up; up = up.parent) {
    if (up.type === "ThrowStatement") return true;
    if (up.type === "NewExpression" && /Error$/.test(nameOf(up.callee))) return true;
    if (up.type.startsWith("Import") || up.type.startsWith("Export") ? up.source === node : false) return true;
  }
  return false;
}

/** What becomes of a string: "shown", "styled" (never read by anyone), or "". */
function fate(node) {
  const { parent } = node;
  if (parent.type === "CallExpression") return called(node, parent);
  if (parent.type === "AssignmentExpression" && parent.right === node) return named(nameOf(parent.left));
  if (parent.type === "Property" && parent.value === node) return named(nameOf(parent.key));
  if (parent.type === "MemberExpression" && parent.object === node) return named(nameOf(parent.property));
  return "";
}

function called(node, call) {
  const name = nameOf(call.callee);
  const place = call.arguments.indexOf(node);
  if (name === "setAttribute" && place === 1) return named(nameOf(call.arguments[0]));
  if (name === "el" && place >= 2) return "shown";
  return PUTS.has(name) && place >= 0 ? "shown" : named(name);
}

function named(name) {
  if (SHOWS.has(name)) return "shown";
  return STYLES.has(name) || ASKS.has(name) ? "styled" : "";
}

/** @type {import("eslint").Rule.RuleModule} */
export default {
  meta: {
    type: "problem",
    schema: [],
    messages: { english: "“{{text}}” belongs into assets/lessons/en/words (or say // not words: why)" },
  },
  create(context) {
    const source = context.sourceCode;
    const allowed = new Set();
    let all = false;
    for (const comment of source.getAllComments()) {
      if (/not words: \S/.test(comment.value)) allowed.add(comment.loc.end.line).add(comment.loc.end.line + 1);
      all ||= /not words in this file: \S/.test(comment.value);
    }

    function check(node, text) {
      if (all || !WORD.test(text) || allowed.has(node.loc.start.line) || thrown(node)) return;
      if (node.parent.type === "ExpressionStatement") return; // "use strict"
      const whole = outermost(node.type === "TemplateElement" ? node.parent : node);
      if (!whole) return;
      const becomes = fate(whole);
      const sentence = SENTENCE.test(text) && !CLASSES.test(text) && !PATH.test(text);
      if (becomes === "shown" || (becomes === "" && sentence)) {
        context.report({ node, messageId: "english", data: { text: text.trim().slice(0, 40) } });
      }
    }

    return {
      Literal(node) {
        if (typeof node.value === "string") check(node, node.value);
      },
      TemplateElement(node) {
        check(node, node.value.cooked ?? "");
      },
    };
  },
};
