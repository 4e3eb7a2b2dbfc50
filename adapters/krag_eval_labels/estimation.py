"""Estimate metrics from a model's labels on everything and people's labels on a sample.

The model's value is corrected by what people say on a sample drawn with known probabilities (prediction-powered
inference), so that the interval holds however wrong the model is.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from krag_eval import Document, EvalSet, InvalidInputError, Run, as_document, as_evalset
from krag_eval.toolkit import (
    Argument,
    BoolArray,
    FloatArray,
    IdKey,
    IntArray,
    Printed,
    alternatives_in,
    as_id,
    as_number,
    as_run,
    check_count,
    check_number,
    describe_type,
    errors_at,
    gold_first,
    load,
    make_settings,
    need_installed,
    number_of,
    one_line,
    one_of,
    read_checked,
    read_grade,
    refuse,
    unseen_share,
    warn,
)
from krag_eval_labels.files import LabelKey, as_label, label_key
from krag_eval_labels.order import draw_by_turn, first_labelled, uniform_of
from krag_eval_labels.report import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Interval = tuple[float, float]
IdMap = str | Callable[[str], str] | None
Reader = Callable[[object], tuple[Document, LabelKey]]
METRICS = ("precision", "dcg")
_Pair = tuple[str, LabelKey]
# With fewer labels than this, the weight of the judge is not chosen but 1.
_FEWEST = 8
_FEWEST_OF_PILOT = 20
_MANY_FOR_AGREEMENT = 30
_ROUNDS = 2000
# With more questions than this, what they may not have shown rarely widens an interval.
_MANY_QUERIES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One estimated value: of a system, or the difference of a system and the baseline.

    Attributes:
        name: The system, or `system - baseline`.
        value: The estimate, free of the judge's bias.
        interval: Its interval for all such questions; None for a single question.
        sampling_interval: Its interval for these very questions, had people labelled everything.
        judge_alone: The value by the judge's labels alone.
        bias: `judge_alone` minus `value`: how wrong the judge alone is.
        bias_interval: The interval of the bias, over the sampling.
        judge_weight: The weight of the judge's labels that makes the interval shortest; 0 ignores them.
        savings: How many times as many labels people would need for the same `sampling_interval` without the judge.
        n_labels: Labels of people among the documents that the value depends on.
    """

    name: str
    value: float
    interval: Interval | None
    sampling_interval: Interval
    judge_alone: float
    bias: float
    bias_interval: Interval
    judge_weight: float
    savings: float
    n_labels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How well people and the judge agree on whether documents are relevant, beyond chance.

    Attributes:
        n: Documents that both labelled.
        share: The share on which they agree.
        kappa: Cohen's kappa, at most 1; None where all labels are the same.
        kappa_interval: Its interval, by resampling questions.
        alpha: Krippendorff's alpha, nominal, at most 1; None where all labels are the same.
        alpha_interval: Its interval, by resampling questions.
        n_queries: How many questions they are of. Intervals from fewer than 30 contain the truth less often than they
            should: those of 95 % from 6 or 11 questions do in 91 to 93 %.
    """

    n: int
    share: float
    kappa: float | None
    kappa_interval: Interval | None
    alpha: float | None
    alpha_interval: Interval | None
    n_queries: int

    def __str__(self) -> str:
        return self.between("people and the judge")

    def between(self, whom: str) -> str:
        """Return it as text, of two whom this names."""
        parts = [f"{whom} agree on {self.share:.1%} of {number_of(self.n, 'document')}"]
        for name, value, at in (
            ("Cohen's kappa", self.kappa, self.kappa_interval),
            ("Krippendorff's alpha", self.alpha, self.alpha_interval),
        ):
            ends = "" if at is None else f" ({at[0]:.3f} to {at[1]:.3f})"
            parts.append(f"{name} {'undefined' if value is None else f'{value:.3f}{ends}'}")
        if self.kappa_interval is not None and self.n_queries < _MANY_FOR_AGREEMENT:
            parts.append(f"intervals from {number_of(self.n_queries, 'question')} are a little too narrow")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Estimation(Printed):
    """Estimates of a metric for one system or several.

    Attributes:
        metric: `precision@k`, `dcg@k` or `weighted@k`.
        confidence: The confidence of the intervals.
        n_queries: How many questions there are.
        n_documents: Pairs of a question and a document that the values depend on.
        n_labels: How many of these people labelled.
        systems: The estimate of each system.
        differences: The difference of each further system and the first.
        agreement: Of people and the judge, each label weighted by the inverse of its probability.
        notes: What limits the intervals.
    """

    metric: str
    confidence: float
    n_queries: int
    n_documents: int
    n_labels: int
    systems: tuple[Estimate, ...]
    differences: tuple[Estimate, ...]
    agreement: Agreement
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return asdict(self)

    def plot(self) -> Figure:
        """Return the estimates with their intervals as a figure of matplotlib. Needs the extra `report`.

        Raises:
            MissingDependencyError: matplotlib is not installed.
        """
        points = [(row.name, row.value, row.interval or row.sampling_interval) for row in self.systems]
        figure: Figure = load("krag_eval.reports", "plot_intervals")(points, self.metric, f"{self.metric}, estimated")
        return figure

    def __str__(self) -> str:
        of = f"{self.metric} of {number_of(self.n_queries, 'question')}"
        lines = [f"{of}: people labelled {self.n_labels} of {self.n_documents}"]
        names = [one_line(row.name) for row in (*self.systems, *self.differences)]
        width = max(map(len, names))
        for name, row in zip(names, (*self.systems, *self.differences), strict=True):
            ends = "" if row.interval is None else f"  {_ends(row.interval)} for all such questions"
            lines.append(f"  {name:<{width}}  {row.value:.4f}{ends}")
            lines.append(f"  {'':<{width}}          {_ends(row.sampling_interval)} for these questions")
            lines.append(
                f"  {'':<{width}}  judge alone {row.judge_alone:.4f}, bias {row.bias:+.4f} {_ends(row.bias_interval)}; "
                f"weight {row.judge_weight:.2f}; without it {row.savings:.1f} x as many labels"
            )
        return "\n".join([*lines, f"  {self.agreement}", *(f"  {note}" for note in self.notes)])


def _ends(interval: Interval) -> str:
    return f"({interval[0]:.4f} to {interval[1]:.4f})"


@gold_first(old="runs, judge, people")
def estimate(
    runs: object,
    *,
    judge: object,
    people: object,
    metric: str | Sequence[float] = "precision",
    k: int = 10,
    gain: str = "exponential",
    precision_denominator: str = "retrieved",
    evalset: object = None,
    probability: float | None = None,
    confidence: float = 0.95,
    id_key: IdKey | None = None,
    id_map: IdMap = None,
    seed: int = 0,
) -> Estimation:
    """Estimate a metric of systems, and their differences, from a judge's labels and a sample of people's.

        value = 1 / n * sum of w (b f + c), over all retrieved documents
              + 1 / n * sum of w (y - b f - c) / p, over the documents that people labelled

    w is the weight of a document's rank, f and y are its gain by the judge and by people, p is the probability with
    which it was drawn for people. The weight b of the judge and the level c are chosen to make the variance least. The
    judge may be wrong in any way; only p must be right.

    Args:
        runs: A run, or a mapping from names to runs; the first is the baseline of the differences.
        judge: Labels of a model for all documents within `k`: a JSONL file as `judge_contexts(...).write_labels(path)`
            writes it, its rows, an `EvalSet`, or `{query id: {document id: grade}}`. True or a grade above 0 means
            relevant.
        people: Labels of people for a sample, in the same forms; a row also has its `probability`. `write_queue`
            writes such rows to be filled in. If not all rows of a plan are, those before the first without a label are
            the sample, and their probabilities are those of so small a one.
        metric: `"precision"`, `"dcg"`, or one weight per rank, each of which is multiplied by the gain.
        k: How many ranks count; weights bring their own number.
        gain: `"exponential"` (2^grade - 1) or `"linear"` (the grade), for all but precision.
        precision_denominator: As in `evaluate`.
        evalset: A set whose documents have grades that were known before the sample was drawn: each counts with
            probability 1, unless it is in `people` too. Leave out a set to which the sample was applied.
        probability: The probability of labels that have none of their own.
        confidence: Between 0 and 1.
        id_key: Read ids from the metadata under this key.
        id_map: Compare ids as a function or a name such as `"basename"` writes them, as in `evaluate`.
        seed: For the intervals of the agreement, which are resampled.

    Returns:
        Estimates with intervals over the sampling alone (for these questions), and over questions and sampling.

    Raises:
        InvalidInputError: A label is missing, contradicts another one or has an impossible probability; there is no
            label of people.
        MissingDependencyError: scipy is not installed.

    Source: Angelopoulos, Duchi & Zrnic (2023), PPI++, arXiv:2311.01453; with unequal probabilities it is the
    regression estimator of Särndal, Swensson & Wretman (1992), Model Assisted Survey Sampling, 6.4.
    """
    need_installed("estimate", "scipy", "stats")
    check_number("confidence", confidence, "Give one such as 0.95.", above=0, below=1)
    check_count("seed", seed, least=0)
    one_of("gain", gain, ("exponential", "linear"))
    read, of = reader_of_labelled(id_key, id_map), (gain, metric == "precision")
    ranked = _Ranked.of(runs, metric, k, precision_denominator, read)
    said, heard = read_labels("judge", judge, read), read_labels("people", _first_labelled(people), read)
    known = {pair: replace(label, probability=1.0) for pair, label in _read_if_given("evalset", evalset, read).items()}
    heard = known | {pair: label.with_probability(probability) for pair, label in heard.items()}
    f = ranked.judged_by(said, *of)
    places, y = ranked.labelled_by(heard, *of)
    if not any(pair in heard and pair not in known for pair in ranked.pairs) and len(places) < len(f):
        raise InvalidInputError(
            Argument("people"),
            " has no label of a document that was retrieved within k, and the judge alone has an unknown bias. Have "
            "people label a sample: `plan_labels` draws one.",
        )
    p = np.array([heard[ranked.pairs[i]].probability for i in places.tolist()], dtype=np.float64)
    sample = _Sample(ranked.query, len(ranked.queries), f, places, y, p)
    notes = sample.check(len(ranked.pairs), confidence)
    names, weights = ranked.names, ranked.weights
    return Estimation(
        metric=f"{metric if isinstance(metric, str) else 'weighted'}@{ranked.k}",
        confidence=confidence,
        n_queries=len(ranked.queries),
        n_documents=len(ranked.pairs),
        n_labels=len(places),
        systems=tuple(sample.estimate(name, w, confidence) for name, w in zip(names, weights, strict=True)),
        differences=tuple(
            sample.estimate(f"{name} - {names[0]}", w - weights[0], confidence)
            for name, w in zip(names[1:], weights[1:], strict=True)
        ),
        agreement=agreement_of(f[places] > 0, y > 0, ranked.query[places], 1 / p, confidence, seed),
        notes=tuple(notes),
    )


@gold_first(old="runs, judge, n")
def plan_labels(
    runs: object,
    *,
    judge: object,
    n: int | None = None,
    width: float | None = None,
    pilot: object = None,
    metric: str | Sequence[float] = "precision",
    k: int = 10,
    gain: str = "exponential",
    precision_denominator: str = "retrieved",
    evalset: object = None,
    confidence: float = 0.95,
    id_key: IdKey | None = None,
    id_map: IdMap = None,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Draw the documents that people should label next, with those that shrink the interval of `estimate` most first.

    A document is drawn with a probability that is proportional to what its label adds to the variance: its weight in
    the difference of the systems (or in the value of a single one), times how unsure the judge's label leaves what
    people will say, as far as the set has grades to tell. The rows carry their probabilities. They come in a random
    order in which those that matter most tend to be first, and any number of first rows is a valid sample of its own:
    `krag-eval label` works out its probabilities, and so does `write_queue` with a `limit`. The same seed draws much of
    the same documents for other systems.

    Args:
        runs: As for `estimate`.
        judge: As for `estimate`.
        n: How many documents; or give `width` and `pilot`.
        width: How wide the `sampling_interval` of the widest difference may be, or of a single system: as many
            documents are drawn as that takes.
        pilot: Labels of people for a first sample, as `estimate` takes them: they show how far the judge is off.
            Documents of the pilot that are drawn have their labels already.
        metric: As for `estimate`.
        k: As for `estimate`.
        gain: As for `estimate`.
        precision_denominator: As for `estimate`.
        evalset: A set whose graded documents are known and not drawn; it also gives the texts of the questions.
        confidence: Of the interval whose width is given.
        id_key: As for `estimate`.
        id_map: As for `estimate`.
        seed: Of the draw.

    Returns:
        Rows of a labelling queue, with `probability`.

    Raises:
        InvalidInputError: As for `estimate`.

    Source: probability proportional to the residual's standard deviation is optimal (Särndal, Swensson & Wretman 1992,
    12.2); the draw is that of `krag_eval_labels.order.draw_by_turn`.
    """
    if (n is None) == (width is None):
        raise InvalidInputError("Give either `n`, how many documents, or `width`, how wide the interval may be.")
    check_count("seed", seed, least=0)
    check_number("confidence", confidence, "Give one such as 0.95.", above=0, below=1)
    read, of = reader_of_labelled(id_key, id_map), (gain, metric == "precision")
    ranked = _Ranked.of(runs, metric, k, precision_denominator, read)
    said = read_labels("judge", judge, read)
    f = ranked.judged_by(said, *of)
    known, y = ranked.labelled_by(_read_if_given("evalset", evalset, read), *of)
    size = ranked.sizes() * _unsureness(f, f[known], y)
    size[known] = 0.0
    labelled = _read_if_given("pilot", pilot, read)
    if n is None:
        places, of_pilot = ranked.labelled_by(labelled, *of)
        if len(places) < _FEWEST_OF_PILOT:
            raise InvalidInputError(
                Argument("pilot"),
                f" has {len(places)} labels of documents that were retrieved within k, and `width` needs at least "
                f"{_FEWEST_OF_PILOT}. Draw some with `plan_labels(..., n=50)`, have people label them, and pass these "
                "labels.",
            )
        most = check_number("width", width, "Give one such as 0.1.", above=0)
        n = _labels_needed(ranked, f, size, places, of_pilot, most, confidence)
    drawn, probability, turn = draw_by_turn(size, check_count("n", n), uniform_of(ranked.pairs, seed))
    questions = {} if evalset is None else dict(zip(as_evalset(evalset).ids, as_evalset(evalset).texts, strict=True))
    rows = []
    for place in drawn.tolist():
        query_id = ranked.queries[int(ranked.query[place])]
        known_label = labelled.get(ranked.pairs[place])
        label = None if known_label is None else known_label.grade
        row: dict[str, Any] = {"label": label, "query_id": query_id, "question": questions.get(query_id)}
        row |= {"document": plain(ranked.documents[place]), "probability": float(probability[place])}
        evidence = {"judge": said[ranked.pairs[place]].grade, "size": float(size[place]), "turn": float(turn[place])}
        rows.append(row | {"evidence": evidence})
    return rows


