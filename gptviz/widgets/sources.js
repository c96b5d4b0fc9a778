// The decoder's own code in two versions, and how far their logits are from the library's, measured on request.
"use strict";
gptviz.mount.sources = function (root, io) {
  const { el, say, em, number, whole } = gptviz;
  const WORDS = /(#.*$|"""[\s\S]*?"""|"[^"]*"|\b(?:class|def|return|self|super|for|in|if|else|not|and|or|import|from|raise|with|None|True|False|lambda)\b)/gm;
  let which = "short", v = null;
  const code = el("pre", { class: "gv-code gv-sideways", tabindex: "0" }), result = el("p", { class: "gv-say", "aria-live": "polite" });
  const choice = gptviz.segment("Implementation", [["short", "from PyTorch’s layers"], ["long", "from primitives"]], which, (k) => { which = k; paint(); });
  const check = el("button", { type: "button", class: "gv-btn", onclick: () => { say(result, "Running all three …"); io.trigger("act", {}); } }, "Check that they are equal");
  root.append(el("section", { class: "gv-fig" }, el("div", { class: "gv-figtitle" }, choice.box, el("span", { class: "gv-push" }), check), result, code));
  function paint() {
    const text = v.code[which];
    code.textContent = ""; code.setAttribute("aria-label", which === "short" ? "Code from PyTorch's layers" : "Code from primitives");
    let at = 0;
    for (const match of text.matchAll(WORDS)) {
      code.append(text.slice(at, match.index), el("span", { class: match[0][0] === "#" || match[0].startsWith('"') ? "gv-c" : "gv-k" }, match[0]));
      at = match.index + match[0].length;
    }
    code.append(text.slice(at));
  }
  return function draw(value) {
    if (!value) return;
    v = value; paint();
    const c = v.check;
    if (!c) { say(result, v.before); return; }
    say(result, `On ${whole(c.tokens)} tokens with the weights of ${c.model}, in ${c.dtype}, the largest difference of any logit is `, em(number(c.short_library, 2)), " between the short one and the library’s model, ", em(number(c.long_library, 2)), " for the long one, ", em(number(c.short_long, 2)), ` between the two. ${c.same_choices ? "All three prefer the same token at every position." : "Somewhere they prefer different tokens."} Parameters: ${whole(c.parameters)} each.`);
  };
};
