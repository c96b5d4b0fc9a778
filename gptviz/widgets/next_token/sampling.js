// From logits to a choice: repetition penalty, temperature, top-k, top-p, min-p, as lab/writing/sampling.py has it; a
// test compares the two.
// Tokens are kept from the likeliest down, so every truncation keeps a first stretch of that order.

/**
 * @typedef {{ temperature: number, topK: number, topP: number, minP?: number }} Cuts
 * @typedef {Cuts & { topPFirst: boolean }} Settings
 * @typedef {object} Ready all arrays are in the order of `order`
 * @property {number} V
 * @property {Uint32Array} order
 * @property {Float64Array} z
 * @property {Float64Array} raw the model's own probabilities
 * @property {Float64Array} plain the same after the repetition penalty
 * @property {number} possible
 * @property {Float64Array} tempered
 * @property {Float64Array} final
 * @property {number} entropyRaw
 */

// Ids from the likeliest down, equal logits by id: a stable radix sort of the float32 bits, 11 at a time.
/** @param {Float32Array} logits */
function ranking(logits) {
  const V = logits.length,
    copy = new Float32Array(V),
    keys = new Uint32Array(copy.buffer);
  for (let i = 0; i < V; i++) copy[i] = logits[i] + 0; // −0 becomes 0
  for (let i = 0; i < V; i++) keys[i] = keys[i] & 0x80000000 ? keys[i] : ~keys[i] & 0x7fffffff; // larger first
  let from = new Uint32Array(V),
    to = new Uint32Array(V);
  for (let i = 0; i < V; i++) from[i] = i;
  for (const shift of [0, 11, 22]) {
    const at = new Uint32Array(2049);
    for (let i = 0; i < V; i++) at[((keys[i] >>> shift) & 2047) + 1]++;
    for (let i = 0; i < 2048; i++) at[i + 1] += at[i];
    for (let i = 0; i < V; i++) to[at[(keys[from[i]] >>> shift) & 2047]++] = from[i];
    [from, to] = [to, from];
  }
  return from;
}

// Logits [V] float32, made ready once a prompt and penalty. All arrays below are in the order of `order`.
/**
 * @param {Float32Array} logits
 * @param {ArrayLike<number>} [past] ids of the text, for the repetition penalty
 * @param {number} [penalty]
 * @returns {Ready}
 */
export function prepare(logits, past = [], penalty = 1) {
  const V = logits.length,
    plainly = ranking(logits),
    own = new Float64Array(V),
    share = new Float64Array(V);
  for (let r = 0; r < V; r++) {
    own[r] = logits[plainly[r]];
    if (Number.isNaN(own[r]) || own[r] === Infinity)
      throw new Error("NaN or Infinity"); /* not words: the page says that it is broken */
  }
  if (own[0] === -Infinity) throw new Error("-Infinity");
  const entropyRaw = softmax(own, 1, share);
  const moved = penalty === 1 || !past.length ? null : penalised(logits, plainly, past, penalty);
  const order = moved ? moved.order : plainly,
    z = moved ? moved.z : own,
    raw = moved ? inOrder(share, plainly, order) : share,
    plain = moved ? new Float64Array(V) : raw;
  if (moved) softmax(z, 1, plain);
  let possible = V;
  while (z[possible - 1] === -Infinity) possible--;
  return { V, order, z, raw, plain, possible, tempered: new Float64Array(V), final: new Float64Array(V), entropyRaw };
}