def _unsureness(f: FloatArray, known_f: FloatArray, known_y: FloatArray) -> FloatArray:
    """Return how far people's gains spread around their mean, by the judge's; the same for all without known ones."""
    if len(known_y) < _FEWEST:
        return np.ones(len(f))
    overall = float(known_y.var()) or 1.0
    spread = {}
    for value in np.unique(f).tolist():
        same = known_y[known_f == value]
        spread[value] = math.sqrt(
            (float(((same - same.mean()) ** 2).sum() if len(same) else 0) + 2 * overall) / (len(same) + 2)
        )
    return np.array([spread[value] for value in f.tolist()])


def _labels_needed(
    ranked: _Ranked,
    f: FloatArray,
    size: FloatArray,
    places: IntArray,
    y: FloatArray,
    width: float,
    confidence: float,
) -> int:
    """Return how many labels make the interval of each difference, or of a single system, at most this wide.

    The moments of what the judge leaves open are those of a pilot, by the judge's gain.
    """
    of_systems = ranked.weights
    values = [of_systems[0]] if len(of_systems) == 1 else [w - of_systems[0] for w in of_systems[1:]]
    controls = np.column_stack([f[places], np.ones(len(places))])
    fitted, *_ = np.linalg.lstsq(controls, y, rcond=None)
    residual = (y - controls @ fitted) * math.sqrt(len(y) / (len(y) - 2))
    moments = np.empty((3, len(f)))
    for power in (2, 3, 4):
        overall = float((residual**power).mean())
        for value in np.unique(f).tolist():
            same = residual[f[places] == value]
            moments[power - 2, f == value] = (float((same**power).sum()) + 2 * overall) / (len(same) + 2)
    largest = max(float(f.max()), float(y.max()), 1.0)
    further = largest, largest - float(y.mean()) if len(of_systems) == 1 else 0.0
    few, enough = _FEWEST, int((size > 0).sum())
    while enough - few > 1:
        middle = (few + enough) // 2
        p = inclusion_probabilities(size, middle)
        widths = [_planned_width(w, p, moments, further, confidence) / len(ranked.queries) for w in values]
        few, enough = (few, middle) if max(widths) <= width else (middle, enough)
    return enough


