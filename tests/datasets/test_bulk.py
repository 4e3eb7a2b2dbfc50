"""Files that are read in bulk hold what reading each line by itself finds, and are refused with the same message."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from krag_eval import InvalidInputError, KragEvalWarning, read_evalset, read_run
from krag_eval._utils.files import strict_json
from krag_eval._utils.journal.rows import seal
from krag_eval.datasets import bulk

IDS = st.sampled_from(["a", "b", "д", 7, "", None, True, 1.5])
TEXTS = st.sampled_from(["plain", 'a ":b', "foo : bar", " :", "\u2028\x85", "\ud800", "1e999", 3])
NUMBERS = st.sampled_from([0, 1, 0.5, -1, 2**63, 2**64 + 1, 10**400, 1e300, "x", None, True])
METADATA: st.SearchStrategy[object] = st.sampled_from(
    [{"source": "s"}, {"id": "m"}, {"deep": {"list": [1, {"x": 2}]}}, {}, [], None]
)
PLAIN = st.fixed_dictionaries({"id": st.sampled_from("abc"), "text": st.sampled_from(["plain", "a: b"])})
ODD = st.fixed_dictionaries(
    {}, optional={"id": IDS, "text": TEXTS, "grade": NUMBERS, "score": NUMBERS, "metadata": METADATA, "title": TEXTS}
)
DOCUMENTS = st.lists(st.one_of(PLAIN, PLAIN, PLAIN, ODD, st.just("a text")), max_size=3)
FURTHER = {"metadata": METADATA, "note": NUMBERS}
QUESTIONS = st.fixed_dictionaries(
    {"gold": DOCUMENTS | st.none()},
    optional={"question": TEXTS, "gold_chunk_ids": st.lists(IDS, max_size=3), "gold_doc_ids": METADATA, **FURTHER},
)
RANKINGS = st.fixed_dictionaries(
    {"retrieved": DOCUMENTS | st.none()}, optional={"error": TEXTS, "seconds": NUMBERS, **FURTHER}
)
DAMAGE: dict[str, Callable[[str], str]] = {
    "none": lambda line: line,
    "key twice": lambda line: line[:-1] + ', "id": "again"}',
    "key twice after a space": lambda line: line[:-1] + ', "id" : "again"}',
    "key twice and a text like a key": lambda line: line[:-1] + ', "id" : 1, "x": ":"}',
    "key that ends with a backslash, twice": lambda line: line[:-1] + ', "a\\\\": 1, "a\\\\": 2, "x": "\\":"}',
    "spaces": lambda line: f" {line} ",
    "carriage return": lambda line: line + "\r",
    "two values": lambda line: f"{line} {line}",
    "a list": lambda line: f"[{line}]",
    "cut": lambda line: line[:-2],
    "infinite": lambda line: line[:-1] + ', "further": [1, {"x": -1e999}]}',
    "not a number": lambda line: line[:-1] + ', "further": NaN}',
    "long integer": lambda line: line[:-1] + ', "further": ' + "1" * 5000 + "}",
    "integer of 65 bits": lambda line: line[:-1] + f', "further": {2**64 + 1}}}',
    "integer below 64 bits": lambda line: line[:-1] + f', "further": [{-(2**63) - 1}]}}',
    "escaped half of a pair": lambda line: line[:-1] + ', "further": "\\ud800"}',
    "deep": lambda line: line[:-1] + ', "further": ' + "[" * 200 + "]" * 200 + "}",
    "deeper than the stack": lambda line: line[:-1] + ', "further": ' + "[" * 9000 + "]" * 9000 + "}",
    "empty": lambda line: "",
}


@pytest.fixture(params=["json", "orjson"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with the parser of Python, and with orjson where it is installed."""
    if request.param == "json":
        monkeypatch.setattr(strict_json, "_orjson_loads", lambda: None)
    else:
        pytest.importorskip("orjson", reason="needs orjson (pip install orjson)")


def _outcome(read: Any, path: Path) -> object:
    try:
        found = read(path)
    except (InvalidInputError, KragEvalWarning) as error:
        return str(error)
    return repr(list(found.rows.values()) if hasattr(found, "rows") else list(found))


def _one_by_one(read: Any, path: Path) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict_json, "parse_lines", lambda lines: None)
        patch.setattr("krag_eval._utils.journal.rows.parse_lines", lambda lines: None)
        patch.setattr(bulk, "read_questions", lambda rows: None)
        patch.setattr(bulk, "read_rankings", lambda rows: None)
        return _outcome(read, path)


@pytest.mark.sample(2)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(QUESTIONS, st.sampled_from(["none"] * 20 + list(DAMAGE))), min_size=1, max_size=9),
)
def test_of_questions(tmp_path: Path, rows: list[Any]) -> None:
    path = tmp_path / "set.jsonl"
    lines = [DAMAGE[damage](json.dumps({"id": f"q{number}", **row})) for number, (row, damage) in enumerate(rows)]
    path.write_bytes("\n".join(lines).encode())
    assert _outcome(read_evalset, path) == _one_by_one(read_evalset, path)


@pytest.mark.sample(2)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(RANKINGS, st.sampled_from(["none"] * 20 + list(DAMAGE))), min_size=1, max_size=9),
    is_journal=st.booleans(),
)
def test_of_rankings(tmp_path: Path, rows: list[Any], is_journal: bool) -> None:
    path = tmp_path / "run.jsonl"
    lines = []
    for number, (row, damage) in enumerate(rows):
        made = {"query_id": f"q{number}", **row}
        line = seal(made).decode().rstrip() if is_journal else json.dumps(made)
        lines.append(DAMAGE[damage](line))
    if is_journal:
        lines.insert(0, seal({"krag_eval_run": 1, "name": "r"}).decode().rstrip())
    path.write_bytes("\n".join(lines).encode())
    assert _outcome(read_run, path) == _one_by_one(read_run, path)


@pytest.mark.sample(7)
@pytest.mark.parametrize("damage", DAMAGE)
def test_each_damage_in_the_middle_of_many_plain_rows(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "run.jsonl"
    lines = [json.dumps({"query_id": f"q{n}", "retrieved": [{"id": "a", "score": 0.5}]}) for n in range(40)]
    lines[25] = DAMAGE[damage](lines[25])
    path.write_bytes("\n".join(lines).encode())
    assert _outcome(read_run, path) == _one_by_one(read_run, path)


def test_plain_rows_are_read_in_bulk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    documents = [{"id": "a", "text": 'at 10:30, a ": b', "metadata": {"page": 1}}, {"id": "b", "score": 1e-3}]
    rows = [{"query_id": f"q{n}", "retrieved": documents, "seconds": 0.5} for n in range(40)]
    path.write_text("\n".join(map(json.dumps, rows)))
    expected = _outcome(read_run, path)
    monkeypatch.setattr(strict_json, "parse_json", None)
    monkeypatch.setattr("krag_eval.datasets.run.RunRow.from_dict", None)
    assert _outcome(read_run, path) == expected
