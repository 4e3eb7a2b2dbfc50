"""Arguments under the names that other tools give them, and what they are called here."""

from __future__ import annotations

from collections.abc import Container, Iterable

from krag_eval.errors import did_you_mean

# In each row: our names, of which a function has one at most; what krag, ragas, ranx, LlamaIndex, pytrec_eval and
# sklearn call it; and what to do, where another name alone does not do.
_ROWS: list[tuple[str, str] | tuple[str, str, str]] = [
    (
        "actual actual_docs references gold",
        "gold_docs golden ground_truth ground_truths expected expected_ids relevant reference reference_contexts qrels",
    ),
    (
        "predicted predicted_docs answers retrieved",
        "retrieved_docs retrieved_ids retrieved_contexts contexts documents docs predictions responses results run",
    ),
    ("actual actual_docs", "y_true labels"),
    ("predicted predicted_docs", "y_pred y_score rankings"),
    (
        "pairs",
        "actual predicted gold retrieved qrels run y_true y_pred actual_docs predicted_docs",
        "Give both as one iterable of pairs: zip(actual, predicted).",
    ),
    ("run runs", "predicted predictions retrieved rankings results"),
    ("rows", "results rankings retrieved qrels"),
    ("evalset questions", "queries dataset df df_qa_test eval_set qa_dataset samples data rows"),
    ("question", "query user_input input text prompt"),
    ("query", "question"),
    ("answer", "ground_truth reference expected_output expected_answer response"),
    ("text", "page_content content body chunk passage"),
    ("page_content", "text content body"),
    ("id", "doc_id id_ node_id chunk_id document_id qid query_id question_id"),
    ("query_id", "id qid question_id"),
    ("corpus chunks", "documents docs nodes contexts passages old_corpus"),
    ("k", "ks top_k topk cutoff cutoffs cut_off cut_offs k_values similarity_top_k"),
    ("metrics", "metric metric_names measures"),
    ("precision", "target target_precision"),
    ("systems", "results runs result run retrievers"),
    ("responses actual_outputs", "answers predictions outputs"),
    (
        "labelled_pairs",
        "match_method threshold thresholds",
        "It finds the threshold of one method: write method='rougeL'.",
    ),
    ("match_method method", "match matching matching_method match_type rouge_method rouge_type"),
    ("threshold rouge_threshold", "min_similarity score_threshold"),
    ("averaging_method", "average averaging"),
    ("embeddings", "embedding embedding_model embed_model embedder model"),
    ("tokenizer", "tokenizer_type tokenizer_config"),
    ("use_stemmer", "stem stemmer"),
    ("llm", "model judge language_model"),
    ("n", "testset_size test_size size num n_questions num_questions question_count samples"),
    ("samples", "testset_size test_size n n_questions num_questions question_count"),
    ("confidence", "alpha max_p p significance", "Give its complement: confidence=0.95 for a level of 0.05."),
    ("n_bootstrap", "n_resamples n_boot n_bootstraps bootstrap n_iterations n_samples"),
    ("n_randomisation", "n_permutations n_randomization n_randomizations"),
    ("concurrency n_jobs workers", "num_workers max_workers jobs n_threads max_concurrency threads"),
    ("retries", "max_retries num_retries n_retries max_attempts"),
    ("path out", "file filename file_name filepath file_path output output_path output_file labels"),
    ("format", "fmt file_format filetype"),
    ("columns", "mapping column_mapping column_map column_names rename"),
    ("force", "overwrite replace exist_ok"),
    ("progress", "show_progress verbose"),
    ("title", "name"),
    ("name", "title run_name"),
    ("sinks", "sink callbacks handlers listeners"),
    ("callbacks", "callback sinks handlers listeners"),
    (
        "demands",
        "min max require no_drop gate thresholds",
        "Write Policy.from_dict({'gate': {'require': ['recall@5 >= 0.8']}}).",
    ),
    (
        "requirements",
        "min max require thresholds threshold metrics recall precision ndcg mrr map f1 hit_rate",
        "Write each requirement as a text: assert_retrieval(result, 'recall@5 >= 0.8').",
    ),
    ("policy", "gate thresholds requirements rules"),
    ("trace_ids", "trace_id traces"),
    ("client", "langfuse langfuse_client"),
    ("client", "public_key secret_key host base_url", "Make a client with it and pass that: Langfuse(public_key=...)."),
]
_OURS: dict[str, list[tuple[str, str]]] = {}
for _names, _others, *_cure in _ROWS:
    for _our in _names.split():
        for _name in _others.split() if _cure else f"{_names} {_others}".split():
            _OURS.setdefault(_name, []).append((_our, _cure[0] if _cure else f"It is called `{_our}` here."))
_OWN = {name for row in _ROWS for name in row[0].split()}

_MODEL = (
    "A name loads no model: make it and pass it, for example "
    "embeddings=HuggingFaceEmbeddings(model_name=...) of langchain_huggingface."
)
_AT_THE_CALL = "Give it to the call: evaluate_all(actual_docs, predicted_docs)."
_INSTEAD = {
    "embedding_type": _MODEL,
    "embedding_config": _MODEL,
    "averaging_method": "Both are given: 'recall@5' is the macro mean, 'micro_recall@5' the micro value.",
    "average": "Both are given: 'recall@5' is the macro mean, 'micro_recall@5' the micro value.",
    "matching_criteria": "Both are given: `hit_rate` asks for one gold document, `hit_rate_all` for all of them.",
    "ensemble": "Give it as one more retriever, such as LangChain's EnsembleRetriever.",
    "ensemble_weights": "Give the ensemble as one more retriever, such as LangChain's EnsembleRetriever.",
    "k": "Give it to the call, such as evaluate_all(k=5).",
    "actual_docs": _AT_THE_CALL,
    "predicted_docs": _AT_THE_CALL,
    "metrics": "The values are always the same ones; `evaluate` lets you choose.",
    "intervals": "Call `intervals_of(result)`.",
    "force": "A file that is there is replaced.",
    "overwrite": "A file that is there is replaced.",
    "stat_test": "Every comparison has bootstrap intervals and a randomisation test.",
}


def hint_for(name: str, known: Iterable[str]) -> str:
    """A sentence on what is called `name` elsewhere, beginning with a space; empty where nothing is known.

    >>> hint_for("top_k", ["actual", "predicted", "k"])
    ' It is called `k` here.'
    """
    names = list(known)
    for ours, told in _OURS.get(name, ()):
        if ours in names and ours != name:
            return f" {told}"
    return f" {_INSTEAD[name]}" if name in _INSTEAD else did_you_mean(name, names)


def is_meant(name: str, not_given: Container[str], needed: Container[str]) -> bool:
    """Whether a name that might be passed on stands for an argument that was not given, or describes a model.

    A name that we have ourselves, in some other function, stands only for an argument that is needed.
    """
    return _INSTEAD.get(name) == _MODEL or any(
        ours in not_given and (name not in _OWN or ours in needed) for ours, _ in _OURS.get(name, ())
    )
