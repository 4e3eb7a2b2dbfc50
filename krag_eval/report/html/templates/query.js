// One query, opened: its gold documents beside what each system retrieved.

const dialog = byId("query");
let opened = null;
let cameFromList = false;

// Ids may be anything; where one cannot stand in an address, or is not the only one, the number of the query does.
function addressOf(query) {
  if (overview.ids !== null && queryOfId.get(idOf(query)) === query) {
    try {
      return `#q=${encodeURIComponent(idOf(query))}`;
    } catch {
      // half of a pair of surrogates
    }
  }
  return `#n=${query + 1}`;
}

function queryOfAddress() {
  const [name, value] = location.hash.slice(1).split(/=(.*)/s);
  try {
    if (name === "q") return queryOfId.get(decodeURIComponent(value));
    if (name === "n" && Number(value) >= 1 && Number(value) <= overview.n) return Math.floor(Number(value)) - 1;
  } catch {
    // not what this page writes
  }
  return undefined;
}

function openQuery(query) {
  location.hash = addressOf(query);
  followAddress();
  cameFromList = true;
}

// Of queries looked through one after the other, the way back leads to the list.
function stepTo(query) {
  if (query === undefined) return;
  location.replace(addressOf(query));
  followAddress();
}

function closeQuery() {
  if (cameFromList) history.back();
  else {
    history.replaceState(null, "", "#queries");
    followAddress();
  }
}

function followAddress() {
  const query = queryOfAddress();
  if (query === undefined) {
    opened = null;
    cameFromList = false;
    if (!dialog.open) return;
    dialog.close();
    list.focus({ preventScroll: true });
    return;
  }
  if (opened === query) return;
  opened = query;
  const place = shown.indexOf(query);
  if (place >= 0) moveTo(place);
  drawQuery(query);
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  dialog.focus({ preventScroll: true });
}

function drawQuery(query) {
  const place = shown.indexOf(query);
  const step = (label, name, to) => button(label, () => stepTo(to), { "aria-label": name, title: name, disabled: place < 0 || to === undefined });
  const bar = make("div", { class: "bar" },
    make("h2", { id: "krag-query-id" }, "Query ", isolated(idOf(query), { class: "id" })),
    make("span", { class: "quiet" }, place < 0 ? "not in the list" : `${counted(place + 1)} of ${counted(shown.length)}`),
    step("\u2190", "Previous query", shown[place - 1]),
    step("\u2192", "Next query", shown[place + 1]),
    button("\u2715", closeQuery, { id: "krag-close", "aria-label": "Close", title: "Close (Escape)" }));
  dialog.replaceChildren(bar, ...aboutQuery(query), documentsOfQuery(query));
  dialog.append(...labelsOfQuery(query));
}

function aboutQuery(query) {
  const question = questionOf(query);
  const answer = textOf(details().answers[query] ?? NONE);
  const chips = slicesOf(query).map(([field, value]) => make("li", {}, make("span", { class: "quiet" }, isolated(field), " "), isolated(value ?? "(none)")));
  return [
    question === null ? null : questionBlock(question),
    answer === null ? null : make("div", { class: "answer" }, make("h3", {}, "Answer to expect"), textBlock(answer, null)),
    chips.length ? make("ul", { class: "chips", "aria-label": "Slices" }, ...chips) : null,
    ...shownSystems().filter((system) => query in details().systems[system].errors).map((system) => errorOf(system, query)),
    overview.nGold[query] ? null : make("p", { class: "notice" }, "No gold document answers this query, so its metrics are not defined."),
    valuesOf(query),
  ].filter((part) => part !== null);
}

// A long one is shortened like a document.
const questionBlock = (question) =>
  question.length <= SHORT ? prose("p", { class: "question" }, question) : make("div", { class: "question" }, textBlock(question, null));

function errorOf(system, query) {
  return make("p", { class: "notice bad" }, isolated(overview.systems[system]), ": the retriever raised ", isolated(details().systems[system].errors[query], { class: "error" }));
}

