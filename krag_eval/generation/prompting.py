"""The prompts for questions: which there are, and what each has to hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from krag_eval.errors import InvalidInputError, did_you_mean
from krag_eval.prompts import bundled_prompts, delimited, fill, own_prompts, placeholders, version_of

RULES, RETRY, NEGATIVE = "rules", "retry", "negative"
# What each file has to hold, and what it may; a type must have the language itself, or by the rules.
_NEEDED = {RULES: set[str](), RETRY: {"reason"}}
_ALLOWED = {RULES: {"language"}, RETRY: {"reason", "earlier", "language"}}
_OF_A_TYPE = {"passage"}
_ALLOWED_OF_A_TYPE = {"passage", "rules", "language"}


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of a generation.

    Attributes:
        texts: The texts by name: `rules`, `retry`, and one for each type of question.
    """

    texts: Mapping[str, str]

    @property
    def version(self) -> str:
        """Eight hex digits that change with any prompt."""
        return version_of(self.texts)

    def first(self, kind: str, passage: str, language: str) -> str:
        """The prompt for a question of a type about a passage."""
        values = {"language": language, "passage": delimited(passage, "PASSAGE")}
        values["rules"] = fill(self.texts[RULES], values)
        return fill(self.texts[kind], values)

    def again(self, first: str, reason: str, earlier: str, language: str) -> str:
        """The prompt for another attempt, after one that was not used."""
        values = {"reason": reason, "earlier": json.dumps(earlier, ensure_ascii=False), "language": language}
        return f"{first}\n\n{fill(self.texts[RETRY], values)}"


def load_prompts(given: object, types: Sequence[str]) -> Prompts:
    """The prompts for some types of questions: those given, the bundled ones for the rest.

    Args:
        given: None, a folder with files `NAME.txt`, or a mapping from names to texts.
        types: The types of questions that are needed.

    Raises:
        InvalidInputError: A prompt is missing, has an unknown name, or lacks a placeholder.
    """
    bundled, own = bundled_prompts("krag_eval.generation"), own_prompts(given, "literal")
    needed = [RULES, RETRY, *types]
    for name in own:
        if name not in bundled and name not in types:
            raise InvalidInputError(
                f"`prompts` has {name!r}, which is no prompt.{did_you_mean(name, [*bundled, *types])} Known prompts: "
                f"{', '.join(bundled)}, and the name of any type that `types` has."
            )
    for name in needed:
        if name not in own and name not in bundled:
            raise InvalidInputError(
                f"`types` has {name!r}, for which there is no prompt.{did_you_mean(name, bundled)} Give one, as "
                f"prompts={{{name!r}: ...}} or as a file {name}.txt, or use "
                f"{', '.join(sorted(bundled.keys() - {RULES, RETRY}))}."
            )
    texts = {name: own.get(name, bundled.get(name, "")) for name in needed}
    for name, text in texts.items():
        _check(name, text, texts[RULES])
    return Prompts(texts)


def _check(name: str, text: str, rules: str) -> None:
    found = placeholders(text)
    allowed = _ALLOWED.get(name, _ALLOWED_OF_A_TYPE)
    for unknown in sorted(found - allowed):
        raise InvalidInputError(
            f"The prompt {name!r} has {{{unknown}}}, for which there is no value.{did_you_mean(unknown, allowed)} It "
            f"may have {', '.join(f'{{{one}}}' for one in sorted(allowed))}."
        )
    missing = _NEEDED.get(name, _OF_A_TYPE) - found
    if name not in _NEEDED and "language" not in found and not ("rules" in found and "{language}" in rules):
        missing |= {"language"}
    if missing:
        raise InvalidInputError(
            f"The prompt {name!r} lacks {', '.join(f'{{{one}}}' for one in sorted(missing))}. Put it where its value "
            "belongs."
        )