// The points after the repetition penalty, and their order: the penalised few are taken out and merged in again.
/** @param {Float32Array} logits @param {Uint32Array} order @param {ArrayLike<number>} past @param {number} penalty */
function penalised(logits, order, past, penalty) {
  /** @type {Map<number, number>} */
  const changed = new Map();
  for (const id of Array.from(past)) changed.set(id, logits[id] < 0 ? logits[id] * penalty : logits[id] / penalty);
  const few = [...changed].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const V = logits.length,
    z = new Float64Array(V),
    out = new Uint32Array(V);
  let next = 0,
    r = 0;
  const put = (/** @type {number} */ id, /** @type {number} */ points) => {
    out[r] = id;
    z[r++] = points;
  };
  for (const id of order) {
    if (changed.has(id)) continue;
    while (next < few.length && (few[next][1] > logits[id] || (few[next][1] === logits[id] && few[next][0] < id)))
      put(...few[next++]);
    put(id, logits[id]);
  }
  while (next < few.length) put(...few[next++]);
  return { order: out, z };
}

/** @param {Float64Array} p @param {Uint32Array} from the order p stands in @param {Uint32Array} to */
function inOrder(p, from, to) {
  const byId = new Float64Array(p.length);
  for (let r = 0; r < p.length; r++) byId[from[r]] = p[r];
  return Float64Array.from(to, (id) => byId[id]);
}

// Fills p with softmax(z / temperature) and returns its entropy in nats: ln Σ − Σ p·x.
/** @param {Float64Array} z @param {number} temperature @param {Float64Array} p */
function softmax(z, temperature, p) {
  const V = z.length,
    top = z[0];
  let sum = 0,
    weighted = 0;
  for (let r = 0; r < V; r++) {
    const x = (z[r] - top) / temperature,
      e = Math.exp(x);
    p[r] = e;
    sum += e;
    if (e > 0) weighted += e * x;
  }
  for (let r = 0; r < V; r++) p[r] /= sum;
  return Math.max(0, Math.log(sum) - weighted / sum);
}

/** @param {Float64Array} p @param {number} n */
function entropy(p, n) {
  let h = 0;
  for (let r = 0; r < n; r++) if (p[r] > 0) h -= p[r] * Math.log(p[r]);
  return Math.max(0, h);
}

// The three stages for valid settings. Fills ready.tempered and ready.final; the arrays are used again each time.
/** @param {Ready} ready @param {Settings} settings */
export function stages(ready, { temperature, topK, topP, minP, topPFirst }) {
  const { V, z, tempered, final } = ready;
  let entropyTempered = 0;
  if (temperature === 0) {
    tempered.fill(0);
    tempered[0] = 1;
  } else entropyTempered = softmax(z, temperature, tempered);
  const kept = keptInOrder(ready, { temperature, topK, topP, minP }, topPFirst);
  let mass = 0;
  for (let r = 0; r < kept; r++) mass += tempered[r];
  for (let r = 0; r < kept; r++) final[r] = tempered[r] / mass;
  final.fill(0, kept);
  return {
    kept,
    tempered,
    final,
    entropyRaw: ready.entropyRaw,
    entropyTempered,
    entropyFinal: kept === V ? entropyTempered : entropy(final, kept),
  };
}

// How many tokens survive, with top-p after the temperature or before it; ready.tempered must be filled.
/** @param {Ready} ready @param {Cuts} settings @param {boolean} [topPFirst] */
export function keptInOrder({ V, z, plain, tempered, possible }, { temperature, topK, topP, minP = 0 }, topPFirst) {
  let kept = temperature === 0 ? 1 : possible;
  if (topK) {
    let n = Math.min(topK, V);
    while (n < V && z[n] === z[n - 1]) n++; // every token that ties with the k-th stays
    kept = Math.min(kept, n);
  }
  kept = nucleus(topPFirst ? plain : tempered, kept, topP);
  const least = minP * tempered[0];
  while (kept > 1 && tempered[kept - 1] < least) kept--;
  return kept;
}

// How many of the first `kept` tokens it takes to reach topP of their mass; at least one.
/** @param {Float64Array} p @param {number} kept @param {number} topP */
function nucleus(p, kept, topP) {
  if (topP >= 1) return kept;
  let mass = 0,
    reached = 0;
  for (let r = 0; r < kept; r++) mass += p[r];
  for (let r = 0; r < kept; r++) {
    if (r > 0 && reached >= topP * mass) return r;
    reached += p[r];
  }
  return kept;
}

