// The same ending, scored after true text and after more and more of the model's own.
"use strict";
gptviz.mount.exposure = function (root) {
  const { el, say, em, number } = gptviz;
  const box = el("div"), sentence = el("p", { class: "gv-say", "aria-live": "polite" }), text = el("div", { class: "gv-fed" });
  const fig = el("section", { class: "gv-fig", hidden: true }, el("h3", {}, "Loss on the true ending"),
    el("div", { class: "gv-two" }, box, el("div", {}, text, sentence)));
  root.append(fig);
  let v = null;
  const curve = gptviz.curve(box, { label: "Loss on the true ending over the number of own tokens read; arrow keys move", onmove: speak });
  const piece = (token, kind) => el("span", { class: "gv-tok " + kind }, token);
  function speak(k) {
    const row = v.rows[k];
    say(text, ...row.before.map((t) => piece(t, "")), ...row.own.map((t, i) => piece(t, t === row.true[i] ? "gv-own" : "gv-own gv-off")), ...v.tail.map((t) => piece(t, "gv-tail")));
    const wrong = row.own.filter((t, i) => t !== row.true[i]).length;
    say(sentence, "The ending (underlined) costs ", em(number(row.loss, 3), k ? "w" : ""), " nats a token ",
      row.count === 0 ? "after the true text." : `and after other true text ${number(row.control, 3)}; shown: after ${row.count} of the model’s own tokens (orange), ${wrong} of them not what the text says.`);
  }
  return function draw(value) {
    fig.hidden = !value;
    if (fig.hidden) return;
    v = value;
    curve.draw({ xs: v.rows.map((r) => r.count), x: "tokens replaced", dots: true,
      level: { value: v.rows[0].loss, name: "after true text only" }, series: [{ name: "after its own words", ys: v.rows.map((r) => r.loss), token: "--warn", dots: true },
        { name: "after other true text", ys: v.rows.map((r) => r.control ?? r.loss), token: "--key", dash: [6, 4] }] });
  };
};
