"""The page in each language: what it shows, how it switches, and that names of users stay what they are."""

from __future__ import annotations

import functools
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from krag_eval import evaluate_ids
from krag_eval_report import build_report
from krag_eval_report.html import html_page
from krag_eval_report.languages import languages
from tests.support import table_cases
from tests.support.browser import findings, follow, settle
from tests.support.page_cases import page_of, shop, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CODES = [*languages()]
OTHERS = [code for code in CODES if code != "en"]
FIRST = {"en": "Summary", "ko": "요약", "ru": "Сводка", "zh": "概览"}
TAB = ".tabs a >> nth=0"
# Names of metrics and of their columns, of what krag-eval is called, and keys of the keyboard.
NAMES = {"recall", "ndcg", "mrr", "hit", "rate", "all", "precision", "map", "doc", "krag", "eval", "ms", "p50", "p95"}


@functools.cache
def written(code: str | None = None) -> str:
    return html_page(shop(), code)


def write(folder: Path, code: str | None = None) -> str:
    path = folder / f"{code}.html"
    path.write_text(written(code), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize(
    ("reader", "expected"),
    [("ko-KR", "ko"), ("ru", "ru"), ("zh-TW", "zh"), ("en-GB", "en"), ("fr-FR", "en")],
)
def test_a_page_speaks_the_language_of_its_reader(browser: Browser, tmp_path: Path, reader: str, expected: str) -> None:
    address = write(tmp_path)
    context = browser.new_context(locale=reader, offline=True)
    try:
        page = context.new_page()
        page.goto(address)
        assert page.locator("html").get_attribute("lang") == expected
        assert page.inner_text(TAB) == FIRST[expected]
        assert page.input_value("#krag-language") == expected
    finally:
        context.close()


@pytest.mark.parametrize("code", CODES)
def test_a_page_is_written_in_the_language_that_was_asked_for(browser: Browser, tmp_path: Path, code: str) -> None:
    address = write(tmp_path, code)
    for script in (False, True):
        context = browser.new_context(locale="fr-FR", offline=True, java_script_enabled=script)
        try:
            page = context.new_page()
            page.goto(address)
            assert page.locator("html").get_attribute("lang") == code
            assert page.inner_text(TAB) == FIRST[code]
        finally:
            context.close()


def test_the_switch_changes_everything_in_place_and_the_choice_is_kept(page: Page, tmp_path: Path) -> None:
    page.goto(write_page(tmp_path, table_cases.two_runs()) + "#queries")
    page.fill("#krag-text", "ru-1")
    settle(page)
    english = page.locator("#krag-rows").inner_text()
    for code in [*OTHERS, "en"]:
        page.select_option("#krag-language", code)
        assert page.inner_text(TAB) == FIRST[code]
        assert page.input_value("#krag-text") == "ru-1"
        assert "ru-1" in page.locator("#krag-rows").inner_text()
    assert page.locator("#krag-rows").inner_text() == english
    page.select_option("#krag-language", "ko")
    page.reload()
    assert page.inner_text(TAB) == FIRST["ko"]
    assert "language=ko" in page.url
    page.goto(page.url.replace("language=ko", "language=zh"))
    follow(page)
    assert page.inner_text(TAB) == FIRST["zh"]


@pytest.mark.parametrize("code", OTHERS)
@pytest.mark.parametrize("kind", ["two runs", "one run", "many runs"])
def test_no_english_word_is_left_on_the_first_screen(page: Page, tmp_path: Path, code: str, kind: str) -> None:
    page.goto(write_page(tmp_path, table_cases.REPORTS[kind]()))
    page.select_option("#krag-language", code)
    page.eval_on_selector_all(
        "bdi, .id, [lang='en'], kbd, #krag-language, svg title", "all => all.forEach((e) => e.remove())"
    )
    names = {"hybrid", "number", "timeouterror", "bm", "dense", "rrf", "faq"}
    for where in ("header.top", "#overview"):
        text = page.locator(where).inner_text()
        titles = page.eval_on_selector_all(
            f"{where} [aria-label], {where} [title]",
            "all => all.flatMap((e) => e.matches('[class*=cut-name]') ? [] : [e.getAttribute('aria-label') ?? ''])",
        )
        words = {word.lower() for word in re.findall("[A-Za-z]{2,}", " ".join([text, *titles]))}
        assert words - NAMES - names == set()


def test_plots_speak_the_language_of_the_page_and_leave_names_as_they_are(page: Page, tmp_path: Path) -> None:
    report = shop()
    page.goto(write_page(tmp_path, report, pictures=True) + "#details")
    english = page.eval_on_selector_all("figure svg [data-l10n]", "all => all.map((e) => e.textContent)")
    page.select_option("#krag-language", "ko")
    korean = page.eval_on_selector_all("figure svg [data-l10n]", "all => all.map((e) => e.textContent)")
    assert len(korean) == len(english) > 40
    assert "정답 문서" in korean
    texts = page.eval_on_selector_all("figure svg text:not([data-l10n])", "all => all.map((e) => e.textContent)")
    names = [system.name for system in report.systems]
    names += [*NAMES, "f1", *report.slices_by_field, report.systems[0].result.signature, "k"]
    left = [text for text in texts if re.search("[A-Za-z]", text) and not any(name in text for name in names)]
    assert left == []
    doors = page.eval_on_selector_all("figure svg a", "all => all.map((e) => e.getAttribute('aria-label'))")
    assert any("정답" in door or "찾음" in door for door in doors)


@pytest.mark.parametrize(
    ("n", "expected"),
    [(1, "1 вопрос,"), (2, "2 вопроса,"), (5, "5 вопросов,"), (21, "21 вопрос,"), (1200, "1\u00a0200 вопросов,")],
)
def test_russian_has_its_plural_forms_and_its_numbers(page: Page, tmp_path: Path, n: int, expected: str) -> None:
    found = [[f"g{i}" if i % 3 == 0 else "x"] for i in range(n)]
    report = build_report({"only": evaluate_ids([[f"g{i}"] for i in range(n)], found, k=1)})
    page.goto(write_page(tmp_path, report))
    page.select_option("#krag-language", "ru")
    assert expected in page.inner_text("header.top")
    figures = page.locator("#table-scores td.number").all_text_contents()
    assert any(re.fullmatch(r"\d,\d{4}", figure) for figure in figures)
    assert not any("." in figure for figure in figures)


def test_python_and_the_browser_say_the_same(page: Page, tmp_path: Path) -> None:
    written_in_english = tmp_path / "en.html"
    written_in_english.write_text(html_page(table_cases.two_runs()), encoding="utf-8")
    page.goto(written_in_english.as_uri())
    for code in OTHERS:
        page.select_option("#krag-language", code)
        switched = page.eval_on_selector_all("[data-l10n], [data-l10n-figure]", "all => all.map((e) => e.textContent)")
        path = tmp_path / f"{code}.html"
        path.write_text(html_page(table_cases.two_runs(), code), encoding="utf-8")
        context = page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
        try:
            plain = context.new_page()
            plain.goto(path.as_uri())
            written = plain.eval_on_selector_all(
                "main [data-l10n]:not(noscript *)", "all => all.map((e) => e.textContent)"
            )
        finally:
            context.close()
        assert len(written) > 100
        assert set(written) <= set(switched)


ATTACKS = (
    "{ $n } </script><script>window.attacked = true</script>",
    "<img src=x onerror='window.attacked = true'>",
    "{VALUE($x)}",
    "-term = x",
    "1.5",
)


def test_names_of_users_are_inert_in_messages_and_never_translated(page: Page, tmp_path: Path) -> None:
    runs = {name: evaluate_ids([["a"], ["b"]], [["a"], ["x"]], k=1) for name in ATTACKS}
    page.goto(write_page(tmp_path, build_report(runs)))
    for code in CODES:
        page.select_option("#krag-language", code)
        text = page.locator("body").inner_text()
        for name in ATTACKS:
            assert name in text
        assert page.evaluate("typeof window.attacked") == "undefined"


def test_a_name_from_right_to_left_leaves_the_number_after_it_in_its_place(page: Page, tmp_path: Path) -> None:
    name = "נסיון"
    page.goto(write_page(tmp_path, build_report({name: evaluate_ids([["a"], ["b"]], [["a"], ["x"]], k=1)})))
    for code in CODES:
        page.select_option("#krag-language", code)
        assert f"\u2068{name}\u2069" in page.locator("#overview").inner_text()


@pytest.mark.parametrize("code", CODES)
def test_nothing_is_wider_than_a_phone_in_any_language(page: Page, tmp_path: Path, code: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(write_page(tmp_path, table_cases.many_runs(5)))
    page.select_option("#krag-language", code)
    for view in ("overview", "queries", "details"):
        page.goto(page.url.partition("#")[0] + f"#{view}")
        follow(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_page_without_a_language_is_written_in_english() -> None:
    page = page_of(shop())
    assert '<html lang="en" dir="ltr">' in page
    assert '<html lang="ko" dir="ltr" data-chosen>' in page_of(shop(), "ko")


# Contrast depends on the theme, and what has a name on the language.
@pytest.mark.parametrize(("code", "theme"), [("en", "dark"), ("ko", "light"), ("ru", "dark"), ("zh", "light")])
def test_axe_finds_nothing_in_any_language(browser: Browser, tmp_path: Path, code: str, theme: str) -> None:
    address = write_page(tmp_path, table_cases.two_runs())
    context = browser.new_context(bypass_csp=True, offline=True, color_scheme="dark" if theme == "dark" else "light")
    try:
        for view in ("overview", "queries", "n=1", "details"):
            page = context.new_page()
            page.goto(f"{address}#{view}")
            page.select_option("#krag-language", code, force=True)
            follow(page)
            assert findings(page) == [], f"{code} {view}"
            page.close()
    finally:
        context.close()


def test_a_fifth_language_is_one_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for file in resources.files("krag_eval_report").joinpath("messages").iterdir():
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    english = (tmp_path / "en.ftl").read_text(encoding="utf-8")
    french = english.replace("view-summary = Summary", "view-summary = Résumé").replace("= English", "= Français")
    (tmp_path / "fr.ftl").write_text(french, encoding="utf-8")
    monkeypatch.setattr("krag_eval_report.languages._FOLDER", tmp_path)
    languages.cache_clear()
    try:
        page = page_of(shop(), "fr")
        assert '<html lang="fr" dir="ltr" data-chosen>' in page
        assert ">Résumé</span>" in page
        assert '"fr":["ltr",' in page
    finally:
        languages.cache_clear()
