"""Where gold spans and retrieved chunks lie in their documents, and which of them overlap enough to match.

Offsets count code points from 0; a span is half-open. A chunk says its place itself, as the splitters of LangChain,
LlamaIndex and Haystack write it, or it is looked for by its text in a corpus.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any, NamedTuple
from unicodedata import combining, is_normalized

import numpy as np

from krag_eval._utils.arrays import IntArray
from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError, show
from krag_eval.documents.columns import MISSING, Side
from krag_eval.documents.document import DOC_KEY, as_document
from krag_eval.documents.readers import OFFSETS, as_id, as_ids
from krag_eval.documents.text import nfkc
from krag_eval.matching.batch import Batch, Codes, Found, join, number
from krag_eval.matching.containment import first_places

_LARGEST = 1 << 36  # no text is longer, and so many characters of a million documents still fit into int64
_COMPARED = 200
_FOUND_ONE_BY_ONE = 1 << 26  # so many characters are searched at once before a table of all texts pays


class Places(NamedTuple):
    """Where the documents of one side lie; one entry per document.

    Attributes:
        document: The number of the source document, `MISSING` where a place is not known.
        start: The first character.
        end: The position after the last one.
    """

    document: IntArray
    start: IntArray
    end: IntArray


class BatchPlaces:
    """The places of both sides.

    Attributes:
        actual: The places of gold documents.
        predicted: The places of retrieved documents.
        n_documents: How many source documents they name.
        kept: What metrics have made of them so far.
    """

    def __init__(self, actual: Places, predicted: Places, n_documents: int) -> None:
        self.actual, self.predicted, self.n_documents = actual, predicted, n_documents
        self.kept: dict[Any, Any] = {}

    def codes(self, predicted: IntArray | slice = slice(None)) -> Codes:
        """Return equal integers for equal places, `MISSING` for none.

        Args:
            predicted: Which retrieved documents get one; all by default.
        """
        some = Places(*(column[predicted] for column in self.predicted))
        columns = [np.concatenate(pair) for pair in zip(self.actual, some, strict=True)]
        order = order_of(*columns)
        is_new = np.ones(len(order), dtype=bool)
        is_new[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
        codes = np.empty(len(order), dtype=np.int64)
        codes[order] = np.cumsum(is_new) - 1
        codes[columns[0] == MISSING] = MISSING
        n_actual = len(self.actual.document)
        of_predicted = np.full(len(self.predicted.document), MISSING)
        of_predicted[predicted] = codes[n_actual:]
        return Codes(codes[:n_actual], of_predicted, len(order))


def match_spans(batch: Batch, threshold: float) -> Found:
    """Return the pairs whose overlap is at least a share of what `span_measure` names; at least one character."""
    settings, places = batch.settings, batch.places
    pairs = join(batch, Codes(places.actual.document, places.predicted.document, places.n_documents))
    gold_start, gold_end = (column[pairs.actual] for column in places.actual[1:])
    start, end = (column[pairs.predicted] for column in places.predicted[1:])
    overlap = np.minimum(gold_end, end) - np.maximum(gold_start, start)
    some = np.flatnonzero(overlap > 0)
    common, span, chunk = overlap[some], (gold_end - gold_start)[some], (end - start)[some]
    out_of = {"recall": span, "precision": chunk, "iou": span + chunk - common}[settings.span_measure]
    share = common / out_of
    enough = share >= threshold
    return Found(pairs.actual[some[enough]], pairs.predicted[some[enough]], share[enough])


def order_of(*columns: IntArray) -> IntArray:
    """Return the order by the first column, then the second and so on, of numbers from -1 on."""
    sizes = [int(column.max(initial=0)) + 2 for column in columns]
    if math.prod(sizes) >= 1 << 62:
        return np.lexsort(columns[::-1])
    key = columns[0]
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        key = key * size + (column + 1)
    return np.argsort(key, kind="stable")


def places_of(batch: Batch) -> BatchPlaces:
    """Read or find the places of both sides.

    Raises:
        InvalidInputError: A gold span is none, offsets lie outside the text or belong to another one, or a document is
            not in the corpus.
    """
    key, corpus = batch.settings.id_key, batch.settings.corpus_texts
    sides = [_read_side(side, key or DOC_KEY, corpus) for side in (batch.actual, batch.predicted)]
    numbers, _ = number(*(names for names, _, _ in sides))
    actual, predicted = (
        Places(np.where(start >= 0, code, MISSING), start, end)
        for code, (_, start, end) in zip(numbers[:2], sides, strict=True)
    )
    return BatchPlaces(actual, predicted, numbers.size)


def read_places(chunks: Sequence[object], key: str) -> list[tuple[str, int, int] | None]:
    """Return the document, the start and the end that each chunk says itself; None for one that does not.

    Raises:
        InvalidInputError: A chunk ends before it starts, or cannot be read.
    """
    columns = _read_side(Side("predicted", [list(chunks)], None, "relevance"), key, None)
    rows = zip(*(column if isinstance(column, list) else column.tolist() for column in columns), strict=True)
    return [None if name is None or start < 0 else (name, start, end) for name, start, end in rows]


def _read_side(side: Side, key: str, corpus: CorpusTexts | None) -> tuple[list[str | None], IntArray, IntArray]:
    """Return the source document, the start and the end of each document; -1 for a start that is not known."""
    fields = side.fields(key)
    is_gold = side.name == "actual"
    names = as_ids(_values(fields, key))
    if is_gold and key != DOC_KEY and None in names:
        names = [as_id(f.get(DOC_KEY)) if one is None else one for one, f in zip(names, fields, strict=True)]
    start, end = _offsets(fields)
    known = start >= 0
    known[[place for place, name in enumerate(names) if name is None]] = False
    texts = side.given_texts if is_gold else side.texts if corpus is not None or (known & (end < 0)).any() else []
    lengths = np.full(len(names), -1)
    if texts:
        lengths = np.fromiter((-1 if text is None else len(text) for text in texts), np.int64, len(texts))
        open_ = known & (end < 0)
        end = np.where(open_ & (lengths >= 0), start + lengths, end)
    known &= end >= 0
    wrong = np.flatnonzero(known & ((end < start) | (end > _LARGEST) | (is_gold & (end == start))))
    if len(wrong):
        raise _no_span(side, int(wrong[0]), f"its span ({start[wrong[0]]}, {end[wrong[0]]}) is empty or too large")
    if is_gold and len(wrong := np.flatnonzero(known & (lengths >= 0) & (lengths != end - start))):
        at = int(wrong[0])
        raise InvalidInputError(
            f"{side.place(at)}: its text {show(texts[at], 60)} has {lengths[at]:,} characters, and its span "
            f"({start[at]}, {end[at]}) of document {names[at]!r:.60} has {end[at] - start[at]:,}. The text must be "
            "that slice of the document, in code points."
        )
    start, end = np.where(known, start, MISSING), np.where(known, end, MISSING)
    if corpus is not None:
        corpus.check(side, names, start, end, texts)
        if not is_gold:
            _find_missing(corpus, names, start, end, texts)
    return names, start, end


def _find_missing(
    corpus: CorpusTexts, names: list[str | None], start: IntArray, end: IntArray, texts: Sequence[str | None]
) -> None:
    """Look for the texts of documents without a place in the corpus, and write down where they are."""
    missing = [place for place in np.flatnonzero(start < 0).tolist() if texts[place]]
    wanted = {(names[place], texts[place]) for place in missing}
    found = corpus.find([(name, text) for name, text in wanted if text])
    for place in missing:
        where = found.get((names[place], texts[place] or ""))
        if where is not None:
            names[place], start[place], end[place] = where


def _no_span(side: Side, position: int, why: str) -> InvalidInputError:
    return InvalidInputError(
        f"{side.place(position)}: {why}. A span has 0 <= start < end, in characters of its document."
    )


def _offsets(fields: list[Mapping[str, Any]]) -> tuple[IntArray, IntArray]:
    """Return where each document says that it begins and ends, -1 where it says nothing."""
    start, end = np.full(len(fields), -1), np.full(len(fields), -1)
    for from_key, to_key in OFFSETS:
        is_open = start < 0
        if not is_open.any():
            break
        given = _whole(_values(fields, from_key))
        if (given < 0).all():
            continue
        start = np.where(is_open, given, start)
        until = _whole(_values(fields, to_key)) if to_key else np.full(len(fields), -1)
        end = np.where(is_open & (given >= 0), until, end)
    return start, end


def _values(fields: list[Mapping[str, Any]], key: str) -> list[Any]:
    try:
        return [one[key] for one in fields]
    except KeyError:
        return [one.get(key) for one in fields]


def _whole(values: list[Any]) -> IntArray:
    """Return offsets as integers, -1 for what is none."""
    column = np.array(values) if set(map(type, values)) <= {int} else None
    if column is not None and column.dtype.kind == "i":
        return column
    return np.array(list(map(_offset, values)), dtype=np.int64)


def _offset(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        return -1
    return min(int(value), 2 * _LARGEST)


class CorpusTexts:
    """The texts of the documents that chunks were cut from, by id.

    Attributes:
        texts: The text of each document.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)
        self._forms: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.texts)

    @classmethod
    def of(cls, given: object, key: str | None) -> CorpusTexts:
        """Read a corpus: a mapping from document ids to texts, or documents with an id and a text.

        Raises:
            InvalidInputError: It is neither, a document lacks its id or its text, or an id comes with two texts.
        """
        if isinstance(given, CorpusTexts):
            return given
        if isinstance(given, Mapping):
            rows: Iterable[tuple[str | None, object]] = ((as_id(name), text) for name, text in given.items())
        elif isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
            read = (as_document(one) for one in given)
            rows = ((one.id or as_id(one.metadata.get(key or DOC_KEY)), one.text) for one in read)
        else:
            raise InvalidInputError(
                f"`corpus` must hold the texts of the documents by id, got {describe_type(given)}. "
                "Give {id: text}, or a list of documents."
            )
        texts: dict[str, str] = {}
        for place, (name, text) in enumerate(rows):
            if name is None or not isinstance(text, str):
                raise InvalidInputError(f"`corpus`: document {place} has no id or no text. Each needs both.")
            if texts.setdefault(name, text) != text:
                raise InvalidInputError(
                    f"`corpus`: the id {name!r:.60} comes with two texts. It must hold whole documents, not chunks."
                )
        return cls(texts)

    def check(
        self, side: Side, names: Sequence[str | None], start: IntArray, end: IntArray, texts: Sequence[str | None]
    ) -> None:
        """Refuse a document that is not there, a span outside of it, and texts that are not what is there.

        All spans of gold documents are compared, and a sample of retrieved ones.
        """
        placed = np.flatnonzero(start >= 0)
        lengths = {name: len(self.texts.get(name, "")) for name in {names[place] for place in placed.tolist()} if name}
        for place in placed.tolist():
            name = names[place]
            if name not in self.texts:
                raise InvalidInputError(
                    f"{side.place(place)}: its document {name!r:.60} is not in `corpus`, whose ids look like "
                    f"{', '.join(map(repr, list(self.texts)[:3]))}. Is `id_key` the key of the document ids?"
                )
            if end[place] > lengths[name or ""]:
                raise InvalidInputError(
                    f"{side.place(place)}: its span ({start[place]}, {end[place]}) lies outside of document "
                    f"{name!r:.60}, which has {lengths[name or '']:,} characters. It may belong to another version."
                )
        compared = placed if side.name == "actual" else placed[:: max(1, len(placed) // _COMPARED)]
        for place in compared.tolist():
            text, there = texts[place], self.texts[names[place] or ""][int(start[place]) : int(end[place])]
            if text is None or text == there or (side.name == "predicted" and collapse(text) == collapse(there)):
                continue
            raise InvalidInputError(
                f"{side.place(place)}: its text is {show(text, 60)}, and document {names[place]!r:.60} has "
                f"{show(there, 60)} at ({start[place]}, {end[place]}). Its offsets belong to another version of the "
                "text, or count something else than code points."
            )

    def find(self, wanted: Sequence[tuple[str | None, str]]) -> dict[tuple[str | None, str], tuple[str, int, int]]:
        """Return where texts are: document, start and end; those that are nowhere are left out.

        Args:
            wanted: The texts, each with the document that it is said to be from, or None.
        """
        found: dict[tuple[str | None, str], tuple[str, int, int]] = {}
        by_name: dict[str, list[str]] = {}
        for name, text in wanted:
            if name in self.texts:
                by_name.setdefault(name, []).append(text)
        for name, texts in by_name.items():
            for text, where in self._find_in([name], texts).items():
                found[name, text] = where
        rest = self._find_in(list(self.texts), list({text for name, text in wanted if (name, text) not in found}))
        found |= {one: rest[one[1]] for one in wanted if one not in found and one[1] in rest}
        return found

    def _find_in(self, names: list[str], texts: list[str]) -> dict[str, tuple[str, int, int]]:
        """Return the first place of each text in these documents: as it is, else with white space and NFKC alike."""
        exact = _find_first([self.texts[name] for name in names], texts)
        found = {text: (names[n], at, at + len(text)) for text, (n, at) in exact.items()}
        forms = {text: form for text in texts if text not in found and (form := collapse(text))}
        if not forms:
            return found
        for name in names:
            if name not in self._forms:
                self._forms[name] = collapse(self.texts[name])
        alike = _find_first([self._forms[name] for name in names], list(set(forms.values())))
        positions: dict[int, tuple[IntArray, IntArray]] = {}
        for text, form in forms.items():
            if form in alike:
                number, at = alike[form]
                if number not in positions:
                    positions = {number: positions_of(self.texts[names[number]])}
                first, last = positions[number]
                found[text] = names[number], int(first[at]), int(last[at + len(form) - 1])
        return found


def _find_first(texts: list[str], parts: list[str]) -> dict[str, tuple[int, int]]:
    """Return for each part that is in a text the number of the first such text, and its first place there."""
    if sum(map(len, texts)) * len(parts) <= _FOUND_ONE_BY_ONE:
        rows = ((part, n, text.find(part)) for part in parts for n, text in enumerate(texts))
        found: dict[str, tuple[int, int]] = {}
        for part, n, place in rows:
            if place >= 0:
                found.setdefault(part, (n, place))
        return found
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([len(one) + 1 for one in encoded])
    places = first_places(b"\xff".join(encoded), parts)  # no part has this byte, so none lies across two texts
    numbers = np.searchsorted(ends, places, side="right")
    order = np.argsort(places, kind="stable")
    found, last = {}, (-1, 0, 0)
    for part, place in zip(order.tolist(), places[order].tolist(), strict=True):
        if place < 0:
            continue
        n = int(numbers[part])
        inside = place - (int(ends[n - 1]) if n else 0)
        before, seen = last[1:] if last[0] == n else (0, 0)
        at = seen + len(encoded[n][before:inside].decode("utf-8", "surrogatepass"))
        last = n, inside, at
        found[parts[part]] = n, at
    return found


def collapse(text: str) -> str:
    """Return a text under NFKC, with runs of white space as one space and none at the ends."""
    return " ".join(nfkc(text).split())


# Second parts of compositions that are no combining marks (Unicode 15, UAX #15): of Indic vowels and of Hangul.
_JOINED = frozenset(
    map(chr, (0x9BE, 0x9D7, 0xB3E, 0xB56, 0xB57, 0xBBE, 0xBD7, 0xCC2, 0xCD5, 0xCD6, 0xD3E, 0xD57, 0xDCF, 0xDDF, 0x102E))
) | frozenset(map(chr, (*range(0x1160, 0x1200), 0x1B35, 0x11127, 0x1133E, 0x11357, 0x114B0, 0x114BA, 0x114BD, 0x115AF)))
_SPACES = np.array([point for point in range(0x3001) if chr(point).isspace()])


def positions_of(text: str) -> tuple[IntArray, IntArray]:
    """Return for each character of `collapse(text)` where what it stands for begins and ends in the text."""
    if is_normalized("NFKC", text):
        form, first = text, np.arange(len(text))
        last = first + 1
    else:
        parts: list[str] = []
        starts = [p for p, c in enumerate(text) if not p or not (combining(c) or c in _JOINED)]
        for start, stop in pairwise([*starts, len(text)]):
            parts.append(nfkc(text[start:stop]))
        sizes = np.fromiter(map(len, parts), np.int64, len(parts))
        form, first, last = "".join(parts), np.repeat(starts, sizes), np.repeat([*starts[1:], len(text)], sizes)
    points = np.frombuffer(form.encode("utf-32-le", "surrogatepass"), "<u4")
    is_space = np.isin(points, _SPACES)
    kept = np.flatnonzero(~is_space | ~np.append(True, is_space[:-1])[: len(is_space)])
    if len(kept) and is_space[kept[-1]]:
        kept = kept[:-1]
    return first[kept], last[kept]
