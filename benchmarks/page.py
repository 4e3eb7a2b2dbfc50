"""Write `benchmarks/README.md`: what was measured, compared with what, and how to repeat it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness import Row, figure

PAGE = Path(__file__).resolve().with_name("README.md")
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

How fast krag_eval is compared with other tools, and how its time and memory grow with the input.
Other measurements: [statistics](statistics.md), [differences](differences.md), [reliability](reliability.md),
[logs](scale.md), [monitoring](monitoring.md), [guides](guides.md), [real question sets](real-data.md).

| work | compared with | speed-up of krag_eval |
| --- | --- | --: |
"""
_REPEAT = """\
The speed-up is the other tool's time divided by krag_eval's, lowest to highest of the rows below. Below 1, krag_eval is
slower. Times of slow tools are extrapolated from a sample, as the sections say.

## Machine and versions
"""
_METHOD = """\
## How to repeat the measurements

`make bench` installs the other tools into an environment of their own, repeats all measurements and writes this page.
`make bench RUN_ARGS="--only ids"` repeats one topic, and `make bench-smoke` runs everything once at a tiny size.

* Both sides run in one process, in turn, on the same input. Times are medians over several rounds.
* Each round gets its input as new objects with new strings, created before the clock starts. So nothing can be cached
  from the round before.
* If two tools decide about the same pairs, the run stops unless both find equally many matches. If both report means,
  it stops unless the means are equal.
"""


class _Section(NamedTuple):
    title: str
    text: str
    ratio: str = "ratio"


