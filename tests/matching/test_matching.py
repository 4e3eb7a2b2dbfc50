"""Matching by id, text, containment and cascades against a naive double loop, and real paragraphs in six languages."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from krag_eval import InvalidInputError, KragEvalWarning, evaluate, normalize
from krag_eval.documents.columns import Side
from krag_eval.documents.tokenizers import WordTokenizer
from krag_eval.matching import Batch, find_matches
from krag_eval.matching.settings import ScoringSettings, make_settings
from tests.support import reference as ref
from tests.support.reference import RougeKind

Document = dict[str, str]
Rows = list[list[Document]]
Test = Callable[[Document, Document], bool]
Outcome = dict[tuple[int, int], str]


def engine(gold: Rows, retrieved: Rows, **settings: Unpack[ScoringSettings]) -> Outcome:
    sides = Side("actual", gold, None, "relevance"), Side("predicted", retrieved, None, "relevance")
    found = find_matches(Batch(*sides, make_settings(**settings)))
    pairs = list(zip(found.predicted.tolist(), found.actual.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    return {
        (gold_place, place): found.methods[method]
        for (place, gold_place), method in zip(pairs, found.method.tolist(), strict=True)
    }


def naive(gold: Rows, retrieved: Rows, tests: dict[str, Test]) -> Outcome:
    outcome = {}
    places, ranks = itertools.count(), itertools.count()
    for wanted, ranking in zip(gold, retrieved, strict=True):
        numbered = [(next(ranks), document) for document in ranking]
        for place, one in [(next(places), document) for document in wanted]:
            for rank, other in numbered:
                method = next((name for name, holds in tests.items() if holds(one, other)), None)
                if method is not None:
                    outcome[place, rank] = method
    return outcome


def same_id(gold: Document, retrieved: Document) -> bool:
    return "id" in gold and gold["id"] == retrieved.get("id")


def form(document: Document) -> str:
    return normalize(document.get("text", ""))


def same_text(gold: Document, retrieved: Document) -> bool:
    return form(gold) != "" and form(gold) == form(retrieved)


CONTAINED: dict[str, Test] = {
    "gold_in_retrieved": lambda gold, retrieved: form(gold) != "" and form(gold) in form(retrieved),
    "retrieved_in_gold": lambda gold, retrieved: form(retrieved) != "" and form(retrieved) in form(gold),
}
CONTAINED["either"] = lambda gold, retrieved: any(CONTAINED[way](gold, retrieved) for way in list(CONTAINED)[:2])


def similar(kind: RougeKind, threshold: float) -> Test:
    def holds(gold: Document, retrieved: Document) -> bool:
        one, other = (WordTokenizer().tokenize(document.get("text", "")) for document in (gold, retrieved))
        return ref.rouge_matches(one, other, kind, "fmeasure", threshold)

    return holds


IDS = st.sampled_from(["d1", "d2", "d3", "D1", " d1", "１"])
TEXTS = st.lists(
    st.sampled_from(["a", "A", "b", "ab", "Ａ", "가", "가나", "\u200b", " ", "é", "e\u0301", "\ud83d", "\ude00", "😀"]),
    max_size=5,
).map("".join)
PAGE = "The cat sat on the mat. Кот сидел на коврике. 고양이가 매트에 앉았다. 猫坐在垫子上。 aaaaaaaaaaaaaaaaaa " * 3
TEXTS |= st.tuples(*[st.integers(0, len(PAGE))] * 2).map(lambda ends: PAGE[min(ends) : max(ends)])
TEXTS |= st.sampled_from(["the cat sat", "The cat  sat", "cat", "the cat sat on the mat", "a cat sat", ""])
DOCUMENTS: st.SearchStrategy[Document] = st.fixed_dictionaries({"id": IDS}, optional={"text": TEXTS})
DOCUMENTS |= st.fixed_dictionaries({"text": TEXTS})


@st.composite
def inputs(draw: st.DrawFn) -> tuple[Rows, Rows]:
    pool = draw(st.lists(DOCUMENTS, min_size=1, max_size=6))
    row = st.lists(st.sampled_from(pool) | DOCUMENTS, max_size=5)
    n_queries = draw(st.integers(1, 4))
    rows = st.lists(row, min_size=n_queries, max_size=n_queries)
    return draw(rows), draw(rows)


A, WITHOUT_ID = Document(id="a"), Document(text="a")


@given(inputs())
@example(([[A], []], [[], [A]]))
@example(([[A], []], [[], [WITHOUT_ID]]))
def test_ids_match_as_in_the_naive_loop(case: tuple[Rows, Rows]) -> None:
    assert engine(*case, match_method="id") == naive(*case, {"id": same_id})
    both: dict[str, Test] = {"id": same_id, "text": same_text}
    assert engine(*case, match_method=[*both]) == naive(*case, both)


@given(inputs())
def test_texts_match_as_in_the_naive_loop(case: tuple[Rows, Rows]) -> None:
    assert engine(*case, match_method="text") == naive(*case, {"text": same_text})


@pytest.mark.sample(4)
@pytest.mark.parametrize("direction", CONTAINED)
@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"containment._PAIRS_A_TEXT": -1, "containment._BYTES_AT_ONCE": 300},
        {"containment._TOGETHER_FROM": 1, "containment._LONG": 0},
        {"containment._TOGETHER_FROM": 1, "containment._LONG": 0, "spans._BYTES_A_PLACE": 1}
        | {"spans._BYTES_AT_ONCE": 7, "spans._SLOT_BITS": 2, "containment._PAIRS_AT_ONCE": 1},
    ],
    ids=len,
)
@given(case=inputs())
def test_containment_matches_as_in_the_naive_loop(
    limits: dict[str, int], direction: str, case: tuple[Rows, Rows]
) -> None:
    expected = naive(*case, {"containment": CONTAINED[direction]})
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(f"krag_eval.matching.{name}", value)
        assert engine(*case, match_method="containment", containment=direction) == expected


@given(inputs(), st.lists(st.sampled_from(["id", "text", "containment", "rouge1", "rougeL"]), min_size=1), st.data())
def test_of_a_cascade_the_first_that_holds_wins_and_is_remembered(
    case: tuple[Rows, Rows], methods: list[str], data: st.DataObject
) -> None:
    rouge = {m: data.draw(st.sampled_from([0.0, 0.5, 2 / 3, 0.8, 1.0])) for m in set(methods) & {"rouge1", "rougeL"}}
    known: dict[str, Test] = {"id": same_id, "text": same_text, "containment": CONTAINED["either"]}
    known |= {"rouge1": similar("rouge1", rouge.get("rouge1", 0)), "rougeL": similar("rougeL", rouge.get("rougeL", 0))}
    expected = naive(*case, {method: known[method] for method in methods})
    assert engine(*case, match_method=methods, threshold=rouge) == expected


@given(inputs(), st.sampled_from(["text", "containment"]))
def test_without_normalising_the_raw_texts_are_compared_and_a_function_takes_its_place(
    case: tuple[Rows, Rows], method: str
) -> None:
    def raw(gold: Document, retrieved: Document) -> bool:
        one, other = gold.get("text", ""), retrieved.get("text", "")
        contained = method == "containment" and (one in other or other in one)
        return bool(one and other) and (one == other or contained)

    assert engine(*case, match_method=method, normalize=None) == naive(*case, {method: raw})
    lower = [[[d | {"text": d["text"].lower()} if "text" in d else d for d in row] for row in side] for side in case]
    assert engine(*case, match_method=method, normalize=lambda text: text.lower()) == naive(
        lower[0], lower[1], {method: raw}
    )


def test_a_built_in_function_may_normalise_and_what_returns_no_text_is_an_error() -> None:
    assert evaluate([["A b"]], [["a B"]], 1, match_method="text", normalize=str.lower)["recall@1"] == 1
    with pytest.raises(InvalidInputError, match="`normalize` returned None"):
        evaluate([["a"]], [["a"]], 1, match_method="text", normalize=lambda _: None)  # type: ignore[arg-type,return-value]


MISSING: Rows = [
    [{"id": "d1"}, {"id": "d2"}, {"text": ""}, {"text": "\u200b "}, {"id": "d1", "text": "x"}, {"text": "x"}]
]


@pytest.mark.parametrize("method", ["text", "containment", "rouge1", "rougeL"])
def test_what_is_missing_on_both_sides_never_matches(method: str) -> None:
    both = [(gold, rank) for gold in (4, 5) for rank in (4, 5)]
    assert sorted(engine(MISSING, MISSING, match_method=method, threshold=0)) == both
    assert sorted(engine(MISSING, MISSING, match_method="id")) == [(0, 0), (0, 4), (1, 1), (4, 0), (4, 4)]


def test_where_no_id_matches_one_warning_shows_both_sides() -> None:
    gold: Any = [[{"id": "doc-1"}], [{"id": "doc-2"}]]
    retrieved: Any = [[{"id": "chunk-7"}, {"id": "chunk-8"}], [{"id": "doc-1"}]]
    with pytest.warns(
        KragEvalWarning, match=r"Not one id matches.*'doc-1', 'doc-2'.*'chunk-7', 'chunk-8'.*'doc-1' is gold of one"
    ) as told:
        evaluate(gold, retrieved, (1, 5), match_method="id")
    assert len(told) == 1


@pytest.mark.parametrize("retrieved", [[["d1", "x"], ["y"]], [["x"], ["d2"]]])
def test_where_any_id_matches_nothing_is_warned(retrieved: list[list[str]]) -> None:
    gold: Rows = [[{"id": "d1"}], [{"id": "d2"}]]
    evaluate(gold, [[{"id": name} for name in row] for row in retrieved], 1, match_method="id")


def test_under_a_cascade_repeats_of_id_or_text_each_earn_once() -> None:
    gold = [[{"id": "d1", "text": "one"}, {"id": "d2", "text": "two"}, {"text": "ONE"}]]
    ranking = [
        {"id": "d1", "text": "changed"},
        {"id": "d1", "text": "other"},
        {"id": "d9", "text": "Two"},
        {"text": "two "},
        {"text": "one"},  # no id either, which makes the two no repeats of each other
    ]
    result = evaluate(gold, [ranking], 5, match_method=["id", "text"])
    shown = result.explain(0)
    assert [rank.repeat_of for rank in shown.ranks] == [None, 1, None, 3, None]
    matches = [[(m.gold, m.method) for m in rank.matches] for rank in shown.ranks[::2]]
    assert matches == [[(0, "id")], [(1, "text")], [(0, "text"), (2, "text")]]
    assert (result["recall@5"], result["precision@5"]) == (1, 3 / 5)


LONG = 300_000
HOSTILE = {
    "one letter and another": ("a" * LONG + "b", "a" * 2 * LONG, set()),
    "one letter": ("a" * LONG, "a" * 2 * LONG, {(0, 0)}),
    "another letter first": ("b" + "a" * LONG, "a" * 2 * LONG, set()),
    "another letter in the middle": ("a" * LONG + "b" + "a" * LONG, "a" * LONG + "ba" * LONG, set()),
    "two scripts": ("가" * LONG + "a", "가" * 2 * LONG, set()),
    "a period": ("ab" * LONG + "b", "ab" * 2 * LONG, set()),
}


@pytest.mark.parametrize(("gold", "retrieved", "expected"), HOSTILE.values(), ids=HOSTILE)
def test_containment_of_long_runs_of_one_letter_is_decided(gold: str, retrieved: str, expected: set[Any]) -> None:
    assert set(engine([[{"text": gold}]], [[{"text": retrieved}]], match_method="containment")) == expected


@pytest.mark.parametrize("kind", ["words", "one letter"])
def test_many_texts_are_found_in_a_long_one(kind: str) -> None:
    rng = random.Random(kind)
    words = ["the", "cat", "кот", "고양이가", "앉았다", "猫", "แมว", "e\u0301", "😀", "\ud83d", "a" * 40]
    whole = " ".join(rng.choices(words, k=20_000)) if kind == "words" else "a" * 80_000 + "b" + "a" * 9
    starts = [0, 0, len(whole) - 1, *(rng.randrange(len(whole)) for _ in range(300))]
    parts = [whole[start : start + rng.randrange(1, 400)] for start in starts]
    parts += [part[: len(part) // 2] + rng.choice(words) + part[len(part) // 2 :] for part in parts]
    for gold, retrieved in (([whole], parts), (parts, [whole])):
        actual, predicted = (Side("actual", [texts], None, "relevance") for texts in (gold, retrieved))
        found = find_matches(Batch(actual, predicted, make_settings(match_method="containment", normalize=None)))
        assert set(zip(found.actual.tolist(), found.predicted.tolist(), strict=True)) == {
            (i, j) for i, one in enumerate(gold) for j, other in enumerate(retrieved) if one in other or other in one
        }


COLLECTIONS = [f"xquad/xquad.{language}" for language in ("en", "ru", "zh", "ar", "th")]
COLLECTIONS.append("korquad1/KorQuAD_v1.0_dev")


@pytest.fixture(params=COLLECTIONS)
def paragraphs(request: pytest.FixtureRequest, shared_data: Path) -> list[str]:
    articles = json.loads((shared_data / f"{request.param}.json").read_text(encoding="utf-8"))["data"]
    texts = [paragraph["context"] for article in articles for paragraph in article["paragraphs"]]
    return random.Random(0).sample(texts, 50)


def test_both_halves_of_a_real_paragraph_are_contained_in_it_alone(paragraphs: list[str]) -> None:
    cuts = [(text, len(text) // 2) for text in paragraphs]
    halves = [{"text": half} for text, cut in cuts for half in (text[:cut], text[cut:])]
    whole: Rows = [[{"text": text} for text in paragraphs]]
    assert set(engine(whole, [halves], match_method="containment")) == {(i // 2, i) for i in range(100)}
    assert engine(whole, [halves], match_method="containment", containment="gold_in_retrieved") == {}


def test_rouge_l_of_real_paragraphs_is_1_for_equal_ones_and_that_of_the_naive_loop_for_all(
    paragraphs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ref, "_lcs", LCSseq.similarity)
    tokens = [WordTokenizer().tokenize(text) for text in paragraphs]
    scores = {(i, j): ref.rouge(tokens[i], tokens[j + 20], "rougeL", "fmeasure") for i in range(30) for j in range(30)}
    assert [scores[i + 20, i] for i in range(10)] == [1.0] * 10
    for threshold in (0, sorted(scores.values())[450], 1):
        result = evaluate([paragraphs[:30]], [paragraphs[20:]], 1, match_method="rougeL", threshold=threshold)
        matches = [match for rank in result.explain(0).ranks for match in rank.matches]
        actual = {(match.gold, match.rank - 1): match.similarity for match in matches}
        assert actual == {pair: score for pair, score in scores.items() if score >= threshold}