/** @param {Float64Array} p @param {number} from @param {number} to */
export function sum(p, from, to) {
  let total = 0;
  for (let r = to - 1; r >= from; r--) total += p[r]; // the small ones first
  return total;
}

// The index-th number of a seeded sequence in [0, 1), 53 bits: mulberry32.
/** @param {number} seed @param {number} index */
export function uniform(seed, index) {
  const high = mulberry32(seed, 2 * index + 1) >>> 5,
    low = mulberry32(seed, 2 * index + 2) >>> 6;
  return (high * 67108864 + low) / 9007199254740992;
}
/** @param {number} seed @param {number} step */
function mulberry32(seed, step) {
  const a = (seed + Math.imul(step, 0x6d2b79f5)) | 0;
  let t = Math.imul(a ^ (a >>> 15), a | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return (t ^ (t >>> 14)) >>> 0;
}

// Ranks drawn from the final distribution for the numbers start … start + n − 1 of the seed.
/** @param {Float64Array} final @param {number} kept @param {number} seed @param {number} n @param {number} start */
export function draws(final, kept, seed, n, start) {
  const edges = new Float64Array(kept),
    out = new Uint32Array(n);
  for (let r = 0, sum = 0; r < kept; r++) edges[r] = sum += final[r];
  for (let i = 0; i < n; i++) {
    const place = uniform(seed, start + i) * edges[kept - 1];
    let low = 0,
      high = kept - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (edges[middle] > place) high = middle;
      else low = middle + 1;
    }
    out[i] = low;
  }
  return out;
}

// Counts by rank against expected counts; tokens expected fewer than 5 times share one bin.
/** @param {Float64Array} final @param {number} kept @param {Map<number, number>} counts @param {number} n */
export function chiSquare(final, kept, counts, n) {
  let statistic = 0,
    bins = 0,
    restSeen = n,
    restExpected = n,
    rarest = null;
  for (let r = 0; r < kept; r++) {
    const expected = final[r] * n;
    if (expected < 5) break;
    const seen = counts.get(r) || 0;
    bins++;
    restSeen -= seen;
    restExpected -= expected;
    rarest = [seen, expected];
    statistic += (seen - expected) ** 2 / expected;
  }
  if (restExpected >= 5) {
    bins++;
    statistic += (restSeen - restExpected) ** 2 / restExpected;
  } else if (rarest) {
    // a rest too small for a bin of its own joins the rarest
    const [seen, expected] = rarest;
    statistic +=
      (seen + restSeen - expected - restExpected) ** 2 / (expected + restExpected) - (seen - expected) ** 2 / expected;
  }
  if (bins < 2) return { statistic: 0, freedom: 0, p: 1 };
  return { statistic, freedom: bins - 1, p: upperGamma((bins - 1) / 2, statistic / 2) };
}

// Regularised upper incomplete gamma Q(a, x): series below a + 1, continued fraction (Lentz) above.
/** @param {number} a @param {number} x */
export function upperGamma(a, x) {
  if (x <= 0) return 1;
  const front = Math.exp(a * Math.log(x) - x - logGamma(a));
  if (x < a + 1) {
    let term = 1 / a,
      total = term;
    for (let n = 1; n < 10000 && term > total * 1e-16; n++) total += term *= x / (a + n);
    return 1 - total * front;
  }
  let b = x + 1 - a,
    c = 1e300,
    d = 1 / b,
    h = d;
  for (let i = 1; i < 10000; i++) {
    const an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    h *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return front * h;
}
/**
 * @param {number} x
 * @returns {number}
 */
function logGamma(x) {
  // Lanczos, g = 7
  const c = [
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
  ];
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  let sum = c[0];
  for (let i = 1; i < 9; i++) sum += c[i] / (x - 1 + i);
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}
