"""Compare chunkings of a corpus: the same questions and spans, at equal budgets of tokens."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from krag_eval import (
    Document,
    EvalSet,
    EvaluationResult,
    InvalidInputError,
    KragEvalError,
    Run,
    as_evalset,
    compare,
    evaluate_run,
    run_retriever,
)
from krag_eval.analysis import Comparison
from krag_eval.toolkit import (
    DOC_KEY,
    NOTHING_YET,
    Argument,
    Cell,
    Clusters,
    Column,
    ComparedByFields,
    CorpusTexts,
    OptionalRunOptions,
    Printed,
    ScoredSystems,
    Section,
    Table,
    aligned,
    alternatives_in,
    check_count,
    check_names,
    count_tokens_of,
    data_frame,
    errors_at,
    gold_first,
    json_text,
    load,
    need_installed,
    number_of,
    one_line,
    one_of,
    read_places,
    refuse,
    refuse_raised,
    show,
)
from krag_eval_chunkers.cutting import cut, parameters_of
from krag_eval_chunkers.local import LOCAL, build_retriever

if TYPE_CHECKING:
    import os

    import pandas as pd
    from matplotlib.figure import Figure

BUDGETS = (200, 400, 800, 1600)
SPAN_METRICS = ("span_recall", "span_precision", "span_iou")
CUT_APART = "cut_apart"
LEAST_KEPT = 20
"""So many documents of each result are kept at least, for metrics at equal ranks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunking:
    """How one chunker cut the corpus, and what that costs.

    Attributes:
        name: The name of the chunker.
        parameters: Its class or function, and its arguments, such as `chunk_size`.
        n_chunks: How many chunks there are.
        n_tokens: How many tokens they have together; overlaps count twice.
        seconds: How long it took to cut the corpus and to index the chunks.
        cut_questions: The ids of questions with a span that no single chunk holds whole.
    """

    name: str
    parameters: Mapping[str, Any]
    n_chunks: int
    n_tokens: int
    seconds: float
    cut_questions: tuple[str, ...]

    @property
    def mean_tokens(self) -> float:
        """The mean size of a chunk, in tokens."""
        return self.n_tokens / self.n_chunks


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ChunkerComparison(Printed, ComparedByFields):
    """Chunkings of one corpus, scored on the same spans at equal budgets of tokens. Print it, or export it.

    Attributes:
        budgets: The budgets, in tokens.
        baseline: The chunking that the others are compared with.
        chunkings: What each chunker made of the corpus, by name.
        results: The scores by name, such as `results["words:200"]["span_recall@400tok"]`.
        runs: What was retrieved, by name; `parameters` are those of the chunker.
        comparison: The paired comparison of `span_recall`; None for a single chunker.
        as_good: For each budget the chunkings that may be as good as the best one: those that the comparison of all
            pairs does not call worse.
        notes: What a reader must know before the numbers.
        evalset: The questions.
    """

    budgets: tuple[int, ...]
    baseline: str
    chunkings: Mapping[str, Chunking]
    results: Mapping[str, EvaluationResult]
    runs: Mapping[str, Run]
    comparison: Comparison | None
    as_good: Mapping[int, tuple[str, ...]]
    notes: tuple[str, ...]
    evalset: EvalSet

    @property
    def best(self) -> dict[int, str]:
        """For each budget the chunking with the highest span recall, the first of equals; see `as_good`."""
        return {
            budget: max(self.results, key=lambda name: self.results[name][f"span_recall@{budget}tok"] or 0.0)
            for budget in self.budgets
        }

    @property
    def winners(self) -> tuple[str, ...]:
        """For each budget which chunking has the highest span recall, and which ones may be as good, in words."""
        return tuple(
            f"{budget} tokens: {name} has the highest span recall"
            + (f"; {', '.join(close)} may be as good." if close else ", and is surely better than each of the others.")
            for budget, name in self.best.items()
            if (close := self.as_good.get(budget)) is not None
        )

    @property
    def sections(self) -> tuple[Section, ...]:
        """The chunkings with their costs and the questions that they cut apart, the scores, and the comparison."""
        tables = load("krag_eval.reports", "sections")
        about = f"Budgets count tokens of whole chunks. The others are compared with {self.baseline}."
        chunkings = Section(
            "chunkings", "Chunkings", (about, *self.winners, *self.notes), (self._overview(), *self._cut_apart())
        )
        compared = () if self.comparison is None else (tables.comparison_section(self.comparison),)
        return (chunkings, tables.summary_section(self.results), *compared)

    def _overview(self) -> Table:
        """Return the table of all chunkings: span recall at each budget, and cost."""
        board = load("krag_eval.reports", "leaderboard")(
            self.results, [f"span_recall@{budget}tok" for budget in self.budgets]
        ).table()
        columns = (
            Column("chunking", "chunking", is_number=False),
            *(
                replace(column, title=column.title.removeprefix("span_recall@").replace("tok", " tok"))
                for column in board.columns[1:]
            ),
            Column("chunks", "chunks", help="Chunks in the index"),
            Column("mean_tokens", "tokens each", help="Mean size of a chunk, in tokens"),
            Column("tokens", "tokens", help="Tokens in the index; overlaps count twice"),
            Column("seconds", "index time", help="To cut the corpus and to index the chunks"),
            Column("cut", "cut apart", help="Questions with a span that no single chunk holds whole"),
        )
        rows = tuple(
            (
                *row,
                Cell.of_count(made.n_chunks),
                Cell.of_number(made.mean_tokens),
                Cell.of_count(made.n_tokens),
                Cell.of_seconds(made.seconds),
                Cell.of_count(len(made.cut_questions)),
            )
            for row, made in zip(board.rows, self.chunkings.values(), strict=True)
        )
        return Table("chunkings", "Span recall at equal budgets of tokens, and cost", columns, rows)

    def _cut_apart(self) -> Iterator[Table]:
        """Yield the table of questions of which a chunking cuts a span apart, if there are any."""
        by_question: dict[str, list[str]] = {}
        for name, made in self.chunkings.items():
            for query_id in made.cut_questions:
                by_question.setdefault(query_id, []).append(name)
        texts = {question.id: question.question or "" for question in self.evalset}
        columns = [Column(key, key, is_number=False) for key in ("question", "text", "chunkings")]
        rows = [
            (Cell.of_text(query_id), Cell.of_text(texts[query_id]), Cell.of_text(", ".join(by_question[query_id])))
            for query_id in texts
            if query_id in by_question
        ]
        if rows:
            title = "Questions with a span that no single chunk holds whole"
            yield Table(CUT_APART, title, tuple(columns), tuple(rows))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one flat dict per chunking and budget: scores, interval, comparison and cost."""
        return [self._row(name, budget) for name in self.results for budget in self.budgets]

    def _row(self, name: str, budget: int) -> dict[str, Any]:
        made, result, key = self.chunkings[name], self.results[name], f"span_recall@{budget}tok"
        low, high = (result.intervals or {}).get(key) or (None, None)
        row = self.comparison[name, key] if self.comparison and name != self.baseline else None
        return {
            "chunking": name,
            "budget": budget,
            **{metric: result[f"{metric}@{budget}tok"] for metric in SPAN_METRICS},
            "low": low,
            "high": high,
            **{of: getattr(row, of, None) for of in ("difference", "p_holm", "verdict")},
            "chunks": made.n_chunks,
            "tokens": made.n_tokens,
            "mean_tokens": made.mean_tokens,
            "seconds": made.seconds,
            "cut": len(made.cut_questions),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the runs and results, ready for JSON."""
        return {
            "budgets": list(self.budgets),
            "baseline": self.baseline,
            "best": {str(budget): name for budget, name in self.best.items()},
            "as_good": {str(budget): list(names) for budget, names in self.as_good.items()},
            "signature": self.results[self.baseline].signature,
            "rows": self.to_dicts(),
            "chunkings": [dataclasses.asdict(made) for made in self.chunkings.values()],
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
            "notes": list(self.notes),
        }

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the same as JSON."""
        return json_text(self.to_dict(), indent=indent)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per chunking and budget, as `to_dicts` does. Needs pandas."""
        return data_frame(self.to_dicts(), "to_pandas()").set_index(["chunking", "budget"])

    def to_markdown(self) -> str:
        """Return the tables of `sections` in GitHub's Markdown, the best values in bold."""
        written = load("krag_eval.reports", "sections").section_markdown
        return "".join(line for section in self.sections for line in written(section)).strip("\n")

    def as_report(self, title: str | None = None) -> Any:
        """Return a report with these tables, the parameters of the chunkers, causes of misses and every question."""
        results = self.results if self.comparison is None else self.comparison.results
        built = load("krag_eval.reports", "build")(
            self.evalset, results, title=title, baseline=self.baseline, comparison=self.comparison
        )
        systems = tuple(replace(system, run=self.runs[system.name]) for system in built.systems)
        return replace(built, systems=systems, further=self.sections[:1])

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002 - the word that users of such methods know
        title: str | None = None,
        force: bool = False,
    ) -> Path:
        """Write `as_report` as HTML, Markdown, JSON or CSV; see `Comparison.report`.

        Raises:
            InvalidInputError: The file is there, or cannot be written.
            MissingDependencyError: A package of the extra `report` is not installed.
        """
        load("krag_eval.reports", "check")(path, format, force)  # before the work
        written: Path = load("krag_eval.reports", "write")(self.as_report(title), path, format=format, force=force)
        return written

    def plot(self) -> Figure:
        """Plot span recall over the budgets, one line per chunking. Needs matplotlib (extra `report`).

        Raises:
            InvalidInputError: There are fewer than two budgets.
        """
        figure: Figure = load("krag_eval.reports", "plot_over_k")(self.as_report(), ["span_recall"])
        return figure

    def __str__(self) -> str:
        table = self._overview()
        texts = [[column.title for column in table.columns], *([cell.text for cell in row] for row in table.rows)]
        title = f"{number_of(len(self.results), 'chunking')}, {number_of(len(self.evalset), 'question')}: span recall"
        lines = [title, *aligned([[one_line(text) for text in row] for row in texts]), *self.winners, *self.notes]
        return "\n".join([*lines, self.results[self.baseline].signature])

    def _repr_html_(self) -> str:
        """Return the tables for notebooks."""
        shown = load("krag_eval.reports", "sections").section_html
        html: str = shown(self.sections[0], "<b>Chunkings</b>", self.results[self.baseline].signature)
        return html


