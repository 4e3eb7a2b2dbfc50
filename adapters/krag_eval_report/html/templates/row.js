// A row of the list that is open in place: the gold documents of its question, and where each run found them.

let openRow = null; // the query whose row is open
let unfolded = null; // the element below its row
let openHeight = 0;
const GLIMPSE = 300; // characters of a gold document

const openPlace = () => (openRow === null ? -1 : shown.indexOf(openRow));

// Where a row begins in the list, in pixels, and which row lies there.
function topOf(place) {
  const at = openPlace();
  return place * rowHeight() + (at >= 0 && place > at ? openHeight : 0);
}

function placeAt(top) {
  const at = openPlace();
  const below = at >= 0 && top > (at + 1) * rowHeight();
  const place = below ? Math.max(at, Math.floor((top - openHeight) / rowHeight())) : Math.floor(top / rowHeight());
  return Math.max(0, place);
}

function toggleOf(query) {
  const isOpen = openRow === query;
  const label = say(isOpen ? "row-close" : "row-open");
  return make("button", { type: "button", class: "toggle", tabindex: "-1", "aria-expanded": String(isOpen), "aria-label": label, title: label });
}

function toggleInPlace(query) {
  openInPlace(openRow === query ? null : query);
  drawRows();
  list.focus({ preventScroll: true });
}

const heights = new ResizeObserver(([{ target }]) => {
  if (target !== unfolded || target.offsetHeight === openHeight) return;
  openHeight = target.offsetHeight;
  drawRows();
});

function openInPlace(query) {
  if (unfolded !== null) heights.unobserve(unfolded);
  unfolded?.remove();
  openRow = query;
  unfolded = null;
  openHeight = 0;
  if (query === null) return;
  unfolded = make("div", { role: "row", class: "row-open" }, make("div", { role: "gridcell", "aria-colspan": shownColumns.length }, ...insideOf(query)));
  rows.append(unfolded);
  openHeight = unfolded.offsetHeight;
  heights.observe(unfolded);
}

function placeOpenedRow() {
  if (unfolded === null) return;
  const at = openPlace();
  unfolded.hidden = at < 0;
  unfolded.style.top = `${(at + 1) * rowHeight()}px`;
}

function insideOf(query) {
  const golds = goldOf(query).map((gold, i) => glimpseOf(query, gold, i));
  const errors = EACH_SYSTEM.filter((system) => failed[system].has(query)).map((system) => errorOf(system, query));
  const none = golds.length ? null : make("p", { class: "quiet" }, say("no-gold-documents"));
  const openIt = button(say("open-question"), () => openQuery(query), { class: "primary" });
  return [make("div", { class: "glimpses" }, ...golds, none), ...errors, make("p", { class: "row-actions" }, openIt)].filter((part) => part !== null);
}

// A gold document in short: its beginning, and what became of it in each run, of many runs those that are alike together.
function glimpseOf(query, gold, number) {
  const place = details().gold.start[query] + number;
  const text = gold.text === null ? null : gold.text.length <= GLIMPSE ? gold.text : `${gold.text.slice(0, wholeCharacters(gold.text, GLIMPSE))}\u2026`;
  const head = make("p", { class: "glimpse-head" }, make("strong", {}, say("gold-number", { n: number + 1 })), documentId(gold), gradeOf(place));
  const words = text === null ? make("p", { class: "quiet" }, say("no-text")) : prose("p", { class: "glimpse-text" }, withWordsOfSearch(text));
  const fates = fatesInShort(query, place);
  return make("div", { class: "glimpse" }, head, words, make("ul", { class: "fates-in-short" }, ...fates));
}

// Runs with the same fate, the best first.
function groupsOfFates(query, place) {
  const groups = new Map();
  for (const system of EACH_SYSTEM) {
    const { cause, rank } = fateOf(system, query, place);
    const { key } = overview.causes[cause] ?? {};
    const isRanked = cause === FOUND || BELOW.has(key) || key === NOT_CITED;
    const kind = cause === NONE ? "none" : cause === FOUND ? "found" : isRanked ? "below" : "missing";
    const label = cause === NONE ? say("fate-not-counted") : isRanked ? rankName(system, query, rank) : causeText(key);
    const order = cause === NONE ? 3e9 : isRanked ? rank : 1e9 + cause;
    if (!groups.has(label)) groups.set(label, { label, kind, order, systems: [] });
    groups.get(label).systems.push(system);
  }
  return Array.from(groups.values()).sort((a, b) => a.order - b.order);
}

// A line for each fate: what it is, how many of many runs have it, and which.
function fatesInShort(query, place) {
  return groupsOfFates(query, place).map(({ label, kind, systems }) => {
    const n = overview.systems.length > MOST_NAMES ? make("span", { class: "quiet" }, ` (${counted(systems.length)})`) : null;
    return make("li", {}, make("span", { class: `fate-${kind}` }, label), n, " ", namesOf(systems));
  });
}

// The names of runs in a line; of many the first, and how many more.
const MOST_NAMES = 12;

function namesOf(systems) {
  const names = systems.slice(0, MOST_NAMES).flatMap((system, i) => [i ? ", " : "", isolated(overview.systems[system])]);
  const rest = systems.length - MOST_NAMES;
  return make("span", { class: "quiet" }, ...names, rest > 0 ? ` ${say("and-more", { n: rest })}` : "");
}
