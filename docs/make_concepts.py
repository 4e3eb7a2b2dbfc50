"""Draw the pictures of docs/concepts.md into docs/img, from what `evaluate` says of the example on that page.

Every word stands in a box that brings its own ground, and every line is a grey between the two, so that a picture
can be read on white and on black.
"""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

from krag_eval import EvaluationResult, evaluate

IMAGES = Path(__file__).resolve().parent / "img"
GOLD = ["Refunds arrive within three working days.", "Refunds go to the card you paid with."]
RETRIEVED = [
    "We ship on weekdays.",
    "Refunds arrive within 3 working days after we approve them.",
    "Your refund: it will arrive within three working days.",
    "Refunds arrive within 3 working days after we approve them.",
    "Refunds go to the card you paid with.",
]
NAMES = "AB"
WIDTH = 560
LINE = 17
GREY = "#7f8b93"
PAPER, GREEN, AMBER, DARK = (
    ("#eef1f3", "#1c2429"),
    ("#c9ecd6", "#0b3d20"),
    ("#fbe6b5", "#4a3500"),
    ("#0f5c56", "#ffffff"),
)


@dataclass
class Drawing:
    """Shapes on a sheet that is as high as what was put on it.

    Attributes:
        title: What a screen reader says.
        shapes: The elements so far.
        height: The lowest edge so far.
    """

    title: str
    shapes: list[str] = field(default_factory=list)
    height: float = 0

    def box(
        self, x: float, y: float, width: float, lines: list[str], colours: tuple[str, str], *, bold: bool = False
    ) -> float:
        """Lines of text in a box; gives the height of the box."""
        ground, ink = colours
        height = height_of(lines)
        self.shapes.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5" fill="{ground}"/>')
        weight = ' font-weight="bold"' if bold else ""
        for place, line in enumerate(lines):
            baseline = y + 6 + LINE * place + 13
            self.shapes.append(f'<text x="{x + 8:g}" y="{baseline:g}" fill="{ink}"{weight}>{escape(line)}</text>')
        self.height = max(self.height, y + height)
        return height

    def line(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """A line below the boxes that are put on later."""
        self.shapes.append(f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{GREY}" stroke-width="2"/>')

    def svg(self) -> str:
        """The whole file."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height:g}" role="img"'
        style = 'font-family="system-ui, sans-serif" font-size="14"'
        body = "\n".join(self.shapes)
        return f"{head} {style}>\n<title>{escape(self.title)}</title>\n{body}\n</svg>\n"


def scored() -> EvaluationResult:
    """The example of the page."""
    return evaluate([GOLD], [RETRIEVED], k=len(RETRIEVED), match_method=["text", "rougeL"], threshold=0.5)


def wrapped(text: str, width: int) -> list[str]:
    """A text in lines of at most so many letters."""
    return textwrap.wrap(text, width)


def height_of(lines: list[str]) -> int:
    """How high a box of these lines is."""
    return len(lines) * LINE + 12


def draw_match(result: EvaluationResult) -> str:
    """Which retrieved text is which gold document, with the method and the similarity of each pair."""
    drawing = Drawing("Match: a line for each pair that is the same document, with the method and the similarity.")
    drawing.box(0, 0, 190, ["gold documents"], DARK, bold=True)
    drawing.box(236, 0, 324, ["retrieved, best first"], DARK, bold=True)
    explanation, gold = (
        result.explain(0),
        [wrapped(f"{name}  {text}", 24) for name, text in zip(NAMES, GOLD, strict=True)],
    )
    gold_tops = (88.0, 242.0)
    y = 42.0
    for outcome, text in zip(explanation.ranks, RETRIEVED, strict=True):
        lines = wrapped(f"{outcome.rank}  {text}", 27)
        centre = y + height_of(lines) / 2
        for match in outcome.matches:
            drawing.line(190, gold_tops[match.gold] + height_of(gold[match.gold]) / 2, 236, centre)
            drawing.box(236, centre - 15, 100, [f"{match.method} {match.similarity:.3f}"], DARK)
        y += drawing.box(342, y, 218, lines, PAPER) + 10
    for lines, top in zip(gold, gold_tops, strict=True):
        drawing.box(0, top, 190, lines, GREEN)
    return drawing.svg()


def draw_judge(result: EvaluationResult) -> str:
    """What each rank is and what it earns."""
    drawing = Drawing("Judge: each rank is relevant or not, a repeat, and credited with a gold document or not.")
    drawing.box(0, 0, 270, ["retrieved, best first"], DARK, bold=True)
    drawing.box(290, 0, 270, ["judged"], DARK, bold=True)
    y = 42.0
    for outcome, text in zip(result.explain(0).ranks, RETRIEVED, strict=True):
        matched = " and ".join(NAMES[match.gold] for match in outcome.matches)
        if outcome.repeat_of is not None:
            verdict, colours = [f"repeats rank {outcome.repeat_of}:", "takes a place, earns nothing"], PAPER
        elif outcome.is_credited:
            verdict, colours = ["relevant, and credited", f"with {matched}"], GREEN
        elif outcome.is_relevant:
            verdict, colours = [f"relevant: it matches {matched},", f"but {matched} is credited above"], AMBER
        else:
            verdict, colours = ["matches nothing", ""], PAPER
        height = drawing.box(0, y, 270, [*wrapped(f"{outcome.rank}  {text}", 36), ""][:2], PAPER)
        drawing.box(290, y, 270, verdict, colours)
        y += height + 10
    found = [
        f"{name} is covered from rank {gold.match.rank} on"
        for name, gold in zip(NAMES, result.explain(0).gold, strict=True)
        if gold.match is not None
    ]
    drawing.box(0, y, WIDTH, [", ".join(found)], DARK)
    return drawing.svg()


def draw_score(result: EvaluationResult) -> str:
    """Which judgments each metric reads, and what comes out."""
    depth = len(RETRIEVED)
    explanation = result.explain(0)
    relevant = ["relevant" if rank.is_relevant else "" for rank in explanation.ranks]
    credited = [NAMES[rank.matches[0].gold] if rank.is_credited else "" for rank in explanation.ranks]
    first = {gold.match.rank: name for name, gold in zip(NAMES, explanation.gold, strict=True) if gold.match}
    covered = [first.get(rank, "") for rank in range(1, depth + 1)]
    rows = (
        ("relevant", ["yes" if mark else "" for mark in relevant], ("precision", "mrr")),
        ("covered", covered, ("recall", "hit_rate_all")),
        ("credited", credited, ("map", "ndcg")),
    )
    drawing = Drawing(
        "Score: precision and MRR read the relevant ranks, recall what is covered, MAP and nDCG what is credited."
    )
    drawing.box(0, 0, 92, ["rank"], DARK, bold=True)
    for rank in range(1, depth + 1):
        drawing.box(100 + 58 * (rank - 1), 0, 52, [str(rank)], DARK, bold=True)
    drawing.box(100 + 58 * depth, 0, WIDTH - 100 - 58 * depth, [f"metrics at {depth}"], DARK, bold=True)
    y = 38.0
    for name, marks, metrics in rows:
        drawing.box(0, y, 92, [name, ""], PAPER, bold=True)
        for place, mark in enumerate(marks):
            drawing.box(100 + 58 * place, y, 52, [mark, ""], GREEN if mark else PAPER)
        lines = [f"{metric}  {result[f'{metric}@{depth}']:.3f}" for metric in metrics]
        drawing.box(100 + 58 * depth, y, WIDTH - 100 - 58 * depth, lines, PAPER)
        y += 56
    return drawing.svg()


PICTURES = {"match": draw_match, "judge": draw_judge, "score": draw_score}


def main(folder: Path) -> None:
    """Draw every picture."""
    result = scored()
    for name, draw in PICTURES.items():
        (folder / f"concepts-{name}.svg").write_text(draw(result), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
