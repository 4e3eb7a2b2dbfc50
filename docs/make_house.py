"""Count the house and draw it: `python docs/make_house.py` prints the counts, writes the picture and the way of a call.

The counts are a check, not an aim. A count above its limit in docs/house.toml, a circle among files, or a picture or a
list of files in CONTRIBUTING.md that no longer shows the code ends `--check` with exit code 1.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import textwrap
import tokenize
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "img" / "rooms.svg"
PAGE = ROOT / "CONTRIBUTING.md"
LIMITS = tomllib.loads((ROOT / "docs" / "house.toml").read_text(encoding="utf-8"))
WAY = re.compile(r"(<!-- The way of one call, by docs/make_house.py -->\n)(.*?)(?=\n## )", re.DOTALL)
GREY, PAPER, INK, LINE = "#7f8b93", "#eef1f3", "#1c2429", 15
WIDTH = 1080
IN_A_ROW = 6  # packages beside the core: their names are long


def main() -> None:
    """Print the counts, and check or write the picture and the list."""
    files = dict(modules())
    graph = imports(files)
    wrong = [name for name, count, most in counts(files, graph) if _is_above(name, count, most)]
    entered = files_entered("text")
    for path in entered:
        print(f"  {path}")
    picture, page = draw(room_arrows(graph)), PAGE.read_text(encoding="utf-8")
    way = WAY.sub(lambda found: found[1] + steps(entered), page)
    if "--check" not in sys.argv:
        PICTURE.write_text(picture, encoding="utf-8")
        PAGE.write_text(way, encoding="utf-8")
    elif PICTURE.read_text(encoding="utf-8") != picture or page != way:
        print(
            "docs/img/rooms.svg or CONTRIBUTING.md does not show the code. Run: python docs/make_house.py",
            file=sys.stderr,
        )
        wrong.append("picture")
    sys.exit(bool(wrong))


def _is_above(name: str, count: int, most: int) -> bool:
    print(f"{name:55} {count:>7,}   at most {most:>6,}{'   MISSED' if count > most else ''}")
    return count > most


def counts(files: dict[str, Path], graph: dict[str, set[str]]) -> Iterator[tuple[str, int, int]]:
    """Yield what is limited: its name, how many there are, and how many there may be."""
    total = 0
    for package in sorted({name.partition(".")[0] for name in files}):
        own = {name: path for name, path in files.items() if name.partition(".")[0] == package}
        stub = files[package].with_suffix(".pyi")
        lines = sum(code_lines(path.read_text(encoding="utf-8")) for path in [*own.values(), stub])
        total += lines
        most = LIMITS["packages"].get(package, {"lines": 0, "modules": 0, "names": 0})
        yield f"{package}: code lines", lines, most["lines"]
        yield f"{package}: modules", len(own), most["modules"]
        yield f"{package}: public names", names_in(stub), most["names"]
    toolkit = ROOT / "krag_eval" / "toolkit.pyi"
    of_all = {
        "code lines of all": total,
        "names of krag_eval.toolkit": names_in(toolkit),
        "layers of krag_eval": len(layers()),
        "circles among files": len(circles(graph)),
        "files entered by evaluate_all, by ROUGE-L": len(files_entered("rougeL")),
        "files entered by evaluate_all, by text": len(files_entered("text")),
    }
    for name, count in of_all.items():
        yield name, count, LIMITS["all"][name]


def names_in(stub: Path) -> int:
    """Return how many names a stub offers."""
    body = ast.parse(stub.read_text(encoding="utf-8")).body
    return sum(len(node.names) for node in body if isinstance(node, ast.ImportFrom))


def steps(entered: list[str]) -> str:
    """Return the files that a call enters, in order."""
    return textwrap.fill(", ".join(f"`{path}`" for path in entered), width=120, break_on_hyphens=False) + "\n"


def modules() -> Iterator[tuple[str, Path]]:
    """Yield each module of the package and the adapters by its dotted name."""
    for base in (ROOT, ROOT / "adapters"):
        for package in sorted(base.glob("krag_eval*")):
            for path in sorted(package.rglob("*.py")):
                yield ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__"), path


def code_lines(source: str) -> int:
    """Count the lines that are neither blank nor comment nor docstring."""
    strings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            strings |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    layout = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.COMMENT}
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in layout:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - strings)


def imports(files: dict[str, Path]) -> dict[str, set[str]]:
    """Return which of our modules each module imports, inside of functions and for types too."""
    graph: dict[str, set[str]] = {name: set() for name in files}
    for name, path in files.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module in files:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    graph[name].add(inner if inner in files else node.module)
        graph[name].discard(name)
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other in a loop, inside of functions and for types too."""
    reach = {name: reachable(graph, name) for name in graph}
    loops = {tuple(sorted(b for b in reach[a] if a in reach[b])) for a in graph if a in reach[a]}
    return [list(loop) for loop in sorted(loops)]


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """Return every node to which arrows lead from this one."""
    found: set[str] = set()
    waiting = [*graph[start]]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += graph[node]
    return found


def files_entered(match_method: str) -> list[str]:
    """Return the files whose functions run in one `evaluate_all`, in the order in which they are entered."""
    from krag_eval import evaluate_all

    def call() -> object:
        return evaluate_all([["a b"]], [["a b c", "a b"]], k=2, match_method=match_method)

    call()  # loads what is loaded once
    return entered_by(call)


