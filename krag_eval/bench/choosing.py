"""Which questions of a set a bench asks, and which of them are answered."""

from __future__ import annotations

from collections.abc import Sequence

from krag_eval.bench.records import EVAL_MODES
from krag_eval.checks import one_of
from krag_eval.errors import InvalidInputError
from krag_eval.evalset import EvalSet, Question


def of_mode(evalset: EvalSet, mode: str) -> EvalSet:
    """The questions of a mode; `"all"` takes also those of other types, or of none.

    Raises:
        InvalidInputError: There is no such mode, or no question of it.
    """
    if one_of("eval_mode", mode, list(EVAL_MODES)) == "all":
        return evalset
    chosen = evalset.where(lambda question: question.type in EVAL_MODES[mode])
    if not len(chosen):
        types = sorted({question.type or "none" for question in evalset})
        raise InvalidInputError(
            f"No question is of the mode {mode!r}, which asks the types {', '.join(EVAL_MODES[mode])}; the set has "
            f"{', '.join(types)}. Use eval_mode='all', or give questions of such a type."
        )
    return chosen


def spread(questions: Sequence[Question], most: int) -> list[Question]:
    """At most so many questions, as evenly over the types as they come, in the order of the set.

    >>> questions = [Question(id=str(n), type="ab"[n > 3]) for n in range(6)]
    >>> [question.id for question in spread(questions, 4)]
    ['0', '1', '4', '5']
    """
    by_type: dict[str | None, list[Question]] = {}
    for question in questions:
        by_type.setdefault(question.type, []).append(question)
    turns = sorted(
        (
            (place, turn, question.id)
            for turn, group in enumerate(by_type.values())
            for place, question in enumerate(group)
        )
    )
    chosen = {question_id for _, _, question_id in turns[:most]}
    return [question for question in questions if question.id in chosen]
