"""Files that are small for what they ask: `python -m tests.support.hostile_files` reads those that it is asked for.

Each is made when it is asked for, of any size, and read in a process of its own, whose peak memory is nobody else's.
All of these are forked from one that has imported everything: imports would take most of the time. Each reads a tiny
file of the same kind first, so that what is measured is the file and not what is done once.
"""

# ruff: noqa: E501 - rows of a table
from __future__ import annotations

import contextlib
import functools
import gzip
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.memory_child import peak_megabytes
from tests.support.forking import in_child

TINY = 3


class Hostile(NamedTuple):
    """A kind of file.

    Attributes:
        name: The name of the file.
        content: What it holds, by a number of things.
        use: What is done with it.
        size: The number for the quick test.
        large: The number for the full one.
    """

    name: str
    content: Callable[[int], str]
    use: Callable[[Path], object]
    size: int
    large: int


class Measured(NamedTuple):
    """What a child did: the size of the file in bytes, the memory it took in bytes, CPU seconds, and what it said."""

    size: int
    memory: int
    seconds: float
    said: str


def many(text: str, between: str = "\n") -> Callable[[int], str]:
    """So many texts, in each of which N is the number."""
    return lambda n: between.join(text.replace("N", str(i)) for i in range(n))


def around(before: str, inner: Callable[[int], str], after: str = "") -> Callable[[int], str]:
    """Something repeated between two texts."""
    return lambda n: before + inner(n) + after


def times(unit: str) -> Callable[[int], str]:
    """A text so many times."""
    return lambda n: unit * n


def read_policy(path: Path) -> object:
    """Read a policy and check a run by it."""
    from krag_eval.analysis.gate import check_gate, read_policy
    from tests.support.gate_cases import make_run, make_set

    policy, questions = read_policy(path), make_set(4)
    return check_gate(questions, make_run("run", questions, range(2)), policy).to_markdown()


def read_set(path: Path) -> object:
    """Read a set, write it, and take its fingerprint."""
    import krag_eval

    questions = krag_eval.read_evalset(path)
    return questions.fingerprint, repr(questions), list(questions)[:1]


def read_run(path: Path) -> object:
    """Read a run."""
    import krag_eval

    return repr(krag_eval.read_run(path))


def read_corpus(path: Path) -> object:
    """Read a corpus."""
    import krag_eval

    return list(krag_eval.read_corpus(path))[:1]


def validate(path: Path) -> object:
    """Validate a set."""

    import krag_eval_labels

    return repr(krag_eval_labels.validate(path))


def look_up(path: Path) -> object:
    """Ask a set for an id that it does not have."""
    import krag_eval

    questions = krag_eval.read_evalset(path)
    return questions[f"{questions.ids[0]}?"]


def of_run(path: Path) -> Any:
    """The questions that a run answers, each with its first document as gold."""
    import krag_eval

    run = krag_eval.read_run(path)
    return run, krag_eval.evalset_from_rows([{"id": i, "question": "?", "gold": [{"id": "d0"}]} for i in run.rows])


def run_funnel(path: Path) -> object:
    """Read a run and see where its documents are lost."""
    import krag_eval

    run, questions = of_run(path)
    found = krag_eval.funnel(questions, run)
    return found.to_dict(), repr(found), questions.ids


def run_evaluate(path: Path) -> object:
    """Read a run, score it, and write a report."""
    import krag_eval

    run, questions = of_run(path)
    result = krag_eval.evaluate_run(questions, run)
    result.report(path.with_suffix(".html"), evalset=questions)
    return result.to_dict(), repr(result), list(result.explanations())[:1]


def run_compare(path: Path) -> object:
    """Read a set, compare two runs by its slices, and write both reports."""
    import krag_eval
    from krag_eval.datasets import Run, RunRow

    questions = krag_eval.read_evalset(path)
    rows = {i: RunRow(query_id=i, retrieved=(krag_eval.Document(id="a"),)) for i in questions.ids}
    runs = {name: Run(name=name, rows=rows) for name in ("x", "y")}
    found = krag_eval.compare(questions, runs, by="type", keys=["recall@5"])
    found.report(path.with_suffix(".html"))
    return found.to_markdown(), repr(found), found.to_dict()


