"""Check whether the documents can match at all, so that a mistake in the input is not scored as a silent 0.

The documents are counted by what they have of what the methods read: nothing of it is an error, and signs of trouble
are warnings. One of these signs is looked for separately: gold ids that match once both sides spell their ids alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from krag_eval._utils.arrays import BoolArray, IntArray
from krag_eval._utils.errors import Argument, InvalidInputError, Parts, show, warn
from krag_eval._utils.formatting import number_of
from krag_eval._utils.serialization import State, read_integer, read_record
from krag_eval.documents.columns import Side, SideName, unique
from krag_eval.documents.document import DOC_KEY
from krag_eval.documents.id_maps import ID_MAPS, SIGNS, repairs, rough_forms
from krag_eval.matching.batch import Batch, Codes, Matches, Places
from krag_eval.matching.fronts import NO_LISTS, Front
from krag_eval.matching.id_batch import IdSide
from krag_eval.matching.overlap import UNIT_OF
from krag_eval.matching.settings import ROUGE_METHODS, Settings

if TYPE_CHECKING:
    from krag_eval.matching.remedies import Row


@dataclass(slots=True)
class SideCounts(State):
    """What the documents of one side have; only what a method reads is counted.

    Attributes:
        documents: The number of documents.
        with_id: The number of those with an id.
        with_text: The number of those with a text.
        with_place: The number of those whose place in a document is known.
        with_tokens: The number of those whose text has a token.
        with_letters: The number of those whose text has a letter or digit; counted only in batches without any token.
        without_direction: The number of those whose text the embedding model turned into zeros.
        with_negative_grade: The number of those with a grade below 0, of the gold side.
        without_any: The number of those that lack everything that the methods read; they never match.
        ids: A few ids, for messages in the process that counted: they are not stored.
    """

    documents: int = 0
    with_id: int = 0
    with_text: int = 0
    with_place: int = 0
    with_tokens: int = 0
    with_letters: int = 0
    without_direction: int = 0
    with_negative_grade: int = 0
    without_any: int = 0
    ids: list[str] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def of(cls, side: Side, batch: Batch) -> SideCounts:
        """Count one side of a batch."""
        n_documents, settings = int(side.offsets[-1]), batch.settings
        counts = cls(n_documents)
        if side.name == "actual":
            counts.with_negative_grade = int((side.grades < 0).sum())
        if isinstance(side, IdSide):
            counts.with_id, counts.ids = n_documents, _first_ids(chain.from_iterable(side.rows))
            return counts
        has = _what_it_has(side, batch)
        for name, column in has.items():
            setattr(counts, f"with_{name}", int(column.sum()))
        counts.ids = _first_ids(side.ids) if settings.uses_ids else []
        counts.without_any = int(_lacks_all(has).sum())
        if settings.uses_rouge:
            sketches = next(batch.sketches[UNIT_OF[method]] for method in settings.methods if method in ROUGE_METHODS)
            counts.with_tokens = int(sketches.has_tokens[_of(side, batch.texts)].sum())
            if not counts.with_tokens:
                counts.with_letters = sum(any(map(str.isalnum, text)) for text in side.texts if text)
        if settings.embedded is not None:
            has_none = np.append(settings.embedded.have_no_direction(batch.unique_texts), False)
            counts.without_direction = int(has_none[_of(side, batch.texts)].sum())  # no text: code -1
        return counts

    def merge(self, other: SideCounts) -> None:
        """Add the counts of another batch."""
        State.merge(self, other)
        self.ids = self.ids or other.ids


@dataclass(slots=True)
class DocumentCounts:
    """What the documents of both sides have.

    Only the counts are stored and sent to other processes, never a document. While nothing matches, the process that
    counts keeps a sample for its warning.

    Attributes:
        sides: The counts of each side.
        matched_by_id: The number of pairs with the same id.
        matched: The number of pairs that match.
        asked: The number of queries with gold documents.
        compared: The number of queries with documents on both sides.
        failed: The number of queries whose retriever raised.
        first_error: What the first of these raised.
    """

    sides: dict[SideName, SideCounts]
    matched_by_id: int = 0
    matched: int = 0
    asked: int = 0
    compared: int = 0
    failed: int = 0
    first_error: str | None = field(default=None, compare=False, repr=False)
    _unmatched: list[Batch | list[Row]] = field(default_factory=list, init=False, compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return DocumentCounts.from_dict, (self.to_dict(),)

    @classmethod
    def empty(cls) -> DocumentCounts:
        """Return counts of 0."""
        return cls({"actual": SideCounts(), "predicted": SideCounts()})

    @classmethod
    def of(cls, batch: Batch, matches: Matches) -> DocumentCounts:
        """Count a batch."""
        errors = batch.predicted.errors
        counts = cls(
            {side.name: SideCounts.of(side, batch) for side in (batch.actual, batch.predicted)},
            sum(n for n, method in zip(matches.n_found, matches.methods, strict=True) if method == "id"),
            len(matches.actual),
            int(np.count_nonzero(batch.actual.sizes)),
            int(np.count_nonzero((batch.actual.sizes > 0) & (batch.predicted.sizes > 0))),
            len(errors),
            next(iter(errors.values()), None),
        )
        if counts.compared and not counts.matched:
            counts._unmatched.append(batch)
        return counts

    @property
    def unmatchable(self) -> dict[str, int]:
        """For each side, the number of documents that lack everything that the methods read."""
        return {name: side.without_any for name, side in self.sides.items()}

    def merge(self, other: DocumentCounts) -> None:
        """Add the counts of another batch."""
        if self.matched or other.matched:
            self._unmatched = []
        elif self.asked < _ASKED_AT_MOST:
            self._unmatched += other._unmatched
        for name, side in other.sides.items():
            self.sides[name].merge(side)
        for total in _SUMS:
            setattr(self, total, getattr(self, total) + getattr(other, total))
        self.first_error = self.first_error if self.first_error is not None else other.first_error
        if self.compared > _UNREAD_AT_MOST:
            self._take_sample()  # it holds less than the documents

    @property
    def sample(self) -> list[Row]:
        """Queries among which nothing matches, as `remedies.sample_of` returns them; taken when it is first read."""
        return self._take_sample()

    def sample_from(self, batch: Batch) -> None:
        """Take the sample from this batch instead, unless no query of it has documents on both sides."""
        from krag_eval.matching.remedies import sample_of  # as below

        if sample := sample_of(batch):
            self._unmatched = [sample]

    def _take_sample(self) -> list[Row]:
        taken = [one for one in self._unmatched if not isinstance(one, Batch)]
        if len(taken) == len(self._unmatched) <= 1:
            return taken[0] if taken else []
        from krag_eval.matching.remedies import merged, sample_of  # only where nothing matches

        sample = merged(sample_of(one) if isinstance(one, Batch) else one for one in self._unmatched)
        self._unmatched = [sample]
        return sample

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as JSON can hold them."""
        sides: dict[str, Any] = {name: side.to_dict() for name, side in self.sides.items()}
        return sides | {name: getattr(self, name) for name in _SUMS}

    @classmethod
    def from_dict(cls, record: object) -> DocumentCounts:
        """Read what `to_dict` wrote.

        Raises:
            InvalidInputError: It is something else.
        """
        read = read_record(record, "DocumentCounts", ["actual", "predicted", *_SUMS])
        actual, predicted = (SideCounts.from_dict(read[side]) for side in ("actual", "predicted"))
        counts: dict[str, Any] = {name: read_integer(read[name], f"DocumentCounts.{name}") for name in _SUMS}
        return cls({"actual": actual, "predicted": predicted}, **counts)

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
        if actual.with_negative_grade * 2 > actual.documents:
            warn(
                f"{actual.with_negative_grade:,} of {number_of(actual.documents, 'gold document')} have a grade below "
                "0, which means that nobody judged them: they are no gold. If these numbers are scores of a retriever, "
                "they belong to the retrieved documents."
            )
        if actual.documents and not predicted.documents and front.expects_retrieved:
            self._warn_of_nothing_retrieved()
        if not actual.documents or not predicted.documents:
            return
        if settings.uses_spans:
            if not self.matched:
                warn(*_NO_SPAN_MATCHES)
            return
        if self._warn_of_unreadable_texts(settings):
            return
        if not self.matched:
            cure = _COMPARE_SOME if self.compared else _NEVER_TOGETHER
            warn(f"{self._both_sides(settings)} ", *(self._suggest(settings, front) or [cure]))
        elif settings.uses_ids and actual.with_id and predicted.with_id and not self.matched_by_id:
            looks = f"Gold ids look like {_list(actual.ids)}, retrieved ids like {_list(predicted.ids)}; all"
            warn(
                f"Not one id matches. {looks if actual.ids and predicted.ids else 'All'} matches are by text. If the "
                "ids that should match are in the metadata, name their key with ",
                Argument("id_key"),
                ".",
            )

    def refuse_unmatchable(self, settings: Settings, front: Front = NO_LISTS) -> None:
        """Refuse documents that can never match, without a word on those that could and do not.

        Raises:
            InvalidInputError: As for `check`.
        """
        for name, side in self.sides.items():
            if side.documents and side.without_any == side.documents:
                raise InvalidInputError(*_all_lack(_KINDS[name], settings, front, self._suggest(settings, front)))
        actual, predicted = self.sides["actual"], self.sides["predicted"]
        if settings.uses_spans or not actual.documents or not predicted.documents:
            return
        if not min(actual.with_id, predicted.with_id) and not min(actual.with_text, predicted.with_text):
            raise InvalidInputError(
                f"The gold documents have only {_has(actual)} and the retrieved documents only {_has(predicted)}, so ",
                settings.method_argument,
                " can match none. ",
                *(self._suggest(settings, front) or ["Give both sides the same."]),
            )

    def _suggest(self, settings: Settings, front: Front) -> Parts:
        """Return sentences that say what would match; empty if there is no sample."""
        if not (sample := self.sample):
            return ()
        from krag_eval.matching.remedies import suggest

        return suggest(sample, settings, n_queries=self.asked, front=front)

    def _both_sides(self, settings: Settings) -> str:
        """Say that nothing matches, and what the two sides look like."""
        what = "id" if not settings.uses_texts else "id or text" if settings.uses_ids else "text"
        looks = []
        for side, name in enumerate(("gold", "retrieved")):
            seen = [one for row in self.sample for one in row[side]]
            ids = _first_ids(one.id for one in seen) if settings.uses_ids else []
            texts = _first_ids((one.text for one in seen), 1) if settings.uses_texts else []
            parts = [f"{name} ids look like {_list(ids)}"] * bool(ids)
            parts += [f"{name} texts look like {_list(texts)}"] * bool(texts)
            looks += [part if not side else part.replace(" look like", " like", 1) for part in parts]
        described = ", ".join(looks)
        return f"Not one {what} matches." + (f" {described[0].upper()}{described[1:]}." if described else "")

    def _for_example(self, name: SideName) -> str:
        """Return the end of a sentence on texts that have letters, with one of them."""
        texts = (seen.text or "" for row in self.sample for seen in row[name == "predicted"])
        return next((f"; one is {text[:40]!r}" for text in texts if any(map(str.isalnum, text))), "")

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
            if settings.uses_rouge and not side.with_tokens and side.with_letters:
                warned = not self.matched
                warn(
                    f"Not one {_KINDS[name]} text has a token that ROUGE could count{self._for_example(name)}. "
                    "The tokenizer does not know this script. Use ",
                    Argument("tokenizer", "words"),
                    ".",
                )
            if side.without_direction:
                warned = warned or (not self.matched and side.without_direction == side.documents)
                warn(
                    f"The embedding model returned a vector of zeros for {side.without_direction} of {side.documents} "
                    f"{_KINDS[name]} documents. They are similar to nothing. See whether it knows their language."
                )
        return warned


