// Which queries the list shows, and in which order.

// The values that columns show at first; of many runs the marks say it, and a column of values for each would hide them.
const FEW = 2;
const shownAtFirst = overview.systems.length > FEW ? [] : overview.shown;

// The run that others are compared with at first is the first one; the one that stands beside it is the best of the others.
function bestOfOthers() {
  const { key, lower, systems } = metrics.get(overview.shown[0]) ?? { key: null };
  if (key === null || overview.systems.length <= FEW) return 1;
  const mean = ({ of, values }) => {
    const known = of.map((number) => values[number]).filter((value) => value !== null);
    return known.length ? known.reduce((total, value) => total + value, 0) / known.length : lower ? Infinity : -Infinity;
  };
  const means = systems.map(mean);
  const others = means.slice(1);
  return 1 + others.indexOf((lower ? Math.min : Math.max)(...others));
}

const OTHER_AT_FIRST = overview.systems.length > 1 ? bestOfOthers() : null;

const state = {
  text: "",
  slices: new Map(), // field -> place among its values
  cause: "",
  status: "", // "failed", "empty", "no_gold", "no_gold_empty" or "leak"
  in: null, // the run that cause and status are about; null for any
  found: [], // runs that found a gold document
  missed: [], // runs that missed it
  label: "", // "any", "none", "gold", "not_gold" or "note"
  metric: overview.shown[0] ?? overview.metrics[0]?.key ?? null,
  of: "one", // "one", "other", "difference" or "any"
  least: null,
  most: null,
  change: "",
  one: 0,
  other: OTHER_AT_FIRST,
  keys: shownAtFirst,
  k: null, // the cut-off that the reader chose
  sort: { column: "worst", isDescending: false },
};

const WORST = "worst";
const PLACE = "place";

const ANY_MISS = "any";
const NO_MISS = "none";
const ANY_FOUND = "found";
const ANY_CHANGE = "any"; // any two runs differ
const EVERY = Array.from({ length: overview.n }, (_, query) => query);

const EACH_SYSTEM = Array.from(overview.systems.keys());
const shownSystems = () => (state.other === null ? [state.one] : [state.one, state.other]);

// The runs that a filter looks at: the one that was chosen for it, else the one that is shown alone, else all.
const lookedAt = () => (state.in !== null ? [state.in] : state.other === null ? [state.one] : EACH_SYSTEM);

function chosenQueries() {
  const { tests } = filtersInUse();
  const chosen = EVERY.filter((query) => (hits === null || hits.of[query]) && tests.every((test) => test(query)));
  return chosen.sort(order());
}

// The tests of all filters but the search.
function filtersInUse() {
  return { tests: [...sliceTests(), ...statusTests(), ...causeTests(), ...foundTests(), ...labelTests(), ...rangeTests(), ...changeTests()] };
}

function sliceTests() {
  return Array.from(state.slices, ([field, place]) => {
    const members = new Set(overview.slices.find((slice) => slice.field === field).values[place].members);
    return (query) => members.has(query);
  });
}

// Whether a query has no gold document, or in a run a retriever that failed or found nothing, or a forbidden document.
const STATUS = {
  no_gold: (query) => !overview.nGold[query],
  failed: (query) => lookedAt().some((system) => failed[system].has(query)),
  no_gold_empty: (query) => !overview.nGold[query] && STATUS.empty(query),
  empty: (query) => lookedAt().some((system) => isEmpty(system, query) && !failed[system].has(query)),
  leak: (query) => lookedAt().some((system) => leaking[system].has(query)),
};
const statusTests = () => (state.status ? [STATUS[state.status]] : []);

const leaking = overview.leaking.map((queries) => new Set(queries)); // of each run, where it retrieved what is forbidden

function isEmpty(system, query) {
  if (judged !== null) return judged.systems[system].retrieved[query] === 0;
  const { start } = ofSystem(system).ranks;
  return start[query] === start[query + 1];
}

function causeTests() {
  if (!state.cause) return [];
  if (state.cause === ANY_FOUND) return [(query) => lookedAt().some((system) => missedAt(system, query) & (1 << FOUND))];
  const has = (query) =>
    lookedAt().some((system) => {
      const causes = causesOf(system, query);
      return state.cause === ANY_MISS || state.cause === NO_MISS ? causes.length > 0 : causes.includes(state.cause);
    });
  return [state.cause === NO_MISS ? (query) => !has(query) : has];
}

