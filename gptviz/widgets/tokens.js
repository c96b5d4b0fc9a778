// The token strip: what the model really reads. Blanks are visible, pieces of one character are joined.
"use strict";
gptviz.mount.tokens = function (root) {
  const { el } = gptviz;
  const MOST = 400; // chips; beyond that the page would crawl, and nobody reads them
  return function draw(value) {
    root.textContent = "";
    if (!value) return;
    const strip = el("div", { class: "gv-strip" });
    let drawn = 0;
    for (const [start, stop, shown] of value.groups) {
      if (drawn >= MOST) break;
      strip.append(stop - start === 1 ? chip(value.tokens[start], start) : joined(value.tokens, start, stop, shown));
      drawn += stop - start;
    }
    if (value.count > drawn) strip.append(el("span", { class: "gv-cap" }, `… and ${gptviz.whole(value.count - drawn)} more`));
    root.append(strip, el("div", { class: "gv-cap" }, caption(value)));
  };
  function chip(token, index) {
    const node = el("span", { class: "gv-tok", tabindex: "0", title: about(token, index), "aria-label": about(token, index) });
    // A leading blank belongs to its token and is drawn faint.
    if (token.shown.startsWith("·") && token.shown.length > 1) node.append(el("i", {}, "·"), token.shown.slice(1));
    else node.append(token.shown);
    return node;
  }
  function joined(tokens, start, stop, shown) {
    const box = el("span", { class: "gv-joined", title: `${shown}: one character in ${stop - start} tokens` });
    for (let k = start; k < stop; k++) box.append(chip(tokens[k], k));
    box.append(el("b", {}, shown));
    return box;
  }
  function about(t, k) {
    const hex = t.bytes.map((b) => b.toString(16).toUpperCase().padStart(2, "0")).join(" ");
    return `position ${k}, id ${t.id}, ${t.bytes.length === 1 ? "byte" : "bytes"} ${hex}`;
  }
  function caption(v) {
    const count = `${gptviz.whole(v.count)} ${v.count === 1 ? "token" : "tokens"} of at most ${gptviz.whole(v.context)}; · is a blank that belongs to its token. Hover a token for its id and bytes.`;
    const blank = v.trailing_blank ? " The text ends with a blank: most words begin with theirs, so the next word is harder to guess." : "";
    return count + blank + changed(v.losses);
  }
  // What the tokens do not hold as it was typed, stretch by stretch; equal ones are named once.
  function changed(losses) {
    const told = {
      unknown: (loss) => `“${loss.was}” is unknown to this vocabulary and read as ${loss.became}`,
      normalised: (loss) => `“${loss.was}” is read as “${loss.became}”`,
      lost: (loss) => `“${loss.was}” is dropped`,
      added: (loss) => `${loss.became} is added${loss.start ? "" : " in front"}`,
    };
    const named = [...new Set(losses.map((loss) => told[loss.kind](loss)))];
    const more = named.length > 5 ? `; and ${gptviz.whole(named.length - 5)} more` : "";
    return named.length ? ` Not as typed: ${named.slice(0, 5).join("; ")}${more}.` : "";
  }
};
