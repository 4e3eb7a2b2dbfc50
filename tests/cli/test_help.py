"""Help that can be read at any width, examples that run, values that the shell completes, and a quick `--version`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import __version__
from krag_eval.cli.app import COMMANDS, SUMMARIES, Program
from krag_eval.cli.help import EXAMPLES
from krag_eval.datasets.formats.registry import FORMATS, WRITTEN_FORMATS
from krag_eval.documents.tokenizers import TOKENIZERS
from krag_eval.matching.settings import MATCH_METHODS
from krag_eval.metrics import ALL_METRICS, METRICS
from tests.support.bench_cases import CORPUS
from tests.support.command_line import Runner, all_commands
from tests.support.trace_cases import request, retriever

ALL: Any = all_commands()
NAMES = sorted(ALL)
FAR = {"demo": pytest.mark.full, "report": pytest.mark.full, "score-logs": pytest.mark.full, "bench": pytest.mark.full}
SEARCH = """
from pathlib import Path
import json

CHUNKS = [json.loads(line) for line in Path("chunks.jsonl").read_text(encoding="utf-8").splitlines()]

def words(question):
    asked = set(question.split())
    return sorted(CHUNKS, key=lambda chunk: -len(asked & set(chunk["text"].split())))

def letters(question):
    return sorted(CHUNKS, key=lambda chunk: -len(set(question) & set(chunk["text"])))
