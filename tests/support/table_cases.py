"""Reports for the tests of tables: seven languages and two runs, ids only, no answer at all, one query, and attacks."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from krag_eval import EvalSet, Run, RunRow
from krag_eval_report import Report, build_report

# Id, question, type, language, the text of its gold chunk; a negative has none.
_ASKED: list[tuple[str, str, str, str, str | None]] = [
    ("ko-1", "배송은 며칠 걸리나요?", "literal", "ko", "주문하신 상품은 영업일 기준 이틀 안에 도착합니다."),
    ("ko-2", "환불은 어떻게 하나요?", "paraphrase", "ko", "반품 접수 후 삼 일 안에 결제 수단으로 환불됩니다."),
    ("ko-3", "달에도 배송하나요?", "negative", "ko", None),
    ("en-1", "When do you open?", "literal", "en", "The shop opens at nine and closes at six."),
    ("en-2", "How can I pay?", "scenario", "en", "Cards, transfers and cash are accepted."),
    ("ru-1", "Сколько стоит доставка?", "literal", "ru", "Доставка стоит триста рублей."),
    ("ru-2", "Где мой заказ?", "scenario", "ru", "Номер заказа приходит в письме."),
    ("zh-1", "可以退货吗？", "paraphrase", "zh", "七天之内可以无理由退货。"),
    ("ar-1", "متى يفتح المتجر؟", "literal", "ar", "يفتح المتجر في التاسعة صباحًا."),
    ("th-1", "ร้านเปิดกี่โมง", "literal", "th", "ร้านเปิดเวลาเก้าโมงเช้า"),
    ("ja-1", "返品できますか", "paraphrase", "ja", "七日以内なら返品できます。"),
    ("en-3", "Do you ship to Mars?", "negative", "en", None),
]
_OTHER = ("Opening hours of the café.", "회사 소개 페이지입니다.", "О нашей компании.", "公司简介。")

# What must come out as it went in: as words, never as markup, a link, a formula or a command to the terminal.
ATTACKS = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "{{7*7}}{%raw%}",
    "javascript:alert(1)",
    "[link](http://evil.example)",
    "![image](https://evil.example/a.png)",
    "www.evil.example",
    "a|b|c",
    "`code` **bold** _low_ ~~gone~~",
    "# heading",
    "- item",
    "1. item",
    "=1+1",
    " +cmd|' /C calc'!A0",
    "@SUM(A1:A9)",
    "-2+3",
    "\t=1+1",
    "＝1+1",
    "a\nb\r\n# c",
    "\x1b[2J\x1b]0;title\x07",
    "\0nul",
    "\u202egnp.exe",
    "\"quotes\" & 'more' &amp; <b>",
    "$x^2$ @someone a@b.example",
    "%s %(x)s {0}",
)


def evalset(rows: Iterable[dict[str, Any]] | None = None, name: str | None = "가게 FAQ") -> EvalSet:
    """The questions above, or those of these rows."""
    given = [
        {
            "id": id_,
            "question": question,
            "type": kind,
            "metadata": {"language": language},
            "gold": [{"id": f"{id_}#1", "text": text, "metadata": {"doc_id": f"doc-{id_}"}}] if text else [],
        }
        for id_, question, kind, language, text in _ASKED
    ]
    return EvalSet(given if rows is None else rows, name=name)


def run(name: str, ranks: Sequence[int | str | None], questions: EvalSet | None = None, **fields: Any) -> Run:
    """A run that has the gold document of each question at this rank, nowhere (None), or failed (the message)."""
    rows = []
    for place, question in enumerate(evalset() if questions is None else questions):
        at = ranks[place % len(ranks)]
        seconds = 0.01 * (place + 1)
        if isinstance(at, str):
            rows.append(RunRow.from_dict({"query_id": question.id, "error": at, "seconds": seconds}))
            continue
        retrieved: list[dict[str, Any]] = [{"id": f"other-{n}", "text": text} for n, text in enumerate(_OTHER)]
        if at is not None and question.gold:
            gold = question.gold[0]
            retrieved.insert(at - 1, {"id": gold.id, "text": gold.text, "metadata": dict(gold.metadata)})
        rows.append(RunRow.from_dict({"query_id": question.id, "retrieved": retrieved, "seconds": seconds}))
    return Run.of(name, rows, **fields)


@functools.cache
def two_runs() -> Report:
    """Two runs of twelve questions in seven languages; the second fails once."""
    recorded = {"k": 5, "retriever": "search:make", "versions": {"krag_eval": "0.1.0", "python": "3.11.9"}}
    runs = {
        "bm25 단어": run("bm25 단어", [1, 3, None, 2, None], parameters={"chunk_size": 500, "overlap": 50}),
        "гибрид (RRF)": run(
            "гибрид (RRF)",
            [1, 1, 2, 1, 1, 1, 1, "TimeoutError: 30 с", 1, None],
            parameters={"chunk_size": 256, "model": "다국어-v2", "rerank": True},
            recorded=recorded,
        ),
    }
    return build_report(evalset(), runs, by=["type", "language"], k=[1, 3, 5])


@functools.cache
def one_run() -> Report:
    """One run, nothing known of how it was made."""
    return build_report(evalset(), {"dense": run("dense", [1, 2, None])}, k=[1, 3])


@functools.cache
def many_runs(n: int = 7) -> Report:
    """More systems than fit beside each other, some with long names."""
    names = ["bm25", "아주 긴 이름을 가진 한국어 검색기 버전 2", "dense", *(f"hybrid-number-{i}" for i in range(n - 3))]
    return build_report(evalset(), {name: run(name, [1 + i % 3, None, 2]) for i, name in enumerate(names)}, k=[1, 3])


@functools.cache
def ids_only() -> Report:
    """Ids, no texts."""
    rows = [{"id": f"q{i}", "gold_chunk_ids": [f"g{i}"], "type": "한국어"} for i in range(12)]
    answers = [
        RunRow.from_dict({"query_id": f"q{i}", "retrieved": [{"id": "x"}, {"id": f"g{i}"}][: 1 + i % 2]})
        for i in range(12)
    ]
    return build_report(evalset(rows, "ids only"), {"ids": Run.of("ids", answers)}, k=[1, 2])


@functools.cache
def without_answers() -> Report:
    """No question has an answer, so that nothing is defined; two systems."""
    rows = [{"id": i, "question": f"질문 {i}", "gold": [], "type": "negative"} for i in range(4)]
    questions = evalset(rows, "없음")
    return build_report(questions, {name: run(name, [None], questions) for name in ("a", "b")}, k=[1, 3])


@functools.cache
def one_query() -> Report:
    """A single question, two systems."""
    rows = [{"id": "only", "question": "하나?", "gold": [{"id": "g", "text": "하나"}], "type": "literal"}]
    questions = evalset(rows, "하나")
    return build_report(questions, {"a": run("a", [1], questions), "b": run("b", [3], questions)}, k=[1, 3])


@functools.cache
def hostile() -> Report:
    """Attacks in every place that users fill."""
    rows = []
    for number, attack in enumerate(ATTACKS):
        gold = {"id": f"g{number} {attack}", "text": f"gold {attack} text", "metadata": {attack: attack}}
        rows.append(
            {
                "id": f"{attack} q{number}",
                "question": attack,
                "answer": attack,
                "type": ATTACKS[number % 5],
                "metadata": {ATTACKS[12]: attack},
                "gold": [gold],
            }
        )
    questions = evalset(rows, f"set {' '.join(ATTACKS)}")
    parameters = {attack: attack for attack in ATTACKS}
    names = (f"one {''.join(ATTACKS)}", ATTACKS[12])
    runs = {
        name: run(name, [1, None, f"{ATTACKS[0]}: {ATTACKS[12]}", 2], questions, parameters=parameters)
        for name in names
    }
    report = build_report(questions, runs, by=["type", ATTACKS[12]], k=[1, 3], title=f"title {' '.join(ATTACKS)}")
    return replace(report, notes=ATTACKS)


REPORTS = {
    "two runs": two_runs,
    "one run": one_run,
    "many runs": many_runs,
    "ids only": ids_only,
    "without answers": without_answers,
    "one query": one_query,
    "hostile": hostile,
}
