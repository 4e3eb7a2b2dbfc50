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

let shownSide = 1; // on a phone one ranking is seen at a time

function drawQuery(query) {
  const place = shown.indexOf(query);
  const step = (name, sign, to) => button(sign, () => stepTo(to), { "aria-label": say(name), title: say(name), disabled: place < 0 || to === undefined, class: "step" });
  const bar = make("div", { class: "bar" },
    make("h2", { id: "krag-query-id" }, button(say("questions-title"), closeQuery, { class: "link back" }), make("span", { "aria-hidden": "true" }, " / "), isolated(idOf(query), { class: "id" })),
    slicesAsChips(query),
    make("span", { class: "quiet place" }, place < 0 ? say("not-in-list") : say("place-in-list", { n: place + 1, of: shown.length })),
    step("previous-question", "\u2190", shown[place - 1]),
    step("next-question", "\u2192", shown[place + 1]),
    button("\u2715", closeQuery, { id: "krag-close", "aria-label": say("close"), title: say("close-escape") }));
  dialog.replaceChildren(bar, ...aboutQuery(query), documentsOfQuery(query), ...moreOfQuery(query), ...labelsOfQuery(query), keyBar());
}

// Draw an open question anew, in another language or with other runs.
function redrawQuery() {
  if (opened !== null) drawQuery(opened);
}

// What can be done with an open question.
function actionsOf(query) {
  const next = nextFailing(query);
  const said = make("span", { class: "quiet", role: "status" });
  const copy = async () => {
    const text = asText(query);
    if (await copyText(text)) said.textContent = say("copied");
    else dialog.querySelector(".columns").before(make("textarea", { class: "copied", rows: 12, readonly: true, "aria-label": say("question-as-text") }, text));
  };
  return make("div", { class: "actions" },
    pairChoice(),
    button(say("next-miss"), () => stepTo(next), { disabled: next === undefined, title: say("next-miss-help") }),
    button(say("copy-as-text"), copy),
    button(say("print"), () => print()),
    said);
}

// The keys of an open question, and how many labels there are.
function keyBar() {
  const key = (keys, id) => make("span", {}, ...keys.map((one) => make("kbd", {}, one)), " ", say(id));
  const labelKeys = labelling.why === null ? [key(possibleLabels().filter(({ label }) => label !== false).map(({ key: digit }) => digit), "key-gold"), key(["0"], "key-not-gold"), key(["U"], "key-undo")] : [];
  return make("p", { class: "key-bar" }, key(["\u2191", "\u2193"], "key-document"), ...labelKeys, key(["N"], "key-next-miss"), key(["J", "K"], "key-question"), key(["Esc"], "key-list"));
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
  return make("span", { class: "pair" }, select("one", say("view-shown")), make("span", {}, ` ${say("view-against")} `), select("other", say("view-against")));
}

function choosePair(id, value) {
  byId(id).value = value;
  readControls();
  writeAddress();
  drawQuery(opened);
  dialog.querySelector(`.pair select${id === "one" ? "" : ":last-child"}`).focus();
}

function slicesAsChips(query) {
  const chips = slicesOf(query).map(([field, value]) => make("li", { title: field }, make("span", { class: "quiet field" }, isolated(field), " "), isolated(value ?? say("no-value"))));
  return chips.length ? make("ul", { class: "slices", "aria-label": say("slices") }, ...chips) : null;
}

function aboutQuery(query) {
  const question = questionOf(query);
  const answer = textOf(details().answers[query] ?? NONE);
  const said = [
    question === null ? null : questionBlock(question),
    make("p", { class: "lead" }, isolated(leadOf(query))),
    answer === null ? null : make("div", { class: "answer" }, make("h3", {}, say("expected-answer")), textBlock(answer, null)),
    ...shownSystems().map((system) => answeredBlock(system, query)),
    ...EACH_SYSTEM.filter((system) => failed[system].has(query)).slice(0, MOST_NAMES).map((system) => errorOf(system, query)),
  ];
  return [make("div", { class: "about-query" }, ...said.filter((part) => part !== null)), actionsOf(query)];
}

// What is known of a question beside its documents: all values, and its metadata.
function moreOfQuery(query) {
  const about = overview.about === null ? null : aboutBlock(overview.about.values[overview.about.of[query]]);
  return [valuesOf(query), about].filter((part) => part !== null);
}

