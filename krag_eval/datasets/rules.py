"""What a whole set says about what must not be retrieved: who may see what, and which documents are outdated."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from krag_eval._utils.checks import as_number
from krag_eval._utils.errors import Argument, InvalidInputError, did_you_mean, errors_at, refuse
from krag_eval.datasets.question import Question, alternatives_in
from krag_eval.documents.access import Allowed
from krag_eval.documents.document import DOC_KEY, SUPERSEDED_BY, Document, as_document
from krag_eval.documents.readers import as_id, id_at, nfc

Older = Mapping[str, Sequence[tuple[str, str]]]
"""For an id the ids of older versions, each with the id of the document that superseded it."""


_DAY_FIRST = re.compile(r"(?<![0-9])[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}(?![0-9])")
"""A date of which nobody can say whether the day or the month comes first, and whose order is not that of its parts."""


def with_rules(
    questions: Iterable[Question],
    *,
    askers: Mapping[str, Mapping[str, Any]] | None = None,
    supersedes: Mapping[str, object] | None = None,
    versions: tuple[str, str] | None = None,
    corpus: Iterable[object] | None = None,
) -> list[Question]:
    """Return questions that say themselves what must not be retrieved for them; see `EvalSet.forbidding`."""
    documents = [as_document(one) for one in corpus or ()]
    if versions is not None and not documents:
        raise InvalidInputError(
            Argument("versions", versions), " names keys of the metadata of documents. Give `corpus`, which has them."
        )
    for name, given in (("askers", askers), ("supersedes", supersedes)):
        if given is not None and not isinstance(given, Mapping):
            refuse(name, "a mapping", given)
    questions = list(questions)
    wanted = {one for question in questions for one in _current(question)}
    older = _superseded(supersedes or {}, documents, wanted)
    if versions is not None:
        older = {**older, **_by_version(documents, versions, wanted)}
    for name, allowed in (askers or {}).items():
        if not isinstance(allowed, Mapping):
            refuse(f"askers[{name!r:.60}]", "a mapping from metadata keys to the values that are allowed", allowed)
        with errors_at(f"askers[{name!r:.60}]"):
            if allowed:
                Allowed.of(allowed)
    return [_outdated(_asked(question, askers), older) for question in questions]


def _asked(question: Question, askers: Mapping[str, Mapping[str, Any]] | None) -> Question:
    if askers is None or question.asker is None or question.allowed:
        return question
    known = {nfc(str(name)): allowed for name, allowed in askers.items()}
    if nfc(question.asker) not in known:
        raise InvalidInputError(
            f"The question {question.id!r:.60} has the asker {question.asker!r:.60}, whom `askers` does not name."
            f"{did_you_mean(question.asker, askers)} It names: {', '.join(map(str, askers)) or 'nobody'!s:.200}."
        )
    return replace(question, allowed=dict(known[nfc(question.asker)]))


def _current(question: Question) -> set[str]:
    """Return the ids of the gold of a question, also those of its documents."""
    gold = [*alternatives_in(question.gold_chunks()), *(Document(id=one) for one in question.gold_doc_ids)]
    return {one for document in gold for one in (document.id, id_at(document.metadata, DOC_KEY)) if one is not None}


def _outdated(question: Question, older: Older) -> Question:
    if not older:
        return question
    current = _current(question)
    known = current | {document.id for document in question.forbidden()}
    found = {old: new for one in sorted(current & older.keys()) for old, new in older[one] if old not in known}
    listed = [
        Document(id=old, metadata={"reason": f"superseded by {new}", SUPERSEDED_BY: new}) for old, new in found.items()
    ]
    return replace(question, must_not=(*question.must_not, *listed)) if listed else question


def _superseded(supersedes: Mapping[str, object], documents: Sequence[Document], wanted: set[str]) -> Older:
    """Return all older versions of the wanted documents, also those of their older versions, and their chunks."""
    before: dict[str, list[str]] = {}
    for given, listed in supersedes.items():
        new = as_id(given)
        ids = [as_id(one) for one in (listed if isinstance(listed, (list, tuple, set)) else [listed])]
        if new is None or None in ids:
            refuse(
                "supersedes", 'ids with the ids that they replace, such as {"price-2026": ["price-2025"]}', supersedes
            )
        before[new] = [one for one in ids if one is not None]
    chunks: dict[str, list[str]] = {}
    for document in documents:
        of = id_at(document.metadata, DOC_KEY)
        if document.id is not None and of is not None and of != document.id:
            chunks.setdefault(of, []).append(document.id)
    older = {}
    _refuse_rings(before)
    for new in before:
        if wanted.isdisjoint((new, *chunks.get(new, ()))):
            continue
        found = dict.fromkeys(before[new])
        for old in (queue := [*found]):
            queue += [one for one in before.get(old, ()) if one not in found]
            found |= dict.fromkeys(before.get(old, ()))
        pairs = [(old, new) for one in found for old in (one, *chunks.get(one, ()))]
        for name in (new, *chunks.get(new, ())):
            older[name] = pairs
    return older


def _refuse_rings(before: Mapping[str, Sequence[str]]) -> None:
    done: set[str] = set()
    for start in before:
        path, rest = [start], [iter(before[start])]
        while path:
            old = next(rest[-1], None)
            if old in path:
                ring = " -> ".join((*path[path.index(old) :], old))
                raise InvalidInputError(f"`supersedes` is circular: {ring:.200}. Take one of these out.")
            if old is None:
                done.add(path.pop())
                rest.pop()
            elif old not in done:
                path.append(old)
                rest.append(iter(before.get(old, ())))


def _by_version(documents: Sequence[Document], versions: tuple[str, str], wanted: set[str]) -> Older:
    """Return the older versions of each document, by the key that its versions share and the key of the version."""
    if len(versions) != 2:
        refuse("versions", 'two metadata keys, such as ("doc_key", "version")', versions)
    key, version = versions
    groups: dict[str, list[tuple[Any, str]]] = {}
    for document in documents:
        name, number = as_id(document.metadata.get(key)), document.metadata.get(version)
        if document.id is not None and name is not None and number is not None:
            groups.setdefault(name, []).append((number, document.id))
    if not groups:
        raise InvalidInputError(
            f"No document of `corpus` has an id, {key!r:.60} and {version!r:.60}. Give the keys that its metadata have."
        )
    older: dict[str, list[tuple[str, str]]] = {}
    for name, group in groups.items():
        orders = [_order(number) for number, _ in group]
        if len({kind for kind, _ in orders}) > 1 or None in [kind for kind, _ in orders]:
            kinds = ", ".join(sorted({type(number).__name__ for number, _ in group}))
            raise InvalidInputError(
                f"The versions of {name!r:.60} under {version!r:.60}, such as {group[0][0]!r:.60}, have no order "
                f"(types: {kinds}). Give numbers, ISO dates such as 2026-01-31, or strings such as 'v1.10'."
            )
        ranked = [(order, one) for (_, order), (_, one) in zip(orders, group, strict=True)]
        for number, new in (one for one in ranked if one[1] in wanted):
            older[new] = [(old, new) for other, old in ranked if other < number]
    return {new: pairs for new, pairs in older.items() if pairs}


def _order(version: object) -> tuple[str | None, Any]:
    """Return of what kind a version is, None if it has no order, and what it is ordered by: `v1.9` before `v1.10`."""
    if isinstance(version, str) and not _DAY_FIRST.search(version):
        parts = re.split(r"([0-9]+)", version.strip().casefold())
        return "text", [int(one) if place % 2 else one for place, one in enumerate(parts)]
    if isinstance(version, date):
        is_aware = isinstance(version, datetime) and version.tzinfo is not None
        moment = version if isinstance(version, datetime) else datetime(version.year, version.month, version.day)  # noqa: DTZ001
        return ("aware" if is_aware else "date"), moment
    number = None if isinstance(version, bool) else as_number(version)
    return (None if number is None or math.isnan(number) else "number"), number
