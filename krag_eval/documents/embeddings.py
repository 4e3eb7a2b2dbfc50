"""Embed texts with any model that a user brings: LangChain's, LlamaIndex's, an object with `encode`, or a function.

`embed` and `cosines` work on arrays; `EmbeddedTexts` asks a model for each text once, and keeps the vectors while there
is room.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray, np
from krag_eval._utils.errors import Argument, InvalidInputError, describe_type, refuse, refuse_raised
from krag_eval._utils.formatting import qualified_name
from krag_eval.documents.columns import MISSING

# LangChain's `Embeddings`, LlamaIndex's `BaseEmbedding`, sentence-transformers and its like.
_METHODS = ("embed_documents", "get_text_embedding_batch", "encode")
# Where models keep the name of what they load. Nothing else is read: the rest of a model's attributes may be secret.
_MODELS = (
    "Give a LangChain `Embeddings`, a LlamaIndex embedding model, an object with `encode(texts)`, or a function from a "
    "list of texts to vectors."
)
_MODEL_NAMES = ("model", "model_name", "model_name_or_path", "model_id")
_TEXTS_AT_ONCE = 256  # that a model is given
_NUMBERS_AT_ONCE = 1 << 18  # of each side, in the pairs that are multiplied at once: 2 MB, to stay in the cache
# Numbers that are kept from one batch of queries for the next: 256 MB. One batch may need more.
_KEPT = 1 << 25
_GRID = float(1 << 26)  # a power of two, so that multiplying and dividing by it is exact


def check_embeddings(embeddings: object) -> Callable[[list[str]], object]:
    """Return the function of a model that turns a list of texts into vectors.

    Args:
        embeddings: A LangChain `Embeddings` (`embed_documents`), a LlamaIndex embedding model
            (`get_text_embedding_batch`), an object with `encode(list of texts)`, or a function of a list of texts.

    Raises:
        InvalidInputError: It is none of these.
    """
    methods = (getattr(embeddings, name, None) for name in _METHODS)
    found: Any = next(filter(callable, methods), embeddings)
    if isinstance(embeddings, (str, bytes, type)) or not callable(found):
        hint = ""
        if isinstance(embeddings, str):
            hint = " A name loads no model, and a copied result keeps only the name: make the object and pass it."
        if isinstance(embeddings, type):
            hint = f" Pass an object of the class: {embeddings.__name__}(...)."
        refuse("embeddings", "an embedding model", embeddings, _MODELS, hint)
    return found  # type: ignore[no-any-return]


def describe_embeddings(embeddings: object) -> str:
    """Return the name of a model in the signature: its class or function, and the model that it says it loads.

    Only attributes that hold a model's name are read; of a path or an address only the last part is told.

    >>> class Model:
    ...     model_name = "/home/me/models/bge-m3"
    ...     api_key = "secret"
    ...     def encode(self, texts): ...
    >>> describe_embeddings(Model())
    'krag_eval.documents.embeddings.Model(bge-m3)'
    """
    if isinstance(embeddings, str):  # of a result that was pickled
        return embeddings
    own = qualified_name(embeddings)
    names = [getattr(embeddings, attribute, None) for attribute in _MODEL_NAMES]
    # sentence-transformers tells what it loaded by its tokenizer alone.
    names.append(getattr(getattr(embeddings, "tokenizer", None), "name_or_path", None))
    for name in names:
        if isinstance(name, str) and (plain := _plain_model_name(name)):
            return f"{own}({plain})"
    return own


def embed(texts: Sequence[str], embeddings: object, *, prefix: str = "", dimension: int | None = None) -> FloatArray:
    """Return the normalized embedding of each text.

    Each different text is sent once, in batches, in the order in which they first appear. Empty texts and texts of
    white space are not sent.

    Args:
        texts: The texts.
        embeddings: The model, as `check_embeddings` reads it. What it says of a text must not depend on the other
            texts of its batch, or on when it is asked.
        prefix: What is put before each text, such as `"passage: "`.
        dimension: That of the vectors that the model returned before; None if there were none.

    Returns:
        Shape (n_texts, dimension), float64; each row has length 1, its numbers rounded to multiples of 2^-26 (see
        `cosines`). A text that was not sent, or whose vector is zero, has a row of zeros: it is similar to nothing.
        The dimension is 0 where no text was sent.

    Raises:
        InvalidInputError: `embeddings` is no model, or it raised or returned anything but one vector of finite numbers
            per text, all of one dimension.
    """
    ask = check_embeddings(embeddings)
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(text, len(numbers)) if text.strip() else -1 for text in texts]
    unique = list(numbers)
    vectors: FloatArray | None = None
    for start in range(0, len(unique), _TEXTS_AT_ONCE):
        some = unique[start : start + _TEXTS_AT_ONCE]
        where = f"texts {start + 1} to {start + len(some)} of {len(unique)} (the first: {some[0]!r:.60})"
        rows = _ask(ask, [prefix + text for text in some], qualified_name(embeddings), where)
        if dimension not in (None, rows.shape[1]):
            raise InvalidInputError(
                f"The embedding model {qualified_name(embeddings)} returned vectors of dimension {rows.shape[1]} for "
                f"{where}, and of {dimension} before. All vectors of a model must have the same dimension."
            )
        if vectors is None:
            dimension = rows.shape[1]
            vectors = np.zeros((len(unique) + 1, dimension))  # the last row is of the texts that are not sent
        vectors[start : start + len(some)] = _normalized(rows)
    if vectors is None:
        return np.zeros((len(texts), 0))
    if len(unique) == len(texts):
        return vectors[:-1]
    return vectors[np.array(places, dtype=np.int64)]


def cosines(vectors: FloatArray, left: IntArray, right: IntArray) -> FloatArray:
    """Return the cosine of pairs of rows of `embed`.

    The numbers of `embed` are multiples of 2^-26. Their products, and all sums of these on the way, are multiples of
    2^-52 below 2, which float64 holds exactly: no order of adding, no number of pairs and no machine changes a bit.
    What that rounding moves is of the order of 1e-8, as much as the last bit of the float32 that models compute in.

    Args:
        vectors: What `embed` returned, shape (n_texts, dimension).
        left: The row of the one text of each pair, shape (n_pairs,).
        right: The row of the other.

    Returns:
        Shape (n_pairs,), from -1 to 1; 0 where a row is zero, and exactly 1 where both are the same row.
    """
    found = np.zeros(len(left))
    at_once = max(1, _NUMBERS_AT_ONCE // max(1, vectors.shape[1]))
    for start in range(0, len(left), at_once):
        some = slice(start, start + at_once)
        found[some] = np.einsum("ij,ij->i", vectors[left[some]], vectors[right[some]])
        same = (left[some] == right[some]) & (found[some] > 0)
        found[some][same] = 1
    return np.clip(found, -1, 1)


def _ask(ask: Callable[[list[str]], object], texts: list[str], name: str, where: str) -> FloatArray:
    """Ask for the vectors of one batch, and check them; shape (n_texts, dimension)."""
    try:
        returned: Any = ask(texts)
        if isinstance(returned, Iterator):
            returned = list(returned)
    except Exception as error:  # noqa: BLE001 - a model may raise anything
        cure = ". It must return one vector per text. Call it with these texts to see more."
        refuse_raised(error, f"The embedding model {name}, for {where}, raised ", cure, holder=ask)
    if inspect.iscoroutine(returned):
        returned.close()
        raise InvalidInputError(
            f"The embedding model {name} is asynchronous. It must return the vectors themselves. "
            "Wrap it in a function that runs it, such as `lambda texts: asyncio.run(model(texts))`."
        )
    try:
        rows = np.asarray(returned)
    except Exception as error:  # noqa: BLE001 - ragged lists, tensors on another device
        what = f"What the embedding model {name} returned for {where} cannot be read as an array ("
        cure = (
            "). It must return one list of numbers per text, all equally long. Check what it returns for these texts."
        )
        refuse_raised(error, what, cure, holder=ask)
    if rows.dtype.kind not in "fiu" or rows.ndim != 2 or not rows.shape[1]:
        raise InvalidInputError(
            f"The embedding model {name} returned {describe_type(returned)} of shape {rows.shape} and type "
            f"{rows.dtype} for {where}. It must return numbers of shape (n_texts, dimension). Check what it returns "
            "for a list of texts."
        )
    if len(rows) != len(texts):
        raise InvalidInputError(
            f"The embedding model {name} returned {len(rows)} vectors for {len(texts)} texts, {where}. "
            "It must return one vector per text, in order. Check what it does with empty or very long texts."
        )
    rows = rows.astype(np.float64)
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        odd = texts[int(np.flatnonzero(~finite)[0])]
        raise InvalidInputError(
            f"The embedding model {name} returned NaN or infinity for {int((~finite).sum())} of {where}; the first of "
            f"them: {odd!r:.60}. All numbers of a vector must be finite. Leave such texts out, or use another model."
        )
    return rows


def _normalized(rows: FloatArray) -> FloatArray:
    """Return the rows scaled to length 1, on the grid; rows of zeros stay so."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(largest > 0, largest, 1)  # so that no square overflows or vanishes
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    on_grid: FloatArray = np.rint(rows / np.where(lengths > 0, lengths, 1) * _GRID) / _GRID
    return on_grid