@gold_first(old="corpus, questions")
def compare_chunkers(
    questions: object,
    corpus: Iterable[object],
    chunkers: Mapping[str, object] | Sequence[str],
    retriever: str | Callable[[list[Document]], object] = "bm25",
    budgets: Sequence[int] = BUDGETS,
    *,
    baseline: str | None = None,
    count_tokens: object = None,
    cluster: Clusters = None,
    seed: int = 0,
    **options: Unpack[OptionalRunOptions],
) -> ChunkerComparison:
    """Cut a corpus with several chunkers, and compare what a retriever finds in them. Needs scipy (extra `stats`).

    Every chunking is asked the same questions and scored against the same gold spans, at equal budgets of tokens: ten
    chunks of 100 words are not more evidence than one of 1,000. A budget holds whole chunks, so a chunk that is larger
    than the budget leaves it empty.

    Args:
        questions: An evaluation set whose gold documents are spans of the documents of the corpus.
        corpus: The documents, each with an id and a text, or their texts by id; read a file with `read_corpus`.
        chunkers: By name: a splitter of langchain-text-splitters, a node parser of LlamaIndex, a chunker of chonkie or
            semchunk, a function from a text to its chunks (strings, `(start, end)`, or objects with offsets), or such
            as `"words:200:20"` and `"chars:800"`, with size and overlap. A list of the latter needs no names.
        retriever: What searches the chunks: `"bm25"`, `"bm25-characters"`, `"dense"` or `"hybrid"` (extra `demo`), or
            a function from a list of chunks to a retriever of any kind that `run_retriever` takes. Let it return
            enough chunks to fill the largest budget, with the ids, the texts or the metadata of the chunks.
        budgets: The budgets, in tokens.
        baseline: The chunking that the others are compared with. By default the one with the highest mean of span
            recall over the budgets; because it is chosen by its values, all pairs are then tested with the randomised
            Tukey HSD test.
        count_tokens: How tokens are counted: an object with `encode`, or a function from a text to a number; words by
            default.
        cluster: What makes questions depend on each other, for intervals and tests, as in `compare`.
        seed: Of intervals and tests.
        **options: What `run_retriever` takes except `k`, such as `concurrency` or `timeout`; `journal` is a folder.

    Raises:
        InvalidInputError: An argument cannot be used; the message names the chunker, document and chunk.
        MissingDependencyError: scipy is not installed, or what the retriever needs.
    """
    need_installed("compare_chunkers", "scipy", "stats")
    check_names(options, OptionalRunOptions.__annotations__)
    given = _check_chunkers(chunkers)
    tokens = _check_budgets(budgets)
    cut_offs = [f"{budget}tok" for budget in tokens]
    if baseline is not None:
        one_of("baseline", baseline, list(given))
    build = _builder(retriever)
    whole, evalset = CorpusTexts.of(corpus, None), as_evalset(questions)
    if not len(whole):
        raise InvalidInputError(Argument("corpus"), " is empty. Give the documents to cut into chunks.")
    spans = _spans_of(evalset, whole)
    scoring: Any = {"match_method": "span", "metrics": SPAN_METRICS, "count_tokens": count_tokens}
    scoring |= {"cluster": cluster, "intervals": True}
    evaluate_run(evalset, NOTHING_YET, cut_offs, corpus=whole, **scoring)  # refuses wrong settings before the work
    chunked = {name: _Chunked(whole.texts, chunker, name, count_tokens) for name, chunker in given.items()}
    chunkings, runs, notes = {}, {}, list[str]()
    for name, one in chunked.items():
        depth = max(LEAST_KEPT, one.depth_for(max(tokens)))
        started = time.perf_counter()
        search = _build(build, one.chunks, depth, name)
        seconds = one.seconds + time.perf_counter() - started
        parameters = parameters_of(given[name])
        asked: Any = {"concurrency": 1, **options} if isinstance(retriever, str) else options
        found = run_retriever(evalset, {name: search}, k=depth, **{**asked, "parameters": {name: parameters}})[name]
        runs[name] = one.placed(found)
        notes += one.notes(name, runs[name], tokens, is_own=isinstance(retriever, str))
        chunkings[name] = Chunking(
            name=name,
            parameters=runs[name].parameters,  # without credentials
            n_chunks=len(one.chunks),
            n_tokens=int(one.n_tokens.sum()),
            seconds=seconds,
            cut_questions=tuple(_cut_questions(spans, one.chunks)),
        )
    scored = ScoredSystems.of(
        evalset, runs, baseline=None, by=(), missing="refuse", scoring={"k": cut_offs, **scoring}, progress=None
    )
    results = scored.results
    first = baseline or max(results, key=lambda name: sum(results[name][f"span_recall@{at}"] or 0 for at in cut_offs))
    comparison, as_good = None, dict[int, tuple[str, ...]]()
    if len(results) > 1:
        keys = [f"span_recall@{at}" for at in cut_offs]
        by_name = {first: results[first], **results}
        of_all = compare(evalset, by_name, baseline=None, keys=keys, by=(), cluster=cluster, seed=seed)
        as_good = {budget: _as_good(of_all, key) for budget, key in zip(tokens, keys, strict=True)}
        comparison = (
            of_all
            if baseline is None
            else compare(evalset, by_name, baseline=first, keys=keys, by=(), cluster=cluster, seed=seed)
        )
    return ChunkerComparison(
        budgets=tuple(tokens),
        baseline=first,
        chunkings=chunkings,
        results=results,
        runs=runs,
        comparison=comparison,
        as_good=as_good,
        notes=tuple(notes),
        evalset=evalset,
    )


