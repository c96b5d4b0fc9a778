// Draws from the final bars: the line from 0 to 1, the tally against theory, and what the other order would keep.
"use strict";
gptviz.drawPanel = function (root, { names, words, settle }) {
  const { el, say, em, css, whole, percent } = gptviz;
  const seed = el("input", { type: "number", class: "gv-in", min: 0, max: 4294967295, step: 1, value: 0, "aria-label": "seed", oninput: () => clear() });
  const one = el("button", { type: "button", class: "gv-btn", onclick: () => go(1) }, "Draw one");
  const many = el("button", { type: "button", class: "gv-btn", onclick: () => go(1000) }, "Draw 1,000");
  const again = el("button", { type: "button", class: "gv-btn", onclick: () => clear() }, "Clear");
  const line = el("canvas", { role: "img", "aria-label": "The kept tokens laid end to end from 0 to 1" }), tally = el("canvas", { role: "img" });
  const sentence = el("p", { class: "gv-say", "aria-live": "polite" }), verdict = el("p", { class: "gv-cap", "aria-live": "polite" });
  root.append(el("div", { class: "gv-figtitle" }, "Draw from the final bars"), words,
    el("div", { class: "gv-tools" }, el("label", { class: "gv-cap" }, "seed ", seed), one, many, again), line, sentence, tally, verdict);
  let ready = null, result = null, counts = new Map(), n = 0, last = null, asked = 0;

  // Another distribution makes the tally worthless; the same one, painted again, does not.
  const stale = (next) => !result || next.key !== result.key;
  function set(nextReady, nextResult) { ready = nextReady; result = nextResult; clear(); }
  function clear() { counts = new Map(); n = 0; last = null; say(sentence, "Nothing drawn yet."); verdict.textContent = ""; paint(); }

  async function go(times) {
    const s = seed.value.trim() === "" ? NaN : Number(seed.value);
    if (!Number.isInteger(s) || s < 0 || s > 4294967295) { say(sentence, em(`seed is ${seed.value || "empty"}; it must be a whole number from 0 to 4,294,967,295.`, "w")); return; }
    settle();
    const ranks = gptviz.sampling.draws(result.final, result.kept, s, times, n);
    for (const rank of ranks) counts.set(rank, (counts.get(rank) || 0) + 1);
    last = { rank: ranks[times - 1], at: gptviz.sampling.uniform(s, n + times - 1) };
    n += times;
    paint();
    const mine = ++asked, [name] = await names([ready.order[last.rank]]);
    if (mine === asked && last) say(sentence, times === 1 ? `Draw ${whole(n)}: ` : `The last of ${whole(n)} draws: `, "the dart lands at ", em(last.at.toFixed(4)), " and hits ", em(name), `, number ${whole(last.rank + 1)} in the ranking.`);
  }

  function paint() {
    if (!result) return;
    const width = Math.max(240, root.clientWidth - 34);
    unitLine(width);
    if (n < 2) { gptviz.canvas(tally, 1, 1); tally.style.display = "none"; verdict.textContent = ""; return; }
    tally.style.display = "";
    compare(width);
    const { statistic, freedom, p } = gptviz.sampling.chiSquare(result.final, result.kept, counts, n);
    verdict.textContent = freedom === 0
      ? `${whole(n)} draws; too few possible tokens to compare with theory.`
      : `${whole(n)} draws against theory: χ² = ${statistic.toFixed(1)} with ${freedom} ${freedom === 1 ? "degree" : "degrees"} of freedom. If theory is right, chance alone gives a larger value in ${percent(p)} of such experiments.`;
  }

  // Segments as long as their probability; below 24 the rest is one segment.
  function unitLine(width) {
    const height = 56, c = gptviz.canvas(line, width, height), shown = Math.min(result.kept, 24), w = width - 2;
    let at = 0;
    c.font = `12px ${css("--mono")}`; c.textBaseline = "middle"; c.textAlign = "center";
    for (let r = 0; r <= shown; r++) {
      const p = r < shown ? result.final[r] : Math.max(0, 1 - at);
      if (p * w < 0.3) continue;
      const hit = last && (r < shown ? last.rank === r : last.rank >= shown);
      c.fillStyle = r === shown ? css("--grid") : gptviz.mix("--grid", "--key", hit ? 1 : r % 2 ? 0.28 : 0.45);
      c.fillRect(1 + at * w, 20, Math.max(0.5, p * w - 1), 20);
      const name = r < shown ? names.now(ready.order[r]) : "the rest";
      if (name && p * w > 9 * name.length + 6) { c.fillStyle = hit ? css("--paper") : css("--ink"); c.fillText(name, 1 + (at + p / 2) * w, 30.5); }
      at += p;
    }
    c.fillStyle = css("--soft"); c.textAlign = "left"; c.fillText("0", 1, 49); c.textAlign = "right"; c.fillText("1", width - 1, 49);
    if (last) { const x = 1 + last.at * w; c.fillStyle = css("--warn"); c.fillRect(x - 1, 10, 2, 34); c.beginPath(); c.moveTo(x - 6, 2); c.lineTo(x + 6, 2); c.lineTo(x, 12); c.fill(); }
  }

  // Bars: what was drawn. Marks: what theory expects, with two standard deviations.
  function compare(width) {
    const shown = Math.min(result.kept, 12), others = result.kept > shown, height = 18 + (shown + others) * 22, c = gptviz.canvas(tally, width, height);
    const left = 108, room = width - left - 96;
    let restSeen = n, restP = 1, top = 1;
    for (let r = 0; r < shown; r++) { top = Math.max(top, counts.get(r) || 0, result.final[r] * n); restSeen -= counts.get(r) || 0; restP -= result.final[r]; }
    if (others) top = Math.max(top, restSeen, restP * n);
    c.font = `12px ${css("--mono")}`; c.textBaseline = "middle";
    c.fillStyle = css("--soft"); c.textAlign = "right"; c.fillText("drawn", left + room + 34, 7); c.fillText("theory", width - 1, 7);
    for (let r = 0; r < shown + others; r++) {
      const seen = r < shown ? counts.get(r) || 0 : restSeen, p = r < shown ? result.final[r] : Math.max(0, restP), expected = p * n, y = 18 + r * 22;
      const name = r < shown ? names.now(ready.order[r]) || `id ${ready.order[r]}` : `${whole(result.kept - shown)} others`;
      c.textAlign = "right"; c.fillStyle = css("--ink"); c.fillText(name.length > 13 ? name.slice(0, 12) + "…" : name, left - 8, y + 9);
      c.fillStyle = css("--grid"); c.fillRect(left, y + 2, room, 14);
      c.fillStyle = css("--key"); c.fillRect(left, y + 2, room * seen / top, 14);
      const x = left + room * expected / top, spread = room * 2 * Math.sqrt(Math.max(0, expected * (1 - p))) / top;
      c.strokeStyle = css("--warn"); c.lineWidth = 2;
      c.beginPath(); c.moveTo(x, y); c.lineTo(x, y + 18); c.moveTo(Math.max(left, x - spread), y + 9); c.lineTo(Math.min(left + room, x + spread), y + 9); c.stroke();
      c.textAlign = "right"; c.fillStyle = css("--ink"); c.fillText(whole(seen), left + room + 34, y + 9);
      c.fillStyle = css("--soft"); c.fillText(expected < 9.95 ? expected.toFixed(1) : whole(expected), width - 1, y + 9);
    }
    tally.setAttribute("aria-label", `Bars: how often each token was drawn in ${n}; orange marks: expected, with two standard deviations.`);
  }
  return { set, paint, stale };
};