def _plain_model_name(name: str) -> str:
    """Return the name of a model without the path, the address and the query that may surround it."""
    name = re.split(r"[?#]", name.strip())[0].rstrip("/\\")
    if "://" in name or "\\" in name or name.startswith(("/", "~", ".")):
        name = re.split(r"[/\\@]", name)[-1]
    return re.sub(r"[^\w./:+-]", "_", name)[:80]


class EmbeddedTexts:
    """The vectors of texts under one model, for one thread at a time.

    Args:
        embeddings: The model, as `check_embeddings` reads it.
        prefix: What is put before each text.
        needed_by: What needs the model, for the message if there is none.

    Raises:
        InvalidInputError: There is no model, or it cannot be read, or the prefix is not a string.
    """

    def __init__(self, embeddings: object, prefix: str, needed_by: Argument) -> None:
        if embeddings is None:
            raise InvalidInputError(
                needed_by, " needs an embedding model, and ", Argument("embeddings"), f" was not given. {_MODELS}"
            )
        if not isinstance(prefix, str):
            refuse("embedding_prefix", "a string such as 'passage: '", prefix)
        check_embeddings(embeddings)
        self._embeddings = embeddings
        self._prefix = prefix
        self._rows: dict[str, int] = {}
        self._vectors: FloatArray = np.zeros((0, 0))
        self._n_used = 0

    def without_model(self, name: str) -> EmbeddedTexts:
        """Return the vectors known so far, with the name of the model in its place: no other text can be embedded."""
        known = copy.copy(self)
        known._embeddings = name  # noqa: SLF001 - the attribute of a copy of this
        return known

    def rows_of(self, texts: Sequence[str]) -> IntArray:
        """Return the row of each text, `MISSING` if its vector is zero; unknown texts are embedded together.

        Rows that were given out before may no longer hold.

        Raises:
            InvalidInputError: The model raised, or returned something that cannot be used.
        """
        unknown = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if unknown and (self._n_used + len(unknown)) * self._vectors.shape[1] > _KEPT:
            self._rows.clear()
            self._n_used = 0
            unknown = list(dict.fromkeys(texts))
        if unknown:
            dimension = self._vectors.shape[1] if self._n_used else None
            self._take_in(unknown, embed(unknown, self._embeddings, prefix=self._prefix, dimension=dimension))
        return np.fromiter((self._rows[text] for text in texts), np.int64, len(texts))

    def have_no_direction(self, texts: Sequence[str]) -> BoolArray:
        """Return whether the model was asked for a text and returned a vector of zeros."""
        zero = (self._rows.get(text) == MISSING and not text.isspace() for text in texts)
        return np.fromiter(zero, bool, len(texts))

    def cosines(self, left: IntArray, right: IntArray) -> FloatArray:
        """Return the cosine of pairs of rows; see `krag_eval.documents.embeddings.cosines`."""
        return cosines(self._vectors, left, right)

    def _take_in(self, texts: list[str], vectors: FloatArray) -> None:
        has_direction = vectors.any(axis=1)
        rows = np.where(has_direction, np.cumsum(has_direction) - 1 + self._n_used, MISSING)
        vectors = vectors[has_direction]
        needed = self._n_used + len(vectors)
        if not self._n_used:
            self._vectors = vectors
        else:
            if needed > len(self._vectors):
                more = np.zeros((max(needed, 2 * self._n_used) - self._n_used, self._vectors.shape[1]))
                self._vectors = np.concatenate([self._vectors[: self._n_used], more])
            self._vectors[self._n_used : needed] = vectors
        self._n_used = needed
        self._rows.update(zip(texts, rows.tolist(), strict=True))
