"""Whatever users have in their texts is shown as text: no element, no script and no request comes of it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import html5lib
import pytest

from krag_eval import read_evalset
from krag_eval_report.html import html_page
from krag_eval_report.html.page import policy
from krag_eval_report.html.texts import json_in_script, printable
from tests.support.browser import follow, settle, show_controls, watched_page
from tests.support.hostile_names import ATTACKS, RUN
from tests.support.page_cases import hostile, page_of, shop, write_page

pytestmark = pytest.mark.full  # attack strings in every field of whole reports

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def elements(page: str) -> list[tuple[str, tuple[str, ...]]]:
    """The elements of a page in their order, each with the names of its attributes."""
    tree = html5lib.parse(page, treebuilder="etree", namespaceHTMLElements=False)
    return [(str(element.tag), tuple(sorted(element.attrib))) for element in tree.iter()]


@pytest.fixture(scope="module")
def harmless() -> list[tuple[str, tuple[str, ...]]]:
    return elements(page_of(hostile(lambda what: f"a {what} z")))


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_a_page_with_an_attack_has_the_elements_of_a_harmless_one(
    harmless: list[tuple[str, tuple[str, ...]]], attack: str
) -> None:
    page = page_of(hostile(lambda what: f"{attack} {what} {attack}"))
    assert elements(page) == harmless
    assert "\x00" not in page


def test_no_attack_runs_in_a_browser_and_each_is_shown_as_it_is(browser: Browser, tmp_path: Path) -> None:
    attacks = "".join(ATTACKS.values())
    address = write_page(tmp_path, hostile(lambda what: f"{what} {attacks}"), pictures=True)
    with watched_page(browser) as (page, watch):
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        page.goto(f"{address}#queries")
        assert page.locator("#krag-rows [role=row]").count() == 3
        show_controls(page)
        page.select_option("#krag-order", "place")
        settle(page)
        for query in (1, 3):
            page.click(f"#krag-row-{query - 1}")
            page.wait_for_selector("#krag-query[open]")
            page.mouse.move(300, 300)
            question = page.locator("#krag-query .question").evaluate("e => e.textContent")
            assert question.startswith(f"question{query - 1} <script>")
            assert "a\x00b" in question
            page.keyboard.press("Escape")
            page.locator("#krag-query").wait_for(state="hidden")
        page.fill("#krag-text", "onerror")
        settle(page)
        assert page.locator("#krag-rows [role=row]").count() == 3
        assert page.evaluate("typeof window.attacked") == "undefined"
        assert page.evaluate("Object.prototype.toString.call({}.polluted)") == "[object Undefined]"
        assert dialogs == []
    assert [url.partition("#")[0] for url in watch.requests] == [address]


def test_no_attack_runs_in_search_chips_rows_and_downloads(browser: Browser, tmp_path: Path) -> None:
    """Each string as what somebody searches for, as what an address asks for, and as what is written into a file."""
    attacks = "".join(ATTACKS.values())
    evil = f"system a {attacks}"
    path = tmp_path / "report.html"
    path.write_text(html_page(hostile(lambda what: f"{what} {attacks}")), "utf-8", errors="backslashreplace")
    address = path.as_uri()
    with watched_page(browser) as (page, watch):
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        asked = {
            "text": "onerror",
            "found": evil,
            "in": evil,
            f"slice.type {attacks}": f"type {attacks}",
            "cause": "any",
        }
        page.goto(f"{address}#queries?{urlencode(asked, errors='replace')}")
        for attack in ATTACKS.values():
            page.fill("#krag-text", attack)
            settle(page)
            encoded = urlencode(dict.fromkeys(("text", *WRITTEN), attack), quote_via=quote, errors="replace")
            page.evaluate("(address) => { location.hash = address; }", f"#queries?{encoded}")
            follow(page)
            assert page.locator("#krag-in-vain").is_visible()
        page.evaluate("location.hash = '#queries?sort=place'")
        settle(page)
        assert page.locator("#krag-rows [role=row]").count() == 3
        page.locator(".toggle").first.click()
        assert "gold text 0 <script>" in page.locator(".row-open").evaluate("e => e.textContent")
        page.click("#krag-filters-toggle")
        page.click(".runs summary >> nth=0")
        page.locator("#krag-found input").first.check()
        settle(page)
        assert evil[:20] in page.inner_text("#krag-chips .used")
        page.click("[data-chip=all]")
        for button, name in (("save-set", "questions.jsonl"), ("save-table", "questions.csv")):
            with page.expect_download() as waiting:
                page.click(f"#krag-{button}")
            waiting.value.save_as(tmp_path / name)
        assert page.evaluate("typeof window.attacked") == "undefined"
        assert dialogs == []
    assert [url.partition("#")[0] for url in watch.requests if not url.startswith("blob:")] == [address]
    read = read_evalset(tmp_path / "questions.jsonl")
    assert {(question.gold[0].text or "")[:20] for question in read} == {f"gold text {i} <script>" for i in range(3)}
    cells = csv.reader(io.StringIO((tmp_path / "questions.csv").read_text("utf-8-sig"), newline=""))
    assert not [cell for line in cells for cell in line if cell.lstrip().startswith(("=", "+", "-", "@"))]


WRITTEN = (
    "found",
    "missed",
    "in",
    "run",
    "against",
    "label",
    "status",
    "cause",
    "change",
    "sort",
    "k",
    "columns",
    "slice.type",
)


def test_the_policy_forbids_everything_but_this_script_and_this_style(browser: Browser, tmp_path: Path) -> None:
    page_text = page_of(shop(), pictures=True)
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page_text)
    assert found is not None
    directives = [part.strip().split(" ", 1) for part in found[1].replace("&#39;", "'").split(";")]
    hashed = r"'sha256-[A-Za-z0-9+/]{43}='"
    assert [name for name, _ in directives] == ["default-src", "script-src", "style-src", "base-uri", "form-action"]
    assert all(value == "'none'" or re.fullmatch(hashed, value) for _, value in directives)
    assert not re.search(r"<[^>]+\sstyle=", page_text.partition('<script type="application/json"')[0])
    assert not re.search(r"<[^>]+\son\w+=", page_text.partition('<script type="application/json"')[0])
    path = tmp_path / "injected.html"
    path.write_text(page_text.replace("<main>", f"<main><script>{RUN}</script><p style='color:red'>"), encoding="utf-8")

    def attack() -> None:
        with watched_page(browser) as (page, _):
            page.goto(path.as_uri())
            assert page.evaluate("typeof window.attacked") == "undefined"
            assert page.locator("#krag-rows [role=row]").count() == 6

    with pytest.raises(AssertionError, match="Content Security Policy"):
        attack()


@pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS.keys())
def test_json_in_a_script_is_the_same_value_without_any_character_of_markup(text: str) -> None:
    written = json_in_script({text: [text, 1.5, None, True]})
    assert json.loads(written) == {text: [text, 1.5, None, True]}
    assert not set(written) & set("<>&\u2028\u2029\x00")
    written.encode("utf-8")


def test_json_in_a_script_knows_no_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_in_script([float("nan")])


def test_what_html_cannot_hold_is_replaced_and_anything_else_stays() -> None:
    assert printable("a\x00\x0b\x7f\x9f\ud800\ufffez") == "a" + "\ufffd" * 6 + "z"
    assert printable("배송 ไทย \U0001f600\t\n\r") == "배송 ไทย \U0001f600\t\n\r"
    assert printable(5) == 5


def test_the_policy_holds_the_hashes_that_a_browser_computes() -> None:
    # printf 'a' | openssl dgst -sha256 -binary | base64
    assert "script-src 'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='" in policy("a", "b")