def evaluate_set(path: Path) -> object:
    """Read a set and score one document a question."""
    import krag_eval
    from krag_eval.datasets import Run, RunRow

    questions = krag_eval.read_evalset(path)
    run = Run(name="x", rows={i: RunRow(query_id=i, retrieved=(krag_eval.Document(id="a"),)) for i in questions.ids})
    return repr(krag_eval.evaluate_run(questions, run))


def metrics(path: Path) -> object:
    """Score with the metrics that the file names."""
    import krag_eval

    return repr(krag_eval.evaluate([["a"]], [["a"]], metrics=[path.read_text()]))


def key(path: Path) -> object:
    """Ask a result for the key in the file."""
    import krag_eval

    return krag_eval.evaluate([["a"]], [["a"]])[path.read_text()]


def command(option: str) -> Callable[[Path], object]:
    """Give the file's text to an option of the command line."""

    def call(path: Path) -> object:
        from krag_eval_cli import main

        line = path.with_name("rows.csv")
        line.write_text("id,question,gold,retrieved,type\nq,?,a,a,x\n")
        sys.argv = ["krag-eval", "evaluate", str(line), str(line), option, path.read_text()]
        main()
        return None

    return call


QUESTION = '{"id": "qN", "question": "?", "gold": ["a"]'
HOSTILE: dict[str, Hostile] = {}


def add(
    name: str, file: str, content: Callable[[int], str], use: Callable[[Path], object], size: int, large: int
) -> None:
    HOSTILE[name] = Hostile(file, content, use, size, large)


GATE = "[gate]\nrequire = ["
MUST = '"recall@5 >= 0.1"'
add("policy, one dotted key", "x.toml", around("a", times(".a"), " = 1"), read_policy, 10_000, 50_000)
add("policy, many dotted keys", "x.toml", many("kN" + ".a" * 600 + " = 1"), read_policy, 160, 1_000)
add("policy, dotted tables", "x.toml", many("[kN" + ".a" * 300 + "]"), read_policy, 160, 1_000)
add("policy, arrays of tables", "x.toml", many("[[kN" + ".a" * 300 + "]]"), read_policy, 160, 1_000)
add("policy, inline tables", "x.toml", around("x = ", many("{k" + ".a" * 300 + " = 1}", ", "), ""), read_policy, 1, 1)
add(
    "policy, list of inline tables",
    "x.toml",
    around("x = [", many("{k" + ".a" * 300 + " = 1}", ", "), "]"),
    read_policy,
    160,
    1_000,
)
add("policy, nested arrays", "x.toml", around("x = ", times("[")), read_policy, 100_000, 1_000_000)
add("policy, requirements", "x.toml", around(GATE, many('"recall@N1 >= 0.1"', ", "), "]"), read_policy, 10_000, 200_000)
add("policy, one requirement often", "x.toml", around(GATE, many(MUST, ", "), "]"), read_policy, 10_000, 200_000)
add("policy, figures", "x.toml", around(GATE, many('"error_rate <= 0.1"', ", "), "]"), read_policy, 10_000, 200_000)
add(
    "policy, slices",
    "x.toml",
    around(f"{GATE}{MUST}]\n", many(f"[slices.type.N]\nrequire = [{MUST}]")),
    read_policy,
    2_000,
    100_000,
)
add(
    "policy, fields",
    "x.toml",
    around(f"{GATE}{MUST}]\n", many(f"[slices.fN.x]\nrequire = [{MUST}]")),
    read_policy,
    2_000,
    100_000,
)
add(
    "policy, drops",
    "x.toml",
    around(f"{GATE}{MUST}]\n[gate.no_drop]\n", many('"recall@N1" = 0.1')),
    read_policy,
    2_000,
    100_000,
)
add("policy, unknown key", "x.toml", around("[gate]\n", times("a"), "= 1"), read_policy, 100_000, 5_000_000)
add("policy, long requirement", "x.toml", around(f'{GATE}"', times("a"), ' >= 0.1"]'), read_policy, 100_000, 5_000_000)
add("policy, long comparison", "x.toml", around(f'{GATE}"', times("a "), ' >= "]'), read_policy, 3_000, 100_000)
add("policy, digits", "x.toml", around("[gate]\nseed = ", times("9")), read_policy, 100_000, 5_000_000)
add("policy, hex digits", "x.toml", around("[gate]\nseed = 0x", times("f")), read_policy, 100_000, 5_000_000)
add("policy, float digits", "x.toml", around("[gate]\nconfidence = 0.", times("9")), read_policy, 100_000, 5_000_000)
add("policy, empty lines", "x.toml", times("\n"), read_policy, 100_000, 5_000_000)
add("policy, quotes", "x.toml", around('x = "', times("\\u0041"), '"'), read_policy, 10_000, 500_000)
add("policy, keys", "x.toml", many("kN = 1"), read_policy, 10_000, 200_000)
add(
    "policy, scoring keys",
    "x.toml",
    around(f"{GATE}{MUST}]\n[scoring]\n", many("kN = 1")),
    read_policy,
    10_000,
    200_000,
)
add(
    "policy, metrics",
    "x.toml",
    around(f"{GATE}{MUST}]\n[scoring.threshold]\n", many("kN = 0.5")),
    read_policy,
    10_000,
    200_000,
)
add(
    "policy, cluster", "x.toml", around(f'{GATE}{MUST}]\ncluster = "', times("a"), '"'), read_policy, 100_000, 5_000_000
)

