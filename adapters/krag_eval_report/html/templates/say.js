// What the page says, in the language of its reader. A message has an id and arguments; of the data, `[id, arguments]`.
// Numbers are numbers, and are written as the language writes them; names and texts of users are never translated.

const messages = JSON.parse(document.getElementById("krag-data-messages").textContent); // of each language: its direction and its messages
const WRITTEN_IN = document.documentElement.lang;
let language = WRITTEN_IN;
const spokenLanguages = new Map();
const onLanguage = []; // what draws anew what was drawn with `say`

// Letters that are written from right to left, and characters that turn the direction.
const LEFTWARD = /[\u0590-\u08ff\u200f\u202b\u202e\u2067\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const GROUPED = /(?<![\p{L}\d_.,])\d{1,3}(?:,\d{3})+(?![\p{L}\d_,])/gu;
const POINT = /(?<=\d)\.(?=\d)|(?<!\d)\.(?=\d)/g;

function bundleOf(code) {
  if (!spokenLanguages.has(code)) {
    const bundle = new fluent.FluentBundle(code, { useIsolating: false, functions: { VALUE: ([text]) => figure(String(text)) } });
    bundle.addResource(new fluent.FluentResource(messages[code][1]));
    spokenLanguages.set(code, bundle);
  }
  return spokenLanguages.get(code);
}

// say("queries", { n: 3 })
function say(id, args = {}) {
  const bundle = bundleOf(language).hasMessage(id) ? bundleOf(language) : bundleOf("en");
  if (!bundle.hasMessage(id)) throw new Error(`There is no message ${id}.`);
  return bundle.formatPattern(bundle.getMessage(id).value, filled(args));
}

// Of an argument `of` that is a message itself, `$of-n` is its argument `n`.
function filled(args) {
  const made = Object.create(null);
  for (const [name, value] of Object.entries(args)) {
    if (Array.isArray(value)) {
      for (const [inner, of] of Object.entries(filled(value[1] ?? {}))) made[`${name}-${inner}`] = of;
      made[name] = say(...value);
    } else made[name] = typeof value === "string" && LEFTWARD.test(value) ? `\u2068${value}\u2069` : value;
  }
  return made;
}

// A text of the data: a message, or a text of a user as it is.
const told = (text) => (Array.isArray(text) ? say(...text) : text);

// A number as Python printed it, with the signs of the language: `0.5`, `1,234`. A message says it with `VALUE($x)`.
function figure(text) {
  const { group, decimal } = signsOf(language);
  if (group === "," && decimal === ".") return text;
  return text.replace(GROUPED, (found) => found.replaceAll(",", "\0")).replace(POINT, decimal).replaceAll("\0", group);
}

const signs = new Map();

function signsOf(code) {
  if (!signs.has(code)) {
    const parts = new Intl.NumberFormat(code).formatToParts(1234567.5);
    signs.set(code, Object.fromEntries(parts.map(({ type, value }) => [type, value])));
  }
  return signs.get(code);
}

const counted = (n) => n.toLocaleString(language);

// Elements that say something again when the reader chooses another language.
function saying(tag, attributes, id, args = {}) {
  return put(make(tag, attributes), id, args);
}

function put(element, id, args = {}) {
  element.dataset.l10n = id;
  element.dataset.l10nArgs = JSON.stringify(args);
  element.textContent = say(id, args);
  return element;
}

// The same of attributes: putAttributes(element, { title: ["close"] })
function putAttributes(element, of) {
  element.dataset.l10nAttributes = JSON.stringify(of);
  for (const [name, message] of Object.entries(of)) element.setAttribute(name, say(...message));
  return element;
}

function sayAll() {
  for (const element of document.querySelectorAll("[data-l10n]")) {
    element.textContent = say(element.dataset.l10n, JSON.parse(element.dataset.l10nArgs ?? "{}"));
  }
  for (const element of document.querySelectorAll("[data-l10n-attributes]")) {
    putAttributes(element, JSON.parse(element.dataset.l10nAttributes));
  }
  for (const element of document.querySelectorAll("[data-l10n-figure]")) element.textContent = figure(element.dataset.l10nFigure);
}

function chooseLanguage(code) {
  if (!Object.hasOwn(messages, code) || code === language) return;
  language = code;
  document.documentElement.lang = code;
  document.documentElement.dir = messages[code][0];
  sayAll();
  for (const draw of onLanguage) draw();
}