// The metrics of the list side by side; all of them, of which there are many, one below the other.
function valuesOf(query) {
  if (!overview.metrics.length) return null;
  const all = overview.metrics.map(({ key }) => key);
  const place = make("div", { class: "scroll" }, state.keys.length ? valuesAcross(state.keys, query) : null);
  const more = button(`All ${all.length} values`, () => {
    place.replaceChildren(valuesDown(all, query));
    more.remove();
  });
  return make("div", { class: "values" }, place, all.length > state.keys.length ? more : null);
}

// What is said of each shown system, and of their difference: a name, and a cell a metric.
function sidesOf(query) {
  const sides = shownSystems().map((system) => [overview.systems[system], (key) => printedValue(key, system, query)]);
  if (state.other !== null) sides.push(["difference", (key) => differenceCell(differenceOf(key, state.one, state.other, query))]);
  return sides;
}

const heading = (name, isNumber) => make("th", { scope: "col", class: isNumber ? "number" : null }, isolated(name));
const rowOfValues = (name, cells) => make("tr", {}, make("th", { scope: "row" }, isolated(name)), ...cells.map((cell) => make("td", { class: "number" }, cell)));

function tableOf(names, body) {
  const head = make("tr", {}, heading(""), ...names.map((name) => heading(name, true)));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}

const valuesAcross = (keys, query) => tableOf(keys, sidesOf(query).map(([name, value]) => rowOfValues(name, keys.map(value))));

function valuesDown(keys, query) {
  const sides = sidesOf(query);
  return tableOf(sides.map(([name]) => name), keys.map((key) => rowOfValues(key, sides.map(([, value]) => value(key)))));
}

function documentsOfQuery(query) {
  const gold = goldOf(query);
  const rankings = shownSystems().map((system) => rankingOf(system, query));
  const known = vocabulary(gold.map(({ text }) => text).filter((text) => text !== null));
  const first = rankings.map(firstRanks);
  const cards = rankings.map((ranking, side) =>
    ranking.map((retrieved) => {
      const { repeat } = details().systems[shownSystems()[side]].ranks;
      const isAlone = state.other === null || repeat[retrieved.place] > 0;
      const elsewhere = isAlone ? undefined : first[1 - side].get(retrieved.key);
      const moved = isAlone ? null : side ? movedTo(retrieved.rank, elsewhere) : leftOut(elsewhere);
      return rankCard(shownSystems()[side], query, retrieved, known, moved);
    }),
  );
  return make("div", { class: `columns of-${rankings.length + 1}` },
    column("Gold", gold.map((document, i) => goldCard(query, i, document, rankings)), "No gold documents."),
    ...cards.map((made, side) => column(overview.systems[shownSystems()[side]], withSearches(shownSystems()[side], query, made), "Nothing was retrieved.", made.length)));
}

// The cards of a session below the searches that they come from, each with what it brought.
function withSearches(system, query, cards) {
  const searches = searchesOf(system, query);
  if (!searches.length) return cards;
  return searches.flatMap(({ number, before, n, query: asked, brought }) => [
    make("li", { class: "search" }, make("h4", {}, `Search ${number}`, asked === null ? null : isolated(asked, { class: "asked" })), make("p", { class: "quiet" }, brought)),
    ...cards.slice(before, before + n),
  ]);
}

function column(title, cards, ifEmpty, n = cards.length) {
  const heading = make("h3", {}, isolated(title), make("span", { class: "quiet" }, ` ${n}`));
  return make("section", { class: "column" }, heading, cards.length ? make("ol", {}, ...cards) : make("p", { class: "empty" }, ifEmpty));
}

function startQuery() {
  addEventListener("hashchange", followAddress);
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    closeQuery();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) closeQuery();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || opened === null) return;
    const place = shown.indexOf(opened);
    if (event.key === "ArrowRight" && place >= 0) stepTo(shown[place + 1]);
    if (event.key === "ArrowLeft" && place > 0) stepTo(shown[place - 1]);
  });
  if (queryOfAddress() !== undefined) followAddress();
}
