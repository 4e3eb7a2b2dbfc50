// Which queries the list shows, and in which order.

const state = {
  text: "",
  inDocuments: false,
  slices: new Map(), // field -> place among its values
  cause: "",
  metric: overview.shown[0] ?? overview.metrics[0]?.key ?? null,
  of: "one", // "one", "other" or "difference"
  least: null,
  most: null,
  change: "",
  one: 0,
  other: overview.systems.length > 1 ? 1 : null,
  keys: overview.shown,
  k: null, // the cut-off that the reader chose
  sort: { column: "place", isDescending: false },
};

const ANY_MISS = "any";
const NO_MISS = "none";
const EVERY = Array.from({ length: overview.n }, (_, query) => query);

const shownSystems = () => (state.other === null ? [state.one] : [state.one, state.other]);

function chosenQueries() {
  const tests = [...sliceTests(), ...causeTests(), ...rangeTests(), ...changeTests(), ...textTests()];
  return EVERY.filter((query) => tests.every((test) => test(query))).sort(order());
}

function sliceTests() {
  return Array.from(state.slices, ([field, place]) => {
    const members = new Set(overview.slices.find((slice) => slice.field === field).values[place].members);
    return (query) => members.has(query);
  });
}

function causeTests() {
  if (!state.cause) return [];
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
  const tests = { differs: (d) => d !== 0, better: (d) => d > 0, worse: (d) => d < 0 };
  return [
    (query) => {
      const difference = differenceOf(metric, one, other, query);
      return difference !== null && tests[change](difference);
    },
  ];
}

let searchableQuestions = null;

function textTests() {
  const wanted = searchable(state.text.trim());
  if (!wanted) return [];
  searchableQuestions ??= (overview.questions?.values ?? []).map(searchable);
  const questions = searchableQuestions.map((question) => question.includes(wanted));
  const inDocuments = state.inDocuments ? documentTest(wanted) : () => false;
  return [
    (query) =>
      searchable(idOf(query)).includes(wanted) ||
      (overview.questions !== null && questions[overview.questions.of[query]]) ||
      inDocuments(query),
  ];
}

// Whether a gold document, or one that a shown system retrieved, has this in its text or its id.
function documentTest(wanted) {
  const has = (texts) => Uint8Array.from(texts, (text) => searchable(text).includes(wanted));
  const texts = has(allTexts());
  const ids = has(details().ids);
  const { id, text } = details().documents;
  const isHit = (document) => ids[id[document]] || texts[text[document]];
  const sides = [details().gold, ...shownSystems().map((system) => details().systems[system].ranks)];
  return (query) =>
    sides.some(({ start, document }) => document.slice(start[query], start[query + 1]).some(isHit));
}

// The values of a metric by query: of one shown system, the other, or what the other has more.
function reader(key, which) {
  if (which === "difference") return (query) => differenceOf(key, state.one, state.other, query);
  return (query) => valueOf(key, state[which], query);
}

const COLLATOR = new Intl.Collator(undefined, { numeric: true });

function order() {
  const { column, isDescending } = state.sort;
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
    case "place":
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
