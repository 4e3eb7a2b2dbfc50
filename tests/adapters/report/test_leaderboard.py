"""Leaderboards of a folder: which runs stand together, that the numbers are those of evaluate, and the same bytes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree as ET

import html5lib
import pytest

pytest.importorskip("jinja2", reason="need the extra report")

from markdown_it import MarkdownIt

from krag_eval import EvalSet, InvalidInputError, Run, RunRow, compare, evaluate_run, write_evalset, write_run
from krag_eval_report.boards import Board, Boards, read_boards
from krag_eval_report.leaderboards import (
    leaderboard_badge,
    leaderboard_csv,
    leaderboard_html,
    leaderboard_json,
    leaderboard_markdown,
    write_leaderboard,
)
from tests.support.browser import findings, watched_page
from tests.support.command_line import Runner
from tests.support.hostile_names import ATTACKS

if TYPE_CHECKING:
    from playwright.sync_api import Browser

N = 40
WRITERS = {"md": leaderboard_markdown, "json": leaderboard_json, "csv": leaderboard_csv, "html": leaderboard_html}


def questions(prefix: str = "q", n: int = N) -> EvalSet:
    return EvalSet([{"id": f"{prefix}{i}", "question": f"Question {i}?", "gold": [{"id": f"g{i}"}]} for i in range(n)])


def run_of(evalset: EvalSet, found: int, seconds: float | None = None, **fields: object) -> Run:
    """A run that finds the gold of the first so many questions, at rank 2."""
    rows = [
        RunRow.from_dict(
            {
                "query_id": one.id,
                "retrieved": [{"id": "x"}, {"id": f"g{place}" if place < found else "y"}],
                **({} if seconds is None else {"seconds": seconds}),
            }
        )
        for place, one in enumerate(evalset)
    ]
    return Run.of("run", rows, **fields)


def fill(folder: Path, runs: Mapping[str, Run], evalset: EvalSet | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write_evalset(evalset or questions(), folder / "set.jsonl")
    for name, run in runs.items():
        write_run(run, folder / f"{name}.jsonl")
    return folder


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return filled_shop(tmp_path)


def filled_shop(folder: Path) -> Path:
    asked = questions()
    runs = {
        "bm25": run_of(asked, 10, 0.01),
        "dense": run_of(asked, 30, 0.05),
        "slow": run_of(asked, 20, 0.5),
        "untimed": run_of(asked, 12),
    }
    return fill(folder / "shop", runs, asked)


def names_of(board: Board) -> list[str]:
    return [run.name for run in board.runs]


def test_the_numbers_are_those_of_evaluate_run_and_compare(shop: Path) -> None:
    (board,) = read_boards(shop, baseline="bm25").boards
    asked = questions()
    results = {name: evaluate_run(asked, run_of(asked, found), 10) for name, found in (("bm25", 10), ("dense", 30))}
    dense = board.runs[0]
    assert names_of(board) == ["dense", "slow", "untimed", "bm25"]
    assert {key: dense.value(key) for key in board.keys} == {key: results["dense"][key] for key in board.keys}
    assert board.keys[0] == "recall@10"
    assert board.comparison is not None
    alone = compare(asked, results, baseline="bm25", keys=["recall@10"])["dense", "recall@10"]
    ours = board.comparison["dense", "recall@10"]
    assert (ours.difference, ours.low, ours.high, ours.p) == (alone.difference, alone.low, alone.high, alone.p)
    assert dense.latency is not None
    assert dense.latency.p50 == pytest.approx(0.05)


def test_the_frontier_has_what_is_neither_slower_nor_worse(shop: Path) -> None:
    (board,) = read_boards(shop).boards
    assert board.frontier == ("bm25", "dense")
    assert board.comparison is None


@pytest.mark.parametrize("ending", WRITERS)
def test_the_same_files_give_the_same_bytes_wherever_the_folder_is(shop: Path, tmp_path: Path, ending: str) -> None:
    first = write_leaderboard(read_boards(shop, baseline="bm25"), shop / f"board.{ending}")
    moved = shutil.copytree(shop, tmp_path / "elsewhere" / "shop")
    again = read_boards(moved, baseline="bm25", without=[moved / f"board.{ending}"])
    assert write_leaderboard(again, moved / f"board.{ending}", force=True).read_bytes() == first.read_bytes()


def test_what_was_written_before_is_no_input(shop: Path) -> None:
    boards = read_boards(shop)
    for ending in WRITERS:
        write_leaderboard(boards, shop / f"board.{ending}")
    (shop / "badge.svg").write_text(leaderboard_badge(boards), encoding="utf-8")
    again = read_boards(shop)
    assert [file for file, _ in again.skipped] == ["board.csv"]
    assert again.boards == boards.boards


def test_a_run_belongs_to_the_set_of_its_questions(tmp_path: Path) -> None:
    one, other = questions("a"), questions("b", 20)
    fill(tmp_path / "a", {"bm25": run_of(one, 10)}, one)
    fill(tmp_path / "b", {"bm25": run_of(other, 5), "dense": run_of(other, 6)}, other)
    boards = read_boards(tmp_path)
    assert [(board.name, names_of(board)) for board in boards.boards] == [
        ("set", ["bm25"]),
        ("b/set", ["dense", "bm25"]),
    ]


def test_of_sets_with_the_same_ids_the_fingerprint_decides(tmp_path: Path) -> None:
    old, new = questions(), EvalSet([{"id": f"q{i}", "gold": [{"id": "y"}]} for i in range(N)])
    write_evalset(old, tmp_path / "old.jsonl")
    write_evalset(new, tmp_path / "new.jsonl")
    write_run(run_of(old, 10, recorded={"fingerprint": old.fingerprint}), tmp_path / "known.jsonl")
    write_run(run_of(old, 10), tmp_path / "unknown.jsonl")
    boards = read_boards(tmp_path)
    assert [(board.name, names_of(board)) for board in boards.boards] == [("old", ["known"])]
    assert [file for file, _ in boards.skipped] == ["new.jsonl", "unknown.jsonl"]


def test_a_run_of_an_older_version_of_the_set_says_so(tmp_path: Path) -> None:
    fill(tmp_path, {"bm25": run_of(questions(), 10, recorded={"fingerprint": "0123456789abcdef"})})
    (board,) = read_boards(tmp_path).boards
    assert [name for name, note in board.notes if "another version" in note] == ["bm25"]


def test_what_cannot_be_read_is_named_and_the_rest_is_scored(shop: Path) -> None:
    (shop / "broken.jsonl").write_text('{"query_id": "q1", "retr', encoding="utf-8")
    (shop / "notes.json").write_text('{"hello": 1}', encoding="utf-8")
    (shop / ".hidden.jsonl").write_text("{", encoding="utf-8")
    (shop / "linked.jsonl").symlink_to(shop / "bm25.jsonl")
    boards = read_boards(shop)
    assert [file for file, _ in boards.skipped] == ["broken.jsonl", "notes.json"]
    assert str(shop) not in json.dumps(boards.skipped)
    assert len(boards.boards[0].runs) == 4


def test_runs_of_different_rules_are_not_ranked_against_each_other(shop: Path) -> None:
    searches = [{"retrieved": [{"id": "x"}]}, {"retrieved": [{"id": "g0"}]}]
    rows = [RunRow.from_dict({"query_id": one.id, "searches": searches}) for one in questions()]
    write_run(Run.of("agent", rows), shop / "agent.jsonl")
    boards = read_boards(shop)
    assert [names_of(board) for board in boards.boards] == [["dense", "slow", "untimed", "bm25"], ["agent"]]
    assert boards.boards[1].keys[0].startswith("session_recall")


def test_a_run_that_leaks_is_listed_last_and_not_ranked(tmp_path: Path) -> None:
    asked = EvalSet([{"id": f"q{i}", "gold": [{"id": f"g{i}"}], "must_not": [{"id": "x"}]} for i in range(N)])
    clean = [RunRow.from_dict({"query_id": q.id, "retrieved": [{"id": "y"}], "seconds": 0.2}) for q in asked]
    fill(tmp_path, {"leaky": run_of(asked, N, 0.1), "clean": Run.of("clean", clean)}, asked)
    boards = read_boards(tmp_path)
    (board,) = boards.boards
    assert [(run.name, run.n_leaking) for run in board.runs] == [("clean", 0), ("leaky", N)]
    assert board.frontier == ()
    assert "clean" in leaderboard_badge(boards)


def test_missing_rows_and_failures_are_counted_beside_the_value(tmp_path: Path) -> None:
    asked = questions()
    rows = [RunRow(query_id=one.id, error="TimeoutError: late") for one in [*asked][:3]]
    fill(tmp_path, {"bm25": Run.of("bm25", rows)}, asked)
    (board,) = read_boards(tmp_path).boards
    (run,) = board.runs
    assert (run.n_missing, len(run.result.errors), run.value("recall@10")) == (N - 3, 3, 0.0)
    assert {name for name, _ in board.notes} == {"bm25"}


def test_a_latency_that_is_no_number_is_none(shop: Path) -> None:
    (board,) = read_boards(shop).boards
    first, *others = board.runs
    late = replace(first, run=run_of(questions(), 30, float("nan")))
    assert late.latency is None
    boards = Boards(title="", boards=(replace(board, runs=(late, *others), frontier=("slow", "bm25")),))
    assert json.loads("".join(leaderboard_json(boards)))["sets"][0]["runs"][0]["latency"] is None
    for writer in WRITERS.values():
        assert "nan" not in "".join(writer(boards)).lower()


@pytest.mark.parametrize("asked", [EvalSet([{"id": "q", "gold": [{"id": "g"}]}]), EvalSet([{"id": "q", "gold": []}])])
def test_one_question_and_no_gold_are_shown(tmp_path: Path, asked: EvalSet) -> None:
    run = Run.of("run", [RunRow.from_dict({"query_id": "q", "retrieved": [{"id": "x"}], "seconds": 0.1})])
    fill(tmp_path, {"a": run, "b": run}, asked)
    boards = read_boards(tmp_path, baseline="a")
    for writer in WRITERS.values():
        assert "".join(writer(boards))


@pytest.mark.full
def test_fifty_runs_are_one_table(tmp_path: Path) -> None:
    fill(tmp_path, {f"run-{i:02}": run_of(questions(), i % 30, 0.01 * (i + 1)) for i in range(50)})
    (board,) = read_boards(tmp_path).boards
    values = [run.value(board.keys[0]) for run in board.runs]
    assert len(values) == 50
    assert values == sorted(values, key=lambda value: -(value or 0))


@pytest.mark.parametrize(
    ("make", "baseline"),
    [
        (lambda folder: folder / "none", None),
        (lambda folder: folder, None),
        (lambda folder: fill(folder / "lone", {}), None),
        (lambda folder: fill(folder / "full", {"bm25": run_of(questions(), 3)}), "bm52"),
    ],
)
def test_a_folder_without_a_leaderboard_is_refused(
    tmp_path: Path, make: Callable[[Path], Path], baseline: str | None
) -> None:
    with pytest.raises(InvalidInputError):
        read_boards(make(tmp_path), baseline=baseline)


def hostile(boards: Boards, attack: str) -> Boards:
    """The same leaderboards with the attack in each name, note and reason."""
    board = boards.boards[0]
    names = {run.name: f"{attack} {number} {attack}" for number, run in enumerate(board.runs)}
    runs = tuple(replace(run, name=names[run.name], file=attack) for run in board.runs)
    anew = replace(
        board,
        name=attack,
        file=attack,
        runs=runs,
        intervals={names[name]: ends for name, ends in board.intervals.items()},
        frontier=tuple(names[name] for name in board.frontier),
        comparison=None,
        notes=((attack, attack),),
    )
    return Boards(title=attack, boards=(anew,), skipped=((attack, attack),))


def elements(page: str) -> list[tuple[str, tuple[str, ...]]]:
    tree = html5lib.parse(page, treebuilder="etree", namespaceHTMLElements=False)
    return [(str(element.tag), tuple(sorted(element.attrib))) for element in tree.iter()]


def tags(markdown: str) -> set[str]:
    """The elements that GitHub's renderer would make of Markdown, raw HTML and links among them."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(markdown)
    return {one.tag or one.type for token in tokens for one in (token, *(token.children or ()))}


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Boards:
    return read_boards(filled_shop(tmp_path_factory.mktemp("boards")))


