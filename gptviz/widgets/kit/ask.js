// Questions to the server. An answer is kept while its arguments can come back; a long one streams and can be left.
import { packed, unpacked } from "./dom.js";
import { language, text } from "./words.js";

const base = () => new URL("../../../../", import.meta.url); // this file is gv/HASH/widgets/kit/ask.js
const KEPT = 40; // answers; a page needs a handful a prompt
const RUNS = 4; // long answers, kept for a file only
const FULL = [429, 503];
const TRIES = 60; // when the line is full; with two seconds between them, longer than anybody waits

/** @type {(words: string) => void} where the page says that it waits */
let tell = () => {};

/** @param {(words: string) => void} take */
export const onWait = (take) => void (tell = take);

/** What to do when the server has gone, once it is back. @type {() => void} */
let back = () => {};
let gone = false;
const LOOK = 2000; // ms between two looks for it

/** @param {() => void} then */
export const onBack = (then) => void (back = then);

/** The sentence for a server that does not answer; the page goes on by itself when it is back. */
function missing() {
  if (!gone) {
    gone = true;
    const look = () =>
      fetch(new URL("health", base())).then(
        (response) => (response.ok ? ((gone = false), back()) : void setTimeout(look, LOOK)),
        () => void setTimeout(look, LOOK),
      );
    setTimeout(look, LOOK);
  }
  return new Sentence(text("frame.no_server"));
}

/** A sentence for the reader, from the server or about it. */
export class Sentence extends Error {}
/** What a recorded source throws for a question it has no answer to. */
export class NotRecorded extends Error {}

/** @type {Map<string, Promise<any>>} */
const kept = new Map();
/** @type {Map<string, any[]>} */
const ran = new Map();
/** @type {Record<string, any> | null} */
let held = null; // in a file that was saved: all answers there are
/** @type {(name: string, args: Record<string, any>) => any} */
let derive = () => undefined;

/**
 * Answer from what a file holds, and never ask a server.
 * @param {Record<string, any>} answers
 * @param {(name: string, args: Record<string, any>) => any} other what follows from them, or undefined
 */
export function answerFrom(answers, other) {
  held = answers;
  derive = other;
}

/** @param {string} name @param {Record<string, any>} args */
function lookUp(name, args) {
  const found = /** @type {any} */ (held)[key(name, args)];
  if (found !== undefined) return unpacked(found);
  const other = derive(name, args);
  if (other === undefined) throw new NotRecorded(text("frame.not_in_file"));
  return other;
}

/**
 * The answers of this page's picture so far, for a file: those about this text and model, or about neither.
 * @param {string} words @param {string} model
 * @returns {Promise<Record<string, any>>}
 */
export async function answered(words, model) {
  const fits = (/** @type {string} */ id) => {
    const args = JSON.parse(id.slice(id.indexOf(" ")));
    return (args.text ?? words) === words && (args.model ?? model) === model;
  };
  const out = /** @type {Record<string, any>} */ ({});
  for (const [id, values] of ran) if (fits(id)) out[id] = packed(values);
  for (const [id, answer] of kept) if (fits(id)) out[id] = packed(await answer.catch(() => undefined));
  return out;
}

/** @param {string} name @param {Record<string, any>} args */
export const key = (name, args) =>
  `${name} ${JSON.stringify(Object.fromEntries(Object.entries(args).sort(([a], [b]) => (a < b ? -1 : 1))))}`;

/**
 * The answer to a question.
 * @param {string} name
 * @param {Record<string, any>} [args]
 * @param {{ fresh?: boolean }} [options] fresh: never from what is kept, for answers that change
 */
export function ask(name, args = {}, { fresh = false } = {}) {
  if (held) return new Promise((resolve) => resolve(lookUp(name, args)));
  if (fresh) return post(name, args).then(read);
  const id = key(name, args);
  let answer = kept.get(id);
  if (!answer) {
    answer = post(name, args).then(read);
    answer.catch(() => kept.delete(id));
    kept.set(id, answer);
    if (kept.size > KEPT) kept.delete(/** @type {string} */ (kept.keys().next().value));
  }
  return answer;
}

/**
 * A long answer: every value as it comes, until the last. Leaving it (the signal) frees the server's work.
 * @param {string} name
 * @param {Record<string, any>} args
 * @param {(value: any) => void} take
 * @param {AbortSignal} signal
 */
export async function stream(name, args, take, signal) {
  if (held) return lookUp(name, args).forEach(take);
  /** @type {any[]} */
  const values = [];
  const response = await post(name, args, signal);
  if (!response.ok || !response.body) return void (await read(response));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      throw signal.aborted ? error : missing();
    });
    const lines = (rest + (value || "")).split("\n");
    rest = lines.pop() || "";
    for (const line of lines) {
      const answer = unpacked(JSON.parse(line));
      if (answer && answer.error) throw new Sentence(answer.error);
      if (answer && answer.place) tell(text("frame.in_line", { place: answer.place }));
      else {
        values.push(answer);
        take(answer);
      }
    }
    if (done) break;
  }
  ran.set(key(name, args), values);
  if (ran.size > RUNS) ran.delete(/** @type {string} */ (ran.keys().next().value));
}

/**
 * The server's answer. When its line is full, the question is asked again until there is room, and the page says so.
 * @param {string} name @param {Record<string, any>} args @param {AbortSignal} [signal]
 */
async function post(name, args, signal) {
  for (let tries = 1; ; tries++) {
    const response = await once(name, args, signal);
    if (!FULL.includes(response.status) || tries === TRIES) return response;
    const full = await response
      .clone()
      .json()
      .catch(() => ({}));
    if (!full.place) return response;
    tell(text("frame.in_line", { place: full.place }));
    await pause(full.retry_s * 1000 * (0.75 + Math.random() / 2), signal); // not a whole class at the same moment
  }
}

/** @param {number} ms @param {AbortSignal} [signal] @returns {Promise<void>} */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const left = () => reject(signal && signal.reason);
    if (signal && signal.aborted) return left();
    setTimeout(resolve, ms);
    if (signal) signal.addEventListener("abort", left, { once: true });
  });
}

/** @param {string} name @param {Record<string, any>} args @param {AbortSignal} [signal] */
async function once(name, args, signal) {
  try {
    return await fetch(new URL(`ask/${name}?lang=${encodeURIComponent(language())}`, base()), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(args),
      signal,
    });
  } catch (error) {
    if (signal && signal.aborted) throw error;
    throw missing();
  }
}

/** @param {Response} response */
async function read(response) {
  const answer = await response.json().catch(() => ({ error: text("frame.no_server") }));
  if (!response.ok) throw new Sentence((answer && answer.error) || text("frame.no_server"));
  return unpacked(answer);
}

/**
 * Recorded answers of one model to the first prompt on one page, by the same questions; null where none were made.
 * @param {string} model
 * @param {string} page
 */
export function recorded(model, page) {
  const address = new URL(`../../recorded/${encodeURIComponent(model)}/${page}.json`, import.meta.url);
  return fetch(address).then(
    (response) => (response.ok ? response.json() : null),
    () => null,
  );
}
