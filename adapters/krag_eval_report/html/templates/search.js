// Search: words in any order, wherever they are; "in quotes" they stay together. A search looks through the questions,
// ids, metadata and slices, the gold documents and what every run retrieved. There may be a hundred thousand texts, so it
// works for some milliseconds at a time, and the page stays awake between them.

const SLICE = 12;
const index = { questions: [], about: [], ids: [], metadata: [], texts: [] }; // as words are compared
const wordsFound = new Map(); // of the words that were searched last: which of the index and which queries have them
const MOST_WORDS = 24;

let hits = null; // { text, of }: which queries the search lets through; null where it lets through all
let turn = 0;
let until = 0;

const wordsOf = (text) => Array.from(text.matchAll(/"([^"]+)"|(\S+)/g), ([, phrase, word]) => searchable(phrase ?? word));
const isLate = () => performance.now() > until;

// Search for a text; `then` is called at once where there is little to look through.
function search(text, then) {
  turn += 1;
  const words = wordsOf(text.trim());
  if (!words.length) {
    hits = null;
    then();
    return;
  }
  const mine = turn;
  const steps = queriesWith(words);
  const go = () => {
    if (mine !== turn) return; // something else is searched for now
    until = performance.now() + SLICE;
    const { done, value } = steps.next();
    if (!done) {
      setTimeout(go);
      return;
    }
    hits = { text, of: value };
    then();
  };
  go();
}

const isSearching = () => state.text.trim() !== "" && hits?.text !== state.text;

// Read ahead what a search will need, while nothing else is to be done.
function prepareSearch() {
  const steps = fillIndex();
  const mine = turn;
  const go = () => {
    until = performance.now() + SLICE;
    if (mine === turn && !steps.next().done) setTimeout(go, SLICE);
  };
  setTimeout(go);
}

function* fillIndex() {
  yield* fill("questions", overview.questions?.values ?? []);
  yield* fill("about", overview.about?.values ?? []);
  yield* fill("ids", details().ids);
  yield* fill("metadata", details().metadata);
  for (let block = 0; block < blocks.length - 1; block += 1) {
    if (index.texts.length >= blocks[block + 1]) continue;
    yield* fill("texts", textsOfBlock(block), blocks[block]);
    if (isLate()) yield;
  }
}

function* fill(name, values, first = 0) {
  const into = index[name];
  while (into.length < first + values.length) {
    into.push(searchable(values[into.length - first]));
    if (isLate()) yield;
  }
}

function* queriesWith(words) {
  yield* fillIndex();
  let all = null;
  for (const word of words) {
    const of = yield* queriesWithWord(word);
    all = all === null ? of : all.map((is, query) => is & of[query]);
  }
  return all;
}

function* queriesWithWord(word) {
  if (wordsFound.has(word)) return wordsFound.get(word).queries;
  // What lacks a beginning of a word lacks the word.
  const known = Array.from(wordsFound).findLast(([shorter]) => word.includes(shorter))?.[1];
  const having = {};
  for (const [name, values] of Object.entries(index)) {
    having[name] = new Uint8Array(values.length);
    for (let i = 0; i < values.length; i += 1) {
      if (known !== undefined && !known.having[name][i]) continue;
      having[name][i] = values[i].includes(word);
      if (i % 64 === 0 && isLate()) yield;
    }
  }
  const queries = yield* queriesOf(having, word, known);
  wordsFound.set(word, { having, queries });
  if (wordsFound.size > MOST_WORDS) wordsFound.delete(wordsFound.keys().next().value);
  return queries;
}

function* queriesOf(having, word, known) {
  const { id, text, metadata } = details().documents;
  const inDocument = Uint8Array.from(id, (number, i) => having.ids[number] || having.texts[text[i]] || having.metadata[metadata[i]]);
  if (isLate()) yield;
  const found = Uint8Array.from(EVERY, (query) =>
    Number(searchable(idOf(query)).includes(word) || Boolean(overview.questions !== null && having.questions[overview.questions.of[query]]) || Boolean(overview.about !== null && having.about[overview.about.of[query]])),
  );
  for (const { values } of overview.slices) {
    for (const { value, members } of values) {
      if (value !== null && searchable(value).includes(word)) for (const query of members) found[query] = 1;
    }
  }
  if (isLate()) yield;
  if (!inDocument.includes(1)) return found;
  mark(details().gold);
  for (const system of EACH_SYSTEM) {
    mark(ofSystem(system).ranks);
    if (isLate()) yield;
  }
  return found;

  function mark({ start, document }) {
    for (let query = 0; query < found.length; query += 1) {
      if (found[query] || (known !== undefined && !known.queries[query])) continue;
      for (let i = start[query]; i < start[query + 1]; i += 1) {
        if (inDocument[document[i]]) {
          found[query] = 1;
          break;
        }
      }
    }
  }
}

// Where the words that are searched for stand in a text: they are marked wherever the list shows it.
function withWordsOfSearch(text) {
  const words = wordsOf(state.text.trim());
  const fragment = document.createDocumentFragment();
  if (!words.length) {
    fragment.append(text);
    return fragment;
  }
  const { form, source } = normalForm(text);
  const pattern = new RegExp(words.map((word) => Array.from(word, escaped).join(`${ARABIC_SIGNS.source}*`)).join("|"), "giu");
  let done = 0;
  for (const { 0: found, index: at } of form.matchAll(pattern)) {
    const [from] = source(at);
    const [, to] = source(at + found.length - 1);
    if (from < done) continue;
    fragment.append(text.slice(done, from), make("mark", {}, text.slice(from, to)));
    done = to;
  }
  fragment.append(text.slice(done));
  return fragment;
}

const escaped = (letter) => letter.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
