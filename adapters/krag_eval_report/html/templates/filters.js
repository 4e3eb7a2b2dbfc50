// Which queries the list shows, and in which order.

const state = {
  text: "",
  slices: new Map(), // field -> place among its values
  cause: "",
  status: "", // "failed", "empty", "no_gold" or "no_gold_empty"
  metric: overview.shown[0] ?? overview.metrics[0]?.key ?? null,
  of: "one", // "one", "other" or "difference"
  least: null,
  most: null,
  change: "",
  one: 0,
  other: overview.systems.length > 1 ? 1 : null,
  keys: overview.shown,
  k: null, // the cut-off that the reader chose
  sort: { column: "worst", isDescending: false },
};

const WORST = "worst";
const PLACE = "place";

const ANY_MISS = "any";
const NO_MISS = "none";
const ANY_FOUND = "found";
const EVERY = Array.from({ length: overview.n }, (_, query) => query);

const EACH_SYSTEM = Array.from(overview.systems.keys());
const shownSystems = () => (state.other === null ? [state.one] : [state.one, state.other]);

function chosenQueries() {
  const tests = [...sliceTests(), ...statusTests(), ...causeTests(), ...rangeTests(), ...changeTests(), ...textTests()];
  return EVERY.filter((query) => tests.every((test) => test(query))).sort(order());
}

function sliceTests() {
  return Array.from(state.slices, ([field, place]) => {
    const members = new Set(overview.slices.find((slice) => slice.field === field).values[place].members);
    return (query) => members.has(query);
  });
}

// Whether a query has no gold document, or in a shown system a retriever that failed or found nothing.
function statusTests() {
  const tests = {
    no_gold: (query) => !overview.nGold[query],
    failed: (query) => shownSystems().some((system) => failed[system].has(query)),
    no_gold_empty: (query) => !overview.nGold[query] && tests.empty(query),
    empty: (query) => shownSystems().some((system) => isEmpty(system, query) && !failed[system].has(query)),
  };
  return state.status ? [tests[state.status]] : [];
}

function isEmpty(system, query) {
  const { start } = details().systems[system].ranks;
  return start[query] === start[query + 1];
}

function causeTests() {
  if (!state.cause) return [];
  if (state.cause === ANY_FOUND) return [(query) => shownSystems().some((system) => missedAt(system, query) & (1 << FOUND))];
  const has = (query) =>
    shownSystems().some((system) => {
      const causes = causesOf(system, query);
      return state.cause === ANY_MISS || state.cause === NO_MISS ? causes.length > 0 : causes.includes(state.cause);
    });
  return [state.cause === NO_MISS ? (query) => !has(query) : has];
}

function rangeTests() {
  const { least, most, metric } = state;
  if (metric === null || (least === null && most === null)) return [];
  const value = reader(metric, state.of);
  return [
    (query) => {
      const found = value(query);
      return found !== null && (least === null || found >= least) && (most === null || found <= most);
    },
  ];
}

function changeTests() {
  const { change, metric, one, other } = state;
  if (!change || other === null || metric === null) return [];
  const tests = { differs: (d) => d !== 0, same: (d) => d === 0, better: (d) => d > 0, worse: (d) => d < 0 };
  return [
    (query) => {
      const difference = differenceOf(metric, one, other, query);
      return difference !== null && tests[change](difference);
    },
  ];
}

// Of what a search looks through, as the words are compared; made when it is first needed.
let searched = null;

function searchedTexts() {
  searched ??= {
    questions: (overview.questions?.values ?? []).map(searchable),
    about: (overview.about?.values ?? []).map(searchable),
    texts: Array.from(allTexts(), searchable),
    ids: details().ids.map(searchable),
    metadata: details().metadata.map(searchable),
  };
  return searched;
}

// Words in any order, wherever they are; "in quotes" they stay together.
const wordsOf = (text) => Array.from(text.matchAll(/"([^"]+)"|(\S+)/g), ([, phrase, word]) => searchable(phrase ?? word));

function textTests() {
  return wordsOf(state.text.trim()).map(wordTest);
}

// Whether a query has this in its id, question, metadata or slices, or a gold document, or one that a shown system
// retrieved, in its text, id or metadata.
function wordTest(wanted) {
  const { questions, about, texts, ids, metadata } = searchedTexts();
  const having = (values) => Uint8Array.from(values, (text) => text.includes(wanted));
  const [inQuestion, inAbout, inText, inId, inMetadata] = [questions, about, texts, ids, metadata].map(having);
  const inSlice = new Set(
    overview.slices.flatMap(({ values }) => values.filter(({ value }) => value !== null && searchable(value).includes(wanted)).flatMap(({ members }) => members)),
  );
  const { id, text, metadata: known } = details().documents;
  const inDocument = Uint8Array.from(id, (number, i) => inId[number] || inText[text[i]] || inMetadata[known[i]]);
  const sides = [details().gold, ...shownSystems().map((system) => details().systems[system].ranks)];
  const isInSide = ({ start, document }, query) => {
    for (let i = start[query]; i < start[query + 1]; i += 1) if (inDocument[document[i]]) return true;
    return false;
  };
  return (query) =>
    searchable(idOf(query)).includes(wanted) ||
    (overview.questions !== null && inQuestion[overview.questions.of[query]]) ||
    (overview.about !== null && inAbout[overview.about.of[query]]) ||
    inSlice.has(query) ||
    sides.some((side) => isInSide(side, query));
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
    case "nGold":
      return (query) => overview.nGold[query];
    case "causes":
      return (query) => shownSystems().map((system) => causesOf(system, query).length).reduce((a, b) => a + b);
    default: {
      const [which, metric] = column.split(/:(.*)/s);
      return reader(metric, which);
    }
  }
}

function isSortable(column) {
  const [which, metric] = column.split(/:(.*)/s);
  if (metric === undefined) return [WORST, PLACE, "id", "nGold", "causes"].includes(which) || (which === "question" && overview.questions !== null);
  const known = ["one", ...(state.other === null ? [] : ["other", "difference"]), ...overview.systems.map((_, i) => `run${i}`)];
  return metrics.has(metric) && known.includes(which);
}
