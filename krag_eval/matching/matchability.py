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

from krag_eval._utils.arrays import BoolArray, IntArray
from krag_eval._utils.errors import InvalidInputError, warn
from krag_eval._utils.formatting import number_of
from krag_eval._utils.serialization import read_list, read_record, read_whole, refuse
from krag_eval.documents.columns import Side, SideName
from krag_eval.documents.document import DOC_KEY
from krag_eval.matching.batch import Batch, Codes, Matches, Places
from krag_eval.matching.fronts import NO_LISTS, Front
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
        with_place: The number of those whose place in a document is known.
        with_tokens: The number of those whose text has a token.
        without_direction: The number of those whose text the embedding model turned into zeros.
        without_any: The number of those that lack everything that the methods read; they never match.
        ids: A few ids, for messages.
        wordy_text: A text with a letter or digit, for messages.
    """

    documents: int = 0
    with_id: int = 0
    with_text: int = 0
    with_place: int = 0
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
            has_any |= side.has_id
            counts.with_id = int(has_any.sum())
            counts.ids = _first_ids(side.ids)
        if settings.uses_texts:
            has_text = _have_text(side, batch)
            has_any |= has_text
            counts.with_text = int(has_text.sum())
        if settings.uses_spans:
            has_place = places_on(side, batch).document >= 0
            has_any |= has_place
            counts.with_place = int(has_place.sum())
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
    """What the documents of both sides have, and, while nothing matches, a sample of them.

    Attributes:
        sides: The counts of each side.
        matched_by_id: The number of pairs with the same id.
        matched: The number of pairs that match.
        asked: The number of queries with gold documents.
        failed: The number of queries whose retriever raised.
        first_error: What the first of these raised.
        sample: Queries among which nothing matches, as `remedies.sample_of` returns them.
        untried: A batch in which nothing matches, of which no sample was taken yet.
    """

    sides: dict[SideName, SideCounts]
    matched_by_id: int = 0
    matched: int = 0
    asked: int = 0
    failed: int = 0
    first_error: str | None = None
    sample: list[Any] = field(default_factory=list)
    untried: Batch | None = field(default=None, repr=False)

    @classmethod
    def empty(cls) -> DocumentCounts:
        """Return counts of 0."""
        return cls({"actual": SideCounts(), "predicted": SideCounts()})

    @classmethod
    def of(cls, batch: Batch, matches: Matches) -> DocumentCounts:
        """Count a batch."""
        errors = batch.predicted.errors
        return cls(
            {side.name: SideCounts.of(side, batch) for side in (batch.actual, batch.predicted)},
            sum(n for n, method in zip(matches.n_found, matches.methods, strict=True) if method == "id"),
            len(matches.actual),
            int(np.count_nonzero(batch.actual.sizes)),
            len(errors),
            next(iter(errors.values()), None),
            untried=None if len(matches.actual) else batch,
        )

    @property
    def unmatchable(self) -> dict[str, int]:
        """For each side, the number of documents that lack everything that the methods read."""
        return {name: side.without_any for name, side in self.sides.items()}

    def merge(self, other: DocumentCounts) -> None:
        """Add the counts of another batch."""
        if self.matched or other.matched:
            self.sample, self.untried = [], None
        elif self.asked < _ASKED_AT_MOST:
            from krag_eval.matching.remedies import merged  # only where nothing matches

            self.sample = merged(self._sampled(), other._sampled())
        for name, side in other.sides.items():
            self.sides[name].merge(side)
        for total in _SUMS:
            setattr(self, total, getattr(self, total) + getattr(other, total))
        self.first_error = self.first_error if self.first_error is not None else other.first_error

    def _sampled(self) -> list[Any]:
        """Return the sample, taken now if it was not yet."""
        if self.untried is not None:
            from krag_eval.matching.remedies import sample_of

            self.sample, self.untried = sample_of(self.untried), None
        return self.sample

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON can hold them."""
        sample = self._sampled()
        if sample:
            from krag_eval.matching.remedies import to_lists

            sample = to_lists(sample)
        return {
            **{name: side.to_dict() for name, side in self.sides.items()},
            **{name: getattr(self, name) for name in (*_SUMS, "first_error")},
            "sample": sample,
        }

    @classmethod
    def from_dict(cls, record: object) -> DocumentCounts:
        """Read what `to_dict` wrote.

        Raises:
            InvalidInputError: It is something else.
        """
        read = read_record(record, "DocumentCounts", ["actual", "predicted", *_SUMS, "first_error", "sample"])
        if not isinstance(read["first_error"], str | None):
            refuse("DocumentCounts.first_error", "a string or null", read["first_error"])
        sample = read_list(read["sample"], "DocumentCounts.sample")
        if sample:
            from krag_eval.matching.remedies import from_lists

            sample = from_lists(sample)
        actual, predicted = (SideCounts.from_dict(read[side]) for side in ("actual", "predicted"))
        counts = cls({"actual": actual, "predicted": predicted}, first_error=read["first_error"], sample=sample)
        for name in _SUMS:
            setattr(counts, name, read_whole(read[name], f"DocumentCounts.{name}"))
        return counts

    def check(self, settings: Settings, front: Front = NO_LISTS) -> None:
        """Refuse documents that can never match, and warn if nothing matches or something looks wrong.

        Args:
            settings: The scoring settings.
            front: How the user called, for messages; by default without lists of both sides.

        Raises:
            InvalidInputError: No document of a side has what the methods read, or no method finds what it reads on
                both sides.
        """
        self.refuse_unmatchable(settings, front)
        actual, predicted = self.sides["actual"], self.sides["predicted"]
        if actual.documents and not predicted.documents and front.expects_retrieved:
            self._warn_of_nothing_retrieved()
        if not actual.documents or not predicted.documents:
            return
        if settings.uses_spans:
            if not self.matched:
                warn(_NO_SPAN_MATCHES)
            return
        if self._warn_of_unreadable_texts(settings):
            return
        if not self.matched:
            warn(f"{self._both_sides(settings)} {self._suggest(settings, front) or _NEVER_TOGETHER}")
        elif settings.uses_ids and actual.ids and predicted.ids and not self.matched_by_id:
            warn(
                f"Not one id matches. Gold ids look like {_list(actual.ids)}, retrieved ids like "
                f"{_list(predicted.ids)}; all matches are by text. If the ids that should match are in the metadata, "
                "name their key with `id_key`."
            )

    def refuse_unmatchable(self, settings: Settings, front: Front = NO_LISTS) -> None:
        """Refuse documents that can never match, without a word on those that could and do not.

        Raises:
            InvalidInputError: As for `check`.
        """
        for name, side in self.sides.items():
            if side.documents and side.without_any == side.documents:
                raise InvalidInputError(_all_lack(front.none_of(name), settings, self._suggest(settings, front)))
        actual, predicted = self.sides["actual"], self.sides["predicted"]
        if settings.uses_spans or not actual.documents or not predicted.documents:
            return
        if not min(actual.with_id, predicted.with_id) and not min(actual.with_text, predicted.with_text):
            raise InvalidInputError(
                f"The documents of `actual` have only {_has(actual)} and those of `predicted` only {_has(predicted)}, "
                f"so match_method={'+'.join(settings.methods)!r} can match none. "
                f"{self._suggest(settings, front) or 'Give both sides the same.'}"
            )

    def _suggest(self, settings: Settings, front: Front) -> str:
        """Return sentences that say what would match; empty if no query has documents on both sides."""
        if not self._sampled():
            return ""
        from krag_eval.matching.remedies import suggest

        return suggest(self.sample, settings, n_queries=self.asked, front=front)

    def _both_sides(self, settings: Settings) -> str:
        """Say that nothing matches, and what the two sides look like."""
        what = "id" if not settings.uses_texts else "id or text" if settings.uses_ids else "text"
        looks = []
        for side, name in enumerate(("gold", "retrieved")):
            seen = [one for row in self._sampled() for one in row[side]]
            ids = _first_ids(one.id for one in seen) if settings.uses_ids else []
            texts = _first_ids((one.text for one in seen), 1) if settings.uses_texts else []
            parts = [f"{name} ids look like {_list(ids)}"] * bool(ids)
            parts += [f"{name} texts look like {_list(texts)}"] * bool(texts)
            looks += [part if not side else part.replace(" look like", " like", 1) for part in parts]
        described = ", ".join(looks)
        return f"Not one {what} matches." + (f" {described[0].upper()}{described[1:]}." if described else "")

    def _warn_of_nothing_retrieved(self) -> None:
        queries = number_of(self.asked, "query")
        why = (
            "Ask the retriever one of the questions yourself: its index may be empty, or a filter may exclude "
            "everything."
        )
        if self.failed:
            failed, first = number_of(self.failed, "retrieval"), str(self.first_error).rstrip(".")
            cure = "Fix the cause and retrieve again before you use the scores."
            why = f"{failed} failed. The first error: {first}. {cure}"
        warn(f"Nothing was retrieved for {queries}, so every score is 0. {why}")

    def _warn_of_unreadable_texts(self, settings: Settings) -> bool:
        """Warn of texts of which the tokenizer or the model makes nothing; return whether that is why none matches."""
        warned = False
        for name, side in self.sides.items():
            if settings.uses_rouge and not side.with_tokens and side.wordy_text is not None:
                warned = not self.matched
                warn(
                    f"Not one text of `{name}` has a token that ROUGE could count; one is {side.wordy_text[:40]!r}. "
                    'The tokenizer does not know this script. Use tokenizer="words".'
                )
            if side.without_direction:
                warned = warned or (not self.matched and side.without_direction == side.documents)
                warn(
                    f"The embedding model returned a vector of zeros for {side.without_direction} of {side.documents} "
                    f"documents of `{name}`. They are similar to nothing. See whether it knows their language."
                )
        return warned


