"""The current number beside a queue: what the labels so far say, with its interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from krag_eval import InvalidInputError, KragEvalError, Run, read_run
from krag_eval.toolkit import IdKey, as_number, as_run, number_of
from krag_eval_labels.estimation import Estimate, Estimation, estimate
from krag_eval_labels.labelling.queue import GRADES, OF_START, LabelQueue
from krag_eval_labels.start.number import Standing, number_from_labels

EVERY = 20
"""After how many labels of a person the number is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What the number is computed from, beside the labels.

    Attributes:
        runs: The runs, by name; the first is the baseline.
        judge: Labels of a model for all documents of the runs within k; None without one.
        known: A set whose grades count with probability 1.
        metric: `precision` or `dcg`.
        k: How many ranks count.
        width: How wide the interval for these questions may be, of a single run or of each difference; None if it does
            not matter.
        id_key: The key of the metadata under which ids are read.
    """

    runs: Mapping[str, Run]
    judge: Path | None = None
    known: object = None
    metric: str = "precision"
    k: int = 10
    width: float | None = None
    id_key: IdKey | None = None


def current_number(queue: LabelQueue, basis: Basis | None = None) -> Standing | None:
    """Return what the labels so far say; None where nothing beside the queue tells which systems they are about.

    The labels are first written into the queue. Then a folder of `krag-eval start` says its own number. Anywhere else,
    the documents before the first that is not labelled are a sample with known probabilities. Documents that were
    skipped, or on which people disagree, are counted both ways, with the least and the largest grade that they may have
    or that people gave them: the interval holds whatever their labels would be.

    Args:
        queue: The queue.
        basis: The runs; by default those in the folder `runs` beside the queue, with `judge.jsonl` if it is there.

    Raises:
        InvalidInputError: A file cannot be read or written.
    """
    queue.fill()
    folder = queue.path.parent
    try:
        if (folder / OF_START).is_file():
            return number_from_labels(folder, write=False).brief
        basis = basis or _basis_in(folder)
        return None if basis is None else _estimated(queue, basis)
    except KragEvalError as error:
        return Standing(f"No number yet: {error}")


def _basis_in(folder: Path) -> Basis | None:
    paths = sorted((folder / "runs").glob("*.jsonl"))
    judge = folder / "judge.jsonl"
    runs = {path.stem: read_run(path) for path in paths}
    return Basis(runs=runs, judge=judge if judge.is_file() else None) if runs else None


def _estimated(queue: LabelQueue, basis: Basis) -> Standing:
    rows = queue.labelled_first()
    unsure = [row for row in rows if row["label"] is None]
    if not any(as_number(row.get("probability")) for row in rows):
        raise InvalidInputError(
            "The next document of the queue is the first, or the queue was not drawn with known probabilities. "
            "`plan_labels` draws one."
        )
    ends = [_at(rows, basis, end) for end in ((min, max) if unsure else (min,))]
    found, other = ends[0], ends[-1]
    estimates = [_both(one, two) for one, two in zip(_values(found), _values(other), strict=True)]
    lines = [f"{found.metric} from {number_of(len(rows) - len(unsure), 'label')}:"]
    for row in estimates:
        low, high = row.sampling_interval
        wider = "" if row.interval is None else f"; {row.interval[0]:.3f} to {row.interval[1]:.3f} for all such ones"
        lines.append(f"  {row.name}  {row.value:.3f}, {low:.3f} to {high:.3f} for these questions{wider}")
    if unsure:
        lines.append(f"  {number_of(len(unsure), 'document')} without a label that stands: counted both ways.")
    decisive = estimates[len(found.systems) :] or estimates
    width = max(row.sampling_interval[1] - row.sampling_interval[0] for row in decisive)
    reached = basis.width is not None and width <= basis.width
    if reached:
        lines.append(f"  The interval is as narrow as wanted: {width:.3f}. You can stop here.")
    elif basis.width is not None:
        lines.append(f"  The interval is {width:.3f} wide, {basis.width:g} is wanted.")
    return Standing("\n".join(lines), reached)


def _at(rows: list[dict[str, Any]], basis: Basis, end: Callable[[Iterable[float]], float]) -> Estimation:
    """Return the estimate if the documents without a label have the least or the largest grade that they may have."""
    grades = [float(grade) for grade in GRADES] + [row["label"] for row in rows if row["label"] is not None]
    people = [
        row if row["label"] is not None else {**row, "label": end(row.get("votes", {}).values() or grades)}
        for row in rows
    ]
    judge: object = basis.judge
    if judge is None:  # one that says nothing: the estimate is that of the sample alone
        judge = [
            {"query_id": query, "document": document, "label": 0}
            for name, run in basis.runs.items()
            for query, row in as_run(run, name).rows.items()
            for document in row.ranking[: basis.k]
        ]
    return estimate(
        dict(basis.runs),
        judge=judge,
        people=people,
        metric=basis.metric,
        k=basis.k,
        evalset=basis.known,
        id_key=basis.id_key,
    )


def _values(found: Estimation) -> list[Estimate]:
    return [*found.systems, *found.differences]


def _both(one: Estimate, two: Estimate) -> Estimate:
    """Return the estimate in the middle, with the intervals of both."""
    if one is two:
        return one

    def union(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
        return min(*a, *b), max(*a, *b)

    return replace(
        one,
        value=(one.value + two.value) / 2,
        sampling_interval=union(one.sampling_interval, two.sampling_interval),
        interval=one.interval and two.interval and union(one.interval, two.interval),
    )