_KINDS = {"actual": "gold", "predicted": "retrieved"}
_SUMS = ("matched_by_id", "matched", "asked", "compared", "failed")
# After so many queries without a match a longer sample would show nothing else.
_ASKED_AT_MOST = 800
# So few queries are kept as they are: mostly nobody asks for a sample of them.
_UNREAD_AT_MOST = 5
_NO_SPAN_MATCHES: Parts = (
    "No retrieved chunk overlaps a gold span enough to match. See whether both sides name documents by the same ids (",
    Argument("id_key"),
    " names their key) and count characters of the same texts.",
)
_COMPARE_SOME = "Score some of these queries with `evaluate`: its warning shows what would match."
_NEVER_TOGETHER = "No query with gold documents has retrieved any: see whether both sides have the same queries."


def unmatchable_of(side: Side, batch: Batch) -> IntArray:
    """Return how many documents of each query lack everything that the methods read."""
    lack = _lacks_all(_what_it_has(side, batch))
    return np.diff(np.append(0, np.cumsum(lack))[side.offsets])


def _what_it_has(side: Side, batch: Batch) -> dict[str, BoolArray]:
    """Return which documents of a side have an id, a text or a place; only what a method reads is looked at."""
    settings, has = batch.settings, dict[str, BoolArray]()
    if settings.uses_ids:
        has["id"] = side.has_id
    if settings.uses_texts:
        is_text = np.fromiter(map(bool, (*batch.unique_texts, "")), dtype=bool)  # no text: code -1
        has["text"] = is_text[_of(side, batch.texts)]
    if settings.uses_spans:
        has["place"] = places_on(side, batch).document >= 0
    return has


