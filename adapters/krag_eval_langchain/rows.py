"""Score single rows: take the documents out of what holds them, and score them."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from krag_eval import InvalidInputError, KragEvalWarning, QueryResult, Scorer

Place = str | Sequence[str] | Callable[[Any], object] | None

GOLD = ("gold", "actual", "gold_documents")
RETRIEVED = ("retrieved", "predicted", "documents", "source_documents", "context", "output")


class Field:
    """Takes the documents out of what it is given.

    Args:
        name: What they are called in messages.
        place: The key under which they stand, or several of which the first that is there counts, or a function that
            takes them out; None looks under the usual ones.
        usual: The usual keys.
        bare_ids: Take strings and whole numbers for ids: where only ids are matched they can be nothing else.
        id_key: The metadata key of ids, or None.

    Raises:
        InvalidInputError: The place is neither keys nor a function.
    """

    def __init__(
        self, name: str, place: Place, usual: Sequence[str], *, bare_ids: bool = False, id_key: str | None = None
    ) -> None:
        keys = usual if place is None else (place,) if isinstance(place, str) else place
        is_list = isinstance(keys, (list, tuple)) and keys and all(isinstance(key, str) for key in keys)
        if not callable(keys) and not is_list:
            raise InvalidInputError(
                f"`{name}` must be a key, a list of keys or a function, got {place!r:.60}. "
                "Leave it out to look under the usual keys."
            )
        self._name, self._place, self._bare_ids, self._id_key = name, keys, bare_ids, id_key

    def take(self, holder: object) -> list[object]:
        """The documents, best first.

        Raises:
            InvalidInputError: They are not there, or are no list.
        """
        found = self._place(holder) if callable(self._place) else self._look_into(holder, self._place)
        if isinstance(found, Mapping):  # {"output": {"documents": [...]}}
            found = next((found[key] for key in RETRIEVED if isinstance(found.get(key), list)), found)
        if isinstance(found, (str, bytes, Mapping)) or not isinstance(found, (Sequence, Set)):
            raise InvalidInputError(
                f"`{self._name}` is {found!r:.60}, not a list of documents. Use [] where there are none."
            )
        return [self._read(document) for document in found]

    def _look_into(self, holder: object, keys: Sequence[str]) -> object:
        if isinstance(holder, Mapping):
            for key in keys:
                if holder.get(key) is not None:
                    return holder[key]
            has = ", ".join(repr(key) for key in holder) or "none"
        else:
            has = f"none, for it is a {type(holder).__name__}"
        raise InvalidInputError(
            f"There is nothing under {' or '.join(repr(key) for key in keys)}; the keys there are: {has}. "
            f"Say with `{self._name}` where the documents stand: a key, or a function that takes them out."
        )

    def _read(self, document: object) -> object:
        if self._bare_ids and isinstance(document, (str, int)) and not isinstance(document, bool):
            return {self._id_key or "id": document}
        # A document as LangChain's `dumpd` writes it.
        if isinstance(document, Mapping) and "lc" in document and isinstance(document.get("kwargs"), Mapping):
            return document["kwargs"]
        return document


# From so many rows on, ids that never matched are worth a word.
ENOUGH_TO_JUDGE = 20


class RowScorer:
    """Scores one row after another.

    Args:
        k: One cut-off or several.
        metrics: Names of metrics, or functions; all by default.
        gold: Where the gold documents stand.
        retrieved: Where the retrieved documents stand.
        settings: The scoring settings.
        usual_gold: Where gold documents stand where nothing else is said.

    Attributes:
        gold: Takes the gold documents out of what holds them.
        retrieved: Takes the retrieved documents out of what holds them.
        signature: Every setting that can change a number.
    """

    def __init__(
        self,
        k: Any,
        metrics: Any,
        gold: Place,
        retrieved: Place,
        settings: dict[str, Any],
        *,
        usual_gold: Sequence[str] = GOLD,
    ) -> None:
        self._scorer = Scorer(k, metrics=metrics, **settings)
        self.signature = self._scorer.signature
        only_ids = settings.get("match_method") in ("id", ["id"], ("id",))
        id_key = settings.get("id_key")
        self.gold = Field("gold", gold, usual_gold, bare_ids=only_ids, id_key=id_key)
        self.retrieved = Field("retrieved", retrieved, RETRIEVED, bare_ids=only_ids, id_key=id_key)
        self._lock = threading.Lock()
        self._checked = False

    def score(self, gold: list[object], retrieved: list[object]) -> QueryResult:
        """The values of one row.

        Raises:
            InvalidInputError: A document cannot be read, or none of a side has what the methods read.
        """
        with self._lock:
            part = self._scorer.score_batch([gold], [retrieved])
            self._check_supply()
        for name, documents, lacking in (
            ("gold", gold, part.unmatchable["actual"]),
            ("retrieved", retrieved, part.unmatchable["predicted"]),
        ):
            if documents and lacking == len(documents):
                raise InvalidInputError(
                    f"Not one of the {len(documents)} documents of `{name}` has what the method reads "
                    f"({self.signature.partition('|')[0]}). Choose another `match_method`, or give them ids or texts."
                )
        return part.query_result(0)

    def _check_supply(self) -> None:
        if self._checked or self._scorer.n_queries < ENOUGH_TO_JUDGE:
            return
        self._checked = True
        try:
            self._scorer.check()
        except InvalidInputError as error:
            warnings.warn(str(error), KragEvalWarning, stacklevel=3)
