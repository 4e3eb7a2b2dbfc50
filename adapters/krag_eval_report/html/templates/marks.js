// What became of the gold documents of a query in a run: found at a rank, below the cut-off, or not retrieved.

const NOT_CITED_BIT = () => 1 << overview.causes.findIndex(({ key }) => key === "not_cited");
const hasRanks = () => judged !== null && Number.isInteger(cutOff());

// One for each gold document that counts.
function outcomesOf(system, query) {
  const bits = missedAt(system, query);
  if (hasRanks() && !(bits & NOT_CITED_BIT())) {
    const { rank } = judged.systems[system].gold;
    return Array.from({ length: overview.nGold[query] }, (_, i) => {
      const at = rank[offsets[query] + i];
      return { rank: at, isFound: at > 0 && at <= cutOff() };
    });
  }
  const { gold } = ofSystem(system);
  return placesOf(details().gold, query)
    .filter((place) => gold.cause[place] !== NONE)
    .map((place) => {
      const cause = state.k === null ? gold.cause[place] : causeAt(system, query, numberOf(gold.cause, query, place));
      const isRanked = cause === FOUND || BELOW.has(overview.causes[cause].key) || overview.causes[cause].key === NOT_CITED;
      return { rank: isRanked ? gold.rank[place] : 0, isFound: cause === FOUND };
    });
}

// A box with the rank: filled where it counts as found, dashed below the cut-off; a cross where it was not retrieved.
function markOf({ rank, isFound }) {
  const kind = isFound ? "found" : rank > 0 ? "below" : "missing";
  return make("span", { class: `mark-${kind}` }, rank > 0 ? String(rank) : "\u00d7");
}

// The words of marks are few, and a list has many marks.
const wordsOfMarks = new Map();

function inWordsOf({ rank, isFound }) {
  const key = `${language} ${rank} ${isFound}`;
  if (!wordsOfMarks.has(key)) wordsOfMarks.set(key, isFound ? say("mark-found", { rank }) : rank > 0 ? say("mark-below", { rank }) : say("mark-missing"));
  return wordsOfMarks.get(key);
}

const MOST_MARKS = 6;

// The marks of a query in a run, which a screen reader hears as words.
function marksOf(system, query) {
  const outcomes = outcomesOf(system, query);
  const more = outcomes.length - MOST_MARKS;
  const shownOutcomes = more > 0 ? outcomes.slice(0, MOST_MARKS - 1) : outcomes;
  const label = failed[system].has(query) ? say("mark-failed") : outcomes.length ? outcomes.map(inWordsOf).join(", ") : say("mark-none");
  const sign = failed[system].has(query) ? [make("span", { class: "mark-failed" }, "!")] : shownOutcomes.map(markOf);
  const rest = more > 0 ? make("span", { class: "quiet" }, `+${counted(outcomes.length - shownOutcomes.length)}`) : null;
  const dots = outcomes.length ? null : make("span", { class: "quiet" }, "\u2013");
  return make("span", { class: "marks", role: "img", "aria-label": label, title: label }, ...sign, rest, failed[system].has(query) ? null : dots);
}

// The order by marks: what misses more comes later, of equal ones what is found later.
function orderOfMarks(system) {
  return (query) => {
    if (!overview.nGold[query]) return null;
    const outcomes = outcomesOf(system, query);
    const nMissed = outcomes.filter(({ isFound }) => !isFound).length;
    return nMissed * 1e6 + outcomes.reduce((total, { rank }) => total + (rank || 1000), 0);
  };
}

// Whether a gold document exists that all runs of one list found, and all of another missed.
function isFoundAndMissed(query, finders, missers) {
  const bits = 1 << FOUND;
  if (!overview.nGold[query]) return false;
  if (finders.some((system) => !(missedAt(system, query) & bits))) return false;
  if (missers.some((system) => !(missedAt(system, query) & ~bits) && !failed[system].has(query))) return false;
  if (overview.nGold[query] === 1) return true;
  const found = finders.map((system) => outcomesOf(system, query));
  const missed = missers.map((system) => outcomesOf(system, query));
  return Array.from({ length: overview.nGold[query] }).some(
    (_, i) => found.every((of) => of[i]?.isFound) && missed.every((of) => !of[i]?.isFound),
  );
}
