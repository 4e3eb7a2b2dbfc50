// The listed questions as a file: an evaluation set that `krag-eval evaluate` reads, or a table for a spreadsheet.

const TEXT_MARK = "\u0001"; // begins a string of a row that stands for the text of a number
const LONGEST_CELL = 32_767; // of a spreadsheet

let readRows; // one line of JSON per question of the set; null without a set

// The row of a question as its set has it, without white space, as one line of JSON.
function rowAsJson(query) {
  readRows ??= { of: read("rows") };
  const line = readRows.of?.[query] ?? null;
  if (line === null) return JSON.stringify(rowFromColumns(query));
  return line.replaceAll(/(?<!\\)"\\u0001(q|\d+)"/g, (_, number) => JSON.stringify(number === "q" ? questionOf(query) : textOf(Number(number))));
}

// Of a question without a row: what the page knows of it.
function rowFromColumns(query) {
  const question = questionOf(query);
  const { start, grade } = details().gold;
  const gold = goldOf(query).map((document, i) => {
    const given = grade[start[query] + i];
    const row = documentForFile(document);
    if (given !== null && given !== "1") row.relevance = Number(given);
    return row;
  });
  const metadata = Object.fromEntries(slicesOf(query).filter(([, value]) => value !== null));
  const answer = textOf(details().answers[query] ?? NONE);
  return {
    id: idOf(query),
    ...(question === null ? {} : { question }),
    ...(answer === null ? {} : { answer }),
    gold,
    ...(Object.keys(metadata).length ? { metadata } : {}),
  };
}

// The run whose rankings stand in the rows, so that the file can be evaluated by itself.
const savedRun = () => state.other ?? state.one;

function asJsonLines(queries) {
  const system = savedRun();
  if (ofSystem(system).searches !== undefined) return queries.map((query) => `${rowAsJson(query)}\n`);
  return queries.map((query) => `${rowAsJson(query).slice(0, -1)}, ${JSON.stringify(retrievedOf(system, query)).slice(1)}\n`);
}

function retrievedOf(system, query) {
  const error = ofSystem(system).errors[query];
  const retrieved = rankingOf(system, query).map((document) => ({ ...documentForFile(document), ...scoreOf(system, document) }));
  return error === undefined ? { retrieved } : { retrieved, error };
}

function scoreOf(system, { place }) {
  const number = ofSystem(system).ranks.score[place];
  return number === NONE ? {} : { score: Number(details().scores[number]) };
}

// A document with its id where it was read, and its text.
function documentForFile({ id, text }) {
  const row = {};
  if (id !== null) Object.assign(row, labelling.key === null ? { id } : { metadata: { [labelling.key]: id } });
  if (text !== null) row.text = text;
  return row;
}

// What a spreadsheet takes for a formula, as krag_eval.tables.sheets knows it.
const FORMULA = /^(?:[\t\r\n]|[\s\x00-\x1f\u200b-\u200f\u2060-\u2069\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20])/;

function cellOf(value) {
  if (typeof value === "number") return String(value);
  const harmless = FORMULA.test(value) ? `'${value}` : value;
  const text = harmless.length > LONGEST_CELL ? `${harmless.slice(0, wholeCharacters(harmless, LONGEST_CELL - 1))}\u2026` : harmless;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const csvLine = (cells) => `${cells.map(cellOf).join(",")}\r\n`;

// A metric without a value is an empty cell, and the others are numbers.
function* tableCells(query, keys) {
  yield idOf(query);
  yield questionOf(query) ?? "";
  for (const { field } of overview.slices) yield slicesOf(query).filter(([of]) => of === field).map(([, value]) => value ?? "").join("; ");
  yield goldOf(query).map(({ id, text }) => id ?? text ?? "").join("; ");
  for (const system of EACH_SYSTEM) {
    for (const key of keys) yield valueOf(key, system, query) ?? "";
    yield outcomesOf(system, query).map(({ rank }) => (rank > 0 ? String(rank) : "x")).join(" ");
    yield causesOf(system, query).join("; ");
  }
}

function tableHead(keys) {
  const ofRuns = overview.systems.flatMap((name) => [...keys.map(atCutOff), "ranks", "causes"].map((of) => `${name}: ${of}`));
  return ["id", "question", ...overview.slices.map(({ field }) => field), "gold", ...ofRuns];
}

// The byte order mark keeps Excel from reading it in the local code page, which breaks Korean.
function asTable(queries) {
  const keys = state.keys.length ? shownKeys() : overview.shown;
  return [`\ufeff${csvLine(tableHead(keys))}`, ...queries.map((query) => csvLine([...tableCells(query, keys)]))];
}

function saveFile(name, parts, type) {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function startExport() {
  byId("save-set").addEventListener("click", () => saveFile("questions.jsonl", asJsonLines(shown), "application/jsonl"));
  byId("save-table").addEventListener("click", () => saveFile("questions.csv", asTable(shown), "text/csv"));
}
