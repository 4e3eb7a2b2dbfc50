"""No text of a question, id, file name, error or argument steers the terminal or hides something on it."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

import krag_eval
from krag_eval._utils.errors import warn
from krag_eval._utils.formatting import escape_controls, one_line
from krag_eval.analysis.gate import Policy, check_gate
from krag_eval_labels.audit import audit_labels
from krag_eval_report import leaderboard
from tests.support.command_line import Runner, all_commands
from tests.support.marks import nothing_may_match

# Clears the screen, sets its title, colours it (as 7-bit and as 8-bit control), rings, goes back, turns text round,
# ends a line, hides letters.
ATTACKS = (
    *("\x1b[2J", "\x1b]0;own\x07", "\x1b[35;45m", "\x9b2J", "\x08", "\r", "\x7f", "\x85", "\u202e", "\u2066"),
    *("\u2028", "\u2029", "\u200b", "\u2060", "\ufeff", "\ufff9", "\U000e0041", "\x0b", "\x00", "\ud800"),
)
# Words that need a joiner or a mark, and an emoji made of tags.
HARMLESS = (
    *("배송은 며칠 걸리나요?", "क्‍ष नमस्ते", "می‌خواهم", "\u200fעברית\u200e", "ร้านเปิดกี่โมง", "👩‍👩‍👧‍👦 ❤️ ☝🏽"),
    *(
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "葛\U000e0100",
        "a\tb\nc",
        "naïve :smile: [b]",
    ),
)
# Commands that GitHub, Azure and TeamCity look for in the log of a job: at the start of a line, and anywhere.
ORDERS = "::stop-commands::x\n::error::x%0A::debug::x ##[add-mask]x ##vso[task.x]x ##teamcity[x]"
COMMANDED = re.compile(r"(?m)^\s*::\S|##\w*\[")
HOSTILE = ORDERS + "x" + "".join(ATTACKS) + "y"
FILE = f"\x1b[2J\x9b2J\x07\u202ename{ORDERS}"
# What stands in the environment's own answers: colours, and the bars of a run.
OWN = re.compile(r"\x1b\[(?:\?25[lh]|2K|1A|(?:0|1|2|3[0-7]|4|38;5;\d+|38;2;[\d;]+)(?:;\d+)?m)|\r")
MODULE = f"""
from tests.support.generation_cases import Writer

HOSTILE = {HOSTILE!r}

def search(question):
    print(end="")
    if question.startswith("2"):
        raise ConnectionError(HOSTILE)
    return [{{"id": HOSTILE, "text": HOSTILE}}, {{"id": "c1", "text": "a"}}]

def answer(question, documents):
    raise ConnectionError(HOSTILE)

def make():
    raise RuntimeError(HOSTILE)

class Model(Writer):
    model_name = HOSTILE

