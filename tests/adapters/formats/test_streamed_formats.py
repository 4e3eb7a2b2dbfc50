"""Sets and runs of every format, read side by side."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from krag_eval import (
    EvalSet,
    InvalidInputError,
    evaluate,
    evaluate_stream,
    read_evalset,
    read_run,
    write_evalset,
    write_run,
)
from krag_eval.datasets.streaming import stream_pairs
from tests.datasets.test_streaming import QUESTIONS, ROWS, jsonl


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return jsonl(tmp_path / "set.jsonl", QUESTIONS), jsonl(tmp_path / "run.jsonl", ROWS)


@pytest.mark.sample(3)
@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "json", "ragas.jsonl"])
@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
def test_every_format_can_be_streamed(files: tuple[Path, Path], tmp_path: Path, ending: str) -> None:
    write_evalset(read_evalset(files[0]), tmp_path / f"set.{ending}")
    write_run(read_run(files[1]), tmp_path / f"run.{ending}")
    pairs = stream_pairs(tmp_path / f"set.{ending}", tmp_path / f"run.{ending}")
    evalset, run = read_evalset(tmp_path / f"set.{ending}"), read_run(tmp_path / f"run.{ending}")
    expected = evaluate(evalset.gold(), run.rankings(evalset), 2, match_method="id")
    assert evaluate_stream(pairs, 2, match_method="id").to_dict() == expected.to_dict()


def test_trec_files_are_streamed_query_by_query(shared_data: Path) -> None:
    folder = shared_data / "trec_eval"
    evalset = read_evalset(folder / "qrels.test")
    expected = evaluate(evalset.gold(), read_run(folder / "results.test").rankings(evalset), match_method="id")
    pairs = stream_pairs(folder / "qrels.test", folder / "results.test")
    assert evaluate_stream(pairs, match_method="id").to_dict() == expected.to_dict()
    with pytest.raises(
        InvalidInputError, match=r"results\.trunc:2: has the question '303' where .*qrels\.test:1709 has '302'"
    ):
        list(stream_pairs(folder / "qrels.test", folder / "results.trunc"))


@pytest.mark.full
@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_memory_does_not_grow_with_the_number_of_rows(tmp_path: Path, ending: str) -> None:
    def peak(n_rows: int) -> int:
        evalset, run = tmp_path / f"set.{n_rows}.{ending}", tmp_path / f"run.{n_rows}.{ending}"
        gold = [{"id": "d", "text": "x" * 1_000}]
        write_evalset(EvalSet([{"id": str(number), "gold": gold} for number in range(n_rows)]), evalset)
        rows = jsonl(tmp_path / "rows.jsonl", [{"query_id": str(n), "retrieved": gold} for n in range(n_rows)])
        write_run(read_run(rows), run)
        tracemalloc.start()
        assert sum(1 for _ in stream_pairs(evalset, run)) == n_rows
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert peak(3_900) < 1.5 * peak(2_100)
