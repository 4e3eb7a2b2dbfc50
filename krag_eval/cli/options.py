"""The options of the commands, and how their values are read.

A parameter of a command is an argument if it is positional, and an option otherwise. The docstring of the command says
what it is, with its names and metavar in parentheses if they are not the usual ones; `{tokenizer}` stands for all that
this option can be. Those that several commands share:

Parameters:
    evalset (EVALSET): Questions with their gold documents.
    metrics: Comma-separated metric names; {usual_metrics} by default.
    baseline (NAME): The run to compare with: its file name, with or without the ending.
    by (FIELD,...): Slice by these fields or metadata keys; by type, if present, by default.
    missing: If a run lacks rows that another has: `refuse` to compare, or score them as `empty`.
    max_bad_rows: Skip up to this many bad lines of a file and keep them in FILE.rejected.jsonl.
    intervals: Show 95 % confidence intervals. Needs scipy (extra stats).
    cluster (FIELD): Treat questions that share this as one cluster in intervals and tests: a field or metadata key,
        gold for shared gold documents, or id for none.
    force: Overwrite existing files.
    json_out (--json): Write the results as JSON; `-` prints JSON instead of tables.
    k: Comma-separated cut-offs; `all` scores every rank.
    match: {match}; of several, separated by commas, the first that matches decides. Only span, the places of chunks and
        gold in documents, stands alone.
    threshold: Minimum similarity of two matching texts, 0 to 1, or one per method: rouge1=0.6,rougeL=0.5. Default: 0.5
        for ROUGE and span, 0.7 for embedding.
    tokenizer: {tokenizer}.
    raw_text: Compare texts as they are, without normalizing them.
    level: Score by chunk, or by document: by the source documents that the chunks come from.
    doc_key: The metadata key that holds document ids, or several, as for --id-key.
    id_key: Read ids only from this metadata key; source.url reads nested metadata, source,page makes an id of two
        values, and .id reads a document's own id, not one in its metadata.
    id_map: Compare ids without their paths (basename), also without a suffix such as .pdf (stem), in lower case
        (casefold), or without zeros before numbers (strip_zeros).
    grade_key: The metadata key that holds relevance grades.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import operator
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from krag_eval._utils.errors import refuse
from krag_eval._utils.limits import DEFAULT_LIMITS, set_limits
from krag_eval.cli import typed
from krag_eval.cli.files import dashes
from krag_eval.cli.help import one_of_each
from krag_eval.cli.loading import load_embeddings
from krag_eval.cli.output import set_plain
from krag_eval.documents.readers import IdKey
from krag_eval.metrics.names import DEFAULT_CUT_OFFS

# What a shell completes, by parameter; a docstring may name them in braces. Where they stand is imported when they are
# asked for: `module:name`, or the words themselves.
_VALUES: Mapping[str, str | tuple[str, ...]] = {
    "match": "krag_eval.matching.settings:MATCH_METHODS",
    "tokenizer": "krag_eval.documents.tokenizers:TOKENIZERS",
    "level": "krag_eval.datasets.question:LEVELS",
    "metrics": "krag_eval.metrics:ALL_METRICS",
    "usual_metrics": "krag_eval.metrics:METRICS",
    "missing": ("refuse", "empty"),
    "repeated": "krag_eval.datasets.traces:REPEATED",
    "to": "krag_eval.datasets.reanchoring:TARGETS",
    **dict.fromkeys(
        ("rouge_measure", "containment", "span_measure", "precision_denominator", "gain", "unjudged"),
        "krag_eval.matching.settings:CHOICES",
    ),
    "id_map": "krag_eval.documents.id_maps:ID_MAPS",
    "from_format": "krag_eval.datasets.formats.registry:FORMATS",
    "to_format": "krag_eval.datasets.formats.registry:WRITTEN_FORMATS",
    "format": ("html", "md", "json", "csv"),
    "names": ("plain", "safe"),
    "flatten": "krag_eval.datasets.run:FLATTENED",
}


def values_of(name: str) -> list[str]:
    """Return what an option can be."""
    where = _VALUES[name]
    if isinstance(where, tuple):
        return list(where)
    module, _, attribute = where.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    found = found[name] if attribute == "CHOICES" else found
    return [*found, "all"] if name == "metrics" else list(found)


_SECTION = re.compile(r"\n\nParameters:\n(.*?)\s*\Z", re.DOTALL)
_PARAMETER = re.compile(r"^    (\w+)(?: \(([^)]*)\))?: (.*(?:\n {8}.*)*)", re.MULTILINE)


def cut_offs_option(default: Sequence[int]) -> Any:
    """Return the option `--k` with this default."""
    return typer.Option("--k", "-k", show_default=",".join(map(str, default)))


CutOffs = Annotated[str | None, cut_offs_option(DEFAULT_CUT_OFFS)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoringOptions:
    """The options that decide how documents are matched and scored.

    Parameters:
        rouge_measure: fmeasure, recall (of the gold text) or precision.
        containment: either, gold_in_retrieved or retrieved_in_gold.
        use_stemmer: Stem ASCII tokens with Porter's stemmer.
        embeddings (MODULE:OBJECT): The embedding model for --match embedding: an object with an embedding method, a
            function from a list of texts to vectors, or a class or function that makes one. Modules in the current
            directory can be named.
        embedding_prefix (TEXT): Put this before each text to embed, such as 'passage: '.
        similarity_threshold: Minimum cosine of pairs that match by ROUGE, 0 to 1. Needs --embeddings.
        precision_denominator: retrieved, or k as in trec_eval.
        gain: exponential (2^grade - 1) or linear.
        unjudged: irrelevant, or remove to score the rankings without documents that have no grade, as trec_eval -J.
        relevance_level (GRADE): The lowest grade that counts for binary metrics, as trec_eval -l. By default, every
            grade above 0 counts; ndcg reads the grades themselves.
        exclude_self: Leave out documents that have the id of their query.
    """

    match: str = "id"
    threshold: str | None = None
    rouge_measure: str = "fmeasure"
    containment: str = "either"
    tokenizer: str = "words"
    use_stemmer: bool = False
    raw_text: bool = False
    embeddings: str | None = None
    embedding_prefix: str = ""
    similarity_threshold: float | None = None
    id_key: str | None = None
    id_map: str | None = None
    grade_key: str = "relevance"
    precision_denominator: str = "retrieved"
    gain: str = "exponential"
    unjudged: str = "irrelevant"
    relevance_level: float | None = None
    exclude_self: bool = False

    def settings(self) -> dict[str, Any]:
        """Return the scoring settings of the library.

        Raises:
            InvalidInputError: An option cannot be parsed, or the embedding model cannot be loaded.
        """
        from krag_eval.documents.text import normalize

        same = {name: value for name, value in vars(self).items() if name not in ("match", "raw_text")}
        return same | {
            "match_method": parse_names(self.match) or [],
            "threshold": parse_threshold(self.threshold),
            "normalize": None if self.raw_text else normalize,
            "embeddings": load_embeddings(self.embeddings, self.match, self.similarity_threshold),
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunScoringOptions(ScoringOptions):
    """The options that decide how a run is scored against an evaluation set.

    Parameters:
        proxy: Use doc_hit as recall for questions without gold chunks.
        span_measure: What the threshold of spans is a share of: recall (the span), precision (the chunk) or iou (both
            together).
        corpus: The whole documents, if gold documents are spans: chunks without offsets are located in them.
    """

    level: str = "chunk"
    doc_key: str = "doc_id"
    proxy: bool = False
    span_measure: str = "recall"
    corpus: Path | None = None

    def settings(self) -> dict[str, Any]:
        """Return the scoring settings of the library, with the documents read."""
        from krag_eval.datasets import read_corpus

        return super().settings() | {"corpus": None if self.corpus is None else read_corpus(self.corpus)}


def expand_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with one option for each field of the dataclasses among its parameters.

    Typer takes the options of a command from its signature. A command with a parameter `scoring: ScoringOptions` gets
    the fields of `ScoringOptions` in its place, and is called with an instance that holds their values. What it passes
    on as `**passed: Annotated[Any, function, "margin seed"]` has the types and the defaults of that function.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}
    described, signature = _described(sys.modules[__name__]) | _described(command), inspect.signature(command)
    parameters = []
    for name, parameter in sorted(signature.parameters.items(), key=lambda item: item[0] in groups):
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            _, function, names = get_args(hints[name])
            types, its = get_type_hints(function), inspect.signature(function).parameters
            parameters += [_declare(its[one].replace(annotation=types[one]), *described[one]) for one in names.split()]
            continue
        if name not in groups:
            parameters.append(_declare(parameter.replace(annotation=hints[name]), *described[name]))
            continue
        types, group = get_type_hints(groups[name], include_extras=True), groups[name]
        about = functools.reduce(operator.or_, map(_described, reversed(group.__mro__)), described)
        for field in dataclasses.fields(group):
            one = inspect.Parameter(field.name, _OPTION, default=field.default, annotation=types[field.name])
            parameters.append(_declare(one, *about[field.name]))
    about_limits = f"Allow larger input, such as row=1GB; the limits are {', '.join(DEFAULT_LIMITS)}."
    limits = inspect.Parameter("limits", _OPTION, default=None, annotation=str | None)
    parameters.append(_declare(limits, "NAME=SIZE,...", about_limits))
    plain = inspect.Parameter("plain", _OPTION, default=False, annotation=bool)
    parameters.append(_declare(plain, "", "Print one fact per line, without colour, tables and progress bars."))

    shown = {one.name: _shown(one) for one in parameters}
    shown |= {ours: shown[name] for name, ours in _ARGUMENTS.items() if name in shown}

    @functools.wraps(command)
    def call(**given: Any) -> None:
        typed.options.clear()
        typed.options.update(shown)
        pairs = (part.partition("=")[::2] for part in (given.pop("limits") or "").split(",") if part.strip())
        set_plain(given.pop("plain"))
        set_limits(**{name.strip(): size for name, size in pairs})
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
        with dashes(command.__name__, given):
            command(**given)

    call.__doc__ = _SECTION.sub("", _docstring(command))
    call.__dict__["__signature__"] = signature.replace(parameters=parameters)
    return call


_OPTION = inspect.Parameter.KEYWORD_ONLY
# The arguments of the library that are called otherwise here.
_ARGUMENTS = {"match": "match_method", "raw_text": "normalize", "labels": "people"}


def _shown(parameter: inspect.Parameter) -> str:
    """Return what messages call a declared parameter: `--match`, `EVALSET`."""
    made = get_args(parameter.annotation)[1]
    if isinstance(made, typer.models.ArgumentInfo):
        return made.metavar or parameter.name.upper()
    names = (one for one in (made.default, *(made.param_decls or ())) if str(one).startswith("--"))
    return next(names, f"--{parameter.name.replace('_', '-')}").partition("/")[0]  # of --resume/--no-resume the first


def _described(owner: object) -> dict[str, tuple[str, str]]:
    """Return what a docstring says about each parameter: what is in parentheses, and the text."""
    section = _SECTION.search(_docstring(owner))
    found = _PARAMETER.findall(section[1]) if section else []
    return {name: (declared, re.sub(r"{(\w+)}", _names_in, " ".join(text.split()))) for name, declared, text in found}


def _names_in(table: re.Match[str]) -> str:
    *names, last = values_of(table[1])
    return f"{', '.join(names)} or {last}"


def _docstring(owner: Any) -> str:
    """Return the docstring, from the source if Python runs without docstrings (-OO)."""
    if sys.flags.optimize < 2 or owner is object:
        return inspect.cleandoc(owner.__doc__ or "")
    tree = ast.parse(inspect.getsource(owner))
    return ast.get_docstring(tree if inspect.ismodule(owner) else tree.body[0]) or ""  # type: ignore[arg-type]


def _declare(parameter: inspect.Parameter, declared: str, text: str) -> inspect.Parameter:
    """Return the parameter as Typer takes it, with the names and the metavar that are declared, and its help."""
    name, hint = parameter.name, parameter.annotation
    names = [part for part in declared.split() if part.startswith("-")]
    metavar = " ".join(part for part in declared.split() if not part.startswith("-")) or None
    if get_origin(hint) is Annotated:
        hint, made = get_args(hint)
    elif parameter.kind is _OPTION:
        names = names or ([f"--{name.replace('_', '-')}"] if hint is bool else [])
        completed = one_of_each(functools.partial(values_of, name)) if name in _VALUES else None
        parser = _parse_key if name in ("id_key", "doc_key") else None
        if parser or name == "id_map":  # whose types in Python are more than what is typed
            hint = str if parameter.default is not None else str | None
        made = typer.Option(*names, metavar=metavar or (parser and "KEY"), autocompletion=completed, parser=parser)
    else:
        made = typer.Argument(metavar=metavar)
    made.help = text
    return parameter.replace(kind=_OPTION, annotation=Annotated[hint, made])


_NAMES = re.compile(r"(?:\([^()]*\)|[^,])+")  # a comma between parentheses, as in f(a=1,b=2), ends no name


def parse_names(text: str | None) -> list[str] | None:
    """Return `recall,ndcg` as a list; None stays None."""
    return None if text is None else [name.strip() for name in _NAMES.findall(text) if name.strip()]


def parse_cut_offs(
    text: str | None, default: Sequence[int | str | None] = DEFAULT_CUT_OFFS
) -> Sequence[int | str | None]:
    """Return `1,5,10` as numbers; `all` becomes None, and a budget such as `2000tok` stays as it is.

    Without a text, return the default.
    """
    if text is None:
        return default
    cut_offs: list[int | str | None] = []
    for part in map(str.strip, text.split(",")):
        if part.isdecimal() and 0 < len(part.lstrip("0")) < 19:
            cut_offs.append(int(part))
        elif part == "all" or part.endswith("tok"):
            cut_offs.append(None if part == "all" else part)
        else:
            refuse("k", "positive integers separated by commas, such as 1,5,10, or `all`", text)
    return cut_offs


def _parse_key(text: str) -> IdKey:
    """Return `source,page` as two keys."""
    keys = tuple(part.strip() for part in text.split(","))
    return keys if len(keys) > 1 and all(keys) else text


def parse_threshold(text: str | None) -> float | Mapping[str, float]:
    """Return `0.5` as a number and `rouge1=0.6,rougeL=0.5` as one per method; None gives the defaults."""
    if text is None:
        from krag_eval.matching.settings import USUAL_THRESHOLDS

        return USUAL_THRESHOLDS
    try:
        if "=" not in text:
            return float(text)
        return {name.strip(): float(value) for name, _, value in (part.partition("=") for part in text.split(","))}
    except ValueError:
        refuse("threshold", "a number from 0 to 1, or one per method (rouge1=0.6,rougeL=0.5)", text)