def structures(boards: Boards) -> tuple[object, set[str], object, str]:
    """The elements of the page, of the Markdown and of the badge, and the page."""
    badge = ET.fromstring(leaderboard_badge(boards).encode("utf-8", "strict"))
    markdown = "".join(leaderboard_markdown(boards))
    page = "".join(leaderboard_html(boards))
    return elements(page), tags(markdown), [(one.tag, sorted(one.attrib)) for one in badge.iter()], page


@pytest.fixture(scope="module")
def harmless(boards: Boards) -> tuple[object, set[str], object, str]:
    return structures(hostile(boards, "a name"))


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_no_name_is_markup(boards: Boards, harmless: tuple[object, set[str], object, str], attack: str) -> None:
    attacked = hostile(boards, attack)
    page, markdown, badge, written = structures(attacked)
    assert "\x00" not in written
    assert (page, badge) == (harmless[0], harmless[2])
    assert markdown <= harmless[1]
    assert len(json.loads("".join(leaderboard_json(attacked)))["sets"][0]["runs"]) == 4


def test_the_badge_says_what_it_shows(shop: Path) -> None:
    boards = read_boards(shop)
    picture = ET.fromstring(leaderboard_badge(boards, "slow"))
    title, *texts = ["".join(one.itertext()) for one in picture.iter() if one.tag.endswith(("title", "text"))]
    assert "slow" in title
    assert "recall@10" in title
    assert texts == ["slow recall@10", texts[1]]
    assert texts[1].startswith("0.500 (")
    with pytest.raises(InvalidInputError):
        leaderboard_badge(boards, "slwo")


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_finds_nothing_in_a_leaderboard(
    browser: Browser, shop: Path, theme: Literal["light", "dark"], width: int
) -> None:
    (shop / "broken.jsonl").write_text("{", encoding="utf-8")
    address = write_leaderboard(read_boards(shop, baseline="bm25"), shop / "board.html").as_uri()
    context = browser.new_context(
        bypass_csp=True, offline=True, color_scheme=theme, viewport={"width": width, "height": 900}
    )
    page = context.new_page()
    page.goto(address)
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_the_page_loads_nothing_and_breaks_no_policy(browser: Browser, shop: Path) -> None:
    address = write_leaderboard(read_boards(shop, baseline="bm25"), shop / "board.html").as_uri()
    with watched_page(browser) as (page, _):
        page.goto(address)
        assert page.locator("tbody tr").count() == 4
        assert page.locator(".scatter circle.on").count() == 2


