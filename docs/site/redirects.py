"""Keeps the addresses of earlier releases: what docs/site/redirects.toml names leads to where it is now."""

from __future__ import annotations

import html
import json
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

TABLE = Path(__file__).resolve().parent / "redirects.toml"
_MOVED = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>This page has moved</title>
<noscript><meta http-equiv="refresh" content="0; url={there}"></noscript>
<script>
const moved = {moved};
const there = "{there}";
const same = there.includes("#") ? there : there + location.hash;
location.replace(moved[decodeURIComponent(location.hash.slice(1))] || same);
</script>
<p>This page is now <a href="{there}">{there}</a>.</p>
<ul>{links}</ul>
"""
_ELSEWHERE = """<script>
(moved => {{
  const follow = () => {{
    const id = decodeURIComponent(location.hash.slice(1));
    if (!id || document.getElementById(id)) return;
    const there = moved[id] || (moved["*"] && `${{moved["*"]}}#${{id}}`);
    if (there) location.replace(there);
  }};
  addEventListener("hashchange", follow);
  follow();
}})({moved});
</script>"""


def redirects() -> dict[str, dict[str, str]]:
    """Return for each page the anchors that have moved and where to.

    The empty anchor is the page itself, and `*` all anchors that the page does not have.
    """
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for old, new in tomllib.loads(TABLE.read_text(encoding="utf-8")).items():
        page, _, anchor = old.partition("#")
        found[page][anchor] = new
    return found


def _addresses(moved: dict[str, str], page: str) -> dict[str, str]:
    """Return the same with addresses in the site, from the page."""
    up = "../" * page.count("/")

    def address(target: str) -> str:
        name, hash_, anchor = target.partition("#")
        return f"{up}{name}.html{hash_}{anchor}"

    return {anchor: address(target) for anchor, target in moved.items()}


def _as_script(moved: dict[str, str]) -> str:
    return json.dumps(moved, ensure_ascii=False).replace("</", "<\\/")


def on_post_page(output: str, *, page: Page, **_: object) -> str:
    """Leads from an anchor that a page no longer has to where its section is now."""
    name = page.file.src_uri.removesuffix(".md")
    moved = redirects().get(name)
    if not moved:
        return output
    return output.replace("</body>", f"{_ELSEWHERE.format(moved=_as_script(_addresses(moved, name)))}\n</body>")


def on_post_build(*, config: MkDocsConfig) -> None:
    """Writes a small page in the place of each one that is gone, which works without JavaScript too."""
    for name, moved in redirects().items():
        if "" not in moved:
            continue
        addresses = _addresses(moved, name)
        there = addresses.pop("")
        links = "".join(
            f'<li><a id="{html.escape(anchor)}" href="{html.escape(address)}">{html.escape(anchor)}</a></li>'
            for anchor, address in addresses.items()
        )
        path = Path(config.site_dir) / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_MOVED.format(there=there, moved=_as_script(addresses), links=links), encoding="utf-8")
