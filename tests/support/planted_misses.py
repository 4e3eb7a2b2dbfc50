"""Misses whose cause is known because it was planted, in the bundled collection and in real chunkings.

`python -m tests.support.planted_misses [DATA]` prints how often each cause is named: planted in rows, named in columns.
"""

from __future__ import annotations

import csv
import json
import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from krag_eval import diagnose, evaluate
from krag_eval._utils.errors import KragEvalWarning
from krag_eval_chunkers.demo_data import load_collection

K = 3
Case = tuple[str, dict[str, Any], list[dict[str, Any]], dict[str, Any]]
"""The planted cause, the gold document, the ranking, the settings."""
BY_ID: dict[str, Any] = {"match_method": "id"}
BY_TEXT: dict[str, Any] = {"match_method": "text"}
BY_ROUGE: dict[str, Any] = {"match_method": "rougeL", "threshold": 0.95}
PART_OF_PIECE = 4


def named(cases: list[Case]) -> Counter[tuple[str, str]]:
    """How often each planted cause got each name; `found` where the gold document was not missed."""
    counts: Counter[tuple[str, str]] = Counter()
    for settings in (BY_ID, BY_TEXT, BY_ROUGE):
        chosen = [case for case in cases if case[3] is settings]
        gold, retrieved = [[case[1]] for case in chosen], [case[2] for case in chosen]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KragEvalWarning)  # not one document matches, on purpose
            causes = diagnose(evaluate(gold, retrieved, k=K, **settings)).causes
        counts.update((case[0], cause) for case, cause in zip(chosen, causes, strict=True))
    return counts


def planted_in_the_collection(seed: int = 0) -> list[Case]:
    """Each cause planted once for each gold passage of the bundled collection, in four languages."""
    rng = random.Random(seed)
    documents, questions = load_collection()
    notes = {document["id"]: document["text"] for document in documents}
    cases: list[Case] = []
    for passage in (gold for question in questions for gold in question["gold"]):
        text = passage["text"]
        others = [note for note in documents if note["id"] != passage["id"] and text not in note["text"]]
        noise = iter(rng.sample(others, 12))
        gold = {"id": passage["id"], "text": text}
        cases += _planted(rng, gold, notes[passage["id"]], noise)
    return cases


def _planted(rng: random.Random, gold: dict[str, Any], note: str, noise: Iterator[dict[str, Any]]) -> Iterator[Case]:
    text, start = gold["text"], note.index(gold["text"])
    border = start + rng.randint(len(text) * 3 // 10, len(text) * 7 // 10)
    halves = [_chunk("c1", note[:border]), _chunk("c2", note[border:])]
    first = len(text) // PART_OF_PIECE
    few = [next(noise) for _ in range(6)]
    twins = [_chunk(f"t{n}", f"{few[0]['text']} {n}") for n in range(3)]
    for settings in (BY_ID, BY_TEXT, BY_ROUGE):
        yield "never_retrieved", gold, few, settings
        yield "cut", gold, _shuffled(rng, [rng.choice(halves), *few[:2]]), settings
        yield "cut", gold, _shuffled(rng, [*halves, *few[:2]]), settings
        yield "piece", gold, _shuffled(rng, [_chunk("p", text[first:-first]), *few[:2]]), settings
        yield "ranked_below_k", gold, [*few[:K], gold], settings
        yield "ranked_below_k", gold, [*twins[:2], *few[1:4], gold], settings  # without the twin it is still fourth
        yield "crowded_out", gold, [*twins[:2], *few[1:2], gold], settings
        yield "crowded_out", gold, [*twins, few[1], gold], settings
        yield "crowded_out", gold, [few[0], few[1], few[0], gold], settings
        if len(note) > len(text) + 1:
            yield "in_longer_text", gold, _shuffled(rng, [_chunk("l", note + few[5]["text"]), *few[:2]]), settings
    yield "other_id", gold, _shuffled(rng, [_chunk("other", text), *few[:2]]), BY_ID


def planted_in_a_chunking(folder: Path, size: int, seed: int = 0) -> list[Case]:
    """For each gold excerpt of `chunking_evaluation` every chunk of `size` characters that overlaps it, among others.

    The cause follows from the offsets alone.
    """
    rng = random.Random(seed)
    cases: list[Case] = []
    texts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    with (folder / "questions.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["corpus_id"] in texts]
    for row in rows:
        whole = texts[row["corpus_id"]]
        starts = range(0, len(whole), size)
        for place, excerpt in enumerate(json.loads(row["references"])):
            begin, end = excerpt["start_index"], excerpt["end_index"]
            gold = {"id": f"gold {place}", "text": whole[begin:end]}
            far = [s for s in starts if s + size <= begin or s >= end]
            noise = [_chunk(f"n{s}", whole[s : s + size]) for s in rng.sample(far, K - 1)]
            cases.append(("never_retrieved", gold, noise, BY_ID))
            for s in range(begin // size * size, end, size):
                overlap = whole[max(s, begin) : min(s + size, end)].strip()
                if len(overlap) < max(8, min(20, (end - begin) // 4)):
                    continue
                has_begin, has_end = s <= begin, end <= s + size
                cause = "in_longer_text" if has_begin and has_end else "cut" if has_begin or has_end else "piece"
                ranking = _shuffled(rng, [_chunk(f"c{s}", whole[s : s + size]), *noise])
                cases.append((cause, gold, ranking, rng.choice([BY_ID, BY_TEXT, BY_ROUGE])))
    return cases


def _chunk(id_: str, text: str) -> dict[str, Any]:
    return {"id": id_, "text": text}


def _shuffled(rng: random.Random, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return rng.sample(rows, len(rows))


def table(counts: Counter[tuple[str, str]]) -> str:
    """The confusion table as text."""
    columns = sorted({name for _, name in counts})
    lines = [" " * 16 + "".join(f"{name:>17}" for name in columns)]
    lines += [
        f"{planted:<16}" + "".join(f"{counts[planted, name] or '-':>17}" for name in columns)
        for planted in sorted({planted for planted, _ in counts})
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(f"{table(named(planted_in_the_collection()))}\n")
    for folder in sys.argv[1:]:
        for size in (100, 200, 400):
            counts = named(planted_in_a_chunking(Path(folder), size))
            sys.stdout.write(f"\nchunks of {size} characters\n{table(counts)}\n")
