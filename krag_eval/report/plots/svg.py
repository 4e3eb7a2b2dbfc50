"""A figure as SVG for a page with a strict policy: attributes in the place of styles, nothing from outside."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from krag_eval.report.plots.drawing import INK, style
from krag_eval.report.plots.labels import clean

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, sans-serif"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_SHORTHAND = re.compile(r"(?:(?P<weight>bold|\d{3}) )?(?<![\d.])(?P<size>[\d.]++px)")
_DROPPED = {"metadata", "style", "title", "desc"}


def as_svg(figure: Figure, key: str, title: str, description: str, *, in_page: bool = True) -> str:
    """The figure as an `<svg>` element; the same figure gives the same characters.

    Args:
        figure: The figure.
        key: Its name, with which every id in it begins. What it shows follows, so that the same picture of two
            reports can stand in one page.
        title: What it is, for screen readers.
        description: What can be read from it, for screen readers.
        in_page: For a page: as wide as there is room, on no ground, text and axes in the page's own colour of text and
            in its fonts. Else for a file: in its own size, on white.
    """
    buffer = io.StringIO()
    with style(), without_glyph_warnings():
        ground = "none" if in_page else "white"
        figure.savefig(buffer, format="svg", metadata={"Date": None}, facecolor=ground)
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
            "role": "img",
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
    names = _Names(drawn, prefix)
    for child in drawn:
        _copy(child, root, names, "currentColor" if in_page else INK)
    return ET.tostring(root, encoding="unicode")


class _Names:
    """The ids that something refers to, under new names; the others are dropped."""

    def __init__(self, drawn: ET.Element, prefix: str) -> None:
        used = (
            old
            for element in drawn.iter()
            for value in element.attrib.values()
            for old in (_REFERENCE.findall(value) or ([value[1:]] if value.startswith("#") else []))
        )
        self._new = {old: f"{prefix}-{number}" for number, old in enumerate(dict.fromkeys(used), 1)}

    def get(self, old: str) -> str | None:
        return self._new.get(old)

    def refer(self, value: str) -> str:
        return _REFERENCE.sub(lambda found: f"url(#{self._new[found[1]]})", value)


def _copy(element: ET.Element, parent: ET.Element, names: _Names, ink: str) -> None:
    tag = element.tag.rpartition("}")[2]
    if tag in _DROPPED:
        return
    copied = ET.SubElement(parent, tag, _attributes(element, names, ink))
    copied.text = element.text if tag in {"text", "tspan"} else None
    for child in element:
        _copy(child, copied, names, ink)
    if tag in {"g", "defs"} and not len(copied):
        parent.remove(copied)


def _attributes(element: ET.Element, names: _Names, ink: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for name, value in element.attrib.items():
        if name == "id":
            if (new := names.get(value)) is not None:
                attributes["id"] = new
        elif name == _XLINK:
            attributes["href"] = f"#{names.get(value[1:])}"
        elif name == "style":
            attributes |= _presentation(value, ink)
        elif not (name == "transform" and value.startswith("rotate(-0 ")):
            attributes[name] = " ".join(names.refer(value).split())
    return attributes


def _presentation(declarations: str, ink: str) -> dict[str, str]:
    """Style declarations as attributes; fonts are left to where the picture is shown."""
    attributes: dict[str, str] = {}
    for declaration in declarations.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font" and (found := _SHORTHAND.search(value)):
            attributes["font-size"] = found["size"]
        elif name and name not in {"font", "font-family"}:
            attributes[name] = ink if value.lower() == INK else value
    return attributes


def settle(figure: Figure) -> None:
    """Lay a figure out now and for good: each drawing of it would move things by a hair."""
    engine = figure.get_layout_engine()
    if engine is not None:
        with style(), without_glyph_warnings():
            engine.execute(figure)
        figure.set_layout_engine("none")


class without_glyph_warnings(warnings.catch_warnings):  # noqa: N801 - read in a `with`
    """Leave out what matplotlib says of characters that a font lacks: `warn_of_boxes` says it once, with a cure."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
