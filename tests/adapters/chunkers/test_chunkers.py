"""Chunkings of one corpus are compared on the same spans, at equal budgets of tokens."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from krag_eval import TOKENIZERS, Document, InvalidInputError, Need, Span
from krag_eval_chunkers import ChunkerComparison, compare_chunkers
from krag_eval_report.plots import write_plots
from tests.support.secret_shapes import fake

WORDS = [f"w{n}" for n in range(60)]
TEXTS = {
    "a": " ".join(WORDS[:40]) + ". " + " ".join(f"v{n}" for n in range(40)),
    "b": " ".join(reversed(WORDS)),
}
CORPUS = [{"id": name, "text": text} for name, text in TEXTS.items()]
QUIET: Any = {"progress": None}


def span(doc_id: str, first: str, last: str) -> dict[str, Any]:
    """The gold span from one word of a document to another."""
    text = TEXTS[doc_id]
    start = text.index(first)
    end = text.index(last, start) + len(last)
    return {"doc_id": doc_id, "start": start, "end": end, "text": text[start:end]}


QUESTIONS: list[dict[str, Any]] = [
    {"id": "q1", "question": "w3 w4 w5", "gold": [span("a", "w3 ", "w9")]},
    {"id": "q2", "question": "v10 w31", "gold": [span("a", "v10", "v14"), span("b", "w30", "w22")]},
    {"id": "q3", "question": "w12 w11", "gold": [span("b", "w12", "w11")]},
    {"id": "none", "question": "w77", "gold": []},
]
SIZES = {"small": "words:4", "large": "words:16", "overlapping": "words:8:4"}
BUDGETS = (8, 16, 48)


@functools.cache
def usual() -> ChunkerComparison:
    """The comparison that most tests look at."""
    return compared()


def compared(**changed: Any) -> ChunkerComparison:
    given: dict[str, Any] = {"corpus": CORPUS, "questions": QUESTIONS, "chunkers": SIZES, "budgets": BUDGETS, **QUIET}
    return compare_chunkers(**(given | changed))


def refusal(**changed: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        compared(**changed)
    return str(caught.value)


def by_hand(row: Sequence[Document], gold: Sequence[dict[str, Any]], budget: int) -> tuple[float, float, float]:
    """Return span recall, precision and IoU, character by character."""
    context: set[tuple[str, int]] = set()
    for chunk in row:
        budget -= len(TOKENIZERS["words"].tokenize(chunk.text or ""))
        if budget < 0:
            break
        place = chunk.metadata
        context |= {(place["doc_id"], at) for at in range(place["start"], place["end"])}
    spans = [{(one["doc_id"], at) for at in range(one["start"], one["end"])} for one in gold]
    wanted = set().union(*spans)
    common = len(context & wanted)
    return (
        sum(len(context & one) for one in spans) / sum(map(len, spans)),
        common / len(context) if context else 0.0,
        common / len(context | wanted) if context | wanted else 0.0,
    )


def test_scores_are_those_of_the_characters_within_each_budget() -> None:
    result = usual()
    for name in SIZES:
        for budget in BUDGETS:
            expected = [
                by_hand(result.runs[name].rows[str(q["id"])].retrieved, q["gold"], budget)
                for q in QUESTIONS
                if q["gold"]
            ]
            means = [sum(column) / len(column) for column in zip(*expected, strict=True)]
            keys = [f"{metric}@{budget}tok" for metric in ("span_recall", "span_precision", "span_iou")]
            assert [result.results[name][key] for key in keys] == pytest.approx(means, abs=1e-12), (name, budget)
    assert (result.results["small"]["span_recall@48tok"] or 0) > 0


def test_every_chunking_has_its_cost_and_parameters() -> None:
    result = usual()
    small, overlapping = result.chunkings["small"], result.chunkings["overlapping"]
    n_words = sum(len(TOKENIZERS["words"].tokenize(text)) for text in TEXTS.values())
    assert (small.n_tokens, small.n_chunks, small.mean_tokens) == (n_words, n_words // 4, 4.0)
    assert overlapping.n_tokens > n_words * 1.5
    assert small.seconds > 0
    assert small.parameters == {"chunker": "words", "chunk_size": 4, "chunk_overlap": 0}
    assert dict(result.runs["small"].parameters) == small.parameters


@pytest.mark.filterwarnings("ignore:first")
def test_questions_whose_span_no_chunk_holds_whole_are_named() -> None:
    result = compared(chunkers={"small": "words:4", "whole": lambda text: [text], "first": lambda text: [(0, 9)]})
    assert result.chunkings["whole"].cut_questions == ()
    assert result.chunkings["small"].cut_questions == ("q1", "q2", "q3")
    assert result.chunkings["first"].cut_questions == ("q1", "q2", "q3")


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:c. No retrieved chunk")
def test_cut_questions_are_those_of_brute_force() -> None:
    draw = random.Random(7)
    text = "x" * 60
    for _ in range(20):
        cuts = [tuple(sorted(draw.sample(range(61), 2))) for _ in range(draw.randint(1, 6))]
        spans = [tuple(sorted(draw.sample(range(61), 2))) for _ in range(10)]
        questions = [
            {"id": f"q{n}", "question": "x", "gold": [{"doc_id": "d", "start": start, "end": end}]}
            for n, (start, end) in enumerate(spans)
        ]
        result = compare_chunkers(
            questions,
            [{"id": "d", "text": text}],
            {"c": lambda _, cuts=cuts: cuts},
            lambda chunks: lambda _: chunks,
            [8],
            **QUIET,
        )
        whole = [any(s <= start and end <= e for s, e in cuts) for start, end in spans]
        assert result.chunkings["c"].cut_questions == tuple(f"q{n}" for n, held in enumerate(whole) if not held)


def test_of_alternatives_one_is_enough() -> None:
    cut_apart, whole = Span("b", 0, 30), Span("b", 0, 3)
    questions = [
        {"id": "both", "question": "w59", "gold": [cut_apart, whole]},
        {"id": "any", "question": "w59", "gold": [Need(any_of=[cut_apart, whole])]},
    ]
    result = compared(questions=questions, chunkers=["words:4"])
    assert result.chunkings["words:4"].cut_questions == ("both",)
    values = [row.values["span_recall@8tok"] for row in result.results["words:4"].per_query]
    assert values[1] == 1.0
    assert values[0] is not None
    assert values[0] < 1


def test_the_best_chunking_is_the_one_that_the_others_are_compared_with() -> None:
    result = usual()
    means = {name: sum(one[f"span_recall@{b}tok"] or 0 for b in BUDGETS) for name, one in result.results.items()}
    assert result.baseline == max(means, key=means.__getitem__)
    assert result.comparison is not None
    assert result.comparison.pairs  # it was chosen by its values, so all pairs are tested
    assert {row.system for row in result.comparison.rows} == set(SIZES) - {result.baseline}
    given = compared(baseline="small")
    assert (given.baseline, given.comparison and given.comparison.pairs) == ("small", ())


def test_what_may_be_as_good_as_the_best_chunking_stands_beside_it() -> None:
    result = usual()  # four questions decide nothing
    for budget, best in result.best.items():
        assert set(result.as_good[budget]) == set(result.results) - {best}
        assert any(line.startswith(f"{budget} tokens: {best} ") for line in repr(result).splitlines())
    assert compared(baseline="small").as_good == result.as_good  # whatever the baseline is, all pairs are tested
    assert result.to_dict()["as_good"] == {str(budget): list(names) for budget, names in result.as_good.items()}
    assert set(result.winners) <= set(result.sections[0].paragraphs)


def test_clusters_widen_what_is_compared() -> None:
    result = compared(cluster={"q1": "x", "q2": "x", "q3": "y", "none": "y"})
    assert result.comparison is not None
    assert result.comparison.n_clusters == 2


def test_one_chunker_needs_no_comparison() -> None:
    result = compared(chunkers=["words:4"])
    assert result.comparison is None
    assert "words:4" in repr(result)
    assert result.to_dict()["rows"][0]["difference"] is None


def factory(form: Callable[[Document], Any]) -> Callable[[list[Document]], Any]:
    """A retriever factory whose retriever returns the chunks that share a word with the question, in some form."""

    def index(chunks: list[Document]) -> Callable[[str], list[Any]]:
        def search(question: str) -> list[Any]:
            words = set(question.split())
            return [form(chunk) for chunk in chunks if words & set((chunk.text or "").split())]

        return search

    return index


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "form",
    [
        lambda chunk: chunk,
        lambda chunk: {"id": chunk.id},
        lambda chunk: chunk.text,
        lambda chunk: {"id": "from the store", "text": chunk.text, "metadata": chunk.metadata},
    ],
    ids=["chunks", "ids", "texts", "metadata"],
)
def test_a_users_retriever_may_return_chunks_ids_texts_or_metadata(form: Callable[[Document], Any]) -> None:
    expected = compared(retriever=factory(lambda chunk: chunk), chunkers={"four": "words:4"})
    result = compared(retriever=factory(form), chunkers={"four": "words:4"})
    assert result.results["four"].to_dict() == expected.results["four"].to_dict()
    assert (expected.results["four"]["span_recall@48tok"] or 0) > 0


def test_a_budget_that_no_chunk_fits_and_a_retriever_that_returns_too_few_are_noted() -> None:
    result = compared(
        chunkers={"large": "words:40"}, retriever=lambda chunks: lambda question: chunks[:1], budgets=[8, 400]
    )
    empty, short = result.notes
    assert empty == (
        "large: the first chunk alone exceeds the budget, so nothing counts: at 8 tokens for 4 of 4 questions."
    )
    assert short.startswith("large: for 4 questions the retriever returned fewer chunks than fit into 400 tokens.")
    assert result.results["large"]["span_recall@8tok"] == 0


def test_table_markdown_pandas_and_json_say_the_same() -> None:
    result = usual()
    frame = result.to_pandas()
    best = result.best[48]
    value = result.results[best]["span_recall@48tok"]
    assert frame.loc[(best, 48), "span_recall"] == value
    assert f"**{value:.4f}**" in result.to_markdown()
    assert json.loads(result.to_json())["best"]["48"] == best
    assert [row["budget"] for row in result.to_dicts()] == list(BUDGETS) * len(SIZES)
    assert f"{value:.4f}" in repr(result)
    assert "<table" in result._repr_html_()


class WithKey:
    """A chunker that was made with credentials."""

    def __init__(self, api_key: str) -> None:
        self.api_key = api_key

    def __call__(self, text: str) -> list[str]:
        return [text[:60], text[60:]]


@pytest.mark.full
def test_credentials_of_a_chunker_stand_nowhere(tmp_path: Path) -> None:
    key = fake("chunker", 40)
    result = compared(chunkers={"mine": WithKey(key)})
    assert result.chunkings["mine"].parameters["api_key"] == result.runs["mine"].parameters["api_key"] == "[key]"
    page = result.report(tmp_path / "page.html").read_text("utf-8")
    assert key not in "".join([repr(result), result.to_json(), result.to_markdown(), page])


def test_the_report_has_the_tables_and_the_parameters(tmp_path: Path) -> None:
    text = usual().report(tmp_path / "chunkers.md").read_text(encoding="utf-8")
    for part in ("## Chunkings", "## Chunkings", "cut apart", "chunk_overlap", "no single chunk holds whole"):
        assert part in text, part


@pytest.mark.full
def test_the_plot_has_a_line_for_each_chunking(tmp_path: Path) -> None:
    result = usual()
    axes = result.plot().axes
    assert [one.get_title(loc="left") for one in axes] == ["span_recall"]
    assert len(axes[0].get_lines()) == len(SIZES)
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes[0].get_lines()}  # type: ignore[arg-type]
    assert drawn["small"] == [result.results["small"][f"span_recall@{b}tok"] for b in BUDGETS]
    assert tmp_path / "over_k.svg" in write_plots(result.as_report(), tmp_path)
    with pytest.raises(InvalidInputError, match="two cut-offs"):
        compared(budgets=[8]).plot()


def test_tokens_are_counted_as_the_user_says() -> None:
    assert (
        compared(count_tokens=len, chunkers=["words:16"]).chunkings["words:16"].n_tokens
        > usual().chunkings["large"].n_tokens * 3
    )


def raising(chunks: list[Document]) -> Any:
    raise RuntimeError("no memory")


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"budgets": []}, "`budgets` must be numbers of tokens such as [200, 400], got []."),
        ({"budgets": [200, 0]}, "`budgets` must be an integer of at least 1, got 0."),
        ({"budgets": [-5]}, "`budgets` must be an integer of at least 1, got -5."),
        ({"budgets": [2.5]}, "`budgets` must be an integer of at least 1, got 2.5."),
        ({"budgets": 200}, "`budgets` must be numbers of tokens"),
        ({"chunkers": {}}, "`chunkers` must be a mapping"),
        ({"chunkers": ["words:4", "words:4"]}, "Two chunkers have the name 'words:4'."),
        ({"chunkers": "words:4"}, "or a list such as ['words:200', 'words:400'], got 'words:4'."),
        ({"chunkers": {1: "words:4"}}, "got {1: 'words:4'}."),
        ({"chunkers": {"none": lambda text: []}}, "The chunker 'none', document 'a': it returned no chunk."),
        ({"baseline": "smal"}, "Did you mean 'small'?"),
        ({"retriever": "bm52"}, "Did you mean 'bm25'?"),
        ({"retriever": 7}, "`retriever` must be one of bm25, bm25-characters"),
        ({"retriever": raising}, "`retriever` raised RuntimeError: no memory for the 35 chunks of 'small'."),
        ({"corpus": "corpus.jsonl"}, "`corpus` must be texts of documents by id, got 'corpus.jsonl'."),
        ({"corpus": []}, "`corpus` is empty."),
        ({"corpus": [{"text": "x"}]}, "`corpus`: document 0 has no id or no text."),
        (
            {"corpus": [{"id": "a", "text": ""}]},
            "its span (9, 29) lies outside of document 'a', which has 0 characters.",
        ),
        ({"questions": [{"id": "q", "question": "x", "gold": []}]}, "No question of 1 question has a gold span."),
        (
            {"questions": [{"id": "q", "question": "x", "gold": [{"id": "a", "text": "w3"}]}]},
            "The question 'q' has a gold document that is no span.",
        ),
        (
            {
                "questions": [
                    QUESTIONS[0],
                    {"id": "z", "question": "x", "gold": [{"doc_id": "a", "start": 5, "end": 3}]},
                ]
            },
            "The question 'z': `actual[1][0]` (query 1, rank 1): its span (5, 3) is empty or too large.",
        ),
        (
            {"questions": [{"id": "q", "question": "x", "gold": [{"doc_id": "c", "start": 0, "end": 2}]}]},
            "The question 'q': `actual[0][0]` (query 0, rank 1): its document 'c' is not in `corpus`",
        ),
        (
            {"questions": [{"id": "q", "question": "x", "gold": [{"doc_id": "b", "start": 0, "end": 9999}]}]},
            "its span (0, 9999) lies outside of document 'b', which has 229 characters.",
        ),
        (
            {
                "questions": [
                    {"id": "q", "question": "x", "gold": [{"doc_id": "b", "start": 0, "end": 2, "text": "ab"}]}
                ]
            },
            "its text is 'ab'",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_input_that_cannot_be_used_is_refused_before_anything_is_asked(changed: dict[str, Any], said: str) -> None:
    assert said in refusal(**changed)


@pytest.mark.full
def test_a_retriever_that_fails_for_a_question_counts_as_nothing_retrieved() -> None:
    def index(chunks: list[Document]) -> Any:
        def search(question: str) -> list[Document]:
            if question == "w12 w11":
                raise TimeoutError("too slow")
            return chunks

        return search

    result = compared(retriever=index, retries=0)
    assert "TimeoutError" in result.runs["small"].errors["q3"]
