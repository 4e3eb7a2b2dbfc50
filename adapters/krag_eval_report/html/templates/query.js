// One query, opened: its gold documents beside what each system retrieved.

const dialog = byId("query");
let opened = null;
let cameFromList = false;
let isGoingBack = false; // until the browser is back at the list's address

function openQuery(query) {
  if (query === undefined) return;
  location.hash = addressOfState(query);
  applied = location.hash;
  showQuery(query);
  cameFromList = true;
}

// Of queries looked through one after the other, the way back leads to the list.
function stepTo(query) {
  if (query === undefined) return;
  writeAddress(query);
  showQuery(query);
}

function closeQuery() {
  isGoingBack = cameFromList;
  showQuery(undefined);
  if (isGoingBack) history.back();
  else writeAddress(null);
}

function showQuery(query) {
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

// What can be done with an open query.
function actionsOf(query) {
  const next = nextFailing(query);
  const said = make("span", { class: "quiet", role: "status" });
  const copy = async () => {
    const text = asText(query);
    if (await copyText(text)) said.textContent = "Copied";
    else dialog.querySelector(".columns").before(make("textarea", { class: "copied", rows: 12, readonly: true, "aria-label": "The query as text" }, text));
  };
  return make("div", { class: "actions" },
    pairChoice(),
    button("Next miss", () => stepTo(next), { disabled: next === undefined, title: "Next query that misses gold documents (n)" }),
    button("Copy as text", copy),
    button("Print", () => print()),
    said);
}

// Which two runs are laid beside each other.
function pairChoice() {
  if (overview.systems.length < 2) return null;
  const select = (id, label) => {
    const made = make("select", { "aria-label": label });
    options(made, Array.from(byId(id).options, ({ value, label: name }) => [value, name]));
    made.value = byId(id).value;
    made.addEventListener("input", () => choosePair(id, made.value));
    return made;
  };
  return make("span", { class: "pair" }, select("one", "Shown"), " against ", select("other", "Against"));
}

function choosePair(id, value) {
  byId(id).value = value;
  readControls();
  writeAddress();
  drawQuery(opened);
  dialog.querySelector(`.pair select${id === "one" ? "" : ":last-child"}`).focus();
}

function aboutQuery(query) {
  const question = questionOf(query);
  const answer = textOf(details().answers[query] ?? NONE);
  const about = overview.about === null ? null : aboutBlock(overview.about.values[overview.about.of[query]]);
  const chips = slicesOf(query).map(([field, value]) => make("li", {}, make("span", { class: "quiet" }, isolated(field), " "), isolated(value ?? "(none)")));
  const said = [
    question === null ? null : questionBlock(question),
    answer === null ? null : make("div", { class: "answer" }, make("h3", {}, "Expected answer"), textBlock(answer, null)),
    ...shownSystems().map((system) => answeredBlock(system, query)),
    chips.length ? make("ul", { class: "chips", "aria-label": "Slices" }, ...chips) : null,
    about,
    ...shownSystems().filter((system) => query in ofSystem(system).errors).map((system) => errorOf(system, query)),
    overview.nGold[query] ? null : make("p", { class: "notice" }, "No gold document answers this query, so its metrics are not defined."),
  ];
  return [actionsOf(query), make("div", { class: "about-query" }, make("div", {}, ...said), valuesOf(query))];
}

// The answer that a system gave, with its scores and what a judge said.
function answeredBlock(system, query) {
  const answered = ofSystem(system).answers?.[query];
  if (answered === undefined) return null;
  const scores = answered.scores.map(([name, value]) => make("li", {}, make("span", { class: "quiet" }, `${name} `), value));
  const verdicts = answered.verdicts.map(([about, isGood, reason]) =>
    make("li", {}, badge(isGood ? "good" : isGood === null ? "quiet" : "bad", isGood ? "\u2713" : isGood === null ? "\u2013" : "\u2715", ""), isolated(about), reason === null ? null : prose("p", { class: "quiet" }, reason)),
  );
  return make("div", { class: "answer given" },
    make("h3", {}, "Answer given", overview.systems.length > 1 ? isolated(` by ${overview.systems[system]}`) : null),
    answered.error === null ? textBlock(answered.text, null) : make("p", { class: "notice bad" }, isolated(answered.error, { class: "error" })),
    scores.length ? make("ul", { class: "chips", "aria-label": "Scores of the answer" }, ...scores) : null,
    verdicts.length ? make("details", { open: true, class: "verdicts" }, make("summary", {}, "What the judge said"), make("ul", {}, ...verdicts)) : null);
}

// A long one is shortened like a document.
const questionBlock = (question) =>
  question.length <= SHORT ? prose("p", { class: "question" }, question) : make("div", { class: "question" }, textBlock(question, null));

function errorOf(system, query) {
  return make("p", { class: "notice bad" }, isolated(overview.systems[system]), ": the retriever raised ", isolated(ofSystem(system).errors[query], { class: "error" }));
}

// The metrics of the list side by side; all of them, of which there are many, one below the other.
function valuesOf(query) {
  if (!overview.metrics.length) return null;
  const all = overview.metrics.map(({ key }) => key);
  const place = make("div", { class: "scroll" }, state.keys.length ? valuesAcross(shownKeys(), query) : null);
  const more = button(`All ${all.length} values`, () => {
    place.replaceChildren(valuesDown(all, query));
    more.remove();
  });
  return make("div", { class: "values" }, place, all.length > state.keys.length ? more : null);
}

// What is said of each shown system, and of their difference: a name, and a cell a metric.
function sidesOf(query) {
  const systems = overview.systems.length > 2 && state.other !== null ? EACH_SYSTEM : shownSystems();
  const sides = systems.map((system) => [overview.systems[system], (key) => printedValue(key, system, query)]);
  if (state.other !== null) sides.push(["difference", (key) => differenceCell(differenceOf(key, state.one, state.other, query), isLowerBetter(key))]);
  return sides;
}

const heading = (name, isNumber) => make("th", { scope: "col", class: isNumber ? "number" : null }, isolated(name));
const rowOfValues = (name, cells) => make("tr", {}, make("th", { scope: "row" }, isolated(name)), ...cells.map((cell) => make("td", { class: "number" }, cell)));

function tableOf(corner, names, body) {
  const head = make("tr", {}, heading(corner), ...names.map((name) => heading(name, true)));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}

const valuesAcross = (keys, query) => tableOf("run", keys.map(atCutOff), sidesOf(query).map(([name, value]) => rowOfValues(name, keys.map(value))));

function valuesDown(keys, query) {
  const sides = sidesOf(query);
  return tableOf("metric", sides.map(([name]) => name), keys.map((key) => rowOfValues(atCutOff(key), sides.map(([, value]) => value(key)))));
}

function documentsOfQuery(query) {
  const gold = goldOf(query);
  const rankings = shownSystems().map((system) => rankingOf(system, query));
  const known = knownIn(gold.map(({ text }) => text).filter((text) => text !== null), query);
  const first = rankings.map(firstRanks);
  const cards = rankings.map((ranking, side) =>
    ranking.map((retrieved) => {
      const { repeat } = ofSystem(shownSystems()[side]).ranks;
      const isAlone = state.other === null || repeat[retrieved.place] > 0;
      const elsewhere = isAlone ? undefined : first[1 - side].get(retrieved.key);
      const isRelevant = ofSystem(shownSystems()[side]).ranks.credit[retrieved.place] > 0;
      const moved = isAlone ? null : side ? movedTo(retrieved.rank, elsewhere, isRelevant) : leftOut(elsewhere, isRelevant);
      return rankCard(shownSystems()[side], query, retrieved, known, moved);
    }),
  );
  return make("div", {}, wordsLegend(query), make("div", { class: `columns of-${rankings.length + 1}` },
    column("Gold", gold.map((document, i) => goldCard(query, i, document, rankings)), "No gold documents."),
    ...cards.map((made, side) => column(overview.systems[shownSystems()[side]], withSearches(shownSystems()[side], query, made), "Nothing was retrieved.", made.length))));
}

function wordsLegend(query) {
  const asked = questionOf(query) === null ? [] : ["; ", make("span", { class: "of-question" }, "underlined"), ": words of the question"];
  return make("p", { class: "quiet words-legend" }, make("mark", {}, "marked"), ": words that gold and retrieved documents share", ...asked);
}

// A query with its documents as plain text.
function asText(query) {
  const lines = [`Query ${idOf(query)}`];
  const say = (name, value) => value !== null && value !== undefined && lines.push(`${name}: ${value}`);
  say("Question", questionOf(query));
  say("Expected answer", textOf(details().answers[query] ?? NONE));
  for (const key of shownKeys()) say(atCutOff(key), EACH_SYSTEM.map((system) => `${overview.systems[system]} ${printedValue(key, system, query)}`).join(", "));
  const rankings = shownSystems().map((system) => rankingOf(system, query));
  goldOf(query).forEach((document, i) => {
    const place = details().gold.start[query] + i;
    const fates = shownSystems().map((system) => {
      const { cause, rank } = fateOf(system, query, place);
      const fate = cause === NONE ? "not counted" : cause === FOUND ? `found at ${rankName(system, query, rank)}` : overview.causes[cause].key;
      return `${overview.systems[system]}: ${fate}`;
    });
    lines.push("", `Gold ${i + 1}${document.id === null ? "" : ` [${document.id}]`} (${fates.join("; ")})`, document.text ?? "No text.");
  });
  rankings.forEach((ranking, side) => {
    lines.push("", `Retrieved by ${overview.systems[shownSystems()[side]]}`);
    const { credit } = ofSystem(shownSystems()[side]).ranks;
    for (const { rank, id, text, place } of ranking) {
      lines.push(`${rank}.${id === null ? "" : ` [${id}]`}${credit[place] ? " (relevant)" : ""} ${text ?? "No text."}`);
    }
  });
  return lines.join("\n");
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
}