def _as_good(comparison: Comparison, key: str) -> tuple[str, ...]:
    """Return the systems that share a letter with the one whose value is highest, in the order of their values."""
    best, *others = comparison.letters[key].items()
    return tuple(name for name, letters in others if set(letters) & set(best[1]))


def _check_chunkers(chunkers: object) -> dict[str, object]:
    """Return the chunkers by name."""
    if isinstance(chunkers, Mapping):
        given = dict(chunkers)
    elif isinstance(chunkers, Sequence) and not isinstance(chunkers, str):
        given = {name: name for name in chunkers}
        if len(given) < len(chunkers):
            twice = next(name for name in given if chunkers.count(name) > 1)
            raise InvalidInputError(f"Two chunkers have the name {show(twice)}. Give each a name of its own.")
    else:
        given = {}
    if not given or not all(isinstance(name, str) and name.strip() for name in given):
        refuse("chunkers", "a mapping from names to chunkers, or a list such as ['words:200', 'words:400']", chunkers)
    return given


def _check_budgets(budgets: object) -> list[int]:
    """Return the budgets, ascending."""
    if not isinstance(budgets, Sequence) or isinstance(budgets, str) or not budgets:
        refuse("budgets", "numbers of tokens such as [200, 400]", budgets)
    return sorted({check_count("budgets", budget) for budget in budgets})


