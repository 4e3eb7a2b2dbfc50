"""Aggregate the values of many queries: means, micro values and distributions, in states that merge exactly."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray
from krag_eval._utils.objects import ShortRepr
from krag_eval._utils.serialization import State, read_integer, read_record
from krag_eval.metrics import METRICS
from krag_eval.metrics.cut_offs import GivenCutOff
from krag_eval.metrics.judgments import CutOff, Judgments
from krag_eval.metrics.ranking import precision_counts
from krag_eval.statistics.distributions import CountDistribution, ValueDistribution


@dataclass(slots=True)
class CountState(State):
    """The summed counts behind the micro values at one cut-off; queries without gold documents are left out.

    Attributes:
        covered: Gold documents covered.
        gold: Gold documents.
        relevant: Relevant ranks.
        out_of: What relevant ranks are divided by, summed.
        n_queries: Queries that took part.
    """

    covered: int = 0
    gold: int = 0
    relevant: int = 0
    out_of: int = 0
    n_queries: int = 0

    def add(self, judged: Judgments, k: CutOff, precision_denominator: str) -> None:
        """Add some queries."""
        counts = counts_of(judged, k, precision_denominator)
        covered, gold, relevant, out_of = counts.sum(axis=0).tolist()
        self.covered += covered
        self.gold += gold
        self.relevant += relevant
        self.out_of += out_of
        self.n_queries += len(counts)

    @property
    def recall(self) -> float | None:
        """Covered gold documents of all queries / gold documents of all queries."""
        return self.covered / self.gold if self.n_queries else None

    @property
    def precision(self) -> float | None:
        """Relevant ranks of all queries / the summed denominators; 0 where nothing was retrieved."""
        if not self.n_queries:
            return None
        return self.relevant / self.out_of if self.out_of else 0.0

    @property
    def f1(self) -> float | None:
        """The harmonic mean of the two."""
        precision, recall = self.precision, self.recall
        if precision is None or recall is None:
            return None
        if not precision + recall:
            return 0.0
        return min(max(2 * precision * recall / (precision + recall), min(precision, recall)), max(precision, recall))


@dataclass(slots=True)
class NoAnswerState(State):
    """What came back for queries without gold documents, for which the right answer is nothing.

    Attributes:
        n_queries: Queries without gold documents.
        n_empty: Those for which nothing was retrieved. A retriever that raised did not abstain.
        n_retrieved: Documents that were retrieved for them.
    """

    n_queries: int = 0
    n_empty: int = 0
    n_retrieved: int = 0

    def add(self, judged: Judgments, unjudged: BoolArray | None = None, failed: Collection[int] = ()) -> None:
        """Add some queries, but for those whose gold is not known; `failed` are those whose retriever raised."""
        without_gold = ~judged.is_defined if unjudged is None else ~judged.is_defined & ~unjudged
        retrieved = judged.n_retrieved[without_gold]
        self.n_queries += len(retrieved)
        self.n_empty += int((retrieved == 0).sum()) - sum(bool(without_gold[query]) for query in failed)
        self.n_retrieved += _total(retrieved)

    @property
    def empty_share(self) -> float | None:
        """The share of these queries for which nothing was retrieved; None where there is no such query."""
        return self.n_empty / self.n_queries if self.n_queries else None

    @property
    def mean_retrieved(self) -> float | None:
        """How many documents came back on average; None where there is no such query."""
        return self.n_retrieved / self.n_queries if self.n_queries else None


def _total(counts: IntArray) -> int:
    return int(counts.sum())


# The finest step between two doubles is 2^-1074: in units of it every finite double is a whole number.
_UNIT_BITS = 1074
# Values from 0 to 1 split into two whole numbers of these many bits, which int64 sums without rounding.
_HIGH_BITS, _LOW_BITS = 34, 39
_MOST_AT_ONCE = 1 << 24


@dataclass(slots=True)
class MeanState(State):
    """The exact sum of a metric's values and how many there are; states merge by addition, in any order.

    Attributes:
        units: The sum in units of 2^-1074.
        n_defined: Values summed.
        n_undefined: Values left out because they are undefined.
    """

    signed = ("units",)

    units: int = 0
    n_defined: int = 0
    n_undefined: int = 0

    def add(self, values: FloatArray) -> None:
        """Add the values of some queries; NaN is undefined."""
        defined = values[~np.isnan(values)]
        self.n_defined += len(defined)
        self.n_undefined += len(values) - len(defined)
        for start in range(0, len(defined), _MOST_AT_ONCE):
            self.units += _exact_sum(defined[start : start + _MOST_AT_ONCE])

    def add_counted(self, values: FloatArray, times: IntArray) -> None:
        """Add the values of some queries, each as often as `times` says; NaN is undefined."""
        defined = ~np.isnan(values)
        n_defined, n_values = _total(times[defined]), _total(times)
        self.n_defined += n_defined
        self.n_undefined += n_values - n_defined
        self.units += _exact_sum(values[defined], times[defined])

    @property
    def mean(self) -> float | None:
        """The exact mean, rounded once to a double; None where no value is defined."""
        if not self.n_defined:
            return None
        return self.units / (self.n_defined << _UNIT_BITS)  # division of two integers rounds correctly


def _exact_sum(values: FloatArray, times: IntArray | None = None) -> int:
    """Return the sum of finite doubles in units of 2^-1074, without rounding; each counts once, or so many times."""

    def total_of(whole: FloatArray) -> int:
        numbers = whole.astype(np.int64)
        if times is None:
            return int(numbers.sum())
        return int(numbers @ (times if _total(times) <= _MOST_AT_ONCE else times.astype(object)))

    if ((values >= 0) & (values <= 1)).all():
        scaled = values * 2.0**_HIGH_BITS
        high = np.floor(scaled)
        low = (scaled - high) * 2.0**_LOW_BITS
        if (low == np.floor(low)).all():
            whole = (total_of(high) << _LOW_BITS) + total_of(low)
            return whole << (_UNIT_BITS - _HIGH_BITS - _LOW_BITS)
    total = 0
    for value, n in zip(values.tolist(), [1] * len(values) if times is None else times.tolist(), strict=True):
        numerator, denominator = value.as_integer_ratio()
        total += n * ((numerator << _UNIT_BITS) // denominator)
    return total


@dataclass(slots=True, repr=False)
class Tally(ShortRepr, State):
    """All aggregates of an evaluation, as states that merge exactly: splitting the queries changes no bit.

    Attributes:
        means: The state of each mean, by key such as `recall@5`.
        counts: The counts behind the micro values, by cut-off such as `@5`.
        no_answer: What came back for queries without gold documents.
        n_queries: How many queries there were.
        n_unjudged: How many of these are undefined because their gold is not known.
    """

    means: dict[str, MeanState]
    counts: dict[str, CountState]
    no_answer: NoAnswerState = field(default_factory=NoAnswerState)
    n_queries: int = 0
    n_unjudged: int = 0

    @classmethod
    def of(cls, keys: Iterable[str], cut_offs: Iterable[GivenCutOff]) -> Tally:
        """Return an empty tally for these keys and cut-offs."""
        return cls({key: MeanState() for key in keys}, {key_of("", k): CountState() for k in cut_offs})

    def keys(self) -> list[str]:
        """Return every key: for each metric and cut-off the mean, and the micro value where there is one."""
        return [key for mean in self.means for key in (mean, f"micro_{mean}") if key == mean or _has_micro(mean)]

    def value(self, key: str) -> float | None:
        """Return the value of a key, None where it is undefined for every query.

        Raises:
            KeyError: There is no such key.
        """
        mean = key.removeprefix("macro_")
        if mean in self.means:
            return self.means[mean].mean
        micro = key.removeprefix("micro_")
        if micro == key or micro not in self.means or not _has_micro(micro):
            raise KeyError(key)
        metric, at, k = micro.partition("@")
        value: float | None = getattr(self.counts[at + k], metric)
        return value

    def by_key(self) -> dict[str, float | None]:
        """Return the value of every key."""
        return {key: self.value(key) for key in self.keys()}

    def add(
        self,
        judged: Judgments,
        values: Mapping[str, FloatArray],
        ranks: Mapping[GivenCutOff, CutOff],
        precision_denominator: str,
        unjudged: BoolArray | None = None,
        failed: Collection[int] = (),
    ) -> None:
        """Add some queries with their values by key.

        Args:
            judged: The queries.
            values: Their values.
            ranks: Each cut-off as ranks.
            precision_denominator: What precision is divided by.
            unjudged: For which of them the gold is not known.
            failed: For which of them, by number, the retriever raised.
        """
        for key, column in values.items():
            self.means[key].add(column)
        for k, within in ranks.items():
            self.counts[key_of("", k)].add(judged, within, precision_denominator)
        self.no_answer.add(judged, unjudged, failed)
        self.n_queries += len(judged)
        self.n_unjudged += 0 if unjudged is None else int(unjudged.sum())


def key_of(metric: str, k: GivenCutOff) -> str:
    """Return the key of a metric at a cut-off.

    >>> key_of("recall", 5), key_of("recall", None)
    ('recall@5', 'recall')
    """
    return metric if k is None else f"{metric}@{k}"


def _has_micro(mean: str) -> bool:
    """Return whether the metric of a mean's key also has a micro value."""
    metric = METRICS.get(mean.partition("@")[0])
    return metric is not None and metric.has_micro


