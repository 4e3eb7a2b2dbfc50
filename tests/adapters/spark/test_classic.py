"""What only classic Spark shows here: a worker that is killed, a plan that cuts early, refusals before any job."""

from __future__ import annotations

import importlib
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from examples.spark_score_logs import main as example
from krag_eval import METRICS, InvalidInputError, MissingDependencyError, UnknownMetricError
from krag_eval_scale import ColumnarScorer
from krag_eval_spark import aggregate, score
from tests.support.advice import warned_by
from tests.support.engine_logs import bits, logs
from tests.support.long_logs import KMAX, grouped, random_logs

N_QUERIES = 20_000
recall = METRICS["recall"].function


def killed_once(folder: Path) -> Callable[..., Any]:
    """A metric that, in the second batch of one worker, waits to be killed."""
    seen: list[int] = []

    def recall_of_survivors(judgments: Any, k: Any = None) -> Any:
        seen.append(len(judgments.n_gold))
        if len(seen) == 2:
            try:
                (folder / "claimed").mkdir()
            except FileExistsError:
                pass
            else:
                (folder / "writing").write_text(str(os.getpid()))
                (folder / "writing").rename(folder / "pid")
                time.sleep(100)
        return recall(judgments, k)

    return recall_of_survivors


def is_ours(pid: int) -> bool:
    """Whether a process descends from this one."""
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        if pid == os.getpid():
            return True
    return False