add(
    "metadata keys",
    "x.jsonl",
    around('{"id": "q", "gold": ["a"], "metadata": {', many('"N": 1', ","), "}}"),
    read_set,
    50_000,
    1_000_000,
)
add(
    "further keys",
    "x.jsonl",
    around('{"id": "q", "gold": ["a"], ', many('"N": 1', ","), "}"),
    read_set,
    50_000,
    1_000_000,
)
add("keys of every row", "x.jsonl", many('{"id": "qN", "gold": ["a"], "kN": 1}'), read_set, 20_000, 200_000)
add(
    "metadata lists",
    "x.jsonl",
    around('{"id": "q", "gold": ["a"], "metadata": {"x": [', many("[]", ","), "]}}"),
    read_set,
    50_000,
    1_000_000,
)
add(
    "metadata objects",
    "x.jsonl",
    around('{"id": "q", "gold": ["a"], "metadata": {"x": [', many("{}", ","), "]}}"),
    read_set,
    50_000,
    1_000_000,
)
add(
    "metadata one by one",
    "x.jsonl",
    around('{"id": "q", "gold": ["a"], "metadata": {"x": [', many('{"a":{}}', ","), "]}}"),
    read_set,
    50_000,
    1_000_000,
)
add(
    "metadata levels",
    "x.jsonl",
    around('{"id": "q", "gold": ["a"], "metadata": {"x": ', times("[")),
    read_set,
    100_000,
    5_000_000,
)
add("json objects", "x.json", around("[", many("{}", ","), "]"), read_set, 100_000, 1_000_000)
add("json strings", "x.json", around("[", many('"N"', ","), "]"), read_set, 100_000, 1_000_000)
add("long id", "x.jsonl", around('{"gold": ["a"], "id": "', times("a"), '"}'), look_up, 100_000, 5_000_000)
add(
    "two long ids",
    "x.jsonl",
    lambda n: "\n".join('{"gold": ["a"], "id": "' + "ab" * n + i + '"}' for i in "xy"),
    look_up,
    5_000,
    2_000_000,
)
add("one id often", "x.jsonl", many('{"id": "q", "gold": ["a"]}'), read_set, 20_000, 200_000)
add("ids of one length", "x.jsonl", many('{"id": "question number N is this", "gold": ["a"]}'), look_up, 5_000, 200_000)
add("gold ids", "x.jsonl", around('{"id": "q", "gold": [', many('"N"', ","), "]}"), evaluate_set, 50_000, 1_000_000)
add(
    "one gold id often",
    "x.jsonl",
    around('{"id": "q", "gold": [', many('"a"', ","), "]}"),
    evaluate_set,
    50_000,
    1_000_000,
)
add(
    "alternatives",
    "x.jsonl",
    around('{"id": "q", "gold": [{"any_of": [', many('{"id": "N"}', ","), "]}]}"),
    evaluate_set,
    20_000,
    300_000,
)
add(
    "needs",
    "x.jsonl",
    around('{"id": "q", "gold": [', many('{"any_of": [{"id": "N"}, {"id": "a"}]}', ","), "]}"),
    evaluate_set,
    10_000,
    100_000,
)
add(
    "gold texts",
    "x.jsonl",
    around('{"id": "q", "gold": [', many('{"text": "N"}', ","), "]}"),
    evaluate_set,
    20_000,
    300_000,
)
add("json cells", "x.csv", around('id,gold\nq,"[', many('""N""', ","), ']"\n'), evaluate_set, 50_000, 1_000_000)
add("csv columns", "x.csv", around("id,gold,", many("cN", ","), "\nq,a\n"), read_set, 15_000, 1_000_000)
add("csv columns of one name", "x.csv", around("id,gold,", many("c", ","), "\nq,a\n"), read_set, 15_000, 1_000_000)
add(
    "csv numbered columns", "x.csv", around("id,question,", many("gold N", ","), "\nq,a\n"), read_set, 15_000, 1_000_000
)
add("csv cells", "x.csv", around("id,gold\nq,a", times(","), "\n"), read_set, 100_000, 5_000_000)
add("csv empty rows", "x.csv", around("id,gold\n", times(",\n")), read_set, 100_000, 2_000_000)
add("csv quotes", "x.csv", around("id,gold\n", times('"\n')), read_set, 10_000, 500_000)
add(
    "csv wide and long",
    "x.csv",
    lambda n: "id,gold," + ",".join(f"c{i}" for i in range(n)) + "\n" + "".join(f"q{i},a\n" for i in range(n)),
    read_set,
    2_000,
    20_000,
)
add("csv ragged", "x.csv", around("id,gold\n", many("qN,a,b")), read_set, 20_000, 300_000)
add("csv retrieved", "x.csv", around("query_id,doc_id,rank\n", many("q,dN,N")), read_run, 20_000, 500_000)
add("tsv", "x.tsv", around("id\tgold\n", many("q\tdN")), read_set, 20_000, 500_000)
add(
    "slices", "x.jsonl", many('{"id": "qN", "question": "?", "gold": ["a"], "type": "tN"}'), run_compare, 2_000, 100_000
)
add(
    "slice lists",
    "x.jsonl",
    around(
        '{"id": "q", "question": "?", "gold": ["a"], "type": "a"}\n{"id": "r", "question": "?", "gold": ["a"], "metadata": {"x": [',
        many('"N"', ","),
        "]}}",
    ),
    run_compare,
    20_000,
    1_000_000,
)
STAGE = '{"name": "sN", "retrieved": [{"id": "d0"}], "inputs": ["sM"]}'


