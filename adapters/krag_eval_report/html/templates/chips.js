// The filters as chips in one row: those in use first, then what is asked for most with how many questions it leads to,
// then what opens all others.

// A filter in use: its words, and what takes it away.
function filtersAsChips() {
  const made = [];
  const chip = (label, off) => made.push({ label, off });
  for (const [field, place] of state.slices) {
    chip(say("chip-slice", { field, value: sliceName(field, place) }), () => setControl(sliceSelectOf(field), ""));
  }
  const run = state.in === null ? null : overview.systems[state.in];
  const withRun = (label) => (run === null ? label : say("chip-by", { what: label, run }));
  if (state.cause) chip(withRun(labelOfOption("cause")), () => setControls({ cause: "", in: state.status ? byId("in").value : "" }));
  if (state.status) chip(withRun(labelOfOption("status")), () => setControls({ status: "", in: state.cause ? byId("in").value : "" }));
  for (const [of, name, ofAll] of [["found", "chip-found-by", "chip-found-by-all"], ["missed", "chip-missed-by", "chip-missed-by-all"]]) {
    if (state[of].length > 1 && state[of].length === overview.systems.length) chip(say(ofAll), () => setRuns(of, []));
    else for (const system of state[of]) chip(say(name, { run: overview.systems[system] }), () => setRuns(of, state[of].filter((one) => one !== system)));
  }
  if (state.change) chip(state.change === ANY_CHANGE ? say("chip-differ") : say("chip-change", { what: labelOfOption("change"), key: atCutOff(state.metric), run: overview.systems[state.other], baseline: overview.systems[state.one] }), () => setControls({ change: "" }));
  if (state.label) chip(labelOfOption("label"), () => setControls({ label: "" }));
  if (state.least !== null || state.most !== null) chip(rangeInWords(), () => setControls({ least: "", most: "" }));
  if (state.other === null && overview.systems.length > 1) chip(say("chip-alone", { run: overview.systems[state.one] }), () => setControls({ one: "0", other: String(OTHER_AT_FIRST) }));
  return made;
}

function rangeInWords() {
  const { least, most, metric } = state;
  const args = { key: atCutOff(metric), of: labelOfOption("of"), least: String(least ?? ""), most: String(most ?? "") };
  return say(least === null ? "chip-at-most" : most === null ? "chip-at-least" : "chip-between", args);
}

const labelOfOption = (id) => byId(id).selectedOptions[0]?.label ?? "";

// What is asked for most: its words, how many questions it leads to, and what brings it about.
function suggestedChips() {
  const all = EACH_SYSTEM;
  const subject = state.other ?? state.one;
  const missedBy = (systems) => EVERY.filter((query) => isFoundAndMissed(query, [], systems)).length;
  const isIn = (systems) => EVERY.filter((query) => systems.some((system) => failed[system].has(query))).length;
  const [one, other] = shownSystems();
  const made = [
    { label: say(all.length > 1 ? "chip-missed-by" : "chip-missed", { run: overview.systems[subject] }), n: missedBy([subject]), on: () => setRuns("missed", [subject]), isUsed: state.missed.includes(subject) },
  ];
  if (other !== undefined) {
    const pair = { run: overview.systems[other], baseline: overview.systems[one] };
    const alike = (finder, misser) => ({ n: EVERY.filter((query) => isFoundAndMissed(query, [finder], [misser])).length, on: () => setPair(finder, misser), isUsed: state.found.includes(finder) && state.missed.includes(misser) });
    made.push({ label: say("chip-lost", pair), help: say("chip-lost-help", pair), ...alike(one, other) }, { label: say("chip-won", pair), help: say("chip-won-help", pair), ...alike(other, one) });
  }
  if (all.length > 1) {
    made.push({ label: say("chip-missed-by-all"), n: missedBy(all), on: () => setRuns("missed", all), isUsed: state.missed.length === all.length });
    if (state.metric !== null && state.other !== null) made.push({ label: say("chip-differ"), n: EVERY.filter(differsAnywhere).length, on: () => setControls({ change: ANY_CHANGE }), isUsed: state.change === ANY_CHANGE });
  }
  const nLeaking = EVERY.filter((query) => leaking.some((of) => of.has(query))).length;
  made.push(
    { label: say("chip-no-gold"), n: overview.nGold.filter((n) => !n).length, on: () => setControls({ status: "no_gold" }), isUsed: state.status === "no_gold" },
    { label: say("chip-failed"), n: isIn(all), on: () => setControls({ status: "failed", in: "" }), isUsed: state.status === "failed" },
    { label: say("chip-leak"), n: nLeaking, on: () => setControls({ status: "leak", in: "" }), isUsed: state.status === "leak" },
  );
  const nLabelled = new Set(Array.from(labels.values(), (row) => String(row.query_id))).size;
  made.push({ label: say("chip-labelled"), n: nLabelled, on: () => setControls({ label: "any" }), isUsed: state.label === "any" });
  return made.filter(({ n, isUsed }) => n && !isUsed);
}

