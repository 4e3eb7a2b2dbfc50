"""What is said where a run is scored at a level, or by a key, at which nothing is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, KragEvalWarning, Run, RunRow, evaluate_run

DOCUMENTS = EvalSet([{"id": 1, "question": "When?", "gold_doc_ids": ["refunds.md"]}])
CHUNKS = EvalSet([{"id": 1, "question": "When?", "gold_chunk_ids": ["c1"]}])


def run_of(**metadata: object) -> Run:
    row: Mapping[str, Any] = {"query_id": 1, "retrieved": [{"id": "c1", "text": "Soon.", "metadata": metadata}]}
    return Run.of("run", [RunRow.from_dict(row)])


@pytest.mark.parametrize(
    ("evalset", "level", "other"), [(DOCUMENTS, "chunk", "document"), (CHUNKS, "document", "chunk")]
)
def test_gold_that_is_known_at_the_other_level_alone_is_warned_of_with_the_level_to_take(
    evalset: EvalSet, level: str, other: str
) -> None:
    run = run_of(doc_id="refunds.md") if level == "document" else run_of()
    with pytest.warns(KragEvalWarning, match=rf"all 1 questions with gold are undefined .* with level='{other}'\.$"):
        result = evaluate_run(evalset, run, k=1, level=level, metrics="recall")
    assert result["recall@1"] is None


@pytest.mark.parametrize(
    ("evalset", "run", "settings"),
    [
        pytest.param(CHUNKS, run_of(), {}, id="gold chunks at chunk level"),
        pytest.param(DOCUMENTS, run_of(doc_id="refunds.md"), {}, id="doc_hit has a value"),
        pytest.param(
            DOCUMENTS, run_of(source="refunds.md"), {"level": "document", "doc_key": "source"}, id="documents"
        ),
        pytest.param(EvalSet([{"id": 1, "gold": []}]), run_of(), {}, id="no question has an answer"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_nothing_is_said_where_there_is_a_number_to_see(evalset: EvalSet, run: Run, settings: dict[str, Any]) -> None:
    evaluate_run(evalset, run, k=1, **settings)


def test_a_key_that_no_chunk_has_is_refused_with_the_keys_that_they_have() -> None:
    with pytest.raises(InvalidInputError) as error:
        evaluate_run(DOCUMENTS, run_of(source="refunds.md", page=3), k=1, level="document")
    assert str(error.value) == (
        "No retrieved document has an id under the metadata key 'doc_id', which level='document' compares. "
        "Their metadata has the keys: source, page. If one of them holds the ids of the documents, "
        "pass it as `doc_key`."
    )


def test_an_id_key_at_document_level_is_refused_with_the_argument_that_is_meant() -> None:
    with pytest.raises(InvalidInputError, match=r"got id_key='source'\. If that .* pass it as `doc_key`\.$"):
        evaluate_run(DOCUMENTS, run_of(source="refunds.md"), k=1, level="document", id_key="source")
