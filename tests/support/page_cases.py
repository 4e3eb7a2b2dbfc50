"""Reports for the tests of the page: small ones by hand, in several scripts, one of many queries, and hostile ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, Run, RunRow, evaluate, evaluate_ids
from krag_eval.evaluation.diagnosis import diagnose
from krag_eval_report import Report, build_report
from krag_eval_report.html import html_page
from krag_eval_report.records import ReportedSystem
from tests.support.claims import faults

KOREAN, ARABIC, CHINESE, RUSSIAN = "q-ko", "q-ar", "q-zh", "q-ru"
LONG = "x" * 5_000_000

QUESTIONS: list[dict[str, Any]] = [
    {
        "id": KOREAN,
        "question": "배송은 얼마나 걸리나요?",
        "gold": [{"id": "ko-1", "text": "배송이 보통 이틀 걸립니다."}],
        "answer": "이틀 걸립니다.",
        "type": "fact",
        "metadata": {"language": "ko"},
    },
    {
        "id": ARABIC,
        "question": "متى يصل الطلب؟",
        "gold": [{"id": "ar-1", "text": "يصل الطَّلَب خلال يومين."}],
        "type": "fact",
        "metadata": {"language": "ar"},
    },
    {
        "id": CHINESE,
        "question": "退货要多久？",
        "gold": [{"id": "zh-1", "text": "退货需要七天。"}],
        "type": "scenario",
        "metadata": {"language": "zh"},
    },
    {
        "id": RUSSIAN,
        "question": "Сколько стоит доставка?",
        "gold": [{"id": "ru-1", "text": "Доставка стоит 300 рублей."}, {"id": "ru-2", "text": "Самовывоз бесплатный."}],
        "type": "scenario",
        "metadata": {"language": "ru"},
    },
    {"id": "q-none", "question": "Is there a shop on the Moon?", "gold": [], "type": "negative"},
    {"id": "q-error", "question": "Who answers?", "gold": [{"id": "en-1", "text": "Nobody answers."}], "type": "fact"},
]

TEXTS = {
    "ko-1": "배송이 보통 이틀 걸립니다.",
    "ko-2": "배송은 무료이고 반품도 됩니다.",
    "ar-1": "يصل الطَّلَب خلال يومين.",
    "ar-2": "الطلب لا يصل يوم الجمعة.",
    "zh-1": "退货需要七天。",
    "zh-2": "我们不退款，退货也不行，天气好。",
    "ru-1": "Доставка стоит 300 рублей.",
    "ru-3": "ДОСТАВКА по городу.",
    "en-2": "Somebody else.",
}

# Query to the ids that each of two retrievers returned; None where it raised.
FIRST: dict[str, list[str] | None] = {
    KOREAN: ["ko-2", "ko-1", "en-2"],
    ARABIC: ["ar-2", "ar-1"],
    CHINESE: ["zh-2"],
    RUSSIAN: ["ru-3", "ru-1"],
    "q-none": ["en-2"],
    "q-error": None,
}
SECOND: dict[str, list[str] | None] = {
    KOREAN: ["ko-1", "ko-1", "ru-3", "ko-2"],
    ARABIC: ["ar-1", "ar-2"],
    CHINESE: ["zh-2"],
    RUSSIAN: ["ru-1", "ru-3"],
    "q-none": [],
    "q-error": ["en-2"],
}


def run_of(name: str, rankings: Mapping[str, Sequence[str] | None], texts: Mapping[str, str] = TEXTS) -> Run:
    """A run that returned these ids, with their texts where there are any, and falling scores."""
    rows = []
    for query_id, ids in rankings.items():
        if ids is None:
            rows.append(RunRow(query_id=query_id, error="TimeoutError: no answer in 10 s"))
            continue
        documents = [
            {"id": id_, **({"text": texts[id_]} if id_ in texts else {}), "score": 1 / rank}
            for rank, id_ in enumerate(ids, 1)
        ]
        rows.append(RunRow.from_dict({"query_id": query_id, "retrieved": documents}))
    return Run.of(name, rows, parameters={"chunk size": 300})


@functools.cache
def shop(n_runs: int = 2) -> Report:
    """Six questions in four scripts, one without an answer and one whose retriever raised."""
    runs = {"first": run_of("first", FIRST), "second": run_of("second", SECOND)}
    chosen = dict(list(runs.items())[:n_runs])
    return build_report(EvalSet(QUESTIONS, name="shop"), chosen, by=["type", "language"], k=(1, 5))


def many(n_queries: int) -> Report:
    """Two systems over many queries of ids: what each finds at rank `i % 7`, if that is among five, and when."""
    systems = []
    for name, modulus in (("first", 2), ("second", 3)):
        retrieved = [
            [f"g{i}" if rank == i % 7 and i % modulus else f"d{i}-{rank}" for rank in range(5)]
            for i in range(n_queries)
        ]
        result = evaluate_ids(
            [[f"g{i}"] for i in range(n_queries)],
            retrieved,
            k=5,
            metrics=["recall", "mrr"],
            query_ids=[f"q{i}" for i in range(n_queries)],
        )
        systems.append(ReportedSystem(name=name, result=result, diagnosis=diagnose(result)))
    return Report(title="many", systems=tuple(systems))


def from_lists(gold: list[list[Any]], retrieved: list[list[Any]], **arguments: Any) -> Report:
    """A report of one result, without an evaluation set."""
    return build_report({"only": evaluate(gold, retrieved, **arguments)})


def hostile(make: Callable[[str], str]) -> Report:
    """A report in which every text of a user is `make(what it is)`; as many rows whatever `make` is."""
    rows: list[dict[str, Any]] = [
        {
            "id": make(f"id{i}"),
            "question": make(f"question{i}"),
            "gold": [{"id": make(f"gold{i}"), "text": make(f"gold text {i}")}],
            "answer": make("answer"),
            "type": make("type"),
            "metadata": {make("field"): make("value")},
        }
        for i in range(3)
    ]
    evalset = EvalSet(rows, name=make("set"))
    runs = {}
    for name in (make("system a"), make("system b")):
        found = [
            RunRow.from_dict(
                {
                    "query_id": row["id"],
                    "retrieved": [
                        {"id": make("document"), "text": make("text")},
                        {"id": row["gold"][0]["id"], "text": make("other")},
                    ],
                }
            )
            for row in rows[:2]
        ]
        failed = RunRow(query_id=rows[2]["id"], error=make("error"))
        runs[name] = Run.of(name, [*found, failed], parameters={make("parameter"): make("setting")})
    return build_report(evalset, runs, by=["type", make("field")], k=(1, 2), title=make("title"))


def page_of(report: Report, language: str | None = None, *, pictures: bool = False) -> str:
    """The page, without pictures unless a test is about them: drawing takes a second."""
    with pytest.MonkeyPatch.context() as patched:
        if not pictures:
            patched.setattr("krag_eval_report.html.page.figures_of", lambda report, speaker: [])
        page = html_page(report, language)
    if language is None:  # every page of the tests is checked; numbers of other languages are read elsewhere
        found = faults(report, page)
        assert not found, found
    return page


def write_page(folder: Path, report: Report, *, pictures: bool = False) -> str:
    """Write the page into the folder; its address."""
    path = folder / "report.html"
    path.write_text(page_of(report, pictures=pictures), encoding="utf-8", errors="backslashreplace")
    return path.as_uri()
