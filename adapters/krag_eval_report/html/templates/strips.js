// What became of a gold document in each run, as a strip of ranks and in words, and the stages that it went through.

const STRIP = 10; // ranks that a strip shows at least
const LONGEST_STRIP = 20;
const FEW_STRIPS = 8; // of more runs the others are folded

// One box a rank: filled where it was found, hatched below the cut-off; a gap is the cut-off.
function stripOf(rank, isFound) {
  const k = Number.isInteger(cutOff()) ? cutOff() : null;
  const n = Math.min(LONGEST_STRIP, Math.max(STRIP, k ?? 0));
  const boxes = Array.from({ length: n }, (_, i) => make("i", { class: [i + 1 === rank ? (isFound ? "at" : "at below") : "", i === k ? "first-below" : ""].join(" ").trim() || null }));
  return make("span", { class: "strip", "aria-hidden": "true" }, ...boxes);
}

// The runs whose strips are seen at once: those that are shown, then the others.
const inOrder = () => [...shownSystems(), ...EACH_SYSTEM.filter((system) => !shownSystems().includes(system))];

function fatesOf(query, place, repeat, alternative) {
  const made = inOrder().map((system) => stripLine(system, query, place, repeat, alternative));
  const list = (lines) => make("ul", { class: "fates" }, ...lines);
  if (made.length <= FEW_STRIPS) return [list(made)];
  const seen = made.slice(0, shownSystems().length);
  const rest = make("details", { class: "more-runs" }, make("summary", {}, say("more-runs", { n: made.length - seen.length })), list(made.slice(seen.length)));
  return [list(seen), make("ul", { class: "fates-in-short" }, ...fatesInShort(query, place)), rest];
}

function stripLine(system, query, place, repeat, alternative) {
  const fate = fateOf(system, query, place);
  const line = alternative === NONE ? fateLine(fate, repeat, rankName(system, query, fate.rank)) : [badge("quiet", "\u2013", say("fate-alternative", { n: alternative + 1 }))];
  const isRanked = fate.cause === FOUND || BELOW.has(overview.causes[fate.cause]?.key) || overview.causes[fate.cause]?.key === NOT_CITED;
  const name = overview.systems.length > 1 ? isolated(overview.systems[system], { class: "system", title: overview.systems[system] }) : null;
  return make("li", {}, name, stripOf(isRanked ? fate.rank : 0, fate.cause === FOUND), make("span", { class: "fate" }, " ", ...line), stepsOf(system, place));
}

// The stages of a pipeline as steps, with the one that lost the document; null where a run has no stages.
function stepsOf(system, place) {
  const { fates, fate, stages } = ofSystem(system).gold;
  if (fates === undefined || fate[place] === NONE) return null;
  const what = fates[fate[place]];
  const lostIn = what.startsWith("lost_in:") ? what.slice(8) : null;
  const inputs = stages.find(({ name }) => name === lostIn)?.inputs ?? [];
  const steps = stages.map(({ name }) => {
    const kind = name === lostIn ? "lost" : inputs.includes(name) ? "had" : "";
    const sign = { lost: "\u2715", had: "\u2713" }[kind];
    return make("li", { class: kind || null }, sign ? make("span", { "aria-hidden": "true" }, `${sign} `) : null, isolated(name));
  });
  const said = lostIn === null ? STAGE_FATES[what] : ["stage-lost-in", { stage: lostIn }];
  return make("div", { class: "stages" }, make("ol", { class: "steps", "aria-label": say("stages") }, ...steps), said === undefined ? null : make("p", { class: lostIn === null && what === "kept" ? "quiet" : "bad" }, say(...said)));
}

const STAGE_FATES = { kept: ["stage-kept"], not_retrieved: ["stage-not-retrieved"], below_k: ["stage-below-k"], not_in_corpus: ["stage-not-in-corpus"] };
