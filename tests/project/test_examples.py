"""The examples run: on a question set written here, on a real one where there is one, and without any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from examples.compare_on_question_sets import main as compare_main
from examples.score_question_set import (
    COLUMNS,
    chunk,
    gold_document,
    main,
    packed_sentences,
    read_question_set,
    sentence_spans,
    windows,
)

HARBOUR = (
    "The harbour of Tolmen was dug by hand in the winter of 1871. Nobody knows today who paid for the stones of it. "
    "A ferry to the island of Brea leaves at noon, except on Sundays."
)
TEA = (
    "보림 마을의 녹차는 해마다 사월 중순에 처음으로 수확한다. 찻잎은 무쇠솥에서 아홉 번 덖은 뒤 그늘에서 말린다. "
    "마을의 작은 박물관에서는 주말마다 차를 맛볼 수 있다."
)
ASKED = [
    (HARBOUR, "When was the harbour of Tolmen dug?", "the winter of 1871"),
    (HARBOUR, "When does the ferry to Brea leave?", "at noon"),
    (TEA, "찻잎은 몇 번 덖는가?", "아홉 번"),
    (TEA, "차는 어디에서 맛볼 수 있는가?", "박물관"),
    (TEA, "박물관의 입장료는 얼마인가?", None),
]


def squad(*asked: tuple[str, str, str | None]) -> dict[str, Any]:
    """A question set in SQuAD format; a question without an answer has an empty list of them."""
    paragraphs: dict[str, list[dict[str, Any]]] = {}
    for place, (text, question, answer) in enumerate(asked):
        answers = [] if answer is None else [{"text": answer, "answer_start": text.index(answer)}]
        paragraphs.setdefault(text, []).append({"id": str(place), "question": question, "answers": answers})
    return {"data": [{"paragraphs": [{"context": text, "qas": qas}]} for text, qas in paragraphs.items()]}


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return path


def rows_of(markdown: Path) -> dict[tuple[str, str], dict[tuple[str, str], float]]:
    """The values of a written table by (chunking, retriever) and (method, key)."""
    table = [line for line in markdown.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]
    keys = [key for method, key in COLUMNS if method == "id"]
    found: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for method, chunking, retriever, *values in cells:
        of_method = dict(zip([(method, key) for key in keys], map(float, values), strict=True))
        found.setdefault((chunking, retriever), {}).update(of_method)
    return found


@pytest.mark.parametrize(
    "sentences",
    [
        pytest.param(["It rained. ", "Was it J. Smith who came at 3.5 km/h? ", '"No!" ', "So be it."], id="English"),
        pytest.param(
            ["비가 왔다.", "남은 것은 우산 둘. ", "정말 그랬을까? ", "그렇다"], id="Korean, one space left out"
        ),
        pytest.param(["下雨了。", "他说：“走吧！”", "几点？", "三点"], id="Chinese, without spaces"),
        pytest.param(["Шёл дождь. ", "Это было в 1871 г. в порту, т. е. давно… ", "Правда? ", "Да."], id="Russian"),
    ],
)
def test_a_text_is_split_where_its_sentences_end(sentences: list[str]) -> None:
    text = "".join(sentences)
    assert [text[start:end] for start, end in sentence_spans(text)] == sentences


@pytest.mark.parametrize("size", [5, 20, 50, 70, 100, 1000])
def test_no_chunking_loses_a_character_and_packing_cuts_no_sentence(size: int) -> None:
    assert "".join(packed_sentences(TEA, size)) == TEA
    sentences = [TEA[start:end] for start, end in sentence_spans(TEA)]
    assert all(any(sentence in packed for packed in packed_sentences(TEA, size)) for sentence in sentences)
    assert all(len(packed) <= max(size, *map(len, sentences)) for packed in packed_sentences(TEA, size))

    first, *others = windows(TEA, size)
    assert first + "".join(window[size // 5 :] for window in others) == TEA
    assert all(len(window) <= size for window in [first, *others])


def test_a_gold_document_is_the_sentence_of_the_answer_and_the_id_of_its_paragraph() -> None:
    answer = {"text": "who paid", "answer_start": HARBOUR.index("who paid")}
    assert gold_document("p7", HARBOUR, answer) == {
        "text": "Nobody knows today who paid for the stones of it.",
        "metadata": {"doc_id": "p7"},
    }


def test_an_answer_in_two_sentences_has_both_as_evidence() -> None:
    answer = {"text": "1871. Nobody", "answer_start": HARBOUR.index("1871. Nobody")}
    assert gold_document("p7", HARBOUR, answer)["text"] == HARBOUR[: HARBOUR.index(" A ferry")]


def test_a_paragraph_that_stands_there_twice_is_one_document(tmp_path: Path) -> None:
    content = squad(*ASKED)
    content["data"] += squad(ASKED[0])["data"]
    paragraphs, questions = read_question_set(write(tmp_path / "set.json", content))
    assert paragraphs == {"p0": HARBOUR, "p1": TEA}
    assert questions[-1].gold[0]["metadata"] == {"doc_id": "p0"}
    assert [document["id"] for document in chunk(paragraphs, windows, 100)] == ["p0/0", "p0/1", "p1/0"]


@pytest.mark.full
def test_the_question_set_example_prints_a_table_and_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, table = write(tmp_path / "set.json", squad(*ASKED)), tmp_path / "table.md"
    assert main([str(path), "--questions", "0", "--chunk-size", "60", "--explain", "1", "--markdown", str(table)]) == 0

    printed = capsys.readouterr()
    assert printed.err == ""
    assert "set.json: 5 questions, 2 paragraphs, chunks of 60 characters" in printed.out
    assert "found by id, missed by containment" in printed.out
    for method, signature in {
        "id": "match:id|idkey:doc_id",
        "containment": "match:containment(gold_in_retrieved)",
        "ROUGE-L": "match:rougeL>=0.8|measure:recall|tok:words",
    }.items():
        assert f"{method}: 1 undefined; {signature}" in printed.out

    rows = rows_of(table)
    assert [chunking for chunking, _ in rows] == ["windows"] * 4 + ["sentences"] * 4
    # Two paragraphs in two languages, and every sentence a chunk of its own: nothing can be missed.
    assert rows["sentences", "bm25 characters"]["id", "recall@1"] == 1.0
    assert rows["sentences", "bm25 characters"]["containment", "recall@10"] == 1.0
    # Windows of 60 cut two of the four evidences; of one of them, more than 0.8 of the words are left.
    assert "a perfect retriever's recall is 1.000 by id, 0.500 by containment, 0.750 by ROUGE-L" in printed.out
    assert rows["windows", "bm25 characters"]["containment", "recall@10"] == 2 / 4
    assert rows["windows", "bm25 characters"]["ROUGE-L", "recall@10"] == 3 / 4


def test_the_question_set_example_runs_on_30_real_questions(shared_data: Path, tmp_path: Path) -> None:
    real = json.loads((shared_data / "xquad" / "xquad.en.json").read_text(encoding="utf-8"))
    path, table = write(tmp_path / "part.json", {"data": real["data"][:8]}), tmp_path / "table.md"
    assert main([str(path), "--questions", "30", "--markdown", str(table)]) == 0

    rows = rows_of(table)
    assert len(rows) == 8
    for row in rows.values():
        assert row["id", "recall@10"] >= 0.8
        assert 0 < row["containment", "recall@10"] <= row["ROUGE-L", "recall@10"]
    for retriever in (
        "bm25 words",
        "bm25 characters",
        "dense",
        "hybrid (RRF)",
    ):  # windows cut evidence, packing does not
        cut, whole = rows["windows", retriever], rows["sentences", retriever]
        assert cut["containment", "recall@10"] < whole["containment", "recall@10"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(None, "There is no question set at", id="missing"),
        pytest.param(b"[]", "is not in SQuAD format: TypeError", id="a list"),
        pytest.param(
            b'{"data": [{"title": ""}]}', "is not in SQuAD format: KeyError('paragraphs')", id="no paragraphs"
        ),
        pytest.param(b"\xff", "is not in SQuAD format: UnicodeDecodeError", id="not UTF-8"),
    ],
)
def test_a_path_without_a_question_set_says_what_is_missing_and_how_to_get_it(
    content: bytes | None, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = write(tmp_path / "good.json", squad(*ASKED)), tmp_path / "bad.json"
    if content is not None:
        bad.write_bytes(content)
    assert main([str(good), str(bad)]) == 2  # and the good file has not been scored before it is told

    printed = capsys.readouterr()
    assert printed.out == ""
    assert str(bad) in printed.err
    assert says in printed.err
    assert "https://korquad.github.io" in printed.err


def test_the_comparison_example_names_the_slice_that_was_crippled(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    real = json.loads((shared_data / "xquad" / "xquad.zh.json").read_text(encoding="utf-8"))
    path, page = write(tmp_path / "part.json", {"data": real["data"][:20]}), tmp_path / "page.md"
    assert compare_main([str(path), "--questions", "0", "--markdown", str(page)]) == 0
    printed = capsys.readouterr().out
    broken = printed[printed.index("broken against words") :]
    assert "  worse: recall@10, mrr@10, ndcg@10\n" in broken
    assert "  surely worse: type = number" in broken
    assert page.read_text(encoding="utf-8").startswith("## part.json: ")


def test_the_comparison_example_says_which_file_it_cannot_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare_main(["none.json"]) == 2
    assert "none.json" in capsys.readouterr().err
