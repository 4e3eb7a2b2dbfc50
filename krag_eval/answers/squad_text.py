"""SQuAD's normalising of an answer, word for word."""

from __future__ import annotations

import re
import string

_WITHOUT_PUNCTUATION = {ord(character): None for character in string.punctuation}
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def squad_tokens(text: str) -> list[str]:
    """The tokens that SQuAD compares: lower case, ASCII punctuation and English articles off, split at white space.

    In this order, so that a hyphen joins what it stands between. Two answers are the same to SQuAD if their tokens are.

    Source: Rajpurkar et al. (2016), doi:10.18653/v1/D16-1264, and the evaluation script of SQuAD v1.1.

    >>> squad_tokens("The state-of-the-art, 2024!")
    ['stateoftheart', '2024']
    """
    return _ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split()