// Which tokens top-p keeps before the temperature, and which after it.
gptviz.orderPanel = function (root, { names, words, show }) {
  const { el, say, em, whole } = gptviz;
  const lists = el("div", { class: "gv-orders" }), sentence = el("p", { class: "gv-say", "aria-live": "polite" });
  const demo = el("button", { type: "button", class: "gv-btn", onclick: () => show({ temperature: 2, topK: 0, topP: 0.9, topPFirst: false }) }, "Show it: temperature 2, top-p 0.9");
  root.append(el("div", { class: "gv-figtitle" }, "Order matters", el("span", { class: "gv-push" }), demo), words, lists, sentence);
  const MOST = 16;

  function draw(ready, settings, result) {
    const other = gptviz.sampling.keptInOrder(ready, settings, !settings.topPFirst);
    const late = settings.topPFirst ? other : result.kept, early = settings.topPFirst ? result.kept : other;
    lists.replaceChildren(list("temperature, then top-p", late, early, ready), list("top-p, then temperature", early, late, ready));
    if (late === early) say(sentence, "Both orders keep the same ", em(whole(late)), late === 1 ? " token here." : " tokens here.");
    else say(sentence, "Temperature first keeps ", em(whole(late)), late === 1 ? " token" : " tokens", "; top-p first keeps ", em(whole(early)), ". They agree on the likeliest ", em(whole(Math.min(late, early))), ".");
  }
  function list(title, kept, others, ready) {
    const box = el("div", {}, el("div", { class: "gv-cap" }, `${title}: ${whole(kept)} kept`)), chips = el("div", { class: "gv-set" });
    for (let r = 0; r < Math.min(kept, MOST); r++) chips.append(el("span", { class: r < others ? "gv-tok" : "gv-tok only" }, names.now(ready.order[r]) || `id ${ready.order[r]}`));
    if (kept > MOST) chips.append(el("span", { class: "gv-cap" }, `and ${whole(kept - MOST)} more`));
    box.append(chips);
    return box;
  }
  return { draw };
};
