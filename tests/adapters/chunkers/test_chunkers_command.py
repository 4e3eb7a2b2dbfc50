"""`krag-eval chunkers` compares chunkings of a corpus and writes the tables, the report and the plots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import Runner

WORDS = [f"w{n}" for n in range(60)]
TEXT = " ".join(WORDS)
MODULE = """
class Pairs:
    def __init__(self):
        self.chunk_size = 2

    def split_text(self, text):
        words = text.split()
        return [" ".join(words[at : at + 2]) for at in range(0, len(words), 2)]

def halves(text):
    return [(0, len(text) // 2), (len(text) // 2, len(text))]

def fails(text):
    raise ValueError("no sentence ends")

def index(chunks):
    return lambda question: [chunk for chunk in chunks if question.split()[0] in chunk.text.split()]
"""
LINE = "chunkers set.jsonl --corpus corpus.jsonl --budgets 4,40"


@pytest.fixture
def run(command: Runner) -> Runner:
    questions = []
    for n in (3, 21, 40):
        start = TEXT.index(f"w{n} ")
        gold = {"doc_id": "d", "start": start, "end": start + len(f"w{n} w{n + 1}")}
        questions.append({"id": f"q{n}", "question": f"w{n} w{n + 1}", "gold": [gold]})
    Path("set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions), encoding="utf-8")
    Path("corpus.jsonl").write_text(json.dumps({"id": "d", "text": TEXT}), encoding="utf-8")
    Path("chunking.py").write_text(MODULE, encoding="utf-8")
    return command


def test_chunkers_of_all_kinds_are_compared(run: Runner) -> None:
    outcome = run(
        f"{LINE} --chunker words:4 --chunker words:20:10 --chunker chunking:Pairs --chunker two=chunking:halves"
    )
    assert outcome.code == 0, outcome.err
    table = outcome.out.partition("and cost\n")[2].splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in table[2:6]}
    assert table[1].split()[:6] == ["chunking", "4", "tok", "40", "tok", "chunks"]
    assert [(name, row[2]) for name, row in rows.items()] == [
        ("words:4", "15"),
        ("words:20:10", "5"),
        ("Pairs", "30"),
        ("two", "2"),
    ]
    assert rows["words:20:10"][0] == "0.0000"
    assert rows["Pairs"][1] == "0.8857"  # (4/5 + 6/7 + 1) / 3: the space between two words is in no chunk
    assert "q3        w3 w4    words:4, Pairs" in outcome.out


@pytest.mark.full
def test_json_report_and_plots_are_written(run: Runner) -> None:
    line = f"{LINE} --chunker words:4 --chunker chunking:halves --baseline halves"
    outcome = run(f"{line} --json c.json --out c.md --plots plots")
    assert outcome.code == 0, outcome.err
    written = json.loads(Path("c.json").read_text(encoding="utf-8"))
    assert written["baseline"] == "halves"
    assert written["best"] == {"4": "words:4", "40": "halves"}
    assert [made["parameters"]["chunker"] for made in written["chunkings"]] == ["words", "chunking.halves"]
    page = Path("c.md").read_text(encoding="utf-8")
    assert "## Chunkings" in page
    assert "| chunk_size |  | 4 |" in page
    assert "Wrote c.md" in outcome.out
    assert Path("plots/over_k.svg").exists()
    assert json.loads(run(f"{line} --json -").out)["budgets"] == [4, 40]
    assert "already exists" in run(f"{line} --out c.md").err


def test_a_retriever_of_ones_own_indexes_every_chunking(run: Runner) -> None:
    outcome = run(f"{LINE} --chunker words:4 --retriever chunking:index --json -")
    row = json.loads(outcome.out)["rows"][0]
    assert (row["span_recall"], row["chunks"]) == (pytest.approx(2 / 3, abs=0.2), 15)


def test_only_so_many_cut_questions_are_shown(run: Runner) -> None:
    outcome = run(f"{LINE} --chunker chars:3 --show 1")
    assert "and 2 more. Show them all with --show 3." in " ".join(outcome.out.split())
    assert "q40" in run(f"{LINE} --chunker chars:3 --show 3").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--chunker words:4 --chunker words:4", "`--chunker` names two chunkers 'words:4'."),
        ("--chunker a=words:4 --chunker a=words:8", "names two chunkers 'a'. Put another name"),
        ("--chunker words:x", "The chunker 'words:x' is not known."),
        ("--chunker word:4", "The chunker 'word:4' is not known. Did you mean 'words'?"),
        ("--chunker nothing", "`--chunker` must be module:object, such as search:bm25, got 'nothing'."),
        ("--chunker chunking:thirds", "'chunking' has no 'thirds'."),
        ("--chunker chunking:fails", "The chunker 'fails', document 'd': it raised ValueError: no sentence ends."),
        ("--chunker words:4 --budgets 4,x", "`--budgets` must be numbers of tokens such as 200,400, got '4,x'."),
        ("--chunker words:4 --budgets 0", "`--budgets` must be an integer of at least 1, got 0."),
        ("--chunker words:4 --baseline words:5", "`--baseline` must be one of 'words:4'"),
        ("--chunker words:4 --retriever bm52", "`--retriever` must be module:object"),
    ],
)
def test_what_cannot_be_used_is_one_line(run: Runner, arguments: str, said: str) -> None:
    outcome = run(f"{LINE.replace(' --budgets 4,40', '') if 'budgets' in arguments else LINE} {arguments}")
    assert outcome.code == 2
    assert said in outcome.err
    assert outcome.err.count("\n") == 1
