"""What `make bench` writes for readers, and what it says on the terminal about our targets."""

from __future__ import annotations

from benchmarks import page, targets
from benchmarks.harness import Row

TABLES = {
    "ids": [
        Row(work="10 queries", peer="ranx, its evaluate alone", ours=0.5, theirs=1.0, asked=4.0, profile="a profile"),
        Row(work="10 queries", peer="ranx, from lists of ids", ours=0.5, theirs=5.0, asked=4.0),
    ],
    "memory": [Row(work="a stream", peer="", ours=43.0, asked=500.0, unit="MB", note="30 MB are imports")],
    "import": [Row(work="import krag_eval", peer="", ours=0.07)],
}


def test_the_page_has_every_figure_and_the_range_of_each_tool_but_no_target() -> None:
    written = page.render(TABLES, ["**Date**: today"])
    for line in (
        "| Match by id | ranx | 2 x to 10 x |",
        "| 10 queries | ranx, its evaluate alone | 0.5 s | 1 s | 2 x |",
        "| a stream | 43 MB | 30 MB are imports |",
        "| import krag_eval | 0.07 s |",
        "* **Date**: today",
    ):
        assert line in written.splitlines()
    assert "at least" not in written
    assert "a profile" not in written


def test_the_page_says_how_far_each_line_is_from_its_limit() -> None:
    limited = Row(work="Kiwi", peer="krag", ours=3.0, theirs=90.0, limit=2.0, limited_by="Kiwi alone")
    alone = Row(work="a file", peer="", ours=10.0, unit="MB", limit=8.0, limited_by="a copy")
    written = page.render({"ids": [limited], "memory": [alone], "import": TABLES["import"]}, [])
    lines = written[written.index("## How far each line is from its limit") :].splitlines()
    assert "| Kiwi | 3 s | 90 s (krag) | 2 s | 1.5 x | Kiwi alone |" in lines
    assert "| a file | 10 MB |  | 8 MB | 1.25 x | a copy |" in lines
    assert not any("import" in line and line.startswith("|") for line in lines)


def test_the_terminal_says_how_many_targets_were_reached_and_which_were_missed() -> None:
    count, missed, profile = targets.report(TABLES)
    assert count == "Targets: 2 of 3 reached"
    assert "10 queries, compared with ranx, its evaluate alone: 2 x, target at least 4 x." in missed
    assert "a profile" in profile


def test_without_targets_nothing_is_said_of_them() -> None:
    assert list(targets.report({"import": TABLES["import"]})) == []
