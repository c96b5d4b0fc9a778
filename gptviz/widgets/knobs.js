// Temperature, top-k and top-p: a slider and a number field each, and the order of the last two steps.
"use strict";
gptviz.knobs = function (root, { onchange }) {
  const { el, segment, say, em } = gptviz;
  const PLAIN = { temperature: 1, topK: 0, topP: 1, topPFirst: false };
  let settings = { ...PLAIN }, ladder = [0], V = 0;
  const trouble = el("p", { class: "gv-cap gv-trouble", "aria-live": "polite" });

  // top-k moves along round numbers, since 1 to 50,000 in equal steps would leave no room for the small ones.
  function steps(most) {
    const all = [0];
    for (let ten = 1; ten < most; ten *= 10) for (const k of [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]) if (Number.isInteger(k * ten) && k * ten < most) all.push(k * ten);
    return [...all, most];
  }
  const nearest = (k) => ladder.reduce((best, step, i) => Math.abs(step - k) < Math.abs(ladder[best] - k) ? i : best, 0);

  const KNOBS = [
    { key: "temperature", text: "temperature", max: 5, step: 0.05, to: (x) => x, from: (s) => s },
    { key: "topK", text: "top-k", max: 1, step: 1, to: nearest, from: (s) => ladder[s] },
    { key: "topP", text: "top-p", max: 1, step: 0.01, to: (x) => x, from: (s) => s },
  ];
  for (const knob of KNOBS) {
    const id = `gv-knob-${knob.key}`;
    knob.slider = el("input", { type: "range", min: 0, max: knob.max, step: knob.step, "aria-label": `${knob.text} slider`, oninput: () => set({ [knob.key]: knob.from(Number(knob.slider.value)) }) });
    knob.field = el("input", { type: "number", class: "gv-in", id, min: 0, step: "any", oninput: () => typed(knob) });
    knob.note = el("span", { class: "gv-cap" });
    root.append(el("div", { class: "gv-knob" }, el("label", { for: id }, knob.text), knob.slider, knob.field, knob.note));
  }
  const order = segment("Order of the steps", [["0", "temperature → top-p"], ["1", "top-p → temperature"]], "0", (x) => set({ topPFirst: x === "1" }));
  const reset = el("button", { type: "button", class: "gv-btn", onclick: () => set(PLAIN) }, "Reset");
  root.append(el("div", { class: "gv-knobend" }, order.box, reset), trouble);

  // An empty field is not a number; the bars then keep the last good value, and the sentence says so.
  function typed(knob) {
    const value = knob.field.value.trim() === "" ? NaN : Number(knob.field.value);
    const wrong = gptviz.sampling.check({ ...settings, [knob.key]: value });
    knob.field.setAttribute("aria-invalid", String(Boolean(wrong)));
    if (wrong) { say(trouble, em(wrong, "w")); return; }
    set({ [knob.key]: value }, knob);
  }
  function set(change, typing) {
    settings = { ...settings, ...change };
    trouble.textContent = settings.topK > V && V ? `top-k is above the ${gptviz.whole(V)} tokens there are: all are kept.` : "";
    for (const knob of KNOBS) {
      const value = settings[knob.key];
      knob.slider.value = knob.to(value);
      knob.slider.setAttribute("aria-valuetext", said(knob.key, value));
      if (knob !== typing) { knob.field.value = String(+value.toFixed(8)); }
      knob.field.setAttribute("aria-invalid", "false");
      knob.note.textContent = said(knob.key, value);
    }
    order.set(settings.topPFirst ? "1" : "0");
    onchange(settings);
  }
  function said(key, value) {
    if (key === "temperature") return value === 0 ? "greedy" : value < 1 ? "sharper" : value > 1 ? "flatter" : "untouched";
    if (key === "topK") return value === 0 ? "off" : value === 1 ? "the best one" : `the best ${gptviz.whole(value)}`;
    return value >= 1 ? "off" : value === 0 ? "the best one" : `${+(100 * value).toFixed(2)} % of the mass`;
  }
  function vocabulary(next) {
    V = next; ladder = steps(V);
    const knob = KNOBS[1];
    knob.slider.max = ladder.length - 1;
    set({});
  }
  return { set, vocabulary, settings: () => settings };
};
