"""Where chunks and gold spans lie, which of them match, and what is refused."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import EvaluationResult, InvalidInputError, KragEvalWarning, Span, diagnose, evaluate
from krag_eval.matching.spans import CorpusTexts, collapse, first_places, positions_of

TEXT = "Hello,  wide\nworld! ﬁne café."
CORPUS = {"a": TEXT, "b": "wide\nworld! again: wide world!"}
SPAN = Span("a", 8, 19, "wide\nworld!")


def scored(gold: Any, chunk: Any, **settings: Any) -> EvaluationResult:
    settings = {"k": None, "metrics": ["span_recall", "span_precision", "recall"]} | settings
    return evaluate([[gold]], [chunk if isinstance(chunk, list) else [chunk]], match_method="span", **settings)


def frameworks() -> list[Any]:
    from haystack import Document as Haystack
    from langchain_core.documents import Document
    from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

    text = TEXT[8:19]
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="a")}
    node = TextNode(text=text, start_char_idx=8, end_char_idx=19, relationships=source)
    return [
        Document(page_content=text, metadata={"doc_id": "a", "start_index": 8}),
        node,
        NodeWithScore(node=node, score=0.5),
        Haystack(content=text, meta={"doc_id": "a", "split_idx_start": 8}),
        {"text": text, "doc_id": "a", "start": 8, "end": 19},
        {"text": text, "metadata": {"doc_id": "a", "start": 8.0, "end": 19.0}},
        {"text": text, "metadata": {"start": 8}, "doc_id": "a"},
    ]


@pytest.mark.parametrize("number", range(7))
def test_a_chunk_says_its_place_as_its_framework_writes_it(number: int) -> None:
    pytest.importorskip("llama_index.core")
    pytest.importorskip("haystack")
    result = scored(SPAN, frameworks()[number])
    assert (result["span_recall"], result["span_precision"], result["recall"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("wide\nworld!", ("a", 8, 19)),
        (" wide world!", ("a", 8, 19)),
        ("fine cafe\u0301.", ("a", 20, 29)),
        ("again:", ("b", 12, 18)),
        ("nowhere", None),
    ],
)
def test_a_text_is_found_in_its_document_then_in_the_corpus_then_in_another_form(
    text: str, place: tuple[str, int, int] | None
) -> None:
    corpus = CorpusTexts(CORPUS)
    assert corpus.find([("a", text)]).get(("a", text)) == place


def test_of_several_places_the_first_in_the_named_document_counts() -> None:
    assert CorpusTexts(CORPUS).find([("b", "wide"), (None, "wide")]) == {
        ("b", "wide"): ("b", 0, 4),
        (None, "wide"): ("a", 8, 12),
    }


def test_a_chunk_without_a_place_is_retrieved_text_that_is_no_evidence_and_is_counted() -> None:
    chunks = [{"text": TEXT[8:19], "doc_id": "a"}, {"text": "nowhere!"}, {"text": "nowhere!"}]
    result = scored(SPAN, chunks, corpus=CORPUS)
    assert (result["span_recall"], result["span_precision"]) == (1, 11 / 19)
    assert result.unmatchable == {"actual": 0, "predicted": 2}


@given(st.text("ab \n\t\u00a0ée\u0301ﬁ①\u1100\u1161\u11a8가각\u0327\u0b47\u0b3e", max_size=12))
def test_each_character_of_the_collapsed_text_is_mapped_to_what_it_stands_for(text: str) -> None:
    form, (first, last) = collapse(text), positions_of(text)
    assert len(first) == len(last) == len(form)
    for start in range(len(form)):
        for end in range(start + 1, len(form) + 1):
            part = text[int(first[start]) : int(last[end - 1])]
            assert form[start:end].strip() in collapse(part)


def test_the_table_of_a_long_corpus_finds_what_a_search_finds() -> None:
    rng = random.Random(2)
    texts = ["".join(rng.choices("ab éü", k=400)) for _ in range(40)]
    parts = [text[s : s + rng.randint(1, 60)] for text in texts for s in rng.sample(range(340), 8)] + ["zzz", "a" * 70]
    whole = b"\xff".join(text.encode() for text in texts)
    assert first_places(whole, parts).tolist() == [whole.find(part.encode()) for part in parts]


@pytest.mark.parametrize("measure", ["recall", "precision", "iou"])
def test_a_chunk_matches_from_the_threshold_on(measure: str) -> None:
    chunk = {"text": "", "doc_id": "a", "start": 4, "end": 16}  # 6 characters of a span of 10, and 6 others
    share = {"recall": 6 / 10, "precision": 6 / 12, "iou": 6 / 16}[measure]
    above = scored(Span("a", 0, 10), chunk, span_measure=measure, threshold=share)
    assert above["recall"] == 1
    match = above.explain(0).gold[0].match
    assert match is not None
    assert match.similarity == share
    with pytest.warns(KragEvalWarning, match="overlaps a gold span enough"):
        assert scored(Span("a", 0, 10), chunk, span_measure=measure, threshold=share + 1e-9)["recall"] == 0


def test_chunks_of_the_same_place_are_repeats_and_those_of_the_same_text_elsewhere_are_not() -> None:
    chunks = [{"text": "x" * 10, "doc_id": "a", "start": start, "end": start + 10} for start in (0, 0, 10)]
    result = evaluate([[Span("a", 0, 10), Span("a", 10, 20)]], [chunks], k=3, match_method="span", metrics="precision")
    assert result["precision@3"] == pytest.approx(2 / 3)
    assert [rank.repeat_of for rank in result.explain(0).ranks] == [None, 1, None]


def test_an_explanation_and_a_diagnosis_say_how_much_of_a_span_was_retrieved() -> None:
    chunks = [{"text": "x" * 4, "doc_id": "a", "start": start, "end": start + 4} for start in (0, 18)]
    result = evaluate([[Span("a", 0, 10), Span("a", 20, 30)]], [chunks], k=2, match_method="span", threshold=0.4)
    gold = result.explain(0).gold
    assert [(outcome.held, outcome.share) for outcome in gold] == [(((0, 4),), 0.4), (((0, 2),), 0.2)]
    assert [rank.evidence for rank in result.explain(0).ranks] == [((0, 4),), ((2, 4),)]
    assert "a[20:30]: missed; 20% of its characters retrieved" in str(result.explain(0)).replace(
        ", the nearest is rank 2 (0.200)", ""
    )
    [miss] = diagnose(result).misses
    assert (miss.cause, miss.share, miss.near_rank) == ("cut", 0.2, 2)
    assert miss.to_dict()["share"] == 0.2


CHUNK = {"text": "Hello", "doc_id": "a", "start": 0, "end": 5}


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("gold", "chunk", "settings", "said"),
    [
        ({"doc_id": "a", "start": 5, "end": 3}, CHUNK, {}, r"actual\[0\]\[0\].*\(5, 3\) is empty"),
        ({"doc_id": "a", "start": 5, "end": 9, "text": "x"}, CHUNK, {}, r"actual\[0\]\[0\].*'x' has 1 char.*has 4"),
        (Span("a", 0, 5, "Jello"), CHUNK, {"corpus": CORPUS}, r"actual\[0\]\[0\].*'Jello'.*'Hello' at \(0, 5\)"),
        (Span("a", 0, 99), CHUNK, {"corpus": CORPUS}, r"actual\[0\]\[0\].*outside of document 'a', which has 29"),
        (Span("z", 0, 5), CHUNK, {"corpus": CORPUS}, r"actual\[0\]\[0\].*'z' is not in `corpus`"),
        (SPAN, CHUNK | {"text": "Jello"}, {"corpus": CORPUS}, r"predicted\[0\]\[0\].*another version"),
        (SPAN, CHUNK | {"end": 99}, {"corpus": CORPUS}, r"predicted\[0\]\[0\].*outside of document"),
        (SPAN, CHUNK | {"doc_id": "z"}, {"corpus": CORPUS}, r"predicted\[0\]\[0\].*'z' is not in `corpus`"),
        ({"id": "a", "text": "no place"}, CHUNK, {}, "No gold document says its place"),
        (SPAN, {"text": "no place"}, {}, "No retrieved document says its place"),
        (SPAN, CHUNK, {"corpus": "a.txt"}, "must be texts of documents by id, got 'a.txt'"),
        (SPAN, CHUNK, {"corpus": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]}, "'a' comes with two texts"),
        (SPAN, CHUNK, {"span_measure": "f1"}, "`span_measure` must be one of"),
    ],
)
def test_what_cannot_be_placed_is_refused_with_its_place(gold: Any, chunk: Any, settings: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        scored(gold, chunk, **settings)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a", 5, 5), "0 <= start < end"),
        (("a", -1, 5), "0 <= start < end"),
        (("a", 0, True), "0 <= start < end"),
        (("", 0, 5), "needs the id of its document"),
        (("a", 0, 5, "four"), "'four' has 4 characters"),
    ],
)
def test_a_span_that_is_none_is_refused(arguments: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        Span(*arguments)


def test_spans_are_matched_alone_and_a_corpus_belongs_to_them() -> None:
    with pytest.raises(InvalidInputError, match="Leave the other methods out"):
        evaluate([["a"]], [["a"]], match_method=["id", "span"])
    with pytest.raises(InvalidInputError, match="for match_method='span'"):
        evaluate([["a"]], [["a"]], corpus=CORPUS)
