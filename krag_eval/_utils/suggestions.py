"""Wrong names of arguments and attributes, answered with the right ones.

Arguments under the names that other tools give them, and what they are called here.

What to write instead of an attribute that there is in other tools, and not here.

Metrics and keys of results under the names that other tools give them, and what they are called here.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from krag_eval._utils.errors import UnknownArgumentError, did_you_mean

Told = TypeVar("Told", bound=Callable[..., object])


class TellsAttributes:
    """An object that says of an attribute which does not exist what to write instead.

    It is an AttributeError as ever, so that `hasattr`, `copy` and `pickle` see no difference; and what a property
    raises comes through as it is.
    """

    __slots__ = ()

    # How the value of a key is asked for, where there are keys.
    _value_of: ClassVar[str] = ""

    if not TYPE_CHECKING:  # to a type checker every attribute would be there

        def __getattr__(self, name: str) -> None:
            own = type(self)
            if name.startswith("_") or hasattr(own, name) or name in getattr(own, "__dataclass_fields__", ()):
                return object.__getattribute__(self, name)  # raises as if this method were not there

            told = f"{own.__name__!r} object has no attribute {name!r}{instead_of(self, name)}"
            raise AttributeError(told, name=name, obj=self)


def tell_names(told: Told) -> Told:
    """Let a call with an argument that does not exist say what it is called here.

    Before the call, so that nothing is done yet and no name is passed over. Signature, documentation and type stay
    those of the function, and an async function stays one.

    Args:
        told: A function, or a class: its constructor and its own public methods.
    """
    if not inspect.isclass(told):
        return cast(Told, _telling(told))
    for name, member in list(vars(told).items()):
        if name == "__init__" or not name.startswith("_"):
            if inspect.isfunction(member):
                setattr(told, name, _telling(member))
            elif isinstance(member, classmethod):
                setattr(told, name, classmethod(_telling(member.__func__)))
    return told


def _telling(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        _takes(function).check(args, kwargs)
        return function(*args, **kwargs)

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        _takes(function).check(args, kwargs)
        return await function(*args, **kwargs)

    return awaited if inspect.iscoroutinefunction(function) else called


@dataclass(frozen=True, slots=True)
class _Takes:
    """What a function takes.

    Attributes:
        called: The name of the function, or of the class that it makes.
        by_place: The arguments that need no name, `self` among them.
        further: The name of those beyond, where there may be any number.
        by_name: The arguments that have a name, those of an unpacked TypedDict among them.
        needed: Those of them without a default.
        passes_on: Whether names beyond these are passed on, and checked where they are read.
    """

    called: str
    by_place: tuple[str, ...]
    further: str | None
    by_name: frozenset[str]
    needed: frozenset[str]
    passes_on: bool
    listed: tuple[str, ...]

    def check(self, args: tuple[object, ...], given: Mapping[str, object]) -> None:
        """See that the call has no argument that there is not.

        Raises:
            UnknownArgumentError: It has; the message says what it is called here.
        """
        if not self.by_name.issuperset(given):
            for name in given:
                if name not in self.by_name and (
                    not self.passes_on or is_meant(name, self.by_name - given.keys(), self.needed)
                ):
                    hint = hint_for(name, [*self.listed, *([self.further] if self.further else [])])
                    raise UnknownArgumentError(f"`{self.called}` has no argument {name!r}.{hint} {self._list()}")
        if len(args) > len(self.by_place) and self.further is None:
            places = [name for name in self.by_place if name != "self"]
            rest = [name for name in self.listed if name not in places]
            by_name = f" Give what follows by its name, such as {rest[0]}=..." if rest else ""
            raise UnknownArgumentError(
                f"`{self.called}` takes {len(places)} positional arguments at most ({', '.join(places)}), got "
                f"{len(args) - len(self.by_place) + len(places)}.{by_name} {self._list()}"
            )

    def _list(self) -> str:
        more = ", and the scoring settings of `evaluate`" if self.passes_on else ""
        return f"It takes: {', '.join(self.listed)}{more}."


@functools.cache
def _takes(function: Callable[..., Any]) -> _Takes:
    parameters = inspect.signature(function).parameters.values()
    listed = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    passes_on = False
    for rest in (p for p in parameters if p.kind == p.VAR_KEYWORD):
        unpacked = re.fullmatch(r"Unpack\[(\w+)\]", str(rest.annotation))
        named = function.__globals__.get(unpacked[1]) if unpacked else None
        passes_on = named is None
        listed += () if named is None else named.__annotations__
    return _Takes(
        called=function.__qualname__.removesuffix(".__init__"),
        by_place=tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)),
        further=next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), None),
        by_name=frozenset(listed),
        needed=frozenset(p.name for p in parameters if p.default is p.empty and p.name in listed),
        passes_on=passes_on,
        listed=tuple(dict.fromkeys(name for name in listed if name not in ("self", "cls"))),
    )


# In each row: our names, of which a function has one at most; what krag, ragas, ranx, LlamaIndex, pytrec_eval and
# sklearn call it; and what to do, where another name alone does not do.
_ARGUMENTS: list[tuple[str, str] | tuple[str, str, str]] = [
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
for _names, _others, *_cure in _ARGUMENTS:
    for _our in _names.split():
        for _name in _others.split() if _cure else f"{_names} {_others}".split():
            _OURS.setdefault(_name, []).append((_our, _cure[0] if _cure else f"It is called `{_our}` here."))
_OWN = {name for row in _ARGUMENTS for name in row[0].split()}

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


# In each row: an attribute by which the objects are known that it is for, what to write, and what it stands for in
# ragas, ranx, LlamaIndex, pandas and scipy. The first row that fits is told.
_ATTRIBUTES: list[tuple[str, str, str]] = [
    (
        "means",
        "`means`, one row a system and cut-off, or `per_query`",
        "to_pandas to_df to_dataframe df scores to_dict",
    ),
    ("to_pandas", "`to_pandas()`", "to_df to_dataframe to_frame dataframe df as_dataframe to_polars to_csv"),
    (
        "transitions",
        "`comparison['hybrid', 'recall@5']` with a system and a key, and of this row `p_holm`, `verdict`, `difference`",
        "p p_value pvalue p_values winner better best significant is_significant difference verdict wins",
    ),
    ("p_holm", "`p_holm`, adjusted for all tests made together, or `p`", "p_value pvalue p_val p_adjusted"),
    ("verdict", "`verdict`, or `is_significant`", "winner better best significant significance is_better"),
    ("metric_values", "`values`", "scores score metrics metric_dict metric_vals_dict"),
    ("to_dict", "`to_dict()`", "scores values items get metrics as_dict asdict model_dump dict summary results"),
    ("to_json", "`to_json()`", "json dumps model_dump_json"),
    ("report", "`report('report.html')`", "save write export to_html to_markdown to_csv html show plot"),
    ("further", "`write_report(report, 'report.html')`", "save write export to_html to_markdown to_json html report"),
    ("per_query", "`per_query`", "rows per_question queries details samples traces query_results"),
    ("n_queries", "`n_queries`", "n_questions num_queries num_questions size"),
    ("signature", "`signature`", "settings config parameters"),
    ("exit_code", "`status`, or `exit_code`, which is 0 where all holds", "ok success passed is_ok is_passed failed"),
    ("checks", "`checks`", "failures results rows requirements"),
    ("misses", "`misses`, or `counts` of them by cause", "failures missed rows scores reasons"),
    ("fragile", "`values` beside `thresholds`: a best one is found by `calibrate`", "best best_threshold optimal"),
    ("get_evaluator", "`evaluate_all(actual_docs, predicted_docs, k)`", "evaluate score run"),
    ("get_evaluator", "`get_evaluator()` after a call", "calculate_recall calculate_mrr calculate_ndcg result"),
    ("calculate_f1_score", "`calculate_f1_score(k)`", "calculate_f1 f1 f1_score"),
    ("calculate_hit_rate", "`calculate_hit_rate(k)`", "hit_rate calculate_hitrate calculate_hit hit"),
    ("calculate_map", "`calculate_map(k)`", "map calculate_average_precision average_precision"),
    ("calculate_mrr", "`calculate_mrr(k)`", "mrr calculate_reciprocal_rank"),
    ("calculate_ndcg", "`calculate_ndcg(k)`", "ndcg calculate_NDCG"),
    ("calculate_precision", "`calculate_precision(k)`", "precision"),
    ("calculate_recall", "`calculate_recall(k)`", "recall"),
    (
        "calculate_recall",
        "`evaluate_all(k)`, a dict",
        "get_metrics_by_averaging_method evaluate scores metrics results to_dict calculate_all",
    ),
]


def instead_of(known: Any, name: str) -> str:
    """A full stop and a sentence on what to write, or nothing."""
    value_of = known._value_of  # noqa: SLF001 - what `TellsAttributes` has for this
    if value_of:
        keys = known.keys if "keys" in dir(known) else known.values
        meant = keys_meant(name, list(keys() if callable(keys) else keys))
        if meant:
            others = f", or for {', '.join(map(repr, meant[1:]))} alike" if meant[1:] else ""
            return f". Write {value_of.format(repr(meant[0]))}{others}."
    known_by = {*dir(type(known)), *getattr(type(known), "__dataclass_fields__", ())}
    return next(
        (f". Write {write}." for own, write, others in _ATTRIBUTES if own in known_by and name in others.split()), ""
    )


_ELSEWHERE = {
    "hits": "hit_rate",
    "hit": "hit_rate",
    "hitrate": "hit_rate",
    "hit_ratio": "hit_rate",
    "recip_rank": "mrr",
    "reciprocal_rank": "mrr",
    "rr": "mrr",
    "r": "recall",
    "context_recall": "recall",
    "p": "precision",
    "average_precision": "map",
    "ap": "map",
    "context_precision": "map",
    "f1_score": "f1",
    "f": "f1",
    "nd": "ndcg",
    "ndcg_cut": "ndcg",
    "map_cut": "map",
    "em": "exact_match",
}

# recall@5, recall_at_5, ndcg_cut_10, P_5, hits@3, mean_recall
_KEY = re.compile(r"(?:(micro|macro|mean|avg)_)?([a-z].*?)(?:(?:@|_at_|_)([0-9]+(?:tok)?|k|all))?", re.IGNORECASE)


def metric_hint(asked: object, known: Sequence[str]) -> str:
    """A sentence on a metric that is not known, beginning with a space; empty where nothing is known of it.

    >>> metric_hint("ndcg_cut_10", ["mrr", "ndcg"])
    " It is called 'ndcg' here, and its cut-off is given as k=10."
    """
    _, name, cut_off = _parts(asked)
    ours = _ours(name, known)
    if ours is None:
        return did_you_mean(asked, known)
    return f" It is called {ours!r} here{f', and its cut-off is given as k={cut_off}' if cut_off else ''}."


def key_hint(asked: object, keys: Collection[str]) -> str:
    """What to ask for instead of a key that is not there, or which keys there are; it begins with a space.

    >>> key_hint("Recall@3", ["mrr@3", "recall@3", "micro_recall@3"])
    " It is called 'recall@3' here."
    >>> key_hint("recall@7", ["recall@1", "recall@3"])
    " It was not scored at k=7: give that where it is scored. There are 'recall@1', 'recall@3'."
    """
    mean, _, cut_off = _parts(asked)
    own = keys_meant(asked, keys)
    if not own:
        return f"{did_you_mean(asked, keys)} It has: {', '.join(keys)}."
    if len(own) == 1 and (cut_off == _cut_off(own[0]) or "@" not in own[0]):
        if mean == "micro" and not own[0].startswith("micro_"):
            return f" It has no micro value; the mean over the queries is {own[0]!r}."
        return f" It is called {own[0]!r} here."
    there = ", ".join(map(repr, own))
    if cut_off not in ("", "k") and "@" in there:
        k = cut_off if cut_off.isdecimal() else {"all": "None"}.get(cut_off, repr(cut_off))
        return f" It was not scored at k={k}: give that where it is scored. There are {there}."
    return f" Say which one: {there}."


def keys_meant(asked: object, keys: Collection[str]) -> list[str]:
    """The keys of the metric that a name elsewhere stands for: the one at its cut-off, or else all of them.

    >>> keys_meant("ndcg_at_5", ["ndcg@5", "ndcg@10"]), keys_meant("NDCG", ["ndcg@5", "ndcg@10"])
    (['ndcg@5'], ['ndcg@5', 'ndcg@10'])
    """
    mean, name, cut_off = _parts(asked)
    ours = _ours(name, {_metric(key) for key in keys})
    of_metric = [key for key in keys if (_metric(key) == ours if ours else name and key.endswith(f"_{name}"))]
    plain = [key for key in of_metric if not key.startswith(("micro_", "macro_"))]
    named = [key for key in of_metric if mean and key.startswith(f"{mean}_")]
    own = named or plain or of_metric
    return [key for key in own if cut_off and _cut_off(key) == cut_off] or own


def _cut_off(key: str) -> str:
    return key.partition("@")[2] or "all"


def _metric(key: str) -> str:
    return key.partition("@")[0].removeprefix("micro_").removeprefix("macro_")


def _parts(asked: object) -> tuple[str, str, str]:
    """Which mean is asked for, the metric in lower case, and the cut-off; each empty where it is not said."""
    found = _KEY.fullmatch(str(asked).strip())
    if found is None:
        return "", "", ""
    return found[1] or "", found[2].lower(), (found[3] or "").lstrip("0")


def _ours(name: str, known: Collection[str]) -> str | None:
    by_lower = {one.lower(): one for one in known}
    return by_lower.get(name, by_lower.get(_ELSEWHERE.get(name, "")))
