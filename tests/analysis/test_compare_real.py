"""Real questions in Korean, Russian and Chinese, two set-ups of BM25, and one that was broken on purpose."""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from krag_eval import TOKENIZERS, Document, EvalSet, InvalidInputError, Question, Run, RunRow
from krag_eval.analysis.comparison import Outcome, compare

FILES = {"ko": "korquad1/KorQuAD_v1.0_dev.json", "ru": "xquad/xquad.ru.json", "zh": "xquad/xquad.zh.json"}
K = 10
Tokenize = Callable[[str], list[str]]


def words(text: str) -> list[str]:
    return TOKENIZERS["words"].tokenize(text)


def bigrams(text: str) -> list[str]:
    return [one + other for one, other in itertools.pairwise(TOKENIZERS["characters"].tokenize(text))]


@functools.cache
def collection(path: Path) -> tuple[dict[str, str], EvalSet]:
    """Paragraphs by id, and about 300 questions whose type is the kind of answer."""
    paragraphs: dict[str, str] = {}
    questions = []
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            paragraph_id = f"p{len(paragraphs)}"
            paragraphs[paragraph_id] = paragraph["context"]
            for qa in paragraph["qas"]:
                answer = qa["answers"][0]["text"]
                kind = "number" if any(c.isdigit() for c in answer) else "long" if len(answer) > 12 else "short"
                questions.append(
                    Question(id=qa["id"], question=qa["question"], gold_chunk_ids=(paragraph_id,), type=kind)
                )
    return paragraphs, EvalSet(questions[:: len(questions) // 300])


def retrieve(path: Path, tokenize: Tokenize) -> Run:
    import bm25s

    paragraphs, evalset = collection(path)
    ids, corpus = list(paragraphs), [tokenize(text) for text in paragraphs.values()]
    vocabulary = {token: n for n, token in enumerate(dict.fromkeys(itertools.chain.from_iterable(corpus)))}
    index = bm25s.BM25(dtype="float64")
    index.index(([[vocabulary[t] for t in row] for row in corpus], vocabulary), show_progress=False)
    rows = []
    for question in evalset:
        known = [vocabulary[t] for t in tokenize(question.question or "") if t in vocabulary]
        scores = index.get_scores(known).tolist() if known else [0.0] * len(ids)
        best = sorted(range(len(ids)), key=lambda n: -scores[n])[:K]
        rows.append(RunRow(query_id=question.id, retrieved=tuple(Document(id=ids[n]) for n in best)))
    return Run.of("bm25", rows)


def broken(run: Run, evalset: EvalSet) -> Run:
    """Ids shuffled for a tenth of the questions, and nothing right for those with a number as their answer."""
    rows = []
    for place, question in enumerate(evalset):
        row = run.rows[question.id]
        if place % 10 == 0:
            row = run.rows[evalset.ids[place - 7]]
        if question.type == "number":
            row = replace(row, retrieved=tuple(d for d in row.retrieved if d.id not in question.gold_chunk_ids))
        rows.append(replace(row, query_id=question.id))
    return Run.of("broken", rows)


# Korean words carry particles, which pairs of characters see through; Russian words are long enough to stand as they
# are written; in Chinese both set-ups look at characters.
@pytest.mark.parametrize(("language", "bigrams_are"), [("ko", "better"), ("ru", "worse"), ("zh", "same")])
def test_the_comparison_names_the_crippled_slice_and_the_transitions(
    language: str, bigrams_are: str, shared_data: Path
) -> None:
    path = shared_data / FILES[language]
    _, evalset = collection(path)
    plain = retrieve(path, words)
    runs = {"words": plain, "bigrams": retrieve(path, bigrams), "broken": broken(plain, evalset)}
    comparison = compare(evalset, runs, baseline="words", k=K)
    assert comparison["bigrams", "ndcg@10"].outcome == bigrams_are
    assert {comparison["broken", key].outcome for key in comparison.keys} == {Outcome.WORSE}
    worst: Any = comparison.worst_slice
    assert (worst.system, worst.field, worst.value, worst.outcome) == ("broken", "type", "number", Outcome.WORSE)
    lost = [t for t in comparison.transitions if (t.system, t.before) == ("broken", "found") and t.after != "found"]
    assert [t.after for t in lost] == ["never_retrieved"]
    row = comparison["broken", "recall@10"]
    assert lost[0].count == row.losses  # one gold document a question
    assert {evalset[query_id].type for query_id in lost[0].query_ids} >= {"number"}


def test_runs_of_two_languages_are_not_compared(shared_data: Path) -> None:
    russian, chinese = (shared_data / FILES[language] for language in ("ru", "zh"))
    assert collection(russian)[1].ids == collection(chinese)[1].ids  # translations of each other
    korean, evalset = retrieve(shared_data / FILES["ko"], words), collection(russian)[1]
    with pytest.raises(InvalidInputError, match="which the evaluation set does not have"):
        compare(evalset, {"ru": retrieve(russian, words), "ko": korean})
