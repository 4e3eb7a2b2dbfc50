// The address says what the page shows: `#VIEW?name=value&...`. The view is a section, or `queries`, whose filters, order
// and open query are the names. What is at its default is left out. `#q=ID` and `#n=3` open a query, too.

const RANGE = ["least", "most"];
const THEMES = ["light", "dark"];

function readAddress() {
  const text = location.hash.slice(1);
  if (/^[qn]=/.test(text)) return { view: "queries", given: new Map([[text[0], decoded(text.slice(2))]]), found: [], missed: [] };
  const [view, names] = text.split(/\?(.*)/s);
  const all = new URLSearchParams(names ?? "");
  return { view, given: new Map(all), found: all.getAll("found"), missed: all.getAll("missed") };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // not what this page writes
  }
}

// What the controls say, without what they say at first.
function addressOfState(query = null) {
  const { sort } = state;
  const isPair = overview.systems.length > 1;
  const given = [
    ["text", state.text],
    ...Array.from(state.slices, ([field, place]) => [`slice.${field}`, sliceName(field, place)]),
    ["cause", state.cause],
    ["status", state.status],
    ["in", state.in === null ? "" : overview.systems[state.in]],
    ...["found", "missed"].flatMap((of) => state[of].map((system) => [of, overview.systems[system]])),
    ["label", state.label],
    ["metric", isRangeUsed() && state.metric !== overview.shown[0] ? state.metric : ""],
    ["of", isRangeUsed() && state.of !== "one" ? state.of : ""],
    ["least", state.least ?? ""],
    ["most", state.most ?? ""],
    ["change", state.change],
    ["run", isPair && state.one !== 0 ? overview.systems[state.one] : ""],
    ["against", isPair && state.other !== OTHER_AT_FIRST ? (state.other === null ? NOTHING : overview.systems[state.other]) : ""],
    ["columns", state.keys.join() === shownAtFirst.join() ? "" : state.keys.join() || "none"],
    ["sort", sort.column === WORST ? "" : `${sort.isDescending ? "-" : ""}${sort.column}`],
    ["k", state.k ?? ""],
    ["theme", THEMES.includes(chosenTheme) ? chosenTheme : ""],
    ["language", chosenLanguage ?? ""],
    ...(query === null ? [] : [nameOf(query)]),
  ].filter(([, value]) => value !== "");
  const names = given.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join("&");
  return names ? `#queries?${names}` : "#queries";
}

const isRangeUsed = () => Boolean(state.least !== null || state.most !== null || state.change);
const sliceName = (field, place) => overview.slices.find((slice) => slice.field === field).values[place].value ?? ABSENT;
const ABSENT = "(none)";
const NOTHING = "nothing"; // what a run that is shown alone is compared with

// Half of a pair of surrogates cannot stand in an address.
const encoded = (value) => encodeURIComponent(String(value).toWellFormed());

// Ids may be anything; where one cannot stand in an address, or is not the only one, the number of the query does.
function nameOf(query) {
  const isNamed = overview.ids !== null && queryOfId.get(idOf(query)) === query && idOf(query).isWellFormed();
  return isNamed ? ["q", idOf(query)] : ["n", query + 1];
}

// The address that the page shows.
let applied = null;

// The controls as an address wants them; what it names in vain is said.
function applyAddress() {
  if (isGoingBack) {
    isGoingBack = false;
    writeAddress(null);
  }
  if (location.hash === applied) return;
  applied = location.hash;
  const { view, given, found, missed } = readAddress();
  const inVain = [];
  if (given.has("theme") && THEMES.includes(given.get("theme"))) chooseTheme(given.get("theme"));
  if (Object.hasOwn(messages, given.get("language") ?? "")) chooseLanguage((chosenLanguage = given.get("language")));
  if (view === "queries") applyFilters(given, { found, missed }, inVain);
  if (view === "queries" && opened === null) moveTo(0);
  const query = queryOf(given);
  if (query === null) inVain.push(given.has("q") ? say("vain-question", { name: given.get("q") }) : say("vain-number", { n: given.get("n") }));
  byId("in-vain").textContent = inVain.length ? say("asked-in-vain", { what: inVain.join("; ") }) : "";
  byId("in-vain").hidden = !inVain.length;
  const wasOpen = opened !== null;
  showQuery(query ?? undefined);
  if (view !== "queries") return;
  if (!wasOpen && opened === null) scrollTo(0, 0);
  if (inVain.length) byId("in-vain").scrollIntoView({ block: "center" });
}

