// Below the map, for the same open layers: what the heads weigh on later tokens, and what it does to the loss.
"use strict";
gptviz.leaks = function (io) {
  const { el, say, em, percent } = gptviz;
  const words = io.fixed.words;
  let v = null, found = null, request = null, panel = null, key = "", picked = null;

  const gridBox = el("div"), list = el("div", { class: "gv-leaklist" }), headSays = el("p", { class: "gv-say", "aria-live": "polite" });
  const heads = el("div", { class: "gv-leakheads" }, gridBox, el("div", {}, headSays, list));
  const headsReveal = gptviz.reveal(words.heads, heads, () => load());
  const grid = gptviz.headGrid(gridBox, { onpick: (l, h) => { picked = [l, h]; tell(); } });

  const lossBox = el("div"), lossSays = el("p", { class: "gv-say", "aria-live": "polite" }), lossCell = el("p", { class: "gv-cap" });
  const loss = el("div", {}, lossBox, lossSays, lossCell, el("p", { class: "gv-note" }, words.loss_note));
  const lossReveal = gptviz.reveal(words.loss, loss, () => drawLoss());
  const sheet = gptviz.sheet(lossBox, { label: "Loss of each token with and without the mask", onmove: (r, k, x) => {
    say(lossCell, em(v.tokens[k + 1]), ` costs ${x.toFixed(2)} nats with ${r ? "the layers as you set them" : "every mask on"}.`);
  } });
  const node = el("div", { class: "gv-leaks" },
    el("section", { class: "gv-fig" }, el("div", { class: "gv-figtitle" }, "What the heads read now", el("span", { class: "gv-cap" }, "orange: weight on a token that comes later")), headsReveal.asked, headsReveal.frame),
    el("section", { class: "gv-fig" }, el("div", { class: "gv-figtitle" }, "What the open layers do to the loss", el("span", { class: "gv-cap" }, "nats for each true next token")), lossReveal.asked, lossReveal.frame));

  for (const part of [headsReveal, lossReveal]) part.asked.hidden = true; // until there is something to guess about

  function take(view, answer) {
    v = view; found = answer; request = answer.request;
    const open = found.open_layers.length > 0;
    for (const part of [headsReveal, lossReveal]) { part.wait(open); part.asked.hidden = !open; }
    drawLoss();
    load();
  }

  // The small pictures are large, so they are fetched apart from the map, and once for each setting.
  async function load() {
    if (!v) return;
    const now = JSON.stringify(request);
    if (now === key) { drawHeads(); return; }
    key = now; panel = null;
    heads.setAttribute("aria-busy", "true");
    const answer = await io.server.heads(request).catch(() => ({ error: "The server did not answer; is it still running?" }));
    if (key !== now) return;
    heads.removeAttribute("aria-busy");
    if (answer.error) { panel = null; say(headSays, em(answer.error, "w")); list.textContent = ""; return; }
    panel = { ...answer, bytes: gptviz.bytes(answer.thumbs), square: true, leak: answer.leaked };
    drawHeads();
  }
  function drawHeads() {
    if (!panel) return;
    const open = found.open_layers, wide = heads.clientWidth;
    grid.draw(panel, wide > 760 ? wide - 380 : wide - 8);
    if (!picked || picked[0] >= panel.layers || picked[1] >= panel.heads) picked = [open[0] ?? 0, 0];
    grid.describe();
    tell();
  }
  function tell() {
    if (!panel) return;
    const open = found.open_layers, all = panel.leaked.flatMap((row, l) => row.map((x, h) => [x, l, h])).sort((a, b) => b[0] - a[0]);
    list.textContent = "";
    if (!open.length) {
      say(headSays, `All ${panel.layers * panel.heads} heads together weigh later tokens with `, em(all[0][0] === 0 ? "exactly 0" : percent(all[0][0])), ". Take a mask away to see orange.");
      return;
    }
    const mean = open.reduce((sum, l) => sum + panel.leaked[l].reduce((a, b) => a + b, 0) / panel.heads, 0) / open.length;
    say(headSays, "The heads of the open layers give ", em(percent(mean), "w"), " of their weight to later tokens; all other heads ", em("exactly 0"), ".");
    list.append(el("p", { class: "gv-cap" }, "Most weight on later tokens"));
    for (const [x, l, h] of all.slice(0, 8)) {
      if (x === 0) continue;
      const bar = el("i", {});
      bar.style.width = Math.max(1, 100 * x) + "%";
      list.append(el("div", { class: "gv-leakbar" }, el("span", {}, `layer ${l}, head ${h}`), el("div", {}, bar), el("span", {}, percent(x))));
    }
    const share = mean > 0.5 ? 2 : mean > 0.1 ? 1 : 0;
    headsReveal.answer({ index: share, text: `The open layers give ${percent(mean)} of their weight to tokens on the right; the most leaky head is layer ${all[0][1]}, head ${all[0][2]}, with ${percent(all[0][0])}.` });
  }

  function drawLoss() {
    if (!v || !found) return;
    const rows = [found.loss.causal, found.loss.changed], open = found.open_layers.length > 0, T = v.tokens.length;
    lossBox.hidden = T < 2;
    if (T < 2) { say(lossSays, "One token has no next token to score."); lossCell.textContent = ""; return; }
    const mean = rows.map((row) => row.reduce((a, b) => a + b, 0) / row.length);
    sheet.draw({
      count: open ? 2 : 1, columns: v.tokens.slice(1), rows: open ? ["all masks on", "as set"] : ["all masks on"], high: [24, 30], start: [0, 0],
      at: (r, k) => rows[r][k], shade: (r, k, x) => [r ? "--warn" : "--key", Math.max(0, Math.min(1, x / 12))], text: (x) => x.toFixed(1),
    });
    if (!open) { say(lossSays, "With every mask on this text costs ", em(`${mean[0].toFixed(2)} nats`), " a token. Take a mask away to compare."); return; }
    const by = mean[1] - mean[0], same = Math.abs(by) < 0.05;
    say(lossSays, "All masks on: ", em(`${mean[0].toFixed(2)} nats`), " a token. As set: ", em(`${mean[1].toFixed(2)} nats`, "w"), same ? ", about the same." : by > 0 ? ": worse, although it sees more." : ": better.");
    lossReveal.answer({ index: same ? 2 : by > 0 ? 1 : 0, text: `${mean[0].toFixed(2)} nats a token with all masks on, ${mean[1].toFixed(2)} with the layers you opened.` });
  }
  return { node, take };
};
