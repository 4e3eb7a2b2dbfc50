"""Score answers against references: the call that joins the parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from krag_eval import InvalidInputError, __version__, normalize
from krag_eval.toolkit import FloatArray, check_intervals, gold_first
from krag_eval_answers.metrics import AnswerMetric, choose_answer_metrics
from krag_eval_answers.pairs import AnswerPairs, AnswerSettings
from krag_eval_answers.references import AnswerSheet, read_sheet
from krag_eval_answers.refusals import Refusals, RefusalTest, false_refusal, is_empty, negative_rejection
from krag_eval_answers.result import AnswerResult, answer_intervals

_PAIRS_AT_ONCE = 4096


@gold_first()
def evaluate_answers(
    references: object,
    answers: object,
    *,
    metrics: object = None,
    tokenizer: Any = "words",
    use_stemmer: bool = False,
    normalize: Callable[[str], str] | None = normalize,
    embeddings: object = None,
    embedding_prefix: str = "",
    questions: object = None,
    refusals: Refusals = None,
    intervals: bool | float = False,
) -> AnswerResult:
    """Score answers against references, and count refusals.

    If a question has several references, each metric uses the best one. An empty answer scores 0. Where
    no answer is expected the metrics are undefined, and `negative_rejection` says how often the system refused; where
    one is expected, `false_refusal` does. A missing answer and one that raised count as empty, not as refusals.

    Args:
        references: By id or in order: a text, a list of texts of which any will do, or None where no answer is
            expected; or an `EvalSet`, whose answers are the references and whose negatives expect none.
        answers: By id or in order: a text, None for an empty answer, or the exception that came instead of one. An id
            of the references that is missing here counts as an empty answer.
        metrics: Names of `ANSWER_METRICS`, or functions from `AnswerPairs` to one value per pair; by default all,
            `semantic_similarity` only with embeddings.
        tokenizer: What cuts texts, as for `evaluate`: a name of `TOKENIZERS`, an object or a function. SQuAD's two
            metrics have their own.
        use_stemmer: Porter's stemmer in ROUGE, as in rouge_score.
        normalize: What `exact_match` and `token_f1` do to texts first; None leaves them raw.
        embeddings: For `semantic_similarity`: a LangChain `Embeddings`, a LlamaIndex embedding model, an object with
            `encode(texts)`, or a function from a list of texts to vectors.
        embedding_prefix: What is put before each text that is embedded, such as `"passage: "`.
        questions: By id or in order; they are shown with the answers.
        refusals: More phrases by which your system refuses, or a function of an answer that decides alone.
        intervals: Give every mean its 95 % interval, in `result.intervals`, or one of another confidence such as 0.9.

    Raises:
        InvalidInputError: The sides do not fit together, or an argument cannot be used.
        UnknownMetricError: There is no metric of a name.
        MissingDependencyError: A package of an extra is needed: kiwipiepy for `"kiwi"`, scipy for intervals.

    >>> result = evaluate_answers({"q1": "three days", "q2": None}, {"q1": "In three days.", "q2": "I don't know."})
    >>> result["token_f1"], result["negative_rejection"], result.undefined["token_f1"]
    (0.8, 1.0, 1)
    """
    settings = AnswerSettings(
        tokenizer=tokenizer,
        use_stemmer=use_stemmer,
        normalize=normalize,
        embeddings=embeddings,
        embedding_prefix=embedding_prefix,
    )
    confidence = check_intervals(intervals)
    table = choose_answer_metrics(metrics, has_embeddings=embeddings is not None)
    refusal_test = RefusalTest(refusals)
    sheet = read_sheet(references, answers, questions)
    is_refusal = refusal_test.of(sheet.answers) & ~sheet.is_missing
    is_refusal[list(sheet.errors)] = False
    values = _values(sheet, settings, table)
    values["negative_rejection"] = negative_rejection(sheet.is_negative, is_refusal)
    values["false_refusal"] = false_refusal(sheet.is_negative, is_refusal)
    signature = "|".join(["answers:best-of", *settings.describe(), refusal_test.describe(), f"v:{__version__}"])
    return AnswerResult(
        signature=signature,
        values=values,
        sheet=sheet,
        is_refusal=is_refusal,
        confidence=confidence,
        intervals=answer_intervals(values, intervals),
    )


def _values(sheet: AnswerSheet, settings: AnswerSettings, table: dict[str, AnswerMetric]) -> dict[str, FloatArray]:
    """Return the value of every answer under every metric: that of its best reference."""
    sizes = np.fromiter(map(len, sheet.references), np.int64, len(sheet))
    pairs = AnswerPairs(
        [text for texts in sheet.references for text in texts],
        [answer for answer, size in zip(sheet.answers, sizes.tolist(), strict=True) for _ in range(size)],
        settings,
    )
    of_pairs = {name: np.empty(len(pairs)) for name in table}
    start = 0
    for block in pairs.blocks(_PAIRS_AT_ONCE):
        some = slice(start, start + len(block))
        for name, metric in table.items():
            if metric.counts_tokens:
                of_pairs[name][some] = metric.function(block)
        start = some.stop
    for name, metric in table.items():
        if not metric.counts_tokens:
            of_pairs[name] = _checked(name, metric.function(pairs), len(pairs))
    has_reference = sizes > 0
    is_unanswered = has_reference & np.fromiter(map(is_empty, sheet.answers), bool, len(sheet))
    first = (np.cumsum(sizes) - sizes)[has_reference]
    values: dict[str, FloatArray] = {}
    for name, column in of_pairs.items():
        values[name] = np.full(len(sheet), np.nan)
        values[name][has_reference] = np.maximum.reduceat(column, first) if len(first) else column
        values[name][is_unanswered] = 0
    return values


def _checked(name: str, values: object, n_pairs: int) -> FloatArray:
    """Return what a function returned, if it is one number per pair."""
    column = np.asarray(values)
    if column.shape != (n_pairs,) or column.dtype.kind not in "bfiu" or not np.isfinite(column).all():
        raise InvalidInputError(
            f"The metric {name!r} returned shape {column.shape} of type {column.dtype} for {n_pairs} pairs. It must "
            "return one finite number per pair. Check it with `AnswerPairs([reference], [answer])`."
        )
    return column.astype(np.float64)
