"""Prompts as text files that can be read and replaced, and how values are put into them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.files.io import read_whole

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def bundled_prompts(package: str) -> dict[str, str]:
    """The texts of the files in the folder `prompts` of a package, by name without `.txt`."""
    files = [file for file in (resources.files(package) / "prompts").iterdir() if file.name.endswith(".txt")]
    return {file.name.removesuffix(".txt"): file.read_text(encoding="utf-8") for file in sorted(files, key=str)}


def own_prompts(given: object, example: str) -> dict[str, str]:
    """The prompts that a user gives in place of bundled ones.

    Args:
        given: None, a folder with files `NAME.txt`, or a mapping from names to texts.
        example: A name that such a file may have, for messages.

    Raises:
        InvalidInputError: It is none of these, or a file cannot be read.
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        for name, text in given.items():
            if not isinstance(text, str):
                raise InvalidInputError(
                    f"`prompts` has {describe_type(text)} for {name!r}. A prompt is a string. Give its text."
                )
        return {str(name): text for name, text in given.items()}
    if not isinstance(given, (str, os.PathLike)):
        raise InvalidInputError(
            f"`prompts` is {describe_type(given)}. It must be a folder with files such as {example}.txt, or a mapping "
            "from names to texts. Leave it out for the bundled prompts."
        )
    folder = Path(given)
    if not folder.is_dir():
        raise InvalidInputError(
            f"{folder}: is no folder. `prompts` must name one that holds files such as {example}.txt."
        )
    texts = {}
    for file in sorted(folder.glob("*.txt")):
        try:
            texts[file.stem] = read_whole(file).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"{file}: cannot be read ({error}). Save it as UTF-8.") from None
    if not texts:
        raise InvalidInputError(f"{folder}: holds no prompt. Put files such as {example}.txt there.")
    return texts


def placeholders(text: str) -> set[str]:
    """The names in braces that a prompt has.

    >>> sorted(placeholders("Ask in {language} about {passage}"))
    ['language', 'passage']
    """
    return set(_PLACEHOLDER.findall(text))


def fill(text: str, values: Mapping[str, str]) -> str:
    """The prompt with its values; what is put in is never looked at for placeholders again.

    >>> fill("Question: {question}", {"question": "What is {question}?"})
    'Question: What is {question}?'
    """
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def delimited(text: str, label: str) -> str:
    """A text between two lines that it cannot hold itself, because they carry a hash of it."""
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"-----BEGIN {label} {mark}-----\n{text}\n-----END {label} {mark}-----"


def version_of(prompts: Mapping[str, str]) -> str:
    """Eight hex digits that change with any prompt."""
    return hashlib.sha256(json.dumps(sorted(prompts.items()), ensure_ascii=True).encode()).hexdigest()[:8]
