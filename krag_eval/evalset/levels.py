"""The scoring settings of an evaluation set, at chunk level and at document level."""

from __future__ import annotations

from krag_eval.checks import one_of
from krag_eval.errors import InvalidInputError
from krag_eval.evalset.question import LEVELS
from krag_eval.settings import ScoringSettings


def settings_at(level: str, doc_key: str, settings: ScoringSettings) -> ScoringSettings:
    """The settings with the defaults of evaluation sets: ids are matched, at document level those under `doc_key`.

    Args:
        level: `"chunk"` or `"document"`.
        doc_key: The metadata key of document ids.
        settings: What was given; it is not changed.

    Raises:
        InvalidInputError: The level is not known, or documents shall be matched by anything but their ids.

    >>> settings_at("document", "doc_id", {"gain": "linear"})
    {'gain': 'linear', 'match_method': 'id', 'id_key': 'doc_id'}
    """
    given: ScoringSettings = {**settings}
    given.setdefault("match_method", "id")
    if one_of("level", level, LEVELS) == "document":
        if given["match_method"] not in ("id", ["id"], ("id",)):
            raise InvalidInputError(
                f"At level='document' documents are matched by id, got match_method={given['match_method']!r:.60}. "
                "Leave `match_method` out, or use level='chunk'."
            )
        given["id_key"] = given.get("id_key") or doc_key
    return given