const differsAnywhere = (query) => new Set(EACH_SYSTEM.map((system) => valueOf(state.metric, system, query))).size > 1;

// The counts are of all questions, so they change with the cut-off and with what they are about alone.
let suggested = { of: null, chips: [] };

function suggestedOnce() {
  const of = JSON.stringify([state.k, state.one, state.other, state.metric, state.found, state.missed, state.change, state.status, state.label, labels.size, say("chip-differ")]);
  if (suggested.of !== of) suggested = { of, chips: suggestedChips() };
  return suggested.chips;
}

function drawChips() {
  const used = filtersAsChips();
  const focused = document.activeElement?.closest("#krag-chips") ? document.activeElement.dataset.chip : null;
  const all = chipButton(say("chip-all", { n: overview.n }), () => byId("reset").click(), { class: "chip", "aria-pressed": String(!used.length && !state.text.trim()), "data-chip": "all" });
  const off = used.map(({ label, off: remove }) => {
    const made = chipButton(label, remove, { class: "chip used", "data-chip": label, title: say("chip-remove", { label }), "aria-label": say("chip-remove", { label }) });
    made.append(make("span", { class: "cross", "aria-hidden": "true" }, "\u00d7"));
    return made;
  });
  const more = suggestedOnce().map(({ label, help = null, n, on }) => {
    const made = chipButton(label, on, { class: "chip", "data-chip": label, title: help });
    made.append(" ", make("span", { class: "n" }, counted(n)));
    return made;
  });
  byId("chips").replaceChildren(all, ...off, ...more);
  byId("chips").classList.toggle("more", byId("chips").scrollWidth > byId("chips").clientWidth + 4);
  for (const choice of document.querySelectorAll(".chip.choice")) choice.hidden = choice.querySelector("select").value !== "";
  if (focused !== null) (Array.from(byId("chips").children).find(({ dataset }) => dataset.chip === focused) ?? byId("chips").firstChild).focus();
}

const chipButton = (label, onClick, attributes) => {
  const made = button("", onClick, attributes);
  made.append(isolated(label));
  return made;
};

// Set controls as a reader would, and take notice of all at once.
function setControls(values) {
  for (const [id, value] of Object.entries(values)) byId(id).value = value;
  readControls();
  writeAddress();
}

function setControl(select, value) {
  select.value = value;
  setControls({});
}

// Found by one run and missed by the other.
function setPair(finder, misser) {
  for (const [of, system] of [["found", finder], ["missed", misser]]) for (const box of boxesOf(of)) box.checked = Number(box.value) === system;
  setControls({});
}

function setRuns(of, systems) {
  for (const box of byId(of).querySelectorAll("input")) box.checked = systems.includes(Number(box.value));
  setControls({});
}
