// The cards of one query: what became of each gold document, and what each rank earned.

// Of these a matching text was retrieved below the cut-off.
const BELOW = new Set(["crowded_out", "ranked_below_k"]);
const NOT_CITED = "not_cited";
const SPEAKS_FOR_ITSELF = new Set(["retriever_error", "nothing_retrieved", "never_retrieved", "never_searched_for"]);

const badge = (tone, sign, text) => make("span", { class: `badge ${tone}` }, make("span", { "aria-hidden": "true" }, `${sign} `), text);

function placesOf(columns, query) {
  return Array.from({ length: columns.start[query + 1] - columns.start[query] }, (_, i) => columns.start[query] + i);
}

const goldOf = (query) => placesOf(details().gold, query).map((place) => documentOf(details().gold.document[place]));

function rankingOf(system, query) {
  const { ranks } = ofSystem(system);
  return placesOf(ranks, query).map((place, i) => ({ ...documentOf(ranks.document[place]), place, rank: i + 1, ...searchedAt(system, query, i + 1) }));
}

// The searches of a session, in order, with the rank before the first of each; none where there is one ranking.
function searchesOf(system, query) {
  const columns = ofSystem(system).searches;
  if (columns === undefined) return [];
  let before = 0;
  return placesOf(columns, query).map((place, i) => {
    const search = { number: i + 1, before, n: columns.n[place], query: textOf(columns.query[place]), brought: details().similarities[columns.brought[place]] };
    before += search.n;
    return search;
  });
}

// The search in which a rank lies, and the rank in it; of one ranking the rank itself.
function searchedAt(system, query, rank) {
  const search = searchesOf(system, query).findLast(({ before, n }) => n > 0 && before < rank);
  return search === undefined ? { within: rank, search: null } : { within: rank - search.before, search: search.number };
}

function rankName(system, query, rank) {
  const { within, search } = searchedAt(system, query, rank);
  return search === null ? `rank ${within}` : `rank ${within} of search ${search}`;
}

// One gold document, and what became of it in each system that is shown.
function goldCard(query, index, gold, rankings) {
  const columns = details().gold;
  const place = columns.start[query] + index;
  const grade = columns.grade[place];
  const repeat = columns.repeat[place];
  const alternative = columns.alternative[place];
  const fates = shownSystems().map((system) => {
    const fate = fateOf(system, query, place);
    const line = alternative === NONE ? fateLine(fate, repeat, rankName(system, query, fate.rank)) : [badge("quiet", "or", `an alternative to gold ${alternative + 1}`)];
    const lost = stageOf(system, place);
    return make("li", {}, state.other === null ? null : isolated(overview.systems[system], { class: "system" }), " ", ...line, lost);
  });
  const nearest = shownSystems().flatMap((system, i) => nearestTexts(system, query, place, rankings[i], gold));
  const shared = partsOf(ofSystem(shownSystems()[0]).gold, place, true);
  const title = make("h4", {}, `Gold ${index + 1}`, documentId(gold), grade === null || grade === "1" ? null : make("span", { class: "quiet" }, `grade ${grade}`));
  return make("li", { class: "card", "data-gold": index }, title, make("ul", { class: "fates" }, ...fates), legendOf(shared), textBlock(gold.text, knownIn(sharing(place, rankings), query), shared), aboutBlock(gold.about), labelButtons(query, gold), ...nearest);
}

// Where the stages of a pipeline lost a gold document.
function stageOf(system, place) {
  const { fates, fate } = ofSystem(system).gold;
  if (fates === undefined || fate[place] === NONE) return null;
  return fates[fate[place]] === "kept" ? null : make("span", { class: "quiet" }, ` ${fates[fate[place]].replace("lost_in:", "lost in ")}`);
}

// The vocabulary of texts, and that of the question.
const knownIn = (texts, query) => Object.assign(vocabulary(texts), { asked: questionOf(query) === null ? null : vocabulary([questionOf(query)]) });

// The parts that a text shares with spans or chunks; null where spans were not matched.
const partsOf = ({ parts }, place, isGold) => (parts === undefined ? null : { parts: parts[place], isGold });

function legendOf(shared) {
  if (shared === null || shared.parts === null) return null;
  const of = state.other === null ? "" : ` by ${overview.systems[shownSystems()[0]]}`;
  return make("p", { class: "quiet" }, make("mark", { class: "held" }, "underlined"), isolated(`: retrieved within the cut-off${of}; `), make("span", { class: "missed" }, "with a wave"), ": missed");
}

function fateOf(system, query, place) {
  const { cause, rank, method, similarity } = ofSystem(system).gold;
  return {
    cause: cause[place] === NONE || state.k === null ? cause[place] : causeAt(system, query, numberOf(cause, query, place)),
    rank: rank[place],
    method: method[place] === NONE ? null : details().methods[method[place]] ?? null,
    similarity: similarity[place] === NONE ? null : details().similarities[similarity[place]],
  };
}

