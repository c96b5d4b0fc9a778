// The race: the same text written without and with the KV cache. Cells are positions, rows are steps.
"use strict";
gptviz.mount.race = function (root, io) {
  const { el, say, em, whole, number } = gptviz;
  const words = io.fixed.words, LANES = ["uncached", "cached"], TOKEN = { uncached: "--warn", cached: "--key" };
  const LINES = ["positions run", "K/V rows computed", "K/V rows reused", "FLOPs", "bytes moved", "time, measured"];
  let v = null, mine = null, running = false, frame = 0;

  // Controls
  const prompt = counter("prompt tokens"), fresh = counter("new tokens");
  const start = el("button", { type: "button", class: "gv-btn gv-race-go", onclick: () => go() }, "Start the race");
  const stop = el("button", { type: "button", class: "gv-btn", disabled: true, onclick: halt }, "Stop");
  const state = el("span", { class: "gv-cap", "aria-live": "polite" });
  const tries = el("div", { class: "gv-chips" }, ...words.tries.map(([name, p, n]) => el("button", { type: "button", class: "gv-chip", "data-p": p,
    onclick: () => { prompt.set(p || v.tokens.length); fresh.set(n); go(); } }, name)));
  const text = el("p", { class: "gv-race-text" });
  const lanes = Object.fromEntries(LANES.map((lane) => [lane, laneBox(lane)]));
  const legend = el("div", { class: "gv-cap gv-race-legend" }, key("--warn", 1, "computed, again and again"), key("--key", 1, "computed once"), key("--key", 0.25, "read from the cache"));
  const sentence = el("p", { class: "gv-say gv-race-say" });
  const table = el("table", { class: "gv-table gv-race-table" });
  const said = el("div", { class: "gv-race-said", "aria-live": "polite" });
  const deltas = el("canvas", { role: "img" }), verdict = el("p", { class: "gv-cap", "aria-live": "polite" });
  const line = el("p", { class: "gv-race-formula" }), bar = el("div", { class: "gv-race-bar" }, el("i")), weighs = el("p", { class: "gv-cap" });
  const clock = el("p", { class: "gv-note" });
  root.append(
    el("section", { class: "gv-fig" },
      el("div", { class: "gv-race-controls" }, prompt.box, fresh.box, start, stop, state), tries, text,
      el("div", { class: "gv-race-lanes" }, ...LANES.map((lane) => lanes[lane].box)), legend, sentence, said,
      el("div", { class: "gv-race-counts" }, el("div", { class: "gv-scroll" }, table), el("div", {}, el("p", { class: "gv-note" }, words.counted), clock))),
    el("div", { class: "gv-two gv-race-more" },
      el("section", { class: "gv-fig" }, el("div", { class: "gv-figtitle" }, words.same), deltas, verdict, el("p", { class: "gv-note" }, words.same_note)),
      el("section", { class: "gv-fig" }, el("div", { class: "gv-figtitle" }, words.memory), line, bar, weighs)));

  function counter(label) {
    const input = el("input", { type: "number", class: "gv-in", min: "1", step: "1", "aria-label": label });
    return { box: el("label", { class: "gv-cap" }, label, " ", input), input, set: (n) => { input.value = String(n); }, get: () => Math.round(Number(input.value)) };
  }
  function laneBox(lane) {
    const canvas = el("canvas", { role: "img", class: "gv-race-cells" }), now = el("b", { class: lane });
    canvas.addEventListener("pointermove", (e) => speak(lane, e));
    canvas.addEventListener("pointerdown", (e) => speak(lane, e));
    canvas.addEventListener("pointerleave", () => conclude());
    return { box: el("div", { class: "gv-race-lane" }, el("h3", {}, words.lanes[lane], " ", now), canvas, el("p", { class: "gv-cap" }, words["lane_" + lane])), canvas, now, cell: null };
  }
  function key(token, alpha, name) {
    const swatch = el("i");
    swatch.style.background = `var(${token})`; swatch.style.opacity = alpha;
    return el("span", {}, swatch, name);
  }

  function go() {
    const p = prompt.get(), n = fresh.get(), T = v.tokens.length;
    if (!(p >= 1 && p <= T)) { state.textContent = `The prompt has ${T} tokens: choose from 1 to ${T}.`; return; }
    if (!(n >= 1 && n <= v.most)) { state.textContent = `Choose from 1 to ${v.most} new tokens.`; return; }
    mine = { ...v, prompt: p, new: n, steps: [], done: false, said: [] };
    running = true; idle(); state.textContent = "Waiting for the model.";
    io.trigger("act", { prompt: p, new: n });
    paint();
  }
  function halt() { running = false; io.trigger("pick", {}); idle(); state.textContent = `Stopped after ${steps().length} of ${mine.new} tokens.`; }
  function idle() { start.disabled = running; stop.disabled = !running; tries.querySelectorAll("button").forEach((b) => { b.disabled = running || Number(b.dataset.p) > v.tokens.length; }); }
  const steps = () => (mine && mine.steps) || [];

  function draw(value) {
    if (!value) return;
    const racing = Boolean(value.steps);
    if (value !== v && !racing) { // a prompt was run: nothing is written yet
      mine = { ...value, steps: [], said: [] };
      running = false; state.textContent = value.error || "";
      prompt.set(value.prompt); fresh.set(value.new);
    } else if (value !== v && (running || value.done)) {
      mine = value;
      if (value.done) { running = false; state.textContent = ""; } else state.textContent = `Token ${Math.min(value.steps.length + 1, value.new)} of ${value.new}`;
    }
    v = value;
    prompt.input.max = String(v.tokens.length); fresh.input.max = String(v.most);
    idle();
    cancelAnimationFrame(frame); frame = requestAnimationFrame(paint); // at most one picture a frame
  }

  function paint() {
    const done = steps(), P = mine.prompt, N = mine.new;
    text.textContent = "";
    mine.tokens.slice(0, P).forEach((t) => text.append(el("span", {}, t)));
    done.forEach((s) => text.append(el("span", { class: s[1] ? "new" : "new differs", title: s[1] ? "written by both lanes" : "the lanes chose differently here" }, s[0])));
    text.scrollLeft = text.scrollWidth;
    LANES.forEach((lane, k) => cells(lane, k, P, N, done));
    counters(done); same(done); memory(done, P); conclude();
    said.textContent = "";
    for (const sentence of mine.said || []) said.append(el("p", { class: "gv-note w" }, sentence));
    clock.textContent = words.timed.replace("{device}", mine.device);
  }

  // One row a step, one column a position; what a row does not reach yet stays empty.
  function cells(lane, k, P, N, done) {
    const box = lanes[lane], columns = P + N - 1, width = Math.max(200, box.box.clientWidth || 300);
    const w = Math.min(26, width / columns), h = Math.min(18, Math.max(3, 300 / N)), gap = w > 5 && h > 5 ? 1 : 0;
    const c = gptviz.canvas(box.canvas, Math.ceil(columns * w), Math.ceil(N * h));
    box.cell = { w, h };
    const full = gptviz.mix("--card", TOKEN[lane], 0.9), pale = gptviz.mix("--card", TOKEN[lane], 0.25), none = gptviz.css("--grid"), back = gptviz.css("--card");
    const run = (i, from, to, colour) => { c.fillStyle = colour; c.fillRect(from * w, i * h, (to - from) * w, Math.max(h - gap, 0.5)); };
    for (let i = 0; i < N; i++) {
      const end = P + i;
      if (i >= done.length) run(i, 0, end, none);
      else if (lane === "uncached" || i === 0) run(i, 0, end, full);
      else { run(i, 0, end - 1, pale); run(i, end - 1, end, full); }
    }
    c.fillStyle = back; // the gaps between columns, one line each
    if (gap) for (let j = 1; j <= columns; j++) c.fillRect(j * w - 1, 0, 1, N * h);
    const total = done.reduce((sum, s) => sum + s[5 + k][0], 0);
    box.now.textContent = `${whole(total)} position${total === 1 ? "" : "s"}`;
    box.canvas.setAttribute("aria-label", `${words.lanes[lane]}: ${done.length} of ${N} steps, ${whole(total)} positions run`);
  }
  function speak(lane, event) {
    const box = lanes[lane], i = Math.floor(event.offsetY / box.cell.h), j = Math.floor(event.offsetX / box.cell.w), P = mine.prompt, done = steps();
    if (i < 0 || i >= mine.new || j < 0 || j >= P + i) { conclude(); return; }
    const name = j < P ? mine.tokens[j] : done[j - P] ? done[j - P][0] : "…", place = em(`${name} (position ${j})`, lane === "uncached" ? "w" : "");
    if (i >= done.length) say(sentence, `Step ${i + 1} has not run yet.`);
    else if (lane === "cached" && i > 0 && j < P + i - 1) say(sentence, `Step ${i + 1} reads K and V of `, place, " from the cache.");
    else if (lane === "uncached" && (i > 0 && j < P + i - 1)) say(sentence, `Step ${i + 1} computes K and V of `, place, ` again: the ${ordinal(i + 1 - Math.max(0, j - P + 1))} time, with the same result.`);
    else say(sentence, `Step ${i + 1} computes K and V of `, place, " for the first time.");
  }
  const ordinal = (n) => n + (n % 10 === 1 && n !== 11 ? "st" : n % 10 === 2 && n !== 12 ? "nd" : n % 10 === 3 && n !== 13 ? "rd" : "th");
  function conclude() {
    const done = steps(), a = sums(done, 5), b = sums(done, 6);
    if (!done.length) { say(sentence, "Each row will be one new token, each cell one position run through the model."); return; }
    const few = a[0] / b[0] < 1.05;
    say(sentence, em(whole(a[0]), "w"), " positions without the cache, ", em(whole(b[0])), " with it", few ? ": nothing to save yet. The prompt has to be read once either way." : `: ${times(a[0] / b[0])} as many for the same text.`);
  }
  const times = (x) => (x < 10 ? x.toFixed(1) : whole(x)) + " times";
  const sums = (done, at) => done.reduce((sum, s) => sum.map((x, i) => x + s[at][i]), [0, 0, 0, 0, 0, 0]);

  function counters(done) {
    const a = sums(done, 5), b = sums(done, 6), show = [whole, whole, whole, big, size, seconds];
    table.textContent = "";
    table.append(el("thead", {}, el("tr", {}, el("th", {}, ""), ...LANES.map((lane) => el("th", { class: "n " + lane, scope: "col" }, words.lanes[lane])), el("th", { class: "n", scope: "col" }, "factor"))));
    table.append(el("tbody", {}, ...LINES.map((name, i) => el("tr", i === 5 ? { class: "measured" } : {}, el("th", { scope: "row" }, name), el("td", { class: "n" }, show[i](a[i])), el("td", { class: "n" }, show[i](b[i])),
      el("td", { class: "n" }, a[i] && b[i] && i !== 2 ? "×\u00a0" + (a[i] / b[i]).toFixed(1) : "")))));
  }
  function same(done) {
    const width = Math.max(200, deltas.parentElement.clientWidth - 32), height = 90, worst = Math.max(...done.map((s) => s[2]), 0), agree = done.filter((s) => s[1]).length;
    const c = gptviz.canvas(deltas, width, height), w = Math.min(22, width / Math.max(mine.new, 1));
    c.fillStyle = gptviz.css("--rule"); c.fillRect(0, height - 1, w * mine.new, 1);
    done.forEach((s, i) => { const h = worst ? Math.max(2, (s[2] / worst) * (height - 8)) : 2; c.fillStyle = gptviz.css(s[1] ? "--key" : "--warn"); c.fillRect(i * w, height - 1 - h, Math.max(1, w - 2), h); });
    verdict.textContent = done.length ? `${agree} of ${done.length} times both lanes chose the same token. Largest logit difference: ${number(worst)} in ${mine.dtype}.` : "Nothing compared yet.";
    deltas.setAttribute("aria-label", verdict.textContent);
  }
  function memory(done, P) {
    const each = mine.each, last = done[done.length - 1];
    if (mine.parts) {
      const [L, h, d, bytes] = mine.parts;
      line.textContent = words.memory_line.replace("{layers}", L).replace("{kv_heads}", h).replace("{width}", d).replace("{element}", bytes).replace("{per_token}", whole(each));
    } else line.textContent = mine.weighs;
    const most = each * (P + mine.new - 1), held = last ? last[3] : 0;
    bar.firstChild.style.width = (100 * held / most).toFixed(1) + "%";
    weighs.textContent = last ? `${mine.parts ? `${whole(last[4] / each)} tokens × ${whole(each)} bytes = ` : ""}${whole(last[4])} bytes. The tensors hold ${whole(held)} bytes: ${held === last[4] ? "the same" : "not the same"}.` : "Empty so far.";
  }
  const big = (x) => scaled(x, 1000, ["", " k", " M", " G", " T"]), size = (x) => scaled(x, 1000, [" B", " kB", " MB", " GB", " TB"]);
  function scaled(x, base, units) {
    let k = 0;
    while (x >= base && k < units.length - 1) { x /= base; k++; }
    return (k && x < 100 ? x.toFixed(1) : whole(x)) + units[k].replace(" ", "\u00a0");
  }
  const seconds = (x) => (x < 1 ? (1000 * x).toFixed(x < 0.01 ? 1 : 0) + " ms" : x.toFixed(2) + " s");
  return draw;
};
