"""Find documents of a corpus that look like versions of each other, for a person to confirm."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from krag_eval import as_document, normalize
from krag_eval.toolkit import (
    DOC_KEY,
    IdKey,
    check_number,
    errors_at,
    group_near_duplicates,
    id_at,
    number_of,
    one_line,
    refuse,
)

VERSION_KEYS = ("version", "date", "year", "valid_from", "published", "updated", "updated_at", "modified", "revision")
NAME_KEYS = ("title", "source", "path", "file_path", "file_name", "filename", "url", "name")
_NEAR = 0.6
_NUMBERS = re.compile(r"\d+")
_GERMAN_DATE = re.compile(r"\b(\d\d?)[./](\d\d?)[./]((?:19|20)\d\d)\b")
_YEAR = r"(?<!\d)(?:19|20)\d\d(?:[-./_]?(?:0[1-9]|1[0-2])(?:[-./_]?[0-3]\d)?)?(?!\d)"
_DATE = re.compile(rf"{_GERMAN_DATE.pattern}|{_YEAR}")
# Ids are often numbered, so of their numbers only those that look like a version are left aside.
_MARKS = re.compile(rf"{_DATE.pattern}|(?<![^\W\d_])(?:v|ver|version|rev)[ ._-]*\d+(?:\.\d+)*", re.IGNORECASE)
_MOST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class VersionGroup:
    """Documents that look like versions of each other.

    Attributes:
        ids: Their ids, the newest first if `is_ordered`, else in the order of the corpus.
        by: Where they differ: a key of the metadata, `"id"` or `"text"`.
        values: What each has there, such as a date; nothing if only other numbers of the texts differ.
        is_ordered: Whether the values tell which is newer.
    """

    ids: tuple[str, ...]
    by: str
    values: tuple[str, ...]
    is_ordered: bool

    @property
    def supersedes(self) -> dict[str, list[str]]:
        """For each document the ones of the version before it; empty without an order."""
        steps: dict[tuple[int, ...], list[str]] = {}
        for id_, value in zip(self.ids, self.values, strict=False):
            steps.setdefault(_order(value), []).append(id_)
        return {id_: older for newer, older in pairwise(steps.values()) for id_ in newer} if self.is_ordered else {}

    def to_dict(self) -> dict[str, Any]:
        """Return the group as a row."""
        return {"ids": [*self.ids], "by": self.by, "values": [*self.values], "is_ordered": self.is_ordered}

    def __str__(self) -> str:
        named = zip(self.ids, self.values, strict=False)
        if self.is_ordered:
            return one_line(" > ".join(f"{id_} ({self.by}: {value})" for id_, value in named))
        return one_line(f"{', '.join(self.ids)}: numbers in the text differ, and nothing says which is newer")


@dataclass(frozen=True, slots=True)
class Versions:
    """Groups of documents that look like versions of each other: what `find_versions` returns.

    Attributes:
        groups: The groups, in the order of the corpus.
    """

    groups: tuple[VersionGroup, ...]

    @property
    def supersedes(self) -> dict[str, list[str]]:
        """What to confirm: for each document the ones that it replaced, as `EvalSet.forbidding` takes them."""
        return {new: older for group in self.groups for new, older in group.supersedes.items()}

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per group."""
        return [group.to_dict() for group in self.groups]

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[VersionGroup]:
        return iter(self.groups)

    def __str__(self) -> str:
        found = f"{number_of(len(self), 'group')} of documents that look like versions of each other"
        more = [f"  ... and {len(self) - _MOST_SHOWN} more"] if len(self) > _MOST_SHOWN else []
        return "\n".join([found, *(f"  {group}" for group in self.groups[:_MOST_SHOWN]), *more])


@dataclass(slots=True)
class _Whole:
    """A document, put together from its chunks."""

    id: str
    metadata: Mapping[str, Any]
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    def value(self, name: str) -> str | None:
        """Return what could tell its version: a value of the metadata, dates of its id, or the first of its text."""
        if name == "text":
            found = _DATE.search(self.text)
            return None if found is None else found[0]
        if name == "id":
            return " ".join(found[0] for found in _MARKS.finditer(self.id))
        value = self.metadata.get(name)
        return None if value is None or isinstance(value, bool) else str(value)

    def name(self, key: str) -> str:
        """Return what it is called under a key, without dates and numbers; empty if that is nothing."""
        value = self.id if key == "id" else self.value(key) or ""
        kept = (_MARKS if key == "id" else _NUMBERS).sub("", _MARKS.sub("", value))
        return "".join(filter(str.isalnum, normalize(kept)))


