"""Every option of `krag-eval evaluate` is a setting of `evaluate` or of `evaluate_run`, and gives its numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import evaluate, evaluate_run, read_evalset, read_run
from tests.support.cli_evaluate_cases import QUESTIONS, ROWS, jsonl, prepare, scores
from tests.support.command_line import Runner, all_commands
from tests.support.marks import nothing_may_match


@pytest.fixture
def run(command: Runner) -> Runner:
    prepare(Path())
    return command


# What is there without the option, the option, and the settings of both together.
OPTIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("", "--match text", {"match_method": "text"}),
    ("", "--match 'id, containment'", {"match_method": ["id", "containment"]}),
    ("", "--k 2,all", {"k": (2, None)}),
    ("", "-k 1", {"k": 1}),
    ("", "--metrics mrr,ndcg", {"metrics": ["mrr", "ndcg"]}),
    ("", "--id-key doc", {"id_key": "doc"}),
    ("", "--grade-key worth", {"grade_key": "worth"}),
    ("", "--precision-denominator k", {"precision_denominator": "k"}),
    ("", "--gain linear", {"gain": "linear"}),
    ("", "--unjudged remove", {"unjudged": "remove"}),
    ("", "--relevance-level 2", {"relevance_level": 2}),
    ("--match text", "--raw-text", {"match_method": "text", "normalize": None}),
    ("--match containment", "--containment gold_in_retrieved", {"containment": "gold_in_retrieved"}),
    ("--match rouge1", "--threshold 0.7", {"threshold": 0.7}),
    ("--match id,rougeL", "--threshold rougeL=1", {"match_method": ["id", "rougeL"], "threshold": {"rougeL": 1.0}}),
    ("--match rouge1 --threshold 0.7", "--rouge-measure recall", {"threshold": 0.7, "rouge_measure": "recall"}),
    ("--match rouge1 --threshold 0.7", "--tokenizer characters", {"threshold": 0.7, "tokenizer": "characters"}),
    ("--match rouge1 --threshold 0.7", "--use-stemmer", {"threshold": 0.7, "use_stemmer": True}),
]


@pytest.mark.sample(3)
@nothing_may_match
@pytest.mark.filterwarnings("ignore:No document has grade 0")
@pytest.mark.parametrize(("base", "option", "settings"), OPTIONS, ids=[option for _, option, _ in OPTIONS])
def test_an_option_is_the_setting_of_evaluate(run: Runner, base: str, option: str, settings: dict[str, Any]) -> None:
    method = {"match_method": base.split()[1] if base else "id"}
    gold, retrieved = [q["gold"] for q in QUESTIONS], [row["retrieved"] for row in ROWS]
    expected = evaluate(gold, retrieved, **{"k": (1, 3, 5, 10)} | method | settings)
    actual = scores(run, f"set.jsonl run.jsonl {base} {option}")
    assert actual == {"run": {**json.loads(expected.to_json()), "missing": []}}
    assert actual["run"]["metrics"] != scores(run, f"set.jsonl run.jsonl {base}")["run"]["metrics"]


# The option, and the settings of `evaluate_run` with it.
LEVELS: list[tuple[str, dict[str, Any]]] = [
    ("--level document", {"level": "document"}),
    ("--doc-key source", {"doc_key": "source"}),
    ("--proxy", {"proxy": True}),
    ("--id-map basename", {"id_map": "basename"}),
    ("--exclude-self", {"exclude_self": True}),
]


@pytest.mark.filterwarnings("ignore:In 1 of 3 queries, a gold id")
@pytest.mark.parametrize(("option", "settings"), LEVELS, ids=[option for option, _ in LEVELS])
def test_a_level_is_that_of_evaluate_run(run: Runner, option: str, settings: dict[str, Any]) -> None:
    questions = [
        {"id": 1, "gold": [{"id": "a", "metadata": {"doc_id": "A", "source": "S"}}]},
        {"id": 2, "gold_doc_ids": ["B"]},
        {"id": 3, "gold_chunk_ids": ["docs/c", "e"]},
    ]
    rows = [
        {
            "query_id": 1,
            "retrieved": [
                {"id": "a", "metadata": {"doc_id": "C", "source": "S"}},
                {"id": "z", "metadata": {"doc_id": "A"}},
            ],
        },
        {"query_id": 2, "retrieved": [{"id": "a", "metadata": {"doc_id": "C"}}]},
        {"query_id": 3, "retrieved": [{"id": one} for one in ("c", "3", "e")]},
    ]
    Path("levels.jsonl").write_bytes(jsonl(questions))
    Path("rows.jsonl").write_bytes(jsonl(rows))
    evalset = read_evalset("levels.jsonl")
    expected = evaluate_run(evalset, read_run("rows.jsonl", evalset=evalset), **settings)
    actual = scores(run, f"levels.jsonl rows.jsonl {option}")["rows"]
    assert actual == {**json.loads(expected.to_json()), "missing": []}
    assert actual["metrics"] != scores(run, "levels.jsonl rows.jsonl")["rows"]["metrics"]


TEXT = "Open at nine. Closed on Sunday."
# The option beside `--match span`, and the settings of `evaluate_run` with it.
SPANS: list[tuple[str, dict[str, Any]]] = [
    ("--span-measure precision", {"span_measure": "precision"}),
    ("--corpus corpus.jsonl", {"corpus": {"guide": TEXT}}),
]


@nothing_may_match
@pytest.mark.parametrize(("option", "settings"), SPANS, ids=[option for option, _ in SPANS])
def test_spans_are_those_of_evaluate_run(run: Runner, option: str, settings: dict[str, Any]) -> None:
    chunks = [{"text": TEXT, "metadata": {"doc_id": "guide", "start": 0}}, {"text": "Open at nine."}]
    Path("spans.jsonl").write_bytes(
        jsonl([{"id": n, "gold": [{"doc_id": "guide", "start": 0, "end": n}]} for n in (13, 31)])
    )
    Path("rows.jsonl").write_bytes(jsonl([{"query_id": n, "retrieved": chunks} for n in (13, 31)]))
    Path("corpus.jsonl").write_bytes(jsonl([{"id": "guide", "text": TEXT}]))
    evalset = read_evalset("spans.jsonl")
    expected = evaluate_run(evalset, read_run("rows.jsonl", evalset=evalset), match_method="span", **settings)
    actual = scores(run, f"spans.jsonl rows.jsonl --match span {option}")["rows"]
    # The command names its method in a list, and both write the same signature.
    assert actual == {**json.loads(expected.to_json()), "missing": []}
    assert actual["metrics"] != scores(run, "spans.jsonl rows.jsonl --match span")["rows"]["metrics"]


def test_every_option_of_the_command_is_compared_above() -> None:
    named = {option.split()[0] for _, option, _ in OPTIONS}
    known = {name for parameter in all_commands()["evaluate"].params for name in parameter.opts if name[0] == "-"}
    of_levels = {option.split()[0] for option, _ in (*LEVELS, *SPANS)}
    # What names an embedding model is compared in test_embedding_options.py.
    of_models = {"--embeddings", "--embedding-prefix", "--similarity-threshold"}
    of_output = {
        "--limits",
        "--json",
        "--per-query",
        "--cluster",
        "--intervals",
        "--max-bad-rows",
        "--failed",
        "--worst",
        "--format",
    }
    # How files are read is in test_table_options.py.
    of_files = {
        "--columns",
        "--encoding",
        "--flatten",
        "--from",
        "--limits",
        "--plain",
        "--rows",
        "--separator",
        "--sheet",
    }
    of_files |= {"--traces", "--repeated", "--ties"}  # in test_traces.py and test_ties.py
    assert known - of_output - of_files - of_models == named | of_levels
