"""Gold ids that do not match, and would if both sides wrote their ids in the same way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, islice

import numpy as np

from krag_eval.errors import warn
from krag_eval.matching.batch import Batch
from krag_eval.matching.matches import Matches

# So much is looked at; what goes wrong with ids goes wrong early and often.
MOST_GOLD, MOST_RETRIEVED = 10_000, 10_000
_NAMED = 3
_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")


def plain(ids: Sequence[str]) -> list[str]:
    """The ids without surrounding white space, leading zeros of their numbers, and case.

    >>> plain([" doc007", "DOC7", "2024-01-0", "0"])
    ['doc7', 'doc7', '2024-1-0', '0']
    """
    # One pass over one text takes a third of the time that one call an id takes.
    stripped = [one.strip() for one in ids]
    joined = _LEADING_ZEROS.sub("", "\n".join(stripped).casefold()).split("\n")
    return joined if len(joined) == len(stripped) else [_LEADING_ZEROS.sub("", one.casefold()) for one in stripped]


def warn_of_spelling(batch: Batch, matches: Matches) -> None:
    """Warn where gold ids that nothing matches have a retrieved id of their query that is only written differently.

    Ids that both stand on one side are different documents, however alike: a retrieved id that is gold itself, and a
    gold id that is retrieved for some other query, are no sign of anything.
    """
    suspects = _suspects(batch, matches)
    if suspects:
        gold = {one for one, _ in suspects}
        known = gold.intersection(chain.from_iterable(map(batch.predicted.ids_of, range(len(batch)))))
        suspects = [pair for pair in suspects if pair[0] not in known]
    if suspects:
        named = ", ".join(f"{gold!r:.40} for {found!r:.40}" for gold, found in suspects[:_NAMED])
        count = "1 gold id differs" if len(suspects) == 1 else f"{len(suspects)} gold ids differ"
        warn(
            f"{count} from a retrieved id of the same query only in leading zeros, case or white space around it, "
            f"which is no match: {named}. If they mean the same documents, write the ids of both sides in one way."
        )


def _suspects(batch: Batch, matches: Matches) -> list[tuple[str, str]]:
    """Pairs of a gold id without a match and a retrieved id that is not gold, alike within one query."""
    is_matched = np.zeros(int(batch.actual.offsets[-1]), dtype=bool)
    is_matched[matches.actual] = True
    unmatched = np.flatnonzero(~is_matched)[:MOST_GOLD]
    queries = np.unique(np.searchsorted(batch.actual.offsets, unmatched, side="right") - 1)
    sizes = batch.predicted.sizes[queries]
    chosen = queries[np.cumsum(sizes) <= MOST_RETRIEVED].tolist()
    gold, found = ([side.ids_of(query) for query in chosen] for side in (batch.actual, batch.predicted))
    suspects: dict[tuple[str, str], None] = {}
    for gold_row, row, gold_forms, forms in zip(gold, found, _forms(gold), _forms(found), strict=True):
        if gold_forms.isdisjoint(forms) or len(gold_forms & forms) == len({*gold_row} & {*row}):
            continue
        by_form = {plain([one])[0]: one for one in row if one not in gold_row}
        for one in gold_row:
            other = by_form.get(plain([one])[0])
            if other is not None and one not in row:
                suspects[one, other] = None
    return list(suspects)


def _forms(rows: Sequence[Sequence[str]]) -> list[set[str]]:
    """The plain ids of each row."""
    forms = iter(plain(list(chain.from_iterable(rows))))
    return [set(islice(forms, len(row))) for row in rows]