def _planned_width(w: FloatArray, p: FloatArray, moments: FloatArray, further: Interval, confidence: float) -> float:
    """Return the width that the interval of a sum has on average, if these are the moments of the residuals.

    `further` is how much one more label may differ: where people and the judge agree on all others, and in any case.
    """
    from scipy.special import stdtrit

    is_drawn = (p > 0) & (p < 1) & (w != 0)
    p, w, (second, third, fourth) = p[is_drawn], w[is_drawn], moments[:, is_drawn]
    noise = np.sqrt(1 - p) / p * w
    squares = float((p * noise**2) @ second)
    if not squares:
        return 0.0
    freedom = min(float(p.sum()) - 2, 3 * squares**2 / float((p * noise**4) @ fourth))
    t = -float(stdtrit(max(freedom, 1), (1 - confidence) / 2))
    skewness = float((p * noise**3 * (1 - 2 * p) / np.sqrt(1 - p)) @ third) / squares**1.5
    of_one = float((p * noise**2).sum() / p.sum())
    variance = max(squares, of_one * further[0] ** 2) + of_one * further[1] ** 2
    return float(math.sqrt(variance) * (2 * t + abs(skewness) * (2 * t**2 + 1) / 6))


def inclusion_probabilities(size: FloatArray, n: int) -> FloatArray:
    """Return probabilities in proportion to size, at most 1, that add up to n."""
    probability = np.zeros(len(size))
    left = size > 0
    while left.any() and n > (taken := int((probability == 1).sum())):
        probability[left] = (n - taken) * size[left] / size[left].sum()
        if not (over := left & (probability >= 1)).any():
            break
        probability[over] = 1.0
        left &= ~over
    return probability


