"""The page `docs/benchmarks.md`: what was measured, where and when."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.harness import HEADINGS, Row

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
_PROGRAMS = (
    "krag",
    "rouge-score",
    "rouge-score-rs",
    "kiwipiepy",
    "pytrec-eval-terrier",
    "ranx",
    "numpy",
    "rapidfuzz",
    "scipy",
)
_INTRODUCTION = """\
# Benchmarks

Written by `make bench`. Every line was measured in one process, on the same input, the two sides in turn; the times
are medians over rounds. A round gets its input as new objects with new strings, made before the clock starts, so that
nothing is known from the round before. Where two programs decide about the same pairs, the run stops unless they find
equally many matches; where both give means, unless these are equal.
"""
_HOW = {
    "rouge": """\
Ours: from document objects to the dict of all metrics at k = 10, threshold 0.7. rouge-score-rs: the list of pairs is
made before the clock starts, `score_batch` scores it on all cores, and each score is compared with the threshold
once. rouge_score: a sample of the queries, in proportion. krag: all its metrics at k = 10, in proportion, measured
once. Its cache holds 1,000 pairs: of 30 queries (900 pairs) it answers every metric after the first, of 1,000 queries
none. The line of 40 queries (1,200 pairs) is therefore nearer to what 1,000 queries take; both are compared with what
was asked for.
""",
    "korean": """\
Kiwi and its model are loaded before the clock starts on both sides. krag cuts each text into morphemes anew for every
pair and metric; we cut each different text once. krag's cache holds 1,000 pairs, so that few queries flatter it (see
above); 40 queries are more than it holds.
""",
    "ids": """\
Ours: from lists of ids to the dict of all seven metrics at all cut-offs, means included. The peers measure P, recall,
MAP, nDCG and success at the same cut-offs and the reciprocal rank, without F1. "From lists of ids" includes the dicts
or objects that they take and, for pytrec_eval, the means; "its evaluate alone" is nothing but that call on input made
before. ranx was called before the clock starts, which is when it compiles.
""",
    "containment": """\
Ours: from raw texts to the dict of all metrics, normalising and judging included. The loop: nothing but `gold in
retrieved` (for `either` also `retrieved in gold`) for each pair, on text that was normalised before the clock starts.
In long runs of one letter no filter can tell texts apart; what is left is what `in` costs.
""",
    "sweep": """\
`evaluate` with a threshold of 0.3 finds every similarity from there on: all that a sweep from 0.3 to 0.9 needs.
""",
    "answers": """\
From two lists of strings to the dict of means, with refusals and empty answers told apart. What is "together" is one
call; rouge_score scores a sample, in proportion, each pair by itself. Its values of the sample are ours to the last
bit, or the run stops.
""",
    "growth": """\
Ours against ourselves. "Pairs": 100 ranks instead of 10 from the same corpus, the added ones matching hardly
anything; "pairs and matches": ten times the matches with them. "Queries": the corpus grows along. "Unique text": as
many queries, of which fewer are different.

![Time against pairs, queries, unique texts and k](img/growth.svg)
""",
    "memory": """\
Each in a process of its own, fed from a generator or a file through `evaluate_stream`; the peak is the process's
highest resident set, interpreter and imports included. Stream, file and one-shot call gave the same bits.
""",
    "long": "One gold and one retrieved text, in a process of its own. What was asked for is seconds, not hours.\n",
    "runner": """\
`run_retriever` in a process of its own, fingerprint of the question set and copies of all documents included. The
in-memory retriever returns ten documents of 150 letters each with a score and metadata; the one of 100 ms sleeps.
""",
    "compare": """\
Each in a process of its own. From results: statistics and what became of the misses. From runs: scoring too. With
slices: the same over again for five types of questions. How well the statistics hold is in
[statistics.md](statistics.md).
""",
    "report": """\
The page of two runs whose texts of about 300 characters are nearly all different. "Opened": from the address to the
list drawn, best of three, where Chromium and playwright are installed.
""",
    "import": "`python -X importtime`, the best of five.\n",
}


def write(tables: Mapping[str, list[Row]]) -> None:
    """Write the page."""
    PAGE.write_text("\n".join(_lines(tables)) + "\n", encoding="utf-8")


def _lines(tables: Mapping[str, list[Row]]) -> Iterator[str]:
    rows = [row for table in tables.values() for row in table]
    missed = [row for row in rows if row.reached is False]
    yield _INTRODUCTION
    yield f"* **When**: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    yield f"* **Machine**: {_processor()}, a {os.cpu_count()}-core machine, {platform.system()}, shared with other work"
    programs = ", ".join(f"{name} {version(name)}" for name in _PROGRAMS)
    yield f"* **Versions**: krag-eval {version('krag-eval')}, Python {platform.python_version()}, {programs}"
    asked = [row for row in rows if row.asked is not None]
    n_reached = sum(row.reached is True for row in asked)
    yield f"* **Reached**: {n_reached} of the {len(asked)} figures that were asked for\n"
    for name, table in tables.items():
        yield f"## {name.capitalize()}\n\n{_HOW[name]}"
        yield f"| {' | '.join(HEADINGS)} |"
        yield "| --- | --- | --: | --: | --: | --: | --- |"
        for row in table:
            yield f"| {' | '.join(cell if cell != 'NO' else '**no**' for cell in row.cells())} |"
        yield ""
        notes = [f"* {row.work}: {row.note}" for row in table if row.note]
        if notes:
            yield "\n".join(notes) + "\n"
    yield "## Not reached\n"
    if not missed:
        yield "Nothing: every figure that was asked for was reached."
    shown: set[str] = set()
    for row in missed:
        yield from _missed(row, is_profiled=row.work in shown)
        shown.add(row.work)


def _missed(row: Row, *, is_profiled: bool) -> Iterator[str]:
    _, _, _, _, ratio, asked, _ = row.cells()
    against = f", against {row.peer}" if row.peer else ""
    yield (
        f"**{row.work}{against}**: {ratio or row.cells()[2]}, where {asked} was asked for. {row.reason}".rstrip() + "\n"
    )
    if row.profile and not is_profiled:
        yield f"Where our time goes (cProfile, which slows calls down):\n\n```\n{row.profile}\n```\n"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
