"""Check whether the documents can match at all, so that a mistake in the input is not scored as a silent 0.

The documents are counted by what they have of what the methods read: nothing of it is an error, and signs of trouble
are warnings. One of these signs is looked for separately: gold ids that match once both sides spell their ids alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import chain, islice
from typing import Any

import numpy as np

from krag_eval._utils.arrays import IntArray
from krag_eval._utils.errors import InvalidInputError, warn
from krag_eval._utils.serialization import read_list, read_record, read_whole, refuse
from krag_eval.documents.columns import MISSING, Side, SideName
from krag_eval.matching.batch import Batch, Codes, Matches
from krag_eval.matching.id_batch import IdSide
from krag_eval.matching.overlap import UNIT_OF
from krag_eval.matching.settings import ROUGE_METHODS, Settings


@dataclass(slots=True)
class SideCounts:
    """What the documents of one side have; only what a method reads is counted.

    Attributes:
        documents: The number of documents.
        with_id: The number of those with an id.
        with_text: The number of those with a text.
        with_tokens: The number of those whose text has a token.
        without_direction: The number of those whose text the embedding model turned into zeros.
        without_any: The number of those that lack everything that the methods read; they never match.
        ids: A few ids, for messages.
        wordy_text: A text with a letter or digit, for messages.
    """

    documents: int = 0
    with_id: int = 0
    with_text: int = 0
    with_tokens: int = 0
    without_direction: int = 0
    without_any: int = 0
    ids: list[str] = field(default_factory=list)
    wordy_text: str | None = None

    @classmethod
    def of(cls, side: Side, batch: Batch) -> SideCounts:
        """Count one side of a batch."""
        n_documents, settings = int(side.offsets[-1]), batch.settings
        if isinstance(side, IdSide):
            return cls(n_documents, with_id=n_documents, ids=_first_ids(chain.from_iterable(side.rows)))
        counts = cls(n_documents)
        has_any = np.zeros(n_documents, dtype=bool)
        if settings.uses_ids:
            has_id = _of(side, batch.ids) != MISSING
            has_any |= has_id
            counts.with_id = int(has_id.sum())
            counts.ids = _first_ids(side.ids)
        if settings.uses_texts:
            is_text = np.fromiter(map(bool, (*batch.unique_texts, "")), dtype=bool)  # no text: code -1
            has_text = is_text[_of(side, batch.texts)]
            has_any |= has_text
            counts.with_text = int(has_text.sum())
        counts.without_any = n_documents - int(has_any.sum())
        if settings.uses_rouge:
            sketches = next(batch.sketches[UNIT_OF[method]] for method in settings.methods if method in ROUGE_METHODS)
            counts.with_tokens = int(sketches.has_tokens[_of(side, batch.texts)].sum())
            if not counts.with_tokens:
                counts.wordy_text = next((t for t in side.texts if t and any(map(str.isalnum, t))), None)
        if settings.embedded is not None:
            has_none = np.append(settings.embedded.have_no_direction(batch.unique_texts), False)
            counts.without_direction = int(has_none[_of(side, batch.texts)].sum())  # no text: code -1
        return counts

    def merge(self, other: SideCounts) -> None:
        """Add the counts of another batch."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.ids = self.ids or other.ids
        self.wordy_text = self.wordy_text or other.wordy_text

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON can hold them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: object) -> SideCounts:
        """Read what `to_dict` wrote.

        Raises:
            InvalidInputError: It is something else.
        """
        read = dict(read_record(record, "SideCounts", [field.name for field in fields(cls)]))
        ids, text = read_list(read.pop("ids"), "SideCounts.ids"), read.pop("wordy_text")
        for value in (*ids, text or ""):
            if not isinstance(value, str):
                refuse("SideCounts.ids", "a list of strings, and `wordy_text` a string or null", value)
        counts = {name: read_whole(value, f"SideCounts.{name}") for name, value in read.items()}
        return cls(**counts, ids=list(ids), wordy_text=text)


_COUNTS = [field.name for field in fields(SideCounts) if field.type == "int"]


