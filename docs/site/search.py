"""What the search needs to find the right page: Chinese words, other words for things, a ranking."""

from __future__ import annotations

import json
import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

HERE = Path(__file__).resolve().parent
LONGEST = 8
# lunr 2.3 takes two states of its index for one where labels that are digits stand beside the numbers of states: a word
# is then expanded to one that is nowhere, and the search finds nothing at all. A comma keeps them apart.
_CONFUSED, _APART = "e=e+s+o.id}", 'e=e+s+o.id+","}'
# Where the worker keeps the documents, and where it searches: rank.js, in front of it, has the first word.
_HOOKS = {
    _CONFUSED: _APART,
    "this.map=ie(r),": "this.map=ie(r),this.ranking=ranking(r),",
    "search(e){if(e=e.replace(": (
        "search(e){let f={items:[]};try{f=this.lunr(e)}catch(r){console.warn(r)}"
        "return{...f,items:this.ranking.order(e,f.items,this.map)}}lunr(e){if(e=e.replace("
    ),
}
_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")


def on_post_build(*, config: MkDocsConfig) -> None:
    """Gives each entry of the index its endings and other words, and the worker its ranking.

    This comes after the search plugin wrote the index, and before it is made a script.
    """
    path = Path(config.site_dir) / "search" / "search_index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    also = other_words()
    for entry in index["docs"]:
        if endings := endings_of(f"{entry['title']} {entry['text']}"):
            entry["endings"] = " ".join(endings)
        if phrases := also.get(entry["location"].replace(".html", "")):
            entry["also"] = "\n".join(phrases)
    path.write_text(json.dumps(index, separators=(",", ":")), encoding="utf-8")
    (worker,) = (Path(config.site_dir) / "assets" / "javascripts" / "workers").glob("search.*.min.js")
    code = worker.read_text(encoding="utf-8")
    for old, new in _HOOKS.items():
        if code.count(old) != 1:
            raise ValueError(f"{worker}: the search is another one now, without {old!r}. See what `_HOOKS` has to be.")
        code = code.replace(old, new)
    worker.write_text((HERE / "rank.js").read_text(encoding="utf-8") + code, encoding="utf-8")


def other_words() -> dict[str, list[str]]:
    """Return for pages and anchors what people call their subject, in any language."""
    return tomllib.loads((HERE / "also.toml").read_text(encoding="utf-8"))


def endings_of(text: str) -> list[str]:
    """What each run of Chinese characters reads from its second character on, its third, and so on, each once.

    The search finds the beginning of a word, and each word inside of the run begins one of these.
    """
    runs = _RUN.findall(text)
    endings = chain.from_iterable((run[i : i + LONGEST] for i in range(1, len(run) - 1)) for run in runs)
    return list(dict.fromkeys(endings))
