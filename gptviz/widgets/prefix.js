// The prefix check on the model: choose what to keep, what becomes of the rest, and the mask; each position says if it moved.
"use strict";
gptviz.mount.prefix = function (root, io) {
  const { el, say, em, segment, number } = gptviz;
  const MOST = 300; // positions drawn; all are checked
  const state = { keep: 1, method: "edit", ending: "", mask: "on", layer: 0 };
  let v = null, found = null, wanted = 0, hold = 0;

  const board = el("div", { class: "gv-board", role: "group", "aria-label": "Tokens; press the last one to keep" });
  const methods = segment("What becomes of the rest", [["edit", "change the ending"], ["truncate", "cut it off"]], "edit", (m) => { state.method = m; load(); });
  const ending = el("input", { class: "gv-in", type: "text", size: "18", "aria-label": "The new ending", spellcheck: "false",
    oninput: () => { clearTimeout(hold); hold = setTimeout(() => { state.ending = ending.value; load(); }, 400); } });
  const endingBox = el("label", { class: "gv-cap" }, "new ending ", ending);
  const masks = segment("Mask", [["on", "on"], ["one", "one layer open"], ["off", "off"], ["wrong_way", "wrong way"]], "on", (m) => { state.mask = m; load(); });
  const layer = el("select", { class: "gv-in", "aria-label": "Open layer", onchange: () => { state.layer = Number(layer.value); load(); } });
  const layerBox = el("label", { class: "gv-cap", hidden: true }, "layer ", layer);
  const verdict = el("p", { class: "gv-say gv-verdict", "aria-live": "polite" }), note = el("p", { class: "gv-note" });
  const save = el("button", { type: "button", class: "gv-btn", onclick: download }, "Download the evidence (JSON)");
  const evidence = el("div", { class: "gv-evidence" }, save, el("p", { class: "gv-note" }, io.fixed.evidence, " ", el("code", {}, "python -m gptviz.lab.masking.prefix evidence.json")));
  const figure = el("div", {}, board, verdict, note, evidence);
  const reveal = gptviz.reveal(io.fixed.words, figure, () => paint());
  root.append(el("section", { class: "gv-fig" },
    el("div", { class: "gv-prefix-controls" },
      el("div", {}, el("p", { class: "gv-cap" }, "After the prefix"), methods.box, endingBox),
      el("div", {}, el("p", { class: "gv-cap" }, "Mask"), masks.box, layerBox)),
    reveal.asked, el("div", { class: "gv-keep" }), reveal.frame));
  const keepBox = root.querySelector(".gv-keep");
  const less = el("button", { type: "button", class: "gv-btn", "aria-label": "Keep one token less", onclick: () => keep(state.keep - 1) }, "−");
  const more = el("button", { type: "button", class: "gv-btn", "aria-label": "Keep one token more", onclick: () => keep(state.keep + 1) }, "+");
  const kept = el("span", { class: "gv-kept" });
  keepBox.append(less, kept, more);
  const waiting = gptviz.waiting(root.querySelector(".gv-prefix-controls"), keepBox, evidence);
  keepBox.before(waiting.line);

  function draw(value) {
    if (!value) return;
    if (value !== v) {
      const other = !v || v.model !== value.model;
      v = value;
      waiting.over();
      ending.placeholder = `empty: ${v.usual} ${v.usual} …`;
      if (other) {
        layer.textContent = "";
        for (let k = 0; k < v.layers; k++) layer.append(el("option", { value: String(k) }, String(k)));
        state.layer = v.layers >> 1; layer.value = String(state.layer);
        state.mask = "on"; masks.set("on");
      }
      state.ending = ""; ending.value = ""; state.keep = v.keep; found = null;
      if (!v.first || (state.mask === "on" && state.method === "edit")) take(v.first); else load(); // settings stay as they were
    } else paint();
  }
  function keep(n) {
    if (!v) return;
    const next = Math.max(1, Math.min(v.tokens.length - 1, n));
    if (next !== state.keep) { state.keep = next; load(); }
  }
  function rule() {
    if (state.mask === "on") return { open_layers: [], direction: "causal" };
    return { open_layers: state.mask === "one" ? [state.layer] : [], direction: state.mask === "wrong_way" ? "wrong_way" : "none" };
  }
  const request = () => ({ text: v.text, model: v.model, keep: state.keep, method: state.method, ending: state.method === "edit" ? state.ending : "", ...rule() });
  function tellOthers() {
    gptviz.prefixState = { ...rule(), method: state.method };
    window.dispatchEvent(new CustomEvent("gv-prefix"));
    endingBox.hidden = state.method !== "edit"; layerBox.hidden = state.mask !== "one";
  }
  async function load() {
    if (!v) return;
    const mine = ++wanted, of = v;
    tellOthers(); counts();
    board.setAttribute("aria-busy", "true");
    const answer = await io.server.check(request()).catch(() => ({ error: "The server did not answer; is it still running?" }));
    if (mine !== wanted || of !== v) return;
    board.removeAttribute("aria-busy");
    if (answer.error) { found = null; save.disabled = true; board.classList.add("stale"); say(verdict, em(answer.error, "w")); note.textContent = ""; } else take(answer);
  }
  function take(answer) {
    found = answer; save.disabled = !found; board.classList.remove("stale");
    tellOthers(); counts(); paint();
  }
  function counts() {
    const T = v.tokens.length;
    say(kept, "keep the first ", el("b", {}, String(state.keep)), ` of ${T} tokens`);
    less.disabled = state.keep <= 1; more.disabled = state.keep >= T - 1;
  }

  function paint() {
    if (!v) return;
    if (!found) { board.textContent = ""; if (v.reason) say(verdict, em(v.reason, "w")); return; }
    reveal.wait(true);
    board.textContent = "";
    const n = found.keep, T = v.tokens.length, from = Math.max(0, Math.min(T - MOST, n - MOST / 2));
    board.append(el("div", { class: "gv-col gv-collabels", "aria-hidden": "true" }, el("span", { class: "gv-tok" }, "your text"), el("span", { class: "gv-tok two" }, "second run"), el("b", {}, "|Δ| of logits")));
    if (from > 0) board.append(el("span", { class: "gv-cap" }, `… ${from} before`));
    for (let k = from; k < Math.min(T, from + MOST); k++) board.append(column(k, n));
    if (from + MOST < T) board.append(el("span", { class: "gv-cap" }, `… ${T - from - MOST} more`));
    if (!reveal.opened()) return;
    const changed = found.positions.filter((p) => p.changed).length;
    if (changed) say(verdict, em(`${changed} of ${n} kept outputs changed`, "w"), `, by up to ${number(found.max_delta)}. The future reached them.`);
    else say(verdict, el("em", { class: "gv-ok" }, n === 1 ? "The kept output is unchanged" : `All ${n} kept outputs are unchanged`), found.method === "edit" ? ", bit for bit: |Δ| is exactly 0." : found.max_delta === 0 ? ": |Δ| is exactly 0." : `: |Δ| stays below ${number(found.tolerance)}, the noise of ${found.dtype}.`);
    note.textContent = found.method === "edit" ? io.fixed.edit : io.fixed.truncate.replace("{dtype}", found.dtype).replace("{tolerance}", number(found.tolerance));
    if (!found.open_layers.length) reveal.answer({ index: changed ? (changed === n ? 2 : 1) : 0, text: `With every mask on, ${changed} of ${n} changed.` });
  }
  function column(k, n) {
    const shown = reveal.opened(), inside = k < n, at = inside && shown ? found.positions[k] : null, other = found.other[k];
    const size = at ? (at.max_delta === 0 ? "0" : gptviz.short(at.max_delta)) : "";
    const label = `${v.tokens[k]}, position ${k}: ${!inside ? "after the prefix" : !at ? "kept" : `${at.changed ? "changed" : "unchanged"}, largest difference ${at.max_delta}`}`;
    return el("button", { type: "button", class: "gv-col" + (inside ? " in" : "") + (at ? at.changed ? " bad" : " ok" : ""), title: label, "aria-label": label, onclick: () => keep(k + 1) },
      el("span", { class: "gv-tok" }, v.tokens[k]),
      el("span", { class: "gv-tok two" }, other === undefined ? "–" : other),
      el("b", {}, size), el("i", {}, at ? (at.changed ? "changed" : "unchanged") : ""));
  }
  async function download() {
    if (!v) return;
    save.disabled = true;
    const answer = await io.server.evidence(request()).catch(() => ({ error: "The server did not answer; is it still running?" }));
    save.disabled = false;
    if (answer.error) say(verdict, em(answer.error, "w"));
    else gptviz.saveText(JSON.stringify(answer, null, 1) + "\n", "evidence.json", "application/json");
  }
  return draw;
};
