"""The options that several commands share, and how their values are read."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from krag_eval import DEFAULT_CUT_OFFS, InvalidInputError
from krag_eval._utils.checks import one_of
from krag_eval._utils.files.io import DASH, standard_streams
from krag_eval.cli.loading import load_embeddings
from krag_eval.datasets import LEVELS, EvalSet, Run, read_corpus, read_evalset, read_run
from krag_eval.datasets.formats.layout import FIELDS_OF, has_column
from krag_eval.datasets.formats.registry import FORMATS, check_format, detect
from krag_eval.datasets.formats.source import Source
from krag_eval.documents.document import Document
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
from krag_eval.metrics.names import DefaultCutOffs


def one_of_each(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return what completes the last of several names, separated by commas, in a shell."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [before + comma + name for name in names if name.startswith(last)]

    return complete


EvalSetFile = Annotated[Path, typer.Argument(metavar="EVALSET", help="Questions with their gold documents.")]
CutOffs = Annotated[str, typer.Option("--k", "-k", help="Comma-separated cut-offs; `all` scores every rank.")]
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


@dataclasses.dataclass(frozen=True, kw_only=True)
class FileOptions:
    """The options that say how the files of a command are read."""

    columns: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD=COLUMN,...",
            help="Columns with names of their own: gold=pos,retrieved=result. A name without a number stands for "
            "numbered columns: result stands for result 1, result 2 and so on.",
        ),
    ] = None
    sheet: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="The sheet of a workbook; repeat it to give each workbook its own."),
    ] = None
    encoding: Annotated[str | None, typer.Option(help="The encoding of files that are not UTF-8, such as cp949.")] = (
        None
    )
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="The format of a file that does not show it, such as `-`.",
            autocompletion=one_of_each(FORMATS),
        ),
    ] = None

    def evalset(self, path: Path, **settings: Any) -> EvalSet:
        """Read an evaluation set, as `read_evalset` does with these settings."""
        return read_evalset(path, **self.reading(path, "evalset"), **settings)

    def run(self, path: Path, questions: EvalSet | None = None, **settings: Any) -> Run:
        """Read a run, as `read_run` does with these settings."""
        return read_run(path, questions, **self.reading(path, "run"), **settings)

    def corpus(self, path: Path) -> list[Document]:
        """Read a corpus, as `read_corpus` does."""
        reading = self.reading(path, "corpus")
        del reading["format"]
        return read_corpus(path, **reading)

    def table(self, path: Path) -> dict[str, Any]:
        """Return `encoding` and `sheet` for a file."""
        return {"encoding": self.encoding, "sheet": self._sheet_of(path)}

    def arguments(self) -> list[str]:
        """Return these options as they are typed, for the command that comes next."""
        given: dict[str, list[str] | list[str | None]] = {
            "--columns": [self.columns],
            "--sheet": self.sheet or [],
            "--encoding": [self.encoding],
        }
        return [part for option, values in given.items() for value in values if value for part in (option, value)]

    def named_columns(self) -> dict[str, str]:
        """Return `question=query,gold=pos`, or the same as a JSON object, as a mapping.

        Raises:
            InvalidInputError: It is neither, or there is no such field.
        """
        text = (self.columns or "").strip()
        try:
            if text.startswith("{"):
                pairs = [(str(field), str(column)) for field, column in json.loads(text).items()]
            else:
                parts = [part.partition("=") for part in text.split(",") if part.strip()]
                pairs = [(field.strip(), column.strip()) for field, _, column in parts]
        except ValueError:
            pairs = [("", "")]
        if not all(field and column for field, column in pairs):
            raise InvalidInputError(f"`--columns` must be such as question=query,gold=pos, got {text!r:.80}.")
        known = tuple(dict.fromkeys(field for fields in FIELDS_OF.values() for field in fields))
        return {one_of("--columns", field, known): column for field, column in pairs}

    def reading(self, path: Path, kind: str) -> dict[str, Any]:
        """Return the settings with which the library reads a file."""
        table = self.table(path)
        return {"format": self._format_of(path), "columns": self._columns_of(path, kind, table), **table}

    def _columns_of(self, path: Path, kind: str, table: Mapping[str, Any]) -> dict[str, str] | None:
        """Return the columns of one of several files: none for fields that this one has under their own names."""
        given = self.named_columns()
        names = Source(path, **table).names if given else frozenset()
        if not names or all(field in FIELDS_OF[kind] for field in given):
            return given or None
        return {
            field: column
            for field, column in given.items()
            if has_column(names, column) or field not in (*names, "id", "question")
        }

    def _format_of(self, path: Path) -> str | None:
        if self.from_format is None or str(path) == DASH:
            return self.from_format
        check_format(self.from_format)
        try:
            detect(Source(path))
        except InvalidInputError:
            return self.from_format
        return None

    def _sheet_of(self, path: Path) -> str | None:
        if not self.sheet or Source(path).container != "xlsx":
            return None
        if len(self.sheet) == 1:
            return self.sheet[0]
        sheet = next(self._sheets, None)
        if sheet is None:
            raise InvalidInputError(f"`--sheet` is given {len(self.sheet)} times, and there are more workbooks.")
        return sheet

    @functools.cached_property
    def _sheets(self) -> Iterator[str]:
        return iter(self.sheet or ())


# What `-` is for a parameter that takes a path: standard output, or nothing that could be used. The rest is read.
_WRITTEN = frozenset({"target", "out", "per_query", "queue", "json_out", "markdown_out"})
_PRINTED = frozenset({"json_out", "markdown_out"})  # by the command itself, in the place of its tables
_NAMED = frozenset({"plots", "journals", "journal", "prompts", "output", "outbox"})
_RESUMED = frozenset({"run", "score_logs"})  # what they write is read when they resume


@contextlib.contextmanager
def dashes(command: str, given: Mapping[str, Any]) -> Iterator[None]:
    """Let `-` among the values of a command's parameters be standard input or output.

    Where a file goes to standard output, everything else that the command prints goes to stderr.

    Raises:
        InvalidInputError: A parameter cannot take it, or two would share it.
    """
    used = [
        name
        for name, value in given.items()
        for path in (value if isinstance(value, list) else [value])
        if isinstance(path, Path) and str(path) == DASH
    ]
    if not used:
        yield
        return
    for name in used:
        if name in _NAMED or (name == "out" and command in _RESUMED):
            raise InvalidInputError(
                f"`{_shown(name)}` needs a name, got '-': what is written there is read again later."
            )
    written = [name for name in used if name in _WRITTEN]
    read = [name for name in used if name not in _WRITTEN]
    for names, stream in ((read, "standard input, which can be read only once"), (written, "standard output")):
        if len(names) > 1:
            listed = " and ".join(f"`{_shown(name)}`" for name in names)
            raise InvalidInputError(f"{listed} are both '-', {stream}. Give a file for all but one of them.")
    others = contextlib.redirect_stdout(sys.stderr) if set(written) - _PRINTED else contextlib.nullcontext()
    with standard_streams(sys.stdout), others:
        yield


def _shown(name: str) -> str:
    """Return what a parameter is called on the command line."""
    names = {"evalset": "EVALSET", "runs": "RUN", "run": "RUN", "source": "IN", "target": "OUT", "outbox": "OUTBOX"}
    return names.get(name, f"--{name.removesuffix('_out').replace('_', '-')}")


def expand_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with one option for each field of the dataclasses among its parameters.

    Typer takes the options of a command from its signature. A command with a parameter `scoring: ScoringOptions` gets
    the fields of `ScoringOptions` in its place, and is called with an instance that holds their values.
    """
    hints = get_type_hints(command, include_extras=True)
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
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
        with dashes(command.__name__, given):
            command(**given)

    call.__dict__["__signature__"] = signature.replace(parameters=parameters)
    return call


_NAMES = re.compile(r"(?:\([^()]*\)|[^,])+")  # a comma between parentheses, as in f(a=1,b=2), ends no name


def parse_names(text: str | None) -> list[str] | None:
    """Return `recall,ndcg` as a list; None stays None."""
    return None if text is None else [name.strip() for name in _NAMES.findall(text) if name.strip()]


# Not literals: the values of users are other objects, even where they are equal.
DEFAULT_K, DEFAULT_COMPARED_K = (",".join(map(str, cut_offs)) for cut_offs in (DEFAULT_CUT_OFFS, (10,)))


def parse_cut_offs(text: str) -> Sequence[int | str | None]:
    """Return `1,5,10` as numbers; `all` becomes None, and a budget such as `2000tok` stays as it is.

    Where `--k` was not given, the cut-offs in the names of metrics replace its default.
    """
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
    return DefaultCutOffs(cut_offs) if text is DEFAULT_K or text is DEFAULT_COMPARED_K else cut_offs


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
