// The controls above the list.

const sliceSelects = [];
const SLICES_IN_ROW = 2; // the others stand among all filters
const CAUSES_OF_ALL = [["", "all"], [ANY_MISS, "cause-any"], [NO_MISS, "cause-none"], [ANY_FOUND, "cause-found"]];
const STATES = [["", "all"], ["failed", "state-failed"], ["empty", "state-empty"], ["no_gold", "state-no-gold"], ["no_gold_empty", "state-no-gold-empty"], ["leak", "state-leak"]];
const LABELLED = [["", "all"], ["any", "labelled-any"], ["none", "labelled-none"], ["gold", "labelled-gold"], ["not_gold", "labelled-not-gold"], ["note", "labelled-note"]];
const CHANGES = [["", "all"], [ANY_CHANGE, "change-any"], ["differs", "change-differs"], ["better", "change-better"], ["worse", "change-worse"], ["same", "change-same"]];

const inThisLanguage = (pairs) => pairs.map(([value, message]) => [value, say(message)]);

function startControls() {
  const form = byId("controls");
  offerChoices();
  for (const part of document.querySelectorAll("#krag-browser .two")) part.hidden = overview.systems.length < 2;
  byId("all-runs-field").hidden = overview.systems.length <= MOST_RUNS;
  form.addEventListener("submit", (event) => event.preventDefault());
  const read = later(() => {
    readControls();
    writeAddress();
  }, 120);
  form.addEventListener("input", read);
  byId("order").addEventListener("input", () => {
    state.sort = { column: byId("order").value || WORST, isDescending: false };
  });
  byId("reset").addEventListener("click", () => {
    resetControls();
    writeAddress();
  });
  for (const name of ["filters", "view"]) startPanel(name);
  byId("text").addEventListener("focus", prepareSearch, { once: true });
  byId("copy-link").addEventListener("click", copyLink);
  byId("empty-reset").addEventListener("click", () => byId("reset").click());
  resetControls();
  onLanguage.push(() => {
    offerChoices();
    showControls();
    update();
    redrawQuery();
  });
}

// What can be chosen, in the language of the reader.
function offerChoices() {
  const systems = overview.systems.map((name, place) => [String(place), name]);
  sliceSelects.length = 0;
  const selects = overview.slices.map(sliceSelect);
  for (const label of selects.slice(0, SLICES_IN_ROW)) label.className = "chip choice";
  byId("slices").replaceChildren(...selects.slice(0, SLICES_IN_ROW));
  byId("more-slices").replaceChildren(...selects.slice(SLICES_IN_ROW));
  options(byId("cause"), [...inThisLanguage(CAUSES_OF_ALL), ...overview.causes.map(({ key }) => [key, causeText(key)])]);
  options(byId("status"), inThisLanguage(STATES));
  options(byId("label"), inThisLanguage(LABELLED));
  options(byId("in"), [["", say("any-run")], ...systems]);
  options(byId("order"), inThisLanguage([[WORST, "order-worst"], [PLACE, "order-place"], ["", "order-columns"]]));
  options(byId("metric"), overview.metrics.map(({ key }) => [key, key]));
  options(byId("change"), inThisLanguage(CHANGES));
  options(byId("one"), systems);
  options(byId("other"), [["", say("against-nothing")], ...systems]);
  for (const of of ["found", "missed"]) byId(of).replaceChildren(...systems.map(([place, name]) => checkBox(place, name)));
  byId("keys").replaceChildren(...overview.metrics.map(({ key }) => checkBox(key, key)));
}

function sliceSelect({ field, values }) {
  const select = make("select", {});
  options(select, [["", say("all")], ...values.map(({ value }, place) => [String(place), value ?? say("no-value")])]);
  sliceSelects.push([field, select]);
  return make("label", { "data-field": field }, isolated(field), select);
}

function checkBox(value, label) {
  return make("label", { class: "check" }, make("input", { type: "checkbox", value }), isolated(label));
}

