"""What the core says in reports is what the English messages say, and every language has each of its sentences."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, Run, RunRow, compare, evaluate_ids, write_evalset
from krag_eval.toolkit import Said
from krag_eval_report import Report, build_report
from krag_eval_report.boards import Boards, read_boards
from krag_eval_report.html.matrices import matrix_of
from krag_eval_report.languages import language_of, languages
from krag_eval_report.leaderboards import leaderboard_markdown, sections_of_boards
from krag_eval_report.plots import PLOTS
from krag_eval_report.plots.drawing import add_caption
from krag_eval_report.sections import sections_of
from krag_eval_report.sections.overview import overview_of
from tests.adapters.report.test_messages import CODES, Seen, messages_of
from tests.support import table_cases
from tests.support.page_cases import shop


def texts_of(thing: Any) -> Iterator[str]:
    """Every text in sections, tables and cells, and in what is said within what is said."""
    if isinstance(thing, str):
        yield thing
        if isinstance(thing, Said):
            yield from texts_of(list(thing.arguments.values()))
    elif isinstance(thing, (list, tuple)):
        for one in thing:
            yield from texts_of(one)
    elif is_dataclass(thing):
        yield from texts_of([getattr(thing, field.name) for field in fields(thing) if field.name not in NOT_SHOWN])


NAMES = {"doc", "hit", "rate", "recall", "Holm", "Tukey", "HSD", "Hedges", "kept", "max"}
# What programs read, not people.
NOT_SHOWN = ("key", "value", "group", "door", "tone")


@functools.cache
def reports() -> dict[str, Report]:
    twice = [["a"], ["b"], ["c"], ["d"]]
    pairs = {
        "one": evaluate_ids(twice, [["a"], ["b"], ["x"], ["d"]], k=1),
        "two": evaluate_ids(twice, [["a"], ["x"], ["c"], ["y"]], k=1),
        "three": evaluate_ids(twice, [["x"], ["x"], ["y"], ["d"]], k=1),
    }
    big = [[f"g{n}"] for n in range(40)]
    clear = {
        "good": evaluate_ids(big, big, k=1),
        "bad": evaluate_ids(big, [["g0"], *([["x"]] * 39)], k=1),
        "worse": evaluate_ids(big, [["x"], ["g1"], *([["x"]] * 38)], k=1),
    }
    labels = [f"c{n // 4}" for n in range(40)]
    pair = {name: clear[name] for name in ("good", "bad")}
    ids = [f"q{n}" for n in range(12)]
    fields = {"type": "a"}, {"type": "b"}
    questions = EvalSet(
        {"id": name, "question": name, "gold_chunk_ids": ["a", "b", "c"], **fields[place % 2]}
        for place, name in enumerate(ids)
    )
    stages: list[dict[str, Any]] = [
        {"name": "bm25", "retrieved": [{"id": "a"}, {"id": "b"}]},
        {"name": "rerank", "inputs": ["bm25"], "retrieved": [{"id": "x"}, {"id": "a"}]},
    ]
    rows = [{"query_id": name, "stages": stages} for name in ids[2:]]
    other: list[dict[str, Any]] = [
        {"query_id": ids[0], "stages": stages[:1]},
        {"query_id": ids[1], "error": "TimeoutError"},
    ]
    run = Run.of("pipeline", [RunRow.from_dict(row) for row in (*other, *rows)])
    return {
        **{name: make() for name, make in table_cases.REPORTS.items()},
        "shop": shop(),
        "all pairs": build_report(pairs, comparison=compare(pairs, baseline=None)),
        "decided": build_report(clear),
        "decided pair": build_report(pair),
        "pair the other way": build_report(pair, baseline="bad"),
        "clusters": build_report(pair, comparison=compare(pair, cluster=labels)),
        "stages": build_report(questions, {"pipeline": run}, k=1, by="type"),
        "no gold": build_report({"only": evaluate_ids([[], []], [["a"], []], k=1)}),
    }


def texts_of_plots(report: Report) -> Iterator[str]:
    """Every text of the plots of a report that remembers its message, with what they say to who cannot see them."""
    for plot in PLOTS.values():
        if (drawn := plot.draw(report)) is not None:
            add_caption(drawn, report)
            yield from texts_of([drawn.title, drawn.words])
            yield from texts_of([artist.get_gid() for artist in drawn.figure.findobj() if artist.get_gid()])


def boards(folder: Path) -> Boards:
    """A leaderboard of three runs: one whole, one with an error, one that lacks a row; and a file that is neither."""
    questions = EvalSet([{"id": f"q{n}", "question": f"{n}?", "gold_chunk_ids": [f"d{n}"]} for n in range(4)])
    write_evalset(questions, folder / "set.jsonl")
    rows: list[dict[str, Any]] = [{"query_id": f"q{n}", "retrieved": [{"id": f"d{n}"}]} for n in range(4)]
    failed: dict[str, Any] = {"query_id": "q3", "error": "TimeoutError"}
    runs = {"whole": rows, "failed": [*rows[:3], failed], "lacking": rows[:3]}
    for name, of_run in runs.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in of_run), encoding="utf-8")
    (folder / "neither.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    return read_boards(folder, baseline="whole")


@pytest.fixture(scope="module")
def said_texts(tmp_path_factory: pytest.TempPathFactory) -> list[Said]:
    every = [text for report in reports().values() for text in texts_of([sections_of(report), overview_of(report)])]
    for name in ("two runs", "stages"):
        every += texts_of([matrix_of(reports()[name], system) for system in reports()[name].systems])
        every += texts_of_plots(reports()[name])
    every += texts_of(sections_of_boards(boards(tmp_path_factory.mktemp("boards"))))
    return [text for text in every if isinstance(text, Said)]


def plain(text: str) -> str:
    """A text without the commas of thousands and without what isolates names."""
    return re.sub(r"(?<=\d),(?=\d{3})|[\u2068\u2069]", "", text)


def test_the_english_messages_say_what_the_core_says(said_texts: list[Said]) -> None:
    english = language_of("en")
    assert len({text.message for text in said_texts}) > 110
    for text in said_texts:
        assert plain(english.text(text)) == plain(str(text)), text.message


def test_each_message_of_the_core_is_there_with_the_arguments_that_the_core_gives(said_texts: list[Said]) -> None:
    english = messages_of("en")
    for text in said_texts:
        assert text.message in english, text
        used = {name.partition("-")[0] for name in Seen(english[text.message]).arguments}
        assert used <= {*text.arguments}, text.message


@pytest.mark.parametrize("code", [code for code in CODES if code != "en"])
def test_no_english_word_is_left_in_what_is_said(said_texts: list[Said], code: str) -> None:
    language = languages()[code]
    for text in said_texts:
        if all(isinstance(one, Said) for one in texts_of(text)):  # no name of a user or of a metric
            left = {*re.findall("[A-Za-z]{3,}", language.text(text))} - NAMES
            assert not left, f"{text.message}: {language.text(text)}"


def test_a_leaderboard_in_russian(tmp_path: Path) -> None:
    text = "".join(leaderboard_markdown(boards(tmp_path), "ru"))
    assert "| прогон | recall@10 |" in text
    assert "Ошибок поиска: 1; каждая считается пустым результатом." in text
    assert "## Пропущенные файлы" in text
