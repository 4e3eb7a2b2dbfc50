"""Every link and anchor leads somewhere, without a network, and so do the addresses of the last release."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from docs.site import redirects
from tests.support.anchors import DOCS, ROOT, addresses, anchors_of
from tests.support.browser import settle

if TYPE_CHECKING:
    from playwright.sync_api import Page

ADDRESSES = addresses()
MOVED = {
    f"{page}#{anchor}" if anchor else page: there
    for page, anchors in redirects.redirects().items()
    for anchor, there in anchors.items()
}
# Pages and anchors of the last release, without the headings of pages.
RELEASED = (Path(__file__).parent / "released_addresses.txt").read_text(encoding="utf-8").split()
PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "benchmarks").glob("*.md"), *(ROOT / "tests").glob("*/*.md")]
NAMED = re.compile(r"\bdocs/([\w./-]+?)\.md(?:#([\w-]+))?")


def is_there(address: str) -> bool:
    page, _, anchor = address.partition("#")
    return page in ADDRESSES and (not anchor or anchor in ADDRESSES[page])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_anchor_that_is_linked_to_exists(page: Path) -> None:
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]+`", "", text)):
        path, _, anchor = link.partition("#")
        if anchor and "://" not in path and path.endswith((".md", "")):
            target = page.parent / path if path else page
            if not target.is_file() or anchor not in anchors_of(target):
                wrong.append(link)
    assert wrong == []


def test_every_page_that_code_or_a_message_names_exists() -> None:
    rooms = ("krag_eval", "adapters", "examples", "benchmarks", "tests/support", "tests/platforms", ".ci", ".github")
    files = [
        path for room in rooms for path in (ROOT / room).rglob("*") if path.suffix in {".py", ".md", ".ipynb", ".yml"}
    ]
    files += [ROOT / "Makefile", ROOT / "pyproject.toml", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.py")]
    invented = {"force=True"}
    wrong = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in files
        for found in NAMED.finditer(path.read_text(encoding="utf-8"))
        if (DOCS / found[1]).parent.is_dir() and found[1] not in invented
        if not is_there(f"{found[1]}#{found[2]}" if found[2] else found[1])
    ]
    assert wrong == []


def led_to(old: str) -> str:
    """Return where an address of the last release leads; it is empty if nowhere."""
    page, _, anchor = old.partition("#")
    if is_there(old) or old in MOVED:
        return MOVED.get(old, old)
    if page in MOVED and page not in ADDRESSES:  # an anchor that is not named leads to the page that took its place
        return MOVED[page]
    return f"{MOVED[f'{page}#*']}#{anchor}" if f"{page}#*" in MOVED else ""


def test_every_address_of_the_last_release_still_leads_somewhere() -> None:
    assert len(RELEASED) > 500
    assert [old for old in RELEASED if not is_there(led_to(old))] == []


def test_every_redirect_leads_to_a_page_or_anchor_and_hides_none() -> None:
    assert [f"{old} -> {new}" for old, new in MOVED.items() if not is_there(new)] == []
    assert [old for old in MOVED if is_there(old)] == []


def test_a_page_that_is_gone_leads_on_with_and_without_javascript(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "redirects.toml"
    table.write_text('"a/old" = "new"\n"a/old#one" = "other#two"\n"kept#gone" = "new#here"\n', encoding="utf-8")
    monkeypatch.setattr(redirects, "TABLE", table)
    redirects.on_post_build(config=SimpleNamespace(site_dir=str(tmp_path)))  # type: ignore[arg-type]
    page = (tmp_path / "a" / "old.html").read_text(encoding="utf-8")
    assert '<meta http-equiv="refresh" content="0; url=../new.html">' in page
    assert 'const moved = {"one": "../other.html#two"};' in page
    assert '<a id="one" href="../other.html#two">' in page
    assert not (tmp_path / "kept.html").exists()
    kept = SimpleNamespace(file=SimpleNamespace(src_uri="kept.md"))
    assert '({"gone": "new.html#here"})' in redirects.on_post_page("<body></body>", page=kept)  # type: ignore[arg-type]
    new = SimpleNamespace(file=SimpleNamespace(src_uri="new.md"))
    assert redirects.on_post_page("<body></body>", page=new) == "<body></body>"  # type: ignore[arg-type]


def test_a_browser_follows_the_addresses_of_earlier_releases(
    tmp_path: Path, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "redirects.toml"
    table.write_text(
        'old = "new"\n"old#one" = "kept#two"\n"kept#gone" = "new#here"\n"kept#*" = "all"\n', encoding="utf-8"
    )
    monkeypatch.setattr(redirects, "TABLE", table)
    redirects.on_post_build(config=SimpleNamespace(site_dir=str(tmp_path)))  # type: ignore[arg-type]
    for name in ("new", "all", "kept"):
        described = SimpleNamespace(file=SimpleNamespace(src_uri=f"{name}.md"))
        written = redirects.on_post_page('<body><p id="two"></p></body>', page=described)  # type: ignore[arg-type]
        (tmp_path / f"{name}.html").write_text(written, encoding="utf-8")
    led = {
        "old.html#one": "kept.html#two",
        "old.html#other": "new.html#other",
        "old.html": "new.html",
        "kept.html#gone": "new.html#here",
        "kept.html#two": "kept.html#two",
        "kept.html#else": "all.html#else",
    }
    for address, expected in led.items():
        page.goto("about:blank")
        page.goto((tmp_path / "x").with_name(address).as_uri().replace("%23", "#"))
        page.wait_for_url(re.compile(re.escape(f"/{expected}") + "$"))
        settle(page)  # it leads no further
        assert page.url.endswith(f"/{expected}"), address