def test_a_worker_that_is_killed_in_the_middle_changes_no_bit(spark: Any, folder: Path, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill() -> None:
        for _ in range(2000):
            if (tmp_path / "pid").exists():
                pid = int((tmp_path / "pid").read_text())
                if is_ours(pid):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                return
            time.sleep(0.05)

    killer = threading.Thread(target=kill)
    killer.start()
    queries = spark.read.parquet(str(folder / "ids")).coalesce(1)
    result = aggregate(queries, 5, metrics=killed_once(tmp_path), match_method="id", intervals=True)
    killer.join()
    assert len(killed) == 1
    assert not Path(f"/proc/{killed[0]}").exists()

    def recall_of_survivors(judgments: Any, k: Any = None) -> Any:
        return recall(judgments, k)

    scorer = ColumnarScorer(5, metrics=[recall_of_survivors], match_method="id")
    states = map(scorer.partial_state, logs(N_QUERIES).combine_chunks().to_batches())
    assert bits(result) == bits(scorer.finalize(scorer.merge(states), intervals=True))


def test_a_long_ranking_is_cut_before_its_rows_are_gathered(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names, _ = grouped("Spark", *random_logs(seed=3), tmp_path, spark=spark)
    names["queries"].explain()
    limits = [line.split() for line in capsys.readouterr().out.splitlines() if "WindowGroupLimit" in line]
    assert [line[-1] for line in limits] == ["Final", "Partial"]
    assert all(f"{KMAX}," in line for line in limits)


@pytest.mark.parametrize(
    ("columns", "call", "says"),
    [
        pytest.param("query_id, actual", {}, "The input has no column `predicted`.", id="no column"),
        pytest.param(
            "true as query_id, actual, predicted", {}, "`query_id` has the type bool, and it needs string", id="type"
        ),
        pytest.param(
            "query_id, 'd1' as actual, predicted", {}, "`actual` has the type string, and it needs list<", id="no list"
        ),
        pytest.param(
            "query_id, actual, array(interval 1 day) as predicted",
            {},
            "`predicted` holds Spark's type 'interval day', which cannot be scored",
            id="a type that Arrow lacks",
        ),
        pytest.param("*", {"match_method": "text"}, "have no field 'text'", id="nothing to match by"),
        pytest.param("*", {"k": 0}, "k", id="k"),
        pytest.param("*", {"threshhold": 0.5}, "threshhold", id="a setting"),
    ],
)
def test_columns_and_settings_are_refused_before_any_job(
    spark: Any, folder: Path, columns: str, call: dict[str, Any], says: str
) -> None:
    queries = spark.read.parquet(str(folder / "ids")).selectExpr(*columns.split(", "))
    jobs = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup(says, says)
    for function in (score, aggregate):
        with pytest.raises((InvalidInputError, TypeError)) as refused:
            function(queries, **{"match_method": "id", **call})
        assert says in str(refused.value)
    assert list(jobs.getJobIdsForGroup(says)) == []


@pytest.mark.parametrize(
    ("function", "columns", "call", "says"),
    [
        (aggregate, "*", {"intervals": 1.5}, "`intervals` must be a number between 0 and 1, got 1.5."),
        (aggregate, "*", {"max_bad_rows": -1}, "`max_bad_rows` must be an integer of at least 0, got -1."),
        (aggregate, "*", {"by": "model"}, "'model', which `by` names"),
        (aggregate, "*, 0.5D as model", {"by": ["model"]}, "`by` needs strings, integers,"),
        (score, "*", {"bad_rows": "skip"}, "`bad_rows` must be 'raise' or 'keep', got 'skip'."),
        (score, "*", {"names": "sql"}, "names"),
        (score, "*", {"keep": ["model"]}, "`keep` names the column 'model', and the input has none."),
        (score, "*", {"keep": 3}, "`keep` must be the names of columns"),
        (score, "*, 1 as `recall@5`", {}, "The output would have two columns 'recall@5'."),
        (score, "*, 1 as Recall_at_5", {"names": "safe"}, "the columns `Recall_at_5` and `recall_at_5`, which Spark"),
        (score, "*, 1 as error", {"bad_rows": "keep"}, "The output would have two columns 'error'."),
        (score, "*, map('a', interval '1' year) as age", {}, "`age` holds Spark's type 'interval year', which Python"),
    ],
)
def test_arguments_are_refused_before_any_job(
    spark: Any, folder: Path, function: Any, columns: str, call: dict[str, Any], says: str
) -> None:
    queries = spark.read.parquet(str(folder / "ids")).selectExpr(*columns.split(", ", 1))
    spark.sparkContext.setJobGroup(says, says)
    with pytest.raises(InvalidInputError) as refused:
        function(queries, 5, match_method="id", **call)
    assert says in str(refused.value)
    assert list(spark.sparkContext.statusTracker().getJobIdsForGroup(says)) == []


def test_columns_that_cannot_be_kept_need_not_be(spark: Any, folder: Path) -> None:
    queries = spark.read.parquet(str(folder / "groups"))
    others = queries.selectExpr("*", "1 as Recall_at_5", "interval '1' year as age")
    call: dict[str, Any] = {"match_method": "id", "metrics": "recall", "names": "safe", "allow_repeated_ids": True}
    with pytest.raises(InvalidInputError, match=r'as in `keep=\["model"\]`'):
        score(others, 5, **call)
    assert score(others, 5, keep=["model"], **call).columns == [
        "query_id", "model", "n_gold", "n_retrieved", "recall_at_5"
    ]  # fmt: skip


def test_intervals_without_scipy_are_refused_before_any_job(
    spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = spark.read.parquet(str(folder / "ids"))
    monkeypatch.setitem(sys.modules, "scipy", None)
    spark.sparkContext.setJobGroup("scipy", "scipy")
    with pytest.raises(MissingDependencyError, match="scipy"):
        aggregate(queries, 5, match_method="id", intervals=True)
    assert list(spark.sparkContext.statusTracker().getJobIdsForGroup("scipy")) == []


@pytest.mark.parametrize(
    "type_",
    [
        "parse_json('{}')",
        "interval '1 02:03' day to minute",
        "cast('x' as binary)",
        "timestamp'2026-11-22 10:00:00'",
        "timestamp_ntz'2026-11-22 10:00:00'",
        "cast(1.5 as decimal(20, 3))",
        "named_struct('interval', array(map('a', null)))",
        "null",
    ],
)
def test_kept_columns_have_any_type(spark: Any, folder: Path, type_: str) -> None:
    queries = spark.read.parquet(str(folder / "ids")).selectExpr("*", f"{type_} as other").limit(3)
    kept = score(queries, 5, metrics="mrr", match_method="id", allow_repeated_ids=True)
    assert kept.schema["other"].dataType == queries.schema["other"].dataType
    (one,) = kept.selectExpr("cast(other as string)").distinct().collect()
    assert one == queries.selectExpr("cast(other as string)").first()


def test_what_is_not_grouped_by_plain_columns_is_refused(spark: Any, folder: Path) -> None:
    queries = spark.read.parquet(str(folder / "groups"))
    for by in (
        queries.rollup("model"),
        queries.groupBy("model").pivot("day"),
        queries.groupBy(),
        queries.selectExpr("*", "upper(model) as upper").groupBy(queries.model.substr(1, 1).alias("model")),
    ):
        with pytest.raises(InvalidInputError, match="it must be of plain columns"):
            aggregate(by, 5, match_method="id")
    with pytest.raises(InvalidInputError, match="`by` names columns by which"):
        aggregate(queries.groupBy("model"), 5, match_method="id", by="day")
    assert list(aggregate(queries.groupBy("model"), 5, match_method="id").groups or {}) == ["m1", "m2", None]


def test_a_metric_that_is_unknown_and_a_frame_that_is_none_of_sparks_are_refused(spark: Any) -> None:
    with pytest.raises(UnknownMetricError, match="Did you mean 'ndcg'"):
        score(spark.range(1), metrics="ndgc", match_method="id")
    with pytest.raises(InvalidInputError, match=r"Expected a Spark DataFrame, got builtins.list."):
        aggregate(cast(Any, []), match_method="id")


def test_where_nothing_matches_the_driver_looks_at_its_first_rows(spark: Any, folder: Path) -> None:
    queries = spark.read.parquet(str(folder / "groups")).selectExpr(
        "query_id", "actual", "array(named_struct('id', 'Elsewhere')) as predicted"
    )
    warned = warned_by(lambda: aggregate(queries, 5, metrics="recall", match_method="id"))
    assert re.match(
        r"Not one id matches\. Gold ids look like 'document-\d+'.* retrieved ids like 'Elsewhere'\.", warned
    )


def test_the_function_that_grouped_logs_is_missed_with_the_page_that_replaces_it() -> None:
    with pytest.raises(ImportError, match=r"`from_long` was removed\. .* docs/scale\.md#spark"):
        getattr(importlib.import_module("krag_eval_spark"), "from_long")  # noqa: B009 - types know no such name


def test_the_example_runs_in_the_session_that_there_is(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert example(["--k", "1", "30", "--by", "topic", "--output", str(tmp_path / "scores")]) == 0
    printed = capsys.readouterr().out
    assert "2000 rows with the columns query_id, topic, n_gold, n_retrieved, hit_rate_at_1" in printed
    assert "EvaluationResult of 2,000 queries" in printed
    assert "3 groups by topic" in printed
    assert len(list((tmp_path / "scores").glob("*.parquet"))) > 0
