"""The scoring settings: everything that can change a number, checked once and named in the signature."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from krag_eval._utils.checks import check_number, one_of, value_of
from krag_eval._utils.errors import Argument, InvalidInputError, refuse
from krag_eval._utils.formatting import qualified_name
from krag_eval._utils.suggestions import check_names
from krag_eval.documents.embeddings import EmbeddedTexts, describe_embeddings
from krag_eval.documents.id_maps import IdMap, as_id_map, id_map_name, mapped
from krag_eval.documents.readers import IdKey
from krag_eval.documents.text import Normalizer, normalize
from krag_eval.documents.tokenizers import TOKENIZERS, StemmingTokenizer, Tokenizer, as_tokenizer

if TYPE_CHECKING:
    from krag_eval.matching.spans import CorpusTexts

ROUGE_METHODS = (*(f"rouge{n}" for n in range(1, 10)), "rougeL", "rougeLsum")
MATCH_METHODS = ("id", "text", "containment", *ROUGE_METHODS, "embedding", "span")
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
    id_key: IdKey | None = None
    id_map: Any = None
    grade_key: str = "relevance"
    precision_denominator: str = "retrieved"
    gain: str = "exponential"
    unjudged: str = "irrelevant"
    relevance_level: float | None = None
    exclude_self: bool = False
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
        for name in ("match_method", "tokenizer", *CHOICES):
            object.__setattr__(self, name, value_of(getattr(self, name)))
        given: object = (self.match_method,) if isinstance(self.match_method, str) else self.match_method
        if not isinstance(given, Sequence) or not given:
            cure = f"Known methods: {', '.join(MATCH_METHODS)}."
            refuse("match_method", "a name or a list of names", self.match_method, cure)
        methods = tuple(dict.fromkeys(one_of("match_method", method, MATCH_METHODS) for method in given))
        object.__setattr__(self, "methods", methods)
        object.__setattr__(self, "thresholds", check_thresholds(self.threshold, methods))
        if self.uses_spans and len(methods) > 1:
            raise InvalidInputError(
                Argument("match_method", "span"), " reads places alone. Leave the other methods out."
            )
        for name, words in CHOICES.items():
            one_of(name, getattr(self, name), words)
        if self.uses_rouge:
            as_tokenizer(self.tokenizer)
        object.__setattr__(self, "embedded", self._check_embeddings())
        object.__setattr__(self, "corpus_texts", self._read_corpus())
        if self.normalize is not None and not callable(self.normalize):
            refuse("normalize", "a function from text to text, or None for raw texts", self.normalize)
        counter = self.count_tokens
        if isinstance(counter, str) or not (counter is None or callable(counter) or hasattr(counter, "encode")):
            refuse("count_tokens", "a function from a text to a number, or an object with `encode`", counter)
        if self.relevance_level is not None:
            check_number("relevance_level", self.relevance_level, "It is the lowest grade that counts.", above=0)
        for name in ("use_stemmer", "exclude_self"):
            if not isinstance(getattr(self, name), bool):
                refuse(name, "True or False", getattr(self, name))
        if self.id_map is not None:
            as_id_map(self.id_map)
        grade_key: object = self.grade_key
        if not isinstance(grade_key, str) or not grade_key:
            refuse("grade_key", "a metadata key", grade_key, "Give a string.")
        object.__setattr__(self, "id_key", check_key("id_key", self.id_key))

    def _check_embeddings(self) -> EmbeddedTexts | None:
        if self.similarity_threshold is not None:
            check_number("similarity_threshold", self.similarity_threshold, SIMILARITY, least=0, most=1)
            if "embedding" in self.methods and not self.uses_rouge:
                raise InvalidInputError(
                    Argument("similarity_threshold"),
                    " is a condition beside ROUGE, and ",
                    Argument("match_method", "embedding"),
                    " uses none. Give the cosine from which texts match as ",
                    Argument("threshold"),
                    ".",
                )
        if not self.uses_embeddings:
            return None
        by_method = "embedding" in self.methods
        needed_by = Argument("match_method", "embedding") if by_method else Argument("similarity_threshold")
        return EmbeddedTexts(self.embeddings, self.embedding_prefix, needed_by)

    def _read_corpus(self) -> CorpusTexts | None:
        if self.corpus is None:
            return None
        if not self.uses_spans:
            raise InvalidInputError(
                Argument("corpus"), " says where chunks lie, for ", Argument("match_method", "span"), ". Leave it out."
            )
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

    def check_excluding(self, *, has_query_ids: bool = True) -> None:
        """Refuse `exclude_self` if there are no ids to compare.

        Raises:
            InvalidInputError: It is given without the ids of queries, or for matching by text alone.
        """
        if self.exclude_self and not (has_query_ids and self.uses_ids):
            raise InvalidInputError(
                Argument("exclude_self", True),
                " compares the ids of documents with those of queries. Give `query_ids`, or `query_id` for one row, "
                "and ",
                Argument("match_method", "id"),
                ".",
            )

    @property
    def uses_ids(self) -> bool:
        """Whether a method reads ids."""
        return "id" in self.methods

    @property
    def reading(self) -> dict[str, Any]:
        """How documents are read, as keywords of a `Side`."""
        id_map = None if self.id_map is None else as_id_map(self.id_map)
        return {"id_key": self.id_key, "grade_key": self.grade_key, "id_map": id_map}

    def mapped(self, ids: Sequence[Any]) -> list[Any]:
        """Return ids as they are compared, each as `id_map` writes it."""
        return list(ids) if self.id_map is None else mapped(ids, as_id_map(self.id_map))

    @property
    def method_argument(self) -> Argument:
        """The argument that chooses the methods, for messages."""
        return Argument("match_method", self.methods[0] if len(self.methods) == 1 else list(self.methods))

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
            parts += [f"dockey:{key_name(self.id_key)}"] if self.id_key else []
            parts += [] if self.corpus_texts is None else [f"corpus:{len(self.corpus_texts)}"]
        if self.uses_texts:
            parts += [f"norm:{normalizer_name(self.normalize)}"]
        if self.uses_ids and self.id_key is not None:
            parts += [f"idkey:{key_name(self.id_key)}"]
        if self.uses_ids and self.id_map is not None:
            parts += [f"idmap:{id_map_name(self.id_map)}"]
        if self.grade_key != "relevance":
            parts += [f"gradekey:{self.grade_key}"]
        parts += ["self:excluded"] if self.exclude_self else []
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
    relevance_level: float | None
    exclude_self: bool
    id_map: str | IdMap | None


class CommonSettings(IdSettings, total=False):
    """Those that every evaluator takes as keywords."""

    rouge_measure: str
    containment: str
    use_stemmer: bool
    normalize: Normalizer | None
    id_key: IdKey | None
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
        match_method: `"id"`, `"text"` (the default), `"containment"`, `"rouge1"`, `"rouge2"`, `"rouge3"`, `"rouge4"`,
            `"rouge5"`, `"rouge6"`, `"rouge7"`, `"rouge8"`, `"rouge9"`, `"rougeL"`, `"rougeLsum"` (line by line),
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
            wins over it. `"source.url"` reads the value under `url` in the mapping under `source`. `("source", "page")`
            makes an id of two values; gold is then a mapping with these keys, or a list in their order. With `"span"`
            the key of the document that a chunk was cut from, by default `"doc_id"`.
        id_map: Compare ids as a function writes them, or one of `"basename"` (without the path), `"stem"` (without path
            and a suffix such as `.pdf`), `"casefold"` (in lower case) and `"strip_zeros"` (`doc007` as `doc7`, `12.0`
            as `12`); these four also remove white space around it.
        grade_key: Read the grades of gold documents from the metadata under this key, by default `"relevance"`.
        precision_denominator: `"retrieved"` (the default) divides by min(k, number retrieved), `"k"` by k as TREC
            does.
        gain: `"exponential"` (2^grade - 1, the default) or `"linear"` (the grade).
        unjudged: What retrieved documents without a grade count as: `"irrelevant"` (the default), or `"remove"` to
            score the condensed rankings without them, as trec_eval does with `-J`.
        relevance_level: The grade from which on a gold document counts, for every binary metric that does not name one
            itself: `recall@5` is then scored as `recall(rel=2)@5`, as trec_eval does with `-l 2`. By default every
            grade above 0 counts.
        exclude_self: Leave out retrieved documents that have the id of their query, where queries are documents of the
            corpus. Takes the ids of the queries, and documents that are matched by id.
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


def check_key(name: str, given: Any) -> IdKey | None:
    """Return the key, or the keys, under which ids are read.

    Raises:
        InvalidInputError: It is neither a string nor a list of strings, or one of them is empty.
    """
    keys = (given,) if isinstance(given, str) else given
    if given is not None and not (
        isinstance(keys, (list, tuple)) and keys and all(isinstance(k, str) and k for k in keys)
    ):
        refuse(name, "a metadata key, or a list of several", given, "Give a string, such as 'source' or 'source.url'.")
    return given if given is None or isinstance(given, str) else tuple(given)


def key_name(key: IdKey) -> str:
    """Return what the signature and messages call a key of ids."""
    return key if isinstance(key, str) else ",".join(key)


THRESHOLD_METHODS = (*ROUGE_METHODS, "embedding", "span")
DEFAULT_THRESHOLD = 0.5
"""Of ROUGE and of spans."""
DEFAULT_SIMILARITY_THRESHOLD = 0.7
"""Of cosines: under many models unrelated texts have 0.3 to 0.6."""
SIMILARITY = "It is the similarity from which two texts match."
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
    chosen = {method: per_method.get(method, USUAL_THRESHOLDS.get(method)) for method in used}
    return {method: check_number("threshold", number, SIMILARITY, least=0, most=1) for method, number in chosen.items()}


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