def stages(n: int) -> str:
    each = ['{"name": "s0", "retrieved": [{"id": "d0"}]}']
    each += [f'{{"name": "s{i}", "retrieved": [{{"id": "d0"}}], "inputs": ["s{i - 1}"]}}' for i in range(1, n)]
    return f'{{"query_id": "q", "stages": [{",".join(each)}]}}'


def fan(n: int) -> str:
    each = [f'{{"name": "s{i}", "retrieved": [{{"id": "d{i}"}}]}}' for i in range(n)]
    return f'{{"query_id": "q", "stages": [{",".join(each)}, {{"name": "end", "retrieved": [], "inputs": [{",".join(f"{chr(34)}s{i}{chr(34)}" for i in range(n))}]}}]}}'


def wrong_stage(n: int) -> str:
    each = [f'{{"name": "stage number {i}", "retrieved": []}}' for i in range(n)]
    return f'{{"query_id": "q", "stages": [{",".join(each)}, {{"name": "end", "retrieved": [], "inputs": ["stage numbr 7"]}}]}}'


def ladder(n: int) -> str:
    each = [
        f'{{"name": "s{i}", "retrieved": [{{"id": "d0"}}], "inputs": {json.dumps([f"s{j}" for j in range(i)])}}}'
        for i in range(n)
    ]
    return f'{{"query_id": "q", "stages": [{",".join(each)}]}}'