_COMPARISONS = {
    "rouge": _Section(
        "Match by ROUGE: krag, rouge_score, rouge-score-rs",
        """\
krag_eval goes from document objects to a dict of all metrics at k = 10, threshold 0.7.

* **krag** computes all its metrics at k = 10, measured once on a sample of the queries and extrapolated in proportion.
  Its cache holds 1,000 pairs. With 30 queries (900 pairs), it answers every metric after the first from the cache; with
  1,000 queries, none. So the rows of 40 queries (1,200 pairs) are closer to what 1,000 queries take.
* **rouge_score** scores a sample of the queries, extrapolated in proportion.
* **rouge-score-rs** gets a list of pairs that is built before the clock starts. `score_batch` scores it on all cores,
  and each score is compared with the threshold once.
""",
        "speed-up",
    ),
    "korean": _Section(
        "Match Korean text by ROUGE: krag with Kiwi",
        """\
Kiwi and its model are loaded before the clock starts, for both tools. krag splits each text into morphemes again for
every pair and metric; krag_eval splits each distinct text once. krag's cache holds 1,000 pairs, so a small sample
flatters krag (see above); 40 queries exceed the cache.
""",
        "speed-up",
    ),
    "ids": _Section(
        "Match by id: pytrec_eval, ranx",
        """\
krag_eval goes from lists of ids to a dict of all seven metrics at all cut-offs, means included. The other tools measure
P, recall, MAP, nDCG and success at the same cut-offs, and the reciprocal rank, but not F1.

* **From lists of ids** includes building the dicts or objects that the tool takes and, for pytrec_eval, the means.
* **Its evaluate alone** is only that call, on input built before the clock starts.
* **ranx** is called once before the clock starts, because it compiles at the first call.
""",
        "speed-up",
    ),
    "containment": _Section(
        "Match by containment: a plain loop",
        """\
krag_eval goes from raw texts to a dict of all metrics, normalization included. The loop is only `gold in retrieved` for
each pair (for `either` also `retrieved in gold`), on text normalized before the clock starts. In long runs of one
letter, no filter can tell texts apart, and the time is that of `in`.
""",
        "speed-up",
    ),
    "answers": _Section(
        "Score answers: rouge_score",
        """\
krag_eval goes from two lists of strings to a dict of means, with refusals and empty answers told apart; metrics in one
row are computed in one call. rouge_score scores each pair of a sample, extrapolated in proportion. If the values of the
sample are not the same to the last bit, the run stops.
""",
        "speed-up",
    ),
}
_GROWTH = {
    "documents": _Section(
        "Read documents of frameworks",
        """\
The ratio is the other time divided by that of krag_eval, which goes from documents to a dict of all metrics.

* **pytrec_eval** and **ranx** get their dicts from the same documents by a comprehension that reads the ids.
* **Plain comprehension** is the limit: it reads the id of each document once, checks that all are strings, and scores
  nothing.
* **Bare ids** are scored by `evaluate_ids`.
* **Strings** are the same texts without documents around them, scored by the same method.
""",
    ),
    "sweep": _Section(
        "Threshold sweeps",
        """\
`evaluate` with a threshold of 0.3 finds every similarity from there on: all that a sweep from 0.3 to 0.9 needs. The
ratio is the time of the sweep divided by that of one threshold. Every pair whose upper bound reaches the threshold has
to be counted, so a lower threshold takes longer.
""",
    ),
    "growth": _Section(
        "Time by number of pairs, queries, texts and k",
        """\
krag_eval compared with itself at a smaller size. The ratio is the time at the larger size divided by the other.

* **Pairs**: 100 ranks instead of 10 from the same corpus; the added ones match hardly anything.
* **Pairs and matches**: ten times the pairs, with ten times the matches.
* **Queries**: the corpus grows with the queries.
* **Unique text**: as many queries, of which more are different.

![Time by number of pairs, queries, unique texts and k](../docs/img/growth.svg)
""",
    ),
    "memory": _Section(
        "Peak memory of large inputs",
        """\
Each row runs in its own process, with input from a generator or a file through `evaluate_stream`. The peak is the
highest resident set of the process, including the interpreter and imports. Stream, file and a single call return the
same bits.
""",
    ),
    "spans": _Section(
        "Spans",
        """\
Metrics of spans are scored from chunks with offsets. Chunks without offsets are looked for in a corpus of 100 MB, with
the document named or not. All of it runs in one process of its own.
""",
    ),
    "long": _Section("ROUGE-L of very long texts", "One gold and one retrieved text, in a process of its own.\n"),
    "runner": _Section(
        "Run a retriever",
        """\
`run_retriever` in its own process, including the fingerprint of the question set and copies of all documents. The
in-memory retriever returns ten documents of 150 letters each with a score and metadata; the other retriever sleeps for
100 ms.
""",
    ),
    "compare": _Section(
        "Compare systems",
        """\
Each row runs in its own process. "From results" covers the statistics and the analysis of misses, "from runs" also the
scoring. With slices, all of it is repeated for five types of questions. [Statistics](../docs/statistics.md) says how
reliable the methods are.""",
    ),
    "readers": _Section(
        "Read files",
        """\
JSONL files of questions and rankings. Both parsers make dicts and check nothing else; krag_eval also refuses keys that
appear twice, checks each field and makes questions and rankings. It parses with orjson where that is installed, as it
is here, and looks again at what orjson reads differently: integers of more than 64 bits. With the parser of Python,
reading takes 1.2 to 1.4 times as long.
""",
    ),
    "logs": _Section(
        "Score Parquet files",
        """\
`score_logs` beside `evaluate` of the same strings in lists. Reading Parquet and writing the values of each query is
part of our time, and not of the other. Both match with the same code, so the limit is `evaluate` and decoding the file
together. A thread decodes the next texts while some are scored, so that one worker may be faster than this. With two
workers, the time of `evaluate` is divided by two, and starting the processes counts.

Rankings by id are scored by one worker in a process of its own; the figures are seconds of all its processors, compared
with the rate that we aim at. Long columns are first joined to their gold and written with one row per query, so their
limit is what nested columns take, and decoding.
""",
    ),
    "report": _Section(
        "Write and open a report",
        """\
The HTML page of two runs whose texts of about 300 characters are nearly all different. "Opened" is the time from the
address to the drawn list, best of three, where Chromium and playwright are installed.
""",
    ),
    "page": _Section(
        "Use a page of a report",
        """\
The HTML page of five runs, all of whose questions have texts of their own: how large it is beside these, how long
Chromium takes to the first paint and to the list, and the longest time of a key there, in an open question and while a
word is searched for. The time of the processor is that of the page's own thread, whatever else the machine does.
""",
    ),
    "import": _Section("Import time", "`python -X importtime`, the best of five.\n"),
}