write = Model()
"""


def steering(text: str) -> set[str]:
    """What is dangerous in a text: characters, decided by their categories and not by our own table, and commands."""
    wrong = {c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c not in "\n\t"}
    return (
        wrong
        | {
            c
            for c in text
            if unicodedata.bidirectional(c) in ("RLO", "LRO", "RLE", "LRE", "PDF", "LRI", "RLI", "FSI", "PDI")
        }
        | {c for c in text if c in ATTACKS or 0xE0000 <= ord(c) < 0xE0080}
        | {*COMMANDED.findall(text)}
    )


def rows(shift: int) -> list[dict[str, Any]]:
    return [
        {"query_id": f"{n}{HOSTILE}", "error": f"Error: {HOSTILE}"}
        if n % 3 == 0
        else {
            "query_id": f"{n}{HOSTILE}",
            "retrieved": [{"id": f"c{n + shift}{HOSTILE}", "text": HOSTILE, "metadata": {HOSTILE: HOSTILE}}],
        }
        for n in range(12)
    ]  # fmt: skip


LAST = {"name": f"rerank {HOSTILE}", "inputs": [HOSTILE], "retrieved": []}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which every text and every file name is hostile."""
    questions: list[dict[str, Any]] = [
        {
            "id": f"{n}{HOSTILE}",
            "question": f"{n // 2} {HOSTILE}",
            "answer": HOSTILE,
            "gold": [{"id": f"c{n}{HOSTILE}", "text": f"{n} {HOSTILE}", "metadata": {HOSTILE: HOSTILE}}],
            "type": HOSTILE,
            "metadata": {HOSTILE: HOSTILE},
        }
        for n in range(12)
    ]
    chunks = [{"id": f"c{n}{HOSTILE}", "text": f"A {n}. refund {HOSTILE} takes {n} days. " * 9} for n in range(6)]
    spans = [
        row | {"gold": [{"doc_id": chunks[n % 6]["id"], "start": n, "end": n + 30}]} for n, row in enumerate(questions)
    ]
    staged = [
        {"query_id": row["query_id"], "stages": [{"name": HOSTILE, "retrieved": row["retrieved"]}, LAST]}
        for row in rows(0)
        if "retrieved" in row
    ]
    asked = [
        {
            "query_id": row["id"],
            "question": row["question"],
            "document": row["gold"][0],
            "label": None,
            "probability": 1,
        }
        for row in questions
    ]
    said = [{"key": HOSTILE, "query_id": HOSTILE, "document_id": HOSTILE, "relevance": HOSTILE, "annotator": HOSTILE}]
    logged = [
        {
            "question": row["question"],
            "contexts": [chunk["text"] for chunk in chunks],
            "answer": HOSTILE,
            "topic": HOSTILE,
        }
        for row in questions
    ]
    files = {
        "log": logged,
        "queue": asked,
        "said": said,
        "spans": spans,
        "set": questions,
        "run": rows(0),
        "other": rows(1),
        "chunks": chunks,
        "staged": staged,
    }
    for name, content in files.items():
        text = "".join(json.dumps(row) + "\n" for row in content)
        for stem in (name, f"{name}{FILE}"):
            (tmp_path / f"{stem}.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "bad.csv").write_text(f'question{FILE},"g{FILE}"\n1,2\n', encoding="utf-8")
    (tmp_path / "bad.jsonl").write_text(json.dumps({"query_id": FILE, "retrieved": []}) + "\n", encoding="utf-8")
    (tmp_path / "attack.py").write_text(MODULE, encoding="utf-8")
    slices = f'[slices.type.{json.dumps(HOSTILE[:-6])}]\nrequire = ["recall@1 >= 0.5"]\n'
    (tmp_path / "gate.toml").write_text('[gate]\nrequire = ["recall@1 >= 0.1"]\n', encoding="utf-8")
    (tmp_path / "missing.toml").write_text(slices, encoding="utf-8")
    (tmp_path / "wrong.toml").write_text(f"[gate]\nrequire = [{json.dumps(FILE)}]\n", encoding="utf-8")
    return tmp_path


NAMES = ("set", "run", "other", "chunks", "spans", "staged", "queue", "log")
SET, RUN, OTHER, CHUNKS, SPANS, STAGED, QUEUE, LOG = (f"{name}{FILE}.jsonl" for name in NAMES)
# Each command, once or more often, with the arguments that follow its name.
COMMANDS: list[list[str]] = [
    ["evaluate", SET, RUN],
    ["evaluate", SET, RUN, OTHER, "--failed", "--intervals"],
    ["evaluate", SET, RUN, "--worst", "3", "--match", "text"],
    ["evaluate", SET, RUN, "--json", "-"],
    ["evaluate", SET, RUN, OTHER, "--format", "csv"],
    ["evaluate", SET, RUN, OTHER, "--format", "markdown"],
    ["evaluate", SET, RUN, OTHER, "--format", "latex"],
    ["evaluate", SET, "bad.csv"],
    ["evaluate", SET, "bad.jsonl"],
    ["evaluate", SET, f"no{FILE}.jsonl"],
    ["evaluate", SET, RUN, f"--{FILE}"],
    ["evaluate", SET, RUN, "--metrics", FILE],
    ["evaluate", SET, RUN, "--match", FILE],
    ["evaluate", SET, RUN, "--columns", f"{FILE}={FILE}"],
    ["run", SET, "--retriever", "attack:search", "--k", "3", "--out", "new.jsonl", "--retries", "0", "--name", FILE],
    ["run", SET, "--retriever", "attack:make", "--k", "3", "--out", "new.jsonl"],
    ["run", SET, "--retriever", f"attack:{FILE}", "--k", "3", "--out", "new.jsonl"],
    ["run", SET, "--retriever", f"{FILE}:search", "--k", "3", "--out", "new.jsonl"],
    ["convert", SET, f"new{FILE}.json"],
    ["compare", SET, RUN, OTHER],
    ["compare", SET, RUN, OTHER, "--by", "type", "--json", "-"],
    ["compare", SET, RUN, OTHER, "--by", FILE],
    ["compare", SET, RUN, OTHER, "--by", "type", "--markdown", "-"],
    ["plan", SET, RUN, OTHER],
    ["plan", SET, RUN, "--json", "-"],
    ["report", SET, RUN, OTHER],
    ["report", SET, RUN, "--out", "-", "--format", "md", "--title", FILE],
    ["gate", SET, RUN, "--policy", "gate.toml"],
    ["gate", SET, RUN, "--policy", "gate.toml", "--markdown", "-"],
    ["gate", SET, RUN, "--policy", "missing.toml"],
    ["gate", SET, RUN, "--policy", "wrong.toml"],
    ["validate", SET, "--corpus", CHUNKS],
    ["reanchor", SET, "--corpus", CHUNKS, "--out", "moved.jsonl", "--force"],
    ["chunkers", SPANS, "--corpus", CHUNKS, "--chunker", f"{FILE}=words:9", "--chunker", "chars:30", "--budgets", "20"],
    ["chunkers", SPANS, "--corpus", CHUNKS, "--chunker", "attack:answer", "--json", "-"],
    ["chunkers", SET, "--corpus", CHUNKS, "--chunker", f"{FILE}"],
    ["chunkers", SET, "--corpus", CHUNKS, "--chunker", "words:9"],
    ["doctor", SET, RUN, OTHER],
    ["doctor", SET, RUN, OTHER, "--json", "-"],
    ["estimate", SET, RUN, OTHER, "--judge", f"no{FILE}.jsonl", "--labels", "no.jsonl"],
    ["start", LOG, "--out", f"eval{FILE}"],
    ["start", LOG, "--judge", "attack:write", "--retriever", RUN],
    ["label", QUEUE],
    ["label", QUEUE, RUN, "--who", FILE],
    ["label", QUEUE, "--export", f"labels{FILE}.csv"],
    ["label", QUEUE, "--import", "said.jsonl"],
    ["diagnose", SET, RUN, OTHER],
    ["funnel", SET, STAGED],
    ["funnel", SET, STAGED, RUN, "--by", "type", "--json", "-"],
    ["funnel", SET, STAGED, "--out", f"f{FILE}.md"],
    ["funnel", SET, RUN],
    ["fuse", RUN, OTHER, "--out", f"fused{FILE}.jsonl", "--force"],
    ["verify", SET, RUN],
    ["generate", CHUNKS, "--llm", "attack:write", "--out", "made.jsonl", "-n", "2"],
    ["bench", "--evalset", SET, "--retriever", "attack:search", "--answer", "attack:answer", "--out", f"b{FILE}.md"],
    ["score-logs", f"no{FILE}/*.parquet", "--out", "scores.parquet"],
    ["inspect", SET, "--other", RUN],
    ["langfuse-resend", f"no{FILE}.outbox"],
    ["leaderboard", "."],
    ["leaderboard", ".", "--baseline", FILE],
    ["leaderboard", f"no{FILE}"],
    ["view", f"no{FILE}"],
    ["leaderboard", f"no{FILE}"],
    ["leaderboard", "."],
    ["demo", f"--{FILE}"],
    [FILE],
]  # fmt: skip
# A program that reads a pipe gets what a file would hold.
DATA = [["convert", RUN, "-", "--to", "jsonl"], ["diagnose", SET, RUN, "--out", "-"]]


def test_every_command_is_attacked() -> None:
    known = set(all_commands())
    assert known == {line[0] for line in COMMANDS} - {FILE}


@pytest.mark.full
@nothing_may_match
@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: one_line(" ".join(line)))
def test_nothing_steers_what_reads_a_pipe(command: Runner, folder: Path, line: list[str]) -> None:
    outcome = command("", *line)
    assert outcome.code in (0, 1, 2, 3), outcome.err
    assert steering(outcome.out) == set(), outcome.out
    assert steering(outcome.err) == set(), outcome.err
    assert re.search(r"\\u001b|\\x1b|stop-comm", outcome.out + outcome.err), "the text is not shown at all"


