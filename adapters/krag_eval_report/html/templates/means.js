// The means of the listed queries, at the cut-off that the reader chooses.

const MICRO = ["recall", "precision", "f1"];
const reportedCutOff = () => Math.min(overview.k ?? Infinity, judged.last);
const depth = () => state.k ?? reportedCutOff();

function startMeans() {
  if (judged === null) return;
  const slider = byId("cut-off");
  slider.max = judged.last;
  slider.addEventListener("input", () => chooseCutOff(Number(slider.value)));
  byId("cut-off-reset").addEventListener("click", () => chooseCutOff(null));
  byId("means").addEventListener("toggle", drawMeans);
  byId("means").hidden = false;
}

// The slider, or an address, chose one; null is the one of the report.
function chooseCutOff(k) {
  state.k = judged === null || k === reportedCutOff() ? null : k;
  update();
  writeAddress();
}

function drawMeans() {
  if (judged === null) return;
  byId("cut-off").value = depth();
  byId("cut-off-value").textContent = String(depth());
  byId("cut-off-reset").disabled = state.k === null;
  const n = shown.filter((query) => overview.nGold[query]).length;
  byId("means-of").textContent = `Means over ${plural(n, "listed query", "listed queries")} with gold documents, at k = ${depth()}`;
  if (byId("means").open) byId("means-table").replaceChildren(meansTable());
}

function meansTable() {
  const k = depth();
  const columns = judged.names.map((name) => [name, (system) => meanOf(`${name}@${k}`, system, shown)]);
  for (const name of MICRO.filter((micro) => judged.names.includes(micro))) {
    columns.push([`micro_${name}`, (system) => microOf(name, k, system, shown)]);
  }
  const values = columns.map(([, valueIn]) => overview.systems.map((_, system) => valueIn(system)));
  const rows = overview.systems.map((name, system) =>
    make("tr", {}, make("th", { scope: "row" }, isolated(name)), ...values.map((of) => meanCell(of, system))),
  );
  const head = make("tr", {}, make("th", { scope: "col" }, "run"), ...columns.map(([name]) => make("th", { scope: "col", class: "number" }, name)));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
}

// The best of several is marked.
function meanCell(values, system) {
  const known = values.filter((value) => value !== null);
  const isBest = new Set(known).size > 1 && values[system] === Math.max(...known);
  return make("td", { class: isBest ? "number best" : "number" }, printed(values[system]));
}
