"""Fuzz target: on any texts, tokenizers and matchers agree with the slow ones, and with rouge_score."""

from __future__ import annotations

import functools
import itertools
import unicodedata
from typing import Any

from krag_eval import TOKENIZERS, normalize
from krag_eval.documents.columns import Side
from krag_eval.documents.text import nfkc, normalize_all
from krag_eval.matching import Batch, find_matches
from krag_eval.matching.settings import make_settings
from tests.support import reference
from tests.support.reference import RougeKind, RougeMeasure

NAMES = ("words", "characters", "whitespace", "rouge_score")
KINDS: tuple[RougeKind, ...] = ("rouge1", "rouge2", "rougeL")
MEASURES: tuple[RougeMeasure, ...] = ("fmeasure", "recall", "precision")
METHODS = (*KINDS, "containment", "text")
SEPARATOR = b"\x1f"
_LONGEST = 400  # tokens of a text, for the slow ones


def check(data: bytes) -> None:
    """Cut an input into settings and texts, and compare.

    Raises:
        AssertionError: Two ways to the same come to different ends: a finding.
    """
    if len(data) < 4:
        return
    tokenizer, method = NAMES[data[0] % len(NAMES)], METHODS[data[1] % len(METHODS)]
    measure, threshold = MEASURES[data[2] % len(MEASURES)], data[3] / 255
    texts = [_text(part) for part in data[4:].split(SEPARATOR)[:8]]
    _check_forms(texts)
    _check_tokens(texts)
    _check_matches([text for text in texts if text], method, tokenizer, measure, threshold)


def _text(part: bytes) -> str:
    """UTF-8 as far as it is any; other bytes become half characters, which JSON can bring along too."""
    return part.decode("utf-8", "surrogateescape")


def _check_forms(texts: list[str]) -> None:
    forms = [normalize(text) for text in texts]
    assert forms == normalize_all(texts)
    assert forms == [normalize(form) for form in forms]
    for text in texts:
        long = text * (2_001 // max(len(text), 1) + 1)  # from there on another way is taken
        assert nfkc(long) == unicodedata.normalize("NFKC", long)


def _check_tokens(texts: list[str]) -> None:
    for text in texts:
        words = TOKENIZERS["words"].tokenize(text)
        assert all(words)
        assert not any(any(map(str.isspace, word)) for word in words)
        assert TOKENIZERS["characters"].tokenize(text) == list("".join(words))
        if text.isascii():
            assert words == TOKENIZERS["rouge_score"].tokenize(text)


def _check_matches(texts: list[str], method: str, tokenizer: str, measure: RougeMeasure, threshold: float) -> None:
    tokens = [tuple(TOKENIZERS[tokenizer].tokenize(text)) for text in texts]
    if max(map(len, tokens), default=0) > _LONGEST:
        return
    gold, retrieved = Side("actual", [texts[::2]], None, "relevance"), Side("predicted", [texts], None, "relevance")
    settings = make_settings(match_method=method, threshold=threshold, rouge_measure=measure, tokenizer=tokenizer)
    found = find_matches(Batch(gold, retrieved, settings))
    fast = set(zip(found.actual.tolist(), found.predicted.tolist(), strict=True))
    holds = functools.partial(_holds, method, texts, tokens, measure, threshold)
    assert fast == {
        (i // 2, j) for i, j in itertools.product(range(0, len(texts), 2), range(len(texts))) if holds(i, j)
    }


def _holds(
    method: Any,
    texts: list[str],
    tokens: list[tuple[str, ...]],
    measure: RougeMeasure,
    threshold: float,
    i: int,
    j: int,
) -> bool:
    if method in KINDS:
        return reference.rouge_matches(tokens[i], tokens[j], method, measure, threshold)
    wanted, found = normalize(texts[i]), normalize(texts[j])
    if method == "text":
        return bool(wanted) and wanted == found
    return bool(wanted and found) and (wanted in found or found in wanted)
