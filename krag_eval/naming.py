"""How the signature names what a user brings: tokenizers, normalizers, functions, numbers."""

from __future__ import annotations

from typing import Any

from krag_eval.text import Normalizer, normalize
from krag_eval.tokenizers import TOKENIZERS


def qualified_name(thing: object) -> str:
    """The module and name of a function or class, or of the class of an object.

    >>> qualified_name(qualified_name)
    'krag_eval.naming.qualified_name'
    >>> qualified_name("text".split)
    'str.split'
    """
    owner: Any = thing if hasattr(thing, "__qualname__") else type(thing)
    module = getattr(owner, "__module__", None)  # a method of a built-in type has none
    return f"{module}.{owner.__qualname__}" if module else str(owner.__qualname__)


def tokenizer_name(tokenizer: object) -> str:
    """The name of one of `TOKENIZERS`; of another its qualified name."""
    if isinstance(tokenizer, str):
        return str(tokenizer)
    by_class: dict[type, str] = {type(known): name for name, known in TOKENIZERS.items()}
    return by_class.get(type(tokenizer)) or qualified_name(tokenizer)


def normalizer_name(normalizer: Normalizer | None) -> str:
    """`nfkc-casefold` for the normalizer of this package, `none` for none; of another its qualified name."""
    if normalizer is None:
        return "none"
    return "nfkc-casefold" if normalizer is normalize else qualified_name(normalizer)


def shortest(number: float) -> str:
    """The number in as few digits as tell it from every other.

    >>> shortest(1.0), shortest(0.7)
    ('1', '0.7')
    """
    return str(int(number)) if number == int(number) else repr(number)
