"""Find out why nothing matches: try other settings on a sample of the input, and name the one that would match.

Nothing here is called where anything matches. Each count is of queries of the sample that have a match under exactly
the settings or the change of the input that the sentence names.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from krag_eval._utils.errors import Argument, Parts
from krag_eval._utils.formatting import clip, number_of
from krag_eval.documents.columns import Side, bare_id
from krag_eval.documents.id_maps import ID_MAPS, repairs
from krag_eval.documents.readers import OWN_ID, IdKey, as_id, reader_of, split_pair
from krag_eval.documents.text import normalize
from krag_eval.matching import find_matches, similar_pairs
from krag_eval.matching.batch import Batch
from krag_eval.matching.fronts import Front
from krag_eval.matching.id_batch import IdSide
from krag_eval.matching.settings import ROUGE_METHODS, USUAL_THRESHOLDS, Settings

# What is looked at: so much shows the cause.
MOST_QUERIES, MOST_DOCUMENTS, MOST_CHARACTERS = 200, 20, 200_000
_LONGEST_TEXT, _LONGEST_ID, _MOST_KEYS = 4_000, 200, 20
# A text that was cut equals no other text, and is contained in none.
_CUT = {"actual": "\ue000", "predicted": "\ue001"}
_SIDES = {"actual": "gold", "predicted": "retrieved"}


@dataclass(slots=True)
class Seen:
    """A document of the sample.

    Attributes:
        kind: How it was given: `id` (a bare id), `text` (a string), `mapping` with its id under "id", `bare` (gold that
            is nothing but an id, whatever `id_key` says) or `other`.
        id: The id that the settings read.
        text: The text, cut if it is long.
        own_id: The id that would be read without `id_key`.
        other_id: The id that the document itself has, if another one in its metadata wins.
        keys: What the metadata have that could be an id.
    """

    kind: str
    id: str | None = None
    text: str | None = None
    own_id: str | None = None
    other_id: str | None = None
    keys: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, document: object, side: Side, id_key: IdKey | None) -> Seen:
        """Look at a document."""
        try:
            return cls._of(document, side, id_key)
        except Exception:  # noqa: BLE001 - whatever a foreign object raises: nothing that was not needed before
            return cls("other")

    @classmethod
    def _of(cls, document: object, side: Side, id_key: IdKey | None) -> Seen:
        inner, number = split_pair(document)
        reader = reader_of(inner)
        if reader is None:
            return cls("other")
        text, own, metadata = reader.read_text(inner), reader.read_id(inner), reader.metadata(inner)
        bare = bare_id(inner) if side.name == "actual" else None
        if isinstance(side, IdSide):
            kind = "id"
        elif number is not None:
            kind = "other"
        elif isinstance(inner, str):
            kind = "text"
        else:
            is_plain = isinstance(inner, dict) and own is not None and as_id(inner.get("id")) == own
            kind = "mapping" if is_plain else "bare" if bare is not None else "other"
        if text is not None and len(text) > _LONGEST_TEXT:
            text = text[:_LONGEST_TEXT] + _CUT[side.name]
        further = inner.items() if reader.own_keys and isinstance(inner, Mapping) else ()
        named = ((str(key), as_id(value)) for key, value in chain(further, metadata.items()))
        keys = {key: value for key, value in named if value is not None and max(len(key), len(value)) <= _LONGEST_ID}
        for name in ("text", "page_content", "content"):
            keys.pop(name, None)
        other = reader.read_id(inner, OWN_ID)
        return cls(
            kind,
            own if id_key is None else reader.read_id(inner, id_key) or bare,
            text,
            own,
            None if other == own else other,
            dict(islice(keys.items(), _MOST_KEYS)),
        )

    @property
    def n_characters(self) -> int:
        """How many characters are kept of it."""
        return sum(map(len, chain((self.id or "", self.text or ""), self.keys, self.keys.values())))

    def read(self, source: str) -> str | None:
        """Return what a source, an attribute or `keys.NAME`, gives as the id."""
        if source == "other_id":
            return self.other_id or self.own_id
        if not source.startswith("keys."):
            return getattr(self, source) or None
        return self.keys.get(source[5:]) or (self.id if self.kind == "bare" else None)


Row = tuple[list[Seen], list[Seen]]


def sample_of(batch: Batch) -> list[Row]:
    """Return the first queries of a batch that have documents on both sides, with the first of these documents."""
    both = np.flatnonzero((batch.actual.sizes > 0) & (batch.predicted.sizes > 0))
    return list(_bounded(_row_of(batch, query) for query in both[:MOST_QUERIES].tolist()))


def _row_of(batch: Batch, query: int) -> Row:
    gold, found = ([Seen.of(one, side, batch.settings.id_key) for one in side.first_documents(query, MOST_DOCUMENTS)]
                   for side in (batch.actual, batch.predicted))  # fmt: skip
    return gold, found


def merged(samples: Iterable[list[Row]]) -> list[Row]:
    """Return as many rows of these samples as one sample has."""
    return list(_bounded(chain.from_iterable(samples)))


def _bounded(rows: Iterable[Row]) -> Iterator[Row]:
    n_characters = 0
    for row in islice(rows, MOST_QUERIES):
        yield row
        n_characters += sum(seen.n_characters for side in row for seen in side)
        if n_characters > MOST_CHARACTERS:
            return


@dataclass(frozen=True, slots=True)
class _Remedy:
    """A change that makes queries match.

    Attributes:
        n_queries: How many queries of the sample have a match with it.
        cause: What it shows about the input, as the beginning of a sentence; empty where the change says it all.
        advice: What to write.
    """

    n_queries: int
    cause: str
    advice: Parts


def suggest(sample: list[Row], settings: Settings, *, n_queries: int, front: Front) -> Parts:
    """Return sentences that say what would match; if nothing does, that show two documents side by side.

    Args:
        sample: What `sample_of` returned.
        settings: The settings under which nothing matches.
        n_queries: How many queries there are.
        front: How the user called.
    """
    trial = _Trial(sample, settings, front)
    found = sorted((one for one in trial.remedies() if one.n_queries), key=lambda one: -one.n_queries)
    if not found or 2 * found[0].n_queries < len(sample):
        found += [one for one in trial.rouge_remedies() if one.n_queries]
        found.sort(key=lambda one: -one.n_queries)
    if not found:
        return (trial.side_by_side(),)
    best, *others = found
    wider = {front.argument("match_method", method) for method in ("containment", "rougeL")}  # than equal texts
    is_text = best.advice == (front.argument("match_method", "text"),)
    also = [one for one in others if not (is_text and one.n_queries == best.n_queries and wider & {*one.advice})]
    of_all = f"{best.n_queries:,} of {number_of(len(sample), 'query')}"
    tried = f" that {'was' if len(sample) == 1 else 'were'} tried" if len(sample) < n_queries else ""
    rest = chain.from_iterable((f", {one.n_queries:,} with ", *one.advice) for one in also[:2])
    return (f"{best.cause}With ", *best.advice, f", {of_all}{tried} would match", *rest, ".")


class _Trial:
    """Tries what could match on a sample."""

    def __init__(self, sample: list[Row], settings: Settings, front: Front) -> None:
        self._sample, self._settings, self._front = sample, settings, front
        self._gold, self._found = ([row[side] for row in sample] for side in (0, 1))

    def remedies(self) -> Iterator[_Remedy]:
        """Yield what was tried, without ROUGE; of those that match the same number of queries, the first is best."""
        yield from self._other_ids()
        yield from self._other_texts("text")
        yield from self._spellings()
        yield from self._other_texts("containment")

    def _other_ids(self) -> Iterator[_Remedy]:
        """Try ids that are somewhere else: in another key, in the text, or read by no method yet."""
        own = "id" if self._settings.id_key is None else "own_id"
        if not self._settings.uses_ids:
            yield self._remedy_of_ids("id", "id")
        if own == "own_id" and not self._front.has_doc_key:
            yield self._remedy_of_ids(own, own)
        found = list(chain(*self._found))
        keys = Counter(key for seen in found for key in seen.keys)
        if all(seen.keys.get("id") == seen.own_id for seen in found):
            keys.pop("id", None)
        keys.pop(OWN_ID, None)
        for key, _ in keys.most_common(_MOST_KEYS):
            tried = [self._remedy_of_ids(gold, f"keys.{key}") for gold in (f"keys.{key}", own, "text")]
            yield max(tried, key=lambda one: one.n_queries)
        if self._front.has_doc_key:
            return
        if any(seen.other_id for seen in found):
            yield self._remedy_of_ids("other_id", "other_id")
        yield self._remedy_of_ids("text", own)
        yield self._remedy_of_ids(own, "text")

    def _remedy_of_ids(self, gold_source: str, source: str) -> _Remedy:
        n_queries = sum(
            not {seen.read(gold_source) for seen in gold}.isdisjoint({seen.read(source) for seen in found} - {None})
            for gold, found in self._sample
        )
        if not n_queries:
            return _Remedy(0, "", ())
        key = source[5:] if source.startswith("keys.") else None
        steps = self._by_id()
        cause = ""
        if key is not None:
            cause = f"The metadata of retrieved documents have the gold ids under the key {_literal(key)}. "
            steps.append((self._front.argument("id_key", key),))
        elif source == "other_id":
            cause = 'The retrieved documents have gold ids as `id`, but an "id" in their metadata wins. '
            steps.append((self._front.argument("id_key", OWN_ID),))
        elif self._settings.id_key is not None and source != "id":
            steps.append(("no ", Argument("id_key")))
        if gold_source == "text":
            cause = "The gold strings are ids of the retrieved documents. " if key is None else cause
            steps.append((self._rewritten("actual", key or "id", "one"),))
        elif key is not None and gold_source != source and not self._front.has_doc_key:
            steps.append((self._rewritten("actual", key, 'one["id"]'),))
        if source == "text":
            cause = "The retrieved strings are gold ids. "
            steps.append((self._rewritten("predicted", "id", "one"),))
        return _Remedy(n_queries, cause, _joined(steps))

    def _by_id(self) -> list[Parts]:
        return [] if self._settings.uses_ids else self._with_method("id")

    def _with_method(self, method: str) -> list[Parts]:
        """Return the arguments of another method; thresholds by method do not fit it."""
        is_usual = not isinstance(self._settings.threshold, Mapping) or self._settings.threshold == USUAL_THRESHOLDS
        steps: list[Parts] = [(self._front.argument("match_method", method),)]
        return steps if is_usual else [*steps, ("no ", Argument("threshold"))]

    def _rewritten(self, side: str, key: str, value: str) -> str:
        """Say how the ids of a side are given under a key."""
        kinds = {seen.kind for seen in chain(*(self._gold if side == "actual" else self._found))}
        if self._front.has_lists and kinds == ({"text"} if value == "one" else {"mapping"}):
            entry = f"{_literal(key)}: {value}"
            if value != "one" and any(key in seen.keys for seen in chain(*self._gold)):
                entry = f'"metadata": {{**(one.get("metadata") or {{}}), {entry}}}'
            changed = f"{{{entry}}}" if value == "one" else f"{{**one, {entry}}}"
            return f"{side} = [[{changed} for one in row] for row in {side}]"
        if value == "one" and side == "actual" and key == "id":
            return 'the gold strings as `gold_chunk_ids`, or each as {"id": ...}'
        what = "string" if value == "one" else "id"
        return f"each {_SIDES[side]} {what} given as {{{_literal(key)}: ...}}"

    def _other_texts(self, method: str) -> Iterator[_Remedy]:
        """Try to match texts in another way."""
        if method not in self._settings.methods:
            n_queries, cause = self._n_matching(match_method=method), _CAUSES[method]
            if n_queries and method == "containment":
                n_longer = self._n_matching(match_method=method, containment="gold_in_retrieved")
                cause = _LONGER if n_longer == n_queries else cause
            yield _Remedy(n_queries, cause, _joined(self._with_method(method)))
        elif self._settings.uses_embeddings:
            return  # a model is not asked again
        elif method == "containment" and self._settings.containment != "either":
            yield _Remedy(self._n_matching(containment="either"), "", (Argument("containment", "either"),))
        if self._settings.normalize is not normalize and method in self._settings.methods:
            n_queries = self._n_matching(normalize=normalize)
            yield _Remedy(n_queries, "Texts differ in case, white space or form. ", ("no ", Argument("normalize")))

    def rouge_remedies(self) -> Iterator[_Remedy]:
        """Yield what ROUGE would match, if it needs no package and no model."""
        settings = self._settings
        used = [method for method in settings.methods if method in ROUGE_METHODS]
        if settings.similarity_threshold is not None or "embedding" in settings.methods:
            return
        if not used:
            if settings.tokenizer in ("words", "characters", "whitespace") and not settings.use_stemmer:
                advice = _joined(self._with_method("rougeL"))
                yield _Remedy(self._n_matching(match_method="rougeL"), "Some texts are alike. ", advice)
            return
        if settings.rouge_measure != "recall":
            n_queries = self._n_matching(rouge_measure="recall")
            cause = "Retrieved texts have most words of the gold. "
            yield _Remedy(n_queries, cause, (Argument("rouge_measure", "recall"),))
        if len(settings.methods) > 1:
            return
        batch = self._batch(settings)
        near = similar_pairs(batch, used[0], _LEAST_ROUGE)
        best = np.zeros(len(batch))
        np.maximum.at(best, batch.actual.query_of(near.actual), near.similarity)
        if best.any():
            lower = int(np.median(best[best > 0]) * 20) / 20
            cause = "Texts are alike, but less than the threshold asks for. "
            yield _Remedy(int((best >= lower).sum()), cause, (self._front.argument("threshold", lower),))

    def _n_matching(self, **changes: Any) -> int:
        if "match_method" in changes and isinstance(self._settings.threshold, Mapping):
            changes["threshold"] = USUAL_THRESHOLDS
        batch = self._batch(replace(self._settings, **changes))
        try:
            return len(np.unique(batch.actual.query_of(find_matches(batch).actual)))
        except Exception:  # noqa: BLE001 - of a function of the user's own, which was not asked for these texts
            return 0

    def _batch(self, settings: Settings) -> Batch:
        return Batch(self._side("actual", self._gold), self._side("predicted", self._found), settings)

    @staticmethod
    def _side(name: Any, rows: Sequence[Sequence[Seen]]) -> Side:
        flat = list(chain.from_iterable(rows))
        offsets = np.cumsum([0, *map(len, rows)])
        return Side.of_columns(name, [seen.id for seen in flat], [seen.text for seen in flat], offsets)

    def _spellings(self) -> Iterator[_Remedy]:
        """Try ids that one side spells differently."""
        gold, found = ([[seen.id for seen in row if seen.id] for row in rows] for rows in (self._gold, self._found))
        as_they_are = sum(not {*one}.isdisjoint(other) for one, other in zip(gold, found, strict=True))
        best, example = as_they_are, ("", "")
        advice: Parts = ()
        for name in ID_MAPS if self._settings.id_map is None else ():
            alike = [_alike(name, *rows) for rows in zip(gold, found, strict=True)]
            if (n_queries := sum(map(bool, alike))) > best:
                best, advice = n_queries, (self._front.argument("id_map", name),)
                example = next(filter(None, alike))
        for how, written, change, sides in _changes(gold, found):
            new_gold = [list(map(change, row)) for row in gold] if "actual" in sides else gold
            new_found = [list(map(change, row)) for row in found] if "predicted" in sides else found
            pairs = list(zip(new_gold, new_found, strict=True))
            n_queries = sum(not {*one}.isdisjoint({*other} - {""}) for one, other in pairs)
            if n_queries > best:
                best, advice = n_queries, (self._changed(how, written, sides),)
                example = _first_equal(gold, found, pairs)
        if best == as_they_are:
            return
        one, other = example
        cause = f"The gold id {_quoted(one)} and the retrieved id {_quoted(other)} may mean the same document. "
        yield _Remedy(best, cause, _joined([*self._by_id(), advice]))

    def _changed(self, how: str, written: Callable[[str], str], sides: Sequence[str]) -> str:
        """Say how the ids of some sides are changed: in words, and as Python if they are plain."""
        kinds = {
            side: {one.kind for one in chain(*(self._gold if side == "actual" else self._found))} for side in sides
        }
        advice = f"the {' and '.join(_SIDES[side] for side in sides)} ids {how}"
        if not self._front.has_lists or self._settings.id_key or any(kind not in _PLAIN for kind in kinds.values()):
            return advice
        lines = []
        for side in sides:
            one = written("str(one)") if kinds[side] == {"id"} else f'{{**one, "id": {written(_ID_OF_MAPPING)}}}'
            lines.append(f"{side} = [[{one} for one in row] for row in {side}]")
        return f"{advice} ({'; '.join(lines)})"

    def side_by_side(self) -> str:
        """Say that nothing helps, and show both sides; or that they have the same, but never for one query."""
        for what, source in (("id", "id"), ("text", "text")):
            if what == "id" and not self._settings.uses_ids:
                continue
            gold = {seen.read(source) for seen in chain(*self._gold)} - {None}
            for row in self._found:
                value = next((value for seen in row if (value := seen.read(source)) in gold), None)
                if value is not None:
                    return (
                        f"Both sides have the same {what}s, but never for the same query: {_quoted(value)} is gold of "
                        f"one and retrieved for another. If both sides have the queries in the same order, the "
                        "retriever found none of the gold documents."
                    )
        gold_shown, found_shown = (_shown(rows[0][0]) for rows in (self._gold, self._found))
        return (
            "No other setting that was tried matches either. Compare the gold and the first retrieved document of one "
            f"query: {gold_shown}; {found_shown}."
        )


_LEAST_ROUGE = 0.4
_CAUSES = {
    "text": "Gold and retrieved documents have the same texts. ",
    "containment": "Retrieved texts are parts of longer gold texts, or the other way round. ",
}
_LONGER = "Retrieved texts contain the gold texts, but are longer. "
_PLAIN = ({"id"}, {"mapping"})
_ID_OF_MAPPING = 'str(one["id"])'
_MOST_ENDS, _MOST_MARKS, _LONGEST_END = 8, 3, 80

_Change = tuple[str, Callable[[str], str], Callable[[str], str], Sequence[str]]


def _changes(gold: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> Iterator[_Change]:
    """Yield ways to spell ids: in words, as an expression of a name, as a function, and the sides that it changes."""
    both = ("actual", "predicted")
    yield "without surrounding white space", "{}.strip()".format, str.strip, both
    for side, long, short in (("predicted", found, gold), ("actual", gold, found)):
        ends: Counter[tuple[str, str]] = Counter()
        for whole, parts in zip(long, short, strict=True):
            ends.update({end for one in whole for part in parts for end in _ends(one, part)})
        for (kind, end), _ in ends.most_common(_MOST_ENDS):
            how = f"without the {kind.removeprefix('remove')} {_literal(end)}"
            yield how, partial(_call, kind, end, ""), operator.methodcaller(kind, end), (side,)
        marks = Counter(end[-1] if kind == "removeprefix" else end[0] for kind, end in ends.elements())
        for mark in (mark for mark, _ in marks.most_common(_MOST_MARKS) if not mark.isalnum()):
            for how, kind, place in _CUTS:
                written, change = partial(_call, kind, mark, f"[{place}]"), partial(_part, kind, mark, place)
                yield how.format(_literal(mark)), written, change, (side,)


_CUTS = (
    ("cut off at the last {}", "rpartition", 0),
    ("cut off at the first {}", "partition", 0),
    ("from the last {} on, without it", "rpartition", 2),
    ("from the first {} on, without it", "partition", 2),
)


def _call(kind: str, argument: str, then: str, name: str) -> str:
    return f"{name}.{kind}({_literal(argument)}){then}"


def _part(kind: str, mark: str, place: int, one: str) -> str:
    return str(getattr(one, kind)(mark)[place])


def _ends(whole: str, part: str) -> Iterator[tuple[str, str]]:
    """Yield what has to be removed from one id to get the other, where a word or a number ends there."""
    if not part or not 0 < len(whole) - len(part) <= _LONGEST_END:
        return
    if whole.endswith(part) and _is_border(whole[-len(part) - 1], part[0]):
        yield "removeprefix", whole[: -len(part)]
    if whole.startswith(part) and _is_border(part[-1], whole[len(part)]):
        yield "removesuffix", whole[len(part) :]


def _is_border(one: str, other: str) -> bool:
    return not (one.isalnum() and other.isalnum()) or one.isdecimal() != other.isdecimal()


def _alike(name: str, gold: Sequence[str], found: Sequence[str]) -> tuple[str, str] | None:
    """Return the first two ids that are one with `id_map=name`; None if there are none."""
    forms = {*map(ID_MAPS[name], gold)}
    others = [one for one in found if ID_MAPS[name](one) in forms]
    return next(((one, other) for one in gold for other in others if one == other or name in repairs(one, other)), None)


def _first_equal(
    gold: Sequence[Sequence[str]],
    found: Sequence[Sequence[str]],
    changed: Sequence[tuple[Sequence[str], Sequence[str]]],
) -> tuple[str, str]:
    """Return the first two ids that are equal once they are changed, as they were before."""
    return next(
        (gold[query][place], found[query][new_found.index(value)])
        for query, (new_gold, new_found) in enumerate(changed)
        for place, value in enumerate(new_gold)
        if value and value in new_found
    )


def _joined(steps: Sequence[Parts]) -> Parts:
    gaps = ["", *[", "] * (len(steps) - 2), " and "]
    return tuple(filter(None, chain.from_iterable((gap, *step) for gap, step in zip(gaps, steps, strict=False))))


def _shown(seen: Seen) -> str:
    parts = [f"id {_quoted(seen.id)}"] if seen.id else []
    parts += [f"text {_quoted(seen.text, 100)}"] if seen.text else []
    return " and ".join(parts) or "neither an id nor a text"


def _quoted(value: str, longest: int = 60) -> str:
    """Return a value that is only shown: escaped, and shortened."""
    return repr(clip(value, longest))


def _literal(value: str) -> str:
    """Return a value that is to be copied, in double quotes if possible."""
    text = repr(value)
    return text if '"' in value else f'"{text[1:-1]}"'