COVERED, GOLD, RELEVANT, OUT_OF = range(4)
"""The columns of the counts at a cut-off."""


@dataclass(slots=True)
class Distributions(State):
    """The distributions of values over queries, from which intervals follow; a `Tally` has the means.

    They depend on the queries alone, not on their order or how they were split: intervals of merged distributions are
    those of the whole to the last bit.

    Attributes:
        values: The values behind each mean, by key such as `recall@5`.
        counts: The counts behind the micro values, by cut-off such as `@5`: covered gold documents, gold documents,
            relevant ranks and what these are divided by, of the queries that have gold documents.
    """

    values: dict[str, ValueDistribution]
    counts: dict[str, CountDistribution]

    @classmethod
    def of(cls, keys: Iterable[str], cut_offs: Iterable[GivenCutOff]) -> Distributions:
        """Return empty distributions for these keys and cut-offs."""
        return cls({key: ValueDistribution() for key in keys}, {key_of("", k): CountDistribution() for k in cut_offs})

    def add(
        self,
        judged: Judgments,
        values: Mapping[str, FloatArray],
        ranks: Mapping[GivenCutOff, CutOff],
        precision_denominator: str,
    ) -> None:
        """Add some queries with their values by key.

        Args:
            judged: The queries.
            values: Their values.
            ranks: Each cut-off as ranks.
            precision_denominator: What precision is divided by.
        """
        for key, column in values.items():
            self.values[key].add(column)
        for k, within in ranks.items():
            self.counts[key_of("", k)].add(counts_of(judged, within, precision_denominator))