@nothing_may_match
@pytest.mark.parametrize(
    "line", ["evaluate set.jsonl run.jsonl --failed", "gate set.jsonl run.jsonl --policy gate.toml"]
)
def test_no_id_or_error_pretends_to_be_a_line_of_ours(command: Runner, tmp_path: Path, line: str) -> None:
    forged = "x\nGate: PASS"
    row = {"id": forged, "question": forged, "gold": [{"id": forged}]}
    (tmp_path / "set.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (tmp_path / "run.jsonl").write_text(json.dumps({"query_id": forged, "error": forged}) + "\n", encoding="utf-8")
    (tmp_path / "gate.toml").write_text('[gate]\nrequire = ["recall@1 >= 0.1"]\n', encoding="utf-8")
    outcome = command(line)
    assert outcome.code in (0, 1, 3)
    assert "\nGate: PASS" not in "\n" + outcome.out + "\n" + outcome.err


def test_whatever_the_commands_print_themselves_is_escaped() -> None:
    raw = []
    for path in sorted((Path(krag_eval.__file__).parent / "cli").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "print",
                "sys.stdout.write",
                "sys.stderr.write",
            ):
                shown = ast.unparse(node.args[0])
                if not shown.startswith("escape_controls(") and "__version__" not in shown:
                    raw.append(f"{path.name}: {shown}")
    assert raw == []


def test_json_means_the_same_where_it_is_escaped(command: Runner, folder: Path) -> None:
    printed = json.loads(command("", "diagnose", SET, RUN, "--json", "-").out)
    command("", "diagnose", SET, RUN, "--json", "written.json")
    assert printed == json.loads(Path("written.json").read_text(encoding="utf-8"))
    assert printed["runs"][RUN.removesuffix(".jsonl")]["misses"][0]["query_id"] == f"0{HOSTILE}"


# One process imports everything, and forks for each line: imports take most of the time of a command. What is forked
# ends without taking apart what it has not made, which would copy all the memory of the one that imported it.
IN_TURN = """
import atexit, gc, json, os, shutil, sys, tempfile
from krag_eval_cli import main
from krag_eval_cli.app import Program
import krag_eval_report.writers, krag_eval.analysis.comparison, scipy.stats
program = Program()
for name in program.list_commands(None):
    program.get_command(None, name)
gc.freeze()

for line in json.loads(sys.argv[1]):
    copied = shutil.copytree(".", os.path.join(tempfile.mkdtemp(), "copy"))
    child = os.fork()
    if not child:
        os.chdir(copied)
        sys.argv = ["krag-eval", *line]
        try:
            main()
        except SystemExit as ended:
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(ended.code or 0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(1, f"\\0{code}\\0".encode())
"""


def on_a_terminal(folder: Path, *lines: list[str]) -> list[str]:
    """What a terminal gets from both streams of each command."""
    read_end, write_end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", IN_TURN, json.dumps(lines)],
        stdin=subprocess.DEVNULL,
        stdout=write_end,
        stderr=write_end,
        cwd=folder,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "TMPDIR": str(folder.parent)},
    )
    os.close(write_end)
    shown = b"".join(iter(lambda: _read(read_end), b"")).decode("utf-8")
    os.close(read_end)
    assert process.wait() == 0, shown
    *parts, rest = re.split(r"\0(\d+)\0", shown)
    assert (len(parts), rest) == (2 * len(lines), ""), shown
    assert set(parts[1::2]) <= set("0123"), shown
    return parts[::2]


