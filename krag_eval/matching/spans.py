"""Where gold spans and retrieved chunks lie in their documents.

Offsets count code points from 0; a span is half-open. A chunk says its place itself, as the splitters of LangChain,
LlamaIndex and Haystack write it, or it is looked for by its text in a corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from numbers import Integral
from operator import itemgetter
from typing import Any
from unicodedata import combining, is_normalized

from krag_eval._utils.arrays import IntArray, np
from krag_eval._utils.errors import Argument, InvalidInputError, refuse, show
from krag_eval.documents.columns import MISSING, Side, SideName
from krag_eval.documents.document import DOC_KEY, as_document
from krag_eval.documents.readers import OFFSETS, IdKey, as_id, id_at
from krag_eval.documents.text import nfkc, utf8

_LARGEST = 1 << 36  # no text is longer, and so many characters of a million documents still fit into int64
_COMPARED = 200
_FOUND_ONE_BY_ONE = 1 << 26  # so many characters are searched at once before a table of all texts pays


_SIZE = 8  # bytes of a shingle
_BYTES_AT_ONCE = 1 << 18
# The rarest shingle of a text is looked for at its beginning; with more places than that, a plain search is quicker.
_BEGINNING, _BYTES_A_PLACE = 256, 1 << 10
_SHORTEST_BEGINNING, _BEGINNINGS_AT_ONCE = 64, 1 << 24
_SLOT_BITS, _BITS_A_SLOT = 18, 5
_GOLDEN_RATIO = 0x9E3779B97F4A7C15


def read_places(
    documents: Sequence[object],
    key: IdKey,
    name: SideName = "predicted",
    query: int = 0,
    corpus: CorpusTexts | None = None,
) -> list[tuple[str, int, int] | None]:
    """Return the document, the start and the end that each document says itself; None for one that does not.

    Args:
        documents: Chunks, or the gold documents of one query.
        key: The key of the metadata under which they have the id of their document.
        name: Which of the two they are, for checks and messages.
        query: The number of the query, for messages.
        corpus: The texts in which the places must be, if they are to be checked.

    Raises:
        InvalidInputError: A document ends before it starts, cannot be read, or is not where it says in the corpus.
    """
    columns = read_side(Side(name, [list(documents)], None, "relevance", query), key, corpus)
    rows = zip(*(column if isinstance(column, list) else column.tolist() for column in columns), strict=True)
    return [None if name is None or start < 0 else (name, start, end) for name, start, end in rows]


def read_side(side: Side, key: IdKey, corpus: CorpusTexts | None) -> tuple[list[str | None], IntArray, IntArray]:
    """Return the source document, the start and the end of each document; -1 for a start that is not known."""
    fields = side.fields(key)
    is_gold = side.name == "actual"
    names = [id_at(one, key) for one in fields]
    if is_gold and key != DOC_KEY and None in names:
        names = [as_id(f.get(DOC_KEY)) if one is None else one for one, f in zip(names, fields, strict=True)]
    start, end = _offsets(fields)
    known = start >= 0
    if None in names:
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
        at = int(wrong[0])
        raise InvalidInputError(
            f"{side.place(at)}: its span ({start[at]}, {end[at]}) is empty or too large. A span has 0 <= start < end, "
            "in characters of its document."
        )
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
        return list(map(itemgetter(key), fields))
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
    def of(cls, given: object, key: IdKey | None) -> CorpusTexts:
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
            rows = ((one.id or id_at(one.metadata, key or DOC_KEY), one.text) for one in read)
        else:
            refuse("corpus", "texts of documents by id", given, "Give {id: text}, or a list of documents.")
        texts: dict[str, str] = {}
        for place, (name, text) in enumerate(rows):
            if name is None or not isinstance(text, str):
                raise InvalidInputError(
                    Argument("corpus"), f": document {place} has no id or no text. Each needs both."
                )
            if texts.setdefault(name, text) != text:
                raise InvalidInputError(
                    Argument("corpus"),
                    f": the id {name!r:.60} comes with two texts. It must hold whole documents, not chunks.",
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
                    f"{side.place(place)}: its document {name!r:.60} is not in ",
                    Argument("corpus"),
                    f", whose ids look like {', '.join(map(repr, list(self.texts)[:3]))}. Spans and chunks must name "
                    "documents by these ids.",
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
        # By document: the positions of one at a time are kept.
        for text, form in sorted(forms.items(), key=lambda item: alike.get(item[1], (-1, 0))):
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
    encoded = list(map(utf8, texts))
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
_SPACES = [point for point in range(0x3001) if chr(point).isspace()]


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


def first_places(whole: bytes, parts: Sequence[str]) -> IntArray:
    """Return the first place of each part in a text in UTF-8, counted in bytes; -1 where it is not there."""
    beginning = min(_BEGINNING, max(_SHORTEST_BEGINNING, _BEGINNINGS_AT_ONCE // max(len(parts), 1)))
    beginnings = [utf8(part[:beginning]) for part in parts]
    bits = max(_SLOT_BITS, len(whole).bit_length() - _BITS_A_SLOT)
    n_slots = 1 << bits
    counts = np.zeros(n_slots, np.int64)
    for _, slots in _slots(whole, bits):
        if bits == _SLOT_BITS:
            counts += np.bincount(slots, minlength=n_slots)
        else:  # a longer table costs more than its few new entries
            np.add.at(counts, slots, 1)
    lengths = np.fromiter(map(len, beginnings), np.int64, len(parts))
    starts = np.cumsum(lengths) - lengths
    part_slots = np.concatenate([np.zeros(0, np.int64), *(slots for _, slots in _slots(b"".join(beginnings), bits))])
    # Of each part the smallest number of places of a shingle, and which shingle it is.
    keys = np.append(counts[part_slots] << 32 | np.arange(len(part_slots)), 0)
    some = np.flatnonzero(lengths >= _SIZE)
    rarest = np.minimum.reduceat(keys, np.stack([starts, starts + lengths - _SIZE + 1], axis=1)[some].ravel())[::2]
    is_rare = (rarest >> 32) <= len(whole) // _BYTES_A_PLACE
    some, rarest = some[is_rare], rarest[is_rare] & 0xFFFFFFFF
    is_wanted = np.zeros(n_slots, dtype=bool)
    is_wanted[part_slots[rarest]] = True
    there = [
        (start + place, slots[place]) for start, slots in _slots(whole, bits) for place in is_wanted[slots].nonzero()
    ]
    places, slots = np.concatenate([np.zeros((2, 0), np.int64), *there], axis=1)
    order = np.argsort(slots, kind="stable")
    places, ends = places[order], [np.searchsorted(slots[order], part_slots[rarest], side=s) for s in ("left", "right")]
    found = np.full(len(parts), -1)
    for part, offset, first, last in zip(some, rarest - starts[some], *ends, strict=True):
        encoded = utf8(parts[part]) if last > first else b""
        possible = (places[first:last] - offset).tolist()
        found[part] = next((place for place in possible if place >= 0 and whole.startswith(encoded, place)), -1)
    others = np.setdiff1d(np.arange(len(parts)), some)
    found[others] = [whole.find(utf8(parts[part])) for part in others]
    return found


def _slots(buffer: bytes, bits: int) -> Iterator[tuple[int, IntArray]]:
    """Yield the slots of all shingles of the buffer, a part of it at a time, and where that part begins."""
    n_shingles = len(buffer) - _SIZE + 1
    for start in range(0, n_shingles, _BYTES_AT_ONCE):
        size = min(n_shingles - start, _BYTES_AT_ONCE)
        words = np.ndarray(size, dtype="<u8", buffer=buffer, offset=start, strides=(1,))
        yield start, ((words * _GOLDEN_RATIO) >> np.uint64(64 - bits)).astype(np.int64)
