"""Arguments under the names that other tools give them, and what they are called here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Container, Iterable, Mapping
from typing import ParamSpec, TypeVar

from krag_eval.errors import UnknownArgumentError, did_you_mean

P = ParamSpec("P")
R = TypeVar("R")

# In each row: our names, of which a function has one at most, and what krag, ragas, ranx and LlamaIndex call it.
_ROWS: list[tuple[str, str]] = [
    (
        "actual actual_docs references",
        "gold gold_docs golden ground_truth ground_truths expected expected_ids reference reference_contexts qrels",
    ),
    (
        "predicted predicted_docs answers",
        "retrieved retrieved_docs retrieved_ids retrieved_contexts contexts predictions responses results run",
    ),
    ("run runs", "predicted predictions retrieved rankings"),
    ("evalset", "questions dataset df df_qa_test eval_set queries qa_dataset"),
    ("k", "ks top_k topk cutoff cutoffs cut_off cut_offs k_values"),
    ("metrics", "metric metric_names"),
    ("match_method method", "match matching matching_method match_type rouge_method rouge_type"),
    ("threshold rouge_threshold", "min_similarity score_threshold"),
    ("embeddings", "embedding embedding_model embed_model embedder model"),
    ("tokenizer", "tokenizer_type tokenizer_config"),
    ("use_stemmer", "stem stemmer"),
    ("llm", "model judge language_model"),
    ("n_jobs concurrency workers", "num_workers max_workers jobs n_threads max_concurrency"),
    ("force", "overwrite replace"),
    ("progress", "show_progress verbose"),
]
_OURS: dict[str, list[str]] = {}
for _names, _others in _ROWS:
    for _one in (*_names.split(), *_others.split()):
        _OURS.setdefault(_one, []).extend(_names.split())

_MODEL = (
    "A name loads no model: make it and pass it, for example "
    "embeddings=HuggingFaceEmbeddings(model_name=...) of langchain_huggingface."
)
_INSTEAD = {
    "embedding_type": _MODEL,
    "embedding_config": _MODEL,
    "averaging_method": "Both are given: 'recall@5' is the macro mean, 'micro_recall@5' the micro value.",
    "matching_criteria": "Both are given: `hit_rate` asks for one gold document, `hit_rate_all` for all of them.",
    "ensemble": "Give it as one more retriever, such as LangChain's EnsembleRetriever.",
    "ensemble_weights": "Give the ensemble as one more retriever, such as LangChain's EnsembleRetriever.",
    "k": "Give it to the call, such as evaluate_all(k=5).",
    "actual_docs": "Give it to the call: evaluate_all(actual_docs, predicted_docs).",
    "predicted_docs": "Give it to the call: evaluate_all(actual_docs, predicted_docs).",
    "metrics": "The values are always the same ones; `evaluate` lets you choose.",
    "intervals": "Call `intervals_of(result)`.",
}


def hint_for(name: str, known: Iterable[str]) -> str:
    """A sentence on what is called `name` elsewhere, beginning with a space; empty where nothing is known.

    >>> hint_for("top_k", ["actual", "predicted", "k"])
    ' It is called `k` here.'
    """
    names = list(known)
    for ours in _OURS.get(name, ()):
        if ours in names and ours != name:
            return f" It is called `{ours}` here."
    return f" {_INSTEAD[name]}" if name in _INSTEAD else did_you_mean(name, names)


def tell_names(function: Callable[P, R]) -> Callable[P, R]:
    """Let a call with an argument that does not exist say what it is called here.

    Only a call that failed is looked at.
    """

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError:
            error = _unknown_argument(function, args, kwargs)
            if error is None:
                raise
        raise error

    return called


def _unknown_argument(
    function: Callable[..., object], args: tuple[object, ...], given: Mapping[str, object]
) -> UnknownArgumentError | None:
    """What is wrong with the names of a call that failed; None where it failed for another reason."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **given)
    except TypeError:
        pass
    else:
        return None
    parameters = {name: p for name, p in signature.parameters.items() if name != "self"}
    known = [name for name, p in parameters.items() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    takes_more = len(known) < len(parameters)
    for name in given:
        if name not in known and (not takes_more or _replaces(name, known, given)):
            called = function.__qualname__.removesuffix(".__init__")
            takes = f"{', '.join(known)}{', and the scoring settings of `evaluate`' if takes_more else ''}"
            return UnknownArgumentError(
                f"`{called}` has no argument {name!r}.{hint_for(name, known)} It takes: {takes}."
            )
    return None


def _replaces(name: str, known: list[str], given: Container[str]) -> bool:
    """Whether the name stands for a parameter that was not given by its own, or for a model."""
    return name.startswith("embedding_") or any(our in known and our not in given for our in _OURS.get(name, ()))
