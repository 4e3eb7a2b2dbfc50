"""Classic Spark, Spark Connect and Sail give the rows and the results of one process, to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.adapters.spark.engines import MOST_RETRIEVED, TEXTS, ask, asked_in_another_process, plain
from tests.support.engine_logs import N_BAD, NEEDS_ID, bits, groups_here, in_order, scored_here
from tests.support.long_logs import plain_join, random_logs, shown


@pytest.fixture(scope="module", params=["classic", "connect", "sail"])
def answers(
    request: pytest.FixtureRequest, folder: Path, connect_port: int, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Path]:
    """What an engine says, and the folder with its rows."""
    found = tmp_path_factory.mktemp(request.param) / "answers"
    if request.param == "sail":
        return asked_in_another_process("sail", folder, found), found
    spark = request.getfixturevalue("spark")
    if request.param == "classic":
        return ask(spark, folder, found), found
    return asked_in_another_process(f"sc://127.0.0.1:{connect_port}", folder, found), found


def test_rows_and_results_are_those_of_one_process_to_the_last_bit(
    answers: tuple[dict[str, Any], Path], folder: Path
) -> None:
    told, found = answers
    rows, result = scored_here(str(folder / "ids"))
    assert len(rows) == 20_000
    assert pq.read_table(found / "rows.parquet").equals(rows)
    assert told["ids that differ"]["result"] == plain(bits(result))
    assert told["cut otherwise"] == plain(bits(result))
    _, by_text = scored_here(str(folder / "texts"), **TEXTS)
    assert 0 < (by_text["recall@2"] or 0) < 1
    assert told["texts"] == plain(bits(by_text))
    _, by_needs = scored_here(str(folder / "needs"))
    assert "needs:any_of" in by_needs.signature
    assert told["needs"] == plain(bits(by_needs))


def test_groups_have_the_bits_of_their_queries_alone(answers: tuple[dict[str, Any], Path], folder: Path) -> None:
    told, _ = answers
    expected = plain(groups_here(pq.read_table(folder / "groups"), k=5))
    assert len(expected) == 6
    assert told["groups"] == expected
    assert told["groups of ids"] == plain(groups_here(pq.read_table(folder / "plain"), k=5))
    if "refused" in told["groupBy"]:  # Sail does not compare plans
        assert '`aggregate(df, by=["model", "day"])`' in told["groupBy"]["refused"]
    else:
        assert told["groupBy"] == expected


def test_rows_keep_the_other_columns_and_have_names_for_sql(answers: tuple[dict[str, Any], Path], folder: Path) -> None:
    told, found = answers
    kept, given = pq.read_table(found / "kept.parquet"), in_order(pq.read_table(folder / "groups"))
    others = ["asked_at", "model", "day", "doc.id", "tags"]
    assert told["columns"][:8] == ["query_id", *others, "n_gold", "n_retrieved"]
    assert kept.select(["query_id", *others]).to_pylist() == given.select(["query_id", *others]).to_pylist()
    values = kept.drop_columns(others)
    assert values.column_names[-1] == "ndcg_at_5"
    assert values.rename_columns(scored_here(given, k=5)[0].column_names).equals(scored_here(given, k=5)[0])
    assert told["by a column of values"] == 3


def test_bad_rows_are_kept_with_their_reasons_or_counted_and_skipped(
    answers: tuple[dict[str, Any], Path], folder: Path
) -> None:
    told, found = answers
    rows, given = pq.read_table(found / "bad.parquet").to_pylist(), pq.read_table(folder / "bad").to_pylist()
    assert len(rows) == len(given)
    empty = "Write an empty list where nothing was retrieved."
    assert [(row["query_id"], row["model"], row["n_gold"], row["recall@5"], row["error"]) for row in rows[:3]] == [
        ("query-5", given[5]["model"], None, None, f"`predicted` is null for query 'query-5'. {empty}"),
        ("query-70", given[70]["model"], None, None, f"`predicted` is null for query 'query-70'. {empty}"),
        (None, given[40]["model"], None, None, f"`query_id` is null. {NEEDS_ID}"),
    ]
    assert {row["error"] for row in rows[3:]} == {None}

    sound = pq.read_table(folder / "groups").take([row for row in range(len(given)) if row not in (5, 40, 70)])
    assert told["without bad rows"] == plain(bits(scored_here(sound, k=5)[1]))
    assert told["number of bad rows"] == N_BAD
    assert told["too many"].startswith("refused: More than 2 rows cannot be scored. `predicted` is null for query 'q")
    assert told["none"].startswith("refused: None of 2 rows can be scored. `predicted` is null for query 'query-5'.")


def test_logs_with_one_row_per_document_are_grouped_as_the_page_shows(
    answers: tuple[dict[str, Any], Path],
) -> None:
    told, _ = answers
    assert told["printed"] == shown("Spark")[1]
    assert len(told["joined"]) == 310
    assert told["joined"] == plain_join(*random_logs(seed=3))


def test_what_cannot_be_scored_is_refused_in_our_own_words_with_the_query_named(
    answers: tuple[dict[str, Any], Path], folder: Path
) -> None:
    told, _ = answers
    said = told["refused"]
    for where in ("null in aggregate", "null in score"):
        assert said[where].startswith("refused: `predicted` is null for query 'query-"), where
        assert said[where].endswith("Write an empty list where nothing was retrieved."), where
    first = next(row for row in scored_here(str(folder / "ids"))[0].to_pylist() if row["n_retrieved"] > MOST_RETRIEVED)
    assert f"Query {first['query_id']!r} could not be scored: " in said["a metric that fails"]


def test_ids_that_come_more_than_once_are_named_wherever_their_rows_are(answers: tuple[dict[str, Any], Path]) -> None:
    said = answers[0]["refused"]
    assert said["repeated"] == (
        "refused: Query ids are repeated, for example 'query-0', 'query-1', 'query-10'. Each query must be one "
        "row: group the rows of a query, give every row a unique id, or allow repeats with "
        "allow_repeated_ids=True."
    )
    assert said["repeated in score"] == said["repeated"]
    assert said["repeated in one partition"] == said["repeated"]
    assert said["repeated numbers"].startswith("refused: Query ids are repeated, for example '0', '1', '2'. ")
    assert said["numbers"] == "accepted"


def test_fingerprints_that_are_equal_by_accident_have_the_ids_looked_at_and_refuse_nobody(
    answers: tuple[dict[str, Any], Path],
) -> None:
    told, _ = answers
    assert told["ids that differ"]["looks"] == 0
    assert told["fingerprints that are equal"] == {**told["ids that differ"], "looks": 1}
