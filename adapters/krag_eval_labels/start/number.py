"""The number of an evaluation from a log: what people's labels say of the traffic, with intervals."""

from __future__ import annotations

import math
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from krag_eval import InvalidInputError, as_document
from krag_eval.toolkit import (
    FloatArray,
    IntArray,
    Printed,
    check_number,
    clip,
    need_installed,
    number_of,
    one_line,
    read_checked,
)
from krag_eval_labels.estimation import Agreement, label_agreement, read_labels
from krag_eval_labels.files import LabelKey, as_label, label_key
from krag_eval_labels.labelling.people import majority
from krag_eval_labels.start.design import TrafficMean
from krag_eval_labels.start.folder import Folder, plan_lines
from krag_eval_labels.start.pooling import Pool
from krag_eval_labels.start.values import METRICS, PoolGap, largest_of, pool_gap, values_of

_WORDS = {"pooled_recall": "recall of the pool", "hit_rate": "hit rate"}
# Of the questions up to the last that is labelled in full, so many may be skipped.
_MOST_SKIPPED = 0.1
_SHOWN = 3
_FEWEST_TO_STOP = 10
_FEWEST_OF_STRATUM = 5


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LogNumber(Printed):
    """What people's labels say of a log's traffic; as a string, what `krag-eval start FOLDER` prints.

    Attributes:
        folder: The folder.
        k: How many ranks count.
        confidence: The confidence of the intervals.
        n_rows: The rows of the log, for which the values stand.
        n_questions: Its questions.
        n_labelled: How many of them are labelled in full, from the first on without a gap.
        n_labels: How many documents have a label of people.
        systems: By system and metric the estimate.
        differences: By further system and metric the difference from the log.
        strata: By stratum and metric the estimate for the log.
        decided: The strata whose precision surely differs from that of all others.
        gap: How much of what is relevant the pool holds; None without labels outside of it.
        failed: The questions that failed most, with reasons.
        agreement: Of people and the judge; None without a judge.
        width: How wide the interval of precision, or of its widest difference, is.
        wanted: How wide it may be.
        notes: What has to be said.
    """

    folder: Path
    k: int
    confidence: float
    n_rows: int
    n_questions: int
    n_labelled: int
    n_labels: int
    systems: Mapping[str, Mapping[str, TrafficMean]]
    differences: Mapping[str, Mapping[str, TrafficMean]]
    strata: Mapping[str, Mapping[str, TrafficMean]]
    decided: tuple[str, ...]
    gap: PoolGap | None
    failed: tuple[Mapping[str, Any], ...]
    agreement: Agreement | None
    width: float
    wanted: float
    notes: tuple[str, ...]
    plan: tuple[str, ...] = field(default=())

    @property
    def reached(self) -> bool:
        """Whether the wanted width is reached, by at least ten questions or all of the log."""
        return self.n_labelled >= min(_FEWEST_TO_STOP, self.n_questions) and self.width <= self.wanted

    @property
    def brief(self) -> Standing:
        """A few lines to show beside the queue."""
        names = ("precision", "hit_rate", "pooled_recall")
        shown = [f"{_name(one, self.k)} {_shown(self.systems['log'][one])}" for one in names]
        lines = [f"{number_of(self.n_labelled, 'question')} in full, {self.n_labels} labels: {'; '.join(shown)}"]
        for name, values in self.differences.items():
            lines.append(f"{name} - log: {_name('precision', self.k)} {_shown(values['precision'], '+.3f')}")
        return Standing("\n".join([*lines[:5], self._goal]), self.reached)

    @property
    def _goal(self) -> str:
        if self.reached:
            return f"The wanted width of {self.wanted:g} is reached."
        if self.width > self.wanted:
            return f"The wanted width of {self.wanted:g} is not reached: {self.width:.2f}."
        few, enough = number_of(self.n_labelled, "question"), min(_FEWEST_TO_STOP, self.n_questions)
        return f"The wanted width of {self.wanted:g} is reached by {few} alone: label {enough} before you rely on it."

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        whole = {one: getattr(self, one) for one in self.__slots__ if one not in ("folder", "plan")}
        for name in ("systems", "differences", "strata"):
            whole[name] = {
                key: {metric: asdict(value) for metric, value in row.items()} for key, row in whole[name].items()
            }
        for name in ("gap", "agreement"):
            whole[name] = None if whole[name] is None else asdict(whole[name])
        width = self.width if math.isfinite(self.width) else None
        return whole | {"folder": os.fspath(self.folder), "width": width, "reached": self.reached}

    def __str__(self) -> str:
        done = (
            f"{number_of(self.n_labelled, 'question')} of {self.n_questions} labelled in full, {self.n_labels} labels"
        )
        of = f"for all {number_of(self.n_rows, 'row')} of the log, {self.confidence:.0%} intervals"
        lines = [f"{self.folder}: {done}; {of}"]
        columns = [*self.systems, *(f"{one} - log" for one in self.differences)]
        table = [["", *columns]]
        for metric in METRICS:
            cells = [_shown(values[metric]) for values in self.systems.values()]
            cells += [_shown(values[metric], "+.3f") for values in self.differences.values()]
            table.append([_name(metric, self.k), *cells])
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        lines += ["  " + "  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in table]
        if self.gap is not None:
            low, high = self.gap.interval
            lines.append(
                f"  The pool holds {self.gap.share:.0%} ({low:.0%} to {high:.0%}) of what is relevant, by "
                f"{number_of(self.gap.n, 'document')} from outside of it: recall of all is as much lower."
            )
            if self.gap.if_independent is not None:
                lines.append(
                    f"  If retrievers missed documents independently, it would be {self.gap.if_independent:.0%}: too "
                    "high, as they miss the same ones."
                )
        else:
            lines.append("  What the pool misses is not known: no document outside of it has a label.")
        if self.agreement is not None:
            judged = self.systems["log"]["precision"]
            alone = "" if judged.judge_alone is None else f"the judge alone says {judged.judge_alone:.3f}; "
            lines.append(
                f"  Judge, {_name('precision', self.k)}: {alone}weight {judged.judge_weight or 0.0:.2f}; without it "
                f"{judged.savings:.1f} x as many questions. {self.agreement}"
            )
        for name in self.decided:
            lines.append(f"  {name}: {_name('precision', self.k)} {_shown(self.strata[name]['precision'])}")
        if self.failed:
            lines.append("  Failed most:")
            lines += [f"    {one['question']!r:.60} ({one['rows']} x): {one['reason']}" for one in self.failed]
        lines += [f"  {note}" for note in self.notes]
        lines.append(f"  {self._goal}")
        return "\n".join([*lines, *(f"  {line}" for line in self.plan if self.width > self.wanted)])


@dataclass(frozen=True, slots=True)
class Standing:
    """The current number in a few lines, to show beside a queue, and whether the wanted width is reached."""

    text: str
    reached: bool = False


def number_from_labels(
    folder: str | os.PathLike[str], *, labels: object = None, confidence: float = 0.95, write: bool = True
) -> LogNumber:
    """Estimate precision, DCG, hit rate, MRR and the recall of the pool for a log's traffic, from people's labels.

    The questions count from the first of the queue to the last that is labelled in full; up to a tenth of them may be
    skipped. With a judge's labels of more questions, people's labels correct these.

    Args:
        folder: What `start_from_log` made.
        labels: Labels of people as `estimate` takes them; by default those of queue.jsonl. Files of single people in
            the folder, with `labels` in their names, come before it: what more than half of them say counts.
        confidence: Of the intervals.
        write: Write `set.jsonl`, the labelled questions with gold, grades, and documents judged not relevant, and into
            `labelled` what the systems retrieved for them.

    Raises:
        InvalidInputError: It is no such folder, a label cannot be read, or there is no label of people: a judge's
            labels alone are no score.
        MissingDependencyError: scipy is not installed.
    """
    need_installed("start", "scipy", "stats")
    check_number("confidence", confidence, "Give one such as 0.95.", above=0, below=1)
    own = Folder.open(folder)
    whole = _Labelled.of(own, labels)
    result = whole.number(confidence)
    if write and result.n_labelled:
        whole.write_set()
    return result


Grades = dict[str, dict[LabelKey, float]]


@dataclass(slots=True)
class _Labelled:
    """The labels of a folder beside its questions, pools and runs."""

    folder: Folder
    asked: list[dict[str, Any]]
    pools: list[Pool]
    grades: Grades
    judge: Grades
    notes: list[str]

    @classmethod
    def of(cls, folder: Folder, labels: object) -> _Labelled:
        """Read the labels of a folder.

        Raises:
            InvalidInputError: There is none of people.
        """
        asked, pools, notes = folder.questions(), folder.pools(), list[str]()
        known = {
            (pool.query_id, label_key(document)) for pool in pools for document in (*pool.documents, *pool.outside)
        }
        given = _people(folder, labels, notes)
        grades: Grades = {}
        n_unknown = 0
        for (query, key), grade in given.items():
            if (query, key) in known:
                grades.setdefault(query, {})[key] = grade
            else:
                n_unknown += 1
        if n_unknown:
            notes.append(f"{number_of(n_unknown, 'label')} of documents that are in no pool: not used")
        path = folder.path / "judge.jsonl"
        judge: Grades = {}
        if path.exists():
            for (query, key), label in read_labels("judge", path).items():
                judge.setdefault(query, {})[key] = label.grade
        if not grades:
            said = [grade for of_query in judge.values() for grade in of_query.values()]
            what = (
                f" The judge calls {sum(one > 0 for one in said)} of {number_of(len(said), 'document')} relevant: that "
                "is a model's opinion, with an unknown bias."
                if said
                else ""
            )
            raise InvalidInputError(
                f"{folder.path}: has no label of people, so there is no score.{what} Label some with `krag-eval label "
                f"{shlex.quote(os.fspath(folder.path))}`, then call this again."
            )
        return cls(folder, asked, pools, grades, judge, notes)

    def number(self, confidence: float) -> LogNumber:
        """Return the estimates."""
        folder, k = self.folder, self.folder.k
        design, names = folder.design, folder.systems
        rankings = {name: self._rankings(name) for name in names}
        by_people = {name: self._values(self.grades, rankings[name]) for name in names}
        by_judge = {name: self._values(self.judge, rankings[name]) for name in names} if self.judge else {}
        pooled = [self._is_whole(self.grades, pool) for pool in self.pools]
        judged_whole = [self._is_whole(self.judge, pool) for pool in self.pools]
        highest = max((grade for of_query in self.grades.values() for grade in of_query.values()), default=1.0)

        def estimate(
            names: Sequence[str], metric: str, only: Sequence[bool] | None = None, sure: float = confidence
        ) -> TrafficMean:
            at = METRICS.index(metric)

            def read(by: Mapping[str, FloatArray], is_whole: Sequence[bool]) -> tuple[IntArray, FloatArray]:
                """Return the questions that are labelled, from the first on, and the values of all questions."""
                has = np.array(is_whole) | (metric != "pooled_recall")
                for name in names:
                    has &= ~np.isnan(by[name][:, 0])
                values = by[names[-1]][:, at] - (by[names[0]][:, at] if len(names) > 1 else 0)
                return _beginning(has), values if only is None else np.where(only, values, np.nan)

            labelled, values = read(by_people, pooled)
            judged, said = None, None
            if by_judge:
                first, of_judge = read(by_judge, judged_whole)
                both = labelled[np.isin(labelled, first)]
                if len(first) > len(both) and len(both) >= (1 - _MOST_SKIPPED) * len(labelled):
                    labelled, judged, said = both, first, of_judge[first]
            if not len(labelled):
                return TrafficMean(value=None, interval=None, n=0)
            return design.mean(
                labelled,
                values[labelled],
                judged,
                said,
                largest=largest_of(metric, k, highest),
                is_difference=len(names) > 1,
                confidence=sure,
            )

        systems = {name: {metric: estimate([name], metric) for metric in METRICS} for name in names}
        differences = {name: {metric: estimate([names[0], name], metric) for metric in METRICS} for name in names[1:]}
        strata, decided = self._strata(estimate, by_people[names[0]], confidence)
        done = _beginning(np.array(pooled))
        mains = [one["precision"] for one in (differences or systems).values()]
        counts = folder.state["counts"]
        n_labels = sum(map(len, self.grades.values()))
        if (n_late := int(sum(pooled)) - len(done)) > 0:
            self.notes.append(
                f"{number_of(n_late, 'question')} labelled after a gap: they count when those before are labelled, too"
            )
        skipped = int(done.max()) + 1 - len(done) if len(done) else 0
        if skipped:
            self.notes.append(f"{number_of(skipped, 'question')} skipped: the number takes them to be like the others")
        if len(done) == 1:
            self.notes.append("one question tells nothing about others")
        per_question = sum(len(p.documents) + len(p.outside) for p in self.pools) / max(len(self.pools), 1)
        value = systems["log"]["precision"]
        spread = self._spread(by_people[names[0]][:, 0])
        return LogNumber(
            folder=folder.path,
            k=k,
            confidence=confidence,
            n_rows=counts["rows"],
            n_questions=counts["questions"],
            n_labelled=len(done),
            n_labels=n_labels,
            systems=systems,
            differences=differences,
            strata=strata,
            decided=decided,
            gap=self._gap(done, confidence),
            failed=tuple(self._failed(by_people[names[0]], rankings[names[0]], done)),
            agreement=self._agreement(),
            width=max(one.width for one in mains),
            wanted=float(folder.state["settings"]["width"]),
            notes=tuple(self.notes),
            plan=tuple(plan_lines(folder, per_question, spread, value.n)) if value.n > 2 and len(names) == 1 else (),
        )

    def _rankings(self, name: str) -> list[list[LabelKey]]:
        run = self.folder.run(name)
        return [
            [label_key(d) for d in run.rows[one["id"]].found] if one["id"] in run.rows else [] for one in self.asked
        ]

    def _values(self, grades: Grades, rankings: Sequence[Sequence[LabelKey]]) -> FloatArray:
        rows = []
        for pool, ranking in zip(self.pools, rankings, strict=True):
            own = grades.get(pool.query_id, {})
            rows.append(values_of(ranking, own, [label_key(d) for d in pool.documents], self.folder.k))
        return np.array(rows, dtype=np.float64).reshape(-1, len(METRICS))

    def _is_whole(self, grades: Grades, pool: Pool) -> bool:
        own = grades.get(pool.query_id, {})
        return all(label_key(document) in own for document in pool.documents)

    def _spread(self, values: FloatArray) -> float:
        known = values[~np.isnan(values)]
        return max(float(known.std(ddof=1)), 0.05) if len(known) > 2 else 0.35

    def _strata(
        self, estimate: Any, values: FloatArray, confidence: float
    ) -> tuple[dict[str, dict[str, TrafficMean]], tuple[str, ...]]:
        """Return the estimates of strata, and which of them surely differ from all others, over the family of all."""
        own = [row["metadata"]["stratum"] for row in self.asked]
        labelled = Counter(one for one, value in zip(own, values[:, 0].tolist(), strict=True) if value == value)
        names = [one for one in dict.fromkeys(own) if labelled[one] >= _FEWEST_OF_STRATUM]
        if len(set(own)) == 1:
            return {}, ()
        found = {one: {m: estimate(["log"], m, [o == one for o in own]) for m in METRICS} for one in names}
        # Over the family of all strata: intervals that do not overlap although each holds so surely.
        sure, decided = 1 - (1 - confidence) / (2 * max(len(names), 1)), []
        for one in names:
            mine = estimate(["log"], "precision", [o == one for o in own], sure).interval
            others = estimate(["log"], "precision", [o != one for o in own], sure).interval
            if mine is not None and others is not None and (mine[0] > others[1] or mine[1] < others[0]):
                decided.append(one)
        return found, tuple(decided)

    def _gap(self, done: IntArray, confidence: float) -> PoolGap | None:
        if not len(done):
            return None
        shares, weights, relevant = self.folder.design.shares(done), list[float](), list[float]()
        of_pool = n_outside = 0.0
        found = np.zeros(3)  # relevant documents that the log found, the second retrieval, and both
        for i, share in zip(done.tolist(), shares.tolist(), strict=True):
            pool, own = self.pools[i], self.grades.get(self.pools[i].query_id, {})
            of_pool += share * sum(own[label_key(document)] > 0 for document in pool.documents)
            n_outside += share * pool.n_outside
            for document, ranks in zip(pool.documents, pool.ranks, strict=True):
                if own[label_key(document)] > 0:
                    is_first, is_second = "log" in ranks, any(name != "log" for name in ranks)
                    found += share * np.array([is_first, is_second, is_first and is_second])
            for document, p in zip(pool.outside, pool.probabilities, strict=True):
                if label_key(document) in own:
                    weights.append(share / p)
                    relevant.append(float(own[label_key(document)] > 0))
        gap = pool_gap(of_pool, np.array(weights), np.array(relevant), n_outside, confidence)
        if gap is None or not found[2]:
            return gap
        return replace(gap, if_independent=min(1.0, of_pool * float(found[2] / (found[0] * found[1]))))

    def _failed(
        self, values: FloatArray, rankings: Sequence[Sequence[LabelKey]], done: IntArray
    ) -> list[dict[str, Any]]:
        """Return the questions in which nothing relevant was retrieved, the most frequent first."""
        found = []
        for i in done.tolist():
            if values[i, METRICS.index("hit_rate")] > 0:
                continue
            pool, own, row = self.pools[i], self.grades[self.pools[i].query_id], self.asked[i]
            other = [
                min((r, name) for name, r in ranks.items())[1]
                for document, ranks in zip(pool.documents, pool.ranks, strict=True)
                if own[label_key(document)] > 0 and ranks
            ]
            if not rankings[i]:
                reason = "nothing was retrieved"
            elif other:
                reason = f"nothing relevant in the first {self.folder.k}, {other[0]} found it"
            else:
                reason = "nothing relevant in the pool: it may not be in the corpus"
            question = clip(one_line(row["question"]), 56)
            found.append({"question": question, "rows": row["metadata"]["weight"], "reason": reason})
        return sorted(found, key=lambda one: -one["rows"])[:_SHOWN]

    def _agreement(self) -> Agreement | None:
        if not self.judge:
            return None
        people, judge = (
            {query: {":".join(key): grade for key, grade in of_query.items()} for query, of_query in grades.items()}
            for grades in (self.grades, self.judge)
        )
        try:
            return label_agreement(people, judge)
        except InvalidInputError:
            return None

    def write_set(self) -> None:
        """Write the questions that are labelled in full, with gold, grades, and documents judged not relevant."""
        whole = [pool.query_id for pool in self.pools if self._is_whole(self.grades, pool)]
        rows = [row for row in self.asked if row["id"] in {*whole}]
        documents = {(pool.query_id, label_key(d)): d for pool in self.pools for d in (*pool.documents, *pool.outside)}
        questions = []
        for row in rows:
            gold = []
            for key, grade in self.grades[row["id"]].items():
                document = documents[row["id"], key]
                gold.append({"id": document.id, "text": document.text, "grade": grade, "metadata": document.metadata})
            questions.append({**row, "gold": gold, "metadata": {**row.get("metadata", {}), "origin": "log"}})
        self.folder.put_set(questions)


def _beginning(flags: Any) -> IntArray:
    """Return the places that are set, up to the last before which at most a tenth is not."""
    places = np.flatnonzero(flags)
    share = np.arange(1, len(places) + 1) / (places + 1)
    good = np.flatnonzero(share >= 1 - _MOST_SKIPPED)
    return places[: good[-1] + 1] if len(good) else places[:0]


def _people(folder: Folder, labels: object, notes: list[str]) -> dict[tuple[str, LabelKey], float]:
    """Return people's labels: those of the queue; where several people have files, what more than half of them say."""
    if labels is not None:
        return {pair: label.grade for pair, label in read_labels("labels", labels).items()}
    own = folder.path
    found, votes = dict(_labels_in(own / "queue.jsonl")), dict[tuple[str, LabelKey], list[float]]()
    for path in [*sorted(own.glob("*labels*.jsonl")), *sorted((own / "labels").glob("*.jsonl"))]:
        for pair, label in dict(_labels_in(path)).items():
            votes.setdefault(pair, []).append(label)
    n_open = 0
    for pair, grades in votes.items():
        found.pop(pair, None)
        if (grade := majority(grades)) is None:
            n_open += 1
        else:
            found[pair] = grade
    if n_open:
        notes.append(f"{number_of(n_open, 'document')} that people label differently: not used until most agree")
    return found


def _labels_in(path: Path) -> Iterator[tuple[tuple[str, LabelKey], float]]:
    for place, row in read_checked(path) if path.exists() else ():
        label = as_label(row.get("label")) if isinstance(row.get("document"), Mapping) else None
        if label is not None:
            yield _pair(place, row), label


def _pair(place: str, row: Mapping[str, Any]) -> tuple[str, LabelKey]:
    if not isinstance(row.get("query_id"), str):
        raise InvalidInputError(f"{place}: `query_id` is missing. Label the rows of the queue as they were written.")
    return row["query_id"], label_key(as_document(row["document"]))


def _name(metric: str, k: int) -> str:
    return f"{_WORDS.get(metric, metric)}@{k}"


def _shown(value: TrafficMean, form: str = ".3f") -> str:
    if value.value is None or value.interval is None:
        return "no question yet"
    return f"{value.value:{form}} ({value.interval[0]:{form}} to {value.interval[1]:{form}})"
