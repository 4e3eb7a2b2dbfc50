"""What krag has in `krag.utils`."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from krag_eval._utils.errors import Argument, InvalidInputError, needing
from krag_eval._utils.plugins import load
from krag_eval.datasets.question import alternatives_in
from krag_eval.evaluation.krag import KRAG_METRICS, check_options, krag_keys
from krag_eval.krag import load_class
from krag_eval.krag.document import Document
from krag_eval.krag.evaluators import (
    AveragingMethod,
    MatchingCriteria,
    OfflineRetrievalEvaluators,
    RougeOfflineRetrievalEvaluators,
    TokenizerType,
    warn_where_krag_would_match,
)
from krag_eval.retrievers.evaluate import RetrieverOptions, evaluate_retrievers
from krag_eval.retrievers.krag_frames import read_krag_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AveragingMethod",
    "Document",
    "MatchingCriteria",
    "OfflineRetrievalEvaluators",
    "RougeOfflineRetrievalEvaluators",
    "context_to_document",
    "evaluate_retrieval_at_K",
    "flatten_metrics",
    "setup_retriever",
    "visualize_retrieval_at_K",
]

_PLOTS_IN_A_ROW = 5


def context_to_document(df_test: pd.DataFrame, idx: int) -> list[Document]:
    """Return the gold documents in row `idx` of a frame with the columns `question`, `context`, `source`, `doc_id`."""
    (question,) = read_krag_frame(df_test.iloc[[idx]])
    return [Document(one.text or "", one.metadata) for one in alternatives_in(question.gold)]


def setup_retriever(retriever: Any, k: int) -> Any:
    """Return a copy of a LangChain retriever that returns `k` documents; anything else is returned as it is."""
    kind = str(type(retriever)).lower()
    if "vectorstores" in kind and hasattr(retriever, "search_kwargs"):
        return _copy_with(retriever, "search_kwargs", {**retriever.search_kwargs, "k": k})
    if "bm25" in kind:
        return _copy_with(retriever, "k", k)
    if "multi_query" in kind:
        return _copy_with(retriever, "retriever", setup_retriever(retriever.retriever, k))
    if "runnables" in kind:
        return retriever.with_config({"configurable": {"search_kwargs": {"k": k}}})
    return retriever


def _copy_with(retriever: Any, name: str, value: object) -> Any:
    changed = copy.copy(retriever)
    setattr(changed, name, value)
    return changed


def flatten_metrics(metrics: Mapping[str, Any], k: int) -> dict[str, float]:
    """Return values such as `{"recall": {"micro_recall": 0.5}}` as one dict, with keys such as `micro_recall@5`."""
    dicts = [value if isinstance(value, Mapping) else {key: value} for key, value in metrics.items()]
    return {f"{key}@{k}": value for one in dicts for key, value in one.items()}


def evaluate_retrieval_at_K(  # noqa: N802 - krag's name
    df_qa_test: pd.DataFrame,
    k: int,
    retrievers: Mapping[str, Any],
    ensemble: bool = False,
    rouge_method: str | None = None,
    threshold: float = 0.5,
    ensemble_weights: Sequence[float] | None = None,
    averaging_method: str = AveragingMethod.BOTH,
    matching_criteria: str = MatchingCriteria.PARTIAL,
    **options: Any,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ask retrievers the questions of a frame, and return the mean values of each and those of each question.

    This is `krag_eval.evaluate_retrievers` with krag's arguments, defaults and column names. Each retriever is asked
    for `k` documents, as `setup_retriever` does it.

    Args:
        df_qa_test: The questions, with the columns `question`, `context`, `source` and `doc_id`.
        k: The cut-off.
        retrievers: The retrievers by name.
        ensemble: Whether to add LangChain's `EnsembleRetriever` of all of them, as `"Ensemble"`.
        rouge_method: `"rouge1"` to `"rouge9"`, `"rougeL"` or `"rougeLsum"`; without one, texts must be equal.
        threshold: The ROUGE from which two texts match.
        ensemble_weights: The weights of the ensemble; by default they are equal.
        averaging_method: Which of the micro and macro values the tables have.
        matching_criteria: When a question is a hit: all of its gold documents are found, or at least one.
        **options: Further options of `krag_eval.evaluate_retrievers`, such as `match_method` or `journal`.

    Returns:
        The means, with one row per retriever, and the values, with one row per question and retriever.
    """
    if options.get("relevance_level") is not None:
        raise InvalidInputError(Argument("relevance_level"), " has no place in krag's columns. Leave it out.")
    with needing("evaluate_retrieval_at_K", "pandas", "pandas"):
        import pandas as pd
    asked = {name: setup_retriever(retriever, k) for name, retriever in retrievers.items()}
    if ensemble:
        asked["Ensemble"] = _ensemble_of(list(asked.values()), ensemble_weights)
    settings: RetrieverOptions = {"match_method": "text"}
    if rouge_method is not None:
        settings = {"match_method": rouge_method, "threshold": threshold, "tokenizer": TokenizerType.KIWI}
        settings["use_stemmer"] = True
    scores = evaluate_retrievers(df_qa_test, asked, k, **{**settings, **options})
    kept = [result.detail for result in scores.results.values() if result.detail is not None]
    any(warn_where_krag_would_match(one.batch, one.matches) for one in kept)  # the first warning is enough
    keys = krag_keys(KRAG_METRICS, *check_options(averaging_method, matching_criteria))
    columns = {f"{name}@{k}": f"{ours}@{k}" for name, ours in keys.items()}
    of_mean = {name: scores.means[ours] for name, ours in columns.items()}
    # One question has no micro value of its own: it is its only value.
    of_query = {name: scores.per_query[ours.removeprefix("micro_")] for name, ours in columns.items()}
    per_query = pd.DataFrame({**scores.per_query[["question", "retriever"]], **of_query})
    order = per_query.groupby("retriever").cumcount().sort_values(kind="stable").index
    return pd.DataFrame(of_mean).sort_index(), per_query.loc[order].reset_index(drop=True)


def _ensemble_of(retrievers: list[Any], weights: Sequence[float] | None) -> Any:
    base = load_class(
        "ensemble=True",
        "langchain-classic",
        "langchain_classic.retrievers:EnsembleRetriever",
        "langchain.retrievers:EnsembleRetriever",
        instead="add an ensemble of your own to `retrievers`",
    )
    return base(retrievers=retrievers, weights=list(weights or [1 / len(retrievers)] * len(retrievers)))


def visualize_retrieval_at_K(df_mean: pd.DataFrame, k: int) -> None:  # noqa: N802 - krag's name
    """Show one bar chart per metric of the means in a notebook, with one bar per retriever (extra `report`)."""
    columns = [column for column in df_mean.columns if str(column).endswith(f"@{k}")]
    charts = load("krag_eval.reports", "charts")
    n_rows = -(-len(columns) // _PLOTS_IN_A_ROW) or 1
    figure = charts.new_figure(4 * _PLOTS_IN_A_ROW, 3.5 * n_rows, "visualize_retrieval_at_K")
    figure.suptitle(f"Retrieval metrics at k = {k}")
    for place, column in enumerate(columns, start=1):
        axes = figure.add_subplot(n_rows, _PLOTS_IN_A_ROW, place)
        axes.bar_label(axes.bar([str(name) for name in df_mean.index], df_mean[column]), fmt="%.2f")
        axes.set_title(str(column).partition("@")[0])
        axes.set_ylim(0, 1.1)
        axes.tick_params(axis="x", rotation=45)
    charts.show(figure)
