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

function setLabel(key, row, isTaken) {
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
  given = [...(isGraded ? grades.map((grade) => [`Grade ${grade}`, Number(grade)]) : [["This is gold", true]]), ["This is not gold", false]];
  return given;
}

// The buttons below a document; the pressed one, pressed again, takes its label back.
function labelButtons(query, document) {
  if (labelling.why !== null) return null;
  if (!canLabel(document)) return make("p", { class: "labels quiet" }, `No label is possible: this document has no id${document.text === null ? " and no text" : ""}.`);
  const key = keyOfLabel(query, document);
  const of = () => labels.get(key)?.label;
  const buttons = possibleLabels().map(([name, label]) => {
    const isNow = () => of() === label;
    return [button(name, () => setLabel(key, rowOfLabel(query, document, isNow() ? null : label), isNow()), { "aria-pressed": "false" }), isNow];
  });
  const group = make("div", { class: "labels", role: "group", "aria-label": "Label" }, ...buttons.map(([made]) => made),
    hasId(document) ? null : make("span", { class: "quiet" }, "No id: the label names its text."));
  return labelPart(group, () => {
    for (const [made, isNow] of buttons) made.setAttribute("aria-pressed", String(isNow()));
  });
}

// The note on a query, and the bar, which the page below an open query cannot show.
function labelsOfQuery(query) {
  if (labelling.why !== null) return [make("p", { class: "labels quiet" }, `Labels are not possible: ${labelling.why}.`)];
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
  const note = make("label", { class: "note-field" }, "Note on this query", area);
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
  const counts = [plural(labels.size - nNotes, "label", "labels"), nNotes ? plural(nNotes, "note", "notes") : null];
  return counts.filter((count) => count !== null).join(" and ");
}

function stateOfLabels() {
  const written = unsent !== null ? "not written" : waiting ? "being written" : `written to ${served?.file}`;
  const where = served !== null ? written : isDownloaded ? "downloaded" : "not downloaded";
  const say = (text, attributes = {}) => make("span", attributes, text);
  const next = `krag-eval doctor EVALSET --apply ${labelling.file} --out NEW_EVALSET`;
  return [
    make("strong", {}, `${numberOfLabels()}, ${where}`),
    isKept || served !== null ? null : say("This browser does not keep them: download them before you close the page."),
    unsent === null ? null : make("span", { class: "bad" }, isolated(`The server did not take the last change: ${unsent}`)),
    button("Download", downloadLabels),
    button("Forget", () => askToForget(true)),
    isDownloaded || served !== null ? say(next, { class: "id quiet" }) : null,
  ].filter((part) => part !== null);
}

function questionToForget() {
  const from = served === null ? "" : ` and remove them from ${served.file}`;
  return [
    make("strong", {}, `Forget ${numberOfLabels()}${from}?`),
    button("Yes, forget", forgetLabels),
    button("Keep", () => askToForget(false)),
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
  const url = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
  make("a", { href: url, download: labelling.file }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
  isDownloaded = true;
  keepLabels();
  showLabels();
}

function startLabels() {
  readLabels();
  document.body.append(labelBar());
  if (served !== null) document.querySelector("footer").append(` Labels are written to ${served.file} on this machine.`);
  addEventListener("storage", ({ key }) => {
    if (key !== LABELS_KEPT && key !== null) return;
    readLabels();
    showLabels();
  });
}
