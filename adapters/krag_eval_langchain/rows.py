"""Find the documents in the rows of a data set or in what a chain returns, for a `RowScorer`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from krag_eval import InvalidInputError, RowScorer
from krag_eval.toolkit import IdKey, fields_of, refuse

Place = str | Sequence[str] | Callable[[Any], object] | None

GOLD = ("gold", "actual", "gold_documents")
RETRIEVED = ("retrieved", "predicted", "documents", "source_documents", "context", "output")


class Field:
    """Reads a list of documents from a mapping or another object.

    Args:
        name: The name of the list in error messages.
        place: The key of the list, several keys of which the first one present is used, or a function that returns
            the list; None looks under the default keys.
        default_keys: The keys to look under by default.
        bare_ids: Read strings and integers as ids; for use where only ids are matched.
        id_key: The metadata key of ids, or None.

    Raises:
        InvalidInputError: The place is neither keys nor a function.
    """

    def __init__(
        self,
        name: str,
        place: Place,
        default_keys: Sequence[str],
        *,
        bare_ids: bool = False,
        id_key: IdKey | None = None,
    ) -> None:
        keys = default_keys if place is None else (place,) if isinstance(place, str) else place
        is_list = isinstance(keys, (list, tuple)) and keys and all(isinstance(key, str) for key in keys)
        if not callable(keys) and not is_list:
            refuse(name, "a key, a list of keys or a function", place, "Leave it out to look under the default keys.")
        self._name, self._place, self._bare_ids, self._id_key = name, keys, bare_ids, id_key

    def read(self, holder: object) -> list[object]:
        """Return the documents, best first.

        Raises:
            InvalidInputError: There are none, or they are not a list.
        """
        found = self._place(holder) if callable(self._place) else self._look_up(holder, self._place)
        if isinstance(found, Mapping):  # {"output": {"documents": [...]}}
            found = next((found[key] for key in RETRIEVED if isinstance(found.get(key), list)), found)
        if isinstance(found, (str, bytes, Mapping)) or not isinstance(found, (Sequence, Set)):
            refuse(self._name, "a list of documents", found, "Use [] where there are none.")
        return [self._as_document(document) for document in found]

    def _look_up(self, holder: object, keys: Sequence[str]) -> object:
        if isinstance(holder, Mapping):
            for key in keys:
                if holder.get(key) is not None:
                    return holder[key]
            found = f"the keys are {', '.join(map(repr, holder))}" if holder else "there are no keys"
        else:
            found = f"{type(holder).__name__} is not a mapping"
        raise InvalidInputError(
            f"No documents under {' or '.join(map(repr, keys))}: {found}. "
            f"Pass `{self._name}=` with the right key, or with a function that returns the documents."
        )

    def _as_document(self, document: object) -> object:
        if self._bare_ids and isinstance(document, (str, int)) and not isinstance(document, bool):
            return {"id": document} if self._id_key is None else fields_of(str(document), self._id_key)
        # LangChain's `dumpd` writes a document in this form.
        if isinstance(document, Mapping) and "lc" in document and isinstance(document.get("kwargs"), Mapping):
            return document["kwargs"]
        return document


class FieldScorer:
    """Scores rows whose documents stand in fields, from any thread.

    Args:
        k: One cut-off or several.
        metrics: Names of metrics, or functions; all by default.
        gold: Where the gold documents are.
        retrieved: Where the retrieved documents are.
        settings: The scoring settings.
        gold_keys: The default keys of gold documents.

    Attributes:
        gold: Reads the gold documents of a row.
        retrieved: Reads the retrieved documents of a row.
        scorer: Scores a row.
    """

    def __init__(
        self,
        k: Any,
        metrics: Any,
        gold: Place,
        retrieved: Place,
        settings: dict[str, Any],
        *,
        gold_keys: Sequence[str] = GOLD,
    ) -> None:
        self.scorer = RowScorer(k, metrics=metrics, **settings)
        only_ids = settings.get("match_method") in ("id", ["id"], ("id",))
        id_key = settings.get("id_key")
        self.gold = Field("gold", gold, gold_keys, bare_ids=only_ids, id_key=id_key)
        self.retrieved = Field("retrieved", retrieved, RETRIEVED, bare_ids=only_ids, id_key=id_key)
