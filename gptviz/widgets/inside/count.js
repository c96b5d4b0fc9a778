// Count: every box in the order data passes it, as wide as its share of the parameters; the tied head drawn hollow.
import { el, fill } from "../kit/dom.js";
import { percent, whole } from "../kit/numbers.js";
import { text } from "../kit/words.js";

const ROLES = ["tokens", "attention", "ffn", "norm"]; // the order of the guess's options

/** @param {HTMLElement} root @param {any} app */
export function createCount(root, app) {
  const list = el("div", { class: "gv-boxes", tabindex: "0" });
  root.append(list);
  /** @type {any} */
  let found = null;

  async function show(/** @type {any} */ view) {
    const answer = await view.ask("boxes", { model: view.model });
    if (!view.current()) return;
    found = answer;
    const own = found.own;
    const part = (/** @type {string} */ role) => (own.roles[role] || 0) / own.total;
    const largest = ROLES.reduce((a, b) => (part(b) > part(a) ? b : a));
    // words: inside.role_*
    app.facts({
      total: own.total,
      tied: own.tied,
      saves: own.tying_saves,
      largest: ROLES.indexOf(largest),
      largest_name: text(`inside.role_${largest}`),
      largest_share: part(largest),
    });
    app.parts.stage.say("inside.count_say", {
      total: own.total,
      ffn: part("ffn"),
      attention: part("attention"),
      tokens: part("tokens"),
    });
    list.classList.toggle("gv-hushed", app.pending());
    fill(list, ...own.stages.flatMap((/** @type {any} */ stage) => box(stage, own)), ...sums(found));
  }

  const table = () => ({
    head: ["", "", ""],
    rows: found.own.stages.flatMap((/** @type {any} */ s) =>
      s.rows.map((/** @type {any} */ r) => [r.name, r.shape.join(" × "), whole(r.parameters)]),
    ),
  });
  return { show, resize() {}, table };
}

/** @param {any} stage @param {any} own */
function box(stage, own) {
  if (stage.repeat === 1 && stage.role !== "block") {
    // words: inside.role_*
    return [line(text(`inside.role_${stage.role}`), stage.rows[0].shape, stage.parameters, own.total, stage)];
  }
  /** @type {Record<string, number>} */
  const roles = {};
  for (const row of stage.rows) roles[row.role] = (roles[row.role] || 0) + row.parameters;
  const inner = Object.entries(roles).map(([role, n]) =>
    line(text(`inside.role_${role}`), shapes(stage.rows, role), n * stage.repeat, own.total, stage, true),
  );
  return [el("p", { class: "gv-blocks" }, text("inside.blocks", { n: stage.repeat })), ...inner];
}

/** A share of all; what is below a hundredth of a per cent has no figure that helps. @param {number} p */
const share = (p) => (p < 1e-4 ? text("inside.count_little") : percent(p));

/** @param {any[]} rows @param {string} role */
const shapes = (rows, role) =>
  rows
    .filter((r) => r.role === role && r.shape.length > 1)
    .map((r) => r.shape.join(" × "))
    .join(", ");

/**
 * @param {string} name
 * @param {any} shape
 * @param {number} n
 * @param {number} total
 * @param {any} stage
 * @param {boolean} [inside]
 */
function line(name, shape, n, total, stage, inside = false) {
  const tied = stage.role === "head" && n === 0;
  const size = Array.isArray(shape) ? shape.join(" × ") : shape;
  return el(
    "div",
    { class: `gv-box${inside ? " gv-in-block" : ""}` },
    el("span", null, tied ? text("inside.head_tied") : name),
    el("span", { class: "gv-soft gv-shape" }, size),
    el(
      "span",
      { class: "gv-share" },
      el("i", { style: { width: `${(100 * n) / total}%` }, class: tied ? "gv-hollow" : null }),
    ),
    el("span", { class: "gv-n" }, tied ? "" : whole(n)),
    el("span", { class: "gv-n" }, tied ? "" : share(n / total)),
  );
}

/** @param {any} found */
function sums({ own, small }) {
  const saves = own.tied
    ? el("p", { class: "gv-soft" }, text("inside.count_saves", { n: own.tying_saves, share: own.share }))
    : null;
  return [
    saves,
    el(
      "p",
      { class: "gv-soft" },
      text("inside.count_small", { total: small.total }),
      " ",
      text("inside.count_saves", { n: small.tying_saves, share: small.share }),
    ),
  ].filter(Boolean);
}
