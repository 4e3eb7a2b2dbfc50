"""Whatever the documentation shows is run, and whatever it names is there."""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from krag_eval_cli import main
from krag_eval_cli.app import Program
from tests.support.command_line import all_commands

ROOT = Path(__file__).parents[2]
READMES = sorted(ROOT.glob("README*.md"))
GUIDES = [*READMES, ROOT / "CONTRIBUTING.md"]
PAGES = [*GUIDES, *sorted((ROOT / "docs").rglob("*.md"))]
# Read in pieces: each block has to run without those above it.
IN_PIECES = [ROOT / "docs" / "faq.md"]
FOR_NEWCOMERS = [*IN_PIECES, *sorted((ROOT / "docs").glob("quickstart*.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
MOST_WORDS = 700  # of a README
TARGETS = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
COMMANDS = all_commands()
NOT_EXECUTED = re.compile(r"<!-- not executed: \S.* -->\s*\Z")


class Block(NamedTuple):
    """A fenced block: where it begins, what it is, what it holds, and the text between it and the one before."""

    line: int
    language: str
    text: str
    before: str


def blocks(page: Path) -> list[Block]:
    text, end, found = page.read_text(encoding="utf-8"), 0, []
    for fence in re.finditer(r"^```(\w*)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, fence.start(2)) + 1
        found.append(Block(line, fence[1], fence[2], text[end : fence.start()]))
        end = fence.end()
    return found


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def shell_lines(page: Path) -> list[str]:
    """What the page tells to type: the lines of console blocks, and `code` in its sentences."""
    typed = [
        line.removeprefix("$ ").partition("  #")[0].strip()
        for block in blocks(page)
        if block.language == "console"
        for line in block.text.replace("\\\n", "").splitlines()
        if line.startswith("$ ")
    ]
    return typed + re.findall(r"`([^`\n]+)`", prose(page))


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)
# Their blocks take seconds each.
LONG = {
    f"{name}.md"
    for name in (
        *("quickstart.ko", "answers", "chunkers", "estimate", "formats", "from-krag", "gate", "generation", "plots"),
        *("quickstart", "report", "stages", "where"),
    )
}
every_page_to_run = pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.full] * (page.name in LONG)) for page in PAGES], ids=name_of
)


def executed(page: Path) -> Iterator[tuple[Block, str | None]]:
    """The python blocks of a page, each with the text that is said to be printed."""
    found = blocks(page)
    for number, block in enumerate(found):
        if block.language == "python" and not NOT_EXECUTED.search(block.before):
            following = found[number + 1] if number + 1 < len(found) else None
            yield block, following.text if following is not None and following.language == "text" else None


@pytest.mark.sample(11)
@every_page_to_run
def test_python_blocks_run_in_order_and_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.name == "scale.md":
        pytest.importorskip("polars", reason="need polars (make setup)")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block, expected in executed(page):
        if page in IN_PIECES:
            names = {"__name__": "__main__"}
        # Empty lines before it, so that a traceback gives the line of the page.
        program = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(program, names)
        assert_shown(f"{name_of(page)}:{block.line}", expected or "", printed.getvalue())


def assert_shown(place: str, expected: str, printed: str) -> None:
    example = doctest.Example("", expected)
    checker = doctest.OutputChecker()
    if not checker.check_output(expected, printed, doctest.ELLIPSIS):
        pytest.fail(f"{place} shows something else.\n{checker.output_difference(example, printed, doctest.ELLIPSIS)}")


@pytest.mark.parametrize("page", FOR_NEWCOMERS, ids=name_of)
def test_a_page_for_newcomers_has_blocks_that_are_executed_and_compared(page: Path) -> None:
    assert sum(expected is not None for _, expected in executed(page)) >= 2


@pytest.mark.sample(13)
@every_page
def test_a_reason_not_to_execute_stands_directly_above_a_python_block(page: Path) -> None:
    python = sum(block.language == "python" for block in blocks(page))
    skipped = python - sum(1 for _ in executed(page))
    assert page.read_text(encoding="utf-8").lower().count("<!-- not executed") == skipped


@pytest.mark.sample(13)
@every_page
def test_every_make_target_that_is_named_exists(page: Path) -> None:
    named = {words[1] for line in shell_lines(page) if (words := line.split())[:1] == ["make"] and len(words) > 1}
    assert sorted(named - set(TARGETS)) == []


@pytest.mark.parametrize("page", READMES, ids=name_of)
def test_a_readme_names_the_two_commands_of_the_set_up_before_anything_else_to_type(page: Path) -> None:
    first = next(block for block in blocks(page) if block.language == "console")
    assert first.line < 50
    assert re.findall(r"^\$ make (\S+)", first.text, re.MULTILINE) == ["demo", "test"]


@pytest.mark.sample(13)
@every_page
def test_every_command_and_option_of_krag_eval_that_is_named_exists(page: Path) -> None:
    for line in shell_lines(page):
        words = shlex.split(line) if line.startswith("krag-eval ") else []
        if not words:
            continue
        command = COMMANDS.get(words[1], Program())
        assert words[1] in COMMANDS or words[1].startswith("-"), line
        known = {name for parameter in command.params for name in parameter.opts} | {"--help", "--help-all", "-h"}
        assert [word for word in words if word.startswith("-") and word != "-" and word not in known] == [], line


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_every_option_named_alone_is_one_of_a_command(page: Path) -> None:
    known = {name for command in COMMANDS.values() for parameter in command.params for name in parameter.opts}
    known |= {"--help", "--help-all"}
    options = [line.split()[0] for line in re.findall(r"`([^`\n]+)`", prose(page)) if line.startswith("--")]
    assert [option for option in options if option not in known] == []