def find_versions(
    corpus: Iterable[object],
    *,
    near: float = _NEAR,
    within: Sequence[str] = (),
    doc_key: IdKey = DOC_KEY,
    id_key: IdKey | None = None,
) -> Versions:
    """Find documents that look like versions of each other: the same title, path or id but for a date or a number.

    Their texts must also be alike, numbers left aside, and a date or a number must differ. Which is newer is told by
    the metadata (`version`, `date`, `year` and the like), else by the title, the path, the id, or the first date of the
    text. It is a list to confirm: two forms for two years are no versions if both are valid.

    Args:
        corpus: The documents, or their chunks, which are put together by `doc_key`: anything that `as_document` reads.
        near: The ROUGE-L (F-measure) from which texts are alike, above 0 and at most 1.
        within: Metadata keys in which versions agree, such as `["tenant", "language"]`.
        doc_key: The metadata key of document ids.
        id_key: Read ids only from this metadata key.

    Raises:
        InvalidInputError: A document cannot be read, or `near` is out of range.

    >>> corpus = [{"id": f"price-{year}", "text": f"A parcel costs {year - 2020} euros."} for year in (2025, 2026)]
    >>> print(find_versions(corpus))
    1 group of documents that look like versions of each other
      price-2026 (id: 2026) > price-2025 (id: 2025)
    >>> find_versions(corpus).supersedes
    {'price-2026': ['price-2025']}
    """
    check_number("near", near, above=0, most=1)
    wholes = _read(corpus, doc_key, id_key)
    found, grouped = list[VersionGroup](), set[str]()
    for key in (*NAME_KEYS, "id"):
        alike: dict[tuple[str, ...], list[_Whole]] = defaultdict(list)
        for one in wholes:
            name = one.name(key) if one.id not in grouped else ""
            if name:
                alike[name, *(str(one.metadata.get(other)) for other in within)].append(one)
        for members in alike.values():
            texts = [_NUMBERS.sub("0", one.text) for one in members]
            for places in group_near_duplicates(texts, near) if len(members) > 1 else ():
                group = _group([members[place] for place in places])
                if group is not None:
                    found.append(group)
                    grouped |= {*group.ids}
    order = {one.id: place for place, one in enumerate(wholes)}
    return Versions(tuple(sorted(found, key=lambda group: min(order[id_] for id_ in group.ids))))


def _read(given: object, doc_key: IdKey, id_key: IdKey | None) -> list[_Whole]:
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        refuse("corpus", "a list of documents or rows", given, "Read a file with `read_corpus(path)`.")
    wholes: dict[str, _Whole] = {}
    for place, one in enumerate(given):
        with errors_at(f"document {place}"):
            document = as_document(one, id_key=id_key)
        id_ = id_at(document.metadata, doc_key) or document.id
        if id_ is not None:
            wholes.setdefault(id_, _Whole(id_, document.metadata)).texts.append(document.text or "")
    return list(wholes.values())


def _group(members: Sequence[_Whole]) -> VersionGroup | None:
    """Return the group of documents that are alike; None if no date and no number differs."""
    for by in (*VERSION_KEYS, *NAME_KEYS, "id", "text"):
        values = [one.value(by) or "" for one in members]
        orders = list(map(_order, values))
        if all(orders) and len(set(orders)) > 1:
            places = sorted(range(len(members)), key=orders.__getitem__, reverse=True)
            return VersionGroup(
                tuple(members[place].id for place in places), by, tuple(values[place] for place in places), True
            )
    if len({tuple(_NUMBERS.findall(one.text)) for one in members}) < 2:
        return None
    return VersionGroup(tuple(one.id for one in members), "text", (), False)


def _order(value: str) -> tuple[int, ...]:
    """Return the numbers of a date or a version, by which it is ordered.

    >>> _order("Prices 31.01.2026"), _order("v1.10") > _order("v1.9")
    ((2026, 1, 31), True)
    """
    return tuple(map(int, _NUMBERS.findall(_GERMAN_DATE.sub(r"\3-\2-\1", value))))
