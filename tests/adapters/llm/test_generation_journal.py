"""A generation goes on where it was stopped, asks nothing twice, and refuses the journal of another one."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, KragEvalWarning
from krag_eval._utils.journal.keyed import KeyedJournal
from krag_eval._utils.journal.rows import read_journal
from krag_eval_llm import ModelSetupError, as_language_model
from krag_eval_llm.question_generation import GeneratedEvalSet
from krag_eval_llm.question_generation.generate import GENERATION_JOURNAL
from tests.support.generation_cases import CHUNKS, Writer, generate, moody


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [row for _, row in read_journal(path, GENERATION_JOURNAL) if GENERATION_JOURNAL.header not in row]


def test_every_answer_is_a_row_also_those_that_were_not_used(tmp_path: Path) -> None:
    path, writer = tmp_path / "new" / "journal.jsonl", Writer(moody)
    made = generate(writer, n=12, journal=path)
    rows = rows_of(path)
    assert len(rows) == len(writer.prompts) > 12
    assert len({row["key"] for row in rows}) == len(rows)
    assert {row.get("reason") for row in rows} == {None, "bad_json", "refused"}
    assert len(made) == 12
    (_, header), *_ = read_journal(path, GENERATION_JOURNAL)
    assert (header["krag_eval_generation"], header["model"], header["n"]) == (1, "Writer", 12)


def test_a_finished_generation_is_not_asked_again_and_gives_the_same(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    made, whole = generate(Writer(moody), n=12, journal=path), path.read_bytes()
    again = Writer(moody)
    resumed = generate(again, n=12, journal=path)
    assert (again.prompts, path.read_bytes()) == ([], whole)
    assert resumed.evalset == made.evalset
    assert resumed.report.types == made.report.types
    assert resumed.report.n_found == len(rows_of(path))
    assert f"{resumed.report.n_found} answers were already in the journal" in str(resumed)


@pytest.mark.sample(2)
@pytest.mark.parametrize("concurrency", [1, 3])
def test_wherever_it_was_cut_off_it_ends_as_the_undisturbed_one_does(tmp_path: Path, concurrency: int) -> None:
    whole_path, path = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    wanted = generate(Writer(moody), n=8, journal=whole_path)
    whole, n_rows = whole_path.read_bytes(), len(rows_of(whole_path))
    ends = list(re.finditer(rb"\n", whole))  # a row is whole without the end of its line, too
    for length in range(0, len(whole), len(whole) // 9):
        path.write_bytes(whole[:length])
        writer = Writer(moody)
        assert generate(writer, n=8, journal=path, concurrency=concurrency).evalset == wanted.evalset
        assert len(writer.prompts) == n_rows - sum(end.start() <= length for end in ends[1:])


@pytest.mark.parametrize("concurrency", [1, 3])
def test_an_answer_is_a_row_before_its_place_is_given_to_the_next_prompt(
    tmp_path: Path, concurrency: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, rows, n_lacking = KeyedJournal.put, list[str](), list[int]()

    def slow_put(journal: KeyedJournal, key: str, row: Mapping[str, Any]) -> None:
        time.sleep(0.01)
        put(journal, key, row)
        rows.append(key)

    def note(kind: str, answer: dict[str, str], prompt: str) -> Any:
        n_lacking.append(len(writer.prompts) - 1 - len(rows))
        return answer

    monkeypatch.setattr(KeyedJournal, "put", slow_put)
    writer = Writer(note)
    generate(writer, n=8, journal=tmp_path / "journal.jsonl", concurrency=concurrency)
    assert len(n_lacking) >= 8
    assert max(n_lacking) < concurrency


DIFFERENT: dict[str, tuple[dict[str, Any], str]] = {
    "chunks": ({"chunks": CHUNKS[1:]}, "chunks '"),
    "a text": ({"chunks": [{**CHUNKS[0], "text": "Quite another text stands here."}, *CHUNKS[1:]]}, "chunks '"),
    "a prompt": ({"prompts": {"retry": "{reason}"}}, "prompts '"),
    "a seed": ({"seed": 1}, "seed 0 there, 1 now"),
    "a number": ({"n": 9}, "n 8 there, 9 now"),
    "a language": ({"language": "en"}, "language 'auto' there, 'en' now"),
    "types": ({"types": ["literal"]}, "types ["),
    "a threshold": ({"near_duplicates": 0.9}, "near duplicates 0.85 there, 0.9 now"),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize(("change", "message"), DIFFERENT.values(), ids=DIFFERENT)
def test_the_journal_of_another_generation_is_refused_and_left_alone(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "journal.jsonl"
    generate(Writer(), journal=path)
    whole, writer = path.read_bytes(), Writer()
    with pytest.raises(InvalidInputError) as refused:
        generate(writer, journal=path, **change)
    assert str(refused.value).startswith(f"{path}:1: is the journal of another generation: ")
    assert message in str(refused.value)
    assert (writer.prompts, path.read_bytes()) == ([], whole)


def test_another_model_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    generate(Writer(), journal=path)
    with pytest.raises(InvalidInputError, match="model 'Writer' there, '__call__' now"):
        generate(Writer().__call__, journal=path)


def test_the_journal_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"krag_eval_run": 1}\n')
    with pytest.raises(InvalidInputError, match=r":1: is not a journal of a generation"):
        generate(Writer(), journal=path)


def test_a_row_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    generate(Writer(), journal=path)
    path.write_bytes(path.read_bytes().replace(b"How soon", b"How late", 1))
    with pytest.raises(InvalidInputError, match="the checksum of the row is wrong"):
        generate(Writer(), journal=path)


class Down(Writer):
    """Out of reach after so many prompts."""

    def __init__(self, after: int) -> None:
        super().__init__(moody)
        self.after = after

    def __call__(self, prompt: str) -> str:
        if len(self.prompts) >= self.after:
            raise ConnectionError("refused")
        return super().__call__(prompt)


def model_of(writer: Writer) -> Any:
    model = as_language_model(writer, retries=0)
    model.name = "Writer"
    return model


def test_after_an_outage_everything_without_an_answer_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with pytest.warns(KragEvalWarning, match="Rerun with the same journal to resume"):
        part = generate(model_of(Down(6)), n=12, journal=path)
    assert len(rows_of(path)) == 6
    assert 0 < len(part) < 12
    assert generate(Writer(moody), n=12, journal=path).evalset == generate(Writer(moody), n=12).evalset


def test_a_chunk_that_got_no_answer_stays_so_until_it_is_to_be_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"

    def fail(kind: str, answer: dict[str, str], prompt: str) -> dict[str, str]:
        if "refunds" in prompt:
            raise ConnectionError("refused")
        return answer

    made = generate(model_of(Writer(fail)), n=10, journal=path)
    assert made.report.dropped["unreachable"] >= 1
    writer = Writer()
    assert generate(writer, n=10, journal=path).evalset == made.evalset
    assert writer.prompts == []
    assert generate(writer, n=10, journal=path, retry_errors=True).evalset == generate(Writer(), n=10).evalset


def test_what_stops_everything_leaves_what_was_answered_in_the_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"

    class Broken(Writer):
        def __call__(self, prompt: str) -> str:
            if len(self.prompts) == 3:
                raise TypeError("a mistake")
            return super().__call__(prompt)

    with pytest.raises(ModelSetupError, match=r"a mistake.* 3 answers of the model are in .*Rerun it to resume"):
        generate(model_of(Broken()), journal=path)
    assert len(rows_of(path)) == 3
    writer = Writer()
    generate(writer, journal=path)
    assert len(writer.prompts) == 5


CANARY = "canary-0123456789"


def test_a_key_never_gets_into_the_journal_nor_into_the_report(tmp_path: Path) -> None:
    class Keyed(Writer):
        api_key = None

        def __call__(self, prompt: str) -> str:
            self.api_key = CANARY
            if "refunds" in prompt:
                raise ConnectionError(f"refused with {CANARY}")
            return "my key is " + CANARY if "parcels" in prompt else super().__call__(prompt)

    writer = Keyed()
    writer.api_key = CANARY
    made: GeneratedEvalSet = generate(model_of(writer), n=10, journal=tmp_path / "journal.jsonl")
    assert made.report.dropped["unreachable"] >= 1
    assert made.report.dropped["bad_json"] >= 1
    shown = (tmp_path / "journal.jsonl").read_text() + str(made) + json.dumps(made.report.to_dict()) + repr(made)
    assert CANARY not in shown
    assert "refused with [key]" in shown


def test_rows_are_looked_up_by_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with KeyedJournal(path, GENERATION_JOURNAL, {"k": 1}) as journal:
        journal.put("a", {"x": 1})
        assert (journal.get("a"), journal.get("b"), len(journal)) == ({"x": 1}, None, 1)
    with pytest.raises(InvalidInputError, match="k 1 there, 2 now"):
        KeyedJournal(path, GENERATION_JOURNAL, {"k": 2})
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[1])
    with pytest.raises(InvalidInputError, match=r":3: the key 'a' appears twice"):
        KeyedJournal(path, GENERATION_JOURNAL, {"k": 1})
    with pytest.raises(InvalidInputError, match="`journal` must be the path of a file"):
        KeyedJournal("", GENERATION_JOURNAL, {})
