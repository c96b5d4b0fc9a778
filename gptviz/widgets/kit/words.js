// stub until the real one is merged
import * as numbers from "./numbers.js";
let words = {};
export function setWords(bundle, language) { words = bundle; numbers.setNumbers(language, Object.fromEntries(Object.entries(bundle).filter(([k]) => k.startsWith("numbers.")).map(([k, v]) => [k.slice(8), v]))); }
export const has = (key) => key in words;
function template(key, values) {
  let t = words[key];
  if (t === undefined) return key;
  if (typeof t === "object") t = t[numbers.plural(values[t.by] ?? 0)] ?? t.other;
  return t;
}
export function text(key, values = {}) { return phraseOf(template(key, values), values).map((n) => n.textContent ?? n).join(""); }
export function phrase(key, values = {}) { return phraseOf(template(key, values), values); }
function value(name, values) {
  const [n, f] = name.split(":");
  const v = values[n];
  if (v === undefined || v === null) return "…";
  if (f) return numbers[f](v);
  return typeof v === "number" ? numbers.whole(v) : String(v);
}
export function phraseOf(t, values) {
  const out = [];
  const re = /\*\*(.+?)\*\*|\*(.+?)\*|`(.+?)`|\[(.+?)\]\(state: (.+?)\)|\(\((.+?)\|(.+?)\)\)|\{(\w+(?::\w+)?)\}/g;
  let at = 0;
  for (const m of t.matchAll(re)) {
    if (m.index > at) out.push(document.createTextNode(t.slice(at, m.index)));
    at = m.index + m[0].length;
    const make = (tag, cls, inner) => { const n = document.createElement(tag); if (cls) n.className = cls; n.append(...phraseOf(inner, values)); return n; };
    if (m[1]) out.push(make("strong", "", m[1]));
    else if (m[2]) out.push(make("em", "", m[2]));
    else if (m[3]) out.push(make("code", "gv-token", m[3]));
    else if (m[4]) { const b = make("button", "gv-link", m[4]); b.type = "button"; b.dataset.state = m[5]; out.push(b); }
    else if (m[6]) out.push(make("span", "gv-term", m[7] ? m[6] : m[6]));
    else if (m[8]) out.push(document.createTextNode(value(m[8], values)));
  }
  if (at < t.length) out.push(document.createTextNode(t.slice(at)));
  return out;
}
