"""Errors carry the argument, what it must be and what was given; checks of arguments raise such errors."""

from __future__ import annotations

import copy
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, KragEvalWarning, read_evalset
from krag_eval._utils.checks import check_count, check_kind, check_number, check_path, one_of
from krag_eval._utils.errors import Argument, errors_at, refuse, warn, with_name

# A check, what it refuses, and what the error carries.
REFUSED: list[tuple[Any, object, str, str]] = [
    (partial(check_number, least=0, most=1), 1.5, "a number from 0 to 1", "1.5"),
    (partial(check_number, least=0, most=1), float("nan"), "a number from 0 to 1", "nan"),
    (partial(check_number, above=0), 0, "a number above 0", "0"),
    (partial(check_number, above=0, below=1), "95", "a number between 0 and 1", "'95'"),
    (partial(check_number, least=0), float("inf"), "a number of at least 0", "inf"),
    (check_count, 0, "an integer of at least 1", "0"),
    (check_count, True, "an integer of at least 1", "True"),
    (partial(check_count, least=0), False, "an integer of at least 0", "False"),
    (partial(check_count, least=100), 1e4, "an integer of at least 100", "10000.0"),
    (partial(check_count, most=50), 51, "an integer from 1 to 50", "51"),
    (partial(one_of, known=["a", "b"]), "A", "one of 'a', 'b'", "'A'"),
    (partial(check_kind, kind=InvalidInputError, cure="Make one."), object(), "an InvalidInputError", "an object"),
    (lambda _, value: check_path(value), 5, "a string or a Path", "5"),
]


@pytest.mark.parametrize(("check", "value", "expected", "got"), REFUSED)
def test_a_check_says_what_is_wrong_and_what_is_expected(check: Any, value: object, expected: str, got: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        check("path", value)
    error = raised.value
    assert (error.argument, error.expected, error.got) == ("path", expected, got)
    assert str(error).startswith(f"`path` must be {expected}, got {got}.")


def test_bounds_themselves_are_numbers_that_can_be_used() -> None:
    assert check_number("x", 0, least=0, most=1) + check_number("x", 1, least=0, most=1) == 1
    assert check_count("x", 50, most=50) == 50


def test_an_error_keeps_what_it_carries_in_copies_and_behind_places() -> None:
    with pytest.raises(InvalidInputError) as raised, errors_at("set.jsonl:3"):
        refuse("gold", "a list", {"force=True"}, "Leave out ", Argument("by"), ".", at="`searches[0]`")
    error = raised.value
    for one in (error, copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert str(one) == ("set.jsonl:3: `searches[0]`: `gold` must be a list, got {'force=True'}. Leave out `by`.")
        assert (one.argument, one.expected, one.got) == ("gold", "a list", "{'force=True'}")
        assert Argument("by") in one.args


def test_a_message_about_a_row_of_a_file_names_its_column(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    for row, said in (
        ('"질문": "?", "정답": 5', "`정답[0]`: an int is"),
        ('"질문": 5, "정답": []', "`질문` must be a string"),
    ):
        path.write_text(f"{{{row}}}\n", encoding="utf-8")
        with pytest.raises(InvalidInputError) as raised:
            read_evalset(path, columns={"question": "질문", "gold": "정답"})
        assert str(raised.value).startswith(f"{path}:1: {said}")


def test_a_warning_has_parts_too() -> None:
    with pytest.warns(KragEvalWarning) as caught:
        with_name("bm25", lambda: warn("Nothing matches. Pass ", Argument("id_key", "a 'b'"), "."))
    (warning,) = caught
    assert str(warning.message) == "bm25: Nothing matches. Pass id_key=\"a 'b'\"."
    assert isinstance(warning.message, Warning)
    assert Argument("id_key", "a 'b'") in warning.message.args


def test_what_was_given_is_shown_in_a_few_characters_and_without_secrets() -> None:
    with pytest.raises(InvalidInputError) as raised:
        refuse("documents", "a list", "x" * 10_000)
    assert len(str(raised.value)) < 150
    with pytest.raises(InvalidInputError) as raised:
        refuse("address", "a path", "https://me:secret@host/")
    assert "secret" not in str(raised.value) + str(raised.value.got)
    error = InvalidInputError(Argument("out", "https://me:secret@host/"), " cannot be written.")
    assert "secret" not in str(error) + repr(error.args)