_SUMS = ("matched_by_id", "matched", "asked", "failed")
# After so many queries without a match a longer sample would show nothing else.
_ASKED_AT_MOST = 800
_NO_SPAN_MATCHES = (
    "No retrieved chunk overlaps a gold span enough to match. See whether the document ids of both sides are the same "
    "(`id_key` names their key) and whether both count characters of the same texts."
)
_NEVER_TOGETHER = "No query with gold documents has retrieved any: see whether both sides have the same queries."


def unmatchable_of(side: Side, batch: Batch) -> IntArray:
    """Return how many documents of each query lack everything that the methods read."""
    settings = batch.settings
    lack = np.ones(int(side.offsets[-1]), dtype=bool)
    lack &= ~side.has_id if settings.uses_ids else True
    lack &= ~_have_text(side, batch) if settings.uses_texts else True
    lack &= places_on(side, batch).document < 0 if settings.uses_spans else True
    return np.diff(np.append(0, np.cumsum(lack))[side.offsets])


def places_on(side: Side, batch: Batch) -> Places:
    """Return the places of one side."""
    return batch.places.actual if side.name == "actual" else batch.places.predicted


def _have_text(side: Side, batch: Batch) -> BoolArray:
    is_text = np.fromiter(map(bool, (*batch.unique_texts, "")), dtype=bool)  # no text: code -1
    return np.asarray(is_text[_of(side, batch.texts)])


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


