"""Two ids are the same if they are canonically equivalent, wherever ids are compared or looked up."""

from __future__ import annotations

import itertools
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from krag_eval import (
    Document,
    EvalSet,
    Question,
    Run,
    RunRow,
    compare,
    evaluate,
    evaluate_ids,
    read_corpus,
    write_evalset,
    write_run,
)

# Letters that have several forms, marks whose order may not count, singletons, and letters that only look alike.
_PARTS = [
    *"aé환불ガйệôÅñ가각豈",
    "\u212b",
    "\u2126",
    "\uf900",
    *"\u0301\u0323\u0302\u0308\u3099\u0328",
    *"xA/. 1",
    "ﬁ",
    "①",
]


def _decomposed(text: str) -> list[str]:
    """Return the full canonical decomposition, step by step from the tables of Unicode."""
    found: list[str] = []
    for one in text:
        number, mapped = ord(one) - 0xAC00, unicodedata.decomposition(one)
        if 0 <= number < 11172:
            lead, vowel, tail = number // 588, number % 588 // 28, number % 28
            found += [chr(0x1100 + lead), chr(0x1161 + vowel)] + [chr(0x11A7 + tail)] * (tail > 0)
        elif mapped and not mapped.startswith("<"):
            found += _decomposed("".join(chr(int(code, 16)) for code in mapped.split()))
        else:
            found.append(one)
    changed = True
    while changed:  # canonical order: marks of different classes commute
        changed = False
        for place in range(len(found) - 1):
            first, second = map(unicodedata.combining, found[place : place + 2])
            if first > second > 0:
                found[place], found[place + 1] = found[place + 1], found[place]
                changed = True
    return found


def _pairs(n: int) -> list[tuple[str, str]]:
    chance = random.Random(39)
    pairs = []
    for _ in range(n):
        parts = chance.choices(_PARTS, k=chance.randint(1, 6))
        other = list(parts)
        if chance.random() < 0.5:
            other[chance.randrange(len(other))] = chance.choice(_PARTS)
        if chance.random() < 0.3:
            chance.shuffle(other)
        texts = ("".join(parts), "".join(other))
        forms: list[Any] = ["", "NFC", "NFD"]
        first, second = (
            unicodedata.normalize(form, text) if (form := chance.choice(forms)) else text for text in texts
        )
        pairs.append((first, second))
    return pairs


@pytest.mark.filterwarnings("ignore:.*differs from a retrieved id")  # some do in case or white space
def test_ten_thousand_pairs_are_the_same_exactly_where_their_decompositions_are() -> None:
    pairs = _pairs(10_000)
    expected = [float(_decomposed(one) == _decomposed(other)) for one, other in pairs]
    assert 2_000 < sum(expected) < 8_000
    assert sum(one != other for (one, other), same in zip(pairs, expected, strict=True) if same) > 500
    gold, found = [[one] for one, _ in pairs], [[other] for _, other in pairs]

    def recall(result: Any) -> list[float]:
        return [row.values["recall@1"] for row in result.per_query]

    assert recall(evaluate_ids(gold, found, k=1)) == expected
    documents = [[{"id": one} for one in row] for row in found]
    assert (
        recall(evaluate([[{"id": one} for one in row] for row in gold], documents, k=1, match_method="id")) == expected
    )
    in_metadata = [[{"text": "t", "metadata": {"source": one}} for one in row] for row in found]
    bare = [[Document(id=one) for one in row] for row in gold]
    result = evaluate(bare, in_metadata, k=1, match_method="id", id_key="source")
    assert recall(result) == expected
    tables = (
        {str(n): {one: 1} for n, (one, _) in enumerate(pairs)},
        {str(n): {two: 0.5} for n, (_, two) in enumerate(pairs)},
    )
    assert recall(evaluate(*tables, k=1)) == expected


NFC, NFD = (unicodedata.normalize(form, "환불 résumé й.pdf").replace(" ", "-") for form in ("NFC", "NFD"))
_FORMS = list(itertools.product((NFC, NFD), repeat=2))


@pytest.mark.parametrize(("gold", "found"), _FORMS)
def test_results_are_paired_and_clustered_by_query(gold: str, found: str) -> None:
    results = [
        evaluate_ids([["a"], ["b"]], [["a"], [x]], k=1, query_ids=[q, "other"]) for x, q in (("b", gold), ("c", found))
    ]
    assert compare({"a": results[0], "b": results[1]}, keys=["recall@1"]).rows[-1].n == 2
    rows = [RunRow(query_id=found, retrieved=(Document(id=found),))]
    questions = EvalSet([Question(id=gold, question="q", gold_chunk_ids=(gold,))])
    assert Run.of("r", rows).missing(questions) == []


def test_a_set_and_a_run_are_written_in_one_form(tmp_path: Path) -> None:
    write_evalset(EvalSet([Question(id=NFD, question="q", gold=(Document(id=NFD),))]), tmp_path / "s.jsonl")
    write_run(Run.of("r", [RunRow(query_id=NFD, retrieved=(Document(id=NFD),))]), tmp_path / "r.jsonl")
    for name in ("s.jsonl", "r.jsonl"):
        text = (tmp_path / name).read_text("utf-8")
        assert NFC in text
        assert NFD not in text
    (tmp_path / "c.jsonl").write_text(f'{{"id": "{NFD}", "text": "t"}}\n', "utf-8")
    assert [document.id for document in read_corpus(tmp_path / "c.jsonl")] == [NFC]