// The query that an address opens: undefined where it opens none, null where there is no such query.
function queryOf(given) {
  if (given.has("q")) return queryOfId.get(given.get("q")) ?? null;
  if (!given.has("n")) return undefined;
  const number = Number(given.get("n"));
  return number >= 1 && number <= overview.n ? Math.floor(number) - 1 : null;
}

const READ = ["text", "cause", "status", "metric", "of", "least", "most", "change", "run", "against", "columns", "sort", "k", "theme", "language", "q", "n", "in", "found", "missed", "label"];

function applyFilters(given, runs, inVain) {
  resetControls();
  for (const [name, value] of given) {
    if (name.startsWith("slice.")) choose(sliceSelectOf(name.slice(6)), value, `${name.slice(6)} = ${value}`, inVain, true);
    else if (!READ.includes(name)) inVain.push(name);
  }
  for (const name of ["cause", "status", "metric", "change", "label"]) {
    if (given.has(name)) choose(byId(name), given.get(name), `${name} ${given.get(name)}`, inVain);
  }
  for (const [name, id] of [["run", "one"], ["against", "other"], ["in", "in"]]) {
    if (!given.has(name)) continue;
    const run = given.get(name);
    const system = overview.systems.indexOf(run);
    if (name === "against" && run === NOTHING && system < 0) byId(id).value = "";
    else if (system >= 0) byId(id).value = String(system);
    else inVain.push(`run ${run}`);
  }
  for (const [name, wanted] of Object.entries(runs)) {
    for (const run of wanted) {
      const box = boxesOf(name)[overview.systems.indexOf(run)];
      if (box === undefined) inVain.push(`run ${run}`);
      else box.checked = true;
    }
  }
  if (given.has("run") && !given.has("against") && byId("other").value === byId("one").value) byId("other").value = "0";
  byId("text").value = given.get("text") ?? "";
  for (const name of RANGE) byId(name).value = given.get(name) ?? "";
  if (given.has("columns")) chooseColumns(given.get("columns").split(","), inVain);
  readControls();
  if (given.has("of")) choose(byId("of"), given.get("of"), `values of ${given.get("of")}`, inVain);
  chooseSort(given.get("sort"), inVain);
  const k = Number(given.get("k"));
  if (given.has("k") && !(judged !== null && Number.isInteger(k) && k >= 1 && k <= judged.last)) inVain.push(`k = ${given.get("k")}`);
  else state.k = given.has("k") ? k : null;
  readControls();
}

// Choose an option by its value or, of slices, by what the value is called.
function choose(select, wanted, name, inVain, isSlice = false) {
  if (select !== null && isSlice) {
    const { values } = overview.slices[sliceSelects.findIndex(([, of]) => of === select)];
    const place = values.findIndex(({ value }) => (value ?? ABSENT) === wanted);
    if (place >= 0) select.value = String(place);
    else inVain.push(name);
    return;
  }
  const option = select && Array.from(select.options).find(({ value }) => value === wanted);
  if (option) option.selected = true;
  else inVain.push(name);
}

const sliceSelectOf = (field) => sliceSelects.find(([name]) => name === field)?.[1] ?? null;

function chooseColumns(given, inVain) {
  const keys = given.filter((key) => key !== "none");
  inVain.push(...keys.filter((key) => !metrics.has(key)).map((key) => `column ${key}`));
  for (const box of keyBoxes()) box.checked = keys.includes(box.value);
}

function chooseSort(wanted, inVain) {
  if (wanted === undefined) return;
  const isDescending = wanted.startsWith("-");
  const column = isDescending ? wanted.slice(1) : wanted;
  if (isSortable(column)) state.sort = { column, isDescending };
  else inVain.push(`order ${wanted}`);
}

// What the reader changed stands in the address; of many changes that follow each other, one entry stays.
function writeAddress(query = opened) {
  if (isGoingBack) return;
  history.replaceState(null, "", addressOfState(query));
  applied = location.hash;
}

function startAddress() {
  addEventListener("hashchange", applyAddress);
  applyAddress();
}
