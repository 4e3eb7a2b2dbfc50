"""`plot()` of results, comparisons, leaderboards, funnels, sweeps and calibrations, and the text of each picture."""

from __future__ import annotations

import functools
import io
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

pytest.importorskip("matplotlib", reason="need the extra report")

from krag_eval import (
    InvalidInputError,
    Run,
    RunRow,
    calibrate,
    compare,
    evaluate,
    evaluate_ids,
    evaluate_stream,
    funnel,
    sweep,
)
from krag_eval_labels import estimate
from krag_eval_report import leaderboard
from krag_eval_report.plots.objects import OF_COMPARISON, OF_RESULT
from tests.support.plot_cases import HOSTILE, gold, random_run

if TYPE_CHECKING:
    from krag_eval import EvaluationResult

KEYS = ["recall", "hit_rate", "mrr"]


@functools.cache
def result(number: int = 0) -> EvaluationResult:
    return evaluate(gold(), random_run(number), (1, 3), metrics=KEYS)


def two_stages() -> Any:
    stages = [
        {"name": "dense", "retrieved": [{"id": "a"}, {"id": "b"}]},
        {"name": "rerank", "inputs": ["dense"], "retrieved": [{"id": "a"}]},
    ]
    run = Run.of("two", [RunRow.from_dict({"query_id": "q", "stages": stages})])
    return funnel([{"id": "q", "gold_chunk_ids": ["a", "b", "d"]}], run, k=1)


def estimation() -> Any:
    rows = [RunRow.from_dict({"query_id": f"q{i}", "retrieved": [{"id": f"d{i}"}]}) for i in range(40)]
    labels = [{"query_id": f"q{i}", "document": {"id": f"d{i}"}, "label": i % 2} for i in range(40)]
    return estimate({"bm25": Run.of("bm25", rows)}, judge=labels, people=labels, k=1, probability=1)


def two() -> dict[str, EvaluationResult]:
    return {"bm25": result(0), "dense": result(1)}


def texts() -> tuple[list[list[str]], list[list[str]]]:
    given = [[f"alpha beta gamma number{n}"] for n in range(9)]
    return given, [[f"alpha beta x number{n % 7}"] for n in range(9)]


PAIRS = [("a b c d", "a b c x", True)] * 30 + [("a b c d", "a x y z", False)] * 5
PICTURES: dict[str, Callable[[], Any]] = {
    "result": lambda: result().plot(),
    "comparison": lambda: compare(two(), keys=["recall@3", "mrr@3"]).plot(),
    "leaderboard": lambda: leaderboard(two(), intervals=True).plot(),
    "frontier": lambda: leaderboard(two()).plot(cost={"bm25": 0.01, "dense": 0.2}, unit="seconds"),
    "funnel": lambda: two_stages().plot(),
    "sweep": lambda: sweep(*texts(), k=1, metrics=["recall"]).plot(),
    "calibration": lambda: calibrate(PAIRS, precision=0.9).plot(),
    "estimation": lambda: estimation().plot(),
}


@pytest.mark.parametrize("make", PICTURES.values(), ids=PICTURES.keys())
def test_each_picture_says_in_words_what_it_shows(make: Callable[[], Any]) -> None:
    figure = make()
    assert len(figure.alternative) > 30
    assert re.search(r"\d", figure.alternative)
    drawn = ET.fromstring(figure.to_svg())
    names = {"title": figure.heading, "desc": figure.alternative}
    said = {name: drawn.find(f"{{http://www.w3.org/2000/svg}}{name}") for name in names}
    assert {name: one is not None and one.text for name, one in said.items()} == names
    assert figure._repr_html_() == figure.to_svg()


def test_files_hold_the_text_of_the_picture(tmp_path: Path) -> None:
    figure: Any = result().plot()
    written: dict[str, bytes] = {}
    for ending in ("svg", "png", "pdf"):
        figure.savefig(tmp_path / f"plot.{ending}")
        written[ending] = (tmp_path / f"plot.{ending}").read_bytes()
    beginning = figure.alternative[:20]
    assert beginning in written["svg"].decode()
    assert beginning.encode() in written["png"]
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Title": "mine"})
    assert b"mine" in buffer.getvalue()


def test_a_copy_keeps_its_text() -> None:
    figure: Any = result().plot()
    again = pickle.loads(pickle.dumps(figure))
    assert (again.alternative, again.heading) == (figure.alternative, figure.heading)


@pytest.mark.parametrize("kind", OF_RESULT)
def test_a_result_has_each_kind_of_picture_or_says_that_nothing_is_to_be_drawn(kind: str) -> None:
    nothing = {"over_searches", "sweep", "over_size"}
    if kind in nothing:
        with pytest.raises(InvalidInputError):
            evaluate_ids([["a"]], [["a"]], k=(1, 3)).plot(kind)
    else:
        assert result().plot(kind).axes


@pytest.mark.parametrize("kind", OF_COMPARISON)
def test_a_comparison_has_each_kind_of_picture(kind: str) -> None:
    assert compare(two(), keys=["recall@3"]).plot(kind).axes


def test_the_differences_are_those_of_the_rows() -> None:
    found = compare(two(), keys=["recall@3"])
    (row,) = found.rows
    figure: Any = found.plot()
    points = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert [list(point.get_xdata()) for point in points] == [[row.difference]]
    assert row.verdict in figure.alternative


def test_the_frontier_joins_what_no_other_run_beats() -> None:
    runs = {"a": result(0), "b": result(1), "c": result(2)}
    values = {name: one["recall@1"] for name, one in runs.items()}
    cost = {"a": 1.0, "b": 2.0, "c": 3.0}
    figure: Any = leaderboard(runs, ["recall@1"]).plot(cost=cost)
    line = next(one for one in figure.axes[0].lines if one.get_marker() == "None")
    best = [n for n in runs if not any(cost[m] < cost[n] and values[m] >= values[n] for m in runs)]  # type: ignore[operator]
    assert list(line.get_ydata()) == [values[name] for name in best]


def test_a_streamed_result_has_the_picture_of_its_means() -> None:
    streamed = evaluate_stream(iter(zip(gold(), random_run(0), strict=True)), (1, 3), metrics=["recall"])
    assert streamed.plot().axes


@pytest.mark.full
def test_any_name_is_drawn(recwarn: pytest.WarningsRecorder) -> None:
    runs = {name: result(number) for number, name in enumerate(HOSTILE)}
    cost = {name: number + 1.0 for number, name in enumerate(HOSTILE)}
    drawn: list[Any] = [compare(runs, keys=["recall@3"]).plot(), leaderboard(runs).plot(cost=cost)]
    for figure in drawn:
        ET.fromstring(figure.to_svg())


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: result().plot("over_kk"),
        lambda: leaderboard(two()).plot(cost=3),
        lambda: leaderboard(two()).plot(cost={"another": 1.0}),
        lambda: replace(calibrate(PAIRS), curve=()).plot(),
    ],
)
def test_what_cannot_be_drawn_is_said(wrong: Callable[[], Any]) -> None:
    with pytest.raises(InvalidInputError):
        wrong()


def test_without_matplotlib_the_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['matplotlib'] = None; import krag_eval as k;"
        "r = k.evaluate_ids([['a']], [['a']], k=(1, 3));"
        "exec('try:\\n r.plot()\\nexcept k.MissingDependencyError as e:\\n print(e)')"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "krag-eval[report]" in told.stdout
