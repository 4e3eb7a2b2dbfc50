"""What the end of a run says of tests that were skipped."""

from __future__ import annotations

from types import SimpleNamespace

from tests import conftest


def test_skips_are_counted_in_one_line_by_what_they_need() -> None:
    reasons = ["need a browser (cure)", "need real data (cure)", "need a browser (cure)"]
    skipped = [SimpleNamespace(longrepr=("tests/test_one.py", 7, f"Skipped: {reason}")) for reason in reasons]
    assert _written({"skipped": skipped, "passed": [SimpleNamespace()]}) == [
        "3 tests skipped on this machine: 2 need a browser (cure); 1 need real data (cure)"
    ]
    assert _written({"passed": [SimpleNamespace()]}) == []


def _written(stats: dict[str, list[SimpleNamespace]]) -> list[str]:
    lines: list[str] = []
    terminal = SimpleNamespace(stats=stats, write_line=lines.append)
    list(conftest.pytest_terminal_summary(terminal))  # type: ignore[arg-type]
    return lines
