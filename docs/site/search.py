"""What the search needs to find a Chinese word inside of a sentence, which has no spaces."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

LONGEST = 8
# lunr 2.3 takes two states of its index for one where labels that are digits stand beside the numbers of states: a word
# is then expanded to one that is nowhere, and the search finds nothing at all. A comma keeps them apart.
_CONFUSED, _APART = "e=e+s+o.id}", 'e=e+s+o.id+","}'
_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")


def on_post_build(*, config: MkDocsConfig) -> None:
    """Gives each entry of the index its endings, after the search plugin wrote it and before it is made a script."""
    path = Path(config.site_dir) / "search" / "search_index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    for entry in index["docs"]:
        if endings := endings_of(f"{entry['title']} {entry['text']}"):
            entry["endings"] = " ".join(endings)
    path.write_text(json.dumps(index, separators=(",", ":")), encoding="utf-8")
    (worker,) = (Path(config.site_dir) / "assets" / "javascripts" / "workers").glob("search.*.min.js")
    code = worker.read_text(encoding="utf-8")
    if code.count(_CONFUSED) != 1:
        raise ValueError(f"{worker}: lunr is another one now. See whether `_CONFUSED` is still needed.")
    worker.write_text(code.replace(_CONFUSED, _APART), encoding="utf-8")


def endings_of(text: str) -> list[str]:
    """What each run of Chinese characters reads from its second character on, its third, and so on, each once.

    The search finds the beginning of a word, and each word inside of the run begins one of these.
    """
    runs = _RUN.findall(text)
    endings = chain.from_iterable((run[i : i + LONGEST] for i in range(1, len(run) - 1)) for run in runs)
    return list(dict.fromkeys(endings))