add("stages", "x.jsonl", stages, run_funnel, 2_000, 10_000)
add("stages in a report", "x.jsonl", stages, run_evaluate, 2_000, 10_000)
add("stages side by side", "x.jsonl", fan, run_funnel, 2_000, 10_000)
add("stages of all before", "x.jsonl", ladder, run_funnel, 100, 1_000)
add("stages of other names", "x.jsonl", wrong_stage, run_funnel, 2_000, 100_000)
add(
    "stages of every row",
    "x.jsonl",
    many('{"query_id": "qN", "stages": [{"name": "sN", "retrieved": [{"id": "d0"}]}]}'),
    run_funnel,
    2_000,
    20_000,
)
SEARCH = '{"query": "?", "retrieved": [{"id": "dN"}]}'
add(
    "searches",
    "x.jsonl",
    around('{"query_id": "q", "searches": [', many(SEARCH, ","), "]}"),
    run_evaluate,
    5_000,
    100_000,
)
add(
    "searches in a funnel",
    "x.jsonl",
    around(
        '{"query_id": "q", "searches": [',
        many('{"query": "?", "stages": [{"name": "s", "retrieved": [{"id": "dN"}]}]}', ","),
        "]}",
    ),
    run_funnel,
    2_000,
    20_000,
)
add(
    "searches of no id",
    "x.jsonl",
    around('{"query_id": "q", "searches": [', many('{"query": "?", "retrieved": []}', ","), "]}"),
    run_evaluate,
    5_000,
    100_000,
)
add(
    "run metadata",
    "x.jsonl",
    around('{"query_id": "q", "retrieved": [{"id": "d0", "metadata": {', many('"kN": 1', ","), "}}]}"),
    run_evaluate,
    20_000,
    500_000,
)
add(
    "run ids",
    "x.jsonl",
    around('{"query_id": "q", "retrieved": [', many('"dN"', ","), "]}"),
    run_evaluate,
    20_000,
    300_000,
)
add("trec run", "x.run", many("q Q0 dN N 1 t"), read_run, 20_000, 500_000)
add("trec queries", "x.run", many("qN Q0 d N 1 t"), read_run, 20_000, 500_000)
add("qrels", "x.qrels", many("q 0 dN 1"), evaluate_set, 20_000, 500_000)
add("qrels grade", "x.qrels", around("q 0 d ", times("9")), read_set, 100_000, 5_000_000)
add("json digits", "x.jsonl", around('{"id": "q", "gold": ["a"], "x": ', times("9"), "}"), read_set, 100_000, 5_000_000)
add(
    "json exponent",
    "x.jsonl",
    around('{"id": "q", "gold": ["a"], "x": 1e', times("9"), "}"),
    read_set,
    100_000,
    5_000_000,
)
add(
    "json fraction",
    "x.jsonl",
    around('{"id": "q", "gold": ["a"], "x": 0.', times("9"), "}"),
    read_set,
    100_000,
    5_000_000,
)
add(
    "json repeated key",
    "x.jsonl",
    around('{"id": "q", "gold": ["a"], ', many('"a": 1', ","), "}"),
    read_set,
    50_000,
    500_000,
)
add(
    "json escapes",
    "x.jsonl",
    around('{"id": "q", "gold": ["a"], "x": "', times("\\u0000"), '"}'),
    read_set,
    50_000,
    1_000_000,
)
add("json unfinished", "x.json", around('[{"id": "q", "gold": ["', times("a")), read_set, 100_000, 5_000_000)
add("json lines refused", "x.jsonl", many('{"id": "qN"}'), validate, 10_000, 200_000)
add("json unreadable lines", "x.jsonl", many("{N"), validate, 10_000, 200_000)
add("corpus", "x.jsonl", many('{"id": "N", "text": "t", "metadata": {"kN": 1}}'), read_corpus, 10_000, 200_000)
add(
    "squad",
    "x.json",
    around(
        '{"data": [{"paragraphs": [{"context": "t", "qas": [',
        many('{"id": "N", "question": "?", "answers": []}', ","),
        "]}]}]}",
    ),
    read_set,
    10_000,
    200_000,
)
add(
    "squad answers",
    "x.json",
    around(
        '{"data": [{"paragraphs": [{"context": "t", "qas": [{"id": "N", "question": "?", "answers": [',
        many('{"text": "t", "answer_start": 0}', ","),
        "]}]}]}]}",
    ),
    read_set,
    10_000,
    200_000,
)
add(
    "llama index",
    "x.json",
    around('{"queries": {"q": "?"}, "corpus": {"c": "t"}, "relevant_docs": {"q": [', many('"N"', ","), "]}}"),
    read_set,
    10_000,
    300_000,
)
add("qrels json", "x.json", around('{"q": {', many('"N": 1', ","), "}}"), read_set, 10_000, 300_000)
add(
    "ragas",
    "x.ragas.jsonl",
    around('{"user_input": "?", "reference_contexts": [', many('"N"', ","), '], "retrieved_contexts": ["t"]}'),
    read_set,
    10_000,
    300_000,
)
SPAN = '{"traceId":"t","spanId":"sN","parentSpanId":"s","name":"r","attributes":[{"key":"openinference.span.kind","value":{"stringValue":"RETRIEVER"}},{"key":"input.value","value":{"stringValue":"?"}},{"key":"retrieval.documents.0.document.id","value":{"stringValue":"d"}}]}'


