"""Take a queue to another program, and its labels back: CSV, Excel, Argilla, Label Studio, Langfuse."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import Source, as_cell, as_number, number_of, one_line, refuse, unreadable, write_atomically
from krag_eval_labels.files import put_labels
from krag_eval_labels.labelling.items import Item, Said, items_of
from krag_eval_labels.labelling.platforms import argilla, label_studio, langfuse, said_in
from krag_eval_labels.labelling.queue import LabelQueue, checked_name
from krag_eval_labels.labelling.spreadsheets import said_in_rows, write_csv, write_xlsx

_TABLES = {".csv": write_csv, ".xlsx": write_xlsx}
_PLATFORMS = {"argilla": argilla, "labelstudio": label_studio, "langfuse": langfuse}
_WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_SHOWN = 3


def export_queue(queue: LabelQueue, path: Path, *, suggest: bool = False) -> int:
    """Write a queue for another program, in the order in which people should label it.

    Args:
        queue: The queue; labels that stand are written where the program shows them as editable: in spreadsheets.
        path: The file. Its ending `.csv` or `.xlsx`, or its name, such as `argilla.json`, `label-studio.json` or
            `langfuse.json`, says for which program.
        suggest: Show a model's labels as suggestions. People then tend to agree with them, and so does the estimate.

    Returns:
        How many documents were written.

    Raises:
        InvalidInputError: The name says no program, or the file cannot be written.
    """
    items, name = items_of(queue), path.name.lower().replace("-", "").replace("_", "")
    if path.suffix.lower() in _TABLES:
        _TABLES[path.suffix.lower()](items, path)
        return len(items)
    platform = next((make for word, make in _PLATFORMS.items() if word in name and name.endswith(".json")), None)
    if platform is None:
        refuse("export", "a file such as labels.csv, labels.xlsx, argilla.json, label-studio.json, langfuse.json", path)
    write_atomically(path, [json.dumps(platform(items, suggest=suggest), ensure_ascii=False, indent=1) + "\n"])
    return len(items)


@dataclass
class Imported:
    """What became of the labels in a file of another program.

    Attributes:
        n_labels: How many were taken over.
        n_empty: Rows without a label.
        people: Who gave them; an empty name if the file does not say.
        unknown: Labels of documents that the queue does not have, and where they stand.
        damaged: Ids that the program changed; their labels were taken over by the key.
        unreadable: Labels that are no grade, or contradict another one of the same person.
    """

    n_labels: int = 0
    n_empty: int = 0
    people: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        by = f" by {', '.join(one_line(name) for name in self.people)}" if any(self.people) else ""
        lines = [f"{number_of(self.n_labels, 'label')}{by}; {number_of(self.n_empty, 'row')} without one."]
        for what, found in (
            ("of documents that are not in the queue, not taken over", self.unknown),
            ("whose ids were changed on the way, taken over by their key", self.damaged),
            ("that cannot be used", self.unreadable),
        ):
            if found:
                rest = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
                lines.append(f"{number_of(len(found), 'label')} {what}: {'; '.join(found[:_SHOWN])}{rest}")
        return "\n".join(lines)


def import_labels(queue: LabelQueue, path: Path, who: str | None = None) -> Imported:
    """Take labels over that people gave in another program, each into the file of who gave it.

    Args:
        queue: The queue that was exported.
        path: A spreadsheet that was filled in, or what Argilla, Label Studio or Langfuse exported.
        who: Whose labels they are, if the file does not say, or has those of one person alone.

    Returns:
        How many were taken over, and what is wrong with the others.

    Raises:
        InvalidInputError: The file cannot be read, is of none of these programs, or has labels of several people and
            `who` is given.
    """
    items = items_of(queue)
    by_key = {key: item for item in items for key in (item.key, item.trace_id)}
    by_ids = {(item.query_id, item.document_id): item for item in items if item.document_id}
    found, grades = Imported(), dict[str, dict[int, float]]()
    for said in _said(path):
        if said.label is None or str(said.label).strip() == "":
            found.n_empty += 1
            continue
        item = by_key.get(said.key.strip()) or by_ids.get(said.ids or ("", ""))
        if item is None:
            named = f"{said.ids[0]} {said.ids[1]}" if said.ids and any(said.ids) else said.key
            found.unknown.append(f"{said.at} ({one_line(named)[:60]!r})")
            continue
        if said.ids is not None and not _is_same(said.ids, item):
            was, now = f"{item.query_id} {item.document_id}", " ".join(said.ids)
            found.damaged.append(f"{said.at} ({one_line(now)[:60]!r} was {one_line(was)[:60]!r})")
        grade = _grade(said.label)
        if grade is None or grades.setdefault(said.who, {}).setdefault(item.place, grade) != grade:
            found.unreadable.append(f"{said.at} ({one_line(str(said.label))[:30]!r})")
    if who is not None and len(grades) > 1:
        raise InvalidInputError(f"{path}: has labels of {len(grades)} people. Leave out the name of one.")
    for name, labels in grades.items():
        own = LabelQueue(queue.path, who if who is not None else name or None)
        put_labels(own.file, [own.row_of(place, grade) for place, grade in labels.items()])
        found.n_labels += len(labels)
        found.people.append(own.who)
    queue.fill()
    return found


def _said(path: Path) -> Iterator[Said]:
    source = Source(path, encoding=_encoding(path))
    if source.container in ("csv", "tsv", "xlsx"):
        if not {"key", "label"} <= {*source.columns}:
            raise InvalidInputError(
                f"{path}: has no columns `key` and `label`. Fill in the spreadsheet that was exported, and keep its "
                "first row."
            )
        return said_in_rows(source.rows())
    found = said_in(_rows_of_json(source))
    if found is None:
        raise InvalidInputError(
            f"{path}: is no spreadsheet that was exported, and no export of Argilla, Label Studio or Langfuse scores."
        )
    return (replace(one, who=_name(one.who)) for one in found)


def _encoding(path: Path) -> str | None:
    """Return UTF-16 for what Excel calls Unicode text."""
    try:
        with path.open("rb") as file:
            return "utf-16" if file.read(2) in _UTF_16 else None
    except OSError as error:
        raise unreadable(path, error) from error


def _rows_of_json(source: Source) -> Iterable[tuple[str, Mapping[str, Any]]]:
    if source.container == "jsonl":
        return source.rows()
    whole = source.document
    if isinstance(whole, Mapping) and isinstance(whole.get("data"), list):  # a page of Langfuse's API
        whole = whole["data"]
    rows = whole if isinstance(whole, list) else []
    return ((f"{source.path}: row {n}", row) for n, row in enumerate(rows, 1) if isinstance(row, Mapping))


def _name(who: str) -> str:
    """Return a name that a file can have."""
    kept = "".join(letter if letter.isalnum() or letter in " .-_" else "-" for letter in who)[:64].strip(" .-")
    return checked_name(kept) if kept else ""


def _is_same(ids: tuple[str, str], item: Item) -> bool:
    return all(given in (own, as_cell(own)) for given, own in zip(ids, (item.query_id, item.document_id), strict=True))


def _grade(label: object) -> float | None:
    """Return the grade that a cell or a value means; None if it means none.

    >>> [_grade(one) for one in ("2", " 1.0 ", "TRUE", False, "0 not relevant", "maybe", -1, [])]
    [2.0, 1.0, 1.0, 0.0, 0.0, None, None, None]
    """
    if isinstance(label, bool):
        return float(label)
    if isinstance(label, str):
        word = label.strip().lower()
        if word in _WORDS:
            return _WORDS[word]
        try:
            label = float(word.split(" ")[0])
        except ValueError:
            return None
    number = as_number(label)
    return number if number is not None and 0 <= number <= 100 else None
