// How long the vector of each position is, to the last row of the table; or, without a table, how fast each pair turns.
"use strict";
gptviz.mount.positionnorms = function (root) {
  const { el, say, em, number, whole } = gptviz;
  const box = el("div"), sentence = el("p", { class: "gv-say", "aria-live": "polite" }), end = el("p", { class: "gv-cap" }), title = el("h3");
  root.append(el("section", { class: "gv-fig" }, title, box, sentence, end));
  let v = null;
  const curve = gptviz.curve(box, { label: "Length of each position's vector; arrow keys move", height: 175, onmove: speak });
  function speak(k) {
    if (v.kind === "learned") say(sentence, `Position ${k}: a vector of length `, em(number(v.norms[k], 3)), k < v.T ? ", used by your text." : k === v.rows - 1 ? ", the last row there is." : ".");
    else say(sentence, `Pair ${k} of each head’s vector makes a full turn in `, em(v.wavelengths[k] < 100 ? number(v.wavelengths[k], 1) : whole(v.wavelengths[k])), " tokens.");
  }
  return function draw(value) {
    root.hidden = !value || value.kind === "none";
    if (root.hidden) return;
    v = value;
    title.textContent = v.title; end.textContent = v.end;
    if (v.kind === "learned") curve.draw({ xs: v.norms.map((_, k) => k), x: "position", from: 0, series: [{ name: `length of the ${whole(v.rows)} rows of ${v.model}’s table`, ys: v.norms, token: "--key" }] });
    else curve.draw({ xs: v.wavelengths.map((_, k) => k), x: "pair of dimensions", series: [{ name: "tokens for one full turn (power of ten)", ys: v.wavelengths.map(Math.log10), token: "--key", dots: true }] });
  };
};
