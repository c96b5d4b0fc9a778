// Writing step by step on the bars: choose, force, undo, take another branch, run on with pause and cancel.
"use strict";
gptviz.writer = function (root, { io, words, names, moved, choose }) {
  const { el, say, em, segment, percent, whole } = gptviz;
  const STOPS = {
    end_of_text: () => "The model chose its end-of-text token: it ended the text by itself.",
    length: () => `Stopped at the length limit: ${whole(run.n)} new tokens were asked for.`,
    context: () => `Stopped because the context is full: the model reads at most ${whole(v.context)} tokens.`,
  };
  let v = null, nodes = [], at = -1, busy = false, strategy = "greedy", run = null, serial = 0, loops = [], reason = "";

  const strip = el("div", { class: "gv-strip gv-draft", role: "group", "aria-label": "The text so far" });
  const state = el("p", { class: "gv-cap", "aria-live": "polite" }), branches = el("div", { class: "gv-chips gv-branches" });
  const number = (value, min, max, label) => el("input", { type: "number", class: "gv-in", value, min, max, step: 1, "aria-label": label });
  const seed = number(0, 0, 4294967295, "seed of the draws"), length = number(40, 1, 200, "tokens to write");
  const button = (text, onclick) => el("button", { type: "button", class: "gv-btn", onclick }, text);
  const next = button("Next token", step), undo = button("Undo", back), go = button("Run on", start), pause = button("Pause", halt), cancel = button("Cancel", drop);
  const how = segment("How to choose", [["greedy", "greedy"], ["draw", "draw"]], "greedy", (s) => { strategy = s; render(); });
  const seedBox = el("label", { class: "gv-cap" }, "seed ", seed);
  root.append(el("div", { class: "gv-figtitle" }, "The text so far"), words, strip,
    el("div", { class: "gv-tools" }, how.box, seedBox, next, undo, el("label", { class: "gv-cap" }, "tokens ", length), go, pause, cancel), state, branches);

  const path = () => { const out = []; for (let k = at; k >= 0; k = nodes[k].parent) out.unshift(k); return out; };
  const ids = () => path().map((k) => nodes[k].id);
  const full = () => v.tokens.length + path().length >= v.context;
  const ended = () => at >= 0 && v.stops.includes(nodes[at].id);

  function reset(value) {
    if (run) { io.trigger("pick", {}); run = null; }
    v = value; nodes = []; at = -1; loops = []; busy = false;
    reason = full() ? STOPS.context() : "";
    render();
  }
  // A child of `parent` with this token; the same token chosen again is the same branch.
  function child(parent, id, shown, p, by) {
    const found = nodes.findIndex((n) => n.parent === parent && n.id === id);
    return found >= 0 ? found : nodes.push({ parent, id, shown, p, by }) - 1;
  }
  async function append(id, p, by) {
    if (busy || run || ended() || full()) return;
    const [shown] = await names([id]);
    await to(child(at, id, shown, p, by));
  }
  async function to(k) {
    at = k; busy = true; reason = ""; loops = [];
    render();
    const mine = v, answer = await moved(ids());
    if (mine !== v) return;
    busy = false;
    if (answer) loops = answer.loops || [];
    if (ended()) reason = STOPS.end_of_text(); else if (full()) reason = STOPS.context();
    render();
  }
  function step() { if (!busy && !run) append(...choose(strategy, seedNow(), path().length), strategy === "greedy" ? "greedy" : "drawn"); }
  function back() { if (!busy && !run && at >= 0) to(nodes[at].parent); }
  const seedNow = () => Math.max(0, Math.min(4294967295, Math.round(Number(seed.value)) || 0));

  // Run on: the server writes and sends each token; a pause keeps what is there, a cancel goes back to where it began.
  function start() {
    if (busy || run || ended() || full()) return;
    const n = Number(length.value);
    if (!Number.isInteger(n) || n < 1 || n > v.most) { say(state, em(`number of tokens is ${length.value || "empty"}; it must be from 1 to ${v.most}.`, "w")); return; }
    run = { id: `${Date.now()}-${++serial}`, from: at, n, base: at };
    reason = "";
    render();
    io.trigger("act", { run: run.id, ids: ids(), settings: strategy === "greedy" ? null : gptviz.chosen, seed: seedNow(), n });
  }
  gptviz.listeners.add((value) => {
    if (!run || value.run !== run.id) return;
    const state = JSON.parse(value.state);
    let k = run.base;
    for (const [id, shown, p] of state.tokens) k = child(k, id, shown, p, "run");
    at = k; loops = state.loops;
    if (value.stop) { const why = STOPS[value.stop](); run = null; settleAt(why); } else render();
  });
  async function settleAt(why) {
    const found = loops;
    await to(at);
    if (loops.length === 0) loops = found;
    reason = why; render();
  }
  function halt() { if (run) { io.trigger("pick", {}); run = null; settleAt("Paused; Run on continues from here."); } }
  function drop() { if (run) { io.trigger("pick", {}); const { base } = run; run = null; at = base; settleAt("Cancelled."); } }

  function render() {
    if (!v) return;
    strip.textContent = "";
    const before = v.tokens.slice(-24);
    if (v.tokens.length > before.length) strip.append(el("span", { class: "gv-cap" }, `${whole(v.tokens.length - before.length)} tokens …`));
    before.forEach((shown) => strip.append(chip("span", shown, "gv-tok", "")));
    path().forEach((k, i) => {
      const n = nodes[k], loop = loops.find(([from, to]) => i >= from && i < to);
      const about = `${n.by}, p ${percent(n.p)}${loop ? `; part of a stretch of ${loop[2]} said ${loop[3]} times` : ""}. Click to go back to here.`;
      const node = chip("button", n.shown, `gv-tok gv-new${loop ? " gv-loop" : ""}`, about);
      node.type = "button"; node.onclick = () => { if (!busy && !run) to(k); };
      strip.append(node);
    });
    strip.append(el("span", { class: "gv-caret", "aria-hidden": "true" }));
    seedBox.style.display = strategy === "draw" ? "" : "none";
    next.disabled = go.disabled = busy || Boolean(run) || ended() || full();
    undo.disabled = busy || Boolean(run) || at < 0;
    pause.hidden = cancel.hidden = !run;
    go.hidden = Boolean(run);
    const said = loops.map(([, , period, times]) => `A stretch of ${period} ${period === 1 ? "token" : "tokens"} is said ${times} times.`).join(" ");
    say(state, run ? "Writing … " : reason ? reason + " " : "", said ? em(said, "w") : "");
    forks();
  }
  function chip(tag, shown, kind, title) {
    const node = el(tag, { class: kind, title: title || null });
    if (shown.startsWith("·") && shown.length > 1) node.append(el("i", {}, "·"), shown.slice(1)); else node.append(shown);
    return node;
  }
  // Ends of the other branches, newest first.
  function forks() {
    branches.textContent = "";
    const inner = new Set(nodes.map((n) => n.parent)), here = new Set(path());
    const leaves = nodes.map((_, k) => k).filter((k) => !inner.has(k) && !here.has(k)).reverse().slice(0, 8);
    if (!leaves.length || run) return;
    branches.append(el("span", { class: "gv-cap" }, "other branches"));
    for (const leaf of leaves) {
      const words = []; let k = leaf;
      while (k >= 0 && !here.has(k)) { words.unshift(nodes[k].shown); k = nodes[k].parent; }
      branches.append(el("button", { type: "button", class: "gv-chip", onclick: () => { if (!busy) to(leaf); } }, words.length > 5 ? words.slice(0, 5).join("") + "…" : words.join("")));
    }
  }
  return { reset, append };
};
