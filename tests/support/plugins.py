"""Fixtures that offer other plugins than those that are installed."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

Offer = Callable[[str, str, str], None]


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Offer something else than what is installed."""
    found = list[EntryPoint]()

    def add(group: str, name: str, value: str) -> None:
        found.append(EntryPoint(name, value, group))

    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **which: EntryPoints(found).select(**which))
    return add


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, code in {
        "raises": "1 / 0",
        "lacks": "import no_such_package_of_ours",
        "ends": "raise SystemExit(3)",
    }.items():
        (tmp_path / f"plugin_{name}.py").write_text(code, encoding="utf-8")
    (tmp_path / "plugin_new.py").write_text('def new() -> None:\n    """Say hello."""\n    print("hello")\n', "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
