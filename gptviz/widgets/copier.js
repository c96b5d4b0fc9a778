// Two losses while two small models learn; the level no honest model gets below on tokens of chance.
"use strict";
gptviz.mount.copier = function (root) {
  const { el, say, em, number } = gptviz;
  const box = el("div"), sentence = el("p", { class: "gv-say", "aria-live": "polite" });
  const fig = el("section", { class: "gv-fig", hidden: true }, el("h3", {}, "Two models, the same tokens of chance"), box, sentence);
  root.append(fig);
  let v = null;
  const curve = gptviz.curve(box, { label: "Training loss of both models over the steps; arrow keys move", onmove: speak });
  function speak(k) {
    say(sentence, `Step ${v.steps[k]}: scored on the next token `, em(number(v.shifted[k], 3)), ", scored on the same token ", em(number(v.unshifted[k], 3), "w"),
      ` nats. Chance alone costs ln ${v.vocabulary} = ${number(v.floor, 3)}.`);
  }
  return function draw(value) {
    fig.hidden = !value || !value.steps.length;
    if (fig.hidden) return;
    v = value;
    curve.draw({ xs: v.steps, x: "training step", from: 0, level: { value: v.floor, name: `ln ${v.vocabulary}: the best there is` }, series: [
      { name: "targets shifted", ys: v.shifted, token: "--key" }, { name: "targets not shifted", ys: v.unshifted, token: "--warn" }] });
  };
};