Factory = Callable[[list[Document], int], object]


def _builder(retriever: object) -> Factory:
    """Return the function from chunks and a depth to a retriever."""
    if isinstance(retriever, str):
        one_of("retriever", retriever, list(LOCAL))
        return lambda chunks, k: build_retriever(
            retriever, [{"id": c.id, "text": c.text, "metadata": c.metadata} for c in chunks], k
        )
    if not callable(retriever) or hasattr(retriever, "invoke"):
        refuse(
            "retriever",
            f"one of {', '.join(LOCAL)}, or a function from a list of chunks to a retriever: every chunking gets an "
            "index of its own",
            retriever,
        )
    return lambda chunks, _: retriever(chunks)


def _build(build: Factory, chunks: list[Document], depth: int, name: str) -> Any:
    try:
        return build(chunks, depth)
    except KragEvalError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the user's function raises
        what = f" for the {len(chunks)} chunks of {name!r:.60}"
        refuse_raised(error, "`retriever` raised ", f"{what}. Fix the function, or leave out the chunker.")


class _Chunked:
    """What a chunker made of the corpus.

    Attributes:
        chunks: The chunks.
        n_tokens: The tokens of each.
        seconds: How long the cutting took.
    """

    def __init__(self, texts: Mapping[str, str], chunker: object, name: str, count_tokens: object) -> None:
        started = time.perf_counter()
        self.chunks = cut(texts, chunker, name)
        self.seconds = time.perf_counter() - started
        self.n_tokens = count_tokens_of([chunk.text or "" for chunk in self.chunks], count_tokens)

    def depth_for(self, budget: int) -> int:
        """Return how many chunks fit into a budget at most, whichever they are."""
        return int(np.searchsorted(np.cumsum(np.sort(self.n_tokens)), budget, side="right"))

    def placed(self, run: Run) -> Run:
        """Return the run with our chunks in place of what the retriever returned for them, as far as it is known."""
        by_id = {chunk.id: chunk for chunk in self.chunks}
        by_text = {chunk.text: chunk for chunk in reversed(self.chunks)}

        def chunk_of(document: Document) -> Document:
            knows_place = DOC_KEY in document.metadata and "start" in document.metadata
            chunk = by_id.get(document.id) or (None if knows_place else by_text.get(document.text))
            return document if chunk is None else replace(chunk, score=document.score)

        rows = {
            query_id: replace(row, retrieved=tuple(map(chunk_of, row.retrieved))) for query_id, row in run.rows.items()
        }
        return replace(run, rows=rows)

    def notes(self, name: str, run: Run, budgets: Sequence[int], *, is_own: bool) -> Iterator[str]:
        """Yield what keeps the budgets of this chunking from being filled."""
        sizes = {chunk.id: size for chunk, size in zip(self.chunks, self.n_tokens.tolist(), strict=True)}
        rows = [[sizes.get(document.id, 0) for document in row.retrieved] for row in run.rows.values()]
        empty = {budget: sum(bool(row) and row[0] > budget for row in rows) for budget in budgets}
        if any(empty.values()):
            counts = ", ".join(f"at {budget} tokens for {count}" for budget, count in empty.items() if count)
            yield (
                f"{name}: the first chunk alone exceeds the budget, so nothing counts: {counts} of "
                f"{number_of(len(rows), 'question')}."
            )
        n_short = sum(len(row) < len(self.chunks) and sum(row) < max(budgets) - max(sizes.values()) for row in rows)
        if n_short and not is_own:  # ours return every chunk that has anything in common with the question
            yield (
                f"{name}: for {number_of(n_short, 'question')} the retriever returned fewer chunks than fit into "
                f"{max(budgets)} tokens. If it can return more, let it."
            )


