"""No file takes more than 50 times its size in memory, beside a fixed 64 MB, and what it is told stays short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from krag_eval import InvalidInputError, evaluate, set_limits
from krag_eval._utils.errors import did_you_mean
from krag_eval.analysis.gate import read_policy
from tests.support.hostile_files import HOSTILE, Measured, measuring

MB = 2**20
ALLOWANCE = 64 * MB
LONGEST = 9_000  # of a message


@pytest.fixture(scope="module")
def measure() -> Iterator[Callable[[str, int, Path], Measured]]:
    with measuring() as measure:
        yield measure


@pytest.mark.full
@pytest.mark.parametrize("name", HOSTILE)
def test_memory_follows_the_file_and_the_message_stays_short(
    name: str, tmp_path: Path, measure: Callable[[str, int, Path], Measured]
) -> None:
    measured = measure(name, HOSTILE[name].size, tmp_path)
    assert measured.memory <= 50 * measured.size + ALLOWANCE
    assert measured.seconds < 20
    assert len(measured.said) < LONGEST
    assert measured.said.startswith(
        ("read", "InvalidInputError", "UnknownMetricError", "SystemExit: 0", "SystemExit: 2")
    ), measured.said


def test_a_policy_of_too_many_things_or_too_deep_keys_is_refused_by_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    requirement = '[gate]\nrequire = ["recall@5 >= 0.1"]\n'
    for content in (
        "".join(f"[slices.type.t{i}]\n" for i in range(7_000)),
        "[gate]\nrequire = [" + '"recall@5 >= 0.1", ' * 200_000 + "]",
        "# " + "a" * 600_000,
        "a" + ".a" * 5_000 + " = 1",
        '"a"' + '."."' * 5_000 + " = 1",
        "x = {" + "a.b = 1, " * 7_000 + "}",
    ):
        path.write_text(requirement + content, encoding="utf-8")
        with pytest.raises(InvalidInputError, match=r"gate\.toml: has (.* keys, tables and values|a line whose keys)"):
            read_policy(path)


def test_dots_and_brackets_in_strings_and_comments_of_a_policy_are_no_keys(tmp_path: Path) -> None:
    path = tmp_path / "gate.toml"
    dots = "." * 300 + "[{=,"
    strings = [f'"{dots}\\"{dots}"', f"'{dots}'", f'"""{dots}\n"\\"{dots}"""', f"'''{dots}\n''{dots}'''"]
    text = f'# "{dots}\n[gate]\nrequire = ["recall@5 >= 0.1"]\n'
    for number, string in enumerate(strings):
        text += f"[slices.type.s{number}]\nrequire = []\n" if "\n" in string else f"[slices.source.{string}]\n"
    path.write_text(text, encoding="utf-8")
    assert len(read_policy(path).slices) == 4


def test_the_limit_of_a_policy_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRAG_EVAL_LIMITS", "")
    path = tmp_path / "gate.toml"
    path.write_text("[gate]\nrequire = [" + '"recall@5 >= 0.1", ' * 12_000 + "]", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r'set_limits\(policy="25k"\)'):
        read_policy(path)
    set_limits(policy="25k")
    assert len(read_policy(path).demands.require) == 12_000


@pytest.mark.full
def test_a_message_that_quotes_a_hundred_kilobytes_keeps_its_beginning_and_its_end() -> None:
    with pytest.raises(InvalidInputError, match="characters left out") as error:
        evaluate([["a"]], [["a"]], metrics="recal" * 20_000)
    assert len(str(error.value)) < LONGEST
    assert str(error.value).startswith("Unknown metric")
    assert "Known metrics" in str(error.value)


def test_no_name_of_a_megabyte_is_compared_and_of_a_million_names_the_first_ones() -> None:
    long = "ab" * 500_000
    assert did_you_mean(long + "x", [long]) == ""
    assert did_you_mean("recal", [long, "recall"]) == " Did you mean 'recall'?"
    taken: list[int] = []

    def names() -> Iterator[str]:
        for number in range(100_000):
            taken.append(number)
            yield f"name {number}"

    did_you_mean("x", names())
    assert len(taken) < 20_000
