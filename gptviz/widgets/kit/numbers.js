// Numbers as people say them, in any language: the twin of gptviz/numbers.py, tested to give the same strings.
//
// Intl here and Babel there share the CLDR rules of a language (separators, percent sign, plurals). A number is rounded
// from its shortest decimal form, halves away from zero, in both. Blanks inside a number are no-break spaces.
// setNumbers() gives the language and its words; kit/words.js calls it.
// words: numbers.*

/** @typedef {string | {[category: string]: string}} Text a sentence, or its plural forms */
/** @typedef {{before: string, after: string}} Around what stands before and after the digits of a percentage */

const BLANK = "\u00a0";
const TINY = 1e-9; // a probability below it is "practically 0"
const SMALL = 1e-4; // a probability below it (0.01 %) is said as a chance
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

let language = "en";
/** @type {{[key: string]: Text}} */
let texts = {};
/** @type {Map<string, Intl.NumberFormat>} */
let formats = new Map();
/** @type {{[type: string]: Intl.PluralRules}} */
let rules = {};
/** @type {Around} */
let around = { before: "", after: BLANK + "%" };

/**
 * The language of all numbers from now on, and its words.
 * @param {string} name a BCP 47 tag
 * @param {{[key: string]: Text}} words the entries of words/numbers.toml
 */
export function setNumbers(name, words) {
  language = name;
  texts = words;
  formats = new Map();
  rules = {};
  around = percentSign();
}

/** @returns {Around} */
function percentSign() {
  if (language.split("-")[0] === "en") return { before: "", after: BLANK + "%" };
  const parts = new Intl.NumberFormat(language, { style: "percent", numberingSystem: "latn" }).formatToParts(0.5);
  const digits = parts.findIndex((part) => part.type === "integer");
  const join = (/** @type {Intl.NumberFormatPart[]} */ some) => some.map((part) => part.value).join("");
  // One kind of no-break space, whichever of the two this version of the CLDR data has.
  return { before: join(parts.slice(0, digits)), after: join(parts.slice(digits + 1)).replaceAll("\u202f", BLANK) };
}

/**
 * @param {string} key
 * @param {Intl.NumberFormatOptions} options
 * @returns {Intl.NumberFormat}
 */
function format(key, options) {
  let made = formats.get(key);
  if (!made) {
    made = new Intl.NumberFormat(language, { numberingSystem: "latn", useGrouping: true, ...options });
    formats.set(key, made);
  }
  return made;
}

/**
 * A real minus sign, and none before a zero.
 * @param {number} x
 * @param {string} shown the digits of |x|
 */
const signed = (x, shown) => (x < 0 && /[1-9]/.test(shown) ? "−" + shown : shown);

/**
 * @param {number | bigint} x
 * @param {number} most decimals
 * @param {number} [least] decimals that stand even if they are 0
 */
function fixed(x, most, least = most) {
  const options = { minimumFractionDigits: least, maximumFractionDigits: most };
  const size = typeof x === "bigint" ? (x < 0 ? -x : x) : Math.abs(x);
  return signed(Number(x), format(`f${least}-${most}`, options).format(size));
}

/**
 * Rounded to `most` figures, with zeros at the end only as far as `least` figures.
 * @param {number} x
 * @param {number} most
 * @param {number} [least]
 */
function significant(x, most, least = 1) {
  const options = { minimumSignificantDigits: least, maximumSignificantDigits: most };
  return signed(x, format(`s${least}-${most}`, options).format(Math.abs(x)));
}

/**
 * The digits of 100 p, without the sign: Intl moves the point exactly, a product would round.
 * @param {number} p
 * @param {string} key
 * @param {Intl.NumberFormatOptions} options
 */
function percentDigits(p, key, options) {
  const parts = format(`p${key}`, { style: "percent", ...options }).formatToParts(Math.abs(p));
  const digits = parts.filter((part) => !["percentSign", "literal"].includes(part.type));
  return signed(p, digits.map((part) => part.value).join(""));
}

/** @param {string} shown */
const wrap = (shown) => around.before + shown + around.after;

/**
 * @param {number} p
 * @param {number} digits
 */
