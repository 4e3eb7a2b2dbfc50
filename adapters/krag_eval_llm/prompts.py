"""Load prompts from text files, which users can replace, and fill in their values."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence, Set
from importlib import resources
from pathlib import Path
from typing import Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import describe_type, did_you_mean, read_whole, refuse

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def bundled_prompts(package: str) -> dict[str, str]:
    """Return the texts in the folder `prompts` of a package, by file name without `.txt`."""
    return _bundled(package, "prompts", ".txt")


def bundled_schemas(package: str) -> dict[str, dict[str, Any]]:
    """Return the JSON schemas in the folder `schemas` of a package, by file name without `.json`."""
    return {name: json.loads(text) for name, text in _bundled(package, "schemas", ".json").items()}


def _bundled(package: str, folder: str, ending: str) -> dict[str, str]:
    files = [file for file in (resources.files(package) / folder).iterdir() if file.name.endswith(ending)]
    return {file.name.removesuffix(ending): file.read_text(encoding="utf-8") for file in sorted(files, key=str)}


def own_prompts(given: object, known: Sequence[str], types: Sequence[str] | None = None) -> dict[str, str]:
    """Read the prompts that a user gives instead of bundled ones.

    Args:
        given: None, a folder with files `NAME.txt`, or a mapping from names to texts.
        known: The names of the bundled prompts.
        types: The types of questions, which are names too, if there are types.

    Raises:
        InvalidInputError: It is none of these, a file cannot be read, or a name is not known.
    """
    texts, names = _read_prompts(given, known[0]), [*known, *(types or ())]
    for name in texts:
        if name not in names:
            more = "" if types is None else ", and the name of any type in `types`"
            raise InvalidInputError(
                f"`prompts` has {name!r}, which is not a prompt.{did_you_mean(name, names)} Known prompts: "
                f"{', '.join(known)}{more}."
            )
    return texts


def _read_prompts(given: object, example: str) -> dict[str, str]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        for name, text in given.items():
            if not isinstance(text, str):
                raise InvalidInputError(
                    f"`prompts` has {describe_type(text)} for {name!r}. It must be a string: give the text."
                )
        return {str(name): text for name, text in given.items()}
    if not isinstance(given, (str, os.PathLike)):
        cure = "Leave it out for the bundled prompts."
        refuse("prompts", f"a folder with files such as {example}.txt, or a mapping from names to texts", given, cure)
    folder = Path(given)
    if not folder.is_dir():
        raise InvalidInputError(
            f"{folder}: is not a folder. `prompts` must be a folder with files such as {example}.txt."
        )
    texts = {}
    for file in sorted(folder.glob("*.txt")):
        try:
            texts[file.stem] = read_whole(file).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"{file}: cannot be read ({error}). Save it as UTF-8.") from None
    if not texts:
        raise InvalidInputError(f"{folder}: contains no prompt. Put files such as {example}.txt there.")
    return texts


def check_placeholders(name: str, text: str, needed: Set[str], allowed: Set[str]) -> None:
    """Check that a prompt has each placeholder that it needs, and no unknown one.

    Raises:
        InvalidInputError: One is missing or unknown.
    """
    found = placeholders(text)
    for unknown in sorted(found - allowed):
        raise InvalidInputError(
            f"The prompt {name!r} has the unknown placeholder {{{unknown}}}.{did_you_mean(unknown, allowed)} It "
            f"may have {', '.join(f'{{{one}}}' for one in sorted(allowed))}."
        )
    if missing := sorted(needed - found):
        raise InvalidInputError(
            f"The prompt {name!r} lacks {', '.join(f'{{{one}}}' for one in missing)}. Add it where its value belongs."
        )


def placeholders(text: str) -> set[str]:
    """Return the names in braces in a prompt.

    >>> sorted(placeholders("Ask in {language} about {passage}"))
    ['language', 'passage']
    """
    return set(_PLACEHOLDER.findall(text))


def fill(text: str, values: Mapping[str, str]) -> str:
    """Fill in the values of a prompt; placeholders inside the values are left alone.

    >>> fill("Question: {question}", {"question": "What is {question}?"})
    'Question: What is {question}?'
    """
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def delimited(text: str, label: str) -> str:
    """Put a text between two lines that it cannot contain itself, because they have its hash."""
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"-----BEGIN {label} {mark}-----\n{text}\n-----END {label} {mark}-----"


def version_of(prompts: Mapping[str, str]) -> str:
    """Return eight hex digits that change with any prompt."""
    return hashlib.sha256(json.dumps(sorted(prompts.items()), ensure_ascii=True).encode()).hexdigest()[:8]