@dataclass(frozen=True, slots=True)
class Label:
    """A label: where it stands, its grade, and the probability with which its document was drawn."""

    place: str
    grade: float
    probability: float | None = None

    def with_probability(self, default: float | None) -> Label:
        """Return the label with a probability, checked."""
        given = default if self.probability is None else self.probability
        if given is None:
            raise InvalidInputError(
                f"{self.place}: the probability with which it was drawn is not known. Give each label its "
                "`probability`, or one for all of them."
            )
        meaning = "It is the share of draws in which the document would be labelled."
        with errors_at(self.place):  # of a billion documents one; far less overflows
            return replace(self, probability=check_number("probability", given, meaning, least=1e-9, most=1))


def reader_of_labelled(id_key: IdKey | None, id_map: IdMap) -> Reader:
    """Return what reads a document, and under which key it is compared."""
    settings = make_settings(match_method="id", id_key=id_key, id_map=id_map)

    def read(given: object) -> tuple[Document, LabelKey]:
        document = as_document(given, id_key=id_key)
        return document, label_key(replace(document, id=settings.mapped([document.id])[0]))

    return read


_AS_THEY_ARE = reader_of_labelled(None, None)


def read_labels(name: str, given: object, read: Reader = _AS_THEY_ARE) -> dict[_Pair, Label]:
    """Read labels by question and document; rows without a label are left out.

    Raises:
        InvalidInputError: A row cannot be read, or two rows label a document differently.
    """
    labels: dict[_Pair, Label] = {}
    for place, query_id, document, value, probability in _rows(name, given):
        with errors_at(place):
            (_, document_key), key = read(document), as_label(value)
        if key is None:
            continue
        pair = query_id, document_key
        earlier = labels.setdefault(pair, Label(place, key, probability))
        if (earlier.grade, earlier.probability) != (key, probability):
            raise InvalidInputError(
                f"{place}: labels the same document of the question {query_id!r:.60} differently from {earlier.place}. "
                "Keep one of the two."
            )
    return labels