// What the runs make of the question, in one sentence.
function leadOf(query) {
  const of = overview.nGold[query];
  if (!of) return say("lead-no-gold");
  const nFound = (system) => outcomesOf(system, query).filter(({ isFound }) => isFound).length;
  const [one, other] = shownSystems();
  if (other === undefined) return say("lead-one", { run: overview.systems[one], n: nFound(one), of });
  if (overview.systems.length === 2) return say("lead-two", { one: overview.systems[one], n: nFound(one), other: overview.systems[other], m: nFound(other), of });
  const counts = EACH_SYSTEM.map(nFound);
  const every = counts.filter((n) => n === of).length;
  const none = counts.filter((n) => n === 0).length;
  return say("lead-many", { runs: counts.length, every, none, some: counts.length - every - none, of });
}

// The answer that a system gave, with its scores and what a judge said.
function answeredBlock(system, query) {
  const answered = ofSystem(system).answers?.[query];
  if (answered === undefined) return null;
  const scores = answered.scores.map(([name, value]) => make("li", {}, make("span", { class: "quiet" }, `${name} `), figure(value)));
  const verdicts = answered.verdicts.map(([about, isGood, reason]) =>
    make("li", {}, badge(isGood ? "good" : isGood === null ? "quiet" : "bad", isGood ? "\u2713" : isGood === null ? "\u2013" : "\u2715", ""), isolated(about), reason === null ? null : prose("p", { class: "quiet" }, reason)),
  );
  const title = overview.systems.length > 1 ? say("answer-given-by", { run: overview.systems[system] }) : say("answer-given");
  return make("div", { class: "answer given" },
    make("h3", {}, isolated(title)),
    answered.error === null ? textBlock(answered.text, null) : make("p", { class: "notice bad" }, isolated(answered.error, { class: "error" })),
    scores.length ? make("ul", { class: "chips", "aria-label": say("scores-of-answer") }, ...scores) : null,
    verdicts.length ? make("details", { open: true, class: "verdicts" }, make("summary", {}, say("judge-said")), make("ul", {}, ...verdicts)) : null);
}

// A long one is shortened like a document.
const questionBlock = (question) =>
  question.length <= SHORT ? prose("h3", { class: "question" }, question) : make("div", { class: "question" }, textBlock(question, null));

function errorOf(system, query) {
  return make("p", { class: "notice bad" }, isolated(say("retriever-raised", { run: overview.systems[system] })), " ", isolated(ofSystem(system).errors[query], { class: "error" }));
}

// The metrics of the list side by side; all of them, of which there are many, one below the other.
function valuesOf(query) {
  if (!overview.metrics.length) return null;
  const all = overview.metrics.map(({ key }) => key);
  const keys = state.keys.length ? shownKeys() : overview.shown;
  const place = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": say("values") }, keys.length ? valuesAcross(keys, query) : null);
  const more = button(say("all-values", { n: all.length }), () => {
    place.replaceChildren(valuesDown(all, query));
    more.remove();
  });
  return make("div", { class: "values" }, place, all.length > keys.length ? more : null);
}

// What is said of each shown system, and of their difference: a name, and a cell a metric.
function sidesOf(query) {
  const systems = overview.systems.length > 2 && state.other !== null ? EACH_SYSTEM : shownSystems();
  const sides = systems.map((system) => [overview.systems[system], (key) => figure(printedValue(key, system, query))]);
  if (state.other !== null) sides.push([say("difference"), (key) => differenceCell(differenceOf(key, state.one, state.other, query), isLowerBetter(key))]);
  return sides;
}

const heading = (name, isNumber) => make("th", { scope: "col", class: isNumber ? "number" : null }, isolated(name));
const rowOfValues = (name, cells) => make("tr", {}, make("th", { scope: "row" }, isolated(name)), ...cells.map((cell) => make("td", { class: "number" }, cell)));

function tableOf(corner, names, body) {
  const head = make("tr", {}, heading(corner), ...names.map((name) => heading(name, true)));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
}

const valuesAcross = (keys, query) => tableOf(say("run"), keys.map(atCutOff), sidesOf(query).map(([name, value]) => rowOfValues(name, keys.map(value))));

