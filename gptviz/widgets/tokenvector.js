// One token's vector on the way in and on the way out, with the rows of the table that point the same way.
"use strict";
gptviz.mount.tokenvector = function (root, io) {
  const { el, say, em, number } = gptviz;
  const chips = el("div", { class: "gv-chips", role: "group", "aria-label": "Choose a token" }), sides = el("div", { class: "gv-sides" }), sentence = el("p", { class: "gv-say", "aria-live": "polite" });
  root.append(el("section", { class: "gv-fig" }, el("h3", {}, "Choose a token of your text"), chips, sentence, sides));
  let v = null, wanted = 0;
  function draw(value) {
    root.hidden = !value;
    if (!value || value === v) return;
    v = value;
    chips.textContent = "";
    for (const [id, shown] of v.tokens) chips.append(el("button", { type: "button", class: "gv-chip gv-tokchip", "aria-pressed": String(id === v.first.id), onclick: (e) => pick(id, e.currentTarget) }, shown));
    show(v.first);
  }
  async function pick(id, chip) {
    const mine = ++wanted, of = v;
    [...chips.children].forEach((c) => c.setAttribute("aria-pressed", String(c === chip)));
    const answer = await io.server.near({ model: v.model, id }).catch(() => ({ error: "The server did not answer; is it still running?" }));
    if (mine !== wanted || of !== v) return;
    if (answer.error) say(sentence, em(answer.error, "w")); else show(answer);
  }
  function show(a) {
    const name = em(a.shown);
    if (a.tied) say(sentence, name, ` enters as row ${gptviz.whole(a.id)} of the token table, ${a.width} numbers of length ${number(a.norm, 2)}, and is scored on the way out by the same row: the same memory, largest difference `, em(a.max_delta === 0 ? "exactly 0" : number(a.max_delta, 3)), ".");
    else say(sentence, name, ` enters as row ${gptviz.whole(a.id)} of the token table and is scored by another row, the head’s own. They differ by up to `, em(number(a.max_delta, 3), "w"), ".");
    sides.textContent = "";
    sides.append(side(a.tied ? "Nearest rows, in and out" : "Nearest rows of the token table", a.near_in));
    if (!a.tied) sides.append(side("Nearest rows of the LM head", a.near_out));
  }
  function side(title, list) {
    const box = el("div", {}, el("p", { class: "gv-cap" }, `${title} (cosine)`));
    for (const [token, cosine] of list) {
      const fill = el("i"); fill.style.width = Math.max(0, 100 * cosine) + "%";
      box.append(el("div", { class: "gv-guess" }, el("span", { class: "gv-tok" }, token), el("span", { class: "gv-bar" }, fill), el("span", { class: "n" }, cosine.toFixed(3))));
    }
    return box;
  }
  return draw;
};
