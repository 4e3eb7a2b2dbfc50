"""What workers send of their queries: counts, and never a document."""

from __future__ import annotations

import json
import pickle
import zlib
from typing import Any

import pyarrow as pa
import pytest

from krag_eval import KragEvalWarning
from krag_eval_ray.scoring import _summarize_table
from krag_eval_scale import ColumnarScorer, PartialState, RepeatFinder
from krag_eval_spark.scoring import merge_summaries, summarize_batches
from tests.support.advice import warned_by

CANARY, SAID = "canary", "Канарейка"
CYRILLIC = str.maketrans("abcdefghijklmnopqrstuvwxyz", "абцдефгхийклмнопярстувшжыз")
DOCUMENT = pa.struct([("id", pa.string()), ("text", pa.string()), ("grade", pa.float64())])
SCHEMA = pa.schema([("query_id", pa.string()), ("actual", pa.list_(DOCUMENT)), ("predicted", pa.list_(DOCUMENT))])


def document(name: str, grade: float | None = None) -> dict[str, Any]:
    return {"id": f"{CANARY}-{name}", "text": f"{SAID} {name.translate(CYRILLIC)}", "grade": grade}


ROWS = [
    {"query_id": "q1", "actual": [document("gold")], "predicted": [document("found")]},
    {"query_id": "q2", "actual": [document("more")], "predicted": []},
]
BAD = [
    {"query_id": "b1", "actual": [document("worse", float("inf"))], "predicted": [document("found")]},
    {"query_id": "b2", "actual": [{"id": None, "text": None}], "predicted": [document("found")]},
]
BATCH, WITH_BAD = (pa.RecordBatch.from_pylist(rows, SCHEMA) for rows in (ROWS, ROWS + BAD))
METHODS = ["id", "text", "containment", ["id", "text"], "rougeL"]


def scorer_by(method: Any) -> ColumnarScorer:
    more: dict[str, Any] = {"tokenizer": "rouge_score"} if method == "rougeL" else {}  # which knows no Cyrillic
    return ColumnarScorer(2, metrics="recall", match_method=method, allow_repeated_ids=True, **more)


def of_arrow(scorer: ColumnarScorer) -> bytes:
    state = scorer.partial_state(WITH_BAD, [])
    assert state.n_bad_rows == 2
    merged = scorer.merge([state, scorer.partial_state(BATCH)])
    return merged.to_json().encode() + pickle.dumps(merged)


def of_spark(scorer: ColumnarScorer) -> bytes:
    summarize = summarize_batches(scorer, SCHEMA.names, RepeatFinder.fingerprints, max_bad_rows=2)
    summaries = list(summarize(iter([WITH_BAD, BATCH])))
    merged = list(merge_summaries(scorer)(iter(summaries)))
    return repr([batch.to_pylist() for batch in (*summaries, *merged)]).encode()


def of_ray(scorer: ColumnarScorer) -> bytes:
    table = pa.Table.from_batches([WITH_BAD, BATCH])
    return repr(_summarize_table(table, scorer, with_fingerprints=True, max_bad_rows=2).to_pylist()).encode()


@pytest.mark.parametrize("sent", [of_arrow, of_spark, of_ray])
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_no_state_has_an_id_or_a_text_of_a_document(method: Any, sent: Any) -> None:
    found = sent(scorer_by(method))
    assert b'"n_queries":' in found
    assert CANARY.encode() not in found
    assert SAID.encode() not in found


@pytest.mark.parametrize("method", METHODS[:4], ids=str)
def test_a_state_of_another_process_warns_without_examples_and_with_them_where_rows_are_at_hand(method: Any) -> None:
    scorer = scorer_by(method)
    state = PartialState.from_json(scorer.partial_state(BATCH).to_json())
    alone = warned_by(lambda: scorer.finalize(state))
    assert CANARY not in alone

    scorer.look_again(state, lambda: WITH_BAD)
    with_rows = warned_by(lambda: scorer.finalize(state))
    assert with_rows == warned_by(lambda: scorer.finalize(scorer.partial_state(BATCH)))
    assert CANARY in with_rows or SAID in with_rows


def test_texts_without_a_token_are_shown_in_the_process_that_scored() -> None:
    scorer = scorer_by("rougeL")
    state = scorer.partial_state(BATCH)
    for known, shown in ((state, f"; one is '{SAID}"), (PartialState.from_json(state.to_json()), "")):
        with pytest.warns(KragEvalWarning) as caught:
            scorer.finalize(known)
        assert len(caught) == 2
        for warning, side in zip(caught, ("gold", "retrieved"), strict=True):
            start = f"Not one {side} text has a token that ROUGE could count"
            assert str(warning.message).startswith(start + (shown or ". The tokenizer"))


def test_rows_are_not_looked_at_where_anything_matches() -> None:
    scorer = scorer_by("id")
    same = pa.RecordBatch.from_pylist([{**ROWS[0], "predicted": ROWS[0]["actual"]}], SCHEMA)

    def refused() -> pa.RecordBatch:
        raise AssertionError

    state = scorer.partial_state(same)
    scorer.look_again(state, refused)
    assert scorer.finalize(state)["recall@2"] == 1.0


def test_a_state_of_the_former_format_is_read_and_its_documents_are_forgotten() -> None:
    scorer = scorer_by("id")
    state = scorer.partial_state(BATCH)
    stored = json.loads(state.to_json()) | {"krag_eval_state": 2}
    del stored["crc"], stored["supply"]["compared"]
    seen: list[Any] = ["mapping", f"{CANARY}-gold", None, None, None, {}]
    stored["supply"] |= {"first_error": None, "sample": [[[seen], [seen]]]}
    for side in ("actual", "predicted"):
        del stored["supply"][side]["with_letters"]
        stored["supply"][side] |= {"ids": [f"{CANARY}-gold"], "wordy_text": None}
    stored["crc"] = zlib.crc32(json.dumps(stored, sort_keys=True).encode())

    read = PartialState.from_json(json.dumps(stored))
    assert read.to_json() == state.to_json()
    with pytest.warns(KragEvalWarning, match="Not one id matches"):
        scorer.finalize(scorer.merge([read, state]))
