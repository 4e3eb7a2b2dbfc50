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
TOP_LEVEL = (
    "README.md",
    "README.ko.md",
    "README.ru.md",
    "README.zh.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
)
PACKAGES = [ROOT / "krag_eval", *sorted(path.parent for path in (ROOT / "adapters").glob("*/__init__.py"))]


def public_names(package: Path) -> list[str]:
    tree = ast.parse((package / "__init__.pyi").read_text(encoding="utf-8"))
    names = [name.name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names]
    return [f"{package.name}.{name}" for name in names if name != "__version__"]


def test_the_menu_names_every_page_once_and_no_other() -> None:
    menu = CONFIG.partition("\nnav:\n")[2]
    named = re.findall(r"([\w./-]+\.md)$", menu, re.MULTILINE)
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    pages += [path.relative_to(ROOT).as_posix() for path in (ROOT / "benchmarks").glob("[a-z]*.md")]
    # The site has a home page of its own, so that its hooks call the README otherwise.
    assert sorted(named) == sorted([*pages, "overview.md", "benchmarks.md", "examples.md", *TOP_LEVEL[1:]])


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


def luminance(colour: str) -> float:
    shares = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


# The white text of the header, and links on the backgrounds of Material for MkDocs (slate: hue 225, lightness 14 %).
@pytest.mark.parametrize(
    ("rule", "name", "other"),
    [
        ('primary="teal"', "--md-primary-fg-color", "#ffffff"),
        ('primary="teal"', "--md-primary-fg-color--light", "#ffffff"),
        ('primary="teal"', "--md-primary-fg-color--dark", "#ffffff"),
        ('scheme="default"', "--md-typeset-a-color", "#ffffff"),
        ('scheme="default"', "--md-accent-fg-color", "#ffffff"),
        ('scheme="slate"', "--md-typeset-a-color", "#1e2129"),
        ('scheme="slate"', "--md-accent-fg-color", "#1e2129"),
    ],
)
def test_text_of_the_site_has_a_contrast_of_at_least_4_5(rule: str, name: str, other: str) -> None:
    style = (DOCS / "site" / "assets" / "site.css").read_text(encoding="utf-8")
    block = style.partition(f"[data-md-color-{rule}] {{")[2].partition("}")[0]
    found = re.search(rf"{name}: (#[0-9a-f]{{6}});", block)
    assert found is not None
    low, high = sorted(map(luminance, (found[1], other)))
    assert (high + 0.05) / (low + 0.05) >= 4.5


def test_links_in_text_are_underlined() -> None:
    style = (DOCS / "site" / "assets" / "site.css").read_text(encoding="utf-8")
    assert re.search(r"^\.md-typeset :is\(p, li.*\{\n  text-decoration: underline;", style, re.MULTILINE)


def test_the_page_of_commands_ends_with_every_command_and_option_that_the_code_has() -> None:
    from docs.site.options import reference
    from tests.support.command_line import all_commands

    made = reference()
    shown = {name: command for name, command in all_commands().items() if not command.hidden}
    assert [name for name in shown if f"### krag-eval {name}\n" not in made] == []
    evaluate = made.partition("### krag-eval evaluate\n")[2].partition("\n### ")[0]
    options = [name for parameter in shown["evaluate"].params for name in parameter.opts if name.startswith("--")]
    assert [name for name in options if f"`{name}`" not in evaluate and name != "--help"] == []


def test_the_list_for_language_models_begins_with_their_page_and_says_what_each_page_is_about(tmp_path: Path) -> None:
    from types import SimpleNamespace as Plain

    from docs.site import llms

    texts = {
        "index.md": "# Home\n\n```python\nprint(1)\n```\n\n![a](b.png)\n\n* list\n\nIt [measures](x.md) all. More.\n",
        "assistants.md": "# Calls\n\nTen calls.\n",
    }
    pages = [Plain(file=Plain(src_uri=name), ancestors=[]) for name in texts]
    llms.on_nav(Plain(pages=pages))  # type: ignore[arg-type]
    for page, text in zip(pages, texts.values(), strict=True):
        assert llms.on_page_markdown(text, page=page) == text  # type: ignore[arg-type]
    llms.on_post_build(config=Plain(site_dir=str(tmp_path), site_name="krag_eval", site_description="Metrics."))  # type: ignore[arg-type]
    lines = [line for line in (tmp_path / "llms.txt").read_text(encoding="utf-8").splitlines() if line]
    assert lines == [
        "# krag_eval",
        "> Metrics.",
        "## Begin here",
        "- [Calls](assistants.html): Ten calls.",
        "## Start",
        "- [Home](index.html): It measures all.",
    ]


def test_the_page_for_coding_assistants_has_at_most_600_words() -> None:
    assert len((DOCS / "assistants.md").read_text(encoding="utf-8").split()) <= 600
