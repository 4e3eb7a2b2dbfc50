"""Scores of single rows, for frameworks that ask row by row and from many threads."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from typing import Any

from krag_eval import InvalidInputError, KragEvalWarning, QueryResult, Scorer
from krag_eval_langchain.fields import GOLD, RETRIEVED, Field, Place

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
