"""The scoring settings: everything that can change a number, checked once and named in the signature."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from krag_eval._utils.checks import check_threshold, one_of
from krag_eval._utils.errors import InvalidInputError, show
from krag_eval._utils.formatting import qualified_name
from krag_eval._utils.suggestions import check_names
from krag_eval.documents.embeddings import EmbeddedTexts, describe_embeddings
from krag_eval.documents.text import Normalizer, normalize
from krag_eval.documents.tokenizers import TOKENIZERS, StemmingTokenizer, Tokenizer, as_tokenizer

if TYPE_CHECKING:
    from krag_eval.matching.spans import CorpusTexts

MATCH_METHODS = ("id", "text", "containment", "rouge1", "rouge2", "rougeL", "embedding", "span")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "rouge_measure": ("fmeasure", "recall", "precision"),
    "containment": ("either", "gold_in_retrieved", "retrieved_in_gold"),
    "span_measure": ("recall", "precision", "iou"),
    "precision_denominator": ("retrieved", "k"),
    "gain": ("exponential", "linear"),
    "unjudged": ("irrelevant", "remove"),
}
"""What the settings can be that are one of a few words; the first is the default."""


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
    NLTK = "nltk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The scoring settings, checked when they are made.

    What they mean is said in `ScoringSettings`.

    Attributes:
        methods: The methods by name, without repeats.
        thresholds: The threshold of each method.
        embedded: What the model said of texts; None where no method asks it.
        corpus_texts: The texts of the documents that chunks were cut from; None where no corpus was given.

    Raises:
        InvalidInputError: A value is not one of those listed.
    """

    match_method: str | Sequence[str] = "text"
    threshold: float | Mapping[str, float] = field(default_factory=lambda: USUAL_THRESHOLDS)
    rouge_measure: str = "fmeasure"
    containment: str = "either"
    tokenizer: Any = "words"
    use_stemmer: bool = False
    normalize: Normalizer | None = normalize
    id_key: str | None = None
    grade_key: str = "relevance"
    precision_denominator: str = "retrieved"
    gain: str = "exponential"
    unjudged: str = "irrelevant"
    count_tokens: Any = None
    embeddings: Any = None
    embedding_prefix: str = ""
    similarity_threshold: float | None = None
    span_measure: str = "recall"
    corpus: Any = None
    methods: tuple[str, ...] = field(init=False)
    thresholds: Mapping[str, float] = field(init=False)
    embedded: EmbeddedTexts | None = field(init=False, repr=False, compare=False)
    corpus_texts: CorpusTexts | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given: object = (self.match_method,) if isinstance(self.match_method, str) else self.match_method
        if not isinstance(given, Sequence) or not given:
            raise InvalidInputError(
                f"`match_method` must be a name or a list of names, got {show(self.match_method)}. "
                f"Known methods: {', '.join(MATCH_METHODS)}."
            )
        methods = tuple(dict.fromkeys(one_of("match_method", method, MATCH_METHODS) for method in given))
        object.__setattr__(self, "methods", methods)
        object.__setattr__(self, "thresholds", check_thresholds(self.threshold, methods))
        if self.uses_spans and len(methods) > 1:
            raise InvalidInputError("match_method='span' reads places alone. Leave the other methods out.")
        for name, words in CHOICES.items():
            one_of(name, getattr(self, name), words)
        if self.uses_rouge:
            as_tokenizer(self.tokenizer)
        object.__setattr__(self, "embedded", self._check_embeddings())
        object.__setattr__(self, "corpus_texts", self._read_corpus())
        if self.normalize is not None and not callable(self.normalize):
            raise InvalidInputError(
                f"`normalize` must be a function from text to text, or None for raw texts, got {show(self.normalize)}."
            )
        counter = self.count_tokens
        if isinstance(counter, str) or not (counter is None or callable(counter) or hasattr(counter, "encode")):
            raise InvalidInputError(
                "`count_tokens` must be a function from a text to a number, or an object with `encode`, "
                f"got {show(counter)}."
            )
        if not isinstance(self.use_stemmer, bool):
            raise InvalidInputError(f"`use_stemmer` must be True or False, got {show(self.use_stemmer)}.")
        for name in ("id_key", "grade_key"):
            value = getattr(self, name)
            if not (isinstance(value, str) and value) and not (name == "id_key" and value is None):
                raise InvalidInputError(f"`{name}` must be a metadata key, got {show(value)}. Give a string.")

    def _check_embeddings(self) -> EmbeddedTexts | None:
        if self.similarity_threshold is not None:
            check_threshold(self.similarity_threshold, "similarity_threshold")
            if "embedding" in self.methods and not self.uses_rouge:
                raise InvalidInputError(
                    "`similarity_threshold` is a condition beside ROUGE, and match_method='embedding' uses none. "
                    "Give the cosine from which texts match as `threshold`."
                )
        if not self.uses_embeddings:
            return None
        needed_by = "match_method='embedding'" if "embedding" in self.methods else "`similarity_threshold`"
        return EmbeddedTexts(self.embeddings, self.embedding_prefix, needed_by)

    def _read_corpus(self) -> CorpusTexts | None:
        if self.corpus is None:
            return None
        if not self.uses_spans:
            raise InvalidInputError("`corpus` says where chunks lie, for match_method='span'. Leave it out.")
        from krag_eval.matching.spans import CorpusTexts  # most sets have no spans

        return CorpusTexts.of(self.corpus, self.id_key)

    def without_model(self) -> Settings:
        """Return the settings with the name of the embedding model in its place, and the vectors that it gave."""
        settings = copy.copy(self)
        if self.embedded is not None:
            name = describe_embeddings(self.embeddings)
            object.__setattr__(settings, "embeddings", name)
            object.__setattr__(settings, "embedded", self.embedded.without_model(name))
        return settings

    @property
    def uses_rouge(self) -> bool:
        """Whether texts are tokenized."""
        return any(method in ROUGE_METHODS for method in self.methods)

    @property
    def uses_embeddings(self) -> bool:
        """Whether texts are embedded."""
        return "embedding" in self.methods or (self.similarity_threshold is not None and self.uses_rouge)

    @property
    def uses_texts(self) -> bool:
        """Whether any method reads texts."""
        return self.methods not in (("id",), ("span",))

    @property
    def uses_spans(self) -> bool:
        """Whether places in documents are matched."""
        return "span" in self.methods

    @property
    def uses_ids(self) -> bool:
        """Whether a method reads ids."""
        return "id" in self.methods

    def load_tokenizer(self) -> Tokenizer:
        """Return the tokenizer that the settings name, with the stemmer if it was asked for."""
        tokenizer = as_tokenizer(self.tokenizer)
        return StemmingTokenizer(tokenizer) if self.use_stemmer else tokenizer

    def describe_counting(self) -> str:
        """Return the part of the signature that says how tokens are counted, where a budget of them is a cut-off."""
        return f"count:{'words' if self.count_tokens is None else qualified_name(self.count_tokens)}"

    def describe(self) -> list[str]:
        """Return the parts of the signature that the settings decide, in their fixed order."""
        parts = [f"match:{'+'.join(map(self._describe_method, self.methods))}"]
        if self.uses_rouge:
            parts += [f"measure:{self.rouge_measure}", f"tok:{tokenizer_name(self.tokenizer)}"]
            parts += [f"stem:{'yes' if self.use_stemmer else 'no'}"]
        if self.uses_embeddings:
            parts += [f"emb:{describe_embeddings(self.embeddings)}"]
            parts += [f"embprefix:{self.embedding_prefix!r}"] if self.embedding_prefix else []
        if self.uses_spans:
            parts += [f"spanmeasure:{self.span_measure}"]
            parts += [f"dockey:{self.id_key}"] if self.id_key else []
            parts += [] if self.corpus_texts is None else [f"corpus:{len(self.corpus_texts)}"]
        if self.uses_texts:
            parts += [f"norm:{normalizer_name(self.normalize)}"]
        if self.uses_ids and self.id_key is not None:
            parts += [f"idkey:{self.id_key}"]
        if self.grade_key != "relevance":
            parts += [f"gradekey:{self.grade_key}"]
        gain = "exp" if self.gain == "exponential" else "lin"
        parts += ["repeat:once", f"pden:{self.precision_denominator}", f"gain:{gain}"]
        return parts if self.unjudged == "irrelevant" else [*parts, f"unjudged:{self.unjudged}"]

    def _describe_method(self, method: str) -> str:
        if method == "containment":
            return f"{method}({self.containment})"
        if method not in THRESHOLD_METHODS:
            return method
        text = f"{method}>={_shortest(self.thresholds[method])}"
        if method == "embedding" or self.similarity_threshold is None:
            return text
        return f"{text}&embedding>={_shortest(self.similarity_threshold)}"