function fateLine({ cause, method, similarity }, repeat, where) {
  if (repeat !== NONE) return [badge("quiet", "=", `the same as gold ${repeat + 1}`)];
  if (cause === NONE) return [badge("quiet", "\u2013", "not counted, its grade is 0")];
  const how = method === null ? "" : ` by ${inWords(method)} (${similarity})`;
  if (cause === FOUND) return [badge("good", "\u2713", `found at ${where}`), make("span", { class: "quiet" }, how)];
  const { key, text } = overview.causes[cause];
  if (key === NOT_CITED) return [badge("bad", "\u2715", key), ` found at ${where}, and cited nowhere`, make("span", { class: "quiet" }, how)];
  if (BELOW.has(key)) return [badge("bad", "\u2715", key), ` found at ${where}, below ${cutOff()}`, make("span", { class: "quiet" }, how)];
  return [badge("bad", "\u2715", key), SPEAKS_FOR_ITSELF.has(key) ? "" : ` ${text}`];
}

// The text that comes nearest to a gold document that was missed.
function nearestTexts(system, query, place, ranking, gold) {
  const { cause, rank, similarity } = fateOf(system, query, place);
  const near = ranking[rank - 1];
  if (cause === NONE || cause === FOUND || !near || BELOW.has(overview.causes[cause].key) || overview.causes[cause].key === NOT_CITED) return [];
  const of = state.other === null ? "" : ` of ${overview.systems[system]}`;
  const summary = make("summary", {}, isolated(`Nearest text: ${rankName(system, query, rank)}${of}`), make("span", { class: "quiet" }, ` similarity ${similarity}`));
  return [make("details", { class: "nearest", open: true }, summary, textBlock(near.text, vocabulary(gold.text === null ? [] : [gold.text])))];
}

// The retrieved texts whose words are marked in a gold text: what found it, else what comes nearest, else all.
function sharing(place, rankings) {
  return shownSystems()
    .flatMap((system, i) => {
      const near = rankings[i][ofSystem(system).gold.rank[place] - 1];
      return near ? [near] : rankings[i];
    })
    .map(({ text }) => text)
    .filter((text) => text !== null);
}

// One retrieved document. `moved` is what became of its rank in the other ranking, or null where there is none.
function rankCard(system, query, retrieved, known, moved) {
  const { credit, repeat, score, forbidden } = ofSystem(system).ranks;
  const why = forbidden?.[retrieved.place];
  const banned = why === undefined ? null : make("p", { class: "earned" }, badge("bad", "\u2715", "forbidden"), " ", isolated(why));
  const matches = matchesAt(system, retrieved.place);
  const scored = score[retrieved.place] === NONE ? null : make("span", { class: "quiet" }, `score ${details().scores[score[retrieved.place]]}`);
  const title = make("h4", {}, make("span", { class: "rank" }, String(retrieved.within)), documentId(retrieved), scored, moved);
  const line = make("p", { class: "earned" }, earned(credit[retrieved.place], repeat[retrieved.place] && rankName(system, query, repeat[retrieved.place]), matches.length > 0), " ", ...matched(matches));
  return make("li", { class: classesOfRank(retrieved.rank, credit[retrieved.place]), "data-rank": retrieved.rank }, title, banned, line, textBlock(retrieved.text, known, partsOf(ofSystem(system).ranks, retrieved.place, false)), aboutBlock(retrieved.about), labelButtons(query, retrieved));
}

// Below the cut-off a card is faint, and a line is drawn above the first of these.
function classesOfRank(rank, credit) {
  const place = isBeyond(rank) ? (isBeyond(rank - 1) ? " beyond" : " beyond first") : "";
  return `card${credit ? " hit" : ""}${place}`;
}

function earned(credit, repeat, isMatch) {
  if (repeat) return badge("quiet", "=", `repeats ${repeat}`);
  if (isMatch && !credit) return badge("quiet", "\u2013", "not relevant, its grade is 0");
  return [badge("quiet", "\u2013", "no match"), badge("good", "\u25cb", "relevant, no credit"), badge("good", "\u2713", "credited")][credit];
}

function matched(matches) {
  return matches.map(({ gold, method, similarity }) =>
    make("span", { class: "match" }, `gold ${gold + 1} by ${inWords(method)} (${similarity}) `),
  );
}

// For each document of a ranking the rank at which it stands first.
function firstRanks(ranking) {
  const ranks = new Map();
  for (const { key, rank } of ranking) if (!ranks.has(key)) ranks.set(key, rank);
  return ranks;
}

// A move is good or bad only of a document that is relevant.
function movedTo(rank, before, isRelevant) {
  const tone = (name) => (isRelevant ? `moved ${name}` : "moved");
  if (before === undefined) return badge(tone("up"), "\u2726", "new");
  if (before === rank) return badge("moved", "=", "stays");
  return before > rank ? badge(tone("up"), "\u2191", `up ${before - rank}`) : badge(tone("down"), "\u2193", `down ${rank - before}`);
}

const leftOut = (after, isRelevant) => (after === undefined ? badge(isRelevant ? "moved down" : "moved", "\u2717", "gone") : badge("moved", "\u2192", `rank ${after}`));