def _read_if_given(name: str, given: object, read: Reader) -> dict[_Pair, Label]:
    return {} if given is None else read_labels(name, given, read)


def _first_labelled(people: object) -> object:
    """Return the labels of people; of a plan that is labelled in part, those of its first rows."""
    if isinstance(people, (str, os.PathLike)):
        given = [row for _, row in read_checked(people)]
    elif isinstance(people, Iterable) and not isinstance(people, (Mapping, EvalSet)):
        people = given = list(people)
    else:
        return people
    rows = first_labelled(given) if all(isinstance(row, Mapping) for row in given) else None
    if rows is None:
        return people
    if left := sum(row.get("label") is not None for row in given) - len(rows):
        warn(
            f"{number_of(left, 'label')} of people come after the first document of the queue that has none, and do "
            "not count: what was left out may not be like the rest. `krag-eval label` counts it both ways."
        )
    return rows


def _rows(name: str, given: object) -> Iterator[tuple[str, str, object, object, Any]]:
    if name == "evalset" or isinstance(given, EvalSet):
        for question in as_evalset(given):
            place = f"`{name}[{question.id!r:.60}]`"
            for document in alternatives_in(question.gold_chunks()):
                grade = read_grade(document, "relevance")
                yield place, question.id, document, None if grade < 0 else grade, None  # below 0: nobody judged it
        return
    if isinstance(given, Mapping):
        for query_id, table in given.items():
            if not isinstance(table, Mapping):
                raise InvalidInputError(
                    f"`{name}[{query_id!r:.60}]` is {describe_type(table)}. It must map document ids to labels."
                )
            for doc_id, label in table.items():
                place = f"`{name}[{query_id!r:.60}][{doc_id!r:.60}]`"
                yield place, as_id(query_id) or str(query_id), {"id": doc_id}, label, None
        return
    if isinstance(given, (str, os.PathLike)):
        rows: Iterable[tuple[str, Any]] = read_checked(given)
    elif isinstance(given, Iterable):
        rows = ((f"`{name}[{number}]`", row) for number, row in enumerate(given))
    else:
        raise InvalidInputError(
            f"`{name}` is {describe_type(given)}. Give a JSONL file, rows, or {{query id: {{document id: label}}}}."
        )
    for place, row in rows:
        query_id = as_id(row.get("query_id")) if isinstance(row, Mapping) else None
        if query_id is None or "label" not in row or not isinstance(row.get("document"), (Mapping, Document)):
            refuse("label", "a row with `query_id`, `document` and `label`", row, at=place)
        yield place, query_id, row["document"], row["label"], row.get("probability")