class IdSettings(TypedDict, total=False):
    """The scoring settings that matter where documents are nothing but ids; `ScoringSettings` says what they mean."""

    precision_denominator: str
    gain: str
    unjudged: str


class CommonSettings(IdSettings, total=False):
    """Those that every evaluator takes as keywords."""

    rouge_measure: str
    containment: str
    use_stemmer: bool
    normalize: Normalizer | None
    id_key: str | None
    grade_key: str
    count_tokens: Any
    embedding_prefix: str


class FurtherSettings(CommonSettings, total=False):
    """Those that the evaluators of one condition take."""

    embeddings: Any
    similarity_threshold: float | None


class TextSettings(FurtherSettings, total=False):
    """Those of functions that have a corpus of their own, in which no places are looked for."""

    match_method: str | Sequence[str]
    threshold: float | Mapping[str, float]
    tokenizer: Any


class PlaceSettings(TextSettings, total=False):
    """Those of functions that say themselves what their corpus is."""

    span_measure: str


class ScoringSettings(PlaceSettings, total=False):
    """All scoring settings, which `evaluate` and most other functions take as keyword arguments.

    Attributes:
        match_method: `"id"`, `"text"` (the default), `"containment"`, `"rouge1"`, `"rouge2"`, `"rougeL"`,
            `"embedding"`, or a list of these: the first method that matches two documents counts. `"span"` matches
            places: gold spans, and chunks that say from where in which document they are or are found in `corpus`.
        threshold: The similarity from which two texts match, 0 to 1. A mapping gives one for each method. By default
            0.5 for ROUGE and spans, 0.7 for embeddings.
        rouge_measure: `"fmeasure"` (the default), `"recall"` (of the gold text) or `"precision"`.
        containment: `"either"` (the default), `"gold_in_retrieved"` or `"retrieved_in_gold"`.
        tokenizer: `"words"` (the default), `"rouge_score"`, `"characters"`, `"whitespace"`, `"kiwi"`, `"nltk"`, an
            object with `tokenize(text)`, or a function.
        use_stemmer: Whether to apply Porter's stemmer to ASCII tokens, as rouge_score does.
        normalize: A function that is applied to texts before they are compared as wholes. None compares raw texts.
            By default `krag_eval.normalize`.
        id_key: Read ids only from the metadata under this key, for example `"doc_id"` to score chunks by document. Gold
            without metadata and text, such as `gold_chunk_ids`, keeps its id. `".id"` reads the id that each document
            itself has, such as LangChain's `Document.id`; by default, an id in the metadata of a LangChain document
            wins over it. With `"span"` the key of the document that a chunk was cut from, by default `"doc_id"`.
        grade_key: Read the grades of gold documents from the metadata under this key, by default `"relevance"`.
        precision_denominator: `"retrieved"` (the default) divides by min(k, number retrieved), `"k"` by k as TREC
            does.
        gain: `"exponential"` (2^grade - 1, the default) or `"linear"` (the grade).
        unjudged: What retrieved documents without a grade count as: `"irrelevant"` (the default), or `"remove"` to
            score the condensed rankings without them, as trec_eval does with `-J`.
        count_tokens: Counts the tokens of a text for cut-offs such as `"2000tok"`: a function, or an object with
            `encode(text)` such as tiktoken's encodings. By default words are counted.
        embeddings: The model of `"embedding"`: a LangChain `Embeddings`, a LlamaIndex embedding model, an object with
            `encode(texts)`, or a function from a list of texts to vectors. Each different text is embedded once, and
            cosines are rounded to six decimals before they are compared with the threshold.
        embedding_prefix: Text to put before each text that is embedded, such as `"passage: "`.
        similarity_threshold: The cosine under the model that texts matched by ROUGE must reach as well. By default
            ROUGE alone decides.
        span_measure: What the threshold of `"span"` is a share of: `"recall"` of the gold span (the default),
            `"precision"` of the chunk, or `"iou"` of both together.
        corpus: The whole documents, as `{id: text}` or a list of documents, for `"span"`. Chunks that do not say their
            place are looked for in it, and spans and offsets are checked.
    """

    corpus: Any