def traces(path: Path) -> object:
    import krag_eval_formats

    return repr(krag_eval_formats.read_traces(path))[:100]


add(
    "otlp spans",
    "x.json",
    around('{"resourceSpans":[{"scopeSpans":[{"spans":[', many(SPAN, ","), "]}]}]}"),
    traces,
    2_000,
    30_000,
)
add(
    "otlp attributes",
    "x.json",
    around(
        '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"t","spanId":"s","name":"r","attributes":[{"key":"openinference.span.kind","value":{"stringValue":"RETRIEVER"}},',
        many('{"key":"retrieval.documents.N.document.id","value":{"stringValue":"d"}}', ","),
        "]}]}]}]}",
    ),
    traces,
    5_000,
    100_000,
)
add(
    "otlp dotted attribute",
    "x.json",
    around(
        '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"t","spanId":"s","name":"r","attributes":[{"key":"openinference.span.kind","value":{"stringValue":"RETRIEVER"}},',
        many('{"key":"retrieval.documents.N' + ".a" * 300 + '","value":{"stringValue":"d"}}', ","),
        "]}]}]}]}",
    ),
    traces,
    160,
    3_000,
)
add(
    "otlp far document",
    "x.json",
    lambda n: (
        '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"t","spanId":"s","name":"r","attributes":[{"key":"openinference.span.kind","value":{"stringValue":"RETRIEVER"}},{"key":"retrieval.documents.'
        + "9" * n
        + '.document.id","value":{"stringValue":"d"}}]}]}]}]}'
    ),
    traces,
    9,
    5_000_000,
)
add("metrics, names", "x.txt", many("recall@N1", " "), metrics, 2_000, 100_000)
add("metrics, one name often", "x.txt", many("recall@5", " "), metrics, 20_000, 500_000)
add("metrics, unknown", "x.txt", times("recal"), metrics, 20_000, 1_000_000)
add("metrics, brackets", "x.txt", times("("), metrics, 20_000, 1_000_000)
add("metrics, open brackets", "x.txt", times("(a"), metrics, 20_000, 1_000_000)
add("metrics, digits", "x.txt", around("recall@", times("9")), metrics, 20_000, 1_000_000)
add("metrics, parameters", "x.txt", around("rbp(p=0.", times("5"), ")"), metrics, 20_000, 1_000_000)
add("metrics, many parameters", "x.txt", many("rbp(p=0.N1)", " "), metrics, 2_000, 100_000)
add("metrics, underscores", "x.txt", around("recall", times("_5"), "!"), metrics, 2_000, 200_000)
add("metrics, dots", "x.txt", around("a", times("_at_"), "!"), metrics, 2_000, 200_000)
add("key", "x.txt", times("recall@5"), key, 20_000, 1_000_000)
for option in ("--metrics", "--k", "--columns", "--by", "--threshold"):
    add(
        f"option {option}",
        "x.txt",
        many({"--k": "N1", "--columns": "aN=b", "--threshold": "rougeN=0.5"}.get(option, "recall@N1"), ","),
        command(option),
        2_000,
        12_000,
    )
    add(f"option {option}, long", "x.txt", times("9" if option == "--k" else "a"), command(option), 100_000, 120_000)