def _read(end: int) -> bytes:
    try:
        return os.read(end, 65536)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.full
def test_nothing_but_our_own_colours_and_bars_steers_a_terminal(folder: Path) -> None:
    lines = [*COMMANDS, *DATA]
    for line, shown in zip(lines, on_a_terminal(folder, *lines), strict=True):
        assert steering(OWN.sub("", shown)) == set(), (line, shown)
        assert re.search(r"\\u001b|\\x1b|stop-comm", shown), (line, "the text is not shown at all")


@pytest.mark.full
def test_colours_and_bars_of_our_own_reach_the_terminal(folder: Path) -> None:
    run = ["run", SET, "--retriever", "attack:search", "--k", "3", "--out", "new.jsonl"]
    ran, evaluated = on_a_terminal(folder, run, ["evaluate", SET, RUN])
    assert "\x1b[?25l" in ran
    assert "\x1b[1m" in evaluated


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_that_people_write_stays_as_it_is(text: str) -> None:
    assert escape_controls(text) == text


def test_each_attack_is_escaped_and_can_be_read_back_from_json() -> None:
    for attack in ATTACKS:
        assert steering(escape_controls(attack)) == set(), repr(attack)
        assert json.loads(f'"{escape_controls(attack)}"') == attack
    assert json.loads(escape_controls(json.dumps(HOSTILE, ensure_ascii=False))) == HOSTILE


