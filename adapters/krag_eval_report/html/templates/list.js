// The list of queries: as many rows in the page as fit on the screen, however many there are.

const SPARE_ROWS = 6;

const list = byId("list");
const rows = byId("rows");
let shown = []; // the queries that pass the filters, in order
let active = 0; // the place in `shown` at which the keyboard is

const LONGEST_ID = Math.min(16, 1.5 + 0.6 * EVERY.reduce((longest, query) => Math.max(longest, idOf(query).length), 0)); // in rem
const CELL = 300; // of a longer text a cell has the beginning

// What is cut off at the end of a cell is said when one points at it.
function textCell(text, attributes = {}) {
  const start = text.length <= CELL ? text : `${text.slice(0, wholeCharacters(text, CELL))}\u2026`;
  return isolated(start, { title: start, ...attributes });
}

// A column: what it sorts by, its heading, how many rem it takes at least, and at most or how much of what is left,
// and its cells.
const NARROW = matchMedia("(max-width: 44rem)");

// On a phone a row has two lines, of which the question is the second.
const rowHeight = () => (NARROW.matches && overview.questions !== null ? 58 : 34);

function columns() {
  const made = [{ column: "id", title: overview.ids === null ? "No." : "Id", least: 7, most: LONGEST_ID, fill: (q) => textCell(idOf(q)) }];
  if (overview.questions !== null) {
    made.push({ column: "question", title: "Question", least: 15, share: 3, isBelow: NARROW.matches, fill: (q) => textCell(questionOf(q) ?? "", { lang: "" }) });
  }
  const gold = { column: "nGold", title: "Gold", least: 4, isNumber: true, fill: (q) => String(overview.nGold[q]) };
  const values = shownKeys().flatMap(valueColumns);
  const misses = { column: "causes", title: "Misses", least: NARROW.matches ? 9 : 14, share: 1, fill: missesCell };
  if (NARROW.matches) return [made[0], ...values, misses, gold, ...made.slice(1)];
  return [...made, gold, ...values, misses];
}

// The values of a metric: of each system, and the difference of the two that are shown side by side.
function valueColumns(key) {
  const isMany = overview.systems.length > 2 && state.other !== null;
  const made = (isMany ? EACH_SYSTEM : shownSystems()).map((system) => ({
    column: `${system === state.one ? "one" : system === state.other ? "other" : `run${system}`}:${key}`,
    title: atCutOff(key),
    of: overview.systems.length > 1 ? overview.systems[system] : null,
    fill: (q) => printedValue(key, system, q),
  }));
  if (state.other !== null) {
    const fill = (q) => differenceCell(differenceOf(key, state.one, state.other, q), isLowerBetter(key));
    made.push({ column: `difference:${key}`, title: atCutOff(key), of: "difference", fill });
  }
  return made.map((value) => ({ ...value, least: NARROW.matches ? 4.6 : 7, isNumber: true, fallsFirst: isLowerBetter(key) }));
}

function differenceCell(difference, isReversed) {
  const gain = isReversed ? -difference : difference;
  const tone = gain > 0 ? "good" : gain < 0 ? "bad" : "quiet";
  return make("span", { class: tone }, printedDifference(difference));
}

function missesCell(query) {
  const [before, after] = shownSystems().map((system) => causesOf(system, query).join(", ") || "none");
  const text = after === undefined || after === before ? before : `${before} \u2192 ${after}`;
  return make("span", { class: text === "none" ? "quiet" : null, title: text }, text === "none" ? "\u2013" : text);
}

let shownColumns = [];

function drawHead() {
  shownColumns = columns();
  const across = shownColumns.filter(({ isBelow }) => !isBelow);
  const widths = across.map(({ least, share, most = least }) => `minmax(${least}rem, ${share ? `${share}fr` : `${Math.max(least, most)}rem`})`);
  list.style.setProperty("--columns", widths.join(" "));
  list.style.setProperty("--least", `${across.reduce((sum, { least }) => sum + least, 0)}rem`);
  list.style.setProperty("--row", `${rowHeight()}px`);
  list.setAttribute("aria-colcount", shownColumns.length);
  byId("head").replaceChildren(
    make("div", { role: "row", "aria-rowindex": 1, class: "row" }, ...shownColumns.map(headCell)),
  );
}