Place = tuple[str, int, int]


def _cut_questions(spans: Mapping[str, Sequence[Sequence[Place]]], chunks: Sequence[Document]) -> Iterator[str]:
    """Yield the questions with a need of which no alternative lies in a single chunk."""
    places: dict[str, list[tuple[int, int]]] = {}
    for chunk in chunks:
        places.setdefault(chunk.metadata[DOC_KEY], []).append((chunk.metadata["start"], chunk.metadata["end"]))
    furthest = {}  # for each document the starts of its chunks, and the furthest end of those up to there
    for doc_id, of_document in places.items():
        starts, ends = zip(*sorted(of_document), strict=True)
        furthest[doc_id] = starts, list(itertools.accumulate(ends, max))

    def is_whole(place: Place) -> bool:
        doc_id, start, end = place
        starts, ends = furthest.get(doc_id, ((), []))
        before = bisect.bisect_right(starts, start)
        return before > 0 and ends[before - 1] >= end

    for query_id, needs in spans.items():
        if not all(any(map(is_whole, need)) for need in needs):
            yield query_id


def _spans_of(evalset: EvalSet, corpus: CorpusTexts) -> dict[str, list[list[Place]]]:
    """Return for each question the places of the alternatives of each of its needs.

    Raises:
        InvalidInputError: A gold document is no span of the corpus, or no question has any.
    """
    spans: dict[str, list[list[Place]]] = {}
    for number, question in enumerate(evalset):
        needs = [alternatives_in([gold]) for gold in question.gold_chunks() if gold.grade is None or gold.grade > 0]
        with errors_at(f"The question {question.id!r:.60}"):
            places = read_places([one for need in needs for one in need], DOC_KEY, "actual", number, corpus)
        if None in places:
            raise InvalidInputError(f"The question {question.id!r:.60} has a gold document that is no span. {_CURE}")
        rest = iter(place for place in places if place is not None)
        spans[question.id] = [list(itertools.islice(rest, len(need))) for need in needs]
    if not any(spans.values()):
        raise InvalidInputError(f"No question of {number_of(len(evalset), 'question')} has a gold span. {_CURE}")
    return spans


_CURE = 'Give gold a document id, a start and an end; for passages, `reanchor(questions, corpus, to="spans")` does.'
