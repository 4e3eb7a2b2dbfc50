"""Score lists of documents or ids: one call from rankings to an `EvaluationResult`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krag_eval._utils.suggestions import tell_names
from krag_eval.documents.text import Normalizer, normalize
from krag_eval.evaluation.pipeline import (
    EvaluationCallback,
    MetricFunction,
    check_callbacks,
    choose_metrics,
    match_and_judge,
    measure,
)
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.matching.settings import (
    USUAL_THRESHOLDS,
    Settings,
    make_settings,
)
from krag_eval.metrics.cut_offs import check_cut_offs

DEFAULT_CUT_OFFS = (1, 3, 5, 10)


@tell_names
def evaluate(
    actual: object,
    predicted: object,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    metrics: str | Sequence[str | MetricFunction] | None = None,
    match_method: str | Sequence[str] = "text",
    threshold: float | Mapping[str, float] = USUAL_THRESHOLDS,
    rouge_measure: str = "fmeasure",
    containment: str = "either",
    tokenizer: Any = "words",
    use_stemmer: bool = False,
    normalize: Normalizer | None = normalize,
    id_key: str | None = None,
    grade_key: str = "relevance",
    precision_denominator: str = "retrieved",
    gain: str = "exponential",
    count_tokens: Any = None,
    embeddings: Any = None,
    embedding_prefix: str = "",
    similarity_threshold: float | None = None,
    queries: Sequence[str] | None = None,
    query_ids: Sequence[str] | None = None,
    callbacks: Sequence[EvaluationCallback] = (),
    raise_errors: bool = False,
    n_jobs: int = 1,
    intervals: bool | float = False,
) -> EvaluationResult:
    """Score rankings against gold documents: all metrics at all cut-offs from one matching pass.

    Args:
        actual: The gold documents of each query: a list of lists. A gold document may carry a grade, as
            `(document, grade)` or in its metadata; 0 means judged not relevant.
        predicted: The retrieved documents of each query, best first. Where a retriever raised, put the exception in
            the place of the list: it counts as nothing retrieved and is reported.
        k: One cut-off or several, each at least 1; None scores all ranks. `"2000tok"` scores the first documents that
            fit into 2,000 tokens together.
        metrics: Names of `METRICS` (all by default) or `FURTHER_METRICS`, such as `"rbp(p=0.5)"`, or functions
            `(judgments, k) -> array of shape (n_queries,)`.
        match_method: `"id"`, `"text"`, `"containment"`, `"rouge1"`, `"rouge2"`, `"rougeL"`, `"embedding"`, or a list of
            these of which the first that holds wins.
        threshold: The similarity from which two texts match, 0 to 1; a mapping gives one per method. By default 0.5 for
            ROUGE and 0.7 for embeddings.
        rouge_measure: `"fmeasure"`, `"recall"` (of the gold text) or `"precision"`.
        containment: `"either"`, `"gold_in_retrieved"` or `"retrieved_in_gold"`.
        tokenizer: `"words"`, `"rouge_score"`, `"characters"`, `"whitespace"`, `"kiwi"`, an object with
            `tokenize(text)`, or a function.
        use_stemmer: Porter's stemmer on ASCII tokens.
        normalize: What is done to texts before they are compared as wholes; None compares them raw.
        id_key: Read ids from the metadata under this key alone, for example `"doc_id"` to score chunks by document.
        grade_key: Read grades from the metadata under this key.
        precision_denominator: `"retrieved"` divides by min(k, number retrieved), `"k"` by k as TREC does.
        gain: `"exponential"` (2^grade - 1) or `"linear"` (the grade).
        count_tokens: What counts the tokens of a text for such budgets: a function, or an object with `encode(text)`
            such as tiktoken's encodings; words by default.
        embeddings: The model of `"embedding"`: a LangChain `Embeddings`, a LlamaIndex embedding model, an object with
            `encode(texts)`, or a function from a list of texts to vectors. Each different text is embedded once, and
            cosines are rounded to six decimals before they are compared with the threshold.
        embedding_prefix: What is put before each text that is embedded, such as `"passage: "`.
        similarity_threshold: Pairs that ROUGE matches must have this cosine under the model besides.
        queries: The texts of the queries, for `per_query` and `explain`.
        query_ids: The ids of the queries.
        callbacks: Receivers of scores.
        raise_errors: Let an error of a callback through.
        n_jobs: How many processes may match texts. They are started only where some seconds of matching are ahead;
            no number depends on it. Where texts are embedded it is one.
        intervals: Give every value its 95 % interval, in `result.intervals`, or one of another confidence such as 0.9.
            Needs scipy (extra `stats`).

    Returns:
        The result; `result["recall@5"]` is the mean over queries, `result["micro_recall@5"]` pools them.

    Raises:
        InvalidInputError: Something given cannot be used; the message names the place.
        UnknownMetricError: A metric is not known.
        MissingDependencyError: The tokenizer needs a package that is not installed.

    >>> gold = [["a", "b", "e"], ["c", "d"]]
    >>> retrieved = [["a", "b", "e"], ["f", "d", "e"]]
    >>> result = evaluate(gold, retrieved, k=(1, 3), metrics=["recall", "ndcg"])
    >>> result["recall@3"], result["micro_recall@3"], round(result["ndcg@3"], 4)
    (0.75, 0.8, 0.6934)
    """
    settings = Settings(
        match_method=match_method,
        threshold=threshold,
        rouge_measure=rouge_measure,
        containment=containment,
        tokenizer=tokenizer,
        use_stemmer=use_stemmer,
        normalize=normalize,
        id_key=id_key,
        grade_key=grade_key,
        precision_denominator=precision_denominator,
        gain=gain,
        count_tokens=count_tokens,
        embeddings=embeddings,
        embedding_prefix=embedding_prefix,
        similarity_threshold=similarity_threshold,
    )
    check_callbacks(callbacks)
    cut_offs, table = check_cut_offs(k), choose_metrics(metrics, settings)
    judged = match_and_judge(actual, predicted, settings, n_jobs=n_jobs)
    return measure(
        judged,
        cut_offs,
        table,
        queries=queries,
        query_ids=query_ids,
        callbacks=callbacks,
        raise_errors=raise_errors,
        intervals=intervals,
    )


@tell_names
def evaluate_ids(
    actual: object,
    predicted: object,
    k: int | Sequence[int | None] | None = DEFAULT_CUT_OFFS,
    *,
    metrics: str | Sequence[str | MetricFunction] | None = None,
    precision_denominator: str = "retrieved",
    gain: str = "exponential",
    queries: Sequence[str] | None = None,
    query_ids: Sequence[str] | None = None,
    callbacks: Sequence[EvaluationCallback] = (),
    raise_errors: bool = False,
) -> EvaluationResult:
    """Score rankings given as bare ids; `evaluate` would take a string for a text.

    Args:
        actual: The gold ids of each query: a list of lists, or of mappings from id to grade.
        predicted: The retrieved ids of each query, best first.
        k: One cut-off or several, each at least 1; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        precision_denominator: `"retrieved"` or `"k"`.
        gain: `"exponential"` or `"linear"`.
        queries: The texts of the queries.
        query_ids: The ids of the queries.
        callbacks: Receivers of scores.
        raise_errors: Let an error of a callback through.

    Raises:
        InvalidInputError: Something given cannot be used; the message names the place.

    >>> evaluate_ids([[1, 2, 5], {"3": 2, "4": 1}], [[1, 2, 5], [6, 4, 5]], k=3)["recall@3"]
    0.75
    """
    settings = make_settings(match_method="id", precision_denominator=precision_denominator, gain=gain)
    check_callbacks(callbacks)
    cut_offs, table = check_cut_offs(k), choose_metrics(metrics, settings)
    return measure(
        match_and_judge(actual, predicted, settings, bare_ids=True),
        cut_offs,
        table,
        queries=queries,
        query_ids=query_ids,
        callbacks=callbacks,
        raise_errors=raise_errors,
    )
