"""A disk that is full while a file is written: an error that says so, and nothing left."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from krag_eval import InvalidInputError
from krag_eval._utils.files.io import write_atomically

pytestmark = pytest.mark.full

LIMIT = 100


@contextmanager
def full_disk() -> Iterator[None]:
    """No file gets larger than a hundred bytes, whoever asks."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_an_error_in_the_making_of_a_text_is_not_taken_for_a_full_disk(tmp_path: Path) -> None:
    def parts() -> Iterator[str]:
        yield "begun"
        raise ConnectionError("the index is gone")

    with pytest.raises(ConnectionError):
        write_atomically(tmp_path / "out.json", parts())
    with full_disk(), pytest.raises(InvalidInputError, match="Nothing was changed: free some space"):
        write_atomically(tmp_path / "out.json", ["x" * 1000])
    assert not list(tmp_path.iterdir())
