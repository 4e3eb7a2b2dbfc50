"""Draw docs/img/funnel.svg from the first example of docs/stages.md: `python docs/make_funnel.py`."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from krag_eval_report import Report
from krag_eval_report.plots.distributions import draw_stages
from krag_eval_report.plots.svg import as_svg

DOCS = Path(__file__).resolve().parent


def main(folder: Path) -> None:
    """Run the example and write the picture."""
    page = (DOCS / "stages.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], names)
    drawn = draw_stages(Report(title="", systems=(), funnels=(names["result"],)))
    if drawn is None:
        sys.exit("The example of docs/stages.md has no needs.")
    svg = as_svg(drawn.figure, "funnel", "Where needs were lost", drawn.description, in_page=False)
    (folder / "funnel.svg").write_text(re.sub(r">(?=<)", ">\n", svg) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "img")