def counts_of(judged: Judgments, k: CutOff, precision_denominator: str) -> IntArray:
    """Return the counts behind the micro values, as `Distributions` has them, of the queries with gold documents."""
    columns = judged.covered_within(k), judged.n_gold, *precision_counts(judged, k, precision_denominator)
    return np.stack(columns, axis=1)[judged.is_defined]


@dataclass(slots=True)
class Summary(State):
    """The aggregates of some queries: a state that merges exactly.

    Attributes:
        tally: The sums of the means and the micro values.
        spread: The sums of the intervals.
        unmatchable: For each side, how many documents never match.
    """

    tally: Tally
    spread: Distributions
    unmatchable: dict[str, int]

    @classmethod
    def from_dict(cls, record: object) -> Summary:
        """Read what `to_dict` wrote.

        Raises:
            InvalidInputError: It is something else.
        """
        read = read_record(record, "Summary", [field.name for field in fields(cls)])
        sides = read_record(read["unmatchable"], "Summary.unmatchable", ["actual", "predicted"])
        unmatchable = {side: read_integer(count, f"Summary.unmatchable.{side}") for side, count in sides.items()}
        return cls(Tally.from_dict(read["tally"]), Distributions.from_dict(read["spread"]), unmatchable)


_N_OF_QUERY, _N_OF_CUT_OFF = 4, 3


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The layout of columns with all that a query adds to aggregates; queries with equal columns add the same.

    From how often each column came, all aggregates follow to the last bit: of any group of queries, in any order.

    Attributes:
        keys: The keys of the values.
        cut_offs: The endings of the keys of the micro values, such as `@5`.
    """

    keys: tuple[str, ...]
    cut_offs: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        """The length of a column: a value per key, four numbers of the query, and three per cut-off."""
        return len(self.keys) + _N_OF_QUERY + _N_OF_CUT_OFF * len(self.cut_offs)

    def of(
        self,
        judged: Judgments,
        values: Mapping[str, FloatArray],
        ranks: Mapping[GivenCutOff, CutOff],
        precision_denominator: str,
        unmatchable: Iterable[IntArray],
    ) -> IntArray:
        """Return one column per query, shape (n_rows, n_queries).

        Args:
            judged: The queries.
            values: Their values.
            ranks: Each cut-off as ranks, in the order of `cut_offs`.
            precision_denominator: What precision is divided by.
            unmatchable: For both sides, how many documents of each query never match.
        """
        defined = judged.is_defined
        columns = np.zeros((self.n_rows, len(judged)), dtype=np.int64)
        for row, key in zip(columns, self.keys, strict=False):
            # One bit pattern for 0, and one for undefined.
            row[:] = np.where(np.isnan(values[key]), np.nan, values[key] + 0.0).view(np.int64)
        counts = [judged.n_gold, np.where(defined, 0, judged.n_retrieved), *unmatchable]
        for within in ranks.values():
            relevant, out_of = precision_counts(judged, within, precision_denominator)
            counts += [np.where(defined, one, 0) for one in (judged.covered_within(within), relevant, out_of)]
        for row, count in zip(columns[len(self.keys) :], counts, strict=True):
            row[:] = count
        return columns

    def summarize(self, columns: IntArray, times: IntArray, *, has_spread: bool = True) -> Summary:
        """Return the aggregates of queries with these columns, each as often as `times` says.

        Args:
            columns: The columns.
            times: How often each came.
            has_spread: Whether the distributions are needed; they take longer than the rest.
        """
        tally, spread = Tally.of(self.keys, ()), Distributions.of(self.keys, ())
        for key, row in zip(self.keys, columns, strict=False):
            tally.means[key].add_counted(row.view(np.float64), times)
            if has_spread:
                spread.values[key].add_counted(row.view(np.float64), times)
        gold, retrieved, actual, predicted = columns[len(self.keys) :][:_N_OF_QUERY]
        for number, at in enumerate(self.cut_offs):
            start = len(self.keys) + _N_OF_QUERY + _N_OF_CUT_OFF * number
            covered, relevant, out_of = columns[start : start + _N_OF_CUT_OFF]
            counts = np.stack([covered, gold, relevant, out_of])
            spread.counts[at] = CountDistribution()
            if has_spread:
                spread.counts[at].add_counted(counts.T[gold > 0], times[gold > 0])
            sums = (np.stack([*counts, gold > 0]) @ times).tolist()
            tally.counts[at] = CountState(*sums)
        n_empty = _total(times[(gold == 0) & (retrieved == 0)])
        tally.no_answer = NoAnswerState(_total(times[gold == 0]), n_empty, int(retrieved @ times))
        tally.n_queries = _total(times)
        return Summary(tally, spread, {"actual": int(actual @ times), "predicted": int(predicted @ times)})
