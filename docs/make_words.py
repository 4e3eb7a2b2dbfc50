"""Print how many words the documentation has: by page and part of the menu (`make words`), as `wc -w` counts."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent


def words_of(path: Path) -> int:
    """Return the number of words of a file, its code included."""
    return len(path.read_text(encoding="utf-8").split())


def parts() -> dict[str, list[Path]]:
    """Return the pages of `docs` by the part of the menu in which they stand."""
    found: dict[str, list[Path]] = defaultdict(list)
    part = ""
    for line in (DOCS / "site" / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2].splitlines():
        if heading := re.fullmatch(r"  - ([^:]+):", line):
            part = heading[1]
        elif (page := re.search(r"([\w./-]+\.md)$", line)) and (DOCS / page[1]).is_file():
            found[part if line.startswith("      ") else "Start"].append(DOCS / page[1])
    return found


def main() -> None:
    """Print the table."""
    for path in sorted(ROOT.glob("README*.md")):
        print(f"{words_of(path):>7,}  {path.name}")
    total = 0
    for part, pages in parts().items():
        counts = {page: words_of(page) for page in pages}
        total += sum(counts.values())
        print(f"{sum(counts.values()):>7,}  {part}: {len(pages)} pages")
        for page, count in sorted(counts.items(), key=lambda pair: -pair[1]):
            print(f"{count:>7,}      {page.relative_to(DOCS)}")
    print(f"{total:>7,}  docs: {sum(map(len, parts().values()))} pages")


if __name__ == "__main__":
    main()