def test_the_command_writes_the_leaderboard_and_the_badge(command: Runner, shop: Path) -> None:
    (shop / "broken.jsonl").write_text("{", encoding="utf-8")
    line = ["leaderboard", str(shop), "--baseline", "bm25", "--out", "board.md"]
    line += ["--badge", "badge.svg", "--badge-run", "bm25"]
    first = command(*line)
    assert first.code == 0
    assert "broken.jsonl" in first.err
    boards = read_boards(shop, baseline="bm25")
    assert Path("board.md").read_text(encoding="utf-8") == "".join(leaderboard_markdown(boards))
    assert Path("badge.svg").read_text(encoding="utf-8") == leaderboard_badge(boards, "bm25")
    assert command(*line).code == 2
    assert command(*line, "--force").code == 0


def test_without_out_the_command_prints_tables(command: Runner, shop: Path) -> None:
    told = command("leaderboard", str(shop), "--k", "5", "--metrics", "mrr")
    assert told.code == 0
    assert "mrr@5" in told.out
    assert [name for name in ("dense", "slow", "untimed", "bm25") if name in told.out] == [
        "dense", "slow", "untimed", "bm25",
    ]  # fmt: skip


@pytest.mark.parametrize("options", [["--k", "1,5"], ["--format", "md"], ["--baseline", "no such run"]])
def test_wrong_options_are_refused_before_anything_is_written(
    command: Runner, shop: Path, options: Sequence[str]
) -> None:
    told = command("leaderboard", str(shop), *options)
    assert told.code == 2
    assert told.out == ""
