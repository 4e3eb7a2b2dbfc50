"""Which retrieved texts hold the expected answer of their question, and how much that tells."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from krag_eval.columns import BoolArray, FloatArray, IntArray

# Enough to tell an answer that stands everywhere ("two") from one that hardly does.
_SAMPLE = 300
# Where one of these ends an answer, another one must not go on: in Korean an ending may, in Chinese the next word does.
_WHOLE_WORDS = r"[A-Za-z\u00c0-\u052f]"  # Latin, Greek, Cyrillic


def answer_rarity(
    answers: Sequence[str], texts: Sequence[str], offsets: IntArray, looked_at: BoolArray, judged: BoolArray
) -> FloatArray:
    """For each text that holds the answer of its question, how rare that is.

        rarity = 1 - ln(n + 1) / ln(N + 1),    of N other texts (a sample) n hold the answer

    An answer that begins or ends with a digit, or with a letter of the Latin, Greek or Cyrillic script, must not go on
    there in the text: `10` does not stand in `1910`. That gold documents hold it is no wonder: they are not counted.

    Args:
        answers: The answer of each question in normal form, empty where there is none.
        texts: The texts of all questions in normal form, empty where there is none.
        offsets: Where those of each question begin; shape (n_questions + 1,).
        looked_at: Which texts to look at.
        judged: Which texts are those of gold documents, or were judged and found not relevant.

    Returns:
        One entry a text, from 0 (in every text) to 1 (in no other); NaN where it was not looked at or does not hold
        the answer.
    """
    rarity = np.full(len(texts), math.nan)
    sample = _sample(texts) if any(answers) else []
    for answer, (start, stop) in zip(answers, pairwise(offsets.tolist()), strict=True):
        if not answer:
            continue
        places = np.flatnonzero(looked_at[start:stop]) + start
        hits = [place for place in places.tolist() if answer in texts[place]]
        if not hits:
            continue
        pattern = re.compile(_edge(answer[0], "(?<!{})") + re.escape(answer) + _edge(answer[-1], "(?!{})"))
        hits = [place for place in hits if pattern.search(texts[place])]
        own = {texts[place] for place in [*hits, *(np.flatnonzero(judged[start:stop]) + start).tolist()]}
        others = [text for text in sample if text not in own]
        n_holding = sum(1 for text in others if answer in text and pattern.search(text))
        rarity[hits] = 1 - math.log(n_holding + 1) / math.log(len(others) + 1) if others else 1.0
    return rarity


def _sample(texts: Sequence[str]) -> list[str]:
    different = [text for text in dict.fromkeys(texts) if text]
    return different[:: max(1, math.ceil(len(different) / _SAMPLE))]


def _edge(character: str, pattern: str) -> str:
    """What must not stand beside this first or last character of an answer."""
    if character.isdigit():
        return pattern.format(r"\d")
    return pattern.format(_WHOLE_WORDS) if re.match(_WHOLE_WORDS, character) else ""
