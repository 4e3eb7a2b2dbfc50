"""Write a figure as SVG for a page with a strict policy: attributes instead of styles, no external references."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from krag_eval_report.plots.fonts import without_glyph_warnings
from krag_eval_report.plots.style import INK, clean, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, sans-serif"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_SHORTHAND = re.compile(r"(?:(?P<weight>bold|\d{3}) )?(?<![\d.])(?P<size>[\d.]++px)")
_DROPPED = {"metadata", "style", "title", "desc"}


def as_svg(figure: Figure, key: str, title: str, description: str, *, in_page: bool = True) -> str:
    """Return the figure as an `<svg>` element; the same figure gives the same characters.

    Args:
        figure: The figure.
        key: Its name. Every id begins with it and a hash of the content, so that the same plot of two reports can be
            in one page.
        title: Its title, for screen readers.
        description: What it shows, for screen readers.
        in_page: True for a page: full width, no background, in the page's text colour and fonts, with links. False for
            a file: in its own size, on white.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    linked = figure.findobj(lambda artist: artist.get_url() is not None) if in_page else []
    doors = {str(artist.get_url()): str(artist.get_label())[1:] for artist in linked}
    buffer, ground = io.StringIO(), figure.get_facecolor()
    with style(), without_glyph_warnings():
        figure.set_facecolor("none" if in_page else "white")
        # Not `savefig`, which draws everything once more before it.
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})  # type: ignore[no-untyped-call]
        figure.set_facecolor(ground)
    drawn = ET.fromstring(buffer.getvalue())
    said = f"{buffer.getvalue()}\0{title}\0{description}".encode("utf-8", "replace")
    prefix = f"{key}-{hashlib.sha256(said).hexdigest()[:10]}"
    _, _, width, height = drawn.attrib["viewBox"].split()
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": drawn.attrib["viewBox"],
            **({"width": "100%"} if in_page else {"width": f"{width}pt", "height": f"{height}pt"}),
            "role": "group" if doors else "img",  # an image has nothing inside that can be pressed
            "aria-labelledby": f"{prefix}-title {prefix}-desc",
            "direction": "ltr",
            "overflow": "visible",
            "stroke-linejoin": "round",
            "stroke-linecap": "butt",
            **({} if in_page else {"font-family": FONTS}),
        },
    )
    for tag, text in (("title", title), ("desc", description)):
        ET.SubElement(root, tag, {"id": f"{prefix}-{tag}"}).text = clean(text)
    used = (
        old
        for element in drawn.iter()
        for value in (element.attrib.values() if not element.tag.endswith("}a") else ())
        for old in (_REFERENCE.findall(value) or ([value[1:]] if value.startswith("#") else []))
    )
    ids = {old: f"{prefix}-{number}" for number, old in enumerate(dict.fromkeys(used), 1)}
    for child in drawn:
        _copy(child, root, ids, "currentColor" if in_page else INK, doors)
    return ET.tostring(root, encoding="unicode")


def _copy(element: ET.Element, parent: ET.Element, ids: dict[str, str], ink: str, doors: Mapping[str, str]) -> None:
    tag = element.tag.rpartition("}")[2]
    if tag in _DROPPED:
        return
    if tag == "a":
        address = element.attrib[_XLINK]
        name = doors.get(address)
        copied = parent if name is None else ET.SubElement(parent, "a", {"href": address, "aria-label": clean(name)})
    else:
        copied = ET.SubElement(parent, tag, _attributes(element, ids, ink))
        copied.text = element.text if tag in {"text", "tspan"} else None
    for child in element:
        _copy(child, copied, ids, ink, doors)
    if tag in {"g", "defs"} and not len(copied):
        parent.remove(copied)


def _attributes(element: ET.Element, ids: dict[str, str], ink: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for name, value in element.attrib.items():
        if name == "id":
            if (new := ids.get(value)) is not None:
                attributes["id"] = new
        elif name == _XLINK:
            attributes["href"] = f"#{ids.get(value[1:])}"
        elif name == "style":
            attributes |= _presentation(_REFERENCE.sub(lambda found: f"url(#{ids[found[1]]})", value), ink)
        elif not (name == "transform" and value.startswith("rotate(-0 ")):
            attributes[name] = " ".join(_REFERENCE.sub(lambda found: f"url(#{ids[found[1]]})", value).split())
    return attributes


def _presentation(declarations: str, ink: str) -> dict[str, str]:
    """Turn style declarations into attributes, without the fonts: the page chooses those."""
    attributes: dict[str, str] = {}
    for declaration in declarations.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font" and (found := _SHORTHAND.search(value)):
            attributes["font-size"] = found["size"]
        elif name and name not in {"font", "font-family"}:
            attributes[name] = ink if value.lower() == INK else value
    return attributes


def settle(figure: Figure) -> None:
    """Fix the layout of a figure: otherwise each drawing would move things slightly."""
    engine = figure.get_layout_engine()
    if engine is not None:
        with style(), without_glyph_warnings():
            engine.execute(figure)
        figure.set_layout_engine("none")