function asPercent(p, digits) {
  if (!Number.isFinite(p)) return odd(p);
  const shown = percentDigits(p, String(digits), { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return wrap(/[1-9]/.test(shown) ? shown : "0");
}

/**
 * @param {number} x
 * @param {number} most figures
 */
function scientific(x, most) {
  const [digits, exponent] = Math.abs(x).toExponential().split("e");
  let mantissa = Number(digits);
  let power = Number(exponent);
  let shown = digits.replace(".", pointOf());
  if (most < 17) {
    if (mantissa >= 10 - 5 * 10 ** -most) [mantissa, power] = [1, power + 1]; // 9.96 of two figures is 10
    shown = significant(mantissa, most);
  }
  const raised = [...String(power)].map((c) => (c === "-" ? "⁻" : SUPERSCRIPTS[Number(c)])).join("");
  return `${x < 0 ? "−" : ""}${shown}${BLANK}×${BLANK}10${raised}`;
}

/** The language's decimal point. */
function pointOf() {
  const parts = format("f1-1", { minimumFractionDigits: 1, maximumFractionDigits: 1 }).formatToParts(0.5);
  return parts.find((part) => part.type === "decimal")?.value ?? ".";
}

/**
 * @param {string} key
 * @param {string} [n]
 */
function word(key, n = "") {
  const found = texts[key];
  if (typeof found !== "string") throw new Error(`numbers.${key} has no text: setWords() comes first`);
  return found.replaceAll("{n}", n);
}

/**
 * Infinity and not-a-number.
 * @param {number} x
 */
function odd(x) {
  if (Number.isNaN(x)) return word("not_a_number");
  return x > 0 ? "∞" : "−∞";
}

/**
 * The CLDR category of a number: one, two, few, many or other.
 * @param {number} n
 * @param {{ordinal?: boolean}} [options]
 */
export function plural(n, { ordinal: places = false } = {}) {
  const type = places ? "ordinal" : "cardinal";
  rules[type] ??= new Intl.PluralRules(language, { type });
  return rules[type].select(n);
}

/**
 * A probability: 92 %, 9.3 %, 0.57 %, 0.03 %, below that 1 in 430,000; never 0 % or 100 % unless it is.
 * @param {number} p
 * @returns {string}
 */
export function percent(p) {
  if (p > 0 && p < SMALL) return chance(p);
  if (p >= 0.9995 && p < 1) return ">" + BLANK + asPercent(0.999, 1);
  if (!(p > 0 && p < 1)) return asPercent(p, 0);
  if (p >= 0.995) return asPercent(p, 1);
  if (p >= 0.0995) return asPercent(p, 0);
  return asPercent(p, p >= 0.00995 ? 1 : 2);
}

/**
 * Probabilities that stand in one list, in one form, so that they can be compared.
 *
 * All at least 0.01 %: each as percent() says it. The smallest at least 0.001 %: those below 1 % as percentages with
 * two significant figures (0.57 %, 0.012 %, 0.0045 %). Smaller yet: those below 1 % as chances
 * (1 in 180, 1 in 430,000).
 * @param {Iterable<number>} ps
 * @returns {string[]}
 */
export function percentList(ps) {
  const values = [...ps];
  const least = values.reduce((low, p) => (p > 0 && p < low ? p : low), 1);
  if (least >= SMALL) return values.map(percent);
  const figures = { minimumSignificantDigits: 2, maximumSignificantDigits: 2 };
  const small = (/** @type {number} */ p) =>
    least < SMALL / 10 ? chance(p) : wrap(percentDigits(p, "figures", figures));
  return values.map((p) => (p > 0 && p < 0.00995 ? small(p) : percent(p)));
}

/**
 * A probability as `1 in 430,000`, two significant figures; practically 0 below one in a billion.
 * @param {number} p
 * @returns {string}
 */
export function chance(p) {
  if (!(p > 0 && p <= 1)) return percent(p);
  if (p < TINY) return word("practically_0");
  return word("chance", significant(1 / p, 2));
}

/**
 * Every digit, for a tooltip: 0.00012, 1,234.5, 4.6 × 10⁻¹².
 * @param {number} x
 */
export function exact(x) {
  if (!Number.isFinite(x)) return odd(x);
  const size = Math.abs(x);
  if (size && !(size >= 1e-4 && size < 1e15)) return scientific(x, 17);
  const [digits, exponent] = size.toExponential().split("e");
  return fixed(x, Math.max(0, digits.replace(".", "").length - 1 - Number(exponent)));
}

/**
 * A number with so many decimals; 0 for exactly 0, practically 0 for what would only look like it.
 * @param {number} x
 * @param {number} digits
 */
export function decimal(x, digits) {
  if (!Number.isFinite(x)) return odd(x);
  if (x === 0) return "0";
  if (Math.abs(x) >= 1e15) return scientific(x, 3);
  const shown = fixed(x, digits);
  return /[1-9]/.test(shown) ? shown : word("practically_0");
}

/**
 * A difference: exactly 0, 0.00021, 13.7, 1,234, 2 × 10⁻⁶; two figures below 1, else three, whole from 100 on.
 * @param {number} x
 */
export function delta(x) {
  return x === 0 ? word("exactly_0") : number(x);
}

/**
 * Any number: a whole one in full, another with two figures below 1, three above, whole from 100 on.
 * @param {number} x
 */
export function number(x) {
  if (!Number.isFinite(x)) return odd(x);
  const size = Math.abs(x);
  if (size && !(size >= 1e-4 && size < 1e15)) return scientific(x, 2);
  if (size >= 99.95 || Number.isInteger(x)) return whole(x);
  return size >= 0.9995 ? significant(x, 3, 3) : significant(x, 2, 2);
}

/**
 * A count: 73,728.
 * @param {number | bigint} n
 */
export function whole(n) {
  return typeof n === "bigint" || Number.isFinite(n) ? fixed(n, 0) : odd(n);
}

/**
 * A place in a row: 1st, 2nd, 50th.
 * @param {number} n
 */
export function ordinal(n) {
  const forms = texts.ordinal;
  if (typeof forms !== "object") throw new Error("numbers.ordinal has no forms: setWords() comes first");
  return (forms[plural(n, { ordinal: true })] || forms.other).replaceAll("{n}", whole(n));
}

/**
 * How many times as much: × 17, × 2.9, ÷ 2.9 for less.
 * @param {number} x
 */
export function times(x) {
  const less = x !== 0 && Math.abs(x) < 1;
  const factor = less ? 1 / x : x;
  if (!Number.isFinite(factor)) return "×" + BLANK + odd(factor);
  const size = Math.abs(factor);
  const digits = size < 1.095 ? 2 : size < 9.95 ? 1 : 0;
  const shown = fixed(factor, digits, 0);
  return (less && shown !== "1" ? "÷" : "×") + BLANK + shown;
}

/**
 * A size in decimal units, three figures: 512 B, 36.9 kB, 75.5 MB, 17.2 GB.
 * @param {number} n
 */
export function bytes(n) {
  if (!Number.isFinite(n)) return odd(n);
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let power = 0;
  let size = Math.abs(n);
  while (size >= (power ? 999.5 : 1000) && power < units.length - 1) {
    size /= 1000;
    power += 1;
  }
  const scaled = n < 0 ? -size : size;
  return word("unit_" + units[power], power && size < 99.95 ? significant(scaled, 3, 3) : fixed(scaled, 0));
}

/**
 * A size to the byte: 73,728 B.
 * @param {number} n
 */
export const bytesExact = (n) => word("unit_B", whole(n));

/**
 * A duration: 21 ms, 0.21 s, 2.1 s, 21 s, 1 min 20 s, 2 h 5 min.
 * @param {number} s
 * @returns {string}
 */
export function seconds(s) {
  if (!Number.isFinite(s)) return odd(s);
  if (s < 0) return "−" + seconds(-s);
  if (s === 0) return word("unit_s", "0");
  if (s < 0.0995) return smallSeconds(s);
  if (s < 9.95) return word("unit_s", significant(s, 2, 2));
  const rounded = Math.round(s);
  if (rounded < 3600) return two(Math.floor(rounded / 60), "min", rounded % 60, "s");
  if (s >= 1e9) return word("unit_h", number(s / 3600));
  const minutes = Math.round(s / 60);
  return two(Math.floor(minutes / 60), "h", minutes % 60, "min");
}

/** @param {number} s */
function smallSeconds(s) {
  const [unit, value] = s >= 0.0000995 ? ["unit_ms", s * 1000] : ["unit_us", s * 1000000];
  return value < 0.01 ? word("practically_0") : word(unit, significant(value, 2));
}

/**
 * @param {number} large
 * @param {string} largeUnit
 * @param {number} small
 * @param {string} smallUnit
 */
function two(large, largeUnit, small, smallUnit) {
  /** @type {[number, string][]} */
  const parts = large ? [[large, largeUnit]] : [];
  if (small || !large) parts.push([small, smallUnit]);
  return parts.map(([n, unit]) => word("unit_" + unit, whole(n))).join(BLANK);
}
