"""The site of the documentation: its menu, its reference and its pictures are complete and up to date."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from docs import make_concepts, make_funnel

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONFIG = (DOCS / "site" / "mkdocs.yml").read_text(encoding="utf-8")
TOP_LEVEL = ("README.md", "README.ko.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
PACKAGES = [ROOT / "krag_eval", *sorted(path.parent for path in (ROOT / "adapters").glob("*/__init__.py"))]


def public_names(package: Path) -> list[str]:
    tree = ast.parse((package / "__init__.pyi").read_text(encoding="utf-8"))
    names = [name.name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names]
    return [f"{package.name}.{name}" for name in names if name != "__version__"]


def test_the_menu_names_every_page_once_and_no_other() -> None:
    menu = CONFIG.partition("\nnav:\n")[2]
    named = re.findall(r"([\w./-]+\.md)$", menu, re.MULTILINE)
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(named) == sorted([*pages, *TOP_LEVEL])


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_the_reference_has_every_public_name_once(package: Path) -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted((DOCS / "reference").glob("*.md")))
    named = re.findall(rf"^::: ({package.name}\.\w+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(public_names(package))


def test_the_reference_has_every_metric_once() -> None:
    text = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
    named = re.findall(r"^::: krag_eval\.metrics\.(\w+)\.\w+$", text, re.MULTILINE)
    common = {"aggregation", "cut_offs", "judgments", "names"}
    files = {path.stem for path in (ROOT / "krag_eval" / "metrics").glob("[!_]*.py")} - common
    assert sorted(set(named)) == sorted(files)


@pytest.mark.parametrize("name", ["match", "judge", "score"])
def test_a_picture_of_the_concepts_is_what_its_script_draws(name: str, tmp_path: Path) -> None:
    make_concepts.main(tmp_path)
    drawn = (tmp_path / f"concepts-{name}.svg").read_text(encoding="utf-8")
    assert (DOCS / "img" / f"concepts-{name}.svg").read_text(encoding="utf-8") == drawn


def test_the_pictures_of_the_concepts_show_the_example_of_their_page() -> None:
    page = (DOCS / "concepts.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    exec(page.partition("```python\n")[2].partition("result =")[0], names)
    assert (names["gold"], names["retrieved"]) == (make_concepts.GOLD, make_concepts.RETRIEVED)


@pytest.mark.full
def test_the_picture_of_the_stages_is_that_of_the_example_of_its_page(tmp_path: Path) -> None:
    make_funnel.main(tmp_path)
    drawn, kept = (re.findall("<text[^>]*>([^<]+)", (f / "funnel.svg").read_text()) for f in (tmp_path, DOCS / "img"))
    assert drawn == kept
    assert "lost_in:filter: 20 (23%)" in kept


@pytest.mark.full
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("* one\n  two", "* one\n    two"),
        ("1. one\n\n   | a |\n2. two", "1. one\n\n    | a |\n2. two"),
        ("* one\n  * two\n    three\nfour", "* one\n    * two\n        three\nfour"),
        ("```\n* one\n  two\n```", "```\n* one\n  two\n```"),
        ("plain\n  text", "plain\n  text"),
    ],
)
def test_what_belongs_to_an_item_is_indented_by_four_spaces_a_level(written: str, read: str) -> None:
    from docs.site.hooks import in_steps_of_four

    assert in_steps_of_four(written) == read


@pytest.mark.full
@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["a", "", ">>> 1", "1", "", "b"], ["a", "", "```pycon", ">>> 1", "1", "```", "", "b"]),
        ([">>> 1", "1"], ["```pycon", ">>> 1", "1", "```"]),
        (["```", ">>> 1", "```"], ["```", ">>> 1", "```"]),
    ],
)
def test_a_doctest_is_code_and_no_quotation(written: list[str], read: list[str]) -> None:
    from docs.site.hooks import fence_doctests

    assert fence_doctests(written) == read
