"""Find out at which stage of a pipeline gold documents were lost: one fate for each need."""

from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval._utils.errors import Argument, InvalidInputError, refuse, show
from krag_eval._utils.formatting import aligned, format_percent, format_value, number_of, one_line
from krag_eval._utils.objects import ComparedByFields, Printed, ShortRepr
from krag_eval._utils.plugins import Pictured
from krag_eval._utils.said import said
from krag_eval._utils.serialization import data_frame, plain_fields
from krag_eval._utils.suggestions import check_names
from krag_eval.analysis.comparison.systems import Slice, slices_of, some
from krag_eval.datasets import EvalSet, Run, RunRow
from krag_eval.datasets.argument_order import gold_first
from krag_eval.datasets.evalset import as_evalset
from krag_eval.datasets.question import settings_at
from krag_eval.datasets.run import check_run
from krag_eval.datasets.sessions import Search, Stage
from krag_eval.documents.columns import runs
from krag_eval.documents.document import DOC_KEY, Document, as_document
from krag_eval.documents.readers import OFFSETS, IdKey, fields_of, id_at
from krag_eval.evaluation.detail import largest_cut_off
from krag_eval.evaluation.pipeline import Judged, judge_batch, read_batch
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.evaluation.rules import rules_of_set
from krag_eval.evaluation.runs import evaluate_run
from krag_eval.evaluation.sessions import judge_sessions
from krag_eval.matching import find_matches
from krag_eval.matching.forbidden import Rules, find_forbidden
from krag_eval.matching.matchability import SideCounts
from krag_eval.matching.settings import PlaceSettings, ScoringSettings, Settings, make_settings
from krag_eval.metrics.aggregation import MeanState
from krag_eval.metrics.cut_offs import GivenCutOff, check_cut_offs, ranks_within
from krag_eval.metrics.judgments import within
from krag_eval.metrics.sessions import session_filter_loss

if TYPE_CHECKING:
    import pandas as pd

NOT_IN_CORPUS, NOT_RETRIEVED, LOST_IN, BELOW_K, KEPT = "not_in_corpus", "not_retrieved", "lost_in:", "below_k", "kept"
_MEANINGS = {
    NOT_IN_CORPUS: said("fate-not_in_corpus", "nothing in the corpus matches"),
    NOT_RETRIEVED: said("fate-not_retrieved", "no stage returned it"),
    BELOW_K: said("fate-below_k", "the last stage returned it below the cut-off"),
    KEPT: said("fate-kept", "the last stage returned it within the cut-off"),
}
_LOST = said("fate-lost", "the stage was given it and did not return it")


