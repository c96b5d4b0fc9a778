// Passes what a running generator sends on to the widget that started it; draws nothing.
"use strict";
gptviz.listeners = gptviz.listeners || new Set();
gptviz.mount.feed = function () {
  let last = null;
  return function draw(value) {
    if (!value || value === last) return;
    last = value;
    for (const listener of gptviz.listeners) listener(value);
  };
};
