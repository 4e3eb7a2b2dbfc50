"""One table with a row per run: which columns, what is marked, and that every format escapes names."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from krag_eval import (
    EvaluationResult,
    InvalidInputError,
    KragEvalWarning,
    UnknownMetricError,
    __version__,
    evaluate,
    evaluate_ids,
    intervals_of,
)
from krag_eval_report import leaderboard

GOLD = [["a"], ["b"], ["c"], ["d"]]
RUNS = {
    "bm25": [["a"], ["x", "b"], ["c"], ["x"]],
    "dense": [["a"], ["b"], ["x", "y"], ["d"]],
    "all": [["a"], ["b"], ["c"], ["x"]],
}
SIGNATURE = f"match:id|repeat:once|pden:retrieved|gain:exp|hit:partial|k:2|v:{__version__}"


def results(**settings: Any) -> dict[str, EvaluationResult]:
    usual: dict[str, Any] = {"k": 2, "metrics": ["recall", "mrr"]}
    return {name: evaluate_ids(GOLD, run, **(usual | settings)) for name, run in RUNS.items()}


def test_it_prints_a_row_per_run_and_marks_the_best_of_each_column() -> None:
    assert repr(leaderboard(results())).splitlines() == [
        "3 runs, 4 queries, values at 2",
        "run    recall      mrr",
        "bm25   0.7500   0.6250",
        "dense  0.7500  *0.7500",
        "all    0.7500  *0.7500",
        "* the best value of its column; others may be as good",
        SIGNATURE,
    ]


def test_without_further_wishes_the_columns_are_few() -> None:
    assert leaderboard(results(k=(1, 2))).keys == ("recall@1", "recall@2", "mrr@1", "mrr@2")
    many = leaderboard(results(k=(1, 2, 3), metrics=None)).keys
    assert many == tuple(f"{m}@3" for m in ("hit_rate", "mrr", "recall", "precision", "f1", "map", "ndcg"))
    assert leaderboard(results(k=(1, None), metrics=None)).keys[-1] == "ndcg"
    chosen = leaderboard(results(), ["mrr@2", "micro_recall@2", "mrr@2"])
    assert chosen.keys == ("mrr@2", "micro_recall@2")


def test_a_value_that_one_run_lacks_is_an_empty_cell() -> None:
    scored = results() | {"more": evaluate_ids(GOLD, RUNS["all"], k=2, metrics=["recall", "ndcg"])}
    board = leaderboard(scored)
    assert board.keys == ("recall@2", "mrr@2", "ndcg@2")
    assert board.to_dicts()[0]["ndcg@2"] is None
    assert board.best["ndcg@2"] == frozenset()


def test_rows_keep_their_order_or_are_sorted_by_a_value() -> None:
    assert list(leaderboard(results()).results) == ["bm25", "dense", "all"]
    assert list(leaderboard(results(), sort_by="mrr@2").results) == ["dense", "all", "bm25"]
    redundant = {
        "twice": evaluate([["a"]], [["a", "a"]], k=2, metrics=["redundancy"]),
        "once": evaluate([["a"]], [["a", "b c"]], k=2, metrics=["redundancy"]),
    }
    board = leaderboard(redundant, sort_by="redundancy@2")
    assert list(board.results) == ["once", "twice"]
    assert board.best["redundancy@2"] == {"once"}


def test_what_prints_alike_is_marked_alike() -> None:
    gold = [["a"]] * 30_000
    wrong = {"perfect": 0, "1.0000": 1, "0.9999": 2}
    retrieved = {name: [["x"]] * n + gold[n:] for name, n in wrong.items()}
    scored = {name: evaluate_ids(gold, run, k=1, metrics=["recall"]) for name, run in retrieved.items()}
    assert leaderboard(scored).best["recall@1"] == {"perfect", "1.0000"}


def test_markdown_and_latex_show_the_best_in_bold_and_escape_names() -> None:
    scored = dict(zip(["a|b_1 & 50% #1", "x\\{y}~^$<b>", "plain\nname"], results().values(), strict=True))
    board = leaderboard(scored, ["mrr@2"])
    assert board.to_markdown() == (
        "| run | mrr@2 |\n|---|---:|\n| a\\|b_1 &amp; 50% #1 | 0.6250 |\n"
        "| x\\\\{y}\\~^\\$&lt;b&gt; | **0.7500** |\n| plain name | **0.7500** |"
    )
    assert board.to_latex() == (
        "\\begin{tabular}{lr}\n\\toprule\nrun & mrr@2 \\\\\n\\midrule\n"
        "a\\textbar{}b\\_1 \\& 50\\% \\#1 & 0.6250 \\\\\n"
        "x\\textbackslash{}\\{y\\}\\textasciitilde{}\\textasciicircum{}\\$\\textless{}b\\textgreater{} & "
        "\\textbf{0.7500} \\\\\n"
        "plain name & \\textbf{0.7500} \\\\\n\\bottomrule\n\\end{tabular}"
    )
    assert "micro\\_recall@2" in leaderboard(scored, ["micro_recall@2"]).to_latex()


def test_csv_and_pandas_have_full_precision_and_no_formulas() -> None:
    gold = [["a"]] * 3
    scored = {n: evaluate_ids(gold, [["a"], ["x"], [n]], k=1, metrics=["recall"]) for n in ("=cmd()", 'q",b')}
    board = leaderboard(scored)
    rows = list(csv.reader(io.StringIO(board.to_csv())))
    assert rows == [["run", "recall@1"], ["'=cmd()", repr(1 / 3)], ['q",b', repr(1 / 3)]]
    frame = board.to_pandas()
    assert frame.loc["=cmd()", "recall@1"] == 1 / 3
    assert list(frame.dtypes.astype(str)) == ["float64"]


def test_intervals_are_columns_of_their_own_if_asked_for() -> None:
    scored = results()
    board = leaderboard(scored, ["recall@2"], intervals=True)
    low, high = intervals_of(scored["bm25"])["recall@2"] or (0, 0)
    assert board.to_dicts()[0] == {"run": "bm25", "recall@2": 0.75, "recall@2 low": low, "recall@2 high": high}
    assert f"| bm25 | 0.7500 | {low:.4f} to {high:.4f} |" in board.to_markdown()
    assert leaderboard(results()).intervals == {}


def test_undefined_values_are_dashes_and_empty_cells() -> None:
    board = leaderboard({"none": evaluate_ids([[]], [["a"]], k=1, metrics=["recall"])}, sort_by="recall@1")
    assert "| none | - |" in board.to_markdown()
    assert board.to_csv().splitlines()[1] == "none,"
    assert board.to_pandas()["recall@1"].isna().all()


def test_a_notebook_shows_a_table() -> None:
    html = leaderboard(results() | {"<i>": results()["all"]})._repr_html_()
    assert "&lt;i&gt;" in html
    assert 'font-weight:bold">0.7500</td>' in html


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: evaluate([["a"]] * 4, [["a"]] * 4, k=2), r"by different settings \(match:id, match:text"),
        (lambda: evaluate_ids([["a"]], [["a"]], k=2), r"queries: 'bm25' has 4 queries and 'other' has 1 query"),
    ],
)
def test_runs_that_cannot_be_ranked_are_not(other: Any, message: str) -> None:
    with pytest.warns(KragEvalWarning, match=message):
        board = leaderboard(results() | {"other": other()})
    assert not any(board.best.values())
    assert "No value is marked." in repr(board)


def test_other_cut_offs_are_no_other_settings() -> None:
    board = leaderboard({"one": results()["all"], "two": results(k=(1, 2))["bm25"]}, ["mrr@2"])
    assert board.best["mrr@2"] == {"one"}


@pytest.mark.parametrize(
    ("given", "settings", "error", "message"),
    [
        ({}, {}, InvalidInputError, r"`results` is empty"),
        ([], {}, InvalidInputError, r"`results` is a list. Give results by name: leaderboard\(\{'bm25': result\}\)"),
        ({"a": 1}, {}, InvalidInputError, r"`results` has an int for 'a'"),
        (None, {"keys": "mrr@2"}, InvalidInputError, r"`keys` must be a list"),
        (None, {"keys": ["mrr@7"]}, UnknownMetricError, r"No result has a value 'mrr@7'.*k=7"),
        (None, {"sort_by": "ndcg@2"}, UnknownMetricError, r"No result has a value 'ndcg@2'"),
    ],
)
def test_what_cannot_be_shown_is_refused(given: Any, settings: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        leaderboard(results() if given is None else given, **settings)


def test_columns_are_named_as_other_tools_name_them() -> None:
    gold = [["a"], ["b"]]
    found, missed = evaluate_ids(gold, gold, k=[1, 5]), evaluate_ids(gold, [["a"], ["c", "b"]], k=[1, 5])
    board = leaderboard({"bm25": missed, "dense": found}, ["R@1"], sort_by="Recall@1", intervals=True)
    assert (board.keys, list(board.results)) == (("recall@1",), ["dense", "bm25"])
    row, interval = board.to_dicts()[0], intervals_of(found)["recall@1"]
    assert (row["recall@1 low"], row["recall@1 high"]) == interval
