// The marks inside a text: the twin of gptviz/marks.py, which says what they are. No page, no language here.
// not words in this file: its errors are for who writes the texts.

/** @typedef {{value: string, format: string, digits: number}} Value */
/** @typedef {{mark: string, inside: Part[], state?: Part[], term?: string}} Marked */
/** @typedef {string | Value | Marked} Part */

const SPECIAL = "\\{}*`[](";
const VALUE = /\{([a-z_][a-z0-9_]*)(?::([a-z_]+)(?: (\d+))?)?\}/y;
const STATE = /\(state: ([^()]+)\)/y;
const TERM = /\(\((.+?)(?:\|([a-z][a-z0-9_]*))?\)\)/y;
const TOKEN = /`([^`]+)`/y;
const KEY = /^[a-z][a-z0-9_]*$/;
const FORMATS =
  "percent chance exact decimal delta number whole ordinal times bytes bytes_exact seconds list raw".split(" ");

/** A text whose marks do not fit each other: what is wrong, and where. */
export class MarkError extends Error {}

/** Reads one text from left to right. */
class Reader {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  /**
   * Everything up to the mark that closes this part, or to the end.
   * @param {string} [until]
   * @returns {Part[]}
   */
  parts(until = "") {
    /** @type {Part[]} */
    const found = [];
    while (this.at < this.text.length) {
      if (until && this.text.startsWith(until, this.at)) {
        this.at += until.length;
        if (!found.length) throw this.wrong(`nothing stands before this ${until}`);
        return found;
      }
      const part = this.next();
      const last = found.at(-1);
      if (typeof part === "string" && typeof last === "string") found[found.length - 1] = last + part;
      else found.push(part);
    }
    if (until) throw this.wrong(`no ${until} closes this part`);
    return found;
  }

  /**
   * The next character, value or marked part.
   * @returns {Part}
   */
  next() {
    const here = this.text[this.at];
    if (here === "\\") return this.escaped();
    if (here === "{") return this.value();
    if (here === "*") return this.emphasis();
    if (here === "`") return this.token();
    if (here === "[") return this.link();
    if (this.text.startsWith("((", this.at)) return this.term();
    if (here === "}" || here === "]") throw this.wrong(`${here} closes nothing`);
    this.at += 1;
    return here;
  }

  escaped() {
    const character = this.text[this.at + 1];
    if (!character || !SPECIAL.includes(character)) {
      throw this.wrong(`a backslash stands only before one of ${SPECIAL}`);
    }
    this.at += 2;
    return character;
  }

  /** @returns {Value} */
  value() {
    const [, name, how, digits] = this.match(VALUE, "a value is {name} or {name:format}");
    if (how && !FORMATS.includes(how)) throw this.wrong(`there is no format ${how}`);
    if ((how === "decimal") !== (digits !== undefined)) {
      throw this.wrong("decimal, and no other format, has a number of digits, as in {x:decimal 2}");
    }
    return { value: name, format: how ?? "", digits: Number(digits ?? 0) };
  }

  /** @returns {Marked} */
  emphasis() {
    const strong = this.text.startsWith("**", this.at);
    const mark = strong ? "**" : "*";
    this.at += mark.length;
    return { mark: strong ? "strong" : "em", inside: this.parts(mark) };
  }

  /** @returns {Marked} */
  token() {
    const [, inside] = this.match(TOKEN, "no ` closes this token");
    return { mark: "token", inside: textAndValues(inside) };
  }

  /** @returns {Marked} */
  link() {
    this.at += 1;
    const inside = this.parts("]");
    const [, state] = this.match(STATE, "a link is [words](state: name=value)");
    return { mark: "link", inside, state: textAndValues(state) };
  }

  /** @returns {Marked} */
  term() {
    const [, words, given] = this.match(TERM, "a term is ((words)) or ((words|key))");
    const key = given ?? words.toLowerCase().replace(/[ -]/g, "_");
    if (!KEY.test(key)) throw this.wrong(`${words} needs its key, as in ((${words}|key))`);
    return { mark: "term", inside: [words], term: key };
  }

  /**
   * @param {RegExp} pattern sticky
   * @param {string} rule what is said when it does not match
   */
  match(pattern, rule) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (!found) throw this.wrong(rule);
    this.at = pattern.lastIndex;
    return found;
  }

  /** @param {string} what */
  wrong(what) {
    return new MarkError(`${what}, at character ${this.at + 1}`);
  }
}

/**
 * Text and values only, as in a token or a state: other marks are characters there.
 * @param {string} text
 * @returns {Part[]}
 */
function textAndValues(text) {
  /** @type {Part[]} */
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(new RegExp(VALUE, "g"))) {
    if (found.index > at) parts.push(text.slice(at, found.index));
    parts.push(new Reader(found[0]).value());
    at = found.index + found[0].length;
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}

/**
 * The parts of a text; MarkError where its marks do not fit.
 * @param {string} text
 * @returns {Part[]}
 */
export function parse(text) {
  return new Reader(text).parts();
}