def entered_by(call: Callable[[], object]) -> list[str]:
    """Return the files of the package and the adapters in which a function runs during the call."""
    seen: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if (
            event == "call"
            and path.is_relative_to(ROOT)
            and path.relative_to(ROOT).parts[0] in ("krag_eval", "adapters")
        ):
            seen.setdefault(str(path.relative_to(ROOT)))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(seen)


def layers() -> list[list[str]]:
    """Return the rooms of each layer, highest first, as pyproject.toml has them for import-linter."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(one for one in settings["tool"]["importlinter"]["contracts"] if one["id"] == "rooms")
    return [[room.strip(" ()") for room in layer.split("|")] for layer in contract["layers"]]


def room_arrows(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return which rooms each room imports, without those that it reaches through another one."""
    rooms: dict[str, set[str]] = {room: set() for layer in layers() for room in layer}
    for name, others in graph.items():
        for other in others:
            pair = [one.split(".")[1] if one.count(".") else "" for one in (name, other)]
            is_between = all(one in rooms for one in pair) and pair[0] != pair[1]
            if name.startswith("krag_eval.") and is_between:
                rooms[pair[0]].add(pair[1])
    return {
        room: {other for other in others if not any(other in reachable(rooms, third) for third in others - {other})}
        for room, others in rooms.items()
    }


def draw(arrows: dict[str, set[str]]) -> str:
    """Return the picture: a row a layer, a box a room with what it is for, an arrow where it imports another one."""
    shapes, boxes, y = list[str](), dict[str, tuple[float, float, float, float]](), 10.0
    packages = sorted(path.parent.name for path in (ROOT / "adapters").glob("*/__init__.py"))
    for first in range(0, len(packages), IN_A_ROW):
        y = put_row(packages[first : first + IN_A_ROW], shapes, boxes, y) + 8
    shapes.append(f'<line x1="10" x2="{WIDTH - 10}" y1="{y + 4:g}" y2="{y + 4:g}" stroke="{GREY}"/>')
    shapes.append(
        f'<text x="10" y="{y + 20:g}" font-size="12" fill="{INK}">Above the wall: packages in adapters/, which use '
        "the public names of krag_eval and krag_eval.toolkit alone. Below: krag_eval, which finds them by entry point."
        "</text>"
    )
    y += 32
    for rooms in layers():
        y = put_row(rooms, shapes, boxes, y) + 22
    lines = [arrow(boxes[room], boxes[other]) for room, below in arrows.items() for other in sorted(below)]
    marker = (
        f'<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 8 4 0 8z" fill="{GREY}"/></marker>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y - 12:g}" role="img" font-size="14" '
        'font-family="system-ui, sans-serif"><title>The rooms of krag_eval and what they import</title>'
        f"<defs>{marker}</defs>{''.join(lines)}{''.join(shapes)}</svg>\n"
    )


def put_row(
    names: list[str], shapes: list[str], boxes: dict[str, tuple[float, float, float, float]], y: float
) -> float:
    """Add the boxes of a row, and return its lower edge."""
    wide = min((WIDTH - 20 - 12 * (len(names) - 1)) / len(names), 620.0)
    left: float = (WIDTH - wide * len(names) - 12 * (len(names) - 1)) / 2
    texts = [textwrap.wrap(purpose(name), int(wide / 6.8)) for name in names]
    high = 26 + LINE * max(map(len, texts))
    for name, text in zip(names, texts, strict=True):
        boxes[name] = (left, y, wide, high)
        shapes.append(f'<rect x="{left:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="6" fill="{PAPER}"/>')
        shown = name if name.startswith("krag_eval_") else f"{name}/"
        shapes.append(
            f'<text x="{left + 10:g}" y="{y + 18:g}" font-size="13" font-weight="bold" fill="{INK}">{shown}</text>'
        )
        for place, line in enumerate(text, start=1):
            at = y + 18 + LINE * place
            shapes.append(f'<text x="{left + 10:g}" y="{at:g}" font-size="12" fill="{INK}">{escape(line)}</text>')
        left += wide + 12
    return y + high


def arrow(start: tuple[float, float, float, float], end: tuple[float, float, float, float]) -> str:
    """Return a curve from the lower edge of one box to the upper edge of another one."""
    x0, y0, x1, y1 = start[0] + start[2] / 2, start[1] + start[3], end[0] + end[2] / 2, end[1]
    x0, x1, bend = x0 + (x1 - x0) * 0.12, x1 + (x0 - x1) * 0.12, 12.0
    if y1 - y0 > 30:  # past the boxes between them, on the right
        x0, x1, bend = start[0] + start[2] - 24, x1 + end[2] / 4, min(90, (y1 - y0) / 2)
        path = f"M{x0:g} {y0:g} C{max(x0, x1) + 90:g} {y0 + bend:g} {max(x0, x1) + 90:g} {y1 - bend:g} {x1:g} {y1:g}"
    else:
        path = f"M{x0:g} {y0:g} C{x0:g} {y0 + bend:g} {x1:g} {y1 - bend:g} {x1:g} {y1:g}"
    return f'<path d="{path}" fill="none" stroke="{GREY}" stroke-width="1.6" marker-end="url(#head)"/>'


def purpose(name: str) -> str:
    """Return the first sentence about a room of krag_eval, or about a package beside it."""
    folder = ROOT / "adapters" / name if name.startswith("krag_eval_") else ROOT / "krag_eval" / name
    return sentence((folder / "__init__.py").read_text(encoding="utf-8"))


def sentence(source: str) -> str:
    """Return the first paragraph of a docstring."""
    return " ".join((ast.get_docstring(ast.parse(source)) or "").partition("\n\n")[0].replace("`", "").split())


if __name__ == "__main__":
    main()
