// The list of questions: as many rows in the page as fit on the screen, however many there are.

const SPARE_ROWS = 6;

const list = byId("list");
const rows = byId("rows");
const drawn = make("div", { role: "presentation" });
let shown = []; // the queries that pass the filters, in order
let active = 0; // the place in `shown` at which the keyboard is

const LONGEST_ID = Math.min(16, 3.6 + 0.6 * EVERY.reduce((longest, query) => Math.max(longest, idOf(query).length), 0)); // in rem
const CELL = 300; // of a longer text a cell has the beginning

// What is cut off at the end of a cell is said when one points at it.
function textCell(text, attributes = {}) {
  const start = text.length <= CELL ? text : `${text.slice(0, wholeCharacters(text, CELL))}\u2026`;
  const cell = isolated("", { title: start, ...attributes });
  cell.append(withWordsOfSearch(start));
  return cell;
}

const NARROW = matchMedia("(max-width: 44rem)");

// On a phone a row has the question below its id, and the marks below the question.
const rowHeight = () => (NARROW.matches ? 128 : 44);

// Of more runs the marks of all would be wider than any screen: then those of the two that are compared stand in the list.
const MOST_RUNS = 12;
let showsAllRuns = false;
const markedSystems = () => (state.other === null ? [state.one] : overview.systems.length <= MOST_RUNS || showsAllRuns ? EACH_SYSTEM : shownSystems());

// A column: what it sorts by, its heading, how many rem it takes at least, and at most or how much of what is left,
// and its cells.
function columns() {
  const made = [{ column: "id", title: say(overview.ids === null ? "column-number" : "column-id"), least: 7, most: LONGEST_ID, fill: idCell }];
  if (overview.questions !== null) {
    made.push({ column: "question", title: say("column-question"), least: 15, share: 5, isQuestion: true, fill: (q) => textCell(questionOf(q) ?? "", { lang: "" }) });
  }
  const [field] = overview.slices;
  if (field !== undefined && markedSystems().length <= MOST_NAMED && !NARROW.matches) {
    made.push({ column: "slice", title: field.field, least: 6.5, most: 9, fill: (q) => isolated(valueOfSlice(field, q) ?? "\u2013", { class: "quiet" }) });
  }
  const gold = { column: "nGold", title: say("column-gold"), least: 4.5, isNumber: true, fill: (q) => counted(overview.nGold[q]) };
  const few = overview.systems.length <= FEW || state.other === null;
  const misses = { column: "causes", title: say("column-misses"), least: 13, share: 2, fill: missesCell };
  return [...made, gold, ...markColumns(), ...shownKeys().flatMap(valueColumns), ...(few ? [misses] : [])];
}

const MOST_NAMED = 6; // runs whose names fit into a line

function valueOfSlice({ values }, query) {
  return values.find(({ members }) => contains(members, query))?.value ?? null;
}

const idCell = (query) => [toggleOf(query), textCell(idOf(query), { class: "id" })];

function markColumns() {
  const isMany = overview.systems.length > MOST_RUNS && state.other !== null;
  const made = markedSystems().map((system) => ({
    column: `marks${system}`,
    title: overview.systems.length > 1 ? overview.systems[system] : say("column-ranks"),
    least: NARROW.matches ? 4 : 5.5,
    isMarks: true,
    fill: (q) => marksOf(system, q),
  }));
  if (isMany) made.unshift({ column: null, title: say("column-found-by"), least: 5.5, isNumber: true, fill: foundByCell });
  return made;
}

function foundByCell(query) {
  if (!overview.nGold[query]) return UNDEFINED;
  return say("found-by-of", { n: EACH_SYSTEM.filter((system) => !causesOf(system, query).length).length, of: overview.systems.length });
}

// The values of a metric: of each system, and the difference of the two that are compared.
function valueColumns(key) {
  const isMany = overview.systems.length > 2 && state.other !== null;
  const made = (isMany ? EACH_SYSTEM : shownSystems()).map((system) => ({
    column: `${system === state.one ? "one" : system === state.other ? "other" : `run${system}`}:${key}`,
    title: atCutOff(key),
    of: overview.systems.length > 1 ? overview.systems[system] : null,
    fill: (q) => figure(printedValue(key, system, q)),
  }));
  if (state.other !== null) {
    const fill = (q) => differenceCell(differenceOf(key, state.one, state.other, q), isLowerBetter(key));
    made.push({ column: `difference:${key}`, title: atCutOff(key), of: say("difference"), fill });
  }
  return made.map((value) => ({ ...value, least: 5.5, isNumber: true, fallsFirst: isLowerBetter(key) }));
}

function differenceCell(difference, isReversed) {
  const gain = isReversed ? -difference : difference;
  const tone = gain > 0 ? "good" : gain < 0 ? "bad" : "quiet";
  return make("span", { class: tone }, figure(printedDifference(difference)));
}

// The reasons in plain words; their technical names are said when one points at them.
function missesCell(query) {
  const names = shownSystems().map((system) => causesOf(system, query));
  const [before, after] = names.map((causes) => causes.map(causeText).join(", "));
  const title = [...new Set(names.map((causes) => causes.join(", ") || "\u2013"))].join(" \u2192 ");
  const text = after === undefined || after === before ? before || "\u2013" : `${before || "\u2713"} \u2192 ${after || "\u2713"}`;
  return make("span", { class: text === "\u2013" ? "quiet" : null, title: `${text} (${title})` }, text);
}

