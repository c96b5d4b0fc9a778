// Two training losses against the entropy of the language, and what both models write afterwards.
"use strict";
gptviz.mount.twins = function (root, io) {
  const { el, say, em, number } = gptviz;
  const nats = (x) => x.toFixed(4), percent = (x) => (100 * x).toFixed(1) + "\u00a0%";
  let v = null, seen = false, stopped = false, drawn = null; // seen: a run was shown to its end, so recorded ones need no cover

  const mark = el("p", { class: "gv-twins-mark" });
  const box = el("div"), sentence = el("p", { class: "gv-say", "aria-live": "polite" });
  const more = el("button", { type: "button", class: "gv-btn", onclick: () => { seen = true; paint(); } }, "Show how it goes on");
  const csv = el("button", { type: "button", class: "gv-btn", onclick: () => gptviz.saveText(table(), "twins-loss.csv", "text/csv") }, "CSV");
  const losses = el("section", { class: "gv-fig" }, el("div", { class: "gv-figtitle" }, "Training loss", el("span", { class: "gv-cap" }, "nats per token, each step’s batch"), el("span", { class: "gv-push" }), csv), box, sentence, more);
  const texts = el("div", { class: "gv-twins-texts" }), ends = el("div", { class: "gv-twins-ends" });
  const writing = el("section", { class: "gv-fig" }, el("div", { class: "gv-figtitle" }, "What they write", el("span", { class: "gv-cap" }, "after training, word by word, nothing to the right")), texts);
  const sums = el("section", { class: "gv-fig" }, el("div", { class: "gv-figtitle" }, "In numbers"), ends);
  const frame = el("div", { class: "gv-twins-frame" });
  const language = el("section", { class: "gv-fig" }, el("div", { class: "gv-figtitle" }, "The language", el("span", { class: "gv-cap" }, "one of the words at each place, equally likely; what it costs in nats")), frame);
  root.append(mark, el("div", { class: "gv-twins" }, el("div", {}, losses, sums), el("div", {}, language, writing)));
  const curve = gptviz.curve(box, { label: "Training loss of both twins over the steps; arrow keys move", height: 300, onmove: speak });

  // value: a run {mark, steps, causal, twin, names, floor, level, hold, ends}, or {reveal} / {stopped} about the run on screen.
  function draw(value) {
    if (!value) return;
    if (value.reveal) seen = true;
    else if (value.stopped) stopped = true;
    else if (value !== v) { v = value; stopped = false; if (v.ends && !v.hold) seen = true; }
    paint();
  }
  function paint() {
    if (!v) return;
    const covered = Boolean(v.hold) && !seen, steps = covered ? v.hold : v.causal.length;
    say(mark, el("b", {}, v.recorded ? "Recorded run. " : v.ends ? "Live run. " : "Live. "), stopped ? v.halt : v.mark);
    mark.classList.toggle("live", !v.recorded);
    more.hidden = !covered;
    losses.hidden = !steps;
    if (steps) {
      curve.draw({
        xs: v.causal.slice(0, steps).map((_, k) => k + 1), x: "training step", from: 0, level: { value: v.floor, name: v.level },
        series: [{ name: v.names[0], ys: v.causal.slice(0, steps), token: "--key" }, { name: v.names[1], ys: v.twin.slice(0, steps), token: "--warn", dash: [7, 3] }],
      });
    }
    language.hidden = !v.frame;
    if (v.frame && v.frame !== drawn) grammar();
    const done = v.ends && !covered;
    writing.hidden = sums.hidden = !done;
    if (done) { write(); sum(); }
  }
  function speak(k) {
    const below = v.floor - v.twin[k];
    say(sentence, `Step ${k + 1}: ${v.names[0]} `, em(nats(v.causal[k])), `, ${v.names[1]} `, em(nats(v.twin[k]), "w"), " nats.",
      below > 0.05 ? ` That is ${number(below, 2)} under what an honest model can reach.` : "");
  }

  // The 17 places in reading order; a place that follows from an earlier word says which.
  function grammar() {
    drawn = v.frame;
    frame.textContent = "";
    v.frame.forEach((place, k) => frame.append(el("div", { class: place.choices > 1 ? "free" : place.follows === null ? "fixed" : "tied" },
      el("span", { class: "gv-cap" }, String(k + 1)), ...place.words.map((word) => el("span", {}, word)),
      el("span", { class: "gv-cap" }, place.choices > 1 ? number(Math.log(place.choices), 2) : place.follows === null ? "0" : `0, as word ${place.follows + 1}`))));
  }
  // The sentences, each word right or wrong where it stands.
  function write() {
    texts.textContent = "";
    v.ends.forEach((end, k) => {
      const list = el("ul", { class: "gv-twins-lines" });
      end.text.split("\n").forEach((line, n) => list.append(one(line.split(" "), end.right && end.right[n])));
      texts.append(el("div", {}, el("h3", {}, v.names[k], " ", end.valid === null ? null : el("span", { class: "gv-cap" }, `${percent(end.valid)} of ${end.written} accepted`)), list));
    });
  }
  function one(words, right) {
    if (!right) return el("li", {}, el("span", { class: "gv-twins-line" }, words.join(" ")));
    const fine = right.every(Boolean), line = el("span", { class: "gv-twins-line" });
    words.forEach((word, k) => line.append(right[k] ? word : el("s", { class: "w", title: "not allowed here" }, word), " "));
    return el("li", { class: fine ? "ok" : "bad" }, el("b", { class: fine ? "ok" : "w", "aria-label": fine ? "accepted" : "refused" }, fine ? "✓" : "✗"), line);
  }
  function sum() {
    const row = (title, note, cell) => el("tr", {}, el("th", { scope: "row" }, title, el("div", { class: "gv-cap" }, note)), ...v.ends.map((end) => el("td", { class: "n" }, cell(end))));
    const against = (x) => x < v.floor - 0.01 ? `${number(v.floor - x, 3)} under the floor` : x > v.floor + 0.01 ? `${number(x - v.floor, 3)} above it` : "at the floor";
    const loss = (x, error) => el("span", {}, nats(x), error === undefined ? null : el("span", { class: "gv-cap" }, ` ± ${error < 1e-5 ? "0.00001" : error.toFixed(5)}`), el("div", { class: "gv-cap" }, against(x)));
    const rows = [
      row(v.rows[0], "the whole row beside it, as in training; ± standard error", (end) => loss(end.loss, end.error)),
      row(v.rows[1], "the true next word, from the words before it alone", (end) => loss(end.writing_loss)),
    ];
    if (v.ends[0].valid !== null) rows.push(row(v.rows[2], `of ${v.ends[0].written} sentences`, (end) => percent(end.valid)));
    ends.textContent = "";
    ends.append(el("table", { class: "gv-table" }, el("thead", {}, el("tr", {}, el("th", {}, ""), ...v.names.map((name) => el("th", { class: "n", scope: "col" }, name)))), el("tbody", {}, ...rows)));
  }
  function table() {
    const rows = [["step", ...v.names, v.level], ...v.causal.map((x, k) => [k + 1, x, v.twin[k], v.floor])];
    return "\ufeff" + rows.map((row) => row.map(gptviz.csv).join(",")).join("\n") + "\n";
  }
  return draw;
};
