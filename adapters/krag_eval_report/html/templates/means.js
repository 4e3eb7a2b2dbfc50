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
  byId("depth").hidden = false;
}

// The slider, or an address, chose one; null is the one of the report.
function chooseCutOff(k) {
  state.k = judged === null || k === reportedCutOff() ? null : k;
  update();
  writeAddress();
}

function drawMeans() {
  drawMeanRow();
  if (judged === null) return;
  byId("cut-off").value = depth();
  byId("cut-off-value").textContent = String(depth());
  byId("cut-off-reset").hidden = state.k === null;
  const n = shown.filter((query) => overview.nGold[query]).length;
  byId("means-of").textContent = say("means-of", { n, k: depth() });
  if (!byId("means").open) return;
  const isLarge = shown.length * overview.systems.length > AT_ONCE;
  if (isLarge) drawTableLater();
  else byId("means-table").replaceChildren(meansTable(EACH_SYSTEM.map(meansOf)));
}

// Of many questions and runs the table waits until the list is drawn and nobody types.
const AT_ONCE = 20_000;
const drawTableLater = later(() => {
  const listed = shown;
  const columns = [];
  const go = () => {
    if (listed !== shown) return; // something else is listed now
    columns.push(meansOf(columns.length));
    if (columns.length < overview.systems.length) setTimeout(go);
    else byId("means-table").replaceChildren(meansTable(columns));
  };
  setTimeout(go);
}, 200);

const micros = () => MICRO.filter((name) => judged.names.includes(name));

// The means of one run over the listed questions, one for each metric, then the micro values.
function meansOf(system) {
  const k = depth();
  const micro = microOf(k, system, shown);
  return [...judged.names.map((name) => meanOf(`${name}@${k}`, system, shown)), ...micros().map((name) => micro?.[name] ?? null)];
}

function meansTable(ofRuns) {
  const names = [...judged.names, ...micros().map((name) => `micro_${name}`)];
  const body = overview.systems.map((name, system) =>
    make("tr", {}, make("th", { scope: "row" }, isolated(name)), ...names.map((_, i) => meanCell(ofRuns.map((of) => of[i]), system))),
  );
  const head = make("tr", {}, make("th", { scope: "col" }, say("run")), ...names.map((name) => make("th", { scope: "col", class: "number" }, name)));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}

// The best of several is marked.
function meanCell(values, system) {
  const known = values.filter((value) => value !== null);
  const isBest = new Set(known).size > 1 && values[system] === Math.max(...known);
  return make("td", { class: isBest ? "number best" : "number" }, figure(printed(values[system])));
}

// The first metric over the listed questions, in the head of the list above the marks of each run.
function drawMeanRow() {
  const key = state.keys[0] ?? overview.shown[0];
  byId("head").querySelector(".mean")?.remove();
  if (key === undefined || !shown.length) return;
  const means = EACH_SYSTEM.map((system) => meanOf(key, system, shown));
  const known = means.filter((mean) => mean !== null);
  const best = new Set(known).size > 1 ? (isLowerBetter(key) ? Math.min : Math.max)(...known) : null;
  const cells = shownColumns.map((column) => {
    const cell = (...inside) => make("div", { role: "gridcell", class: classOf(column) }, ...inside);
    if (column.column === "id") return cell(say("mean"));
    if (column.isQuestion) return cell(...[meanInWords(key)].flat());
    if (!column.isMarks) return cell();
    const system = Number(column.column.slice(5));
    const name = NARROW.matches && overview.systems.length > 1 ? make("span", { class: "of" }, isolated(overview.systems[system])) : null;
    return cell(name, make(means[system] !== null && means[system] === best ? "strong" : "span", {}, means[system] === null ? UNDEFINED : figure(rounded(means[system]))));
  });
  byId("head").append(make("div", { role: "row", class: "row mean" }, ...cells));
}

// The mean of listed questions beside that of all, of at most a few runs.
function meanInWords(key) {
  const n = shown.filter((query) => overview.nGold[query]).length;
  const here = say("mean-of-listed", { key: atCutOff(key), n });
  if (shown.length === overview.n || overview.systems.length > MOST_NAMED) return here;
  const ofAll = EACH_SYSTEM.map((system) => {
    const mean = meanOf(key, system, EVERY);
    return `${overview.systems[system]} ${mean === null ? UNDEFINED : figure(rounded(mean))}`;
  });
  return [here, make("span", { class: "quiet" }, " ", isolated(say("mean-of-all", { n: overview.nGold.filter((of) => of).length, means: ofAll.join(", ") })))];
}

const rounded = (value) => value.toFixed(3);
