"""`module:object` on the command line: what is named is imported, and nothing else of the folder one stands in."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli_run_cases import QUESTIONS
from tests.support.command_line import Runner

pytestmark = pytest.mark.full  # a process per case

SCRIPT = Path(sys.executable).with_name("krag-eval")
# Names that the program, its packages or Python itself might import later on, from the folder if it came first.
TRAPS = (
    "bm25s", "click", "csv", "decimal", "email", "html", "importlib_metadata", "jinja2", "krag_eval_plugin",
    "matplotlib", "pandas", "pip", "platform", "pyarrow", "rich", "scipy", "secrets", "sitecustomize", "statistics",
    "tenacity", "usercustomize", "uuid", "yaml", "zoneinfo",
)  # fmt: skip
TRAP = "from pathlib import Path\nPath('sprung').open('a').write(__name__ + '\\n')\n"
SEARCHING = """
    import sys
    def search(question):
        return [{"id": "c" + question.split()[1]}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A question set, a retriever in a package, and traps all around."""
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUESTIONS), encoding="utf-8")
    package = tmp_path / "named"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    for name in ("searching", "wanted"):
        (package / f"{name}.py").write_text(
            'def search(question):\n    return [{"id": "c" + question.split()[1]}]\n', encoding="utf-8"
        )
    (package / "beside.py").write_text(TRAP, encoding="utf-8")
    for name in TRAPS:
        (tmp_path / f"{name}.py").write_text(TRAP, encoding="utf-8")
    return tmp_path


def sprung(folder: Path) -> list[str]:
    path = folder / "sprung"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def krag_eval(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *line.split()], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.full
@pytest.mark.parametrize(
    "line",
    [
        "--help",
        "run --help",
        "bench --retriever named.beside:search --llm named.beside:model --help",
        "evaluate set.jsonl run.jsonl",
    ],
)
def test_help_and_scoring_import_nothing_of_the_folder(folder: Path, line: str) -> None:
    (folder / "run.jsonl").write_text(
        "".join(json.dumps({"query_id": row["id"], "retrieved": [{"id": "c1"}]}) + "\n" for row in QUESTIONS),
        encoding="utf-8",
    )
    done = krag_eval(folder, line)
    assert (done.returncode, sprung(folder)) == (0, []), done.stderr


@pytest.mark.full
def test_a_retriever_that_is_named_is_imported_and_nothing_else(folder: Path) -> None:
    done = krag_eval(folder, "run set.jsonl --retriever named.searching:search --k 1 --out run.jsonl")
    assert (done.returncode, sprung(folder)) == (0, []), done.stderr
    done = krag_eval(folder, "report set.jsonl run.jsonl --out report.html")
    assert (done.returncode, sprung(folder)) == (0, []), done.stderr


@pytest.mark.full
def test_what_the_program_imports_later_is_what_is_installed(folder: Path) -> None:
    line = (
        "bench --retriever named.wanted:search --evalset set.jsonl --skip-e2e --k 1 --out report.html --out report.md"
    )
    done = krag_eval(folder, line)
    assert (done.returncode, sprung(folder)) == (0, []), done.stderr


@pytest.mark.parametrize(
    "named",
    [
        "__import__('os').system('touch made'):x",
        "os;open('made','w'):x",
        "os:system('touch made')",
        "os.path:join.__globals__['os'].mkdir('made')",
        "../elsewhere:search",
        "named.searching",
        ":search",
    ],
)
def test_what_is_no_name_is_refused_and_never_run(command: Runner, tmp_path: Path, named: str) -> None:
    (tmp_path / "set.jsonl").write_text(json.dumps(QUESTIONS[0]) + "\n", encoding="utf-8")
    outcome = command("run set.jsonl --k 1 --out run.jsonl --retriever", named)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.startswith("InvalidInputError: `--retriever`")
    assert [path.name for path in tmp_path.iterdir()] == ["set.jsonl"]
