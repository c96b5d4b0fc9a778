// Teacher forcing as a picture: what is read above, what is asked below, and what each answer cost.
"use strict";
// The mean loss is asked for before it is shown; what else would tell it waits for the same guess.
gptviz.loss = { shown: false, waiting: [], show() { if (this.shown) return; this.shown = true; this.waiting.splice(0).forEach((fn) => fn()); },
  when(fn) { if (this.shown) fn(); else this.waiting.push(fn); } };
gptviz.mount.lossstrip = function (root, io) {
  const { el, say, em, percent, number, whole } = gptviz;
  const MOST = 300; // columns; the page would crawl beyond, and the loss counts all of them anyway
  let v = null, picked = 0, revealed = false;

  const strip = el("div", { class: "gv-forced", role: "listbox", tabindex: "0", "aria-label": "Positions; arrow keys move" });
  const more = el("p", { class: "gv-cap" }), note = el("p", { class: "gv-say" });
  const show = el("button", { type: "button", class: "gv-btn", onclick: () => reveal() }, "Show what it said");
  const totals = el("div", { class: "gv-totals" });
  const legend = el("span", { class: "gv-legend" }, "0 nats", el("i", { class: "gv-nats" }), "8 and more (colour grows with the square root)");
  const sentence = el("p", { class: "gv-say", "aria-live": "polite" });
  const bars = el("div", { class: "gv-guesses" });
  const left = el("section", { class: "gv-fig" },
    el("div", { class: "gv-figtitle" }, "Read above, asked below", el("span", { class: "gv-cap" }, "each position is asked for the token that follows"), el("span", { class: "gv-push" }), show),
    strip, more, legend);
  const right = el("section", { class: "gv-fig" }, totals, sentence, bars);
  const body = el("div", { class: "gv-two gv-lossstrip" }, left, right);
  root.append(body, note);
  gptviz.loss.when(() => reveal());

  function draw(value) {
    if (!value) return;
    body.hidden = Boolean(value.note); note.hidden = !value.note; note.textContent = value.note || "";
    if (value.note) { v = null; return; }
    const fresh = !v || value.text !== v.text || value.model !== v.model;
    v = value;
    if (fresh) picked = revealed ? value.start : 0;
    if (value.reveal && !revealed) reveal(); else paint();
  }

  // The dearest token is marked only now, since the page asks for it first.
  function reveal() { if (revealed) return; revealed = true; if (v) { picked = v.start; paint(); } gptviz.loss.show(); }
  function paint() {
    strip.textContent = "";
    const count = Math.min(v.nats.length, MOST);
    for (let t = 0; t < count; t++) strip.append(column(t));
    more.textContent = v.nats.length > MOST ? `… and ${whole(v.nats.length - MOST)} more positions, all of them in the mean.` : "";
    legend.hidden = !revealed; show.hidden = revealed;
    say(totals, figure(whole(v.nats.length), "predictions in one pass"),
      figure(revealed ? number(v.loss, 3) : "?", "mean loss, nats"),
      figure(revealed ? number(v.perplexity, 1) : "?", "perplexity, e to the loss"));
    speak();
  }
  const figure = (big, small) => el("div", {}, el("b", {}, big), el("span", {}, small));

  function column(t) {
    const target = el("span", { class: "gv-target" }, v.tokens[t + 1]);
    const price = el("span", { class: "gv-price" }, revealed ? v.nats[t].toFixed(1) : "·");
    if (revealed) {
      const share = Math.min(1, Math.sqrt(v.nats[t] / 8));
      target.style.background = gptviz.mix("--grid", "--warn", share);
      target.style.color = share > 0.62 ? "var(--paper)" : "var(--ink)";
    }
    return el("div", { class: "gv-fcol", role: "option", "aria-selected": String(t === picked), "aria-label": about(t), onclick: () => pick(t), onpointerenter: (e) => { if (e.pointerType === "mouse") pick(t); } },
      el("span", { class: "gv-given" }, v.tokens[t]), el("span", { class: "gv-arrow", "aria-hidden": "true" }, "↓"), target, price);
  }
  const about = (t) => `after ${v.tokens[t]} comes ${v.tokens[t + 1]}` + (revealed ? `, ${v.nats[t].toFixed(2)} nats` : "");

  function pick(t) {
    if (t === picked) return;
    strip.children[picked]?.setAttribute("aria-selected", "false");
    picked = Math.max(0, Math.min(Math.min(v.nats.length, MOST) - 1, t));
    strip.children[picked]?.setAttribute("aria-selected", "true");
    speak();
  }
  strip.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[e.key];
    if (!step || !v) return;
    e.preventDefault(); pick(Math.max(0, Math.min(v.nats.length - 1, picked + step)));
    strip.children[picked]?.scrollIntoView({ block: "nearest" });
  });

  function speak() {
    bars.textContent = "";
    const target = em(v.tokens[picked + 1], "w"), given = em(v.tokens[picked]);
    if (!revealed) { say(sentence, "Having read everything up to ", given, ", the model is asked for ", target, ". Guess what that costs, then look."); return; }
    const place = v.rank[picked] === 1 ? "its first guess" : `its guess number ${whole(v.rank[picked])} of ${whole(v.vocabulary)}`;
    say(sentence, "Having read up to ", given, ", the model gave ", target, " ", em(percent(v.p[picked])), ": ", place, `. Loss: −ln ${number(v.p[picked], 4)} = ${number(v.nats[picked], 2)} nats.`);
    const hit = v.guesses[picked].some(([token]) => token === v.tokens[picked + 1]);
    for (const [token, p, id] of v.guesses[picked]) bars.append(bar(token, p, id === v.targets[picked]));
    if (!hit) bars.append(bar(v.tokens[picked + 1], v.p[picked], true));
  }
  function bar(token, p, truth) {
    const fill = el("i"); fill.style.width = Math.max(0.4, 100 * p) + "%";
    if (truth) fill.style.background = "var(--warn)";
    return el("div", { class: "gv-guess" }, el("span", { class: "gv-tok" }, token), el("span", { class: "gv-bar" }, fill), el("span", { class: "n" }, percent(p)));
  }
  return draw;
};