FINAL = "final ranking"
"""The stage that makes one ranking of the searches of a session."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FunnelStage(ShortRepr):
    """What one stage was given and what it passed on, over all questions that went through it.

    Attributes:
        name: Its name.
        inputs: The stages whose documents it was given; none if it searches.
        n_questions: Questions that went through it.
        depth: How many documents it returned, on average.
        recall: Recall of all that it returned. Questions whose retriever raised count as 0, those that did not go
            through it are left out. Of the last stage it equals `recall` of `evaluate_run` with k=None.
        ceiling: Recall at any rank, if all stages after it lost nothing: what it leaves to them.
        n_lost: Needs whose fate is to be lost in it.
        gain: By how much recall would rise at most if it had lost nothing of its inputs.
    """

    name: str
    inputs: tuple[str, ...]
    n_questions: int
    depth: float
    recall: float | None
    ceiling: float | None
    n_lost: int
    gain: float | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FunnelSlice(ShortRepr):
    """The fates of the needs of some questions.

    Attributes:
        field: The field or metadata key; None for all questions.
        value: The value of these questions; None if they have none.
        n_questions: How many of these questions have gold documents.
        counts: Needs by fate; fates without any are left out.
        shares: The mean share of each fate over the questions; together 1. That of `kept` is recall within `k`.
    """

    field: str | None
    value: str | None
    n_questions: int
    counts: Mapping[str, int]
    shares: Mapping[str, float]

    @property
    def n_needs(self) -> int:
        """How many needs these questions have."""
        return sum(self.counts.values())

    @property
    def recall(self) -> float | None:
        """Recall within `k`; None without gold documents."""
        return self.shares.get(KEPT, 0.0) if self.n_questions else None


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Funnel(Printed, Pictured, ComparedByFields):
    """The fate of each need of a run: kept, or where it was lost. Print it, or export it.

    Attributes:
        name: The name of the run.
        k: The cut-off of the last stage, such as `10` or `2000tok`; None for all ranks.
        signature: How documents were matched.
        fates: The fate of each need: `not_in_corpus`, `not_retrieved`, `lost_in:STAGE`, `below_k` or `kept`.
        places: The place of the question of each need in the set; shape (n_needs,).
        golds: The place of each need in the gold list of its question, from 0; shape (n_needs,).
        query_ids: The id of each question of the set.
        stages: The stages, in order.
        total: The fates over all questions.
        slices: The fates by the values of fields.
        errors: What the retriever raised, by question id; the needs of these questions are `not_retrieved`.
        notes: What a reader must know before the numbers.
        filter_loss: `filter_loss@k`: the mean share of needs that were lost because a filter took them out; None if no
            stage is called a filter.
        leaks: How many forbidden documents each stage was the last to hold; `kept` reached the application within `k`.
    """

    name: str
    k: str | None
    signature: str
    fates: tuple[str, ...]
    places: IntArray
    golds: IntArray
    query_ids: tuple[str, ...]
    stages: tuple[FunnelStage, ...]
    total: FunnelSlice
    slices: tuple[FunnelSlice, ...]
    errors: Mapping[str, str]
    notes: tuple[str, ...]
    filter_loss: float | None = None
    leaks: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_needs(self) -> int:
        """How many needs there are."""
        return len(self.fates)

    @property
    def n_failed_needs(self) -> int:
        """How many needs belong to questions whose retriever raised."""
        failed = {place for place, name in enumerate(self.query_ids) if name in self.errors}
        return sum(place in failed for place in self.places.tolist())

    @property
    def recall(self) -> float | None:
        """Recall within `k` of the last stage, or of any search of a session; None without gold documents."""
        return self.total.recall

    @property
    def counts(self) -> Mapping[str, int]:
        """Needs by fate, in the order of the pipeline; fates without any are left out. They add up to the needs."""
        return self.total.counts

    @property
    def meanings(self) -> dict[str, str]:
        """What each fate of `counts` means, in words."""
        return {fate: _MEANINGS.get(fate, _LOST) for fate in self.counts}

    @property
    def questions(self) -> dict[str, tuple[str, ...]]:
        """The ids of the questions behind each fate, each once, in the order of the set."""
        ids: dict[str, dict[str, None]] = {fate: {} for fate in self.counts}
        for place, fate in zip(self.places.tolist(), self.fates, strict=True):
            ids[fate][self.query_ids[place]] = None
        return {fate: tuple(named) for fate, named in ids.items()}

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one flat dict per need: `query_id`, `gold_index` and `fate`."""
        needs = zip(self.places.tolist(), self.golds.tolist(), self.fates, strict=True)
        return [{"query_id": self.query_ids[place], "gold_index": gold, "fate": fate} for place, gold, fate in needs]

    def to_dict(self) -> dict[str, Any]:
        """Return counts, shares and questions by fate, the stages and the slices, ready for JSON."""
        fates = {
            fate: {"needs": self.counts[fate], "share": self.total.shares[fate], "questions": list(ids)}
            for fate, ids in self.questions.items()
        }
        return {
            "run": self.name,
            **plain_fields(self, "k", "signature", "recall", "n_needs", "n_failed_needs"),
            "n_questions": self.total.n_questions,
            "fates": fates,
            **plain_fields(self, "stages", "slices", "errors", "notes"),
            **({} if self.filter_loss is None else {"filter_loss": self.filter_loss}),
            **({"leaks": dict(self.leaks)} if self.leaks else {}),
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per need, as `to_dicts` does. Needs pandas."""
        return data_frame(self.to_dicts(), "funnel.to_pandas()", columns=["query_id", "gold_index", "fate"])

    def __str__(self) -> str:
        fates = [(one_line(f), f"{n:,}", format_percent(self.total.shares[f])) for f, n in self.counts.items()]
        stages = [(one_line(s.name), *map(format_value, (s.recall, s.ceiling, s.gain))) for s in self.stages]
        lines = aligned([("fate", "needs", "share"), *fates])
        lines += aligned([("stage", "recall", "ceiling", "gain at most"), *stages])
        if self.leaks:
            rows = [(one_line(name), f"{count:,}") for name, count in self.leaks.items()]
            lines += aligned([("last stage with a forbidden document", "documents"), *rows])
        at = "" if self.k is None else f"@{self.k}"
        if self.filter_loss is not None:
            lines.append(f"filter_loss{at} {format_value(self.filter_loss)}: the share of needs that filters lost")
        title = f"{one_line(self.name)}: {number_of(self.n_needs, 'need')}, recall{at} {format_value(self.recall)}"
        return "\n".join([title, *lines, *map(one_line, self.notes), self.signature])


@gold_first(old="run, evalset")
def funnel(
    evalset: object,
    run: Run,
    corpus: object = None,
    *,
    k: int | str | Sequence[int | str | None] | None = 10,
    by: str | Sequence[str] | None = None,
    level: str = "chunk",
    doc_key: IdKey = DOC_KEY,
    n_jobs: int = 1,
    **settings: Unpack[PlaceSettings],
) -> Funnel:
    """Find out at which stage of a pipeline each need was lost. A gold document on its own is a need.

    Every need has one fate. If the last stage returned it, it is `kept` (within `k`) or `below_k`. Otherwise it is
    `lost_in:STAGE`, the last stage that was given it and did not return it. A need that no stage returned is
    `not_retrieved`, or `not_in_corpus` if a corpus was given and nothing in it matches. In a session of several
    searches, the fate is the one of the search in which the need came furthest; `k` is the cut-off within each.

    Args:
        evalset: An `EvalSet`, or what it can be made of.
        run: A run whose rows, or whose searches, hold `stages`. A row without any is one stage with the name of the
            run. What several searches returned may be followed by `retrieved`, the stage "final ranking".
        corpus: What was indexed: documents, or their texts by id. With `match_method="span"` either chunks with
            offsets or, as in `evaluate_run`, the whole documents.
        k: The cut-off of the last stage: a rank, a budget such as `"2000tok"`, or None for all ranks.
        by: A field of the questions or a key of their metadata, or several: a slice for each value. By default
            `"type"`, if questions have one; `()` for none.
        level: `"chunk"` or `"document"`, as in `evaluate_run`.
        doc_key: The metadata key of document ids.
        n_jobs: Ignored; it will go.
        **settings: The scoring settings that `evaluate_run` takes; `match_method` is `"id"` by default.

    Raises:
        InvalidInputError: No row has stages, the run is of another set, or an argument cannot be used.

    >>> from krag_eval import Run, RunRow
    >>> stages = [
    ...     {"name": "dense", "retrieved": [{"id": "a"}, {"id": "b"}, {"id": "c"}]},
    ...     {"name": "rerank", "inputs": ["dense"], "retrieved": [{"id": "c"}, {"id": "a"}]},
    ... ]
    >>> run = Run.of("two", [RunRow.from_dict({"query_id": "q", "stages": stages})])
    >>> funnel([{"id": "q", "gold_chunk_ids": ["a", "b", "d"]}], run, k=1).counts
    {'not_retrieved': 1, 'lost_in:rerank': 1, 'below_k': 1}
    """
    check_names(settings, PlaceSettings.__annotations__)
    check_run(run)
    cut_offs = check_cut_offs(k)
    if len(cut_offs) > 1:
        refuse("k", "one cut-off for a funnel", k, "Give one such as 10.")
    questions = as_evalset(evalset)
    run.unknown(questions)  # refuses the run of another set
    parts = slices_of(questions, by)
    ways = [_ways(run.rows.get(query_id), run.name) for query_id in questions.ids]
    if not any(node.inputs for way in ways for search in way for node in search):
        raise InvalidInputError(
            f"The run {run.name!r:.60} has no stage that was given what another one returned, so there is nothing to "
            "follow. Record what each stage returned. For other runs, `diagnose` says why gold documents were missed."
        )
    indexed = None if corpus is None else _documents_in(corpus)
    given = settings_at(level, doc_key, cast("ScoringSettings", settings))
    if indexed is not None and given["match_method"] in ("span", ["span"], ("span",)) and not _has_places(indexed):
        given["corpus"], indexed = indexed, None  # whole documents: a span outside of them is refused
    # This checks that anything can match in any stage, and names the settings.
    everything = replace(run, rows={query_id: _everything(row) for query_id, row in run.rows.items()})
    scoring = {"metrics": "session_recall" if run.has_sessions else "recall", "level": level, "doc_key": doc_key}
    whole = evaluate_run(questions, everything, k, n_jobs=n_jobs, **cast("Any", scoring | given))
    checked = make_settings(**given)
    sizes = [sum(map(len, way)) for way in ways]
    nodes = [[node.retrieved for search in way for node in search] or [()] for way in ways]
    rules = rules_of_set(questions, checked)
    visible = questions.gold(level, doc_key)
    if rules is not None:
        visible, _ = rules.visible(visible)
    gold = [documents for documents, of_one in zip(visible, nodes, strict=True) for _ in of_one]
    query_ids = [name for name, of_one in zip(questions.ids, nodes, strict=True) for _ in of_one]
    judged = judge_batch(gold, list(chain.from_iterable(nodes)), checked, query_ids=query_ids)
    first = np.append(0, np.cumsum([len(of_one) for of_one in nodes]))[:-1]
    needs, order = _Needs.of(judged, first), {name: number for number, name in enumerate(_order(ways))}
    found, kept = _sets(judged, cut_offs[0])
    traces = [
        _trace(way, found[at : at + size], kept[at : at + size], order, n)
        for way, at, size, n in zip(ways, first.tolist(), sizes, needs.n_of.tolist(), strict=True)
    ]
    codes = np.array([code for trace in traces for code in trace.codes], dtype=np.int64)
    if indexed is not None:
        if level == "document" and all(id_at(document.metadata, doc_key) is None for document in indexed):
            indexed = [
                replace(d, metadata={**d.metadata, **fields_of(d.id or "", doc_key)}) for d in indexed
            ]  # whole documents
        codes[needs.missing_in(indexed, np.flatnonzero(codes == 1), checked)] = 0
    fates = [NOT_IN_CORPUS, NOT_RETRIEVED, *(LOST_IN + name for name in order), BELOW_K, KEPT]
    return Funnel(
        name=run.name,
        k=None if cut_offs[0] is None else str(cut_offs[0]),
        signature=whole.signature,
        fates=tuple(fates[code] for code in codes.tolist()),
        places=needs.places,
        golds=needs.golds,
        query_ids=tuple(questions.ids),
        stages=tuple(_stages(ways, traces, needs, order)),
        total=_slice(Slice(None, None, np.arange(len(questions))), fates, needs, codes),
        slices=tuple(_slice(part, fates, needs, codes) for part in parts),
        errors={query_id: error for query_id, error in run.errors.items() if questions.get(query_id) is not None},
        notes=tuple(_notes(run, questions, ways)),
        filter_loss=_filter_loss(visible, questions, run, checked, cut_offs[0]) if run.has_filter else None,
        leaks={} if rules is None else _leaks(judged, rules.repeated(list(map(len, nodes))), ways, cut_offs[0]),
    )


def _filter_loss(gold: Sequence[Any], questions: EvalSet, run: Run, settings: Settings, k: GivenCutOff) -> float | None:
    sessions = judge_sessions(gold, [run.rows.get(query_id) for query_id in questions.ids], settings)
    values, state = session_filter_loss(sessions.judgments, k, sessions=sessions), MeanState()
    state.add(values[~np.isnan(values)])
    return state.mean


def _leaks(judged: Judged, rules: Rules, ways: Sequence[_Way], k: GivenCutOff) -> dict[str, int]:
    """Count the forbidden documents by the last stage that holds them; what the last one shows within `k` is kept."""
    batch = judged.batch
    positions = find_forbidden(batch, rules).positions
    row, rank = batch.predicted.places_of(positions)
    inside = within(row, rank, ranks_within([k], batch)[k]).tolist()
    held: dict[int, list[tuple[object, bool]]] = {}
    for position, of, is_inside in zip(positions.tolist(), row.tolist(), inside, strict=True):
        document = as_document(batch.predicted.documents[position])
        held.setdefault(of, []).append((document.id or document.text, is_inside))
    rows = itertools.count()
    counts: Counter[str] = Counter()
    for way in ways:
        last: dict[object, str] = {}
        kept: set[object] = set()
        for search in way:
            for node in search:
                found = held.get(next(rows), ())
                last |= {name: node.name for name, _ in found}
                if node is way[-1][-1] or (node is search[-1] and not _is_final(way[-1])):
                    kept |= {name for name, is_inside in found if is_inside}
        if not way:
            next(rows)  # a question without stages has one empty row
        counts.update(KEPT if name in kept else stage for name, stage in last.items())
    order = [*(stage for stage in _order(ways)), KEPT]
    return {name: counts[name] for name in order if counts[name]}


def funnels_of(
    questions: EvalSet | None, runs: Mapping[str, Run], results: Mapping[str, EvaluationResult], **options: Any
) -> list[Funnel]:
    """Return the funnel of each run that has stages, at the largest cut-off of its result, by its name there."""
    staged = {name: run for name, run in runs.items() if has_stages(run)}
    k_of = {name: largest_cut_off(results[name]) for name in staged}
    return [replace(funnel(questions, run, k=k_of[name], **options), name=name) for name, run in staged.items()]


def has_stages(run: Run) -> bool:
    """Return whether a row of a run, or a search in it, holds stages that were given what others returned."""
    lists = ([row.stages, *(search.stages for search in row.searches)] for row in run.rows.values())
    return any(stage.inputs for of_row in lists for stages in of_row for stage in stages)


class _Node(NamedTuple):
    """What one stage returned for one question; inputs are places in the same search, or searches of the final one."""

    name: str
    inputs: tuple[int, ...]
    retrieved: Sequence[Document]


_Way = list[list[_Node]]
"""The stages of each search of a question; a final ranking of several searches is one more."""


def _everything(row: RunRow) -> RunRow:
    """Return a row in which each ranking has what all of its stages returned."""
    searches = tuple(replace(one, retrieved=_found(one.stages) or one.retrieved) for one in row.searches)
    of_all = _found([*row.stages, *(stage for one in row.searches for stage in one.stages)])
    return replace(row, retrieved=() if row.is_session else of_all or row.retrieved, searches=searches)


def _found(stages: Sequence[Stage]) -> tuple[Document, ...]:
    return tuple(chain.from_iterable(stage.retrieved for stage in stages))


def _ways(row: RunRow | None, name: str) -> _Way:
    if row is None or row.error is not None:
        return []
    searches = row.searches or (Search(retrieved=row.retrieved, stages=row.stages),)
    way = [_nodes(search, name) for search in searches if search.error is None]
    is_final = row.searches and row.retrieved and (len(searches) > 1 or row.retrieved != searches[0].retrieved)
    return [*way, [_Node(FINAL, tuple(range(len(way))), row.retrieved)]] if is_final else way


def _nodes(search: Search, name: str) -> list[_Node]:
    if not search.stages:
        return [_Node(search.tool or name, (), search.retrieved)]
    place = {stage.name: number for number, stage in enumerate(search.stages)}
    return [_Node(s.name, tuple(place[one] for one in s.inputs), s.retrieved) for s in search.stages]


def _is_final(search: list[_Node]) -> bool:
    return len(search) == 1 and bool(search[0].inputs)


def _order(ways: Sequence[_Way]) -> list[str]:
    """Return the names of all stages in one order; that of the longest list of stages wins where they contradict."""
    lists = dict.fromkeys(tuple(node.name for search in way for node in search) for way in ways)
    order: list[str] = []
    for names in sorted(lists, key=len, reverse=True):
        at = 0
        for name in names:
            if name not in order:
                order.insert(at, name)
            at = max(at, order.index(name) + 1)
    return order


def _documents_in(corpus: object) -> list[Document]:
    if isinstance(corpus, Mapping):
        corpus = [{"id": name, "text": text} for name, text in corpus.items()]
    if isinstance(corpus, (str, bytes)) or not isinstance(corpus, Iterable):
        raise InvalidInputError(
            Argument("corpus"),
            f" is {show(corpus)}. It must hold the indexed documents. Read a file with `read_corpus(path)`.",
        )
    documents = [as_document(one) for one in corpus]
    if not documents:
        raise InvalidInputError(Argument("corpus"), " is empty. Give the documents that were indexed, or leave it out.")
    return documents


def _has_places(documents: Sequence[Document]) -> bool:
    return any(start in document.metadata for document in documents for start, _ in OFFSETS)


def _sets(judged: Judged, k: GivenCutOff) -> tuple[list[int], list[int]]:
    """Return the needs that each ranking satisfies at any rank, and within `k`, as the bits of whole numbers."""
    judgments = judged.judgments
    query, rank = judgments.gold_query, judgments.gold_rank
    place = np.arange(len(query)) - np.append(0, np.cumsum(judgments.n_gold))[query]
    inside = within(query, rank, ranks_within([k], judged.batch)[k])
    found, kept = [0] * len(judgments), [0] * len(judgments)
    for number in np.flatnonzero(rank > 0).tolist():
        found[query[number]] |= 1 << int(place[number])
        kept[query[number]] |= int(inside[number]) << int(place[number])
    return found, kept


class _Trace(NamedTuple):
    """What became of the needs of one question; sets of needs are the bits of whole numbers.

    Attributes:
        codes: The code of each need. Higher is further: 0 is not in the corpus, 1 not retrieved, then lost in one of
            the stages, then below k, then kept.
        held: The set that each stage returned.
        ceilings: For each stage the set that would come out if all stages after it lost nothing.
    """

    codes: list[int]
    held: dict[str, int]
    ceilings: list[int]


def _trace(way: _Way, found: list[int], kept: list[int], order: Mapping[str, int], n_needs: int) -> _Trace:
    nodes = iter(zip(found, kept, strict=True))
    sets = [[next(nodes) for _ in search] for search in way]
    levels = [(1, (1 << n_needs) - 1)]
    held: dict[str, int] = {}
    for search, of_search in zip(way, sets, strict=True):
        out = [one for one, _ in of_search]
        before = [of_one[-1][0] for of_one in sets] if _is_final(search) else out
        given = [_union(before[one] for one in node.inputs) for node in search]
        if _is_final(search):  # what a search returned is lost, unless it is in the final ranking
            levels = [(min(code, order[FINAL] + 2), needs) for code, needs in levels]
        levels += [(len(order) + 2, out[-1]), (len(order) + 3, of_search[-1][1])]
        rest = -1
        for node, was, is_now in list(zip(search, given, out, strict=True))[::-1]:
            levels.append((order[node.name] + 2, rest & was & ~is_now))
            rest &= ~was | is_now
            held[node.name] = held.get(node.name, 0) | is_now
    codes = [max(code for code, needs in levels if needs >> need & 1) for need in range(n_needs)]
    return _Trace(codes, held, [_best(way, sets, order, stage) for stage in range(len(order))])


def _best(way: _Way, sets: list[list[tuple[int, int]]], order: Mapping[str, int], stage: int) -> int:
    passed: list[int] = []
    for search, of_search in zip(way, sets, strict=True):
        best: list[int] = []
        for node, (out, _) in zip(search, of_search, strict=True):
            given = _union((passed if _is_final(search) else best)[one] for one in node.inputs)
            best.append(out | given if order[node.name] > stage else out)
        passed.append(best[-1])
    return passed[-1] if way and _is_final(way[-1]) else _union(passed)


def _union(sets: Iterable[int]) -> int:
    return functools.reduce(operator.or_, sets, 0)


@dataclass(frozen=True, slots=True)
class _Needs:
    """The needs of all questions.

    Attributes:
        n_of: How many each question has.
        places: The question of each.
        golds: Its place in the gold list of its question.
        documents: The gold documents of all questions.
        numbers: The need of each of these; -1 for grade 0.
    """

    n_of: IntArray
    places: IntArray
    golds: IntArray
    documents: list[Any]
    numbers: IntArray

    @classmethod
    def of(cls, judged: Judged, first: IntArray) -> _Needs:
        """Read them from the first ranking of each question."""
        side, judgments = judged.batch.actual, judged.judgments
        is_first = np.isin(judgments.gold_query, first)
        own = np.where(is_first, np.cumsum(is_first) - 1, -1)
        positions = runs(side.offsets[first], side.sizes[first])
        numbers = judgments.gold_number[positions]
        numbers = np.where(numbers >= 0, np.append(own, -1)[numbers], -1)
        golds = np.zeros(int(is_first.sum()), dtype=np.int64)
        within_question = positions - side.offsets[side.query_of(positions)]
        golds[numbers[numbers >= 0][::-1]] = within_question[numbers >= 0][::-1]  # of several, the first one stays
        return cls(
            n_of=judgments.n_gold[first],
            places=np.searchsorted(first, judgments.gold_query[is_first]),
            golds=golds,
            documents=[side.documents[position] for position in positions.tolist()],
            numbers=numbers,
        )

    def missing_in(self, corpus: Sequence[Document], wanted: IntArray, settings: Settings) -> IntArray:
        """Return those of the wanted needs that no document of the corpus satisfies."""
        asked = np.flatnonzero(np.isin(self.numbers, wanted))
        if not len(asked):
            return wanted
        batch = read_batch([[self.documents[one] for one in asked.tolist()]], [corpus], settings)
        counts = SideCounts.of(batch.predicted, batch)
        if counts.without_any == counts.documents:
            raise InvalidInputError(
                "No document of ",
                Argument("corpus"),
                f" has what is matched ({'+'.join(settings.methods)}). Give the documents as they were indexed, or "
                "leave ",
                Argument("corpus"),
                " out.",
            )
        if settings.methods == ("id",):  # without the pairs of all gold documents and all documents
            known = {*batch.predicted.ids} - {None}
            is_there = np.array([one in known for one in batch.actual.ids])
        else:
            is_there = np.isin(np.arange(len(asked)), find_matches(batch).actual)
        return np.setdiff1d(wanted, self.numbers[asked[is_there]])


def _stages(ways: Sequence[_Way], traces: Sequence[_Trace], needs: _Needs, order: Mapping[str, int]) -> Iterator[Any]:
    codes = np.array([code for trace in traces for code in trace.codes], dtype=np.int64)
    for name, number in order.items():
        nodes = [(node, search, way) for way in ways for search in way for node in search if node.name == name]
        inputs: dict[str, None] = {}
        for node, search, way in nodes:
            inputs |= dict.fromkeys(way[one][-1].name if _is_final(search) else search[one].name for one in node.inputs)
        has_run = np.array([name in trace.held for trace in traces], dtype=bool)
        n_out, lost = (
            _sizes(trace.held.get(name, 0) for trace in traces),
            np.bincount(needs.places[codes == number + 2], minlength=len(ways)),
        )
        counted = has_run | np.array([not way for way in ways])
        yield FunnelStage(
            name=name,
            inputs=tuple(inputs),
            n_questions=int(has_run.sum()),
            depth=sum(len(node.retrieved) for node, _, _ in nodes) / len(nodes),
            recall=_mean_share(n_out[counted], needs.n_of[counted]),
            ceiling=_mean_share(_sizes(trace.ceilings[number] for trace in traces), needs.n_of),
            n_lost=int(lost.sum()),
            gain=_mean_share(lost, needs.n_of),
        )


def _sizes(sets: Iterable[int]) -> IntArray:
    return np.array([one.bit_count() for one in sets], dtype=np.int64)


def _slice(part: Slice, fates: Sequence[str], needs: _Needs, codes: IntArray) -> FunnelSlice:
    n_of = needs.n_of[part.chosen]
    counts, shares = {}, {}
    for code, fate in enumerate(fates):
        found = np.bincount(needs.places[codes == code], minlength=len(needs.n_of))[part.chosen]
        if found.any():
            counts[fate], shares[fate] = int(found.sum()), _mean_share(found, n_of) or 0.0
    return FunnelSlice(
        field=part.field, value=part.value, n_questions=int((n_of > 0).sum()), counts=counts, shares=shares
    )


def _mean_share(counts: IntArray, n_needs: IntArray) -> float | None:
    """Return the mean over the questions with gold documents, exact as the means of `evaluate_run`."""
    state, defined = MeanState(), n_needs > 0
    shares: FloatArray = counts[defined] / n_needs[defined]
    state.add(shares)
    return state.mean


def _notes(run: Run, questions: EvalSet, ways: Sequence[_Way]) -> Iterator[str]:
    errors = run.errors
    if failed := [query_id for query_id in questions.ids if query_id in errors]:
        words = "The retriever raised for {questions}: {ids}. Nothing was retrieved."
        yield said("funnel-failed", words, questions=number_of(len(failed), "question"), ids=some(failed))
    if missing := run.missing(questions):
        words = "The run has no row for {questions}: {ids}. Nothing was retrieved."
        yield said("funnel-missing", words, questions=number_of(len(missing), "question"), ids=some(missing))
    n_failed = sum(s.error is not None for row in run.rows.values() if row.error is None for s in row.searches)
    if n_failed:
        words = "{searches} of sessions failed and returned nothing."
        yield said("funnel-searches-failed", words, searches=number_of(n_failed, "search"))
    lists = Counter(tuple(node.name for node in search) for way in ways for search in way if not _is_final(search))
    if len(lists) > 1:
        shown = "; ".join(f"{' > '.join(names)} ({count:,})" for names, count in lists.most_common(3))
        yield said(
            "funnel-lists",
            "The rows have {n} different lists of stages, such as {shown}. Each stage is counted by its "
            "name, and its recall is the one of the questions that went through it.",
            n=len(lists),
            shown=shown,
        )