// A panel that a button opens below the chips.
function startPanel(name) {
  const toggle = byId(`${name}-toggle`);
  toggle.addEventListener("click", () => {
    byId(name).hidden = !byId(name).hidden;
    toggle.setAttribute("aria-expanded", String(!byId(name).hidden));
  });
}

const boxesOf = (id) => Array.from(byId(id).querySelectorAll("input"));
const keyBoxes = () => boxesOf("keys");
const chosenRuns = (id) => boxesOf(id).filter((box) => box.checked).map((box) => Number(box.value));

// Those that the page shows at first come first.
function chosenKeys() {
  const chosen = keyBoxes().filter((box) => box.checked).map((box) => box.value);
  return [...overview.shown.filter((key) => chosen.includes(key)), ...chosen.filter((key) => !overview.shown.includes(key))];
}

// What the page shows at first.
function resetControls() {
  byId("controls").reset();
  byId("one").value = "0";
  byId("other").value = String(OTHER_AT_FIRST ?? "");
  if (overview.metrics.length) byId("metric").value = overview.shown[0];
  for (const box of keyBoxes()) box.checked = shownAtFirst.includes(box.value);
  state.sort = { column: WORST, isDescending: false };
  state.k = null;
  readControls();
}

// Show the state in controls that were made anew.
function showControls() {
  for (const [field, select] of sliceSelects) select.value = String(state.slices.get(field) ?? "");
  for (const [id, value] of Object.entries({ cause: state.cause, status: state.status, label: state.label, metric: state.metric ?? "", change: state.change })) byId(id).value = value;
  for (const id of ["in", "one", "other"]) byId(id).value = state[id] ?? "";
  for (const of of ["found", "missed"]) for (const box of boxesOf(of)) box.checked = state[of].includes(Number(box.value));
  for (const box of keyBoxes()) box.checked = state.keys.includes(box.value);
  offerSides();
}

function readControls() {
  const number = (id) => (byId(id).value.trim() === "" || Number.isNaN(Number(byId(id).value)) ? null : Number(byId(id).value));
  const place = (id) => (byId(id).value === "" ? null : Number(byId(id).value));
  const one = place("one");
  const other = place("other") === one ? null : place("other");
  Object.assign(state, {
    text: byId("text").value,
    slices: new Map(sliceSelects.filter(([, { value }]) => value !== "").map(([field, { value }]) => [field, Number(value)])),
    cause: byId("cause").value,
    status: byId("status").value,
    in: place("in"),
    found: chosenRuns("found"),
    missed: chosenRuns("missed"),
    label: byId("label").value,
    metric: byId("metric").value || null,
    least: number("least"),
    most: number("most"),
    one,
    other,
    keys: chosenKeys(),
  });
  showsAllRuns = byId("all-runs").checked;
  offerSides();
  state.change = other === null ? "" : byId("change").value;
  byId("change").disabled = other === null;
  if (sortedColumnIsGone()) state.sort = { column: WORST, isDescending: false };
  if (isSearching()) {
    drawCount();
    search(state.text, update);
  } else if (!state.text.trim()) search("", update);
  else update();
}

async function copyLink() {
  writeAddress();
  const isCopied = await copyText(location.href);
  byId("copied").textContent = say(isCopied ? "copied" : "not-copied");
  setTimeout(() => {
    byId("copied").textContent = "";
  }, 4000);
}

// Whose values the range is about.
function offerSides() {
  const select = byId("of");
  const sides = [["one", overview.systems[state.one]]];
  if (state.other !== null) sides.push(["other", overview.systems[state.other]], ["difference", say("difference")], ["any", say("any-run")]);
  const value = sides.some(([side]) => side === select.value) ? select.value : "one";
  options(select, sides);
  select.value = value;
  select.closest("label").hidden = sides.length < 2;
  state.of = value;
}

function sortedColumnIsGone() {
  const { column } = state.sort;
  return column.includes(":") && !columns().some((shownColumn) => shownColumn.column === column);
}

// Of calls that follow each other quickly only the last one counts.
function later(action, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  };
}
