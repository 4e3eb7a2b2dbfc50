// Labels: the reader says which documents are gold, and writes notes. The browser keeps them, under the evaluation set
// that they are about; where `krag-eval view` serves the page, it writes them to the file that is downloaded otherwise.

const labelling = read("labels");
const served = document.getElementById("krag-data-served") === null ? null : read("served");
const LABELS_KEPT = `krag-eval-labels-${labelling.set}`;
const labelParts = new Set();
let labels = new Map();
let isDownloaded = false;
let isKept = true;
let unsent = null;
let asksToForget = false;

const hasId = (document) => document.id !== null;
const canLabel = (document) => hasId(document) || (document.text !== null && labelling.level === "chunk");
const keyOfLabel = (query, document) => JSON.stringify([idOf(query), document === null ? null : hasId(document) ? [document.id] : document.text]);

function keyOfRow({ query_id: id, document }) {
  const own = document && (labelling.key === null ? document.id : document.metadata?.[labelling.key]);
  return JSON.stringify([id, document === undefined ? null : own === undefined ? document.text : [own]]);
}

function rowOfLabel(query, document, label) {
  const question = questionOf(query);
  const row = { label, query_id: idOf(query), ...(question === null ? {} : { question }), document: {} };
  if (hasId(document)) Object.assign(row.document, labelling.key === null ? { id: document.id } : { metadata: { [labelling.key]: document.id } });
  if (document.text !== null) row.document.text = document.text;
  if (labelling.level === "document") return { ...row, level: "document", doc_key: labelling.key };
  return labelling.key === null ? row : { ...row, id_key: labelling.key };
}

function readLabels() {
  let kept = served;
  try {
    kept ??= JSON.parse(localStorage.getItem(LABELS_KEPT));
  } catch {
    isKept = false;
  }
  labels = new Map((kept?.rows ?? []).map((row) => [keyOfRow(row), row]));
  isDownloaded = Boolean(kept?.downloaded);
}

function keepLabels() {
  if (served !== null) return;
  try {
    if (labels.size) localStorage.setItem(LABELS_KEPT, JSON.stringify({ rows: [...labels.values()], downloaded: isDownloaded }));
    else localStorage.removeItem(LABELS_KEPT);
    isKept = true;
  } catch {
    isKept = false;
  }
}

// One after the other, so that the last change wins. What the server refuses stays on the page, and can be downloaded.
let sending = Promise.resolve();
let waiting = 0;

function sendLabel(row) {
  waiting += 1;
  sending = sending.then(async () => {
    try {
      const answer = await globalThis.kragEvalSend(served.url, row);
      if (!answer.ok) throw new Error(await answer.text());
      unsent = null;
    } catch (error) {
      unsent = error.message;
    }
    waiting -= 1;
    showLabels();
  });
}

// What was before each change, the last one last: for taking changes back.
const before = [];

function setLabel(key, row, isTaken) {
  before.push([key, labels.get(key) ?? null, row]);
  putLabel(key, row, isTaken);
}

// Take the last change back, and say what it was.
function undoLabel() {
  const last = before.pop();
  if (last === undefined) return;
  const [key, was, row] = last;
  const nothing = row.document === undefined ? { ...row, note: "" } : { ...row, label: null };
  putLabel(key, was ?? nothing, was === null);
}

function putLabel(key, row, isTaken) {
  if (isTaken) labels.delete(key);
  else labels.set(key, row);
  isDownloaded = false;
  asksToForget = false;
  keepLabels();
  if (served !== null) sendLabel(row);
  showLabels();
}

function showLabels() {
  for (const part of labelParts) if (!part.refresh()) labelParts.delete(part);
  if (state.label) update();
  else drawChips();
}

// A part of the page that shows labels, until it is taken out of the page.
function labelPart(element, draw) {
  let wasShown = false;
  const refresh = () => {
    if (wasShown && !element.isConnected) return false;
    wasShown ||= element.isConnected;
    draw();
    return true;
  };
  labelParts.add({ refresh });
  draw();
  return element;
}

// What a document can be labelled: gold or not, or with one of the grades of the set.
let given = null;

function possibleLabels() {
  if (given !== null) return given;
  const grades = [...new Set(details().gold.grade)].filter((grade) => Number(grade) > 0).sort((a, b) => a - b);
  const isGraded = grades.some((grade) => grade !== "1");
  const gold = isGraded ? grades.map((grade) => ({ name: ["label-grade", { grade }], label: Number(grade), key: grade })) : [{ name: ["label-gold"], label: true, key: "1" }];
  given = [...gold, { name: ["label-not-gold"], label: false, key: "0" }];
  return given;
}

