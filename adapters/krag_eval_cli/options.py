"""The options of the commands, and how their values are read.

`declaring.py` makes options of the parameters of a command, as its docstring describes them; `{tokenizer}` stands for
all that this option can be. Those that several commands share:

Parameters:
    evalset (EVALSET): Questions with their gold documents.
    metrics (NAME,NAME,...): Comma-separated metric names; {usual_metrics} by default.
    baseline (NAME): The run to compare with: its file name, with or without the ending.
    by (FIELD,...): Slice by these fields or metadata keys; by type, if present, by default.
    missing: If a run lacks rows that another has: `refuse` to compare, or score them as `empty`.
    max_bad_rows: Skip up to this many bad lines of a file and keep them in FILE.rejected.jsonl.
    intervals: Show 95 % confidence intervals. Needs scipy (extra stats).
    cluster (FIELD): Treat questions that share this as one cluster in intervals and tests: a field or metadata key,
        gold for shared gold documents, or id for none.
    force: Overwrite existing files.
    json_out (--json): Write the results as JSON; `-` prints JSON instead of tables.
    k (--k -k K,K,...): Comma-separated cut-offs; `all` scores every rank.
    match (NAME,NAME,...): {match}; of several, separated by commas, the first that matches decides. Only span, the
        places of chunks and gold in documents, stands alone.
    threshold: Minimum similarity of two matching texts, 0 to 1, or one per method: rouge1=0.6,rougeL=0.5. Default: 0.5
        for ROUGE and span, 0.7 for embedding.
    tokenizer: {tokenizer}.
    raw_text: Compare texts as they are, without normalizing them.
    level: Score by chunk, or by document: by the source documents that the chunks come from.
    doc_key (KEY): The metadata key that holds document ids, or several, as for --id-key.
    id_key (KEY): Read ids only from this metadata key; source.url reads nested metadata, source,page makes an id of two
        values, and .id reads a document's own id, not one in its metadata.
    id_map: Compare ids without their paths (basename), also without a suffix such as .pdf (stem), in lower case
        (casefold), or without zeros before numbers (strip_zeros).
    grade_key (KEY): The metadata key that holds relevance grades.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from krag_eval.toolkit import DEFAULT_CUT_OFFS, parse_json, refuse
from krag_eval_cli.loading import load_embeddings

# What a shell completes, by parameter; a docstring may name them in braces. A text is the key of `CHOICES_OF` in the
# core, which is imported when they are asked for; else they are the words themselves.
_SAME = "containment flatten gain id_map level metrics precision_denominator repeated rouge_measure span_measure"
VALUES: Mapping[str, str | tuple[str, ...]] = {
    **{name: name for name in (*_SAME.split(), "limits", "tokenizer", "unjudged", "usual_metrics")},
    "match": "match_method",
    "from_format": "read_format",
    "to_format": "written_format",
    "missing": ("refuse", "empty"),
    "to": ("chunks", "spans"),
    "format": ("html", "md", "json", "csv"),
    "names": ("plain", "safe"),
}


def values_of(name: str) -> list[str]:
    """Return what an option can be."""
    where = VALUES[name]
    if isinstance(where, str):
        from krag_eval.toolkit import CHOICES_OF  # slow to import

        given = CHOICES_OF[where]
        found = list(given() if callable(given) else given)
        return [*found, "all"] if name == "metrics" else found
    return list(where)


class Declared(NamedTuple):
    """What the annotation of a parameter says about its option beside the type: `Annotated[int, Declared(least=0)]`.

    Attributes:
        default: What is shown as the default, in place of its value.
        least: The least number.
    """

    default: str | None = None
    least: float | None = None


def cut_offs_of(function: Any) -> Sequence[int | str | None]:
    """Return the cut-offs that a function of the library takes by default."""
    found: Sequence[int | str | None] = inspect.signature(function).parameters["k"].default
    return found


def cut_offs_option(default: Sequence[int | str | None]) -> Declared:
    """Return the option `--k` with this default."""
    return Declared(",".join(map(str, default)))


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
        from krag_eval import normalize

        same = {name: value for name, value in vars(self).items() if name not in ("match", "raw_text", "threshold")}
        return same | {
            "match_method": parse_names(self.match) or [],
            **parse_threshold(self.threshold),
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
        from krag_eval import read_corpus

        return super().settings() | {"corpus": None if self.corpus is None else read_corpus(self.corpus)}


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


def parse_threshold(text: str | None) -> dict[str, Any]:
    """Return the setting `threshold`: `0.5` as a number, `rouge1=0.6,rougeL=0.5` as one per method; none without it."""
    if text is None:
        return {}
    try:
        if "=" not in text:
            return {"threshold": float(text)}
        parts = [part.partition("=") for part in text.split(",")]
        return {"threshold": {name.strip(): float(value) for name, _, value in parts}}
    except ValueError:
        refuse("threshold", "a number from 0 to 1, or one per method (rouge1=0.6,rougeL=0.5)", text)


def parse_parameters(given: Sequence[str]) -> dict[str, Any]:
    """Return `chunk_size=500` as a name and a value; numbers, true, false and null are parsed as JSON."""
    parameters: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            refuse("param", "name=value, such as chunk_size=500", text)
        try:
            parameters[name.strip()] = parse_json(value)
        except ValueError:
            parameters[name.strip()] = value
    return parameters
