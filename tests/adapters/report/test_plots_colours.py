"""Colours of the plots under simulated colour-blindness, and what tells things apart beside colour."""

from __future__ import annotations

import itertools
import re
from importlib import resources

import numpy as np
import pytest

from krag_eval import evaluate_ids
from krag_eval_report import build_report
from krag_eval_report.plots import figures_of
from krag_eval_report.plots.distributions import COLOURS as COLOURS_OF_CAUSES
from krag_eval_report.plots.distributions import look_of_cause
from krag_eval_report.plots.drawing import COLOURS, HATCHES, colour_of, hatch_of, line_style

LEAST = 0.1  # distance in OKLab; black and white are 1 apart

# Machado, Oliveira and Fernandes 2009, severity 1, on linear red, green and blue.
EYES = {
    "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
# Ottosson 2020: linear red, green and blue to the responses of cones, and their cube roots to OKLab.
CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def seen(colour: str, eyes: str) -> np.ndarray:
    """The colour in OKLab, as these eyes see it."""
    parts = np.array([int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    shown = np.clip(np.array(EYES[eyes]) @ linear, 0, 1)
    lab: np.ndarray = np.array(LAB) @ np.cbrt(np.array(CONES) @ shown)
    return lab


def distance(one: str, other: str) -> float:
    """The distance of two colours to the eyes that see the least of it."""
    return min(float(np.linalg.norm(seen(one, eyes) - seen(other, eyes))) for eyes in EYES)


def test_distances_are_those_of_the_colour_space() -> None:
    assert distance("#000000", "#ffffff") == pytest.approx(1, abs=1e-3)
    assert distance("#0072b2", "#0072b2") == 0
    assert distance("#d55e00", "#85852a") < LEAST  # orange and olive: one colour without green cones


def test_six_runs_are_told_apart_by_every_eye() -> None:
    assert min(distance(one, other) for one, other in itertools.combinations(COLOURS[:6], 2)) >= LEAST


def test_ten_runs_differ_in_marker_and_in_colour() -> None:
    styles = [line_style(number) for number in range(10)]
    assert len({style["marker"] for style in styles}) == 10
    assert min(distance(one, other) for one, other in itertools.combinations(COLOURS, 2)) >= 0.05


def test_six_runs_are_told_apart_without_colour() -> None:
    looks = [line_style(number) for number in range(6)]
    assert len({(str(look["marker"]), str(look["linestyle"])) for look in looks}) == 6
    assert len({hatch_of(number) for number in range(6)}) == 6


def test_causes_differ_in_colour_or_in_hatching() -> None:
    for one, other in itertools.combinations(COLOURS_OF_CAUSES, 2):
        first, second = look_of_cause(one), look_of_cause(other)
        assert first["hatch"] != second["hatch"] or distance(first["color"], second["color"]) >= LEAST, (one, other)


@pytest.mark.full
def test_hatching_reaches_the_picture() -> None:
    runs = {f"run {n}": evaluate_ids([["a"], ["b"]], [["a"], ["x"]], k=[1, 2]) for n in range(6)}
    svg = next(figure.svg for figure in figures_of(build_report(runs)) if figure.key == "hits")
    patterns = re.findall(r'<pattern [^>]*?id="([\w-]+)"', svg)
    assert len(patterns) == len(HATCHES) - 1  # the first run is plain
    assert all(f"url(#{pattern})" in svg for pattern in patterns)
    assert colour_of(5) in svg


def contrast(one: str, other: str) -> float:
    """The contrast of two colours by WCAG 2.2."""
    light = []
    for colour in (one, other):
        parts = np.array([int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        light.append(float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05)
    return max(light) / min(light)


def page_colours(theme: int) -> dict[str, str]:
    """The custom properties of the page, in the first theme or the second."""
    style = (resources.files("krag_eval_report.html") / "templates" / "tokens.css").read_text(encoding="utf-8")
    colours = {m[1]: m[1 + theme] for m in re.finditer(r"--(\w[\w-]*): light-dark\((#\w{6}), (#\w{6})\)", style)}
    aliases = re.finditer(r"--(\w[\w-]*): var\(--([\w-]+)\)", style)
    return colours | {alias[1]: colours[alias[2]] for alias in aliases if alias[2] in colours}


@pytest.mark.parametrize("theme", [1, 2])
def test_texts_of_the_page_stand_out_from_every_ground(theme: int) -> None:
    colours = page_colours(theme)
    pairs = [
        *itertools.product(
            ["text", "quiet", "link", "good", "bad"], ["page", "raised", "surface", "selected", "notice"]
        ),
        *itertools.product(["text-3"], ["page", "surface", "sunken"]),
        *itertools.product(["text"], ["mark", "held", "missed"]),
        ("on-accent", "accent"),
    ]
    assert [(text, on) for text, on in pairs if contrast(colours[text], colours[on]) < 4.5] == []


@pytest.mark.parametrize("theme", [1, 2])
def test_good_and_bad_are_told_apart_by_every_eye(theme: int) -> None:
    colours = page_colours(theme)
    assert distance(colours["good"], colours["bad"]) >= LEAST
    for one, other in itertools.combinations(["mark", "held", "missed"], 2):  # pale grounds; underlines differ too
        assert distance(colours[one], colours[other]) >= 0.06, (one, other)
