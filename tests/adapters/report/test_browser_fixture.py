"""The watched browser itself: a page that is not sound fails its test, one that is sound does not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support import browser as fixtures
from tests.support.browser import watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
AWAY = "http://127.0.0.1:9/away"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param(f"<script>fetch('{AWAY}').catch(() => 0)</script>", f"request: {AWAY}", id="fetch"),
        pytest.param(f"<img src='{AWAY}'>", f"request: {AWAY}", id="image"),
        pytest.param(f"<link rel='stylesheet' href='{AWAY}'>", f"request: {AWAY}", id="style"),
        pytest.param(f"<style>body {{ background: url('{AWAY}') }}</style>", f"request: {AWAY}", id="background"),
        pytest.param(f"<script>navigator.sendBeacon('{AWAY}')</script>", f"request: {AWAY}", id="beacon"),
        pytest.param("<script>new WebSocket('ws://127.0.0.1:9/')</script>", "request: ws://127.0.0.1:9/", id="socket"),
        pytest.param(f"<script>window.open('{AWAY}')</script>", f"request: {AWAY}", id="window"),
        pytest.param("<script>console.error('the table is empty')</script>", "console: the table is empty", id="error"),
        pytest.param("<script>setTimeout(() => absent())</script>", "exception: .*absent is not defined", id="throw"),
        pytest.param("<script>Promise.reject(Error('lost'))</script>", "exception: .*lost", id="rejection"),
        pytest.param(
            "<meta http-equiv='Content-Security-Policy' content=\"script-src 'none'\"><script>1</script>",
            "console: .*Content Security Policy",
            id="policy",
        ),
    ],
)
def test_a_page_that_is_not_sound_fails_its_test(browser: Browser, content: str, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault), watched_page(browser) as (page, _):
        page.set_content(content, wait_until="commit")


def test_a_page_that_another_one_opened_is_watched_too(browser: Browser) -> None:
    with pytest.raises(AssertionError, match="console: from the second"), watched_page(browser) as (page, _):
        page.evaluate("window.open('about:blank').console.error('from the second')")


def test_what_a_page_does_just_after_the_last_step_of_the_test_counts(browser: Browser) -> None:
    with pytest.raises(AssertionError, match="console: late"), watched_page(browser) as (page, _):
        page.evaluate(
            "void setTimeout(() => { const end = Date.now() + 200; while (Date.now() < end); console.error('late') })"
        )


def test_a_test_that_fails_by_itself_says_so(browser: Browser) -> None:
    def test(page: Page) -> None:
        page.evaluate("console.error('of the page')")
        raise LookupError("of the test")

    with pytest.raises(LookupError, match="of the test"), watched_page(browser) as (page, _):
        test(page)


def test_a_sound_page_passes_and_what_it_asked_for_is_known(browser: Browser, tmp_path: Path) -> None:
    style = tmp_path / "style.css"
    style.write_text("p { color: red }", encoding="utf-8")
    path = tmp_path / "page.html"
    path.write_text(
        f"<meta charset='utf-8'><link rel='stylesheet' href='style.css'><p>환불 ไทย عربي</p><img src='{PIXEL}'>"
        "<script>console.warn('no error'); fetch(URL.createObjectURL(new Blob(['x'])))</script>",
        encoding="utf-8",
    )
    with watched_page(browser) as (page, watch):
        page.goto(path.as_uri())
        assert page.inner_text("p") == "환불 ไทย عربي"
        assert page.evaluate("getComputedStyle(document.querySelector('p')).color") == "rgb(255, 0, 0)"
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.images[0].naturalWidth") == 1
    assert watch.requests[:2] == [path.as_uri(), style.as_uri()]
    assert [url.partition(":")[0] for url in watch.requests] == ["file", "file", "blob"]  # data: is no request


def test_the_page_is_offline_and_shares_nothing_with_another(page: Page, browser: Browser) -> None:
    assert page.evaluate("navigator.onLine") is False
    with watched_page(browser) as (other, _):
        assert other.context is not page.context


def test_where_there_is_no_browser_the_reason_is_loud(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("PATH", "")
    assert fixtures.find_browser() is None
    start = fixtures.browser.__wrapped__()  # type: ignore[attr-defined]
    with pytest.raises(pytest.skip.Exception, match=re.escape("need a browser, one of chromium,")):
        next(start)
