// Surprise of every token of the prompt, and the prediction after each layer at a chosen one.
"use strict";
gptviz.mount.lens = function (root, io) {
  const { el, say, em, whole } = gptviz, MOST = 400;
  let v = null, asked = 0, seen = "";
  const strip = el("div", { class: "gv-strip", role: "group", "aria-label": "Tokens shaded by their surprise; choose a position" }), facts = el("p", { class: "gv-cap" });
  const sentence = el("p", { class: "gv-say", "aria-live": "polite" }), table = el("div", { class: "gv-scroll" });
  const bar = el("i"), legend = el("span", { class: "gv-legend" }, "0 nats", bar, "10 and more");
  bar.style.background = "linear-gradient(90deg, var(--grid), var(--warn))";
  root.append(el("section", { class: "gv-fig" }, el("div", { class: "gv-figtitle" }, "Surprise of each token", el("span", { class: "gv-push" }), legend), strip, facts, sentence, table));

  return function draw(value) {
    if (!value) return;
    const key = JSON.stringify([value.text, value.model, value.loss]); // the same value comes twice from Gradio
    if (key !== seen) { seen = key; v = { ...value }; asked++; }
    tokens(); rows(v);
  };

  function tokens() {
    strip.textContent = "";
    v.tokens.slice(0, MOST).forEach((shown, k) => {
      const nats = k ? v.nats[k - 1] : null, share = nats === null ? 0 : Math.min(1, nats / 10);
      const node = el("button", { type: "button", class: "gv-tok gv-nat", "aria-pressed": String(k === v.position), onclick: () => pick(k),
        title: nats === null ? "the first token: nothing came before it, so it has no surprise" : `surprise ${nats.toFixed(2)} nats: the model gave it ${gptviz.share(Math.exp(-nats))}` });
      node.style.background = gptviz.mix("--grid", "--warn", share);
      if (share > 0.6) node.style.color = gptviz.css("--paper");
      if (shown.startsWith("·") && shown.length > 1) node.append(el("i", {}, "·"), shown.slice(1)); else node.append(shown);
      strip.append(node);
    });
    if (v.tokens.length > MOST) strip.append(el("span", { class: "gv-cap" }, `… and ${whole(v.tokens.length - MOST)} more`));
    facts.textContent = v.loss === null ? "One token alone has no surprise." : `Mean surprise ${v.loss.toFixed(2)} nats a token: a perplexity of ${v.perplexity < 1000 ? v.perplexity.toFixed(1) : whole(v.perplexity)}. The last token is chosen when the page opens; choose any other.`;
  }

  async function pick(position) {
    const mine = ++asked;
    v.position = position;
    [...strip.children].forEach((node, k) => node.setAttribute?.("aria-pressed", String(k === position)));
    table.setAttribute("aria-busy", "true");
    const answer = await io.server.layers({ text: v.text, model: v.model, position }).catch(() => ({ error: "The server did not answer; is it still running?" }));
    if (mine !== asked) return;
    table.removeAttribute("aria-busy");
    if (answer.error) { say(sentence, em(answer.error, "w")); return; }
    Object.assign(v, answer);
    rows(v);
  }

  function rows({ rows: packed, position, note, tokens: words }) {
    const list = JSON.parse(packed);
    if (!list.length) { say(sentence, note); table.textContent = ""; return; }
    const last = list[list.length - 1], favourite = last.shown[0], first = list.findIndex((r, k) => list.slice(k).every((s) => s.final_rank === 1));
    say(sentence, "After ", em(words[position]), position + 1 < words.length ? ` (position ${position}) the model expects ` : " the model expects ", em(favourite), ". ",
      first === list.length - 1 ? "It settles on that only after the last layer." : first ? `It settles on that after layer ${first - 1}; the last is layer ${list.length - 2}.` : "The embedding alone says so already.");
    const head = el("tr", {}, ...["stream", "would say", "", "", "", "", "entropy", "gives the final choice", "rank"].map((t, k) => el("th", { class: k === 6 ? "n open" : k === 8 ? "n" : k > 1 && k < 6 ? "more" : "" }, t)));
    table.replaceChildren(el("table", { class: "gv-table gv-layers" }, el("thead", {}, head), el("tbody", {}, ...list.map((r) => row(r, last.ids[0])))));
  }
  function row(r, favourite) {
    const cells = r.shown.map((shown, k) => {
      const chip = el("span", { class: "gv-said" + (r.ids[k] === favourite ? " fav" : ""), title: gptviz.share(r.p[k]) }, shown);
      chip.style.background = gptviz.mix("--card", "--key", 0.55 * Math.sqrt(r.p[k]));
      return el("td", { class: k ? "more" : "" }, chip);
    });
    const meter = el("div", { class: "gv-ptrack" }, el("i"));
    meter.firstChild.style.transform = `scaleX(${r.final_p})`;
    return el("tr", {}, el("td", {}, r.layer === 0 ? "embedding" : `after layer ${r.layer - 1}`), ...cells, el("td", { class: "n open" }, r.entropy.toFixed(2)),
      el("td", {}, el("div", { class: "gv-metercell" }, meter, el("span", {}, gptviz.share(r.final_p)))), el("td", { class: "n" }, whole(r.final_rank)));
  }
};