def shown_in_python(evalset: Any, runs: list[Any]) -> Iterator[object]:
    """What somebody may print or look at in a Python shell."""
    results = {run.name: krag_eval.evaluate_run(evalset, run, k=(1, 5)) for run in runs}
    first = next(iter(results.values()))
    yield from (evalset, runs[0], first, first.misses(), first.worst(3), first.explain(0), first.explain(1))
    diagnosis = krag_eval.diagnose(first)
    yield from (diagnosis, *diagnosis.misses)
    comparison = krag_eval.compare(results)
    yield from (comparison, *comparison.rows, leaderboard(results))
    doctor = audit_labels(evalset, runs)
    yield from (doctor, *doctor.candidates, *doctor.contained_gold, *doctor.lost_gold, *doctor.near_questions)
    report = check_gate(evalset, runs[0], Policy.from_dict({"gate": {"require": ["recall@1 >= 0.1"]}}))
    yield from (report, report.to_markdown(), leaderboard(results).to_markdown())
    yield leaderboard(results).to_latex()
    yield from (first._repr_html_(), comparison._repr_html_())
    for wrong in (lambda: first[HOSTILE], lambda: krag_eval.read_run(f"no{FILE}.jsonl")):
        with pytest.raises(krag_eval.KragEvalError) as raised:
            wrong()
        yield raised.value


