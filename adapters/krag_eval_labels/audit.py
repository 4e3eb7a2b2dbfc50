"""Find gold labels that are probably missing or wrong, from what several systems retrieved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Unpack, cast

import numpy as np

from krag_eval import Document, EvalSet, InvalidInputError, Run, as_document, as_evalset
from krag_eval.toolkit import (
    DOC_KEY,
    NOTHING_RETRIEVED_YET,
    Argument,
    Batch,
    BoolArray,
    DocumentCounts,
    IdKey,
    IntArray,
    Matches,
    ScoringSettings,
    Settings,
    Side,
    TextSettings,
    alternatives_in,
    check_count,
    check_number,
    describe_type,
    find_matches,
    gold_first,
    group_near_duplicates,
    identity_keys,
    make_settings,
    match_containment,
    merge_equal,
    nearest_of,
    refuse,
    settings_at,
    warn,
)
from krag_eval.toolkit import NEAR as NEAR_QUESTIONS
from krag_eval_labels.evidence import Evidence, Pool, fill_texts, normal_form, pool_documents, weigh
from krag_eval_labels.report import Candidate, ContainedGold, DoctorReport, LostGold, NearQuestions

NEAR = 0.6
# A text so little like the gold passage is no help to whoever looks for it.
_NEAREST = 0.3


@gold_first()
def audit_labels(
    evalset: object,
    runs: Run | Sequence[Run] | Mapping[str, Run],
    *,
    k: int = 10,
    min_systems: int | None = None,
    near: float = NEAR,
    near_questions: float = NEAR_QUESTIONS,
    corpus: Iterable[object] | None = None,
    level: str = "chunk",
    doc_key: IdKey = DOC_KEY,
    **settings: Unpack[TextSettings],
) -> DoctorReport:
    """Find what is probably wrong with the gold documents of a set, from what several systems retrieved.

    Documents that may be gold and not listed; gold documents of a question that contain each other; gold
    documents that no system ever found; questions in nearly the same words. Nothing is changed: fill in the labelling
    queue (`write_queue`) and read it back with `apply_labels`. Documents of grade 0 were judged before and are not
    asked about again.

    Args:
        evalset: An `EvalSet`, `{question: gold}`, a list of questions, or a table.
        runs: One run or several, of systems that are as different as possible; a mapping gives them names.
        k: The rank down to which agreement of systems, and an answer that stands in a document, count.
        min_systems: How many systems have to agree: by default all of up to three, and three of more.
        near: The ROUGE-L (F-measure) from which a document is nearly a gold text, above 0 and at most 1.
        near_questions: The same for two questions.
        corpus: The documents that were searched: they give texts to gold and retrieved documents that are ids alone,
            and tell which gold ids do not exist.
        level: `"chunk"`, or `"document"` to look at the documents that chunks come from.
        doc_key: The metadata key of document ids.
        **settings: The scoring settings that `evaluate` takes. `match_method` decides how documents are identified: by
            default ids where both sides have them, else texts, with a warning.

    Raises:
        InvalidInputError: Something given cannot be used, or a run is of another set.

    >>> from krag_eval import EvalSet, Run, RunRow
    >>> gold = {"id": "a", "text": "Refunds take three working days."}
    >>> copy = {"id": "b", "text": "Refunds take  three working days."}
    >>> evalset = EvalSet([{"id": 1, "question": "How long do refunds take?", "gold": [gold]}])
    >>> run = Run.of("bm25", [RunRow.from_dict({"query_id": 1, "retrieved": [copy, gold]})])
    >>> print(audit_labels(evalset, run).candidates[0])
    1: b 'Refunds take three working days.': the same text as a gold document, under another id (bm25 1)
    """
    questions, systems = as_evalset(evalset), _by_name(runs)
    if not len(questions):
        raise InvalidInputError("The evaluation set has no question. Give at least one.")
    k, least = check_count("k", k), _check_min_systems(min_systems, len(systems))
    for name, value in (("near", near), ("near_questions", near_questions)):
        check_number(name, value, above=0, most=1)
    checked = make_settings(**settings_at(level, doc_key, cast(ScoringSettings, settings)))
    keys = checked.reading
    given = questions.gold(level, doc_key)
    gold_rows = [alternatives_in(row) for row in given]
    sides = {name: Side("predicted", run.rankings(questions), **keys) for name, run in systems.items()}
    if "match_method" not in settings and level == "chunk":
        checked = replace(checked, match_method=_choose_methods(Side("actual", gold_rows, **keys), sides, checked))
    pool = pool_documents(questions, systems, sides, checked)
    known = fill_texts(gold_rows, pool.rows, corpus if level == "chunk" else None, checked)
    batch = Batch(Side("actual", gold_rows, **keys), Side("predicted", pool.rows, **keys), checked)
    batch.actual.needs = Side("actual", given, **keys).needs
    matches = find_matches(batch)
    DocumentCounts.of(batch, matches).check(checked, NOTHING_RETRIEVED_YET)
    positions = _gold_positions(batch)
    negative = np.ones(len(questions), dtype=bool)
    negative[batch.actual.query_of(positions)] = False
    unjudged = np.array(
        [not row and not q.is_negative for row, q in zip(gold_rows, questions, strict=True)], dtype=bool
    )
    judged = np.zeros(len(pool.ranks), dtype=bool)
    judged[matches.predicted] = True
    evidence = weigh(questions, pool, batch, judged, negative, k=k, min_systems=least, near=near)
    return DoctorReport(
        systems=pool.systems,
        methods=checked.methods,
        level=level,
        doc_key=doc_key,
        k=k,
        min_systems=least,
        n_questions=len(questions),
        n_negative=int((negative & ~unjudged).sum()),
        n_unjudged=int(unjudged.sum()),
        candidates=_make_candidates(questions, pool, batch, evidence, judged, negative, unjudged),
        contained_gold=_find_contained(questions, batch, positions),
        lost_gold=_find_lost(questions, pool, batch, matches, positions, known),
        near_questions=_find_near_questions(questions, batch, positions, near_questions),
    )


def _by_name(runs: object) -> dict[str, Run]:
    given = runs if isinstance(runs, Mapping) else None
    if given is None:
        listed = [runs] if isinstance(runs, Run) else runs
        if not isinstance(listed, Sequence) or isinstance(listed, str):
            refuse("runs", "runs", runs, "Read a file with `read_run(path)`.")
        names = [run.name for run in listed if isinstance(run, Run)]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidInputError(f'Two runs are called {twice!r:.60}. Give them names with {{"name": run, ...}}.')
        given = {run.name if isinstance(run, Run) else f"runs[{place}]": run for place, run in enumerate(listed)}
    for name, run in given.items():
        if not isinstance(run, Run):
            raise InvalidInputError(f"{name!r:.60} is {describe_type(run)}, not a run. Read one with `read_run(path)`.")
    if not given:
        raise InvalidInputError("`runs` is empty. Give at least one run; several are better.")
    return {str(name): run for name, run in given.items()}


def _check_min_systems(given: int | None, n_systems: int) -> int:
    if given is None:
        return max(2, min(n_systems, 3))
    least = check_count("min_systems", given)
    if least > n_systems:
        raise InvalidInputError(
            f"`min_systems` is {least}, and there are {n_systems} runs. Give a number up to that, or more runs."
        )
    return least


def _choose_methods(gold: Side, sides: Mapping[str, Side], settings: Settings) -> tuple[str, ...]:
    """Choose ids if both sides have them, else texts, with a warning.

    Raises:
        InvalidInputError: A document has neither an id nor a text.
    """
    columns = [gold, *sides.values()]
    ids = [{id_ for id_ in side.ids if id_ is not None} for side in columns]
    retrieved: set[str] = set().union(*ids[1:])
    for lacking, has_ids, sides_ in (("gold", ids[0], columns[:1]), ("retrieved", retrieved, columns[1:])):
        if not has_ids and any(side.documents for side in sides_):
            warn(f"The {lacking} documents have no ids, so documents are identified by their texts.")
            return ("text",)
    if not ids[0] & retrieved:
        forms = [{normal_form(text, settings) for text in side.texts if text} for side in columns]
        if forms[0] & set().union(*forms[1:]):
            warn(
                "Not one gold id was retrieved, but gold texts were: documents are identified by their texts. If ids "
                "are in the metadata, give their key as ",
                Argument("id_key"),
                ".",
            )
            return ("text",)
        return ("id",)
    if any(None in side.ids for side in columns):
        warn("Some documents have no id: they are identified by their texts.")
        return ("id", "text")
    for number, name in enumerate(sides, 1):
        others = set().union(*(known for place, known in enumerate(ids) if place != number))
        if ids[number] and not ids[number] & others:
            warn(
                f"The run {name!r} has not one id in common with the gold or another run, so nothing that it "
                "retrieved is recognised. If its ids are in the metadata, give their key as ",
                Argument("id_key"),
                "; otherwise use ",
                Argument("match_method", "text"),
                ".",
            )
    return ("id",)


def _gold_positions(batch: Batch) -> IntArray:
    """Return which gold documents count: not grade 0, and each once per question."""
    first = merge_equal(batch.actual, [codes.actual for codes in identity_keys(batch)])
    counts: IntArray = np.flatnonzero((batch.actual.grades > 0) & (first == np.arange(len(first))))
    return counts


def _make_candidates(
    evalset: EvalSet,
    pool: Pool,
    batch: Batch,
    evidence: Evidence,
    judged: BoolArray,
    negative: BoolArray,
    left_out: BoolArray,
) -> tuple[Candidate, ...]:
    """Return the documents that may be gold and are not judged yet, the most useful first.

    Args:
        evalset: The questions.
        pool: What was retrieved.
        batch: The gold documents and the pooled ones.
        evidence: What speaks for each pooled document.
        judged: Which of them are gold, or were judged and found not relevant.
        negative: Which questions have no gold document.
        left_out: Questions whose gold is not known at this level.
    """
    query = batch.predicted.query_of(np.arange(len(pool.ranks)))
    speaks = np.any(list(evidence.reasons.values()), axis=0)
    positions = np.flatnonzero(speaks & ~judged & ~left_out[query])
    order = np.lexsort((positions, -evidence.mean_rr[positions], -evidence.strength[positions]))
    documents: Sequence[Document] = batch.predicted.documents
    gold: Sequence[Document] = batch.actual.documents
    made = []
    for position in positions[order].tolist():
        question, near_gold = evalset[int(query[position])], int(evidence.near_gold[position])
        made.append(
            Candidate(
                query_id=question.id,
                question=question.question,
                answer=question.answer,
                is_negative=bool(negative[query[position]]),
                document=documents[position],
                reasons=tuple(name for name, holds in evidence.reasons.items() if holds[position]),
                strength=float(evidence.strength[position]),
                ranks=pool.ranks_of(position),
                n_systems=int(evidence.n_systems[position]),
                mean_reciprocal_rank=float(evidence.mean_rr[position]),
                similarity=_or_none(evidence.similarity[position]),
                near_gold=gold[near_gold] if near_gold >= 0 else None,
                answer_rarity=_or_none(evidence.answer_rarity[position]),
            )
        )
    return tuple(made)


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _find_contained(evalset: EvalSet, batch: Batch, positions: IntArray) -> tuple[ContainedGold, ...]:
    """Find gold documents whose text is contained in another one of the same question, but not of the same need.

    Args:
        evalset: The questions.
        batch: The gold documents.
        positions: Which of them count.
    """
    gold: Sequence[Document] = batch.actual.documents
    settings = replace(batch.settings, match_method="containment", threshold={}, containment="gold_in_retrieved")
    itself = Batch(batch.actual, Side("predicted", _rows(batch.actual), **settings.reading), settings)
    found = match_containment(itself)
    codes = itself.normal_texts.actual
    is_same = codes[found.actual] == codes[found.predicted]
    # Of two equal texts each contains the other: one pair says so.
    keep = np.isin(found.actual, positions) & np.isin(found.predicted, positions)
    keep &= np.where(is_same, found.actual > found.predicted, found.actual != found.predicted)
    needs = batch.actual.need_of_each
    keep &= needs[found.actual] != needs[found.predicted]
    query = batch.actual.query_of(found.actual)
    order = np.lexsort((found.actual, found.predicted, ~is_same))
    return tuple(
        ContainedGold(
            query_id=evalset[int(query[pair])].id,
            outer=gold[int(found.predicted[pair])],
            inner=gold[int(found.actual[pair])],
            is_same=bool(is_same[pair]),
        )
        for pair in order[keep[order]].tolist()
    )


def _find_lost(
    evalset: EvalSet, pool: Pool, batch: Batch, matches: Matches, positions: IntArray, corpus: Collection[str] | None
) -> tuple[LostGold, ...]:
    """Find gold documents that no system retrieved at any rank, for questions that a system answered.

    If any alternative of a need was retrieved, the others are not lost.

    Args:
        evalset: The questions.
        pool: What was retrieved.
        batch: The gold documents and the pooled ones.
        matches: Who matches whom.
        positions: Which gold documents count.
        corpus: The ids of the corpus, if it is known.
    """
    gold, reading = batch.actual, batch.settings.reading
    query = gold.query_of(positions)
    # A gold document that repeats another one matches what that one matches.
    needs = gold.need_of_each
    lost = positions[~np.isin(needs[positions], needs[matches.actual]) & pool.asked[query]]
    if not len(lost):
        return ()
    asked = np.unique(gold.query_of(lost)).tolist()
    rows = _rows(gold)
    part = Batch(
        Side("actual", [rows[number] for number in asked], **reading),
        Side("predicted", [pool.rows[number] for number in asked], **reading),
        batch.settings,
    )
    numbers = np.full(len(gold.documents), -1)
    numbers[lost] = np.arange(len(lost))
    in_part = np.concatenate([numbers[slice(*gold.offsets[number : number + 2].tolist())] for number in asked])
    nearest = nearest_of(part, in_part, len(lost), _NEAREST)
    made = []
    for number, position in enumerate(lost.tolist()):
        row, place = int(gold.query_of(np.array([position]))[0]), int(nearest.rank[number]) - 1
        document: Document = gold.documents[position]
        id_ = as_document(document, id_key=reading["id_key"], is_gold=True).id
        made.append(
            LostGold(
                query_id=evalset[row].id,
                gold=document,
                in_corpus=None if corpus is None or id_ is None else id_ in corpus,
                nearest=pool.rows[row][place] if place >= 0 else None,
                similarity=float(nearest.similarity[number]) if place >= 0 else None,
                ranks=pool.ranks_of(int(batch.predicted.offsets[row]) + place) if place >= 0 else {},
            )
        )
    # First those that stand there under another id or nearly so: these are mistakes of the set.
    return tuple(sorted(made, key=lambda one: (one.in_corpus is not False, -(one.similarity or 0.0))))


def _find_near_questions(evalset: EvalSet, batch: Batch, positions: IntArray, near: float) -> tuple[NearQuestions, ...]:
    """Find near-duplicate questions, those with different gold first.

    Args:
        evalset: The questions.
        batch: The gold documents.
        positions: Which of them count.
        near: The similarity from which two questions are near.
    """
    keys = [codes.actual.tolist() for codes in identity_keys(batch)]
    gold: list[set[tuple[int, ...]]] = [set() for _ in evalset]
    for position, row in zip(positions.tolist(), batch.actual.query_of(positions).tolist(), strict=True):
        gold[row].add(tuple(codes[position] for codes in keys))
    groups = [
        NearQuestions(
            query_ids=tuple(evalset[place].id for place in places),
            questions=tuple(evalset[place].question or "" for place in places),
            same_gold=all(gold[place] == gold[places[0]] for place in places),
        )
        for places in group_near_duplicates(evalset.texts, near)
    ]
    return tuple(sorted(groups, key=lambda group: group.same_gold))


def _rows(side: Side) -> list[list[Document]]:
    bounds = side.offsets.tolist()
    return [side.documents[start:stop] for start, stop in pairwise(bounds)]
