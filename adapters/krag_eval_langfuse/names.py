"""What a score is called in Langfuse: names that its score configs accept too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from krag_eval import InvalidInputError

LONGEST = 35
_ALLOWED = re.compile(r"[A-Za-z0-9_ .()-]*\Z")


class ScoreNames:
    """The names of scores by the keys of a result: `recall@5` becomes `krag.recall_at_5`.

    Langfuse takes a score of any name, but a score config (its range, its description, its place in annotation
    queues) only for names of at most 35 letters, digits, blanks and `_ . ( ) -`. A name that no config could ever be
    made for is refused, not shortened: two shortened names could be the same.

    Args:
        prefix: What every name begins with.

    Raises:
        InvalidInputError: The prefix holds other characters or leaves no room.

    >>> ScoreNames("krag.")["micro_recall@5"]
    'krag.micro_recall_at_5'
    """

    def __init__(self, prefix: Any) -> None:
        if not isinstance(prefix, str) or not _ALLOWED.match(prefix) or len(prefix) >= LONGEST:
            raise InvalidInputError(
                f"`prefix` is {prefix!r:.60}. The names of score configs in Langfuse are at most {LONGEST} letters, "
                "digits, blanks and _ . ( ) - long. Give a short prefix of these, such as 'krag.'."
            )
        self._prefix = prefix
        self._names: dict[str, str] = {}

    def __getitem__(self, key: str) -> str:
        """The name for a key.

        Raises:
            InvalidInputError: No score config could have this name.
        """
        name = self._names.get(key)
        if name is None:
            name = self._prefix + key.replace("@", "_at_")
            if not _ALLOWED.match(name) or len(name) > LONGEST:
                raise InvalidInputError(
                    f"The score {name!r:.80} cannot have a score config in Langfuse: names there are at most {LONGEST} "
                    "letters, digits, blanks and _ . ( ) - long. Give the metric another name or a shorter `prefix`."
                )
            self._names[key] = name
        return name

    def check(self, keys: Iterable[str]) -> None:
        """Look at all keys of an evaluation before the first score is sent.

        Raises:
            InvalidInputError: A key has no name, or two have the same.
        """
        taken: dict[str, str] = {}
        for key in keys:
            other = taken.setdefault(self[key], key)
            if other != key:
                raise InvalidInputError(
                    f"The keys {other!r} and {key!r} would both be the score {self[key]!r}. "
                    "Each key needs a name of its own: rename the metric."
                )