def test_commands_without_a_file_print_their_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line for page in PAGES for line in shell_lines(page) if line.startswith("krag-eval ")]
    for line in {" ".join(line.split()[:2]) for line in lines}:
        monkeypatch.setattr(sys, "argv", [*line.split(), "--help"])
        with pytest.raises(SystemExit) as exit_:
            main()
        out, err = capsys.readouterr()
        plain = re.sub(r"\x1b\[[0-9;]*m", "", out)  # CI services ask for colours
        assert (exit_.value.code, err) == (0, ""), line
        assert re.search(rf"Usage: .* {line.split()[1]} ", plain), line


def test_the_command_of_the_page_scores_files_with_the_rows_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "command-line.md"
    rows = [json.loads(re.sub(r"\s+", " ", row)) for row in re.findall(r"`(\{\"[^`]*\})`", prose(page))]
    question, ranking = (next(row for row in rows if key in row) for key in ("gold", "retrieved"))
    line = next(line for line in shell_lines(page) if line.startswith("krag-eval evaluate evalset.jsonl"))
    for word in line.split():
        if word.endswith(".jsonl"):
            Path(word).write_text(json.dumps(question if word == "evalset.jsonl" else ranking))
    monkeypatch.setattr(sys, "argv", line.split())
    with pytest.raises(SystemExit) as exit_:
        main()
    out, err = capsys.readouterr()
    assert (exit_.value.code, err) == (0, "")
    assert "match:id|" in out
    runs = json.loads(Path("out.json").read_text(encoding="utf-8"))["runs"]
    assert {name: run["metrics"]["ndcg@10"] for name, run in runs.items()} == {"bm25": 1, "dense": 1}
    assert [json.loads(row)["run"] for row in Path("rows.jsonl").read_text().splitlines()] == ["bm25", "dense"]


def links_of(page: Path) -> list[str]:
    """The links of a page. Those to a file of this repository are paths from its root, whatever they look like."""
    links = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    return [link if "://" in link else str(page.parent / link) for link in links]


@pytest.mark.sample(13)
@every_page
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = [link.partition("#")[0] for link in links_of(page)]
    assert [link for link in links if "://" not in link and not Path(link).exists()] == []


@pytest.mark.parametrize("page", READMES, ids=name_of)
def test_a_readme_is_short_shows_one_picture_first_and_links_to_what_stands_beside_it(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links, pictures = re.findall(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)", text), re.findall(r"!\[[^\]]+\]\(([^)\s]+)\)", text)
    assert len(text.split()) <= MOST_WORDS
    assert len(links) > 20
    assert len(pictures) == 1
    assert text.index(pictures[0]) < text.index("```")
    assert [link for link in (*links, *pictures) if "://" in link] == []
    assert sum(expected is not None for _, expected in executed(page)) == 1


def test_the_readmes_link_to_the_same_pages() -> None:
    def pages(page: Path) -> list[str]:
        links = re.findall(r"\]\((docs/[^)\s]+|CONTRIBUTING.md)\)", page.read_text(encoding="utf-8"))
        return [re.sub(r"quickstart\.\w\w\.md", "quickstart.md", link) for link in links]

    assert {name_of(page): sorted(pages(page)) for page in READMES} == {
        name_of(page): sorted(pages(ROOT / "README.md")) for page in READMES
    }


@pytest.mark.parametrize("page", READMES, ids=name_of)
def test_every_heading_that_a_readme_links_to_exists(page: Path) -> None:
    for link in links_of(page):
        path, _, heading = link.partition("#")
        if heading:
            text = Path(path).read_text(encoding="utf-8")
            slugs = [
                re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in re.findall(r"^#+ (.+)", text, re.M)
            ]
            assert heading in [*slugs, *re.findall(r'<a id="([^"]+)">', text)], link


def test_the_project_names_no_address_of_its_own() -> None:
    assert "urls" not in PROJECT
    named = re.compile(
        r"(github|gitlab|githubusercontent|readthedocs)[\w./-]*[/.]krag[-_]eval|krag[-_]eval\.(github|readthedocs)"
    )
    files = [*PAGES, ROOT / "pyproject.toml", ROOT / "action.yml", *(ROOT / "docs" / "site").glob("*.*")]
    files += (ROOT / "krag_eval").rglob("*.py")
    assert [name_of(path) for path in files if named.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_every_file_named_in_a_guide_exists(page: Path) -> None:
    named = re.findall(r"`((?:[\w.-]+/)*[\w.-]+(?:\.py|\.md|/))`", prose(page))
    absent = [
        name
        for name in named
        if "NAME" not in name and not any((room / name).exists() for room in (ROOT, ROOT / "krag_eval"))
    ]
    assert absent == []
    if page.name == "CONTRIBUTING.md":
        assert len(named) > 10


@pytest.mark.sample(13)
@every_page
def test_every_extra_that_is_named_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = {name.strip() for names in re.findall(r"krag-eval\[([\w,\s-]+)\]", text) for name in names.split(",")}
    named |= set(re.findall(r"extra `([\w-]+)`", text))
    assert sorted(named - set(EXTRAS)) == []


def test_the_table_of_extras_lists_all_of_them() -> None:
    table = prose(ROOT / "docs" / "install.md").partition("\n## Extras\n")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)) == sorted(EXTRAS)


def test_the_table_of_commands_lists_all_of_them() -> None:
    table = prose(ROOT / "docs" / "command-line.md")
    assert sorted(re.findall(r"^\| `krag-eval ([\w-]+)` \|", table, re.MULTILINE)) == sorted(COMMANDS)
