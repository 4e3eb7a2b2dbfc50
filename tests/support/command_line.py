"""A fixture that calls `krag-eval` in this process, in an empty folder."""

from __future__ import annotations

import functools
import importlib.metadata
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from krag_eval._utils.limits import LIMITS_VARIABLE
from krag_eval.cli import main


class Outcome(NamedTuple):
    code: int | str | None
    out: str
    err: str


Runner = Callable[..., Outcome]


@functools.cache
def cached_makers() -> tuple[Callable[..., object], Callable[..., object]]:
    """`app_of` of ours and `get_command` of typer, cached: making the commands takes most of the time of a call.

    They keep nothing between calls. What packages offer is a part of the key, as some tests offer something else.
    """
    import typer.main  # some environments have no command line

    from krag_eval.cli.app import app_of

    @functools.cache
    def cached_app(commands: tuple[str, ...] | None, is_list: bool, entry_points: object) -> object:
        return app_of(commands, is_list=is_list)

    def cached_app_of(commands: Sequence[str] | None = None, *, is_list: bool = False) -> object:
        return cached_app(commands and tuple(commands), is_list, importlib.metadata.entry_points)

    return cached_app_of, functools.cache(typer.main.get_command)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Runner]:
    """Calls `krag-eval` with a line, read as a shell reads it, and with further arguments just as they are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    app_of, get_command = cached_makers()
    monkeypatch.setattr("krag_eval.cli.app.app_of", app_of)
    monkeypatch.setattr("typer.main.get_command", get_command)
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "PYTHONIOENCODING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")  # a dumb terminal has no colours

    def call(line: str, *arguments: str) -> Outcome:
        monkeypatch.delenv(LIMITS_VARIABLE, raising=False)  # a process has one command
        monkeypatch.setattr(sys, "argv", ["krag-eval", *shlex.split(line), *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main()
        return Outcome(exit_.value.code, *capsys.readouterr())

    yield call
    for name in [name for name, module in sys.modules.items() if str(tmp_path) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]
