// The cards of one query: what became of each gold document, and what each rank earned.

// Of these a matching text was retrieved below the cut-off.
const BELOW = new Set(["crowded_out", "ranked_below_k"]);
const NOT_CITED = "not_cited";

const badge = (tone, sign, text, attributes = {}) => make("span", { class: `badge ${tone}`, ...attributes }, make("span", { "aria-hidden": "true" }, `${sign} `), text);
const METHODS = new Map(["id", "text", "containment", "embedding", "span"].map((method) => [method, `method-${method}`]));
const methodText = (method) => (METHODS.has(method) ? say(METHODS.get(method)) : method); // ROUGE is called so everywhere

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
  return search === null ? say("rank", { rank: within }) : say("rank-of-search", { rank: within, search });
}

// One gold document, and what became of it in each run.
function goldCard(query, index, gold, rankings) {
  const columns = details().gold;
  const place = columns.start[query] + index;
  const nearest = shownSystems().flatMap((system, i) => nearestTexts(system, query, place, rankings[i], gold));
  const shared = partsOf(ofSystem(shownSystems()[0]).gold, place, true);
  const title = make("h4", {}, say("gold-number", { n: index + 1 }), documentId(gold), gradeOf(place));
  const text = textBlock(gold.text, knownIn(sharing(place, rankings), query), shared);
  return make("li", { class: "card", tabindex: "-1", "data-gold": index }, title, legendOf(shared), text, ...fatesOf(query, place, columns.repeat[place], columns.alternative[place]), aboutBlock(gold.about), labelButtons(query, gold), ...nearest);
}

function gradeOf(place) {
  const grade = details().gold.grade[place];
  return grade === null || grade === "1" ? null : make("span", { class: "grade" }, say("grade", { grade }));
}

// The vocabulary of texts, and that of the question.
const knownIn = (texts, query) => Object.assign(vocabulary(texts), { asked: questionOf(query) === null ? null : vocabulary([questionOf(query)]) });

// The parts that a text shares with spans or chunks; null where spans were not matched.
const partsOf = ({ parts }, place, isGold) => (parts === undefined ? null : { parts: parts[place], isGold });

function legendOf(shared) {
  if (shared === null || shared.parts === null) return null;
  const within = state.other === null ? say("span-legend") : say("span-legend-of", { run: overview.systems[shownSystems()[0]] });
  return make("p", { class: "quiet" }, make("mark", { class: "held" }, say("span-underlined")), " ", isolated(within), " ", make("span", { class: "missed" }, say("span-wave")), " ", say("span-missed"));
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

// In plain words; the technical name is said when one points at it.
function fateLine({ cause, method, similarity }, repeat, where) {
  if (repeat !== NONE) return [badge("quiet", "=", say("fate-repeat", { n: repeat + 1 }))];
  if (cause === NONE) return [badge("quiet", "\u2013", say("fate-not-counted"))];
  const how = method === null ? null : make("span", { class: "quiet how" }, " ", say("matched-by", { method: methodText(method), similarity }));
  if (cause === FOUND) return [badge("good", "\u2713", say("fate-found", { where })), how];
  const { key } = overview.causes[cause];
  const missed = (text) => badge("bad", "\u2715", text, { title: key, "data-cause": key });
  if (key === NOT_CITED) return [missed(say("fate-not-cited", { where })), how];
  if (BELOW.has(key)) return [missed(say(key === "crowded_out" ? "fate-crowded-out" : "fate-below", { where, k: cutOff() })), how];
  return [missed(causeText(key))];
}

// The text that comes nearest to a gold document that was missed.
function nearestTexts(system, query, place, ranking, gold) {
  const { cause, rank, similarity } = fateOf(system, query, place);
  const near = ranking[rank - 1];
  if (cause === NONE || cause === FOUND || !near || BELOW.has(overview.causes[cause].key) || overview.causes[cause].key === NOT_CITED) return [];
  const where = rankName(system, query, rank);
  const what = state.other === null ? say("nearest-text", { where }) : say("nearest-text-of", { where, run: overview.systems[system] });
  const summary = make("summary", {}, isolated(what), make("span", { class: "quiet" }, " ", say("similarity", { similarity })));
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
  const banned = why === undefined ? null : make("p", { class: "earned" }, badge("bad", "\u2715", say("forbidden")), " ", isolated(why));
  const matches = matchesAt(system, retrieved.place);
  const scored = score[retrieved.place] === NONE ? null : make("span", { class: "quiet" }, say("score", { score: ofScore(score[retrieved.place]) }));
  const isById = matches.some(({ method }) => method === "id");
  const id = retrieved.id === null ? null : make("span", {}, isById ? make("mark", { class: "same-id" }, documentId(retrieved)) : documentId(retrieved));
  const rank = make("span", { class: credit[retrieved.place] ? (isBeyond(retrieved.rank) ? "mark-below rank" : "mark-found rank") : "rank" }, String(retrieved.within));
  const title = make("h4", {}, rank, id, scored, moved);
  const again = repeat[retrieved.place] && rankName(system, query, repeat[retrieved.place]);
  const isSilent = !again && !matches.length; // most documents match nothing
  const line = isSilent ? null : make("p", { class: "earned" }, earned(credit[retrieved.place], again, matches.length > 0), " ", ...matched(matches));
  const text = textBlock(retrieved.text, known, partsOf(ofSystem(system).ranks, retrieved.place, false));
  return make("li", { class: classesOfRank(retrieved.rank, credit[retrieved.place]), tabindex: "-1", "data-rank": retrieved.rank }, title, banned, line, text, aboutBlock(retrieved.about), labelButtons(query, retrieved));
}

const ofScore = (number) => figure(details().scores[number]);

// The line below which nothing counts.
const cutOffLine = () => make("li", { class: "cut-off-line" }, make("span", {}, say("cut-off-line", { k: cutOff() })));

// Below the cut-off a card is faint, and a line is drawn above the first of these.
function classesOfRank(rank, credit) {
  const place = isBeyond(rank) ? (isBeyond(rank - 1) ? " beyond" : " beyond first") : "";
  return `card${credit ? " hit" : ""}${place}`;
}

function earned(credit, repeat, isMatch) {
  if (repeat) return badge("quiet", "=", say("earned-repeats", { where: repeat }));
  if (isMatch && !credit) return badge("quiet", "\u2013", say("earned-grade-0"));
  return [null, badge("good", "\u25cb", say("earned-no-credit")), badge("good", "\u2713", say("earned-credit"))][credit];
}

const matched = (matches) => matches.map(({ gold, method, similarity }) => make("span", { class: "match" }, say("match-of-gold", { n: gold + 1, method: methodText(method), similarity }), " "));

// For each document of a ranking the rank at which it stands first.
function firstRanks(ranking) {
  const ranks = new Map();
  for (const { key, rank } of ranking) if (!ranks.has(key)) ranks.set(key, rank);
  return ranks;
}

// A move is good or bad only of a document that is relevant.
function movedTo(rank, before, isRelevant) {
  const tone = (name) => (isRelevant ? `moved ${name}` : "moved");
  if (before === undefined) return badge(tone("up"), "\u2726", say("moved-new"));
  if (before === rank) return badge("moved", "=", say("moved-stays"));
  return before > rank ? badge(tone("up"), "\u2191", say("moved-up", { n: before - rank })) : badge(tone("down"), "\u2193", say("moved-down", { n: rank - before }));
}

const leftOut = (after, isRelevant) => (after === undefined ? badge(isRelevant ? "moved down" : "moved", "\u2717", say("moved-gone")) : badge("moved", "\u2192", say("rank", { rank: after })));