def _gain(grade: float, gain: str, is_binary: bool) -> float:
    return float(grade > 0) if is_binary else grade if gain == "linear" else 2.0**grade - 1


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The retrieved documents of all systems within k, each pair of a question and a document once.

    `weights` has one row per system and one column per pair: what the gain of the document is multiplied by.
    """

    names: tuple[str, ...]
    queries: tuple[str, ...]
    pairs: list[_Pair]
    documents: list[Document]
    query: IntArray
    weights: FloatArray
    k: int

    @classmethod
    def of(cls, runs: object, metric: object, k: int, denominator: str, read: Reader) -> _Ranked:
        one_of("precision_denominator", denominator, ("retrieved", "k"))
        if isinstance(metric, str):
            one_of("metric", metric, METRICS)
            k = check_count("k", k)
            by_rank = [1.0] * k if metric == "precision" else [1 / math.log2(rank + 1) for rank in range(1, k + 1)]
        else:
            numbers = [as_number(one) for one in metric] if isinstance(metric, Sequence) else []
            if not numbers or any(one is None or not math.isfinite(one) for one in numbers):
                refuse("metric", f"{' or '.join(METRICS)} or a list with one weight per rank", metric)
            by_rank, k = [float(one or 0) for one in numbers], len(numbers)
        systems = {runs.name: runs} if isinstance(runs, Run) else runs
        if not isinstance(systems, Mapping) or not systems:
            raise InvalidInputError(
                f'`runs` is {describe_type(runs)}. Give a run, or {{"bm25": run1, "hybrid": run2}}.'
            )
        named = {str(name): run if isinstance(run, Run) else as_run(run, str(name)) for name, run in systems.items()}
        queries = tuple(dict.fromkeys(query for run in named.values() for query in run.rows))
        numbers_of = {query: number for number, query in enumerate(queries)}
        places: dict[_Pair, int] = {}
        documents: list[Document] = []
        entries: list[tuple[int, int, float]] = []
        for system, run in enumerate(named.values()):
            for query_id, row in run.rows.items():
                ranking, seen = row.ranking[:k], set()
                share = (k if denominator == "k" else len(ranking)) if metric == "precision" else 1
                for rank, found in enumerate(ranking):
                    document, key = read(found)
                    pair = query_id, key
                    if pair not in places:
                        places[pair] = len(places)
                        documents.append(document)
                    if pair not in seen:  # a repeat earns nothing
                        entries.append((system, places[pair], by_rank[rank] / share))
                    seen.add(pair)
        if not places:
            raise InvalidInputError("The runs retrieved nothing, so there is nothing to estimate.")
        weights = np.zeros((len(named), len(places)))
        for system, place, weight in entries:
            weights[system, place] = weight
        query = np.array([numbers_of[query_id] for query_id, _ in places], dtype=np.int64)
        return cls(tuple(named), queries, [*places], documents, query, weights, k)

    def labelled_by(self, labels: Mapping[_Pair, Label], gain: str, is_binary: bool) -> tuple[IntArray, FloatArray]:
        """Return the places of the pairs that have a label, and their gains."""
        places = [place for place, pair in enumerate(self.pairs) if pair in labels]
        gains = [_gain(labels[self.pairs[place]].grade, gain, is_binary) for place in places]
        return np.array(places, dtype=np.int64), np.array(gains, dtype=np.float64)

    def judged_by(self, labels: Mapping[_Pair, Label], gain: str, is_binary: bool) -> FloatArray:
        """Return the gains by the judge's labels; each pair must have one."""
        missing = [pair for pair in self.pairs if pair not in labels]
        if missing:
            query_id, (_, document) = missing[0]
            are_others = " Not one of its labels is of a retrieved document." if len(missing) == len(self.pairs) else ""
            raise InvalidInputError(
                Argument("judge"),
                f" has no label for {len(missing)} of {len(self.pairs)} documents that were retrieved within k, first "
                f"for {document!r:.60} of the question {query_id!r:.60}.{are_others} Have it label all of them, or "
                "give a smaller k.",
            )
        return self.labelled_by(labels, gain, is_binary)[1]

    def sizes(self) -> FloatArray:
        """Return how much the values of interest depend on each pair: differences most, and the systems a little."""
        systems: FloatArray = np.linalg.norm(self.weights, axis=0)
        differences: FloatArray = np.linalg.norm(self.weights[1:] - self.weights[0], axis=0)
        return systems if len(self.weights) == 1 else differences + 0.5 * systems


