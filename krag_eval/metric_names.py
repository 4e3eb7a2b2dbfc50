"""Metrics and keys of results under the names that other tools give them, and what they are called here."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from krag_eval.errors import did_you_mean

_ELSEWHERE = {
    "hits": "hit_rate",
    "hit": "hit_rate",
    "hitrate": "hit_rate",
    "hit_ratio": "hit_rate",
    "recip_rank": "mrr",
    "reciprocal_rank": "mrr",
    "rr": "mrr",
    "r": "recall",
    "context_recall": "recall",
    "p": "precision",
    "average_precision": "map",
    "ap": "map",
    "context_precision": "map",
    "f1_score": "f1",
    "f": "f1",
    "nd": "ndcg",
    "ndcg_cut": "ndcg",
    "map_cut": "map",
    "em": "exact_match",
}

# recall@5, recall_at_5, ndcg_cut_10, P_5, hits@3, mean_recall
_KEY = re.compile(r"(?:(micro|macro|mean|avg)_)?([a-z].*?)(?:(?:@|_at_|_)([0-9]+(?:tok)?|k|all))?", re.IGNORECASE)


def metric_hint(asked: object, known: Sequence[str]) -> str:
    """A sentence on a metric that is not known, beginning with a space; empty where nothing is known of it.

    >>> metric_hint("ndcg_cut_10", ["mrr", "ndcg"])
    " It is called 'ndcg' here, and its cut-off is given as k=10."
    """
    _, name, cut_off = _parts(asked)
    ours = _ours(name, known)
    if ours is None:
        return did_you_mean(asked, known)
    return f" It is called {ours!r} here{f', and its cut-off is given as k={cut_off}' if cut_off else ''}."


def key_hint(asked: object, keys: Collection[str]) -> str:
    """What to ask for instead of a key that is not there, or which keys there are; it begins with a space.

    >>> key_hint("Recall@3", ["mrr@3", "recall@3", "micro_recall@3"])
    " It is called 'recall@3' here."
    >>> key_hint("recall@7", ["recall@1", "recall@3"])
    " It was not scored at k=7: give that where it is scored. There are 'recall@1', 'recall@3'."
    """
    mean, _, cut_off = _parts(asked)
    own = keys_meant(asked, keys)
    if not own:
        return f"{did_you_mean(asked, keys)} It has: {', '.join(keys)}."
    if len(own) == 1 and (cut_off == _cut_off(own[0]) or "@" not in own[0]):
        if mean == "micro" and not own[0].startswith("micro_"):
            return f" It has no micro value; the mean over the queries is {own[0]!r}."
        return f" It is called {own[0]!r} here."
    there = ", ".join(map(repr, own))
    if cut_off not in ("", "k") and "@" in there:
        k = cut_off if cut_off.isdecimal() else {"all": "None"}.get(cut_off, repr(cut_off))
        return f" It was not scored at k={k}: give that where it is scored. There are {there}."
    return f" Say which one: {there}."


def keys_meant(asked: object, keys: Collection[str]) -> list[str]:
    """The keys of the metric that a name elsewhere stands for: the one at its cut-off, or else all of them.

    >>> keys_meant("ndcg_at_5", ["ndcg@5", "ndcg@10"]), keys_meant("NDCG", ["ndcg@5", "ndcg@10"])
    (['ndcg@5'], ['ndcg@5', 'ndcg@10'])
    """
    mean, name, cut_off = _parts(asked)
    ours = _ours(name, {_metric(key) for key in keys})
    of_metric = [key for key in keys if (_metric(key) == ours if ours else name and key.endswith(f"_{name}"))]
    plain = [key for key in of_metric if not key.startswith(("micro_", "macro_"))]
    named = [key for key in of_metric if mean and key.startswith(f"{mean}_")]
    own = named or plain or of_metric
    return [key for key in own if cut_off and _cut_off(key) == cut_off] or own


def _cut_off(key: str) -> str:
    return key.partition("@")[2] or "all"


def _metric(key: str) -> str:
    return key.partition("@")[0].removeprefix("micro_").removeprefix("macro_")


def _parts(asked: object) -> tuple[str, str, str]:
    """Which mean is asked for, the metric in lower case, and the cut-off; each empty where it is not said."""
    found = _KEY.fullmatch(str(asked).strip())
    if found is None:
        return "", "", ""
    return found[1] or "", found[2].lower(), (found[3] or "").lstrip("0")


def _ours(name: str, known: Collection[str]) -> str | None:
    by_lower = {one.lower(): one for one in known}
    return by_lower.get(name, by_lower.get(_ELSEWHERE.get(name, "")))