let shownColumns = [];

function drawHead() {
  shownColumns = columns();
  const widths = shownColumns.map(({ least, share, most = least }) => `minmax(${least}rem, ${share ? `${share}fr` : `${Math.max(least, most)}rem`})`);
  list.style.setProperty("--columns", widths.join(" "));
  list.style.setProperty("--least", `${shownColumns.reduce((sum, { least }) => sum + least, 0)}rem`);
  list.style.setProperty("--row", `${rowHeight()}px`);
  list.setAttribute("aria-colcount", shownColumns.length);
  byId("head").replaceChildren(make("div", { role: "row", "aria-rowindex": 1, class: "row" }, ...shownColumns.map(headCell)));
}

const classOf = ({ isNumber, isMarks, isQuestion }) => (isNumber ? "number" : isMarks ? "of-run" : isQuestion ? "of-question-text" : null);

function headCell({ column, title, of, isNumber, isMarks, isQuestion, fallsFirst = Boolean(isNumber || isMarks) || column === "causes" }) {
  const inside = make("span", { class: "name" }, isolated(title));
  const attributes = { role: "columnheader", class: classOf({ isNumber, isMarks, isQuestion }) };
  if (column === null) return make("div", attributes, inside);
  const { sort } = state;
  const isSorted = sort.column === column;
  const direction = !isSorted ? "none" : sort.isDescending ? "descending" : "ascending";
  const label = of ? `${title} ${of}` : title;
  const arrow = make("span", { class: "arrow", "aria-hidden": "true" }, { none: "", ascending: "\u25b2", descending: "\u25bc" }[direction]);
  const pressed = button("", () => sortBy(column, fallsFirst), { title: say("sort-by", { name: label }) });
  pressed.append(inside, arrow);
  if (of) pressed.append(isolated(of, { class: "of" }));
  return make("div", { ...attributes, "aria-sort": direction, "data-column": column }, pressed);
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
  list.setAttribute("aria-rowcount", shown.length + 1);
  byId("empty").hidden = shown.length > 0;
  drawCount();
  drawMeans();
  list.scrollTop = Math.min(list.scrollTop, Math.max(0, topOf(active)));
  drawRows();
  drawChips();
}

// How many questions are listed, as a status message; what the search found is said with its words.
function drawCount() {
  const args = { shown: shown.length, all: overview.n, text: state.text.trim() };
  const id = isSearching() ? "count-searching" : shown.length === overview.n ? "count-all" : args.text ? "count-with" : "count-of";
  const text = say(id, args);
  if (byId("count").textContent !== text) byId("count").textContent = text;
  list.setAttribute("aria-busy", String(isSearching()));
  for (const name of ["save-set", "save-table"]) byId(name).disabled = !shown.length;
}

function drawRows() {
  const [from, to] = [placeAt(list.scrollTop), placeAt(list.scrollTop + list.clientHeight)];
  const first = Math.max(0, from - SPARE_ROWS);
  const last = Math.min(shown.length, to + 1 + SPARE_ROWS);
  drawn.replaceChildren(...shown.slice(first, last).map((query, i) => rowOf(query, first + i)));
  placeOpenedRow();
  rows.style.height = `${topOf(shown.length)}px`;
  list.setAttribute("aria-activedescendant", active >= first && active < last ? `krag-row-${active}` : "");
}

function rowOf(query, place) {
  const row = make(
    "div",
    { role: "row", id: `krag-row-${place}`, class: "row", "aria-rowindex": place + 2, "aria-selected": String(place === active), "data-query": query },
    ...shownColumns.map((column) => {
      const inside = column.fill(query);
      const label = NARROW.matches && (column.isMarks || column.isNumber) ? make("span", { class: "of", "aria-hidden": "true" }, isolated(column.of ?? column.title)) : null;
      return make("div", { role: "gridcell", class: classOf(column) }, label, ...(Array.isArray(inside) ? inside : [inside]));
    }),
  );
  row.style.top = `${topOf(place)}px`;
  return row;
}

function moveTo(place) {
  if (!shown.length) return;
  active = Math.min(shown.length - 1, Math.max(0, place));
  if (openRow !== null && openRow !== shown[active]) openInPlace(shown[active]);
  const top = topOf(active);
  const height = rowHeight() + (openRow === shown[active] ? openHeight : 0);
  const room = list.clientHeight - byId("head").offsetHeight - Math.min(height, list.clientHeight / 2);
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
  else if (event.key === " " && shown.length) toggleInPlace(shown[active]);
  else if (event.key === "Escape" && openRow !== null) toggleInPlace(openRow);
  else return;
  event.preventDefault();
}

function startList() {
  rows.replaceChildren(drawn);
  list.addEventListener("scroll", () => requestAnimationFrame(drawRows), { passive: true });
  list.addEventListener("keydown", onKey);
  drawn.addEventListener("click", (event) => {
    const row = event.target.closest("[role=row]");
    if (row === null || String(getSelection())) return;
    const query = Number(row.dataset.query);
    if (event.target.closest(".toggle") !== null) {
      active = shown.indexOf(query);
      toggleInPlace(query);
      return;
    }
    moveTo(shown.indexOf(query));
    openQuery(shown[active]);
  });
  new ResizeObserver(drawRows).observe(list);
  NARROW.addEventListener("change", update);
}