@dataclass(frozen=True, slots=True)
class _Sample:
    """The judge's gains of all pairs, and those of people with their probabilities for the pairs at `places`."""

    query: IntArray
    n_queries: int
    f: FloatArray
    places: IntArray
    y: FloatArray
    p: FloatArray

    def check(self, n_pairs: int, confidence: float) -> list[str]:
        """Warn of probabilities that cannot be right, and return notes."""
        expected, spread = float((1 / self.p).sum()), math.sqrt(float(((1 - self.p) / self.p**2).sum()))
        if abs(expected - n_pairs) > 5 * spread + 0.05 * n_pairs:
            warn(
                f"By their probabilities, the {len(self.p)} labels of people stand for {expected:.0f} documents, and "
                f"{n_pairs} were retrieved. Check that each probability is that of being drawn from all of these."
            )
        notes = []
        if (self.y == self.f[self.places]).all() and len(self.p) < n_pairs:
            notes.append("people agree with the judge on every label: the intervals allow for one that was not drawn")
        if self.n_queries == 1:
            notes.append("one question tells nothing about others: the intervals are for this question")
        elif self.n_queries < _MANY_QUERIES:
            unseen = unseen_share(self.n_queries, confidence)
            notes.append(
                f"{self.n_queries} questions do not show all others: the intervals of single systems for all such "
                f"questions are wider, in case up to {unseen:.0%} of them are as bad or as good as can be"
            )
        return notes

    def estimate(self, name: str, w: FloatArray, confidence: float) -> Estimate:
        """Estimate the mean over questions of the sum of w times the gain."""
        from scipy.special import stdtrit

        sampled_w, f = w[self.places], self.f[self.places]
        is_used = (sampled_w != 0) & (self.p < 1)
        m = int(is_used.sum())
        noise = np.sqrt(1 - self.p) / self.p * sampled_w  # of the label of each pair, over the sampling
        controls = np.column_stack([f, np.ones(len(f))])
        fitted, n_fitted, leverage, level = np.array([1.0, 0.0]), 0, np.zeros(len(f)), 0.0
        if m >= _FEWEST:
            left, sizes, right = np.linalg.svd(controls * noise[:, None], full_matrices=False)
            n_fitted = int((sizes > 1e-9 * sizes[0]).sum())  # one, if the judge says the same of all
            left, sizes, right = left[:, :n_fitted], sizes[:n_fitted], right[:n_fitted]
            fitted, leverage = right.T @ (left.T @ (self.y * noise) / sizes), (left**2).sum(axis=1)
            level = float(np.average(self.y, weights=noise**2))
        residual = self.y - controls @ fitted
        by_query = np.bincount(self.query, w * (fitted[0] * self.f + fitted[1]), self.n_queries)
        by_query += np.bincount(self.query[self.places], sampled_w * residual / self.p, self.n_queries)
        value, alone = float(by_query.mean()), float((w * self.f).sum() / self.n_queries)
        variance = float(((noise * residual / np.maximum(1 - leverage, 1 / len(f))) ** 2).sum())
        savings = 1.0
        if m >= _FEWEST and variance > 0:
            savings = float(((noise * (self.y - level) / (1 - noise**2 / (noise**2).sum())) ** 2).sum()) / variance
        largest = max(float(self.f.max()), float(self.y.max(initial=0.0)), 1.0)
        if variance <= 1e-18 and (w[self._unlabelled()] != 0).any():
            # One more label that differs by as much as any two: about what "none of m" leaves open.
            unknown = w[self._unlabelled()]
            variance = float((noise[is_used] ** 2).mean() if m else (unknown**2).sum()) * largest**2
            savings = 1.0
        is_system = not (w < 0).any()
        if is_system and m:  # as if one more label had been drawn, of the largest gain: what is rare may be missing
            variance += (
                float((noise[is_used] ** 2).mean()) * (largest - float(np.average(self.y, weights=noise**2))) ** 2
            )
        error = math.sqrt(variance) / self.n_queries
        reach = _reach(noise * residual / np.maximum(1 - leverage, 1 / len(f)), self.p, m - n_fitted, confidence)
        below, above = (one * error for one in reach)
        # No gain is below 0, or above the largest that anybody gave.
        ends = [np.bincount(self.query, largest * one, self.n_queries) for one in (np.minimum(w, 0), np.maximum(w, 0))]
        at = np.clip([value - below, value + above], ends[0].mean(), ends[1].mean()).tolist()
        interval = None
        if self.n_queries > 1:
            n, tail = self.n_queries, (1 - confidence) / 2
            spread = max(float(by_query.std(ddof=1)) / math.sqrt(n), error)
            far = -float(stdtrit(n - 1, tail)) * math.sqrt(n / (n - 1)) * spread
            low, high = min(value - far, at[0]), max(value + far, at[1])
            lowest, highest = float(ends[0].min()), float(ends[1].max())
            if is_system:  # questions that were not seen may have the least or the largest value
                unseen = unseen_share(n, confidence)
                low = min(low, value * (1 - unseen))
                high = max(high, value * (1 - unseen) + highest * unseen)
            low, high = np.clip([low, high], lowest, highest).tolist()
            interval = low, high
        return Estimate(
            name=name,
            value=value,
            interval=interval,
            sampling_interval=(at[0], at[1]),
            judge_alone=alone,
            bias=alone - value,
            bias_interval=(alone - at[1], alone - at[0]),
            judge_weight=float(fitted[0]),
            savings=savings,
            n_labels=int((sampled_w != 0).sum()),
        )

    def _unlabelled(self) -> BoolArray:
        unlabelled = np.ones(len(self.f), dtype=bool)
        unlabelled[self.places] = False
        return unlabelled


def _reach(terms: FloatArray, p: FloatArray, freedom: int, confidence: float) -> Interval:
    """Return how many standard errors an interval of a sum over a sample reaches down, and up.

    Student's t with the degrees of freedom that a variance of such terms has: few of them where few terms are large.
    The side to which the sum is skewed is longer, because a sample that lacks the rare large terms also varies less.

    Args:
        terms: What each label adds to the standard error, shape (m,).
        p: The probability of each label, shape (m,).
        freedom: The most degrees of freedom: labels minus what was fitted.
        confidence: Between 0 and 1.

    Source: Satterthwaite (1946), Biometrics Bulletin 2(6), for the degrees of freedom; Johnson (1978), JASA 73(363),
    for the skewness.
    """
    from scipy.special import stdtrit

    squares, tail = float((terms**2).sum()), (1 - confidence) / 2
    if not squares:
        t = -float(stdtrit(max(freedom, 1), tail))
        return t, t
    of_terms = 3 * squares**2 / float((terms**4).sum())
    t = -float(stdtrit(max(min(freedom, of_terms), 1), tail))
    skewness = float((terms**3 * (1 - 2 * p) / np.sqrt(np.maximum(1 - p, 1e-12))).sum()) / squares**1.5
    shift = skewness * (2 * t**2 + 1) / 6
    return t - min(shift, 0.0), t + max(shift, 0.0)