// The buttons below a document; the pressed one, pressed again, takes its label back.
function labelButtons(query, document) {
  if (labelling.why !== null) return null;
  if (!canLabel(document)) return make("p", { class: "labels quiet" }, say(document.text === null ? "no-label-nothing" : "no-label-no-id"));
  const key = keyOfLabel(query, document);
  const of = () => labels.get(key)?.label;
  const buttons = possibleLabels().map(({ name, label, key: digit }) => {
    const isNow = () => of() === label;
    const press = () => setLabel(key, rowOfLabel(query, document, isNow() ? null : label), isNow());
    const made = button(say(...name), press, { "aria-pressed": "false", "data-key": digit, "aria-keyshortcuts": digit });
    if (digit.length === 1) made.prepend(make("kbd", { "aria-hidden": "true" }, digit));
    return [made, isNow];
  });
  const group = make("div", { class: "labels", role: "group", "aria-label": say("label") }, ...buttons.map(([made]) => made),
    hasId(document) ? null : make("span", { class: "quiet" }, say("label-names-text")));
  return labelPart(group, () => {
    for (const [made, isNow] of buttons) made.setAttribute("aria-pressed", String(isNow()));
    group.classList.toggle("given", buttons.some(([, isNow]) => isNow()));
  });
}

// The note on a query, and the bar, which the page below an open query cannot show.
function labelsOfQuery(query) {
  if (labelling.why !== null) return [make("p", { class: "labels quiet" }, say("labels-impossible", { why: told(labelling.why) }))];
  const key = keyOfLabel(query, null);
  const area = make("textarea", { rows: "2", dir: "auto", lang: "", placeholder: " " });
  let typing = null;
  area.value = labels.get(key)?.note ?? "";
  const put = () => {
    clearTimeout(typing);
    typing = null;
    if ((labels.get(key)?.note ?? "") !== area.value) setLabel(key, { query_id: idOf(query), note: area.value }, area.value === "");
  };
  area.addEventListener("input", () => {
    if (served === null) put();
    else typing ??= setTimeout(put, 400);
  });
  area.addEventListener("change", put);
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") event.stopPropagation();
  });
  const note = make("label", { class: "note-field" }, say("note-on-question"), area);
  labelPart(note, () => {
    if (document.activeElement !== area) area.value = labels.get(key)?.note ?? "";
  });
  return [note, labelBar()];
}

function labelBar() {
  const bar = make("div", { class: "label-bar", role: "status" });
  return labelPart(bar, () => {
    bar.hidden = labels.size === 0 && unsent === null;
    if (bar.hidden) bar.replaceChildren();
    else bar.replaceChildren(...(asksToForget ? questionToForget() : stateOfLabels()));
  });
}

function numberOfLabels() {
  const nNotes = [...labels.values()].filter((row) => row.document === undefined).length;
  return say(nNotes ? "labels-and-notes" : "labels-given", { n: labels.size - nNotes, notes: nNotes });
}

function stateOfLabels() {
  const written = unsent !== null ? "labels-not-written" : waiting ? "labels-being-written" : "labels-written";
  const where = served !== null ? written : isDownloaded ? "labels-downloaded" : "labels-not-downloaded";
  const next = `krag-eval doctor EVALSET --apply ${labelling.file} --out NEW_EVALSET`;
  return [
    make("strong", {}, say(where, { labels: numberOfLabels(), file: served?.file ?? labelling.file })),
    isKept || served !== null ? null : make("span", {}, say("labels-not-kept")),
    unsent === null ? null : make("span", { class: "bad" }, isolated(say("labels-refused", { why: unsent }))),
    before.length ? button(say("undo"), undoLabel, { "aria-keyshortcuts": "u" }) : null,
    button(say("download"), downloadLabels),
    button(say("forget"), () => askToForget(true)),
    isDownloaded || served !== null ? make("span", { class: "id quiet" }, next) : null,
  ].filter((part) => part !== null);
}

function questionToForget() {
  const args = { labels: numberOfLabels(), file: served?.file ?? "" };
  return [
    make("strong", {}, say(served === null ? "ask-to-forget" : "ask-to-forget-file", args)),
    button(say("yes-forget"), forgetLabels),
    button(say("keep"), () => askToForget(false)),
  ];
}

function askToForget(asks) {
  asksToForget = asks;
  showLabels();
  (dialog.open ? dialog : document.body).querySelector(":scope > .label-bar button")?.focus();
}

function forgetLabels() {
  for (const [key, row] of [...labels]) setLabel(key, row.document === undefined ? { ...row, note: "" } : { ...row, label: null }, true);
}

// A line with the CRC-32 of its row, as Python writes it: a change after that is noticed.
function withChecksum(row) {
  let crc = -1;
  for (const byte of new TextEncoder().encode(row)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return `${row.slice(0, -1)}, "crc": "${(~crc >>> 0).toString(16).padStart(8, "0")}"}\n`;
}

function downloadLabels() {
  const lines = [...labels.values()].map((row) => withChecksum(JSON.stringify(row)));
  saveFile(labelling.file, lines, "application/jsonl");
  isDownloaded = true;
  keepLabels();
  showLabels();
}

function startLabels() {
  readLabels();
  document.body.append(labelBar());
  if (served !== null) document.querySelector("footer").append(" ", saying("span", {}, "labels-written-here", { file: served.file }));
  addEventListener("storage", ({ key }) => {
    if (key !== LABELS_KEPT && key !== null) return;
    readLabels();
    showLabels();
  });
}
