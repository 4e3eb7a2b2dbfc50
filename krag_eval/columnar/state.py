"""What some queries add to the aggregates, as whole numbers: states merge by addition, in any order, bit for bit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from krag_eval.aggregate import Tally
from krag_eval.errors import InvalidInputError
from krag_eval.spread import Spread
from krag_eval.supply import Supply

_FORMAT = 1


@dataclass(slots=True)
class PartialState:
    """The aggregates of some queries before they are divided by anything.

    Attributes:
        signature: Every setting that can change a number; only states of one signature merge.
        tally: The sums behind the means and the micro values.
        spread: What intervals need.
        supply: What the documents have of what the methods read.
    """

    signature: str
    tally: Tally
    spread: Spread
    supply: Supply

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return self.tally.n_queries

    def merge(self, other: PartialState) -> None:
        """Take in the state of other queries.

        Raises:
            InvalidInputError: It was made with other settings, or by another version.
        """
        if other.signature != self.signature:
            raise InvalidInputError(
                f"States of different settings do not merge: {self.signature} and {other.signature}. "
                "Score both parts with the same settings and the same version."
            )
        self.tally.merge(other.tally)
        self.spread.merge(other.spread)
        self.supply.merge(other.supply)

    def to_json(self) -> str:
        """The state as a line of JSON."""
        parts = {"tally": self.tally.to_dict(), "spread": self.spread.to_dict(), "supply": self.supply.to_dict()}
        return json.dumps({"krag_eval_state": _FORMAT, "signature": self.signature, **parts}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> PartialState:
        """The state that `to_json` wrote.

        Raises:
            InvalidInputError: The text is no such state.
        """
        try:
            stored = json.loads(text)
            if stored["krag_eval_state"] != _FORMAT:
                raise ValueError(f"its format is {stored['krag_eval_state']!r:.20}, not {_FORMAT}")
            return cls._of(stored)
        except (AttributeError, InvalidInputError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"This is no state that `PartialState.to_json` wrote ({type(error).__name__}: {error!s:.80}). "
                "Give such a text, whole, from the same version."
            ) from error

    @classmethod
    def _of(cls, stored: Mapping[str, Any]) -> PartialState:
        tally, spread = Tally.from_dict(stored["tally"]), Spread.from_dict(stored["spread"])
        return cls(str(stored["signature"]), tally, spread, Supply.from_dict(stored["supply"]))
