"""ROUGE matching: equal to the naive loop, to rouge_score 0.1.2, and to plain counting on long texts."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq
from rouge_score.rouge_scorer import RougeScorer

from krag_eval import TOKENIZERS, InvalidInputError, evaluate, set_limits
from krag_eval.documents.columns import Side
from krag_eval.matching import Batch, find_matches
from krag_eval.matching.overlap import _LONG, UNIT_OF, _sum_of_classes, sketch
from krag_eval.matching.settings import ScoringSettings, make_settings
from krag_eval.matching.tokens import Spans, TokenTable, Words
from tests.support import reference as ref
from tests.support.marks import nothing_may_match
from tests.support.reference import RougeKind, RougeMeasure

Rows = list[list[str]]
Pairs = dict[tuple[int, int], float]

KINDS: tuple[RougeKind, ...] = ("rouge1", "rouge2", "rougeL")
MEASURES: tuple[RougeMeasure, ...] = ("precision", "recall", "fmeasure")
# Eight letters of each of six scripts: the words of a vocabulary are octal numbers in them.
SPACED = ("abcdefgh", "абвгдежз", "가나다라마바사아", "ابتثجحخد")
SCRIPTS = (*SPACED, "一二三四五六七八", "กขคงจฉชซ")


def one_hash_for_all(spans: Spans, _first_words: Words | None = None) -> Words:
    return np.zeros(len(spans.starts), dtype=np.uint64)


# What is patched in `krag_eval.matching`.
LIMITS: dict[str, dict[str, object]] = {
    "as shipped": {},
    "every text is long": {"overlap._LONG": 0},
    "long, and divided into classes": {
        "overlap._LONG": 0,
        "overlap._CLASSES": (3, 2),
        "overlap._FEW_MISSING": 0.5,
    },
    "long, and more units than code points": {"overlap._LONG": 0, "overlap._MOST_UNITS": 1},
    "hashes that all collide": {"tokens.hash_spans": one_hash_for_all},
    "partners looked up together": {"overlap._PAIRS_A_TEXT": 0},
    "one pair at a time": {"overlap._PAIRS_A_TEXT": 9, "overlap._MOST_FEATURES": 0, "overlap._MOST_UNITS": 1},
    "small chunks": {"tokens._TEXTS_AT_ONCE": 2, "tokens._CHARACTERS_AT_ONCE": 20, "rouge._CANDIDATES_AT_ONCE": 2},
    "small blocks of pairs": {"Batch.pair_blocks": functools.partialmethod(Batch.pair_blocks, 2)},
}
often = settings(max_examples=4 * settings().max_examples)
lcs_once = functools.lru_cache(maxsize=1000)(ref._lcs)


def word(number: int, script: str) -> str:
    return "".join(script[int(digit)] for digit in f"{number:o}")


def engine(gold: Rows, retrieved: Rows, limit: str = "as shipped", **settings: Unpack[ScoringSettings]) -> Pairs:
    sides = Side("actual", gold, None, "relevance"), Side("predicted", retrieved, None, "relevance")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in LIMITS[limit].items():
            patch.setattr(f"krag_eval.matching.{name}", value)
        found = find_matches(Batch(*sides, make_settings(**settings)))
    places = zip(found.actual.tolist(), found.predicted.tolist(), strict=True)
    pairs = dict(zip(places, found.similarity.tolist(), strict=True))
    assert len(pairs) == len(found)
    return pairs


def naive(
    gold: Rows,
    retrieved: Rows,
    rule: tuple[RougeKind, RougeMeasure, float],
    tokenize: Callable[[str], list[str]] = str.split,
    lcs: Callable[[Sequence[str], Sequence[str]], int] = lcs_once,
) -> Pairs:
    found: Pairs = {}
    places, ranks = itertools.count(), itertools.count()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ref, "_lcs", lcs)
        for wanted, ranking in zip(gold, retrieved, strict=True):
            numbered = [(next(ranks), tuple(tokenize(text))) for text in ranking]
            for place, tokens in [(next(places), tuple(tokenize(text))) for text in wanted]:
                for rank, others in numbered:
                    if ref.rouge_matches(tokens, others, *rule):
                        found[place, rank] = ref.rouge(tokens, others, *rule[:2])
    return found


def varied(tokens: list[str], words: list[str], rng: random.Random) -> list[str]:
    """The tokens with some left out, some replaced, and perhaps out of order."""
    kept = [rng.choice(words) if rng.random() < 0.2 else token for token in tokens if rng.random() < 0.9]
    return rng.sample(kept, len(kept)) if rng.random() < 0.3 else kept


@st.composite
def cases(draw: st.DrawFn, longest: int = 500, scripts: Sequence[str] = SCRIPTS) -> tuple[Rows, Rows]:
    """Queries over one vocabulary, half ASCII, with texts that resemble and repeat each other."""
    size = draw(st.sampled_from([2, 3, 10, 100, 10_000]) | st.integers(2, 10_000))
    most = draw(st.sampled_from([2, 10, longest // 4, longest]))
    script = draw(st.sampled_from(scripts))
    rng = random.Random(draw(st.integers(0, 2**32)))
    ascii_words = [word(number, SCRIPTS[0]) for number in range(size // 2)]
    words = ascii_words + [word(number, script) for number in range(size // 2, size)]
    texts: list[list[str]] = [[]]
    for _ in range(draw(st.integers(1, 8))):
        some = rng.choice([words, ascii_words])
        fresh = rng.random() < 0.4
        texts.append(rng.choices(some, k=rng.randint(0, most)) if fresh else varied(rng.choice(texts), some, rng))
    joined = [" ".join(tokens) for tokens in texts]
    gold, retrieved = ([rng.choices(joined, k=rng.randint(0, n)) for _ in range(3)] for n in (3, 5))
    return gold, retrieved


# Where each character is a token, long texts would take the naive loop too long.
CASES = st.tuples(cases(), st.just("whitespace")) | st.tuples(cases(scripts=SPACED), st.just("words"))


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", KINDS)
@often
@given(drawn=CASES, measure=st.sampled_from(MEASURES), limit=st.sampled_from(list(LIMITS)), data=st.data())
def test_the_engine_equals_the_naive_loop_also_at_the_very_score_and_one_float_above(
    kind: RougeKind, drawn: tuple[tuple[Rows, Rows], str], measure: RougeMeasure, limit: str, data: st.DataObject
) -> None:
    case, name = drawn
    slow = functools.partial(naive, *case, tokenize=TOKENIZERS[name].tokenize)
    fast = functools.partial(engine, *case, limit, match_method=kind, rouge_measure=measure, tokenizer=name)
    scores = sorted({0.0, 0.5, 1.0, *slow(rule=(kind, measure, 0)).values()})
    at = data.draw(st.sampled_from(scores) | st.floats(0, 1), label="threshold")
    for threshold in (at, min(1.0, math.nextafter(at, 2))):
        assert fast(threshold=threshold) == slow(rule=(kind, measure, threshold))


@pytest.mark.sample(2)
@pytest.mark.parametrize("tokenizer", ["words", "characters", "rouge_score", "whitespace"])
@given(case=cases(longest=40), kind=st.sampled_from(KINDS), threshold=st.floats(0.01, 1), stem=st.booleans())
def test_the_engine_equals_the_naive_loop_for_every_tokenizer(
    tokenizer: str, case: tuple[Rows, Rows], kind: RougeKind, threshold: float, stem: bool
) -> None:
    tokens = make_settings(match_method=kind, tokenizer=tokenizer, use_stemmer=stem).load_tokenizer()
    actual = engine(*case, match_method=kind, threshold=threshold, tokenizer=tokenizer, use_stemmer=stem)
    assert actual == naive(*case, (kind, "fmeasure", threshold), tokens.tokenize)


@nothing_may_match
def test_explain_and_the_metrics_show_the_very_same_similarity() -> None:
    gold, near, far = "a b c d e f g", "a b x d e y g", "p q r"
    expected = ref.rouge(gold.split(), near.split(), "rougeL", "fmeasure")
    for threshold, hit in ((expected, 1.0), (math.nextafter(expected, 2), 0.0)):
        result = evaluate([[gold]], [[far, near]], k=2, match_method="rougeL", threshold=threshold)
        matches = [match for rank in result.explain(0).ranks for match in rank.matches]
        assert [(m.gold, m.rank, m.method, m.similarity) for m in matches] == [(0, 2, "rougeL", expected)] * int(hit)
        assert result["recall@2"] == hit


PARTS = ["running", "Runs", "generalizations", "cat's", "of-the", "a1", "B2", "_x_", "x", "_", "2024", "the", "The"]
ASCII = st.lists(st.sampled_from([*PARTS, "...", "\t", "\x00", "\x1f"]), max_size=12).map(" ".join)
ASCII |= st.text(st.characters(max_codepoint=127), max_size=30)
ANY = st.text(max_size=20) | st.lists(st.sampled_from([*PARTS, *SCRIPTS, "İ", "ß", "\ud800"]), max_size=8).map(" ".join)


def our_numbers(gold: str, retrieved: str, kinds: Sequence[str] = KINDS, **settings: Any) -> list[list[float]]:
    run = functools.partial(engine, [[gold]], [[retrieved]], threshold=0, **settings)
    return [[run(match_method=k, rouge_measure=m).get((0, 0), 0.0) for m in MEASURES] for k in kinds]


def their_numbers(gold: str, retrieved: str, kinds: Sequence[str] = KINDS, **options: Any) -> list[list[float]]:
    scores = RougeScorer(list(kinds), **options).score(gold, retrieved)
    return [[getattr(scores[kind], measure) for measure in MEASURES] for kind in kinds]


@pytest.mark.sample(2)
@pytest.mark.peer
@pytest.mark.parametrize("use_stemmer", [False, True])
@pytest.mark.parametrize("tokenizer", ["words", "rouge_score"])
@given(gold=ASCII, retrieved=ASCII)
def test_on_ascii_text_all_numbers_are_those_of_rouge_score(
    tokenizer: str, use_stemmer: bool, gold: str, retrieved: str
) -> None:
    ours = our_numbers(gold, retrieved, tokenizer=tokenizer, use_stemmer=use_stemmer)
    assert ours == their_numbers(gold, retrieved, use_stemmer=use_stemmer)


@pytest.mark.sample(2)
@pytest.mark.peer
@pytest.mark.parametrize("tokenizer", ["words", "rouge_score", "characters", "whitespace"])
@given(gold=ANY, retrieved=ANY)
def test_on_any_text_all_numbers_are_those_of_rouge_score_with_the_same_tokenizer(
    tokenizer: str, gold: str, retrieved: str
) -> None:
    same = TOKENIZERS[tokenizer]
    assert our_numbers(gold, retrieved, tokenizer=same) == their_numbers(gold, retrieved, tokenizer=same)


class ByPlace:
    """A tokenizer for which a line is not the same as a part of a text: it numbers the words."""

    def tokenize(self, text: str) -> list[str]:
        return [f"{place} {word}" for place, word in enumerate(text.split())]


FURTHER_KINDS = (*(f"rouge{n}" for n in range(3, 10)), "rougeLsum")
# Few words, so that even nine neighbors recur, in texts of many lines.
LINED = st.lists(st.sampled_from(["a", "b", "the", "The", "Runs", "\n", "\n\n", "\r\n", "x y"]), max_size=30)
LINED_TEXTS = LINED.map(" ".join) | st.text(st.sampled_from("ab \n가\u2028"), max_size=40)


@pytest.mark.sample(2)
@pytest.mark.peer
@pytest.mark.parametrize(
    "tokenizer",
    ["words", "rouge_score", "characters", "whitespace", ByPlace(), "stems"],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
@given(gold=LINED_TEXTS, retrieved=LINED_TEXTS)
def test_longer_neighborhoods_and_lines_are_those_of_rouge_score(tokenizer: Any, gold: str, retrieved: str) -> None:
    if tokenizer == "stems":
        ours: dict[str, Any] = {"tokenizer": "rouge_score", "use_stemmer": True}
        theirs: dict[str, Any] = {"use_stemmer": True}
    else:
        ours = theirs = {"tokenizer": TOKENIZERS[tokenizer] if isinstance(tokenizer, str) else tokenizer}
    expected = their_numbers(gold, retrieved, FURTHER_KINDS, **theirs)
    assert our_numbers(gold, retrieved, FURTHER_KINDS, **ours) == expected


@pytest.mark.sample(2)
@pytest.mark.parametrize("limit", ["as shipped", "hashes that all collide", "small chunks", "one pair at a time"])
@given(rows=st.lists(st.tuples(*[st.lists(LINED_TEXTS, max_size=3)] * 2), min_size=1, max_size=3), data=st.data())
def test_decisions_by_lines_and_neighborhoods_are_those_of_rouge_score(limit: str, rows: Any, data: Any) -> None:
    kind, measure = data.draw(st.sampled_from(FURTHER_KINDS)), data.draw(st.sampled_from(MEASURES))
    scorer = RougeScorer([kind], tokenizer=TOKENIZERS["whitespace"])
    gold, retrieved = ([row[side] for row in rows] for side in (0, 1))
    places, ranks = itertools.count(), itertools.count()
    theirs: Pairs = {}
    for wanted, ranking in rows:
        numbered = [(next(ranks), text) for text in ranking]
        for place, text in [(next(places), text) for text in wanted]:
            for rank, other in numbered:
                if text.split() and other.split():  # a text without tokens matches nothing
                    theirs[place, rank] = getattr(scorer.score(text, other)[kind], measure)
    at = data.draw(st.sampled_from([0.0, 0.5, 1.0, *theirs.values()]))
    for threshold in (at, min(1.0, math.nextafter(at, 2))):
        settings: Any = {"match_method": kind, "rouge_measure": measure, "tokenizer": "whitespace"}
        actual = engine(gold, retrieved, limit, threshold=threshold, **settings)
        assert actual == {pair: similarity for pair, similarity in theirs.items() if similarity >= threshold}


@nothing_may_match
def test_lines_in_any_order_match_in_every_front() -> None:
    gold, retrieved = "red wine\nold cheese", "old cheese\nred wine"
    settings: dict[str, Any] = {"match_method": "rougeLsum", "threshold": 1}
    result = evaluate([[gold]], [["x", retrieved]], k=2, **settings)
    assert (result["mrr@2"], "match:rougeLsum>=1|" in result.signature) == (1 / 2, True)
    assert "rougeLsum" in str(result.explain(0))
    assert evaluate([[gold]], [[retrieved, "old cheese red"]], k=2, match_method="rougeL", threshold=0.9)["mrr@2"] == 0


def test_lines_with_more_pairs_of_tokens_than_the_limit_are_refused() -> None:
    text = "a b\n" * 200
    set_limits(token_pairs=100)
    try:
        with pytest.raises(InvalidInputError, match="400 and 398 tokens are too long for rougeLsum"):
            evaluate([[text]], [[text[:-4]]], match_method="rougeLsum")
    finally:
        set_limits(token_pairs=None)


def compare_long_texts(pairs: list[tuple[list[str], list[str]]], kind: RougeKind, limit: str = "as shipped") -> None:
    gold, retrieved = ([[" ".join(pair[side])] for pair in pairs] for side in (0, 1))
    count: Any = LCSseq.similarity
    for measure in MEASURES:
        score = naive(gold, retrieved, (kind, measure, 0), lcs=count)[0, 0]
        for threshold in (0, score, math.nextafter(score, 2)):
            actual = engine(gold, retrieved, limit, match_method=kind, rouge_measure=measure, threshold=threshold)
            assert actual == naive(gold, retrieved, (kind, measure, threshold), lcs=count)


@pytest.mark.full
@pytest.mark.parametrize("limit", ["as shipped", "one pair at a time"])
@pytest.mark.parametrize("n_words", [2, 40, 3000])
@pytest.mark.parametrize("kind", KINDS)
def test_long_texts_share_what_counting_finds(kind: RougeKind, n_words: int, limit: str) -> None:
    rng = random.Random(n_words)
    words = [word(number, SCRIPTS[0]) for number in range(n_words)]
    gold = rng.choices(words, k=math.isqrt(_LONG) + 1000)
    retrieved = [f"only{n}" if n % 3 == 0 else rng.choice([token, *words]) for n, token in enumerate(gold)]
    compare_long_texts([(gold, retrieved), (gold, gold[::-1]), (gold, ["absent"] * len(gold))], kind, limit)


@pytest.mark.full
def test_more_different_words_than_code_points_below_the_surrogates_are_kept_apart() -> None:
    words = [word(number, SCRIPTS[0]) for number in range(60_000)]
    blocks = [words[start : start + 1500] for start in range(0, 60_000, 1500)]
    compare_long_texts([(block, block[700:] + block[:700]) for block in blocks], "rougeL")
    whole, shifted = [" ".join(words)], [" ".join(words[9:] + words[:9])]
    assert engine([whole], [shifted], match_method="rougeL", rouge_measure="recall") == {(0, 0): 59_991 / 60_000}


@given(
    texts=st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=200), min_size=2, max_size=2),
    n_classes=st.integers(1, 8),
)
def test_the_bound_of_long_texts_is_never_below_their_subsequence(texts: list[list[int]], n_classes: int) -> None:
    one, other = map(np.array, texts)
    assert _sum_of_classes(one, other, 21, n_classes) >= LCSseq.similarity(*texts)


@pytest.mark.full
@often
@given(case=cases(), kind=st.sampled_from(KINDS))
def test_the_bound_of_the_sketches_is_never_below_the_overlap_and_exact_for_equal_texts(
    case: tuple[Rows, Rows], kind: RougeKind
) -> None:
    texts = list(itertools.chain(*case[0], *case[1])) or ["a a"]
    counts = [ref._ngrams(text.split(), UNIT_OF[kind]) for text in texts]
    table = TokenTable(texts, TOKENIZERS["whitespace"])
    first, second = map(np.ravel, np.indices((len(texts), len(texts))))
    bounds = sketch(table, {1, 2})[UNIT_OF[kind]].most_shared(first, second)
    for one, other, bound in zip(first.tolist(), second.tolist(), bounds.tolist(), strict=True):
        assert (counts[one] & counts[other]).total() <= bound
        assert counts[one] != counts[other] or bound == counts[one].total()


def test_unrelated_texts_are_settled_without_counting_their_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krag_eval.matching.rouge.overlap", None)
    texts = [[" ".join(word(number, script) for number in range(100))] for script in SCRIPTS]
    assert engine([texts[0]] * 5, texts[1:], match_method="rouge1") == {}


def test_texts_of_one_token_score_0_under_rouge2_as_in_rouge_score() -> None:
    for gold, retrieved in (("a", "a"), ("a", "a b"), ("a b", "a")):
        assert their_numbers(gold, retrieved)[1] == [0.0] * 3
        assert engine([[gold]], [[retrieved]], match_method="rouge2", threshold=1e-9) == {}
        assert engine([[gold]], [[retrieved]], match_method="rouge2", threshold=0) == {(0, 0): 0.0}