def label_agreement(
    people: object, judge: object, *, id_key: IdKey | None = None, id_map: IdMap = None, seed: int = 0
) -> Agreement:
    """Return how well people and a judge agree on the documents that both labelled.

    Args:
        people: Labels as `estimate` takes them; an `EvalSet` gives its grades, 0 included.
        judge: Labels as `estimate` takes them.
        id_key: Read ids from the metadata under this key.
        id_map: As for `estimate`.
        seed: Of the resampling of questions, from which the 95 % intervals come.

    Raises:
        InvalidInputError: Labels cannot be read, or no document has labels of both.
    """
    check_count("seed", seed, least=0)
    read = reader_of_labelled(id_key, id_map)
    said, heard = read_labels("judge", judge, read), read_labels("people", people, read)
    both = [pair for pair in heard if pair in said]
    if not both:
        raise InvalidInputError("No document is labelled both by people and by the judge. Are these of the same set?")
    numbers = {query: number for number, query in enumerate(dict.fromkeys(query for query, _ in both))}
    return agreement_of(
        np.array([said[pair].grade > 0 for pair in both]),
        np.array([heard[pair].grade > 0 for pair in both]),
        np.array([numbers[query] for query, _ in both], dtype=np.int64),
        seed=seed,
    )


def agreement_of(
    judge: BoolArray,
    people: BoolArray,
    query: IntArray,
    weights: FloatArray | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Agreement:
    """Return how well two labellers agree, with intervals by resampling questions.

    Args:
        judge: Whether each document is relevant by the judge, shape (n,).
        people: The same by people.
        query: The question of each document.
        weights: The inverse probability of each label; 1 by default.
        confidence: Of the intervals.
        seed: Of the resampling.
    """
    n = len(judge)
    weights = np.ones(n) if weights is None else weights * (n / weights.sum())
    _, clusters = np.unique(query, return_inverse=True)
    if not clusters.any():
        clusters = np.arange(n)  # one question: its documents are resampled
    n_clusters = int(clusters.max()) + 1
    cell = clusters * 4 + people.astype(np.int64) * 2 + judge
    tables = np.bincount(cell, weights, 4 * n_clusters).reshape(n_clusters, 2, 2)
    table = tables.sum(axis=0)
    outside = _expanded(n_clusters, confidence)
    random = np.random.Generator(np.random.PCG64(seed))
    drawn = random.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), _ROUNDS)
    resampled = np.tensordot(drawn, tables, 1)

    def with_interval(measure: Any) -> tuple[float | None, Interval | None]:
        value, many = float(measure(table[None])[0]), measure(resampled)
        if math.isnan(value):
            return None, None
        low, high = np.nanquantile(many, [outside, 1 - outside])
        return value, (float(low), float(high))

    (kappa, kappa_interval), (alpha, alpha_interval) = with_interval(cohen_kappa), with_interval(krippendorff_alpha)
    return Agreement(
        n=n,
        share=float(np.trace(table) / n),
        kappa=kappa,
        kappa_interval=kappa_interval,
        alpha=alpha,
        alpha_interval=alpha_interval,
        n_queries=len(np.unique(query)),
    )


def _expanded(n: int, confidence: float) -> float:
    """Return the tail to read resamples of n questions at: they vary too little, and t is wider than a normal.

    Source: Hesterberg (2015), doi:10.1080/00031305.2015.1089789; t by Cornish and Fisher, without scipy: Abramowitz &
    Stegun (1964), 26.7.5.
    """
    normal, freedom = NormalDist(), n - 1
    if not freedom:
        return 0.0
    z = normal.inv_cdf((1 - confidence) / 2)
    t = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return normal.cdf(t * math.sqrt(n / freedom))


def cohen_kappa(tables: FloatArray) -> FloatArray:
    """Return Cohen's kappa of tables of two labellers, shape (..., c, c); NaN where chance explains everything.

        kappa = (observed agreement - agreement by chance) / (1 - agreement by chance)

    Source: Cohen (1960), Educational and Psychological Measurement 20(1), doi:10.1177/001316446002000104.
    """
    total = tables.sum(axis=(-2, -1))
    observed = np.trace(tables, axis1=-2, axis2=-1) / total
    chance = (tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1) / total**2
    kappa: FloatArray = np.where(
        chance < 1 - 1e-12, (observed - chance) / np.where(chance < 1 - 1e-12, 1 - chance, 1), np.nan
    )
    return kappa


def krippendorff_alpha(tables: FloatArray) -> FloatArray:
    """Return Krippendorff's nominal alpha of tables of two labellers, shape (..., c, c); NaN where all are the same.

        alpha = 1 - observed disagreement / disagreement expected by chance

    Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, part B.
    """
    pairs = tables + np.swapaxes(tables, -2, -1)
    of_value, n = pairs.sum(axis=-1), pairs.sum(axis=(-2, -1))
    observed = n - np.trace(pairs, axis1=-2, axis2=-1)
    expected = (n**2 - (of_value**2).sum(axis=-1)) / (n - 1)
    alpha: FloatArray = 1 - np.where(expected > 1e-12, observed / np.where(expected > 1e-12, expected, 1), np.nan)
    return alpha
