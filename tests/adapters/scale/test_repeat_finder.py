"""Query ids that come twice are found by 64 bits of each, in memory or on the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from krag_eval_scale import RepeatFinder


@pytest.mark.full
def test_fingerprints_are_equal_for_equal_ids_whatever_their_encoding_and_no_others() -> None:
    ids = [str(number) for number in range(-500, 100_000)] + [f"{'a' * n}{b}" for n in range(40) for b in "xy"]
    strings = pa.array(ids)
    prints = RepeatFinder.fingerprints(strings)
    assert prints.dtype == np.uint64
    assert len(np.unique(prints)) == len(ids)
    encodings: list[Any] = [strings.cast(pa.large_string()), strings.dictionary_encode()]
    for encoded in encodings:
        assert RepeatFinder.fingerprints(encoded).tolist() == prints.tolist()
    assert RepeatFinder.fingerprints(pa.array(range(-500, 100_000))).tolist() == prints[:100_500].tolist()
    assert RepeatFinder.fingerprints(strings.slice(7, 9)).tolist() == prints[7:16].tolist()
    assert RepeatFinder.fingerprints(strings.slice(0, 0)).tolist() == []


def mixed(value: int) -> int:
    """The finaliser of splitmix64, with whole numbers of any size."""
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


@pytest.mark.parametrize("id_", ["b", "12345678", "질문-12345678", "x" * 100])
def test_a_fingerprint_depends_on_nothing_but_the_bytes_of_the_id(id_: str) -> None:
    text = id_.encode()
    expected = mixed(len(text))
    for start in range(0, len(text), 8):
        word = int.from_bytes(text[start : start + 8], "little")
        expected = mixed(expected * 0x9E3779B97F4A7C15 % 2**64 ^ word)
    assert RepeatFinder.fingerprints(pa.array(["before", id_, "after"])).tolist()[1] == expected


@pytest.mark.parametrize(("n_held", "n_folders"), [(10_000, 0), (700, 1)])
def test_repeats_on_disk_are_found_as_those_in_memory_and_the_disk_is_left_clean(
    tmp_path: Path, n_held: int, n_folders: int
) -> None:
    numbers = np.random.default_rng(1).permutation(np.concatenate([np.arange(5000), np.arange(0, 5000, 500)]))
    prints = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    expected = sorted((np.arange(0, 5000, 500).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).tolist())
    with RepeatFinder(tmp_path, n_held=n_held) as finder:
        for part in np.array_split(prints, 11):
            finder.add(part)
        assert len(list(tmp_path.iterdir())) == n_folders
        assert finder.repeated(at_most=1000).tolist() == expected
        assert finder.repeated(at_most=3).tolist() == expected[:3]
    assert list(tmp_path.iterdir()) == []


def test_without_any_id_there_is_no_repeat() -> None:
    with RepeatFinder() as finder:
        assert finder.repeated(at_most=1).tolist() == []
