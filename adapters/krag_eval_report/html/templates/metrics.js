// The metrics of ranks at a cut-off that the reader chooses, with the formulas of krag_eval.metrics.

const judged = read("cut-offs"); // null where no metric of ranks was scored
const offsets = [0];
for (const n of overview.nGold) offsets.push(offsets[offsets.length - 1] + n);

// A key at the chosen cut-off: `recall@10` becomes `recall@3`. Other keys, such as `recall@2000tok`, stay.
function atCutOff(key) {
  if (judged === null || state.k === null) return key;
  const [name, k] = key.split(/@(?=\d+$)/);
  return k !== undefined && judged.names.includes(name) ? `${name}@${state.k}` : key;
}

// The chosen columns; of those that show the same at the chosen cut-off, the first.
const shownKeys = () => state.keys.filter((key, i, keys) => keys.findIndex((other) => atCutOff(other) === atCutOff(key)) === i);

const computed = new Map();

// The columns of a metric by system. What Python has computed is taken as it is.
function metricOf(key) {
  const wanted = atCutOff(key);
  if (metrics.has(wanted)) return metrics.get(wanted);
  if (!computed.has(wanted)) {
    const [name, k] = wanted.split(/@(?=\d+$)/);
    computed.set(wanted, { key: wanted, systems: overview.systems.map((_, system) => columnAt(name, Number(k), system)) });
  }
  return computed.get(wanted);
}

const [RETRIEVER_ERROR, CROWDED_OUT, BELOW_K, WRONG_CHUNK, NEVER_RETRIEVED] = ["retriever_error", "crowded_out", "ranked_below_k", "wrong_chunk", "never_retrieved"].map((name) =>
  overview.causes.findIndex(({ key }) => key === name),
);

// The causes of a query's misses at the chosen cut-off, as bits.
function missedAt(system, query) {
  if (state.k === null) return overview.missed[system][query];
  let bits = 0;
  for (let number = offsets[query]; number < offsets[query + 1]; number += 1) {
    bits |= 1 << causeAt(system, query, number);
  }
  return bits;
}

// The cause of one gold document at the chosen cut-off, as krag_eval.evaluation.diagnosis decides it.
function causeAt(system, query, number) {
  const { rank, missed, without, same } = judged.systems[system].gold;
  const at = rank[number];
  if (at > 0 && at <= state.k) return FOUND;
  if (failed[system].has(query)) return RETRIEVER_ERROR;
  if (at > 0) {
    const alone = without[number] ?? at;
    return alone > 0 && alone <= state.k ? CROWDED_OUT : BELOW_K;
  }
  if (same[number] !== undefined) return same[number] <= state.k ? WRONG_CHUNK : NEVER_RETRIEVED;
  return missed[number];
}

// The number of a gold document among those that count, which stands at a place in the columns of all that were given.
function numberOf(causes, query, place) {
  const start = details().gold.start[query];
  return offsets[query] + causes.slice(start, place).filter((cause) => cause !== NONE).length;
}

const cutOff = () => state.k ?? overview.k;
const isBeyond = (rank) => judged !== null && cutOff() !== null && rank > cutOff();

function columnAt(name, k, system) {
  const formula = FORMULAS[name.split("(")[0]];
  const parameter = Number(/\((?:p|beta)=(.*)\)/.exec(name)?.[1] ?? 0.8); // of rbp, which has a default, and of f
  const numbers = new Map();
  const of = EVERY.map((query) => {
    const value = overview.nGold[query] ? formula(rowOfRanks(system, query, k), parameter) : null;
    if (!numbers.has(value)) numbers.set(value, numbers.size);
    return numbers.get(value);
  });
  const values = Array.from(numbers.keys());
  return { of, values, texts: values.map(printed) };
}

// What the formulas need of one query: counts within the cut-off, and the ranks that earned credit.
function rowOfRanks(system, query, k) {
  const { retrieved, gold, start, rank, credit, steps } = judged.systems[system];
  const ranks = [];
  for (let i = offsets[query]; i < offsets[query + 1]; i += 1) ranks.push(gold.rank[i]);
  const gains = Array.from(ranks, (_, i) => judged.gains[gold.gain[offsets[query] + i]]);
  const within = [];
  for (let i = start[query]; i < start[query + 1] && rank[i] <= k; i += 1) within.push(i);
  const n = Math.min(retrieved[query], k);
  return {
    k,
    gains,
    ranks,
    nGold: ranks.length,
    covered: ranks.filter((best) => best > 0 && best <= k).length,
    relevant: within.length,
    first: within.length ? rank[within[0]] : 0,
    outOf: judged.dividesByK ? k : n,
    credited: within.filter((i) => credit[i] >= 0).map((i) => ({ rank: rank[i], gain: judged.gains[credit[i]] })),
    steps: steps[query],
  };
}

