"""The search of the site finds words in every language that the pages are written in: tried in a browser."""

from __future__ import annotations

import html
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from docs.site.search import other_words
from tests.support.anchors import addresses, anchors_of
from tests.support.browser import findings

pytestmark = pytest.mark.full

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"
PAGES = {
    "ko.md": '# 한국어\n\n먼저 "검색기를" 고르고, 문서가 맞는지 봅니다.\n',
    "zh.md": "# 语言\n\n这样评估检索系统的结果，再看文档。\n",
    "ru.md": "# Язык\n\nСистема нашла восемь документов (запросами).\n",
    "en.md": "# English\n\nThe evaluate_ids function reads ids; retrieval-augmented answers differ.\n",
}
# What is looked for, and the pages that have it in another form or inside of a sentence.
LOOKED_FOR = {
    "검색": ["ko"],
    "검색기는": ["ko"],
    "문서를": ["ko"],
    "검증": [],
    "检索": ["zh"],
    "检索系统": ["zh"],
    "文档": ["zh"],
    "检文": [],
    "документами": ["ru"],
    "запросов": ["ru"],
    "системы": ["ru"],
    "докладами": [],
    "evaluate_ids": ["en"],
    "augmented": ["en"],
    "evaluates": ["en"],
    "evaluation": ["en"],
    "refutes": [],
}
QUERIES = tomllib.loads((Path(__file__).parent / "docs_queries.toml").read_text(encoding="utf-8"))
FOUND = 190  # of 200


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small site with the settings of the real one, which takes longer to build."""
    mkdocs_config = pytest.importorskip("mkdocs.config", reason="need mkdocs (make setup)")
    from mkdocs.commands.build import build

    folder = tmp_path_factory.mktemp("pages")
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
    built = tmp_path_factory.mktemp("site")
    hooks = [str(SITE / "search.py")]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("NO_MKDOCS_2_WARNING", "1")
        config = mkdocs_config.load_config(
            str(SITE / "mkdocs.yml"), docs_dir=str(folder), site_dir=str(built), nav=None, hooks=hooks, strict=False
        )
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
    (built / "assets" / "iframe-worker.js").write_bytes((SITE / "assets" / "iframe-worker.js").read_bytes())
    (built / "assets" / "site.css").touch()
    return built


def look_for(page: Page, words: str) -> list[str]:
    """The names of the pages that the search lists for these words."""
    page.fill(".md-search__input", "")
    page.press(".md-search__input", "End")
    page.wait_for_function("!document.querySelector('.md-search-result__meta').textContent.includes('matching')")
    page.fill(".md-search__input", words)
    page.press(".md-search__input", "End")
    page.wait_for_function("document.querySelector('.md-search-result__meta').textContent.includes('matching')")
    links = page.locator(".md-search-result__item > a:first-child").all()
    return [(link.get_attribute("href") or "").partition(".html")[0].rpartition("/")[2] for link in links]


def test_a_word_is_found_in_another_form_and_inside_of_a_sentence_and_marked_there(page: Page, site: Path) -> None:
    page.goto((site / "en.html").as_uri())
    page.click(".md-search__input")
    assert {words: look_for(page, words) for words in LOOKED_FOR} == LOOKED_FOR
    look_for(page, "системами")
    page.click(".md-search-result__item a:has-text('Систем')")
    page.wait_for_selector("mark[data-md-highlight]")
    assert page.locator("mark[data-md-highlight]").all_text_contents() == ["Сист"]


@pytest.fixture(scope="module")
def whole_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real site, as `make docs` left it unless something changed since."""
    made = ROOT / "build" / "site"
    folders = [ROOT / name for name in ("docs", "examples", "krag_eval", "adapters")]
    sources = [path for folder in folders for path in folder.rglob("*.*") if path.suffix != ".pyc"]
    if (index := made / "index.html").exists() and index.stat().st_mtime > max(
        path.stat().st_mtime for path in sources
    ):
        return made
    mkdocs_config = pytest.importorskip("mkdocs.config", reason="need mkdocs (make setup)")
    from mkdocs.commands.build import build

    built = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("NO_MKDOCS_2_WARNING", "1")
        config = mkdocs_config.load_config(str(SITE / "mkdocs.yml"), site_dir=str(built), strict=False)
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
    return built


