// The data of the page: what the list needs is read at once, the rest when it is first asked for.

const read = (name) => JSON.parse(document.getElementById(`krag-data-${name}`).textContent);
const overview = read("overview");
const NONE = -1;

let readDetails = null;

function details() {
  readDetails ??= { ...read("details"), systems: overview.systems.map(() => null) };
  return readDetails;
}

// What one system retrieved; each is read when it is first asked for, because reading all at once would be felt.
function ofSystem(system) {
  const { systems } = details();
  systems[system] ??= read(`system-${system}`);
  return systems[system];
}

// Read all of it while nothing else is to be done, so that no key waits for it.
function readAhead() {
  if (globalThis.requestIdleCallback === undefined) return;
  const unread = [details, ...overview.systems.map((_, system) => () => ofSystem(system))];
  const go = () => {
    unread.shift()();
    if (unread.length) requestIdleCallback(go);
  };
  requestIdleCallback(go);
}

// Texts lie in blocks; blocks[i] is the number of the first text of block i.
const blocks = read("blocks");
const readBlocks = new Map();

function textsOfBlock(block) {
  if (!readBlocks.has(block)) readBlocks.set(block, read(`texts-${block}`));
  return readBlocks.get(block);
}

function textOf(number) {
  if (number === NONE) return null;
  let low = 0;
  let high = blocks.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (blocks[middle] <= number) low = middle;
    else high = middle - 1;
  }
  return textsOfBlock(low)[number - blocks[low]];
}

function* allTexts() {
  for (let block = 0; block < blocks.length - 1; block += 1) yield* textsOfBlock(block);
}

const metrics = new Map(overview.metrics.map((metric) => [metric.key, metric]));

function valueOf(key, system, query) {
  const column = metricOf(key).systems[system];
  return column.values[column.of[query]];
}

function printedValue(key, system, query) {
  const column = metricOf(key).systems[system];
  return column.texts[column.of[query]];
}

const UNDEFINED = "-";

function differenceOf(key, one, other, query) {
  const before = valueOf(key, one, query);
  const after = valueOf(key, other, query);
  return before === null || after === null ? null : after - before;
}

function printedDifference(difference) {
  if (difference === null) return UNDEFINED;
  const text = Math.abs(difference).toFixed(4);
  if (Number(text) === 0) return text;
  return (difference > 0 ? "+" : "-") + text;
}

const questionOf = (query) =>
  overview.questions === null ? null : overview.questions.values[overview.questions.of[query]];
const idOf = (query) => (overview.ids === null ? String(query + 1) : overview.ids[query]);

// Several queries may have one id; the first of them has it in addresses.
const queryOfId = new Map();
if (overview.ids !== null) {
  overview.ids.forEach((id, query) => {
    if (!queryOfId.has(id)) queryOfId.set(id, query);
  });
}

const failed = overview.errors.map((queries) => new Set(queries));

// The number of what is no miss.
const FOUND = overview.causes.length;

// The causes of a query's misses, by the names that the tables give them.
function causesOf(system, query) {
  const bits = missedAt(system, query);
  const names = overview.causes.filter((_, place) => bits & (1 << place)).map((cause) => cause.key);
  if (failed[system].has(query) && !names.includes("retriever_error")) names.unshift("retriever_error");
  return names;
}

// A cause in plain words.
const causeText = (key) => told(overview.causes.find((cause) => cause.key === key).text);

// The slices that a query is in, as [field, value] pairs.
function slicesOf(query) {
  return overview.slices.flatMap(({ field, values }) =>
    values.filter(({ members }) => contains(members, query)).map(({ value }) => [field, value]),
  );
}

// Whether sorted numbers hold a number.
function contains(numbers, wanted) {
  const place = lowerBound(numbers, wanted);
  return place < numbers.length && numbers[place] === wanted;
}

function lowerBound(numbers, wanted) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The matches of the rank at this place in the columns of a system.
function matchesAt(system, place) {
  const { at, gold, method, similarity } = ofSystem(system).matches;
  const found = [];
  for (let i = lowerBound(at, place); i < at.length && at[i] === place; i += 1) {
    found.push({
      gold: gold[i],
      method: details().methods[method[i]],
      similarity: details().similarities[similarity[i]],
    });
  }
  return found;
}
