"""Write the tables of benchmarks/statistics.md anew: `python -m benchmarks.renew_statistics`, an hour on two cores.

`simulate_statistics` names a page too, but it is part of the code whose hash stands beside the tables. The place of the
tables changes no number, so it is set here. It can move there with the next change of a simulation.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import simulate_statistics

PAGE = Path(__file__).resolve().with_name("statistics.md")
RENEW = "python -m benchmarks.renew_statistics"


def main() -> int:
    """Simulate, print, and write the tables into the page; `--smoke` does everything once and writes nothing."""
    simulate_statistics.PAGE = PAGE
    return simulate_statistics.main()


if __name__ == "__main__":
    sys.exit(main())
