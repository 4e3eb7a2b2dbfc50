"""Play tests/newcomers/newcomers.md with the Python that runs this file: `python -m tests.newcomers.play [--check]`.

Each section is played in an empty folder. A block with a title is written as a file, each `$` line of a console block
is run, and the text block after it is what the commands print. Without `--check`, the page gets what was printed now;
with it, a difference ends with exit code 1. A `csv` block whose title ends in .xlsx is written as a workbook,
one whose title ends in .cp949.csv in that encoding. Latencies differ from run to run, so the page shows "…".
"""

from __future__ import annotations

import csv
import difflib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.workbooks import write_workbook

PAGE = Path(__file__).resolve().parent / "newcomers.md"
FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
TRACEBACK = "Traceback (most recent call last):"
LATENCY = re.compile(r"\b(p50|p95|p99) [0-9.e-]+ m?s\b")
SECONDS = 300


def main() -> None:
    """Play every section with this interpreter."""
    # Not resolved: the interpreter of an environment is a link to the one that it was made from.
    python = Path(sys.executable).absolute()
    told = PAGE.read_text(encoding="utf-8")
    shared, *sections = re.split(r"^(?=## )", told, flags=re.MULTILINE)
    files = {title: text for language, title, text in FENCE.findall(shared) if title}
    played = shared + "".join(play(section, files, python) for section in sections)
    if "--check" not in sys.argv:
        PAGE.write_text(played, encoding="utf-8")
    elif played != told:
        before, now = told.splitlines(keepends=True), played.splitlines(keepends=True)
        sys.stdout.writelines(difflib.unified_diff(before, now, "tests/newcomers/newcomers.md", "printed now"))
        sys.exit("Something else was printed. If that is right, run: make newcomers")


def play(section: str, files: dict[str, str], python: Path) -> str:
    """Return a section with what its commands print now."""
    printed: str | None = None

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, text in files.items():
            write(folder / title, text)

        def fill(block: re.Match[str]) -> str:
            nonlocal printed
            language, title, text = block.groups()
            if title:
                write(folder / title, text)
            elif language == "console":
                printed = "\n".join(run(line, folder, python) for line in commands(text)) or None
            elif language == "text" and printed is not None:
                text, printed = printed, None
            return f"```{language}{f' title={chr(34)}{title}{chr(34)}' if title else ''}\n{text}```"

        return FENCE.sub(fill, section)


def commands(text: str) -> Iterator[str]:
    """Yield the commands of a console block; `pip install` is what has been done before."""
    for line in text.replace("\\\n", "").splitlines():
        if line.startswith("$ ") and not line.startswith("$ pip "):
            yield line.removeprefix("$ ")


def run(line: str, folder: Path, python: Path) -> str:
    """Return what a command prints, and its exit code where that is not 0."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KRAG_EVAL"))}
    environment |= {
        "PATH": f"{python.parent}{os.pathsep}{environment.get('PATH', '')}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
    }
    done = subprocess.run(
        [python.parent / shlex.split(line)[0], *shlex.split(line)[1:]],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        check=False,
    )
    output = done.stdout.decode("utf-8").replace(f"{folder}{os.sep}", "").replace("\r\n", "\n")
    lines = [LATENCY.sub(r"\1 …", part.rstrip()) for part in output.splitlines()]
    if TRACEBACK in lines:  # of what led to an error, a newcomer reads the last line
        last = len(lines) - lines[::-1].index(TRACEBACK)
        end = next(n for n in range(last, len(lines)) if not lines[n].startswith(" "))
        lines[lines.index(TRACEBACK) + 1 : end] = ["  ..."]
    while lines and not lines[-1]:
        del lines[-1]
    if done.returncode:
        lines.append(f"(exit code {done.returncode})")
    return "".join(f"{part}\n" for part in lines)


def write(path: Path, text: str) -> None:
    """Write a file of the page."""
    if path.suffix == ".xlsx":
        write_workbook(path, {"Sheet1": list(csv.reader(io.StringIO(text)))})
    else:
        path.write_text(text, encoding="cp949" if ".cp949" in path.suffixes else "utf-8")


if __name__ == "__main__":
    main()
