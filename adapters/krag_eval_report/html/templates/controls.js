// The controls above the list.

const sliceSelects = [];

function startControls() {
  const form = byId("controls");
  const isPair = overview.systems.length > 1;
  const systems = overview.systems.map((name, place) => [String(place), name]);
  byId("slices").replaceChildren(...overview.slices.map(sliceSelect));
  options(byId("cause"), [["", "all"], [ANY_MISS, "any miss"], [NO_MISS, "no miss"], [ANY_FOUND, "any found"], ...overview.causes.map(({ key }) => [key, key])]);
  options(byId("status"), [["", "all"], ["failed", "retrieval failed"], ["empty", "nothing retrieved"], ["no_gold", "no gold document"], ["no_gold_empty", "no gold, nothing retrieved"]]);
  options(byId("order"), [[WORST, "worst first"], [PLACE, "as in the set"], ["", "as the columns say"]]);
  options(byId("metric"), overview.metrics.map(({ key }) => [key, key]));
  options(byId("change"), [["", "all"], ["differs", "differs"], ["better", "got better"], ["worse", "got worse"], ["same", "is the same"]]);
  options(byId("one"), systems);
  options(byId("other"), [["", "nothing"], ...systems]);
  byId("keys").replaceChildren(...overview.metrics.map(({ key }) => keyBox(key)));
  for (const label of form.querySelectorAll(".two")) label.hidden = !isPair;
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
  byId("filters-toggle").addEventListener("click", () => {
    const isOpen = byId("filters").classList.toggle("open");
    byId("filters-toggle").setAttribute("aria-expanded", String(isOpen));
  });
  byId("text").addEventListener("focus", searchedTexts, { once: true });
  byId("copy-link").addEventListener("click", copyLink);
  byId("empty-reset").addEventListener("click", () => byId("reset").click());
  resetControls();
}

function sliceSelect({ field, values }) {
  const select = make("select", {});
  options(select, [["", "all"], ...values.map(({ value }, place) => [String(place), value ?? "(none)"])]);
  sliceSelects.push([field, select]);
  return make("label", { "data-field": field }, isolated(field), select);
}

function keyBox(key) {
  const box = make("input", { type: "checkbox", value: key });
  return make("label", { class: "check" }, box, isolated(key));
}

const keyBoxes = () => byId("keys").querySelectorAll("input");

// Those that the page shows at first come first.
function chosenKeys() {
  const chosen = Array.from(keyBoxes()).filter((box) => box.checked).map((box) => box.value);
  return [...overview.shown.filter((key) => chosen.includes(key)), ...chosen.filter((key) => !overview.shown.includes(key))];
}

// What the page shows at first.
function resetControls() {
  byId("controls").reset();
  byId("one").value = "0";
  byId("other").value = overview.systems.length > 1 ? "1" : "";
  if (overview.metrics.length) byId("metric").value = overview.shown[0];
  for (const box of keyBoxes()) box.checked = overview.shown.includes(box.value);
  state.sort = { column: WORST, isDescending: false };
  state.k = null;
  readControls();
}

function readControls() {
  const number = (id) => (byId(id).value.trim() === "" || Number.isNaN(Number(byId(id).value)) ? null : Number(byId(id).value));
  const one = Number(byId("one").value);
  const other = byId("other").value === "" || Number(byId("other").value) === one ? null : Number(byId("other").value);
  Object.assign(state, {
    text: byId("text").value,
    slices: new Map(sliceSelects.filter(([, { value }]) => value !== "").map(([field, { value }]) => [field, Number(value)])),
    cause: byId("cause").value,
    status: byId("status").value,
    metric: byId("metric").value || null,
    least: number("least"),
    most: number("most"),
    one,
    other,
    keys: chosenKeys(),
  });
  offerSides();
  state.change = other === null ? "" : byId("change").value;
  byId("change").disabled = other === null;
  if (sortedColumnIsGone()) state.sort = { column: WORST, isDescending: false };
  update();
}

async function copyLink() {
  writeAddress();
  const isCopied = await copyText(location.href);
  byId("copied").textContent = isCopied ? "Copied" : "The browser does not let this page copy. The address bar has the link.";
  setTimeout(() => {
    byId("copied").textContent = "";
  }, 4000);
}

// Whose values the range is about.
function offerSides() {
  const select = byId("of");
  const sides = [["one", overview.systems[state.one]]];
  if (state.other !== null) sides.push(["other", overview.systems[state.other]], ["difference", "difference"]);
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