def _list(values: list[str]) -> str:
    return ", ".join(repr(value if len(value) <= 60 else value[:59] + "\u2026") for value in values)


def _has(side: SideCounts) -> str:
    return "ids" if side.with_id else "texts"


def _all_lack(no_document: str, settings: Settings, suggestion: str) -> str:
    if settings.uses_spans:
        return (
            f"{no_document} says its place in a document: the document's id under {settings.id_key or DOC_KEY!r}, and "
            "`start` and `end`, `start_index`, `start_char_idx` or `split_idx_start`. Let the splitter write these; "
            "where the setting `corpus` has the documents, chunks are found by their texts, and `reanchor` makes spans "
            "of gold passages."
        )
    reads = " nor ".join(["an id"] * settings.uses_ids + ["a text"] * settings.uses_texts)
    where = f" under the metadata key {settings.id_key!r}" if settings.id_key and settings.uses_ids else ""
    cure = (
        'If they are texts, match_method="containment" finds them in longer texts too, and match_method="text" only '
        'equal ones. If the strings are ids, write {"id": ...} for each, or call `evaluate_ids`.'
        if settings.uses_ids
        else 'Match by id instead, with match_method="id", or give the documents their texts.'
    )
    method = "+".join(settings.methods)
    return f"{no_document} has {reads}{where}, which match_method={method!r} reads. {suggestion or cure}"


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
