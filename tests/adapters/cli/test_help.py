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
from krag_eval._utils.plugins import offered
from krag_eval.datasets.formats.registry import formats, written_formats
from krag_eval.documents.tokenizers import TOKENIZERS
from krag_eval.matching.settings import MATCH_METHODS
from krag_eval.metrics import ALL_METRICS, METRICS
from krag_eval_cli import main
from krag_eval_cli.app import BESIDE, COMMANDS, SUMMARIES, Program
from krag_eval_cli.help import EXAMPLES
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


# What a command must not import on files of one row: by line, with an option of completion in front.
_NEVER = {"asyncio", "pydantic", "pandas", "matplotlib", "krag_eval_llm", "krag_eval_langchain"}
_LISTS = {"numpy", "rich", "krag_eval.datasets", "krag_eval_cli.options", "krag_eval_cli.declaring"}
_QUIET = _NEVER | {"rich.progress", "rich.table", "krag_eval._utils.redaction", "krag_eval_report"}
_READS = _QUIET | {"numpy", "scipy", "krag_eval.evaluation", "krag_eval.analysis", "krag_eval.retrievers"}
_SCORES = _QUIET | {"scipy", "numpy.ma", "krag_eval_formats.inspection", "krag_eval.retrievers"}
IMPORTS = {
    "--help": _NEVER | _LISTS,
    "--version": _NEVER | _LISTS | {"click"},
    "COMPLETE ev": _NEVER | _LISTS,
    "validate set.jsonl": _READS,
    "inspect set.jsonl": _READS,
    "convert set.jsonl set.csv": _READS,
    "fuse run.jsonl run2.jsonl --out fused.jsonl": _NEVER | {"scipy", "krag_eval.evaluation"},
    "evaluate set.jsonl run.jsonl": _SCORES | {"krag_eval.analysis"},
    "diagnose set.jsonl run.jsonl": _NEVER | {"scipy", "numpy.ma", "rich.progress"},
    "compare set.jsonl run.jsonl run2.jsonl": _SCORES - {"krag_eval_formats.inspection"},
    "gate set.jsonl run.jsonl --policy gate.toml": _NEVER | {"rich.progress"},
}
# One process is started, and forks for each line: what one of them imports is not there for the next one.
IN_TURN = """
import json, os, sys
for line in json.loads(sys.argv[1]):
    read_end, write_end = os.pipe()
    if not os.fork():
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        _, is_completed, typed = line.rpartition("COMPLETE ")
        sys.argv = ["krag-eval", *("" if is_completed else line).split()]
        if is_completed:
            os.environ |= {"_KRAG_EVAL_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
            os.environ["COMP_WORDS"] = f"krag-eval {typed}"
        from krag_eval_cli.__main__ import main
        try:
            main()
        finally:
            os.write(write_end, " ".join(sys.modules).encode())
            os._exit(0)
    os.close(write_end)
    with open(read_end) as file:
        print(file.read())
"""


def test_a_command_imports_only_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text('{"id": "1", "question": "q", "gold_chunk_ids": ["a"]}\n')
    for name in ("run.jsonl", "run2.jsonl"):
        (tmp_path / name).write_text('{"query_id": "1", "retrieved": [{"id": "a"}]}\n')
    (tmp_path / "gate.toml").write_text('[gate]\nrequire = ["recall@5 >= 0"]\n')
    command = [sys.executable, "-c", IN_TURN, json.dumps(list(IMPORTS))]
    outcome = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    loaded = dict(zip(IMPORTS, map(set, map(str.split, outcome.stdout.splitlines())), strict=True))
    ours = "krag_eval_cli.commands"
    called = {line: line.split()[0] for line in IMPORTS if line[0].islower()}
    beside = offered(BESIDE)
    own = {line: f"{ours}.{name}" if name in COMMANDS else beside[name].module for line, name in called.items()}
    assert {line for line, module in own.items() if module not in loaded[line]} == set(), outcome.stderr
    others = {f"krag_eval_cli.commands.{name.replace('-', '_')}" for name in COMMANDS} - {
        "krag_eval_cli.commands.evaluate"
    }
    wrong = {line: found & (IMPORTS[line] | others - {own.get(line, "")}) for line, found in loaded.items()}
    assert {line: found for line, found in wrong.items() if found} == {}


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


def help_of(name: str, width: int = 80, *, is_whole: bool = False) -> str:
    """The help text of a command, or of all with an empty name, in a terminal of this width; or that of --help-all."""
    command = ALL[name] if name else Program()
    context = command.make_context(name, [], resilient_parsing=True, terminal_width=width)
    if is_whole:
        context.meta["krag_eval.help_all"] = True
    return str(command.get_help(context))