def test_each_page_is_the_first_that_is_found_by_its_title(page: Page, whole_site: Path) -> None:
    titles = {}
    for path in whole_site.rglob("*.html"):
        found = re.search(r"<h1[^>]*>(.*?)<a class=.headerlink", path.read_text(encoding="utf-8"), re.DOTALL)
        # All that is called krag-eval, and the tables that no search lists.
        is_listed = path.stem not in ("index", "overview") and path.parent.name != "benchmarks"
        if found and is_listed and "README" not in path.stem:
            title = html.unescape(re.sub("<[^>]+>", "", found[1])).strip()
            titles[path.relative_to(whole_site).as_posix()] = (path.stem, title)
    assert {"faq.html", "quickstart.ru.html", "quickstart.zh.html", "quickstart.ko.html"} <= titles.keys()
    page.goto((whole_site / "index.html").as_uri())
    page.click(".md-search__input")
    found_first = {name: look_for(page, title)[:1] for name, (_, title) in titles.items()}
    assert found_first == {name: [stem] for name, (stem, _) in titles.items()}


@pytest.mark.parametrize(
    ("words", "name"),
    [("빠른 시작", "quickstart.ko"), ("быстрый старт", "quickstart.ru"), ("快速上手", "quickstart.zh")],
)
def test_the_pages_in_other_languages_are_found_in_these(page: Page, whole_site: Path, words: str, name: str) -> None:
    page.goto((whole_site / "index.html").as_uri())
    page.click(".md-search__input")
    assert look_for(page, words)[0] == name


def test_what_people_type_has_its_page_among_the_first_three(page: Page, whole_site: Path) -> None:
    assert [len(queries) for queries in QUERIES.values()] == [50, 50, 50, 50]
    page.goto((whole_site / "index.html").as_uri())
    page.click(".md-search__input")
    lost = {
        query: (wanted, found)
        for queries in QUERIES.values()
        for query, wanted in queries.items()
        if wanted not in (found := look_for(page, query)[:3])
    }
    assert len(lost) <= 200 - FOUND, lost


def test_a_search_for_nothing_or_for_a_script_finds_nothing_and_runs_nothing(page: Page, whole_site: Path) -> None:
    said: list[str] = []
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("pageerror", lambda error: said.append(error.message))
    page.goto((whole_site / "index.html").as_uri())
    page.click(".md-search__input")
    for words in ("zzzz", "<script>alert(1)</script>zzzz", '"', "~ ^ : +", "recall~:^"):
        look_for(page, words)
    assert page.locator(".md-search-result script").count() == 0
    assert said == []


def test_every_other_word_belongs_to_a_page_or_a_heading() -> None:
    pages = addresses() | {path.stem: anchors_of(path) for path in ROOT.glob("[CS]*.md")}
    named = [key.partition("#") for key in other_words()]
    assert [key for key in named if key[0] not in pages or (key[2] and key[2] not in pages[key[0]])] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_of_reports_follow_the_theme(
    browser: Browser, whole_site: Path, theme: Literal["light", "dark"]
) -> None:
    context = browser.new_context(offline=True, color_scheme=theme)
    page = context.new_page()
    page.goto((whole_site / "index.html").as_uri())
    shown = [image.get_attribute("src") for image in page.locator("article img").all() if image.is_visible()]
    context.close()
    assert [(src or "").partition("#")[0] for src in shown] == [f"img/report-overview-{theme}.png"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_code_of_the_site_stand_out_in_both_themes(
    browser: Browser, whole_site: Path, theme: Literal["light", "dark"]
) -> None:
    context = browser.new_context(offline=True, color_scheme=theme, bypass_csp=True)
    page = context.new_page()
    page.goto((whole_site / "reference" / "answers.html").as_uri())
    assert findings(page, "color-contrast", "aria-dialog-name") == []
    context.close()


def test_a_run_of_chinese_is_read_from_each_of_its_characters() -> None:
    from docs.site.search import endings_of

    assert endings_of("RAG检索系统,检索系统 好") == ["索系统", "系统"]
