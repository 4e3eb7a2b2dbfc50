"""Everything that can change a number, checked once, and the signature that says it in one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Literal, TypedDict, Unpack, get_args

from krag_eval.checks import check_threshold, one_of
from krag_eval.errors import InvalidInputError, did_you_mean
from krag_eval.text import Normalizer, normalize
from krag_eval.tokenizers import TOKENIZERS, Tokenizer
from krag_eval.tokenizing import StemmingTokenizer, as_tokenizer

MatchMethod = Literal["id", "text", "containment", "rouge1", "rouge2", "rougeL"]
RougeMeasure = Literal["fmeasure", "recall", "precision"]
Containment = Literal["either", "gold_in_retrieved", "retrieved_in_gold"]
PrecisionDenominator = Literal["retrieved", "k"]
Gain = Literal["exponential", "linear"]

MATCH_METHODS: tuple[str, ...] = get_args(MatchMethod)
ROUGE_METHODS = ("rouge1", "rouge2", "rougeL")
DEFAULT_THRESHOLD = 0.5


class AveragingMethod(StrEnum):
    """Which means the evaluators return for recall, precision and F1."""

    MICRO = "micro"
    MACRO = "macro"
    BOTH = "both"


class MatchingCriteria(StrEnum):
    """When a query is a hit: `all` of its gold documents are found, or at least one (`partial`)."""

    ALL = "all"
    PARTIAL = "partial"


class TokenizerType(StrEnum):
    """The tokenizers under the names that the package krag gives them."""

    KIWI = "kiwi"
    WHITESPACE = "whitespace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The scoring settings, checked when they are made.

    Attributes:
        match_method: One method or several; of several, the first that holds wins.
        threshold: The similarity from which a ROUGE method matches: one number, or one a method.
        rouge_measure: Which of ROUGE's numbers is compared with the threshold.
        containment: Which text has to be contained in the other.
        tokenizer: A name of `TOKENIZERS`, an object with `tokenize(text)`, or a function.
        use_stemmer: Porter's stemmer on ASCII tokens, as in rouge_score.
        normalize: What is done to texts before they are compared as wholes; None compares them raw.
        id_key: Read ids from the metadata under this key alone.
        grade_key: Read grades of gold documents from the metadata under this key.
        precision_denominator: Divide by the number retrieved (at most k) or by k.
        gain: The gain of a grade in nDCG: 2^grade - 1, or the grade.
        count_tokens: What counts the tokens of a text for cut-offs such as `"2000tok"`: a function, or an object with
            `encode(text)`; None counts words.

    Raises:
        InvalidInputError: A value is not one of those listed.
    """

    match_method: str | Sequence[str] = "text"
    threshold: float | Mapping[str, float] = DEFAULT_THRESHOLD
    rouge_measure: str = "fmeasure"
    containment: str = "either"
    tokenizer: Any = "words"
    use_stemmer: bool = False
    normalize: Normalizer | None = normalize
    id_key: str | None = None
    grade_key: str = "relevance"
    precision_denominator: str = "retrieved"
    gain: str = "exponential"
    count_tokens: Any = None
    methods: tuple[str, ...] = field(init=False)
    thresholds: Mapping[str, float] = field(init=False)

    def __post_init__(self) -> None:
        given: object = (self.match_method,) if isinstance(self.match_method, str) else self.match_method
        if not isinstance(given, Sequence) or not given:
            raise InvalidInputError(
                f"`match_method` must be a name or a list of names, got {self.match_method!r:.60}. "
                f"Known methods: {', '.join(MATCH_METHODS)}."
            )
        methods = tuple(dict.fromkeys(one_of("match_method", method, MATCH_METHODS) for method in given))
        per_method = self.threshold if isinstance(self.threshold, Mapping) else dict.fromkeys(methods, self.threshold)
        for name in per_method:
            one_of("threshold", name, methods)
        thresholds = {m: check_threshold(per_method.get(m, DEFAULT_THRESHOLD)) for m in methods}
        object.__setattr__(self, "methods", methods)
        object.__setattr__(self, "thresholds", thresholds)
        one_of("rouge_measure", self.rouge_measure, get_args(RougeMeasure))
        one_of("containment", self.containment, get_args(Containment))
        one_of("precision_denominator", self.precision_denominator, get_args(PrecisionDenominator))
        one_of("gain", self.gain, get_args(Gain))
        if self.uses_rouge:
            as_tokenizer(self.tokenizer)
        if self.normalize is not None and not callable(self.normalize):
            raise InvalidInputError(
                f"`normalize` must be a function from text to text, or None for raw texts, got {self.normalize!r:.60}."
            )
        counter = self.count_tokens
        if isinstance(counter, str) or not (counter is None or callable(counter) or hasattr(counter, "encode")):
            raise InvalidInputError(
                "`count_tokens` must be a function from a text to a number, or an object with `encode`, "
                f"got {counter!r:.60}."
            )
        if not isinstance(self.use_stemmer, bool):
            raise InvalidInputError(f"`use_stemmer` must be True or False, got {self.use_stemmer!r:.60}.")
        for name in ("id_key", "grade_key"):
            value = getattr(self, name)
            if not (isinstance(value, str) and value) and not (name == "id_key" and value is None):
                raise InvalidInputError(f"`{name}` must be a metadata key, got {value!r:.60}. Give a string.")

    @property
    def uses_rouge(self) -> bool:
        """Whether texts are tokenized."""
        return any(method in ROUGE_METHODS for method in self.methods)

    @property
    def uses_texts(self) -> bool:
        """Whether any method reads texts."""
        return self.methods != ("id",)

    @property
    def uses_ids(self) -> bool:
        """Whether a method reads ids."""
        return "id" in self.methods

    def load_tokenizer(self) -> Tokenizer:
        """The tokenizer that the settings name, with the stemmer where it was asked for."""
        tokenizer = as_tokenizer(self.tokenizer)
        return StemmingTokenizer(tokenizer) if self.use_stemmer else tokenizer

    def describe_counting(self) -> str:
        """The part of the signature that says how tokens are counted, where a budget of them is a cut-off."""
        return f"count:{'words' if self.count_tokens is None else _qualified_name(self.count_tokens)}"

    def describe(self) -> list[str]:
        """The parts of the signature that the settings decide, in their fixed order."""
        match = [
            f"{m}>={_shortest(self.thresholds[m])}"
            if m in ROUGE_METHODS
            else f"{m}({self.containment})"
            if m == "containment"
            else m
            for m in self.methods
        ]
        parts = [f"match:{'+'.join(match)}"]
        if self.uses_rouge:
            parts += [f"measure:{self.rouge_measure}", f"tok:{_tokenizer_name(self.tokenizer)}"]
            parts += [f"stem:{'yes' if self.use_stemmer else 'no'}"]
        if self.uses_texts:
            parts += [f"norm:{_normalizer_name(self.normalize)}"]
        if self.uses_ids and self.id_key is not None:
            parts += [f"idkey:{self.id_key}"]
        if self.grade_key != "relevance":
            parts += [f"gradekey:{self.grade_key}"]
        gain = "exp" if self.gain == "exponential" else "lin"
        return [*parts, "repeat:once", f"pden:{self.precision_denominator}", f"gain:{gain}"]