def _lacks_all(has: Mapping[str, BoolArray]) -> BoolArray:
    return np.asarray(~np.any([*has.values()], axis=0))


def places_on(side: Side, batch: Batch) -> Places:
    """Return the places of one side."""
    return batch.places.actual if side.name == "actual" else batch.places.predicted


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
    return ", ".join(map(show, values))


def _has(side: SideCounts) -> str:
    return "ids" if side.with_id else "texts"


def _all_lack(kind: str, settings: Settings, front: Front, suggestion: Parts) -> Parts:
    if settings.uses_spans:
        return (
            f"No {kind} document says its place in a document: the id of that under {settings.id_key or DOC_KEY!r}, ",
            "and `start` and `end`, `start_index`, `start_char_idx` or `split_idx_start`. Let the splitter write ",
            "them; where the setting ",
            Argument("corpus"),
            " has the documents, chunks are found by their texts, and `reanchor` makes spans of gold passages.",
        )
    reads = " nor ".join(["an id"] * settings.uses_ids + ["a text"] * settings.uses_texts)
    where = f" under the metadata key {settings.id_key!r}" if settings.id_key and settings.uses_ids else ""
    cure: Parts = (
        "If they are texts, ",
        Argument("match_method", "containment"),
        " finds them in longer texts too, and ",
        Argument("match_method", "text"),
        ' only equal ones. If the strings are ids, write {"id": ...} for each',
        ", or call `evaluate_ids`." if front.has_lists else ".",
    )
    if not settings.uses_ids:
        cure = ("Match by id instead, with ", Argument("match_method", "id"), ", or give the documents their texts.")
    return (
        f"No {kind} document has {reads}{where}, which ",
        settings.method_argument,
        " reads. ",
        *(suggestion or cure),
    )


