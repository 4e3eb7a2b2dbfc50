"""What packages beside the core offer: missing, broken or of another version, it is one line, and all else works."""

from __future__ import annotations

import importlib.metadata
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Final

import pytest

from krag_eval import InvalidInputError, MissingDependencyError, evaluate
from krag_eval.__main__ import main
from krag_eval._utils.plugins import load, offered
from tests.support.plugins import Offer

COMMANDS: Final = "krag_eval.commands"


def test_what_is_not_offered_is_named_with_its_cure(offer: Offer) -> None:
    with pytest.raises(
        InvalidInputError, match=r"'file' of 'krag_eval\.reports' is missing\. Install krag-eval .* again"
    ):
        evaluate([["a"]], [["a"]], k=1).report("report.json")


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize(
    ("module", "says"),
    [
        ("plugin_raises", "ZeroDivisionError"),
        ("plugin_lacks", "ModuleNotFoundError"),
        ("plugin_none", "ModuleNotFoundError"),
        ("plugin_ends", "SystemExit"),
    ],
)
def test_what_cannot_be_loaded_is_named_with_its_cure(offer: Offer, module: str, says: str) -> None:
    offer("krag_eval.reports", "file", f"{module}:write")
    with pytest.raises(InvalidInputError, match=rf"'file' .*{module}:write.* cannot be loaded: {says}: .*pip install"):
        load("krag_eval.reports", "file")


def test_an_error_with_a_cure_of_its_own_is_raised_as_it_is(offer: Offer, monkeypatch: pytest.MonkeyPatch) -> None:
    def needs(_: EntryPoint) -> object:
        raise MissingDependencyError("krag-eval bench", "jsonschema", "llm")

    offer(COMMANDS, "bench", "krag_eval_llm:bench")
    monkeypatch.setattr(EntryPoint, "load", needs)
    with pytest.raises(MissingDependencyError, match="jsonschema"):
        load(COMMANDS, "bench")


def test_another_version_is_not_loaded(offer: Offer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    info = tmp_path / "krag_eval_old-0.0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: krag-eval-old\nVersion: 0.0.1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[krag_eval.commands]\nbench = krag_eval_llm:run_bench\n", encoding="utf-8")
    (entry,) = importlib.metadata.PathDistribution(info).entry_points
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: EntryPoints([entry]))
    with pytest.raises(InvalidInputError, match=r"'bench' comes from krag-eval-old 0\.0\.1, and this is krag-eval "):
        load(COMMANDS, "bench")


@pytest.mark.usefixtures("broken")
def test_what_is_offered_in_the_place_of_our_own_is_not_taken(offer: Offer) -> None:
    offer(COMMANDS, "bench", "plugin_new:new")
    offer(COMMANDS, "bench", "krag_eval_llm.commands.bench:bench")
    assert offered(COMMANDS)["bench"].value == "krag_eval_llm.commands.bench:bench"


def test_without_a_command_line_the_module_says_so_in_one_line(
    offer: Offer, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, capsys.readouterr().err.count("\n")) == (2, 1)