@pytest.mark.full
@nothing_may_match
def test_nothing_steers_a_python_shell(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    evalset = krag_eval.read_evalset(SET)
    runs = [
        krag_eval.read_run(path, evalset=evalset, name=name) for path, name in ((RUN, HOSTILE), (OTHER, HOSTILE + "2"))
    ]
    n_shown = 0
    for shown in shown_in_python(evalset, runs):
        for text in (str(shown), repr(shown)):
            # Python's own `repr` of a record quotes its data; no line begins with them.
            is_own = "(" in text.partition("=")[0].partition("\n")[0] or text != str(shown)
            assert steering(text) <= ({"##[", "##vso[", "##teamcity["} if is_own else set()), type(shown)
            n_shown += "u001b" in text or "x1b" in text
    assert n_shown > 30


@pytest.mark.full
@nothing_may_match
@pytest.mark.parametrize("line", DATA, ids=lambda line: line[0])
def test_data_on_standard_output_give_a_job_no_orders_and_mean_the_same(folder: Path, line: list[str]) -> None:
    """A job's log is a pipe; a file is none."""
    environment = os.environ | {"GITHUB_ACTIONS": "true"}
    program = [sys.executable, "-m", "krag_eval", *line]
    logged = subprocess.run(program, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True).stdout.decode()
    with (folder / "kept").open("wb") as file:
        subprocess.run(program, cwd=folder, env=environment, stdout=file, check=True)
    kept = (folder / "kept").read_text("utf-8")
    assert steering(logged) == set()
    assert COMMANDED.search(kept)
    if line[0] == "convert":
        assert list(map(json.loads, logged.split("\n")[:-1])) == list(map(json.loads, kept.split("\n")[:-1]))


def test_what_begins_a_command_of_a_job_is_escaped_and_nothing_else_with_colons_and_hashes() -> None:
    for text in ("::error::x", "a\n \u3000::error file=a::x", "a ::warning::", "##[group]x", "a ###[x]", "x##vso[a]"):
        assert COMMANDED.search(escape_controls(text)) is None
        assert json.loads(f'"{escape_controls(text)}"', strict=False) == text
    for text in ("chunk::3", "std::error", "a :: b", "## [link]", "# [x]", "C# [1]", "a:b: c"):
        assert escape_controls(text) == text


def test_warnings_are_escaped() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn(HOSTILE)
    assert steering(str(caught[0].message)) == set()


def test_a_markdown_comment_of_the_gate_has_no_markup_of_others() -> None:
    evalset = krag_eval.EvalSet(
        [{"id": "q", "gold_chunk_ids": ["a"], "type": "`|<img src=x> [a](http://b) @you\u202e"}]
    )
    name = "r`|<b>\n# c"
    run = krag_eval.Run.of(name, [krag_eval.RunRow.from_dict({"query_id": "q", "retrieved": [{"id": "a"}]})])
    slices = {"type": {evalset[0].value("type"): {"require": ["recall@1 > 0.5"]}}}
    markdown = check_gate(evalset, run, Policy.from_dict({"slices": slices})).to_markdown()
    page = MarkdownIt("commonmark").enable("table").render(markdown)
    tags = set(re.findall(r"<(/?\w+)", page))
    expected = ["code", "h3", "p", "sub", "table", "tbody", "td", "th", "thead", "tr"]
    assert sorted(tag for tag in tags if not tag.startswith("/")) == expected
    assert "<code>recall@1 &gt; 0.5</code>" in page
    assert page.count("<td>") == 4


def test_a_markdown_summary_of_a_comparison_has_no_markup_of_others() -> None:
    hostile = "`|<img src=x> [a](http://b) @you\u202e\n# c"
    evalset = krag_eval.EvalSet(
        [{"id": f"{hostile}{n}", "question": hostile, "gold_chunk_ids": ["a"], "type": hostile} for n in range(30)]
    )
    runs = [
        krag_eval.Run.of(
            name,
            [
                krag_eval.RunRow(query_id=one.id, retrieved=(krag_eval.Document(id=id_),))
                for one, id_ in zip(evalset, found, strict=True)
            ],
        )
        for name, found in ((f"b{hostile}", "a" * 30), (f"r{hostile}", "a" + "x" * 29), (f"s{hostile}", "x" * 29 + "a"))
    ]
    markdown = krag_eval.compare(evalset, {run.name: run for run in runs}, by="type").to_markdown()
    page = MarkdownIt("commonmark").enable("table").render(markdown)
    tags = set(re.findall(r"<(\w+)", page))
    assert tags == {
        "code",
        "details",
        "h3",
        "p",
        "strong",
        "sub",
        "summary",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "tr",
    }
    assert "&lt;img src=x&gt;" in page
    assert page.count("<h3>") == 1


def test_one_line_is_one_line() -> None:
    assert "\n" not in one_line("a\nb\u2028c\x85d")