"""
QUESTIONS = ["What is red?", "Who sells green things?", "Blue, and how much?", "The white one's town", "Is black dear?"]


def test_the_list_of_commands_says_of_each_what_its_docstring_says() -> None:
    assert {name: one.get_short_help_str(1000) for name, one in ALL.items()} == SUMMARIES


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("--help", {"numpy", "rich", "pydantic", "krag_eval.datasets", "krag_eval.cli.options"}),
        ("validate set.jsonl", {"scipy", "asyncio", "rich.progress", "krag_eval.evaluation", "krag_eval.report"}),
        ("evaluate set.jsonl run.jsonl", {"scipy", "asyncio", "rich.progress", "krag_eval.analysis.comparison"}),
        ("compare set.jsonl run.jsonl run2.jsonl", {"scipy.sparse", "asyncio", "rich.progress"}),
    ],
)
def test_a_command_imports_only_what_it_needs(line: str, missing: set[str], tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text('{"id": "1", "question": "q", "gold_doc_ids": ["a"]}')
    for name in ("run.jsonl", "run2.jsonl"):
        (tmp_path / name).write_text('{"query_id": "1", "retrieved": [{"id": "a"}]}')
    code = (
        f"import sys; sys.argv = ['krag-eval', *{line.split()}]\nfrom krag_eval.__main__ import main\n"
        "try: main()\nfinally: print('loaded', *sys.modules)"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    loaded = set(outcome.stdout.rpartition("loaded ")[2].split())
    assert "krag_eval.cli.app" in loaded
    assert loaded & missing == set()


@pytest.fixture
def files(command: Runner) -> None:
    """The files that the examples name, in the current directory."""
    chunks = [
        {**chunk, "metadata": {"doc_id": "d", "source": f"{n % 3}.md", "tenant": "ab"[n % 2]}}
        for n, chunk in enumerate(CORPUS)
    ]
    lines("chunks.jsonl", chunks)
    golds = zip(QUESTIONS, chunks, strict=False)
    lines(
        "faq.jsonl",
        [{"id": q, "question": q, "gold": [chunk], "type": q[0]} for q, chunk in golds],
    )
    spans = [{"doc_id": chunk["id"], "start": 0, "end": 9} for chunk in chunks]
    lines("spans.jsonl", [{"id": q, "question": q, "gold": [one]} for q, one in zip(QUESTIONS, spans, strict=False)])
    Path("chunking.py").write_text("def lines(text):\n    return text.splitlines()\n", encoding="utf-8")
    for name, shift in (("words", 0), ("letters", 1)):
        lines(f"{name}.jsonl", [{"query_id": q, "retrieved": chunks[n + shift :]} for n, q in enumerate(QUESTIONS)])
    stages = [
        {"name": "words", "retrieved": chunks},
        {"name": "rerank", "inputs": ["words"], "retrieved": chunks[1:]},
    ]
    lines("staged.jsonl", [{"query_id": q, "stages": stages} for q in QUESTIONS])
    said = [
        {"query_id": q, "document": {"id": chunk["id"]}, "label": not n, "probability": 1}
        for q in QUESTIONS
        for n, chunk in enumerate(chunks)
    ]
    lines("judge.jsonl", said)
    traces = [retriever(n, None, "lamp", query=q, trace=f"{n:032x}") for n, q in enumerate(QUESTIONS[:3], 1)]
    lines("traces.jsonl", [request(*traces)])
    lines("queue.jsonl", said)
    asked = [{"question": q, "retrieved": chunks[n:], "answer": "So."} for n, q in enumerate(QUESTIONS)]
    lines("log.jsonl", asked)
    Path("faq.csv").write_text("id,frage,quelle\nq0,When?,0.md\n", encoding="utf-8")
    Path("gate.toml").write_text('[gate]\nrequire = ["recall@5 >= 0"]\n', encoding="utf-8")
    Path("search.py").write_text(SEARCH, encoding="utf-8")
    model = "from tests.support.bench_cases import writer\nwrite = writer([])\n"
    Path("models.py").write_text(model, encoding="utf-8")
    Path("logs").mkdir()
    documents = [[{"id": "a"}], [{"id": "b"}]]
    rows = {"query_id": ["1", "2"], "actual": documents, "predicted": documents}
    pq.write_table(pa.table(rows), "logs/1.parquet")


def lines(path: str, rows: list[Any]) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def help_of(name: str, width: int = 80) -> str:
    """The help text of a command, or of all with an empty name, in a terminal of this width."""
    command = ALL[name] if name else Program()
    context = command.make_context(name, [], resilient_parsing=True, terminal_width=width)
    return str(command.get_help(context))


def examples_in(help_text: str) -> list[str]:
    """The lines to type that a help text shows, without what continues a line."""
    shown = help_text.partition("\nExamples:\n")[2].replace("\\\n", " ")
    return [" ".join(line.split()) for line in shown.splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("name", "option", "values"),
    [
        ("evaluate", "--metrics", METRICS),
        ("evaluate", "--match", MATCH_METHODS),
        ("evaluate", "--tokenizer", TOKENIZERS),
        ("validate", "--tokenizer", TOKENIZERS),
        ("evaluate", "--from", FORMATS),
        ("convert", "--to", WRITTEN_FORMATS),
    ],
)
def test_the_help_of_an_option_names_every_value_of_its_table(name: str, option: str, values: Collection[str]) -> None:
    text = re.split(r"\n +-", help_of(name).partition(f"  {option} ")[2])[0]
    assert [value for value in values if value not in re.findall(r"\w+", text)] == []


ELSEWHERE = {"langfuse-resend", "view"}  # beside what stands in for Langfuse; it serves until it is ended
MADE = {"run": ["words.jsonl", "letters.jsonl"], "convert": ["faq.jsonl"], "doctor": ["queue.jsonl"]}


@pytest.mark.full
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=FAR.get(name, ())) for name in NAMES if name not in ELSEWHERE]
)
def test_every_example_of_a_help_text_runs_on_small_files(name: str, command: Runner, files: None) -> None:
    examples = examples_in(help_of(name))
    assert examples
    for path in MADE.get(name, []):
        Path(path).unlink()
    for line in examples:
        assert line.startswith(f"krag-eval {name} ")
        outcome = command(line.removeprefix("krag-eval "))
        assert outcome.code == 0, (line, outcome)


def test_every_command_has_examples() -> None:
    assert sorted(EXAMPLES) == NAMES


@pytest.mark.sample(5)
@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", ["", *NAMES])
def test_no_line_of_help_is_wider_than_the_terminal_and_no_word_is_broken(name: str, width: int) -> None:
    words, shown = set(help_of(name, 1000).split()), help_of(name, width)
    assert max(map(len, shown.splitlines())) <= width
    assert set(shown.split()) - {"\\"} <= words
    options = re.findall(r"(?<=[ /])--[\w-]+", shown)
    known = ALL[name] if name else Program()
    assert {option for parameter in known.params for option in parameter.opts if option[:2] == "--"} <= set(options)


def test_many_options_are_in_groups_and_flags_have_no_type() -> None:
    for name, own in ALL.items():
        shown = help_of(name)
        headings = re.findall(r"^(\w.*):$", shown, re.MULTILINE)
        n_options = sum(parameter.param_type_name == "option" for parameter in own.params)
        assert len(headings) >= 4 or n_options < 12, name
        assert "bool" not in shown
    evaluate = help_of("evaluate")
    assert evaluate.index("\nMatching:") < evaluate.index("--match") < evaluate.index("\nScoring:")


@pytest.mark.full
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("evaluate a.jsonl b.jsonl --match rougeL", ["rougeL", "rougeLsum"]),
        ("evaluate a.jsonl b.jsonl --match id,cont", ["id,containment"]),
        ("evaluate a.jsonl b.jsonl --metrics recall,nd", ["recall,ndcg"]),
        ("compare a.jsonl b.jsonl --metrics al", ["all", "alpha_ndcg"]),
        ("convert a.csv b --to sq", ["squad"]),
        ("validate a.csv --from b", ["beir"]),
        ("report a.jsonl b.jsonl --format h", ["html"]),
        ("evaluate a.jsonl b.jsonl --level d", ["document"]),
        ("evaluate a.jsonl b.jsonl --tokenizer w", ["words", "whitespace"]),
        ("ev", ["evaluate"]),
        ("evaluate a", ["a"]),  # bash then completes files
    ],
)
def test_the_shell_completes_values(
    command: Runner, monkeypatch: pytest.MonkeyPatch, typed: str, expected: list[str]
) -> None:
    monkeypatch.setenv("_KRAG_EVAL_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"krag-eval {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    named = [line.partition(",")[2] for line in command("").out.split()]
    found = [name for name in named if name not in ALL_METRICS or name in expected]
    assert sorted(found) == sorted(expected)


def test_a_wrong_option_is_one_short_message(command: Runner) -> None:
    code, out, err = command("run --retreiver x:y")
    assert (code, out) == (2, "")
    assert "No such option '--retreiver'" in err
    assert "--retriever" in err


PROGRAM = """
import sys
from krag_eval.cli import main
sys.argv = ["krag-eval", "--version"]
try:
    main()
except SystemExit as exit_:
    heavy = {"rich", "numpy", "click"} & set(sys.modules)
    sys.exit(exit_.code or (sorted(heavy) if heavy else 0))
"""


def test_the_version_imports_no_command() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"krag-eval {__version__}\n", "")


@pytest.mark.full
def test_the_package_runs_as_a_module() -> None:
    for arguments in (["--version"], ["evaluate", "--help"]):
        starts = [str(Path(sys.executable).with_name("krag-eval"))], [sys.executable, "-m", "krag_eval"]
        runs = [subprocess.run([*one, *arguments], capture_output=True, text=True, check=True) for one in starts]
        assert runs[0].stdout == runs[1].stdout


@pytest.mark.full
def test_a_command_imports_no_other_one() -> None:
    code = "import sys; from krag_eval.cli import main; sys.argv[1:] = ['validate', '--help']; main()"
    listed = f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {code}"
    run = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True)
    imported = set(run.stderr.split())
    assert "krag_eval.cli.validate" in imported
    assert not {f"krag_eval.cli.{name.replace('-', '_')}" for name in COMMANDS if name != "validate"} & imported
    assert not {"krag_eval_llm", "krag_eval.retrievers"} & imported