def packed(name: str) -> None:
    one = HOSTILE[name]
    HOSTILE[f"{name}, packed"] = one._replace(name=f"{one.name}.gz")


for packed_name in ("metadata keys", "further keys", "gold ids", "metadata levels"):
    packed(packed_name)


@contextlib.contextmanager
def measuring() -> Iterator[Callable[[str, int, Path], Measured]]:
    """Start the process that reads files: what it yields reads one of so many things, in a folder."""
    run = [sys.executable, "-m", "tests.support.hostile_files"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        asked, answers = reader.stdin, reader.stdout

        def measure(name: str, size: int, folder: Path) -> Measured:
            asked.write(json.dumps([name, size, str(folder)]) + "\n")
            asked.flush()
            answer = json.loads(answers.readline())
            assert isinstance(answer, list), f"{name}: the process that read it ended with {answer}"
            return Measured(*answer)

        yield measure


def write(one: Hostile, size: int, folder: Path) -> Path:
    content = one.content(size).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / one.name
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def main() -> None:
    """Read each file that standard input asks for, and print what was measured, or how the process ended."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for one in {one.use: one for one in HOSTILE.values()}.values():
            use(one, write(one, TINY, Path(folder)))
    for line in sys.stdin:
        name, size, folder = json.loads(line)
        for work in (write_both, read_both):
            child = in_child(functools.partial(work, HOSTILE[name], size, Path(folder)))
            if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
                sys.stdout.write(f"{code}\n")
                sys.stdout.flush()
                break


def write_both(one: Hostile, size: int, folder: Path) -> None:
    """Write the tiny file and the large one; that takes memory, too, and so it has a process of its own."""
    for n in (TINY, size):
        write(one, n, folder / f"{n}")


def read_both(one: Hostile, size: int, folder: Path) -> None:
    """Read the tiny file, then the large one, and print what was measured."""
    said, before, start, path = "", 0.0, 0.0, folder
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    for n in (TINY, size):
        path = folder / f"{n}" / one.name
        before, start = peak_megabytes(), time.process_time()
        said = use(one, path)
    memory = int((peak_megabytes() - before) * 2**20)
    sys.stdout.write(json.dumps([path.stat().st_size, memory, time.process_time() - start, said]) + "\n")
    sys.stdout.flush()


def use(one: Hostile, path: Path) -> str:
    """What is said when a file is used: "read", or the error."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        try:
            one.use(path)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is what is reported
            said = f"{type(error).__name__}: {error}"
        else:
            return "read"
    return f"{said}, {shown.getvalue()}" if said.startswith("SystemExit") else said


if __name__ == "__main__":
    main()