# No more is looked at: ids that are spelled wrongly are so early and often.
MOST_GOLD, MOST_RETRIEVED = 10_000, 10_000
_ENOUGH_QUERIES, _ENOUGH_SHARE = 3, 0.02


class SpellingWatch:
    """Watches for gold ids without a match for which their query retrieved an id that is only spelled differently.

    Two ids on the same side are different documents, however alike. So a retrieved id that is gold itself, or a gold id
    that is retrieved for another query, is no sign of anything. It is told once.
    """

    def __init__(self) -> None:
        self._pairs: dict[tuple[int, str, str], list[str]] = {}
        self._n_queries = 0
        self._n_unmatched = 0
        self._is_told = False

    def add(self, batch: Batch, matches: Matches) -> None:
        """Look at some queries; after so many, no more is looked at."""
        if self._is_told or self._n_unmatched >= MOST_GOLD or not batch.settings.uses_ids:
            return
        is_matched = np.zeros(int(batch.actual.offsets[-1]), dtype=bool)
        is_matched[matches.actual] = True
        unmatched = np.flatnonzero(~is_matched)[:MOST_GOLD]
        self._n_unmatched += len(unmatched)
        for (query, gold, found), names in _misspelled(batch, unmatched).items():
            self._pairs[query + self._n_queries, gold, found] = names
        self._n_queries += len(batch)
        if self._pairs:
            retrieved = chain.from_iterable(map(batch.predicted.ids_of, range(len(batch))))
            known = {gold for _, gold, _ in self._pairs}.intersection(retrieved)
            self._pairs = {key: names for key, names in self._pairs.items() if key[1] not in known}

    def warn(self, settings: Settings, front: Front = NO_LISTS, *, at_least: float = 0) -> None:
        """Warn, once, if that would bring a match in three queries or in two of a hundred, and in `at_least`."""
        queries = {name: {query for (query, *_), names in self._pairs.items() if name in names} for name in SIGNS}
        *named, _ = queries
        name = max(named, key=lambda one: len(queries[one]))  # of equals the first
        name = name if 2 * len(queries[name]) >= len(queries[""]) else ""
        n = len(queries[name])
        enough = max(at_least, min(_ENOUGH_QUERIES, _ENOUGH_SHARE * self._n_queries))
        if not n or n < enough or self._is_told:
            return
        self._is_told = True
        gold, found = next((gold, found) for (_, gold, found), names in self._pairs.items() if name in names)
        is_named = name in ID_MAPS and settings.id_map is None
        warn(
            f"In {n:,} of {number_of(self._n_queries, 'query')}, a gold id without a match differs from a retrieved "
            f"id only in {SIGNS[name]}: {gold!r:.60} and {found!r:.60}. They count as different documents. "
            "If they are the same, give ",
            *((front.argument("id_map", name),) if is_named else ("a function as ", Argument("id_map"))),
            ".",
        )


