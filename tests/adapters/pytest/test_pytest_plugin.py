"""The pytest plugin, in real runs of pytest over small projects."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

GOLD = {"q1": ["a", "x"], "q2": ["b"], "q3": ["c"], "q4": ["d"]}
FOUND = {"q1": ["a", "x"], "q2": ["b"], "q3": ["z"], "q4": ["d"]}
KINDS = {"q1": "long", "q2": "short", "q3": "short", "q4": "long"}
PLUGIN = ("-p", "krag_eval_pytest.plugin", "-p", "no:cacheprovider")
INI = "[pytest]\nretrieval_evalset = data/set.jsonl\nretrieval_run = data/run.jsonl\n"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with a question set, a run and an ini file that names them."""
    data = pytester.mkdir("data")
    questions = [
        {"id": id_, "question": f"Where is {id_}?", "gold_chunk_ids": GOLD[id_], "kind": KINDS[id_]} for id_ in GOLD
    ]
    rows = [{"query_id": id_, "retrieved": [{"id": found} for found in FOUND[id_]]} for id_ in FOUND]
    (data / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions))
    (data / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pytester.makefile(".ini", pytest=INI)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return pytester


def marked(project: pytest.Pytester, marker: str) -> None:
    project.makepyfile(f"import pytest\n\n@pytest.mark.retrieval({marker})\ndef test_it():\n    pass\n")


def outcome(project: pytest.Pytester, *options: str) -> tuple[dict[str, int], str]:
    done = project.runpytest_subprocess(*PLUGIN, *options)
    text = done.stdout.str() + done.stderr.str()
    assert "Traceback" not in text
    assert "During handling" not in text
    assert "INTERNALERROR" not in text
    return done.parseoutcomes(), text


@pytest.mark.full
def test_bounds_that_hold_pass(project: pytest.Pytester) -> None:
    marked(project, "k=5, min_recall=0.75, max_mrr=0.8")
    assert outcome(project)[0] == {"passed": 1}


def test_a_failure_names_the_questions_and_explains_them(project: pytest.Pytester) -> None:
    marked(project, "k=5, min_recall=0.8")
    counts, text = outcome(project)
    assert counts == {"failed": 1}
    assert "all questions: recall@5 = 0.7500, but recall@5 >= 0.8 is required. 1 question of 4 miss it: q3" in text
    assert "Where is q3?" in text
    assert "gold: 1, found: 0" in text
    assert "Where is q1?" not in text
    assert "krag_eval_pytest" not in text


@pytest.mark.parametrize("workers", [(), pytest.param(("-p", "xdist.plugin", "-n", "2"), marks=pytest.mark.full)])
def test_each_question_is_a_test(project: pytest.Pytester, workers: tuple[str, ...]) -> None:
    marked(project, "k=5, min_recall=0.8")
    counts, text = outcome(project, "--retrieval-per-question", "-v", *workers)
    assert counts == {"passed": 3, "failed": 1}
    assert all(f"test_it[{id_}]" in text for id_ in GOLD)
    assert "q3: recall@5 = 0.0000" in text


@pytest.mark.full
def test_each_value_of_a_field_is_a_test(project: pytest.Pytester) -> None:
    marked(project, "k=5, min_recall=0.8, by='kind'")
    counts, text = outcome(project, "-v")
    assert counts == {"passed": 1, "failed": 1}
    assert "kind=short: recall@5 = 0.5000" in text
    assert "test_it[kind=long] PASSED" in text


@pytest.mark.full
@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("k=5, min_recal=0.8", "Did you mean 'recall'?"),
        ("k=5, min_recall=0.8, match_metod='id'", "Did you mean 'match_method'?"),
        ("k=5", "has no bound"),
        ("min_recall=0.8", "must be one cut-off"),
        ("k=5, min_recall='much'", "`min_recall` must be a number"),
        ("5", "takes keywords only"),
        ("k=5, min_micro_recall=0.8", "It is called 'recall' here"),
    ],
)
def test_wrong_markers_are_refused(project: pytest.Pytester, marker: str, said: str) -> None:
    marked(project, marker)
    counts, text = outcome(project)
    assert counts in ({"errors": 1}, {"failed": 1})
    assert said in text


@pytest.mark.full
def test_missing_files_are_named(project: pytest.Pytester) -> None:
    marked(project, "k=5, min_recall=0.7")
    assert "there is no file" in outcome(project, "--retrieval-run", "nowhere.jsonl")[1]
    project.makefile(".ini", pytest="[pytest]\n")
    assert "--retrieval-evalset FILE" in outcome(project)[1]
    given = ("--retrieval-evalset", "data/set.jsonl", "--retrieval-run", "data/run.jsonl")
    assert outcome(project, *given)[0] == {"passed": 1}


@pytest.mark.full
def test_fixtures_give_the_set_the_run_and_the_scores(project: pytest.Pytester) -> None:
    project.makepyfile("""
        import pytest

        @pytest.mark.retrieval(k=5, min_recall=0.7)
        def test_it(retrieval_evalset, retrieval_run, retrieval_result):
            assert len(retrieval_evalset) == 4 and len(retrieval_run.rows) == 4
            assert retrieval_result["recall@5"] == 0.75
        """)
    assert outcome(project)[0] == {"passed": 1}


def test_a_run_that_does_not_use_it_imports_nothing_heavy() -> None:
    code = (
        "import sys, pytest, krag_eval_pytest.plugin;"
        "print(sorted({'numpy', 'pandas', 'scipy', 'rapidfuzz'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
