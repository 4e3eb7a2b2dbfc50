"""The judge's prompts: text files that can be read and replaced."""

from __future__ import annotations

from krag_eval.errors import InvalidInputError, did_you_mean
from krag_eval.prompts import bundled_prompts, own_prompts, placeholders

# The prompts, each with what it must hold.
PROMPTS = {
    "chunk": ("question", "reference", "passage"),
    "statements": ("question", "reference"),
    "attribution": ("question", "statements", "passages"),
}


def load_prompts(given: object = None) -> dict[str, str]:
    """The prompts by name: those given, the bundled ones for the rest.

    Args:
        given: None, a folder with files `chunk.txt`, `statements.txt` and `attribution.txt` or some of them, or a
            mapping from these names to texts.

    Raises:
        InvalidInputError: A prompt has an unknown name, lacks a placeholder, or has one too many.
    """
    own = own_prompts(given, "chunk")
    for name, text in own.items():
        if name not in PROMPTS:
            raise InvalidInputError(
                f"`prompts` has {name!r}, which is no prompt.{did_you_mean(name, PROMPTS)} Known prompts: "
                f"{', '.join(PROMPTS)}."
            )
        found = placeholders(text)
        if found != set(PROMPTS[name]):
            raise InvalidInputError(
                f"The prompt {name!r} has the placeholders {', '.join(sorted(found)) or 'none'}. It must have "
                f"{', '.join(PROMPTS[name])}. Write each in braces where its value belongs."
            )
    return bundled_prompts("krag_eval.context_judge") | own
