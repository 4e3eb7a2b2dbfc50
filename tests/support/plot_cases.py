"""Reports for the tests of the pictures: values that are easy to read back, and names that break things."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from krag_eval import EvalSet, Run, RunRow, evaluate
from krag_eval.evaluation.diagnosis import diagnose
from krag_eval.evaluation.intervals import intervals_of
from krag_eval.evaluation.results import EvaluationResult
from krag_eval_report import Report, build_report
from krag_eval_report.records import ReportedSystem

HOSTILE = (
    "한국어 형태소 분석기를 사용하는 BM25 검색기 (청크 200, 겹침 20)",
    "中文分词检索器,使用向量数据库与重排序模型",
    "محرك بحث عربي هجين مع إعادة الترتيب",
    "ตัวค้นคืนเอกสารภาษาไทยแบบผสม",
    r"$\frac{a}{b}$ and $x_1$ and $",
    "<script>alert('x')</script> & ]]> --> {{ 7 * 7 }}",
    "line one\nline two\ttab\x00\x07\ud800\u202eevil",
    "Плотный поиск по русским документам с переранжированием",
    " \n ",
    "chunk_size=200_overlap=20_model=text-embedding-3-large_reranker=cohere-v3.5_k=100_hybrid=true",
)


METRICS = ["hit_rate", "recall", "mrr"]


def report_of(results: Mapping[str, EvaluationResult]) -> Report:
    """A report with intervals of few resamples and without a comparison, which no picture shows."""
    systems = [
        ReportedSystem(
            name=name,
            result=replace(result, intervals=intervals_of(result, n_bootstrap=100, cluster="id")),
            diagnosis=diagnose(result),
        )
        for name, result in results.items()
    ]
    return Report(title="A report", systems=tuple(systems))


def random_run(seed: int, n_queries: int = 40, n_documents: int = 30) -> list[list[str]]:
    chance = random.Random(seed)
    documents = [f"d{n}" for n in range(n_documents)]
    return [chance.sample(documents, chance.randint(0, 12)) for _ in range(n_queries)]


def gold(n_queries: int = 40) -> list[list[str]]:
    """Two gold documents a question, none for every eighth."""
    return [[f"d{n % 30}", f"d{n * 7 % 30}"] if n % 8 else [] for n in range(n_queries)]


@functools.cache
def two_systems() -> Report:
    """Two retrievers at ranks, at all ranks and within budgets of tokens; intervals."""
    k = (1, 3, None, "2tok", "12tok")
    return report_of(
        {name: evaluate(gold(), random_run(n), k, metrics=METRICS) for n, name in enumerate(("bm25", "dense"))}
    )


@functools.cache
def hostile() -> Report:
    k, metrics = (1, "3tok"), ["hit_rate", "recall"]
    return report_of({name: evaluate(gold(), random_run(n), k, metrics=metrics) for n, name in enumerate(HOSTILE)})


@functools.cache
def rouge() -> Report:
    """Texts that match by ROUGE-L, with a threshold that decides."""
    texts = [[f"alpha beta gamma delta number{n}"] for n in range(12)]
    found = [[f"alpha beta {'gamma' if n % 2 else 'x'} y number{n % 9}", "nothing of it"] for n in range(12)]
    worse = [[" ".join(text.split()[n % 4 :])] for n, (text, _) in enumerate(found)]
    scoring: dict[str, Any] = {
        "k": (1, 2),
        "match_method": "rougeL",
        "threshold": 0.6,
        "metrics": ["hit_rate", "recall", "precision"],
    }
    return report_of({"a": evaluate(texts, found, **scoring), "b": evaluate(texts, worse, **scoring)})


@functools.cache
def with_documents() -> Report:
    """A run with document ids, which has `doc_hit`, beside a result without them."""
    questions = [{"id": n, "question": f"q{n}", "gold": [_chunk(n)]} for n in range(12)]
    evalset = EvalSet([*questions, {"id": 99, "question": "Nobody knows.", "gold": []}])
    rows = [{"query_id": n, "retrieved": [_chunk(n if n % 3 else n + 1), _chunk(n, "b")]} for n in range(12)]
    run = Run.of("with", [RunRow.from_dict(row) for row in rows])
    bare = Run.of("bare", [RunRow.from_dict({"query_id": n, "retrieved": [{"id": f"c{n}"}]}) for n in range(12)])
    return build_report(evalset, {"with": run, "bare": bare}, k=(1, 2), missing="empty")


def _chunk(n: int, part: str = "") -> dict[str, Any]:
    return {"id": f"c{n}{part}", "text": f"text {n} {part}", "metadata": {"doc_id": f"d{n}"}}


@functools.cache
def named(*names: str) -> Report:
    """Retrievers that find everything, under these names: the two smallest pictures."""
    return report_of({name: evaluate([["a"]] * 12, [["a"]] * 12, 1, metrics="hit_rate") for name in names})


@functools.cache
def nothing_defined() -> Report:
    return report_of({"x": evaluate([[], []], [["a"], ["b"]], metrics=["recall", "hit_rate"])})
