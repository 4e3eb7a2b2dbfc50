"""A real browser for the tests of pages: offline, and watched, so that no fault and no request goes unseen."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)
OF_THE_PAGE_ITSELF = ("file:", "data:", "blob:")


@dataclass
class Watch:
    """What happened on the pages of one test.

    Attributes:
        console_errors: What was written with `console.error`, or by the browser (a script that a policy blocked).
        page_errors: Exceptions that no script caught.
        requests: The address of everything that was asked for, web sockets among them.
    """

    console_errors: list[str] = field(default_factory=list)
    page_errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def faults(self) -> list[str]:
        """Every error, and every request that leaves the page, in one line each."""
        return [
            *(f"error on the console: {text}" for text in self.console_errors),
            *(f"uncaught exception: {text}" for text in self.page_errors),
            *(f"request: {url}" for url in self.requests if not url.startswith(OF_THE_PAGE_ITSELF)),
        ]

    def note_console(self, message: ConsoleMessage) -> None:
        """Keeps a message if it is an error."""
        if message.type == "error":
            self.console_errors.append(message.text)

    def note_page(self, page: Page) -> None:
        """Web sockets are no requests to playwright, and are told by each page alone."""
        page.on("websocket", lambda socket: self.requests.append(socket.url))


def find_browser() -> str | None:
    """The path of the first browser that is on PATH."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


@contextmanager
def watched_page(browser: Browser) -> Iterator[tuple[Page, Watch]]:
    """A page in a context of its own that reaches no network.

    Raises:
        AssertionError: At the end, if this page or one that it opened had an error or asked for anything but a file,
            a `data:` or a `blob:` address.
    """
    watch = Watch()
    context = browser.new_context(offline=True, service_workers="block")
    try:
        context.on("request", lambda request: watch.requests.append(request.url))
        context.on("console", watch.note_console)
        context.on("weberror", lambda error: watch.page_errors.append(str(error.error)))
        context.on("page", watch.note_page)
        yield context.new_page(), watch
        for page in context.pages:  # what a page has said already arrives before its answer
            page.evaluate("() => new Promise(resolve => setTimeout(resolve))")
    finally:
        context.close()
    faults = watch.faults()
    assert not faults, "The page is not sound:\n" + "\n".join(faults)


# Of the module and not of the session: while playwright runs, `asyncio.run` refuses to run in the same thread.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser without a window, for `page` or for `watched_page`."""
    path = find_browser()
    if path is None:
        pytest.skip(
            f"need a browser, one of {', '.join(BROWSERS)} on PATH "
            "(on Debian: apt-get install chromium fonts-noto-cjk fonts-noto-core)"
        )
    sync_api = pytest.importorskip("playwright.sync_api", reason="need playwright (make setup)")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=SWITCHES)
        yield running
        running.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page, offline; the test fails at its end on any error there and on any request that leaves the page."""
    with watched_page(browser) as (made, _):
        yield made


def settle(page: Page) -> None:
    """Wait until the page has done what waits for the end of typing.

    By a timer of the page: on a busy machine ours runs late as its own do, and never before one that was set earlier
    and is shorter.
    """
    page.evaluate("() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => done(null)), 300))")


def follow(page: Page) -> None:
    """Wait until the page has followed its address: a link within it changes that at once, and says so afterwards."""
    page.evaluate("() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => done(null))))")


def show_controls(page: Page) -> None:
    """Open the panels with all filters and with what the list shows, which a page of a report opens by a button."""
    for name in ("filters", "view"):
        if page.locator(f"#krag-{name}").is_hidden():
            page.click(f"#krag-{name}-toggle")


def findings(page: Page, *rules: str) -> list[str]:
    """What axe-core finds, in one line each; only by these rules, if some are given."""
    package = pytest.importorskip("axe_playwright_python", reason="need axe-playwright-python (make setup)")
    page.evaluate((resources.files(package) / "axe.min.js").read_text(encoding="utf-8"))
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    found = page.evaluate("options => axe.run(options)", options)["violations"]
    return [f"{rule['id']}: {node['html'][:150]} {node['failureSummary']}" for rule in found for node in rule["nodes"]]
