"""Choose questions of a log: near-duplicates folded, strata from what its rows say, drawn with known probabilities."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from krag_eval import TOKENIZERS, normalize
from krag_eval.toolkit import FloatArray, IntArray, group_near_duplicates
from krag_eval_labels.start.design import Design, order_of_draw
from krag_eval_labels.start.reading import LogRow, leaves

_LANGUAGE = {"language", "lang", "locale"}
_GROUP = {"user_group", "usergroup", "group", "segment", "tenant", "plan", "role", "team", "department", "channel"}
_FEEDBACK = {"thumbs", "thumb", "feedback", "rating", "vote", "liked", "helpful", "clicked", "click", "clicks"}
_BAD = {"down", "thumbs_down", "negative", "bad", "no", "-1", "0", "1", "false", "dislike", "👎"}
_SESSION = {"session", "session_id", "conversation_id", "thread_id"}
_SCRIPTS = ("HANGUL", "HIRAGANA", "KATAKANA", "CJK", "CYRILLIC", "ARABIC", "THAI", "DEVANAGARI", "GREEK", "HEBREW")
_NAMES = {"HANGUL": "ko", "HIRAGANA": "ja", "KATAKANA": "ja", "CJK": "zh"}
_NO_RESULT = "no result"
_MOST_STRATA, _LEAST_SHARE, _MOST_COMPARED = 8, 0.04, 20_000
_TOPICS, _ROUNDS, _VOCABULARY = 4, 12, 400


@dataclass(frozen=True, slots=True)
class Chosen:
    """The questions of a log in the order in which they are drawn.

    Attributes:
        rows: One row of each question.
        weight: How many rows it stands for.
        stratum: The name of its stratum.
        by: What the strata are made of.
    """

    rows: list[LogRow]
    weight: list[int]
    stratum: list[str]
    by: list[str]

    def design(self) -> Design:
        """Return the design with numbers for strata."""
        return design_of(self.weight, self.stratum)


def design_of(weight: Sequence[float], stratum: Sequence[str]) -> Design:
    """Return the design of questions with these weights and strata."""
    names = {name: number for number, name in enumerate(dict.fromkeys(stratum))}
    return Design(np.array(weight, dtype=np.float64), np.array([names[one] for one in stratum], dtype=np.int64))


def choose(rows: Sequence[LogRow], *, k: int, seed: int) -> Chosen:
    """Fold near-duplicates, find strata, and put all questions into the order of the draw.

    Rows are one question if their texts are nearly the same and the same documents were retrieved within k: then one
    label counts for all of them, and their number is the question's weight.

    Args:
        rows: The rows of the log.
        k: How many ranks count.
        seed: Of the draw.
    """
    groups = _folded(rows, k)
    first, weight = [rows[group[0]] for group in groups], [len(group) for group in groups]
    names, by = _strata([[rows[i] for i in group] for group in groups], _asked_again(rows), np.array(weight, float))
    design = design_of(weight, names)
    order = order_of_draw(design.weight, design.stratum, seed).tolist()
    return Chosen([first[i] for i in order], [weight[i] for i in order], [names[i] for i in order], by)


def _folded(rows: Sequence[LogRow], k: int) -> list[list[int]]:
    texts = [normalize(row.question) for row in rows]
    unique = list(dict.fromkeys(texts))
    group = {text: number for number, text in enumerate(unique)}
    if len(unique) <= _MOST_COMPARED:
        for members in group_near_duplicates(unique, 0.9):
            for member in members:
                group[unique[member]] = members[0]
    found: dict[tuple[Any, ...], list[int]] = {}
    for number, (row, text) in enumerate(zip(rows, texts, strict=True)):
        found.setdefault((group[text], *(one.id for one in row.retrieved[:k])), []).append(number)
    return list(found.values())


def _strata(
    groups: Sequence[Sequence[LogRow]], asked_again: set[str], weight: FloatArray
) -> tuple[list[str], list[str]]:
    """Return the name of each question's stratum, and what the names say."""
    features: dict[str, list[str]] = {name: [] for name in ("result", "language", "group", "feedback")}
    for members in groups:
        row = members[0]
        fields = dict(leaves(row.fields))
        features["result"].append("" if row.retrieved else _NO_RESULT)
        features["language"].append(_first(fields, _LANGUAGE) or script_of(row.question))
        features["group"].append(_first(fields, _GROUP))
        is_bad = any(_is_bad(one.fields) or one.id in asked_again for one in members)
        features["feedback"].append("complaint" if is_bad else "")
    by, names = list[str](), [""] * len(groups)
    for feature, values in features.items():
        n_values = len(set(values))
        if 1 < n_values <= _MOST_STRATA * 2:
            pairs = zip(names, values, strict=True)
            merged = [old if old == _NO_RESULT else " / ".join(filter(None, (old, new))) for old, new in pairs]
            merged = _without_small(merged, names, weight)
            if len(set(merged)) <= _MOST_STRATA and len(set(merged)) > len(set(names)):
                names, by = merged, [*by, feature]
    if len(set(names)) == 1 and len(groups) >= _TOPICS * 10:
        names, by = topics_of([members[0].question for members in groups]), ["topic"]
    return [one or "others" for one in names], by


