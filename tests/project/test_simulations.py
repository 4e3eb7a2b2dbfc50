"""The simulations behind benchmarks/statistics.md run, and its tables are those of the code as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import renew_statistics, simulate_statistics
from benchmarks.renew_statistics import PAGE, RENEW
from benchmarks.simulate_statistics import END, START, hash_of_code, tables


def _simulated() -> str:
    return PAGE.read_text(encoding="utf-8").partition(START)[2].partition(END)[0]


def test_the_tables_of_the_page_are_those_of_the_code_as_it_is() -> None:
    dated = re.search(r"Simulated on (\d{4}-\d\d-\d\d) in (\d+) minutes by .* hash of the code: `(\w+)`", _simulated())
    assert dated is not None, f"benchmarks/statistics.md has no simulated tables. Run {RENEW}."
    assert int(dated[2]) <= 60
    assert dated[3] == hash_of_code(), (
        "krag_eval/statistics or a simulation has changed since the tables of benchmarks/statistics.md were computed. "
        f"Run {RENEW}, which takes up to an hour, and commit the page."
    )


def test_the_tables_are_written_into_that_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "statistics.md"
    page.write_text(f"before\n{START}\nold\n{END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(simulate_statistics, "PAGE", None)
    monkeypatch.setattr(simulate_statistics, "tables", lambda _: ["new"])
    monkeypatch.setattr(renew_statistics, "PAGE", page)
    monkeypatch.setattr("sys.argv", ["renew_statistics"])
    assert renew_statistics.main() == 0
    assert page.read_text(encoding="utf-8") == f"before\n{START}\nnew\n{END}\nafter\n"


def test_comments_docstrings_and_imports_change_no_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "krag_eval" / "statistics"
    folder.mkdir(parents=True)
    monkeypatch.setattr(simulate_statistics, "ROOT", tmp_path)
    found = []
    for text in (
        'def f(n):\n    """Return n."""\n    return n\n',
        "def f(n):  # the same\n    return n\n",
        "import m\n\ndef f(n):\n    from m import g\n\n    return n\n",
        "def f(n):\n    return n + 1\n",
    ):
        (folder / "one.py").write_text(text, encoding="utf-8")
        found.append(hash_of_code())
    assert found[0] == found[1] == found[2] != found[3]


def _without_sizes(line: str) -> str:
    """Return the head of a table without columns that are numbers of queries: tiny tables have fewer of them."""
    return re.sub(r"\| [\d,]+ (?=\|)", "", line)


@pytest.mark.full
def test_the_simulation_runs_and_makes_every_table_of_the_page() -> None:
    lines = {_without_sizes(line) for line in tables(smoke=True)}
    page = _simulated().splitlines()
    heads = [_without_sizes(page[number - 1]) for number, line in enumerate(page) if line.startswith(("| --", "| ---"))]
    assert len(heads) > 10
    assert [head for head in heads if head not in lines] == []
