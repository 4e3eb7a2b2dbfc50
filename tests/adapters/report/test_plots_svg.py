"""The SVG of a picture may stand in a page with a strict policy, beside others, on light and dark ground."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import html5lib
import pytest

from krag_eval._utils.formatting import display_width, shorten
from krag_eval_report.plots import ReportFigure, drawings_of, figures_of
from krag_eval_report.plots.drawing import drawing, labels_of
from krag_eval_report.plots.style import INK, clean
from krag_eval_report.plots.svg import as_svg
from tests.support.plot_cases import HOSTILE, hostile, rouge, two_systems

if TYPE_CHECKING:
    from playwright.sync_api import Page

SVG = "{http://www.w3.org/2000/svg}"
MAKERS = (two_systems, rouge, hostile)
# https://www.w3.org/TR/SVG2/styling.html#PresentationAttributes, as far as matplotlib says such things.
PRESENTATION = {
    *("fill", "fill-opacity", "fill-rule", "opacity", "clip-path", "font-size", "font-weight", "text-anchor"),
    *("stroke", "stroke-width", "stroke-opacity", "stroke-linecap", "stroke-linejoin", "stroke-dasharray"),
    *("stroke-dashoffset", "stroke-miterlimit", "direction", "overflow"),
}
OTHERS = {"id", "d", "x", "y", "width", "height", "transform", "viewBox", "role", "aria-labelledby", "href"}
OTHERS |= {"patternUnits"}
TAGS = {"svg", "title", "desc", "g", "defs", "path", "use", "text", "clipPath", "rect", "pattern"}

pictures_of = functools.cache(lambda make: figures_of(make()))


def pictures() -> list[ReportFigure]:
    return [picture for make in MAKERS for picture in pictures_of(make)]


def texts(svg: str) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.full
def test_there_are_no_styles_no_scripts_and_no_references_to_the_outside() -> None:
    for picture in pictures():
        for element in ET.fromstring(picture.svg).iter():
            if element.tag == f"{SVG}a":
                assert set(element.attrib) == {"href", "aria-label"}
                assert element.attrib["href"].startswith("#queries?")
                continue
            assert element.tag.removeprefix(SVG) in TAGS
            assert set(element.attrib) <= PRESENTATION | OTHERS, element.tag
            assert element.get("href", "#").startswith("#")
            for value in element.attrib.values():
                assert re.fullmatch(r"url\(#[\w-]+\)", value) or "url(" not in value
        assert re.findall(r"https?://[^\"' ]+", picture.svg) == ["http://www.w3.org/2000/svg"]
        assert not re.search(r"<(script|style|image|foreignObject|metadata|!)|\bon\w+=", picture.svg)


@pytest.mark.full
def test_every_reference_leads_to_an_id_and_no_id_stands_twice_in_a_page_of_all() -> None:
    ids: list[str] = []
    for picture in pictures():
        root = ET.fromstring(picture.svg)
        own = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
        used = set(re.findall(r"url\(#([^)]+)\)", picture.svg)) | set(
            re.findall(r'href="#(?!queries)([^"]+)"', picture.svg)
        )
        assert set(own) == used | set(root.attrib["aria-labelledby"].split())
        assert all(name.startswith(f"plot-{picture.key.replace('_', '-')}-") for name in own)
        ids += own
    assert len(ids) == len(set(ids)) > 50


@pytest.mark.full
def test_each_picture_has_a_name_and_a_description_for_those_who_cannot_see_it() -> None:
    for picture in pictures():
        root = ET.fromstring(picture.svg)
        title, desc = root[0], root[1]
        role = "group" if root.find(f".//{SVG}a") is not None else "img"
        assert (root.get("role"), root.get("aria-labelledby")) == (role, f"{title.get('id')} {desc.get('id')}")
        assert (title.tag, title.text) == (f"{SVG}title", picture.title)
        assert (desc.tag, desc.text) == (f"{SVG}desc", clean(picture.description))


@pytest.mark.full
def test_in_a_page_text_and_axes_have_its_colour_and_there_is_no_ground() -> None:
    for picture in pictures():
        root = ET.fromstring(picture.svg)
        written = list(root.iter(f"{SVG}text"))
        assert all(text.get("fill") == "currentColor" or _is_in_a_bar(text) for text in written)
        assert INK not in picture.svg.lower()
        hatching = {path for pattern in root.iter(f"{SVG}pattern") for path in pattern}
        grounds = {path.get("fill") for path in root.iter(f"{SVG}path") if path not in hatching}
        assert "#ffffff" not in grounds
        assert (root.get("width"), root.get("height")) == ("100%", None)


def _is_in_a_bar(element: ET.Element) -> bool:
    return (element.text or "").isdecimal() and element.get("fill") in {"#ffffff", None}  # None is black


def test_as_a_file_it_has_a_size_and_a_white_ground() -> None:
    with drawing(2) as figure:
        figure.add_subplot().set_title("한국어")
    root = ET.fromstring(as_svg(figure, "key", "title", "words", in_page=False))
    assert (root.get("width"), root.get("height")) == ("518.4pt", "144pt")
    assert next(root.iter(f"{SVG}path")).get("fill") == "#ffffff"
    title = next(element for element in root.iter(f"{SVG}text") if element.text == "한국어")
    assert title.get("fill") == INK


@pytest.mark.full
def test_names_stay_text_as_they_were_written() -> None:
    written = texts(next(picture.svg for picture in pictures_of(hostile) if picture.key == "hits"))
    shown = [clean(name) for name in HOSTILE]
    assert [name for name in shown[:-1] if name not in written] == []
    assert "<script>" in shown[5]
    assert "<script>" not in "".join(picture.svg for picture in pictures_of(hostile))


@pytest.mark.full
def test_an_html_parser_reads_the_same_tree() -> None:
    for picture in pictures_of(hostile):
        page = html5lib.parse(f"<!doctype html><body>{picture.svg}<p>after", treebuilder="etree")
        (svg,) = page.iter(f"{SVG}svg")
        assert [e.tag for e in svg.iter()] == [e.tag for e in ET.fromstring(picture.svg).iter()]
        assert [e.tag.rpartition("}")[2] for e in page.iter()][-1] == "p"


@pytest.mark.full
def test_the_same_report_gives_the_same_characters() -> None:
    assert figures_of(two_systems()) == pictures_of(two_systems)


@pytest.mark.full
def test_a_figure_that_is_drawn_again_gives_the_same_characters() -> None:
    for key, _, drawn in drawings_of(two_systems()):
        first, second = (as_svg(drawn.figure, key, "title", "words") for _ in range(2))
        assert first == second


@pytest.mark.parametrize("make", [two_systems, hostile])
def test_in_a_browser_no_label_covers_another_or_leaves_the_picture(make: object, page: Page) -> None:
    policy = "default-src 'none'"
    body = "".join(picture.svg for picture in pictures_of(make))
    page.set_viewport_size({"width": 900, "height": 800})
    page.set_content(
        f'<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<body><font face="sans-serif">{body}</font>'
    )
    assert page.evaluate(OVERLAPS) == []


# Boxes of lines are higher than what is drawn in them, so a third of them may overlap.
OVERLAPS = """() => [...document.querySelectorAll("svg")].flatMap(svg => {
    const frame = svg.getBoundingClientRect(), found = [];
    const boxes = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
    for (const [text, a] of boxes) {
        if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.bottom > frame.bottom + 1)
            found.push(`${text} leaves the picture`);
        for (const [other, b] of boxes) {
            if (a === b) continue;
            const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (width > 1 && height > Math.min(a.height, b.height) / 3) found.push(`${text} covers ${other}`);
        }
    }
    return found;
})"""


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("bm25", 4, "bm25"),
        ("chunk size 200", 9, "chun… 200"),
        ("한국어검색기", 8, "한국…기"),
        ("กี่ก้าก็กี่", 4, "กี่ก้…กี่"),  # marks stay with their letters
    ],
)
def test_long_names_keep_beginning_and_end(text: str, width: int, expected: str) -> None:
    assert shorten(text, width) == expected
    assert display_width(shorten(text, width)) <= width


def test_names_that_become_the_same_are_numbered() -> None:
    names = ["x" * 50 + "1" + "y" * 50, "x" * 50 + "2" + "y" * 50, "bm25"]
    assert labels_of(names, 11) == ["1. xx…yyyyy", "2. xx…yyyyy", "bm25"]
