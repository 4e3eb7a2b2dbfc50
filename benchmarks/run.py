"""Measure krag_eval against other people's programs: `make bench`, `make bench-smoke`.

Prints a line for every measurement, with our target and whether it was reached, then the missed targets with a profile.
A full run writes benchmarks/README.md, without the targets. Exits with 1 if two programs that must agree do not.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

from benchmarks import (
    answers,
    comparing,
    containment,
    growth,
    ids,
    imports,
    korean,
    logs,
    memory,
    page,
    page_speed,
    readers,
    report_load,
    rouge,
    runner,
    spans,
    sweep,
    targets,
)
from benchmarks.harness import HEADINGS, CheckError, Row, Topic

TOPICS: dict[str, Topic] = {
    "rouge": rouge.run,
    "korean": korean.run,
    "ids": ids.run,
    "documents": ids.run_documents,
    "containment": containment.run,
    "spans": spans.run,
    "sweep": sweep.run,
    "answers": answers.run,
    "growth": growth.run,
    "memory": memory.run,
    "long": memory.run_long,
    "runner": runner.run,
    "compare": comparing.run,
    "readers": readers.run,
    "logs": logs.run,
    "report": report_load.run,
    "page": page_speed.run,
    "import": imports.run,
}
_WIDTHS = (72, 42, 10, 10, 10, 15, 7)


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="everything once, at a tiny size; writes no page")
    parser.add_argument("--only", choices=TOPICS, help="one topic; writes no page")
    arguments = parser.parse_args()
    tables: dict[str, list[Row]] = {}
    failures = []
    _print_cells(HEADINGS)
    for name in [arguments.only] if arguments.only else TOPICS:
        start = time.perf_counter()
        tables[name] = []
        try:
            for row in TOPICS[name](arguments.smoke):
                # Tiny sizes show that it runs, not how fast.
                tables[name].append(replace(row, asked=None) if arguments.smoke else row)
                _print_cells(tables[name][-1].cells())
        except CheckError as error:
            failures.append(f"CHECK FAILED in {name}: {error}")
            print(failures[-1], file=sys.stderr, flush=True)
        print(f"  {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    for line in targets.report(tables):
        print(line, flush=True)
    if failures:
        print(*failures, sep="\n", file=sys.stderr)
        return 1
    if not arguments.smoke and not arguments.only:
        page.write(tables)
    return 0


def _print_cells(cells: list[str]) -> None:
    places = zip(cells, _WIDTHS, strict=True)
    print("  ".join(cell.ljust(width) for cell, width in places).rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
