// The address is the state: what it may hold is checked by the same description as the server's.

/** @typedef {{ kind: string, default: any, low: number, high?: number, choices: string[] }} Field */

const YES = new Map([
  ["yes", true],
  ["1", true],
  ["no", false],
  ["0", false],
]);

/** @type {Record<string, (field: Field, given: string) => any>} */
const KINDS = {
  int: (f, s) => (/^-?\d{1,15}$/.test(s) && within(f, Number(s)) ? Number(s) : undefined),
  float: (f, s) => (/^-?\d{1,15}(\.\d{1,15})?$/.test(s) && within(f, Number(s)) ? Number(s) : undefined),
  choice: (f, s) => (f.choices.includes(s) ? s : undefined),
  text: (_, s) => (s.length <= 200 ? s : undefined),
  layers: (_, s) => (["", "all", "middle"].includes(s) || /^\d{1,4}(,\d{1,4}){0,255}$/.test(s) ? s : undefined),
  head: (_, s) => (s === "" || /^\d{1,4}\.\d{1,4}$/.test(s) ? s : undefined),
  heads: (_, s) => (s === "" || /^\d{1,4}\.\d{1,4}(,\d{1,4}\.\d{1,4}){0,999}$/.test(s) ? s : undefined),
  yes: (_, s) => YES.get(s),
};

/** @param {Field} field @param {number} value */
const within = (field, value) => value >= field.low && value <= (field.high ?? Infinity);

/**
 * The value a text stands for, or undefined.
 * @param {Field} field
 * @param {string} given
 * @returns {any}
 */
export const parse = (field, given) => KINDS[field.kind](field, given.trim());

/**
 * A field's value as the address has it.
 * @param {Field} field
 * @param {any} value
 */
export function format(field, value) {
  if (field.kind === "yes") return value ? "1" : "0";
  if (field.kind === "float") return String(+Number(value).toFixed(6));
  return String(value);
}

/** Pages that had another name in older links. */
const OLD = new Map([["anatomy", "inside"]]);

/**
 * What the address asks for. Bad values are left out and named in `bad`.
 * @param {string} search
 * @param {any} manifest
 */
export function read(search, manifest) {
  const given = new URLSearchParams(search);
  const bad = [];
  const asked = given.get("lesson") || "";
  const name = OLD.get(asked) || asked;
  const found = manifest.pages.find((/** @type {any} */ p) => p.key === name);
  if (asked && !found) bad.push("lesson");
  const page = found || manifest.pages[0];
  const step = Number(given.get("step") || 1);
  const fits = Number.isInteger(step) && step >= 1 && step <= page.steps.length;
  if (!fits) bad.push("step");
  const fields = /** @type {Record<string, any>} */ ({});
  for (const [key, field] of Object.entries(page.fields)) {
    const text = given.get(key);
    if (text === null) continue;
    const value = parse(/** @type {Field} */ (field), text);
    if (value === undefined) bad.push(key);
    else fields[key] = value;
  }
  return { page: page.key, step: fits ? step : 1, prompt: given.get("prompt"), model: given.get("model"), fields, bad };
}

/**
 * The address of a state: only what differs from the step's own.
 * @param {any} state
 * @param {any} page
 * @param {Record<string, string>} view
 * @param {Record<string, any>} own the step's own values of all fields
 */
export function write(state, page, view, own) {
  const out = new URLSearchParams();
  out.set("lesson", page.key);
  if (state.step > 1) out.set("step", String(state.step));
  if (state.prompt !== null && page.prompted) out.set("prompt", state.prompt);
  if (state.model) out.set("model", state.model);
  for (const [key, field] of Object.entries(page.fields)) {
    const f = /** @type {Field} */ (field);
    if (format(f, state.fields[key]) !== format(f, own[key])) out.set(key, format(f, state.fields[key]));
  }
  for (const [key, value] of Object.entries(view)) out.set(key, value);
  return `?${out}`;
}