def _without_small(names: list[str], before: list[str], weight: FloatArray) -> list[str]:
    """Return the names, where what is too small keeps the name that it had before."""
    total = {name: sum(w for w, one in zip(weight, names, strict=True) if one == name) for name in set(names)}
    is_small = {name for name, mass in total.items() if mass < _LEAST_SHARE * weight.sum() and name != _NO_RESULT}
    return [old if name in is_small else name for name, old in zip(names, before, strict=True)]


def _first(fields: Mapping[str, Any], names: set[str]) -> str:
    found = next((str(value) for name, value in fields.items() if name in names and value not in (None, "")), "")
    return found if len(found) <= 40 else ""


def _is_bad(fields: Mapping[str, Any]) -> bool:
    """Whether people complained; clicks say nothing against a result."""
    given = [value for name, value in leaves(fields) if name in _FEEDBACK and not name.startswith("click")]
    return any(str(value).strip().lower() in _BAD for value in given)


def _asked_again(rows: Sequence[LogRow]) -> set[str]:
    """Return the ids of rows after which the same session asked for nearly the same again."""
    before: dict[str, LogRow] = {}
    found = set()
    for row in rows:
        session = _first(dict(leaves(row.fields)), _SESSION)
        if session and (last := before.get(session)) is not None:
            one, two = set(_words(last.question)), set(_words(row.question))
            if 0.4 <= len(one & two) / max(len(one | two), 1) < 1:
                found.add(last.id)
        before[session] = row
    return found


def _words(text: str) -> list[str]:
    return list(TOKENIZERS["words"].tokenize(text))


def script_of(text: str) -> str:
    """Return the script of most letters of a text, as the language where that is clear.

    >>> script_of("환불은 어떻게?"), script_of("Wie lange?")
    ('ko', 'latin')
    """
    counts = Counter(
        next((script for script in _SCRIPTS if name.startswith(script)), "LATIN")
        for c in text[:200]
        if c.isalpha() and (name := unicodedata.name(c, ""))
    )
    if counts["HIRAGANA"] + counts["KATAKANA"] > 0:
        return "ja"
    most = max(counts, key=lambda one: counts[one], default="LATIN")
    return _NAMES.get(most, most.lower())


def topics_of(texts: Sequence[str]) -> list[str]:
    """Return a topic for each text, named by two of its words: clusters of tf-idf vectors.

    Source: Dhillon & Modha (2001), spherical k-means, Machine Learning 42.
    """
    tokens = [set(_words(text)) for text in texts]
    counts = Counter(token for row in tokens for token in row if len(token) > 2 or not token.isascii())
    words = [word for word, n in counts.most_common(_VOCABULARY) if 1 < n < 0.6 * len(texts)]
    if len(words) < _TOPICS:
        return [""] * len(texts)
    vectors = np.array([[word in row for word in words] for row in tokens], dtype=np.float64)
    vectors *= np.log(len(texts) / vectors.sum(axis=0))
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    centers = [vectors[0]]
    for _ in range(_TOPICS - 1):  # the farthest from those that there are
        centers.append(vectors[np.argmin(np.max(vectors @ np.array(centers).T, axis=1))])
    topic: IntArray = np.zeros(len(texts), dtype=np.int64)
    middle = np.array(centers)
    for _ in range(_ROUNDS):
        topic = np.argmax(vectors @ middle.T, axis=1)
        middle = np.array([vectors[topic == i].sum(axis=0) for i in range(_TOPICS)])
        middle /= np.maximum(np.linalg.norm(middle, axis=1, keepdims=True), 1e-12)
    labels = ["about " + " ".join(words[j] for j in np.argsort(-row, kind="stable")[:2]) for row in middle]
    return [labels[one] for one in topic.tolist()]