def examples_in(help_text: str) -> list[str]:
    """The lines to type that a help text shows, without what continues a line."""
    shown = help_text.partition("\nExamples:\n")[2].partition("\nMore options")[0].replace("\\\n", " ")
    return [" ".join(line.split()) for line in shown.splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("name", "option", "values"),
    [
        ("evaluate", "--metrics", METRICS),
        ("evaluate", "--match", MATCH_METHODS),
        ("evaluate", "--tokenizer", TOKENIZERS),
        ("validate", "--tokenizer", TOKENIZERS),
        ("evaluate", "--from", formats()),
        ("convert", "--to", written_formats()),
    ],
)
def test_the_help_of_an_option_names_every_value_of_its_table(name: str, option: str, values: Collection[str]) -> None:
    text = re.split(r"\n +-", help_of(name, is_whole=True).partition(f"  {option} ")[2])[0]
    assert [value for value in values if value not in re.findall(r"\w+", text)] == []


ELSEWHERE = {"langfuse-resend", "view"}  # beside what stands in for Langfuse; it serves until it is ended
MADE = {
    "run": ["words.jsonl", "letters.jsonl"],
    "convert": ["faq.jsonl"],
    "doctor": ["queue.jsonl"],
    "leaderboard": ["spans.jsonl"],  # whose questions are those of faq.jsonl
}


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
        shown = help_of(name, is_whole=True)
        headings = re.findall(r"^(\w.*):$", shown, re.MULTILINE)
        n_options = sum(parameter.param_type_name == "option" for parameter in own.params)
        assert len(headings) >= 4 or n_options < 12, name
        assert "bool" not in shown
    evaluate = help_of("evaluate", is_whole=True)
    assert evaluate.index("\nMatching:") < evaluate.index("--match") < evaluate.index("\nScoring:")


def test_help_fits_a_screen_and_all_of_it_is_one_option_away(command: Runner) -> None:
    begins = re.compile(r"^  (?:-\w, )?(--[\w-]+)", re.MULTILINE)
    for name, own in ALL.items():
        explained = set(begins.findall(help_of(name).partition("\nMore options")[0]))
        whole = set(begins.findall(help_of(name, is_whole=True)))
        assert len(help_of(name).splitlines()) <= 60, name
        options = {next(one for one in p.opts if one[:2] == "--") for p in own.params if p.param_type_name == "option"}
        assert options <= whole, name
        assert ("--help-all" in explained) == (not options <= explained), name
    shown = command("evaluate --help-all")
    assert (shown.code, shown.err) == (0, "")
    assert "--relevance-level GRADE" in shown.out


def test_the_list_has_every_command_once_in_a_group_of_ours() -> None:
    shown = help_of("")
    assert sorted(re.findall(r"^  ([a-z][\w-]+)  ", shown, re.MULTILINE)) == NAMES
    assert "From other packages" not in shown


def test_types_are_words_that_people_know() -> None:
    known = re.compile(r"[A-Z]+(?:,[A-Z]+)*(?:,\.\.\.)?|[A-Z]+[=:][A-Z]+(?:,\.\.\.)?|none\|ids\|all|\[NAME=\]CHUNKER")
    wrong = {
        (name, parameter.name): parameter.metavar
        for name, own in ALL.items()
        for parameter in own.params
        if not getattr(parameter, "is_flag", False) and parameter.param_type_name == "option"
        if not known.fullmatch(parameter.metavar or "")
    }
    assert wrong == {}
    by_name = {one.name: one.metavar for one in ALL["evaluate"].params}
    assert [by_name[name] for name in ("k", "json_out", "worst", "match")] == ["K,K,...", "FILE", "N", "NAME,NAME,..."]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("evaluate set.jsonl --treshold 1", "'--threshold'"),
        ("run set.jsonl --resum", "'--resume'"),
        ("evalute set.jsonl", "'evaluate'"),
        ("langfuse-resent box", "'langfuse-resend'"),
    ],
)
def test_what_is_mistyped_is_met_with_what_is_meant(command: Runner, typed: str, meant: str) -> None:
    outcome = command(typed)
    assert outcome.code == 2
    assert outcome.err.endswith(f"Did you mean {meant}?\n")


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


def test_the_version_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["krag-eval", "--version"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert capsys.readouterr() == (f"krag-eval {__version__}\n", "")


@pytest.mark.full
def test_the_package_runs_as_a_module() -> None:
    for arguments in (["--version"], ["evaluate", "--help"]):
        starts = [str(Path(sys.executable).with_name("krag-eval"))], [sys.executable, "-m", "krag_eval"]
        runs = [subprocess.run([*one, *arguments], capture_output=True, text=True, check=True) for one in starts]
        assert runs[0].stdout == runs[1].stdout