def make_settings(**settings: Unpack[ScoringSettings]) -> Settings:
    """Check keyword arguments and make `Settings` of them.

    Raises:
        InvalidInputError: A name is no setting, or a value cannot be used.
    """
    if not settings.keys() <= ScoringSettings.__annotations__.keys():
        check_names(settings, ScoringSettings.__annotations__)
    return Settings(**settings)


ROUGE_METHODS = ("rouge1", "rouge2", "rougeL")
THRESHOLD_METHODS = (*ROUGE_METHODS, "embedding", "span")
DEFAULT_THRESHOLD = 0.5
"""Of ROUGE and of spans."""
DEFAULT_SIMILARITY_THRESHOLD = 0.7
"""Of cosines: under many models unrelated texts have 0.3 to 0.6."""
USUAL_THRESHOLDS: Mapping[str, float] = {
    **dict.fromkeys(ROUGE_METHODS, DEFAULT_THRESHOLD),
    "embedding": DEFAULT_SIMILARITY_THRESHOLD,
    "span": DEFAULT_THRESHOLD,
}
"""The threshold of each method where none is given; it may be passed whatever the methods in use are."""


def check_thresholds(given: object, methods: Sequence[str]) -> dict[str, float]:
    """Return the threshold of each method that is in use; the default of those that a mapping does not name.

    Args:
        given: One for all, or a mapping from methods to theirs.
        methods: The methods in use.

    Raises:
        InvalidInputError: One is no number from 0 to 1, or of a method that is not in use.
    """
    per_method = given if isinstance(given, Mapping) else dict.fromkeys(methods, given)
    if given != USUAL_THRESHOLDS:
        for name in per_method:
            one_of("threshold", name, methods)
    used = [method for method in methods if method in THRESHOLD_METHODS or method in per_method]
    return {method: check_threshold(per_method.get(method, USUAL_THRESHOLDS.get(method))) for method in used}


def tokenizer_name(tokenizer: object) -> str:
    """Return the name of one of `TOKENIZERS`, or the qualified name of another tokenizer."""
    if isinstance(tokenizer, str):
        return str(tokenizer)
    by_class: dict[type, str] = {type(known): name for name, known in TOKENIZERS.items()}
    return by_class.get(type(tokenizer)) or qualified_name(tokenizer)


def normalizer_name(normalizer: Normalizer | None) -> str:
    """Return `nfkc-casefold` for the normalizer of this package, `none` for none, else its qualified name."""
    if normalizer is None:
        return "none"
    return "nfkc-casefold" if normalizer is normalize else qualified_name(normalizer)


def _shortest(number: float) -> str:
    """Return the number in as few digits as tell it from every other."""
    return str(int(number)) if number == int(number) else repr(number)
