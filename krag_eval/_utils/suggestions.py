"""Names that other tools use, answered with ours: of arguments, of metrics and of keys of a result."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from types import FrameType

from krag_eval._utils.errors import Argument, Part, UnknownArgumentError, did_you_mean

# What krag, ragas, ranx, LlamaIndex and sklearn call an argument, and what it is called here: the first name that the
# function has.
ARGUMENTS = {
    "actual_docs": "actual",
    "average": "averaging_method",
    "averaging": "averaging_method",
    "callbacks": "sinks",
    "cutoff": "k",
    "cutoffs": "k",
    "embed_model": "embeddings",
    "embedding": "embeddings",
    "embedding_model": "embeddings",
    "ground_truth": "gold",
    "ks": "k",
    "match_method": "method",
    "matching": "match_method",
    "max_retries": "retries",
    "max_workers": "concurrency n_jobs workers",
    "method": "match_method",
    "metric": "metrics",
    "min_similarity": "in_use threshold rouge_threshold",
    "model": "embeddings",
    "n_jobs": "workers concurrency",
    "num_workers": "concurrency n_jobs workers",
    "on_departure": "on_alert",
    "overwrite": "force",
    "predicted_docs": "predicted",
    "qrels": "gold",
    "rouge_threshold": "in_use threshold",
    "rouge_type": "match_method method",
    "stemmer": "use_stemmer",
    "threshold": "rouge_threshold",
    "tokenizer_type": "tokenizer",
    "top_k": "k",
}
_AT_THE_CALL = "Give it to the call: evaluate_all(actual_docs, predicted_docs, k)."
_BOTH_MEANS = "Both are given: 'recall@5' is the macro mean, 'micro_recall@5' the micro value."
_COMPLEMENT = "Give its complement: {}=0.95 for a level of 0.05."
_MODEL = (
    "A name loads no model: make it and pass it, for example "
    "embeddings=HuggingFaceEmbeddings(model_name=...) of langchain_huggingface."
)
_FOUND = "It is what `calibrate` finds. Leave it out."
_OF_KRAG = (
    "EmbeddingRougeOfflineRetrievalEvaluators OfflineRetrievalEvaluators RAGEvaluator RougeOfflineRetrievalEvaluators"
)
# Where another name alone does not do: what to write in the functions named, or in those that have such an argument.
INSTEAD = {
    "actual_docs": {"RAGEvaluator": _AT_THE_CALL},
    "alpha": {name: _COMPLEMENT.format(name) for name in ("confidence", "intervals")},
    "average": {"metrics": _BOTH_MEANS},
    "averaging_method": {"metrics": _BOTH_MEANS},
    "embedding_config": {"embeddings": _MODEL},
    "embedding_type": {"embeddings": _MODEL},
    "k": {_OF_KRAG: "Give it to the call, such as evaluate_all(k=5)."},
    "matching_criteria": {
        "metrics": "Both are given: `hit_rate` asks for one gold document, `hit_rate_all` for all of them."
    },
    "metrics": {f"{_OF_KRAG} evaluate_all": "The values are always the same ones; `evaluate` lets you choose."},
    "predicted_docs": {"RAGEvaluator": _AT_THE_CALL},
    "rouge_threshold": {"calibrate": _FOUND},
    "threshold": {"calibrate": _FOUND},
}

# By our name of a metric: what others call the same.
_OTHER_NAMES = {
    "hit_rate": "hit hitrate hit_ratio hr",
    "mrr": "recip_rank reciprocal_rank rr",
    "recall": "r",
    "precision": "p",
    "map": "average_precision ap map_cut",
    "f1": "f1_score",
    "ndcg": "ndcg_cut",
    "r_precision": "rprec r_prec",
    "alpha_ndcg": "α_ndcg",
    "iprec": "iprec_at_recall",
    "set_precision": "setp set_p",
    "set_recall": "setr",
    "set_f": "setf",
    "set_map": "setap",
    "num_ret": "numret",
    "num_rel": "numrel",
    "num_rel_ret": "numrelret",
}
_SAME_METRICS = {other: ours for ours, others in _OTHER_NAMES.items() for other in others.split()}
# Names that other tools also use for something else, so that they are only suggested.
_METRICS = _SAME_METRICS | {
    "context_recall": "recall",
    "context_precision": "map",
    "nd": "ndcg",
    "em": "exact_match",
}

_DIVERSITY = "Give each aspect of a question as a gold document or need of its own: 'recall' is the share found, and "
_DIVERSITY += "'alpha_ndcg' discounts what is found again."
_MEANS = "Only arithmetic means are computed; `result.per_query` has the values."
_BY_QUESTION = "It is no metric: see `result.per_query` and `result.explain`."
_GAINS = "nDCG is always relative to the ideal ranking: use 'ndcg'."
_PREFERENCES = "Preferences between documents are not read; 'bpref' is the nearest metric of grades."
_USERS = "Of the models of a user, 'rbp' and 'err' are computed."
_RELATIVE = "To compare with what is possible, use 'r_precision', or 'recall' beside 'precision'."
# What trec_eval, ir_measures and ranx compute and nobody computes here, with what to use instead.
_NOT_HERE = {
    "11pt_avg": "Take the mean of 'iprec(recall=0)', 'iprec(recall=0.1)' and so on to 'iprec(recall=1)'.",
    "accuracy": "The nearest metric is 'bpref': how seldom irrelevant documents rank above relevant ones.",
    "compat": "Use 'ndcg', which also compares with the ideal ranking, or 'rbp'.",
    "hits": "Whether one is found is 'hit_rate'. How many are found is 'num_rel_ret', over all ranks.",
    "ndcg_burges": "It is 'ndcg' with gain=\"exponential\", the default.",
    "num_nonrel_judged_ret": "'judged' is the share of ranks that are judged, 'precision' that of relevant ones.",
    "num_q": "It is `result.n_queries`.",
    "numq": "It is `result.n_queries`.",
    "rprec_mult": "Use 'r_precision', or 'precision' at cut-offs of your choice.",
    "utility": "Use 'num_rel_ret' and 'num_ret', of which it is a difference.",
    **dict.fromkeys(("gm_map", "gm_bpref"), _MEANS),
    **dict.fromkeys(("runid", "relstring"), _BY_QUESTION),
    **dict.fromkeys(("relative_p", "set_relative_p", "setrelp"), _RELATIVE),
    **dict.fromkeys(("dcg", "dcg_burges", "g", "bing", "rndcg", "ndcg_rel", "sdcg"), _GAINS),
    **dict.fromkeys(("bpm", "inst", "insq", "nerr8", "nerr9", "nerr10", "nerr11"), _USERS),
    **dict.fromkeys(
        ("err_ia", "nerr_ia", "alpha_dcg", "α_dcg", "nrbp", "nnrbp", "ap_ia", "map_ia", "p_ia", "strecall"), _DIVERSITY
    ),
}
_NOT_HERE_BY_ENDS = {
    "prefs_": _PREFERENCES,
    "_avgjg": "Evaluate with the grades of each judge, and take the mean.",
}
# Parameters in the names of metrics that are settings here, or have no counterpart.
_PARAMETERS: dict[str, tuple[Part, ...]] = {
    "judged_only": ("Remove it, and pass ", Argument("unjudged", "remove"), "."),
    "dcg": ("Remove it, and pass ", Argument("gain", "linear"), ' for "log2"; "exp-log2" is the default.'),
    "gains": ("Remove it, and write these gains as the grades, with ", Argument("gain", "linear"), "."),
    "relative": (_RELATIVE,),
    "rel": ("It reads the grades themselves.",),
    "cutoff": ("It has no cut-off.",),
    "max_rel": ("For the scale of grades, write err(max_grade=...).",),
}

# recall@5, recall_at_5, ndcg_cut_10, P_5, P.5, rbp(p=0.8)@10, mean_recall, recall-l2@5, recall@5-l2, IPrec@0.1
_KEY = re.compile(
    r"(?:(micro|macro|mean|avg)_)?([a-zα][^()@]*?)(?:[-_](?:rel[-_])?l([0-9]+))?(\(.*\))?"
    r"(?:(?:@|_at_|[_.])([0-9]+(?:tok)?|k|all|[01]?\.[0-9]+))?(?:-l([0-9]+))?",
    re.IGNORECASE,
)
_RBP_OF_RANX = re.compile(r"(rbp)\.([0-9]+)", re.IGNORECASE)


def check_names(given: Iterable[str], known: Collection[str]) -> None:
    """Refuse a keyword argument that does not exist.

    Args:
        given: The names of the keywords that a function passes on.
        known: The names that are accepted there, beside the arguments of that function.

    Raises:
        UnknownArgumentError: A name is not accepted; the message says what it is called here.
    """
    for name in given:
        if name not in known:
            function, own = _called_with(name)
            names = [*own, *known]
            raise UnknownArgumentError(
                f"`{function}` has no argument {name!r}.{_argument_hint(name, names, function)} "
                f"It takes: {', '.join(names)}."
            )


def _called_with(name: str) -> tuple[str, list[str]]:
    """The outermost of our functions that passes this keyword on: its name, and the arguments that it lists itself."""
    function, own = "krag_eval", list[str]()
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - who was called is known to the stack alone
    while frame is not None and frame.f_globals.get("__name__", "").startswith("krag_eval"):
        code = frame.f_code
        n_named = code.co_argcount + code.co_kwonlyargcount
        if code.co_flags & inspect.CO_VARKEYWORDS and "<locals>" not in code.co_qualname:  # decorators pass all on
            passed_on = code.co_varnames[n_named + bool(code.co_flags & inspect.CO_VARARGS)]
            if name in frame.f_locals[passed_on]:
                function = code.co_qualname.removesuffix(".__init__")
                own = [one for one in code.co_varnames[:n_named] if one != "self"]
        frame = frame.f_back
    return function, own


def _argument_hint(name: str, names: Sequence[str], function: str) -> str:
    """A sentence on what to write instead, beginning with a space; empty where nothing is known."""
    ours = next((one for one in ARGUMENTS.get(name, "").split() if one in names), None)
    if ours is not None:
        return f" It is called `{ours}` here."
    for places, sentence in INSTEAD.get(name, {}).items():
        if not {function, *names}.isdisjoint(places.split()):
            return f" {sentence}"
    return "" if name in ARGUMENTS or name in INSTEAD else did_you_mean(name, names)


def parameter_hint(name: str) -> tuple[Part, ...]:
    """What to write instead of a parameter in the name of a metric, with a space before; empty if that is not known."""
    return (" ", *_PARAMETERS[name]) if name in _PARAMETERS else ()


def metric_hint(asked: object, known: Sequence[str]) -> str:
    """A sentence on a metric that is not known, beginning with a space; empty where nothing is known of it.

    >>> metric_hint("context_recall@10", ["hit_rate", "recall"]), metric_hint("NumQ", ["recall"])
    (" It is called 'recall@10' here.", ' It is not computed here. It is `result.n_queries`.')
    """
    _, name, cut_off = _parts(asked)
    whole = str(asked).strip().lower().replace("-", "_")
    for one in (whole, name):
        ends = (hint for end, hint in _NOT_HERE_BY_ENDS.items() if one.startswith(end) or one.endswith(end))
        if (hint := _NOT_HERE.get(one) or next(ends, None)) is not None:
            return f" It is not computed here. {hint}"
    ours = _ours(name, known)
    if ours is None:
        return did_you_mean(name or asked, known)
    return f" It is called '{ours}{f'@{cut_off}' if cut_off else ''}' here."


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
    cut_off = (found[5] or "").lower()
    return found[1] or "", found[2].lower().replace("-", "_"), cut_off.lstrip("0") or cut_off[:1]


def split_name(asked: str, known: Collection[str]) -> tuple[str, str, str]:
    """Which mean is asked for, the metric by its name here with its parameters, and the cut-off.

    Each is empty where it is not said; so is the name, if it is not one of the known metrics under any of its names.

    >>> known = ["ndcg", "mrr", "rbp", "hit_rate_all"]
    >>> split_name("nDCG@10", known), split_name("mean_reciprocal_rank", known), split_name("rbp(p=0.8)@5", known)
    (('', 'ndcg', '10'), ('mean', 'mrr', ''), ('', 'rbp(p=0.8)', '5'))
    >>> split_name("hit_rate_all", known), split_name("hits@5", known)
    (('', 'hit_rate_all', ''), ('', '', '5'))
    >>> split_name("mrr-l2@5", known), split_name("rbp.95", known)
    (('', 'mrr(rel=2)', '5'), ('', 'rbp(p=0.95)', ''))
    """
    plain = _RBP_OF_RANX.sub(r"\1(p=0.\2)", asked.strip())
    if plain.partition("(")[0] in known and plain.endswith((")", plain.partition("(")[0])):
        return "", plain, ""
    if (whole := plain.lower().replace("-", "_")) in known:
        return "", whole, ""
    mean, name, cut_off = _parts(plain)
    ours = name if name in known else _SAME_METRICS.get(name, "")
    if ours not in known:
        return mean, "", cut_off
    found = _KEY.fullmatch(plain)
    level, given = (found[3] or found[6], (found[4] or "")[1:-1]) if found else (None, "")
    parameters = ",".join(filter(None, [level and f"rel={level}", given]))
    return mean, f"{ours}({parameters})" if parameters else ours, "" if cut_off == "k" else cut_off


def _ours(name: str, known: Collection[str]) -> str | None:
    by_lower = {one.lower(): one for one in known}
    return by_lower.get(name, by_lower.get(_METRICS.get(name, "")))