const foundTests = () => (state.found.length || state.missed.length ? [(query) => isFoundAndMissed(query, state.found, state.missed)] : []);

// Labels of documents, and notes, that a query has.
function labelTests() {
  if (!state.label) return [];
  const having = new Set();
  for (const row of labels.values()) {
    const kind = row.document === undefined ? "note" : Number(row.label) > 0 ? "gold" : "not_gold";
    if (["any", "none", kind].includes(state.label)) having.add(String(row.query_id));
  }
  return [(query) => having.has(String(idOf(query))) === (state.label !== "none")];
}

function rangeTests() {
  const { least, most, metric } = state;
  if (metric === null || (least === null && most === null)) return [];
  const values = state.of === "any" ? EACH_SYSTEM.map((system) => reader(metric, `run${system}`)) : [reader(metric, state.of)];
  const isWithin = (found) => found !== null && (least === null || found >= least) && (most === null || found <= most);
  return [(query) => values.some((value) => isWithin(value(query)))];
}

function changeTests() {
  const { change, metric, one, other } = state;
  if (!change || other === null || metric === null) return [];
  if (change === ANY_CHANGE) return [(query) => new Set(EACH_SYSTEM.map((system) => valueOf(metric, system, query))).size > 1];
  const tests = { differs: (d) => d !== 0, same: (d) => d === 0, better: (d) => d > 0, worse: (d) => d < 0 };
  return [
    (query) => {
      const difference = differenceOf(metric, one, other, query);
      return difference !== null && tests[change](difference);
    },
  ];
}

// The values of a metric by query: of one shown system, the other, any, or what the other has more.
function reader(key, which) {
  if (which === "difference") return (query) => differenceOf(key, state.one, state.other, query);
  const system = which.startsWith("run") ? Number(which.slice(3)) : state[which];
  return (query) => valueOf(key, system, query);
}

const isLowerBetter = (key) => metrics.get(key)?.lower ?? false;

const COLLATOR = new Intl.Collator(undefined, { numeric: true });

// The greatest loss first, of one system the worst value; of equal ones the worse value, then what misses more.
function worstFirst() {
  const key = state.keys[0] ?? overview.shown[0];
  if (key === undefined) return (a, b) => a - b;
  const read = reader(key, state.other === null ? "one" : "difference");
  const sign = isLowerBetter(key) ? -1 : 1;
  const values = EVERY.map(read);
  const last = EVERY.map(reader(key, state.other === null ? "one" : "other"));
  const misses = EVERY.map(sortKey("causes"));
  return (a, b) => (values[a] === null) - (values[b] === null) || sign * (values[a] - values[b] || last[a] - last[b]) || misses[b] - misses[a] || a - b;
}

function order() {
  const { column, isDescending } = state.sort;
  if (column === WORST) return worstFirst();
  const sign = isDescending ? -1 : 1;
  const key = sortKey(column);
  const keys = EVERY.map(key);
  const compare = typeof keys.find((value) => value !== null) === "string" ? COLLATOR.compare : (a, b) => a - b;
  return (a, b) => {
    if (keys[a] === null || keys[b] === null) {
      return (keys[a] === null) - (keys[b] === null) || a - b; // what is undefined comes last either way
    }
    return sign * compare(keys[a], keys[b]) || a - b;
  };
}

function sortKey(column) {
  switch (column) {
    case PLACE:
      return (query) => query;
    case "id":
      return overview.ids === null ? (query) => query : idOf;
    case "question":
      return questionOf;
    case "slice":
      return (query) => valueOfSlice(overview.slices[0], query);
    case "nGold":
      return (query) => overview.nGold[query];
    case "causes":
      return (query) => lookedAt().map((system) => causesOf(system, query).length).reduce((a, b) => a + b);
    default: {
      if (MARKS.test(column)) return orderOfMarks(Number(column.slice(5)));
      const [which, metric] = column.split(/:(.*)/s);
      return reader(metric, which);
    }
  }
}

const MARKS = /^marks\d+$/;

function isSortable(column) {
  if (MARKS.test(column)) return Number(column.slice(5)) < overview.systems.length;
  const [which, metric] = column.split(/:(.*)/s);
  if (metric === undefined) return [WORST, PLACE, "id", "nGold", "causes"].includes(which) || (which === "question" && overview.questions !== null) || (which === "slice" && overview.slices.length > 0);
  const known = ["one", ...(state.other === null ? [] : ["other", "difference"]), ...overview.systems.map((_, i) => `run${i}`)];
  return metrics.has(metric) && known.includes(which);
}
