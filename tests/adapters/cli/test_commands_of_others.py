"""Commands that packages beside the command line bring: one that cannot be loaded is one line, and the others work."""

from __future__ import annotations

import pytest

from krag_eval._utils.plugins import offered
from krag_eval_cli.app import BESIDE
from tests.support.command_line import Runner
from tests.support.plugins import Offer


def test_the_commands_of_the_packages_beside_are_offered() -> None:
    assert set(offered(BESIDE)) >= {"bench", "generate"}


@pytest.mark.usefixtures("broken")
def test_a_broken_command_is_one_line_and_the_others_work(offer: Offer, command: Runner) -> None:
    offer(BESIDE, "bad", "plugin_raises:bad")
    offer(BESIDE, "new", "plugin_new:new")
    assert command("new").out == "hello\n"
    listed = command("--help")
    assert listed.code == 0
    assert "cannot be loaded" in listed.out
    for line in ("bad", "bad runs.jsonl --out scores.csv -k 3"):
        outcome = command(line)
        assert outcome.code == 2
        assert outcome.err.count("\n") == 1
        assert "ZeroDivisionError" in outcome.err
    assert command("inspect --help").code == 0
