"""Write a figure as SVG for a page with a strict policy: attributes instead of styles, no external references."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from xml.etree import ElementTree as ET

from krag_eval.toolkit import Said
from krag_eval_report.plots.fonts import without_glyph_warnings
from krag_eval_report.plots.style import INK, clean, style, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, sans-serif"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_SHORTHAND = re.compile(r"(?:(?P<weight>bold|\d{3}) )?(?<![\d.])(?P<size>[\d.]++px)")
_DROPPED = {"metadata", "style", "title", "desc"}


class Speaker(Protocol):
    """Writes texts that remember their message in the language of a page."""

    def in_element(self, text: str) -> tuple[str, dict[str, str]]:
        """Return what an element says, and the attributes by which it says it in another language."""

    def in_attribute(self, name: str, text: str) -> dict[str, str]:
        """Return an attribute, and the one by which it changes with the language."""


@dataclass(frozen=True, slots=True)
class _English:
    """English, in a file that knows no other language."""

    def in_element(self, text: str) -> tuple[str, dict[str, str]]:
        return visible(text), {}

    def in_attribute(self, name: str, text: str) -> dict[str, str]:
        return {name: visible(text)}


@dataclass(frozen=True, slots=True)
class _Copy:
    """How a drawing is copied.

    Attributes:
        ids: The new ids, by the old.
        ink: The colour of what is black.
        doors: The names of links, by their addresses.
        said: The texts that remember their message, by the ids of their groups.
        speaker: Who writes them.
    """

    ids: Mapping[str, str]
    ink: str
    doors: Mapping[str, str]
    said: Mapping[str, str]
    speaker: Speaker


def as_svg(
    figure: Figure,
    key: str,
    title: str,
    words: Sequence[str],
    *,
    in_page: bool = True,
    speaker: Speaker | None = None,
) -> str:
    """Return the figure as an `<svg>` element; the same figure gives the same characters.

    Args:
        figure: The figure.
        key: Its name. Every id begins with it and a hash of the content, so that the same plot of two reports can be
            in one page.
        title: Its title, for screen readers.
        words: What it shows, for screen readers, in pieces.
        in_page: True for a page: full width, no background, in the page's text colour and fonts, with links. False for
            a file: in its own size, on white.
        speaker: Writes the texts that remember their message; English by default.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    linked = figure.findobj(lambda artist: artist.get_url() is not None) if in_page else []
    doors = {str(artist.get_url()): artist.get_gid() or "" for artist in linked}
    spoken = figure.findobj(lambda artist: isinstance(artist.get_gid(), Said))
    buffer, ground = io.StringIO(), figure.get_facecolor()
    with style(), without_glyph_warnings():
        figure.set_facecolor("none" if in_page else "white")
        # Not `savefig`, which draws everything once more before it.
        FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})  # type: ignore[no-untyped-call]
        figure.set_facecolor(ground)
    drawn = ET.fromstring(buffer.getvalue())
    whole = f"{buffer.getvalue()}\0{title}\0{''.join(words)}".encode("utf-8", "replace")
    prefix = f"{key}-{hashlib.sha256(whole).hexdigest()[:10]}"
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
    speaker = speaker or _English()
    said, attributes = speaker.in_element(title)
    ET.SubElement(root, "title", {"id": f"{prefix}-title", **attributes}).text = clean(said)
    _describe(ET.SubElement(root, "desc", {"id": f"{prefix}-desc"}), words, speaker)
    used = (
        old
        for element in drawn.iter()
        for value in (element.attrib.values() if not element.tag.endswith("}a") else ())
        for old in (_REFERENCE.findall(value) or ([value[1:]] if value.startswith("#") else []))
    )
    ids = {old: f"{prefix}-{number}" for number, old in enumerate(dict.fromkeys(used), 1)}
    texts = {str(artist.get_gid()): artist.get_gid() or "" for artist in spoken}
    copy = _Copy(ids, "currentColor" if in_page else INK, doors, texts, speaker)
    for child in drawn:
        _copy(child, root, copy)
    return ET.tostring(root, encoding="unicode")


def _describe(element: ET.Element, words: Sequence[str], speaker: Speaker) -> None:
    """Write pieces of a text: those that change with the language are elements."""
    element.text = ""
    last: ET.Element | None = None
    for text, attributes in map(speaker.in_element, words):
        if attributes:
            last = ET.SubElement(element, "tspan", attributes)
            last.text, last.tail = text, ""
        elif last is None:
            element.text += text
        else:
            last.tail = f"{last.tail}{text}"


def _copy(element: ET.Element, parent: ET.Element, copy: _Copy) -> None:
    tag = element.tag.rpartition("}")[2]
    if tag in _DROPPED:
        return
    if tag == "a":
        address = element.attrib[_XLINK]
        name = copy.doors.get(address)
        copied = (
            parent
            if name is None
            else ET.SubElement(parent, "a", {"href": address, **copy.speaker.in_attribute("aria-label", name)})
        )
    else:
        copied = ET.SubElement(parent, tag, _attributes(element, copy.ids, copy.ink))
        copied.text = element.text if tag in {"text", "tspan"} else None
    for child in element:
        _copy(child, copied, copy)
    said = copy.said.get(element.get("id", ""))
    if said is not None and (first := copied.find("text")) is not None:
        first.text, attributes = copy.speaker.in_element(said)
        first.attrib.update(attributes)
    if tag in {"g", "defs"} and not len(copied):
        parent.remove(copied)


def _attributes(element: ET.Element, ids: Mapping[str, str], ink: str) -> dict[str, str]:
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