def _misspelled(batch: Batch, unmatched: IntArray) -> dict[tuple[int, str, str], list[str]]:
    """Return the query, a gold id without a match and a retrieved id that is not gold, with what makes them equal."""
    queries = unique(np.searchsorted(batch.actual.offsets, unmatched, side="right") - 1)
    sizes = batch.predicted.sizes[queries]
    chosen = queries[np.cumsum(sizes) <= MOST_RETRIEVED].tolist()
    gold, found = ([side.ids_of(query) for query in chosen] for side in (batch.actual, batch.predicted))
    pairs: dict[tuple[int, str, str], list[str]] = {}
    for query, gold_row, row, gold_forms, forms in zip(chosen, gold, found, _forms(gold), _forms(found), strict=True):
        if gold_forms.isdisjoint(forms) or len(gold_forms & forms) == len({*gold_row} & {*row}):
            continue
        by_form: dict[str, list[str]] = {}
        for one, form in zip(row, rough_forms(row), strict=True):
            by_form.setdefault(form, []).append(one)
        for one, form in zip(gold_row, rough_forms(gold_row), strict=True):
            for other in by_form.get(form, ()) if one not in row else ():
                if other not in gold_row and (names := repairs(one, other)):
                    pairs[query, one, other] = names
    return pairs


def _forms(rows: Sequence[Sequence[str]]) -> list[set[str]]:
    """Return the rough forms of the ids of each row."""
    forms = iter(rough_forms(list(chain.from_iterable(rows))))
    return [set(islice(forms, len(row))) for row in rows]