function valuesDown(keys, query) {
  const sides = sidesOf(query);
  return tableOf(say("metric"), sides.map(([name]) => name), keys.map((key) => rowOfValues(atCutOff(key), sides.map(([, value]) => value(key)))));
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
  const key = state.keys[0] ?? overview.shown[0];
  const sides = cards.map((made, side) => {
    const system = shownSystems()[side];
    const beyond = made.findIndex((card) => card.classList.contains("first") && card.classList.contains("beyond"));
    const inside = withSearches(system, query, made);
    if (beyond > 0) inside.splice(inside.indexOf(made[beyond]), 0, cutOffLine());
    const value = key === undefined ? null : make("span", { class: "of-column quiet" }, `${atCutOff(key)} `, make("strong", {}, figure(printedValue(key, system, query))));
    return column(overview.systems[system], inside, say("nothing-retrieved"), made.length, value);
  });
  const golds = column(say("gold-documents"), gold.map((document, i) => goldCard(query, i, document, rankings)), say("no-gold-documents"));
  golds.append(wordsLegend(query));
  const columns = make("div", { class: `columns of-${rankings.length + 1}`, "data-side": String(Math.min(shownSide, sides.length - 1)) }, golds, ...sides);
  return make("div", {}, sides.length > 1 ? sideChoice(columns) : null, columns);
}

// On a phone: which of the two rankings is seen.
function sideChoice(columns) {
  const buttons = shownSystems().map((system, side) =>
    button("", () => {
      shownSide = side;
      columns.dataset.side = String(side);
      buttons.forEach((made, i) => made.setAttribute("aria-pressed", String(i === side)));
    }, { "aria-pressed": String(side === Number(columns.dataset.side)) }),
  );
  buttons.forEach((made, i) => made.append(isolated(overview.systems[shownSystems()[i]])));
  return make("div", { class: "sides", role: "group", "aria-label": say("which-ranking") }, ...buttons);
}

function wordsLegend(query) {
  const asked = questionOf(query) === null ? null : make("p", {}, make("span", { class: "of-question" }, say("legend-dotted")), " ", say("legend-of-question"));
  return make("div", { class: "quiet words-legend" }, make("p", {}, make("mark", {}, say("legend-marked")), " ", say("legend-shared")), asked);
}

// A question with its documents as plain text.
function asText(query) {
  const lines = [say("text-question-id", { id: idOf(query) })];
  const add = (id, value) => value !== null && value !== undefined && lines.push(say(id, { value }));
  add("text-question", questionOf(query));
  add("text-answer", textOf(details().answers[query] ?? NONE));
  for (const key of state.keys.length ? shownKeys() : overview.shown) lines.push(`${atCutOff(key)}: ${EACH_SYSTEM.map((system) => `${overview.systems[system]} ${figure(printedValue(key, system, query))}`).join(", ")}`);
  goldOf(query).forEach((document, i) => {
    const place = details().gold.start[query] + i;
    const fates = shownSystems().map((system) => {
      const { cause, rank } = fateOf(system, query, place);
      const fate = cause === NONE ? say("fate-not-counted") : cause === FOUND ? say("text-found", { where: rankName(system, query, rank) }) : causeText(overview.causes[cause].key);
      return `${overview.systems[system]}: ${fate}`;
    });
    lines.push("", `${say("gold-number", { n: i + 1 })}${document.id === null ? "" : ` [${document.id}]`} (${fates.join("; ")})`, document.text ?? say("no-text"));
  });
  for (const system of shownSystems()) {
    lines.push("", say("text-retrieved-by", { run: overview.systems[system] }));
    const { credit } = ofSystem(system).ranks;
    for (const { rank, id, text, place } of rankingOf(system, query)) {
      lines.push(`${rank}.${id === null ? "" : ` [${id}]`}${credit[place] ? ` (${say("relevant")})` : ""} ${text ?? say("no-text")}`);
    }
  }
  return lines.join("\n");
}

// The cards of a session below the searches that they come from, each with what it brought.
function withSearches(system, query, cards) {
  const searches = searchesOf(system, query);
  if (!searches.length) return cards;
  return searches.flatMap(({ number, before, n, query: asked, brought }) => [
    make("li", { class: "search" }, make("h4", {}, say("search-number", { n: number }), asked === null ? null : isolated(asked, { class: "asked" })), make("p", { class: "quiet" }, told(brought))),
    ...cards.slice(before, before + n),
  ]);
}

function column(title, cards, ifEmpty, n = cards.length, value = null) {
  const heading = make("h3", {}, isolated(title), make("span", { class: "quiet" }, ` ${counted(n)}`), value);
  return make("section", { class: "column" }, heading, cards.length ? make("ol", {}, ...cards) : make("p", { class: "empty" }, ifEmpty));
}

function startQuery() {
  startFocus();
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    closeQuery();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) closeQuery();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || opened === null || event.target.matches("input, select, textarea")) return;
    const place = shown.indexOf(opened);
    if (event.key === "ArrowRight" && place >= 0) stepTo(shown[place + 1]);
    if (event.key === "ArrowLeft" && place > 0) stepTo(shown[place - 1]);
  });
}
