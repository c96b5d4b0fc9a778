// The model as boxes, in the order data passes them; each with its shape and its parameters, from the module tree.
"use strict";
gptviz.mount.scheme = function (root, io) {
  const { el, say, em, whole } = gptviz;
  const NAMES = { tokens: "Token table", positions: "Position table", attention: "Attention", ffn: "Feed-forward", norm: "Norm", head: "LM head", other: "Other" };
  let v = null, picked = "", revealed = false;
  const flow = el("div", { class: "gv-flow" }), detail = el("div", { class: "gv-boxdetail", "aria-live": "polite" });
  const show = el("button", { type: "button", class: "gv-btn", onclick: () => { revealed = true; paint(); } }, "Show the counts");
  const title = el("span");
  root.append(el("div", { class: "gv-two gv-scheme" },
    el("section", { class: "gv-fig" }, el("div", { class: "gv-figtitle" }, title, el("span", { class: "gv-push" }), show), flow),
    el("section", { class: "gv-fig" }, detail)));

  function draw(value) {
    if (!value) return;
    const fresh = !v || v.model !== value.model;
    v = value;
    if (v.reveal) revealed = true;
    if (fresh) picked = "0";
    paint();
  }
  function paint() {
    show.hidden = revealed;
    say(title, `${v.model}, from the token ids down to the logits`);
    flow.textContent = "";
    flow.append(wire(`ids [T = ${v.T}]`));
    let entered = false; // where the first block begins, the stream does
    v.stages.forEach((stage, k) => {
      if (stage.role === "block") { if (!entered) { flow.append(wire(`residual stream [T, d] = [${v.T}, ${v.width}]`)); entered = true; } flow.append(block(stage, k)); }
      else if (stage.role === "positions") flow.lastChild.append(el("b", { class: "gv-plus", "aria-label": "plus" }, "+"), box(String(k), NAMES.positions, stage.rows));
      else if (stage.role === "tokens") flow.append(el("div", { class: "gv-tables" }, box(String(k), NAMES.tokens, stage.rows)));
      else flow.append(box(String(k), stage.role === "norm" ? "Final norm" : NAMES[stage.role], stage.rows));
    });
    flow.append(wire(`logits [T, V] = [${v.T}, ${whole(v.vocabulary)}]`));
    describe();
  }
  const wire = (text) => el("div", { class: "gv-wire" }, text);
  const sum = (rows) => rows.reduce((n, r) => n + r.parameters, 0);

  // A block as pre-norm decoders have it: norm, attention, +, norm, feed-forward, +. Any other build is listed as it is.
  function block(stage, k) {
    const of = (role) => stage.rows.filter((r) => r.role === role), norms = of("norm");
    const inside = el("div", { class: "gv-blockbody" });
    if (norms.length === 2 && of("attention").length && of("ffn").length) {
      const lane = (norm, role, half) => el("div", { class: "gv-lane" }, box(`${k}.n${half}`, "Norm", [norm]), box(`${k}.${role}`, NAMES[role], of(role)), el("b", { class: "gv-plus", title: "added to the stream" }, "+"));
      inside.append(lane(norms[0], "attention", 1), lane(norms[1], "ffn", 2));
    } else for (const role of ["norm", "attention", "ffn", "other"]) if (of(role).length) inside.append(box(`${k}.${role}`, NAMES[role] + (of(role).length > 1 && role === "norm" ? "s" : ""), of(role)));
    return el("div", { class: "gv-stage" }, el("div", { class: "gv-blockhead" }, `Block × ${stage.repeat}`, el("span", {}, revealed ? `${whole(stage.parameters)} in all` : "")), inside);
  }
  function box(id, name, rows) {
    const main = rows[0], count = sum(rows), shared = rows.find((r) => r.shared_with);
    const shape = rows.length === 1 ? main.shape.map(whole).join(" × ") : `${rows.length} matrices`;
    const stage = v.stages[Number(id.split(".")[0])], all = count * stage.repeat, fill = el("i");
    fill.style.width = (revealed ? 100 * all / v.total : 0) + "%";
    return el("button", { type: "button", class: "gv-box" + (shared ? " gv-shared" : ""), "data-part": main.role, "aria-pressed": String(id === picked), onclick: () => { picked = id; paint(); flow.querySelector("[aria-pressed=true]")?.focus(); } },
      el("b", {}, name), el("span", { class: "gv-dims" }, shape), el("span", { class: "gv-boxcount" }, shared ? "the token table again" : revealed ? whole(count) : "?"), el("span", { class: "gv-bar" }, fill));
  }

  function rowsOf(id) {
    const [k, role] = id.split("."), stage = v.stages[Number(k)] || v.stages[0];
    if (!role) return { stage, rows: stage.rows };
    if (role[0] === "n" && role !== "norm") return { stage, rows: [stage.rows.filter((r) => r.role === "norm")[Number(role[1]) - 1]] };
    return { stage, rows: stage.rows.filter((r) => r.role === role) };
  }
  function describe() {
    const { stage, rows } = rowsOf(picked), role = rows[0].role;
    const table = el("table", { class: "gv-table" }, el("tr", {}, ...["module", "class", "tensors", "parameters"].map((t, k) => el("th", k === 3 ? { class: "n" } : {}, t))));
    for (const r of rows) table.append(el("tr", {}, el("td", {}, r.name), el("td", {}, r.kind),
      el("td", {}, Object.entries(r.tensors).map(([key, s]) => `${key} [${s.join(", ")}]`).join(", ")),
      el("td", { class: "n" }, r.shared_with ? `shared with ${r.shared_with}` : revealed ? whole(r.parameters) : "?")));
    const each = sum(rows), line = el("p", { class: "gv-say" });
    if (!revealed) say(line, "Guess first, or press “Show the counts”.");
    else if (rows[0].shared_with) say(line, "Nothing of its own: the head reads the token table, so it is counted once.");
    else say(line, em(whole(each)), stage.repeat > 1 ? ` parameters in each of ${stage.repeat} blocks: ` : " parameters: ", em(`${(100 * each * stage.repeat / v.total).toFixed(1)} %`), " of the model.");
    say(detail, el("h3", {}, NAMES[role]), el("p", {}, v.explain[role] || ""), el("div", { class: "gv-scroll" }, table), line, totals());
  }
  function totals() {
    const table = el("table", { class: "gv-table gv-sums" }, el("tr", {}, el("th", {}, "in all"), ...v.sums.map((s) => el("th", { class: "n" }, s.name))));
    const line = (name, cell) => table.append(el("tr", {}, el("td", {}, name), ...v.sums.map((s) => el("td", { class: "n" }, revealed ? cell(s) : "?"))));
    line("parameters", (s) => whole(s.total));
    line("with a head of its own", (s) => whole(s.untied_total));
    line("tying saves", (s) => s.tying_saves ? `${whole(s.tying_saves)} = ${(100 * s.share).toFixed(1)} %` : "0 (not tied)");
    return el("div", { class: "gv-scroll" }, table);
  }
  return draw;
};