_LIMITS = """\
## How far each line is from its limit

A limit is what nobody can avoid in Python: to read each object once, to copy the texts, to decode the file, or to call
the library that splits or sorts. It is measured in the same run. The last column is our time divided by the limit.

"""
_NATIVE = """\
## What a native extension would bring

krag_eval is written in Python on top of numpy and rapidfuzz, and its wheel runs on every platform. Prototypes in C,
outside the repository, showed what code of our own could save:

* **ROUGE-L of two unrelated texts of 5 MB.** Where a threshold is given, an upper bound decides this pair in a 70th of
  the time of the subsequence, and most of what is left is tokenizing. Only where the similarity itself is asked for is
  the subsequence computed. A prototype with 64 tokens to a word, in strips that stay in the first-level cache, took
  0.116 s for 70,000 tokens on each side, and rapidfuzz 0.437 s: 3.8 x. rapidfuzz is the place for that.
* **10,000 short texts in one of 5 MB.** Aho-Corasick automata took 0.73 s (pyahocorasick 2.3.1) and 0.92 s
  (ahocorasick_rs 1.0.3), and building a suffix array took 0.44 s (pydivsufsort 0.0.20). Counting shingles with numpy
  took 0.11 s.
* **Documents.** A function that reads the id of each of 1,030,000 documents, and checks that it is a string, took
  0.06 s for dicts (a comprehension: 0.08 s) and 0.10 s for LangChain Documents (0.16 s). Scoring these ids takes 0.10 s
  more. All together is at most 1.7 and 1.9 times as fast as now, and less with the checks that now take the rest.
* **Korean.** Nearly all of the time is Kiwi's own C++.

No line of this page would get three times faster from end to end. That is not worth a compiled wheel for each platform
and Python version, so there is no native extension.
"""


def write(tables: Mapping[str, list[Row]]) -> None:
    """Write the page about a full run on this machine."""
    PAGE.write_text(render(tables, list(_setting())), encoding="utf-8")


def render(tables: Mapping[str, list[Row]], setting: Sequence[str]) -> str:
    """Return the text of the page.

    Args:
        tables: The rows of each topic.
        setting: When, where and with which versions they were measured.
    """
    summary = [line for name in _COMPARISONS if name in tables for line in _ranges(name, tables[name])]
    parts = [
        _INTRODUCTION + "\n".join(summary) + "\n",
        _REPEAT,
        "\n".join(f"* {line}" for line in setting) + "\n",
        _METHOD,
    ]
    for heading, sections in (("Comparison with other tools", _COMPARISONS), ("Time and memory by size", _GROWTH)):
        parts.append(f"## {heading}\n")
        for name, section in sections.items():
            if name in tables:
                parts += [f"### {section.title}\n", section.text, _table(tables[name], section.ratio) + "\n"]
    limits = [row for rows in tables.values() for row in rows if row.limit is not None]
    if limits:
        parts.append(_LIMITS + _limits(limits) + "\n")
    parts.append(_NATIVE)
    return "\n".join(parts).rstrip() + "\n"


def _limits(rows: list[Row]) -> str:
    lines = [
        "| work | krag_eval | other | limit | ours / limit | limited by |",
        "| --- | --: | --: | --: | --: | --- |",
    ]
    for row in rows:
        assert row.limit is not None
        work, peer, ours, theirs, *_ = row.cells()
        other = f"{theirs} ({peer})" if theirs else ""
        limit = f"{figure(row.limit)} {row.unit} | {figure(row.ours / row.limit)} x"
        lines.append(f"| {work} | {ours} | {other} | {limit} | {row.limited_by} |")
    return "\n".join(lines)


def _ranges(name: str, rows: list[Row]) -> Iterator[str]:
    ratios: dict[str, list[float]] = {}
    for row in rows:
        if row.theirs is not None:
            ratios.setdefault(row.peer.partition(",")[0], []).append(row.value)
    for peer, values in ratios.items():
        topic = _COMPARISONS[name].title.partition(":")[0]
        yield f"| {topic} | {peer} | {figure(min(values))} x to {figure(max(values))} x |"


def _table(rows: list[Row], ratio: str) -> str:
    has_peers, has_notes = any(row.peer for row in rows), any(row.note for row in rows)
    headings = [
        "work",
        *(
            ["compared with", "krag_eval", "baseline" if ratio == "ratio" else "other", ratio]
            if has_peers
            else ["krag_eval"]
        ),
    ]
    lines = [[*headings, *(["note"] if has_notes else [])]]
    lines.append(["---", *(["---", "--:", "--:", "--:"] if has_peers else ["--:"]), *(["---"] if has_notes else [])])
    for row in rows:
        work, peer, ours, theirs, times, *_ = row.cells()
        figures = [peer, ours, theirs, times] if has_peers else [ours]
        lines.append([work, *figures, *([row.note] if has_notes else [])])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _setting() -> Iterator[str]:
    yield f"**Date**: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    yield f"**Machine**: {_processor()}, {os.cpu_count()} cores, {platform.system()}, shared with other work"
    if hasattr(os, "getloadavg"):
        yield f"**Load average** of the last 15 minutes, at the end: {os.getloadavg()[2]:.2f}"
    programs = ", ".join(f"{name} {version(name)}" for name in _PROGRAMS)
    yield f"**Versions**: krag-eval {version('krag-eval')}, Python {platform.python_version()}, {programs}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()