const precisionOf = ({ relevant, outOf }) => (outOf ? relevant / outOf : 0);
const recallOf = ({ covered, nGold }) => covered / nGold;
const isComplete = ({ covered, nGold }) => covered === nGold;
const discounted = (gain, rank) => gain / Math.log2(rank + 1);
const sum = (values) => values.reduce((total, value) => total + value, 0);

function harmonicMean(one, other, weight = 1) {
  const total = other + weight * one;
  if (total === 0) return 0;
  return Math.min(Math.max(((1 + weight) * one * other) / total, Math.min(one, other)), Math.max(one, other));
}

function ndcgOf({ k, gains, credited, steps }) {
  const best = gains.toSorted((a, b) => b - a).slice(0, k);
  const ideal = sum(best.map((gain, i) => discounted(gain, i + 1)));
  const reached =
    steps === undefined
      ? sum(credited.map(({ rank, gain }) => discounted(gain, rank)))
      : (steps.findLast(([rank]) => rank <= k)?.[1] ?? 0);
  return Math.min(reached, ideal) / ideal;
}

const FORMULAS = {
  hit_rate: ({ covered }) => Number(covered > 0),
  success: ({ covered }) => Number(covered > 0),
  hit_rate_all: (row) => Number(isComplete(row)),
  mrr: ({ first }) => (first ? 1 / first : 0),
  complete_rank: (row) => (isComplete(row) ? 1 / Math.max(...row.ranks) : 0),
  recall: recallOf,
  precision: precisionOf,
  f1: (row) => harmonicMean(precisionOf(row), recallOf(row)),
  f: (row, beta) => harmonicMean(precisionOf(row), recallOf(row), beta ** 2),
  map: ({ credited, nGold }) => Math.min(sum(credited.map(({ rank }, i) => (i + 1) / rank)) / nGold, 1),
  ndcg: ndcgOf,
  rbp: ({ credited }, p) => (1 - p) * sum(credited.map(({ rank }) => p ** (rank - 1))),
};

// As Python prints it: of two equally near numbers the one with an even last digit, which `toFixed` does not choose.
// Only odd multiples of 1/32 lie in the middle.
function printed(value) {
  if (value === null) return UNDEFINED;
  if (Math.abs(value * 32) % 2 !== 1) return value.toFixed(4);
  const below = Math.floor(value * 10_000);
  return ((below + (below % 2)) / 10_000).toFixed(4);
}

// The mean over queries, rounded once, as Python's is: in units of 2^-80 the values are whole numbers.
function meanOf(key, system, queries) {
  const { of, values } = metricOf(key).systems[system];
  const counts = new Array(values.length).fill(0);
  for (const query of queries) counts[of[query]] += 1;
  let n = 0;
  let total = 0n;
  values.forEach((value, i) => {
    if (value === null || !counts[i]) return;
    n += counts[i];
    total += BigInt(Math.floor(value * 2 ** 80)) * BigInt(counts[i]);
  });
  if (!n) return null;
  const divisor = BigInt(n) << 80n;
  const quotient = (total << 100n) / divisor;
  return Number(quotient | BigInt((total << 100n) % divisor !== 0n)) / 2 ** 100;
}

// The micro values over queries: of the counts, summed; null without any.
function microOf(k, system, queries) {
  const counts = { covered: 0, gold: 0, relevant: 0, outOf: 0 };
  let n = 0;
  for (const query of queries) {
    if (!overview.nGold[query]) continue;
    const row = rowOfRanks(system, query, k);
    n += 1;
    counts.covered += row.covered;
    counts.gold += row.nGold;
    counts.relevant += row.relevant;
    counts.outOf += row.outOf;
  }
  if (!n) return null;
  const recall = counts.covered / counts.gold;
  const precision = counts.outOf ? counts.relevant / counts.outOf : 0;
  return { recall, precision, f1: harmonicMean(precision, recall) };
}