const classOf = ({ isNumber, isBelow }) => (isNumber ? "number" : isBelow ? "below" : null);

function headCell({ column, title, of, isNumber, isBelow, fallsFirst = Boolean(isNumber) || column === "causes" }) {
  const { sort } = state;
  const isSorted = sort.column === column;
  const direction = !isSorted ? "none" : sort.isDescending ? "descending" : "ascending";
  const label = of ? `${title} ${of}` : title;
  const arrow = make("span", { class: "arrow", "aria-hidden": "true" }, { none: "", ascending: "\u25b2", descending: "\u25bc" }[direction]);
  const inside = button("", () => sortBy(column, fallsFirst), { title: `Sort by ${label}` });
  inside.append(make("span", { class: "name" }, isolated(title)), arrow);
  if (of) inside.append(isolated(of, { class: "of" }));
  return make("div", { role: "columnheader", "aria-sort": direction, "data-column": column, class: classOf({ isNumber, isBelow }) }, inside);
}

function sortBy(column, fallsFirst) {
  const { sort } = state;
  if (sort.column !== column) state.sort = { column, isDescending: fallsFirst };
  else if (sort.isDescending === fallsFirst) state.sort = { column, isDescending: !fallsFirst };
  else state.sort = { column: WORST, isDescending: false };
  update();
  writeAddress();
  headOf(column)?.querySelector("button").focus(); // the one that was pressed was drawn anew
}

const headOf = (column) => Array.from(byId("head").firstChild.children).find((head) => head.dataset.column === column);

// Filter, sort and draw anew.
function update() {
  const query = shown[active];
  shown = chosenQueries();
  active = Math.max(0, shown.indexOf(query));
  drawHead();
  byId("order").value = [WORST, PLACE].includes(state.sort.column) ? state.sort.column : "";
  rows.style.height = `${shown.length * rowHeight()}px`;
  list.setAttribute("aria-rowcount", shown.length + 1);
  byId("empty").hidden = shown.length > 0;
  byId("count").textContent =
    shown.length === overview.n ? plural(overview.n, "query", "queries") : `${counted(shown.length)} of ${plural(overview.n, "query", "queries")}`;
  list.scrollTop = Math.min(list.scrollTop, Math.max(0, active * rowHeight()));
  drawRows();
  drawMeans();
}

function drawRows() {
  const first = Math.max(0, Math.floor(list.scrollTop / rowHeight()) - SPARE_ROWS);
  const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / rowHeight()) + SPARE_ROWS);
  rows.replaceChildren(...shown.slice(first, last).map((query, i) => rowOf(query, first + i)));
  list.setAttribute("aria-activedescendant", active >= first && active < last ? `krag-row-${active}` : "");
}

function rowOf(query, place) {
  const row = make(
    "div",
    { role: "row", id: `krag-row-${place}`, class: "row", "aria-rowindex": place + 2, "aria-selected": String(place === active), "data-query": query },
    ...shownColumns.map((column) => make("div", { role: "gridcell", class: classOf(column) }, column.fill(query))),
  );
  row.style.top = `${place * rowHeight()}px`;
  return row;
}

function moveTo(place) {
  if (!shown.length) return;
  active = Math.min(shown.length - 1, Math.max(0, place));
  const top = active * rowHeight();
  const room = list.clientHeight - byId("head").offsetHeight - rowHeight();
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top > list.scrollTop + room) list.scrollTop = top - room;
  drawRows();
}

function onKey(event) {
  const page = Math.max(1, Math.floor(list.clientHeight / rowHeight()) - 2);
  const moves = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: shown.length - 1 };
  if (event.target !== list || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in moves) moveTo(moves[event.key]);
  else if (event.key === "Enter" && shown.length) openQuery(shown[active]);
  else return;
  event.preventDefault();
}

function startList() {
  list.addEventListener("scroll", () => requestAnimationFrame(drawRows), { passive: true });
  list.addEventListener("keydown", onKey);
  rows.addEventListener("click", (event) => {
    const row = event.target.closest("[role=row]");
    if (row === null || String(getSelection())) return;
    moveTo(shown.indexOf(Number(row.dataset.query)));
    openQuery(shown[active]);
  });
  new ResizeObserver(drawRows).observe(list);
  NARROW.addEventListener("change", update);
}
