"""The kept inputs of the fuzz targets, replayed: findings that were mended, and one of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import readers, texts

pytestmark = pytest.mark.full

INPUTS = {folder: sorted((Path(__file__).parent / "corpus" / folder).iterdir()) for folder in ("readers", "texts")}


def test_the_corpus_is_kept_and_small() -> None:
    assert all(len(paths) >= 7 for paths in INPUTS.values())
    assert sum(path.stat().st_size for paths in INPUTS.values() for path in paths) < 200_000


@pytest.mark.parametrize("path", INPUTS["readers"], ids=lambda path: path.name)
def test_a_kept_file_is_read_or_refused_at_its_place(path: Path) -> None:
    readers.check(path.read_bytes())


@pytest.mark.parametrize("path", INPUTS["texts"], ids=lambda path: path.name)
def test_on_kept_texts_the_fast_and_the_slow_agree(path: Path) -> None:
    texts.check(path.read_bytes())