def _tokenizer_name(tokenizer: object) -> str:
    if isinstance(tokenizer, str):
        return str(tokenizer)
    by_class: dict[type, str] = {type(known): name for name, known in TOKENIZERS.items()}
    return by_class.get(type(tokenizer)) or _qualified_name(tokenizer)


def _normalizer_name(normalizer: Callable[[str], str] | None) -> str:
    if normalizer is None:
        return "none"
    return "nfkc-casefold" if normalizer is normalize else _qualified_name(normalizer)


def _qualified_name(thing: object) -> str:
    owner: Any = thing if hasattr(thing, "__qualname__") else type(thing)
    module = getattr(owner, "__module__", None)  # a method of a built-in type has none
    return f"{module}.{owner.__qualname__}" if module else str(owner.__qualname__)


def _shortest(number: float) -> str:
    """The number in as few digits as tell it from every other."""
    return str(int(number)) if number == int(number) else repr(number)


class FurtherSettings(TypedDict, total=False):
    """The scoring settings that the evaluators take as keywords; what they mean stands at `Settings`."""

    rouge_measure: str
    containment: str
    use_stemmer: bool
    normalize: Normalizer | None
    id_key: str | None
    grade_key: str
    precision_denominator: str
    gain: str
    count_tokens: Any


class ScoringSettings(FurtherSettings, total=False):
    """All scoring settings as keyword arguments."""

    match_method: str | Sequence[str]
    threshold: float | Mapping[str, float]
    tokenizer: Any


def make_settings(**settings: Unpack[ScoringSettings]) -> Settings:
    """Check keyword arguments and make `Settings` of them.

    Raises:
        InvalidInputError: A name is no setting, or a value cannot be used.
    """
    for name in settings:
        if name not in (known := [f.name for f in fields(Settings) if f.init]):
            raise InvalidInputError(
                f"There is no setting {name!r}.{did_you_mean(name, known)} Known settings: {', '.join(known)}."
            )
    return Settings(**settings)
