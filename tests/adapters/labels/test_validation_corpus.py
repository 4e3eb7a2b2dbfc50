"""Gold that a corpus does not have, or has under another id, is named, and gold that it has is not."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval_labels.validation import validate

Row = dict[str, Any]
TEXT = "Refunds arrive within three working days after we approve them."
OTHER = "Parcels to the islands take two more days than all others."


def row(id_: str = "q", question: str = "When does it arrive?", gold: object = TEXT, **fields: Any) -> Row:
    return {"id": id_, "question": question, "gold": gold if isinstance(gold, list) else [gold], **fields}


def of(*rows: Row, corpus: list[Any], **settings: Any) -> list[tuple[str, tuple[str, ...]]]:
    return [(finding.kind, finding.question_ids) for finding in validate(list(rows), corpus, **settings).findings]


CORPUS = [
    {"id": "n1", "text": f"We ship on weekdays. {OTHER}", "metadata": {"doc_id": "d1"}},
    {"id": "n2", "text": TEXT, "metadata": {"doc_id": "d2"}},
    {"id": "n3", "text": "Call us.", "metadata": {"doc_id": "d2"}},
]


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"gold": [{"id": "n2", "text": TEXT.upper()}]}, []),
        ({"gold": [{"id": "n1", "text": OTHER}]}, []),
        ({"gold": [{"id": "n2", "text": f"More. {TEXT}"}]}, []),
        ({"gold": [{"id": "d2", "text": TEXT}]}, []),
        ({"gold": [{"id": "d2", "text": "It is nowhere to be found in there."}]}, [("missing_text", "d2", ())]),
        ({"gold": [TEXT]}, []),
        ({"gold": [{"id": "n3", "text": "Call us"}]}, []),
        ({"gold": [{"id": "n3", "text": "Do call us."}]}, []),
        ({"gold": [], "gold_chunk_ids": ["n1"], "gold_doc_ids": ["d1"]}, []),
        ({"gold": [], "gold_chunk_ids": ["x"]}, [("dangling_id", "x", ())]),
        ({"gold": [], "gold_chunk_ids": ["d2"]}, [("dangling_id", "d2", ())]),
        ({"gold": [{"id": "n1"}], "gold_doc_ids": ["d1", "d9"]}, [("dangling_id", "d9", ())]),
        ({"gold": [{"id": "n1", "metadata": {"doc_id": "d9"}}]}, [("dangling_id", "d9", ())]),
        ({"gold": [{"id": "x", "text": "It is nowhere to be found in there."}]}, [("dangling_id", "x", ())]),
        ({"gold": [{"id": "x", "text": TEXT}]}, [("dead_id", "x", ("n2",))]),
        ({"gold": [{"id": "x", "text": OTHER}]}, [("dead_id", "x", ("n1",))]),
        ({"gold": [{"id": "x", "text": TEXT}], "gold_chunk_ids": ["x"]}, [("dead_id", "x", ("n2",))]),
        ({"gold": [{"id": "n3", "text": TEXT}]}, [("changed_text", "n3", ("n2",))]),
        ({"gold": [{"id": "n3", "text": "It is nowhere to be found in there."}]}, [("changed_text", "n3", ())]),
        ({"gold": ["It is nowhere to be found in there."]}, [("missing_text", None, ())]),
        ({"gold": [{"id": "n1"}, {"id": "n2"}], "gold_doc_ids": ["d1"]}, [("contradicting_levels", "n2", ())]),
    ],
    ids=lambda value: str(value)[:70],
)
def test_what_is_wrong_with_gold_in_a_corpus(
    fields: Row, expected: list[tuple[str, str | None, tuple[str, ...]]]
) -> None:
    report = validate([row() | fields], CORPUS)
    assert [(finding.kind, finding.gold_id, finding.found_in) for finding in report.findings] == expected


def test_a_gold_id_of_several_questions_is_one_finding() -> None:
    rows = [row("a", gold={"id": "x"}), row("b", "Who pays?", {"id": "x"})]
    assert of(*rows, corpus=CORPUS) == [("dangling_id", ("a", "b"))]


@pytest.mark.parametrize(("gold_id", "known"), [("N1", "n1"), (" n1", "n1"), ("FT-7", "FT-007")])
def test_an_id_that_is_only_written_differently_is_named(gold_id: str, known: str) -> None:
    (finding,) = validate([row(gold={"id": gold_id})], [*CORPUS, {"id": "FT-007"}]).findings
    assert finding.message == f"The corpus has no chunk {gold_id!r}. It has {known!r}, which is written differently."


def test_a_corpus_that_has_none_of_the_gold_is_named_as_such() -> None:
    rows = [row(f"q{n}", f"What is {n * 'so '}?", {"id": f"x{n}"}) for n in range(9)]
    found = [kind for kind, _ in of(*rows, corpus=CORPUS, ignore=["near_duplicate"])]
    assert found == ["other_corpus", *["dangling_id"] * 9]


def test_documents_cannot_be_looked_for_in_a_corpus_that_names_none() -> None:
    corpus = [{"id": "n1", "text": TEXT}, {"id": "n2", "metadata": {"source": "d"}}]
    rows = [row(gold=[], gold_chunk_ids=["n1", "n2"], gold_doc_ids=["d"])]
    assert of(*rows, corpus=corpus) == [("unchecked", ())]
    assert of(*rows, corpus=corpus, doc_key="source") == []


def test_the_text_of_a_dead_id_is_looked_for_in_its_own_document_first() -> None:
    corpus = [{"id": f"n{n}", "text": TEXT, "metadata": {"doc_id": f"d{n}"}} for n in range(3)]
    for fields in ({"gold_doc_ids": ["d2"]}, {"gold": [{"id": "x", "text": TEXT, "metadata": {"doc_id": "d2"}}]}):
        (finding,) = validate([row(gold={"id": "x", "text": TEXT}) | fields], corpus).findings
        assert (finding.kind, finding.found_in) == ("dead_id", ("n2",))
