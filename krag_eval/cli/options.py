"""The options that several commands share, and how their values are read."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from krag_eval import DEFAULT_CUT_OFFS, InvalidInputError
from krag_eval._utils.limits import DEFAULT_LIMITS, set_limits
from krag_eval.cli.files import dashes
from krag_eval.cli.help import one_of_each
from krag_eval.cli.loading import load_embeddings
from krag_eval.datasets import LEVELS
from krag_eval.documents.text import normalize
from krag_eval.documents.tokenizers import TOKENIZERS
from krag_eval.matching.settings import (
    MATCH_METHODS,
    USUAL_THRESHOLDS,
    Containment,
    Gain,
    PrecisionDenominator,
    RougeMeasure,
    ScoringSettings,
)
from krag_eval.metrics import ALL_METRICS

EvalSetFile = Annotated[Path, typer.Argument(metavar="EVALSET", help="Questions with their gold documents.")]


def cut_offs_option(default: Sequence[int]) -> Any:
    """Return the option `--k` with this default."""
    shown = ",".join(map(str, default))
    return typer.Option("--k", "-k", help="Comma-separated cut-offs; `all` scores every rank.", show_default=shown)


CutOffs = Annotated[str | None, cut_offs_option(DEFAULT_CUT_OFFS)]
MetricNames = Annotated[
    str | None,
    typer.Option(help="Comma-separated metric names; all by default.", autocompletion=one_of_each(ALL_METRICS)),
]
Baseline = Annotated[
    str | None, typer.Option(metavar="NAME", help="The run to compare with: its file name, with or without the ending.")
]
SliceFields = Annotated[
    str | None,
    typer.Option(metavar="FIELD,...", help="Slice by these fields or metadata keys; by type, if present, by default."),
]
MissingRows = Annotated[
    str,
    typer.Option(
        help="If a run lacks rows that another has: `refuse` to compare, or score them as `empty`.",
        autocompletion=one_of_each(["refuse", "empty"]),
    ),
]
MaxBadRows = Annotated[
    int, typer.Option(help="Skip up to this many bad lines of a file and keep them in FILE.rejected.jsonl.")
]
Intervals = Annotated[
    bool, typer.Option("--intervals", help="Show 95 % confidence intervals. Needs scipy (extra stats).")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
JsonOut = Annotated[
    Path | None, typer.Option("--json", help="Write the results as JSON; `-` prints JSON instead of tables.")
]
Match = Annotated[
    str,
    typer.Option(
        help="id, text, containment, rouge1, rouge2, rougeL or embedding; of several, separated by commas, the first "
        "that matches decides.",
        autocompletion=one_of_each(MATCH_METHODS),
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        help="Minimum similarity of two matching texts, 0 to 1, or one per method: rouge1=0.6,rougeL=0.5. Default: "
        "0.5 for ROUGE, 0.7 for embedding."
    ),
]
Tokenizer = Annotated[
    str,
    typer.Option(
        help="words, rouge_score, characters, whitespace, kiwi or nltk.", autocompletion=one_of_each(TOKENIZERS)
    ),
]
RawText = Annotated[bool, typer.Option("--raw-text", help="Compare texts as they are, without normalizing them.")]
Level = Annotated[
    str,
    typer.Option(
        help="Score by chunk, or by document: by the source documents that the chunks come from.",
        autocompletion=one_of_each(LEVELS),
    ),
]
DocKey = Annotated[str, typer.Option(help="The metadata key that holds document ids.")]
IdKey = Annotated[
    str | None,
    typer.Option(help="Read ids only from this metadata key; .id reads a document's own id, not one in its metadata."),
]
GradeKey = Annotated[str, typer.Option(help="The metadata key that holds relevance grades.")]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScoringOptions:
    """The options that decide how documents are matched and scored."""

    match: Match = "id"
    threshold: Threshold = None
    rouge_measure: Annotated[
        str,
        typer.Option(
            help="fmeasure, recall (of the gold text) or precision.", autocompletion=one_of_each(get_args(RougeMeasure))
        ),
    ] = "fmeasure"
    containment: Annotated[
        str,
        typer.Option(
            help="either, gold_in_retrieved or retrieved_in_gold.", autocompletion=one_of_each(get_args(Containment))
        ),
    ] = "either"
    tokenizer: Tokenizer = "words"
    use_stemmer: Annotated[bool, typer.Option("--use-stemmer", help="Stem ASCII tokens with Porter's stemmer.")] = False
    raw_text: RawText = False
    embeddings: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:OBJECT",
            help="The embedding model for --match embedding: an object with an embedding method, a function from a "
            "list of texts to vectors, or a class or function that makes one. Modules in the current directory can be "
            "named.",
        ),
    ] = None
    embedding_prefix: Annotated[
        str, typer.Option(metavar="TEXT", help="Put this before each text to embed, such as 'passage: '.")
    ] = ""
    similarity_threshold: Annotated[
        float | None,
        typer.Option(help="Minimum cosine of pairs that match by ROUGE, 0 to 1. Needs --embeddings."),
    ] = None
    id_key: IdKey = None
    grade_key: GradeKey = "relevance"
    precision_denominator: Annotated[
        str,
        typer.Option(
            help="retrieved, or k as in trec_eval.", autocompletion=one_of_each(get_args(PrecisionDenominator))
        ),
    ] = "retrieved"
    gain: Annotated[
        str, typer.Option(help="exponential (2^grade - 1) or linear.", autocompletion=one_of_each(get_args(Gain)))
    ] = "exponential"

    def settings(self) -> ScoringSettings:
        """Return the scoring settings of the library.

        Raises:
            InvalidInputError: An option cannot be parsed, or the embedding model cannot be loaded.
        """
        return {
            "match_method": parse_names(self.match) or [],
            "threshold": parse_threshold(self.threshold),
            "rouge_measure": self.rouge_measure,
            "containment": self.containment,
            "tokenizer": self.tokenizer,
            "use_stemmer": self.use_stemmer,
            "normalize": None if self.raw_text else normalize,
            "embeddings": load_embeddings(self.embeddings, self.match, self.similarity_threshold),
            "embedding_prefix": self.embedding_prefix,
            "similarity_threshold": self.similarity_threshold,
            "id_key": self.id_key,
            "grade_key": self.grade_key,
            "precision_denominator": self.precision_denominator,
            "gain": self.gain,
        }


class RunScoringSettings(ScoringSettings, total=False):
    """The settings that `evaluate_run` takes beside those of `evaluate`."""

    level: str
    doc_key: str
    proxy: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunScoringOptions(ScoringOptions):
    """The options that decide how a run is scored against an evaluation set."""

    level: Level = "chunk"
    doc_key: DocKey = "doc_id"
    proxy: Annotated[bool, typer.Option("--proxy", help="Use doc_hit as recall for questions without gold chunks.")] = (
        False
    )

    def settings(self) -> RunScoringSettings:
        """Return the scoring settings of the library.

        Raises:
            InvalidInputError: An option cannot be parsed, or the embedding model cannot be loaded.
        """
        return {**super().settings(), "level": self.level, "doc_key": self.doc_key, "proxy": self.proxy}


_Limits = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=SIZE,...",
        help=f"Allow larger input, such as row=1GB; the limits are {', '.join(DEFAULT_LIMITS)}.",
    ),
]


def expand_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with one option for each field of the dataclasses among its parameters.

    Typer takes the options of a command from its signature. A command with a parameter `scoring: ScoringOptions` gets
    the fields of `ScoringOptions` in its place, and is called with an instance that holds their values.
    """
    hints = get_type_hints(command, include_extras=True)
    limits = inspect.Parameter("limits", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_Limits)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}
    signature = inspect.signature(command)
    parameters = []
    for name, parameter in signature.parameters.items():
        if name in groups:
            types = get_type_hints(groups[name], include_extras=True)
            parameters += [
                inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name]
                )
                for field in dataclasses.fields(groups[name])
            ]
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name]))

    @functools.wraps(command)
    def call(**given: Any) -> None:
        pairs = (part.partition("=")[::2] for part in (given.pop("limits") or "").split(",") if part.strip())
        set_limits(**{name.strip(): size for name, size in pairs})
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
        with dashes(command.__name__, given):
            command(**given)

    call.__dict__["__signature__"] = signature.replace(parameters=[*parameters, limits])
    return call


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
            raise InvalidInputError(
                f"`--k` must be positive integers separated by commas, such as 1,5,10, or `all`, got {text!r:.80}."
            )
    return cut_offs


def parse_threshold(text: str | None) -> float | Mapping[str, float]:
    """Return `0.5` as a number and `rouge1=0.6,rougeL=0.5` as one per method; None gives the defaults."""
    if text is None:
        return USUAL_THRESHOLDS
    try:
        if "=" not in text:
            return float(text)
        return {name.strip(): float(value) for name, _, value in (part.partition("=") for part in text.split(","))}
    except ValueError:
        raise InvalidInputError(
            f"`--threshold` must be a number from 0 to 1, or one per method (rouge1=0.6,rougeL=0.5), got {text!r}."
        ) from None