@dataclass(slots=True)
class DocumentCounts:
    """What the documents of both sides have.

    Attributes:
        sides: The counts of each side.
        matched_by_id: The number of pairs with the same id.
    """

    sides: dict[SideName, SideCounts]
    matched_by_id: int = 0

    @classmethod
    def empty(cls) -> DocumentCounts:
        """Return counts of 0."""
        return cls({"actual": SideCounts(), "predicted": SideCounts()})

    @classmethod
    def of(cls, batch: Batch, matches: Matches) -> DocumentCounts:
        """Count a batch."""
        by_id = sum(n for n, method in zip(matches.n_found, matches.methods, strict=True) if method == "id")
        return cls({side.name: SideCounts.of(side, batch) for side in (batch.actual, batch.predicted)}, by_id)

    @property
    def unmatchable(self) -> dict[str, int]:
        """For each side, the number of documents that lack everything that the methods read."""
        return {name: side.without_any for name, side in self.sides.items()}

    def merge(self, other: DocumentCounts) -> None:
        """Add the counts of another batch."""
        for name, side in other.sides.items():
            self.sides[name].merge(side)
        self.matched_by_id += other.matched_by_id

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON can hold them."""
        return {**{name: side.to_dict() for name, side in self.sides.items()}, "matched_by_id": self.matched_by_id}

    @classmethod
    def from_dict(cls, record: object) -> DocumentCounts:
        """Read what `to_dict` wrote.

        Raises:
            InvalidInputError: It is something else.
        """
        read = read_record(record, "DocumentCounts", ["actual", "predicted", "matched_by_id"])
        return cls(
            {"actual": SideCounts.from_dict(read["actual"]), "predicted": SideCounts.from_dict(read["predicted"])},
            read_whole(read["matched_by_id"], "DocumentCounts.matched_by_id"),
        )

    def check(self, settings: Settings) -> None:
        """Refuse documents that can never match, and warn about those that look as if they could not.

        Raises:
            InvalidInputError: No document of a side has what the methods read, or no method finds what it reads on
                both sides.
        """
        for name, side in self.sides.items():
            if side.documents and side.without_any == side.documents:
                raise InvalidInputError(_all_lack(name, settings))
        actual, predicted = self.sides["actual"], self.sides["predicted"]
        if not actual.documents or not predicted.documents:
            return
        if not min(actual.with_id, predicted.with_id) and not min(actual.with_text, predicted.with_text):
            raise InvalidInputError(
                f"The documents of `actual` have only {_has(actual)} and those of `predicted` only {_has(predicted)}, "
                f"so match_method={'+'.join(settings.methods)!r} can match none. Give both sides the same."
            )
        if settings.uses_ids and actual.ids and predicted.ids and not self.matched_by_id:
            warn(
                f"Not one id matches. Gold ids look like {_list(actual.ids)}, retrieved ids like "
                f"{_list(predicted.ids)}. If the ids that should match stand in the metadata, name their key with "
                "`id_key`; if the two sides do not share ids, match by 'text', 'containment' or 'rougeL'."
            )
        for name, side in self.sides.items():
            if settings.uses_rouge and not side.with_tokens and side.wordy_text is not None:
                warn(
                    f"Not one text of `{name}` has a token that ROUGE could count; one is {side.wordy_text[:40]!r}. "
                    'The tokenizer does not know this script. Use tokenizer="words".'
                )
            if side.without_direction:
                warn(
                    f"The embedding model returned a vector of zeros for {side.without_direction} of {side.documents} "
                    f"documents of `{name}`. They are similar to nothing. See whether it knows their language."
                )


def _of(side: Side, codes: Codes) -> IntArray:
    return codes.actual if side.name == "actual" else codes.predicted


def _first_ids(column: Iterable[str | None], most: int = 3) -> list[str]:
    ids: dict[str, None] = {}
    for value in column:
        if value is not None:
            ids[value] = None
            if len(ids) == most:
                break
    return list(ids)


def _list(ids: list[str]) -> str:
    return ", ".join(f"{value!r:.40}" for value in ids)


def _has(side: SideCounts) -> str:
    return "ids" if side.with_id else "texts"


def _all_lack(name: str, settings: Settings) -> str:
    reads = " nor ".join(["an id"] * settings.uses_ids + ["a text"] * settings.uses_texts)
    where = f" under the metadata key {settings.id_key!r}" if settings.id_key and settings.uses_ids else ""
    cure = (
        'Match by text instead, for example with match_method="text". If the strings are ids, write {"id": ...} for '
        "each, or call `evaluate_ids`."
        if settings.uses_ids
        else 'Match by id instead, with match_method="id", or give the documents their texts.'
    )
    method = "+".join(settings.methods)
    return f"Not one document of `{name}` has {reads}{where}, which match_method={method!r} reads. {cure}"


# No more is looked at: ids that are spelled wrongly are so early and often.
MOST_GOLD, MOST_RETRIEVED = 10_000, 10_000
_NAMED = 3
_LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")


def _plain(ids: Sequence[str]) -> list[str]:
    """Return the ids without surrounding white space, without leading zeros in their numbers, and without case.

    >>> _plain([" doc007", "DOC7", "2024-01-0", "0"])
    ['doc7', 'doc7', '2024-1-0', '0']
    """
    # One pass over one text takes a third of the time of one call per id.
    stripped = [one.strip() for one in ids]
    joined = _LEADING_ZEROS.sub("", "\n".join(stripped).casefold()).split("\n")
    return joined if len(joined) == len(stripped) else [_LEADING_ZEROS.sub("", one.casefold()) for one in stripped]


def warn_of_spelling(batch: Batch, matches: Matches) -> None:
    """Warn about gold ids without a match for which their query retrieved an id that is only spelled differently.

    Two ids on the same side are different documents, however alike. So a retrieved id that is gold itself, or a gold id
    that is retrieved for another query, is no sign of anything.
    """
    pairs = _misspelled(batch, matches)
    if pairs:
        gold = {one for one, _ in pairs}
        known = gold.intersection(chain.from_iterable(map(batch.predicted.ids_of, range(len(batch)))))
        pairs = [pair for pair in pairs if pair[0] not in known]
    if pairs:
        named = ", ".join(f"{gold!r:.40} for {found!r:.40}" for gold, found in pairs[:_NAMED])
        count = "1 gold id differs" if len(pairs) == 1 else f"{len(pairs)} gold ids differ"
        warn(
            f"{count} from a retrieved id of the same query only in leading zeros, case or white space around it, "
            f"which is no match: {named}. If they mean the same documents, write the ids of both sides in one way."
        )


def _misspelled(batch: Batch, matches: Matches) -> list[tuple[str, str]]:
    """Return pairs of a gold id without a match and a retrieved id that is not gold, alike within one query."""
    is_matched = np.zeros(int(batch.actual.offsets[-1]), dtype=bool)
    is_matched[matches.actual] = True
    unmatched = np.flatnonzero(~is_matched)[:MOST_GOLD]
    queries = np.unique(np.searchsorted(batch.actual.offsets, unmatched, side="right") - 1)
    sizes = batch.predicted.sizes[queries]
    chosen = queries[np.cumsum(sizes) <= MOST_RETRIEVED].tolist()
    gold, found = ([side.ids_of(query) for query in chosen] for side in (batch.actual, batch.predicted))
    pairs: dict[tuple[str, str], None] = {}
    for gold_row, row, gold_forms, forms in zip(gold, found, _forms(gold), _forms(found), strict=True):
        if gold_forms.isdisjoint(forms) or len(gold_forms & forms) == len({*gold_row} & {*row}):
            continue
        by_form = {_plain([one])[0]: one for one in row if one not in gold_row}
        for one in gold_row:
            other = by_form.get(_plain([one])[0])
            if other is not None and one not in row:
                pairs[one, other] = None
    return list(pairs)


def _forms(rows: Sequence[Sequence[str]]) -> list[set[str]]:
    """Return the plain ids of each row."""
    forms = iter(_plain(list(chain.from_iterable(rows))))
    return [set(islice(forms, len(row))) for row in rows]
