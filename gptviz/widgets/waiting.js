// Controls that ask about a text that is still on its way: off until it is there, beside a quiet line that says why.
"use strict";
gptviz.waiting = function (...boxes) {
  const line = gptviz.el("p", { class: "gv-cap gv-waiting", role: "status" }, "Waiting for the model.");
  function set(off) {
    for (const box of boxes) for (const node of box.querySelectorAll("button, input, select")) node.disabled = off;
    line.hidden = !off;
  }
  set(true);
  return { line, over() { if (!line.hidden) set(false); } };
};
