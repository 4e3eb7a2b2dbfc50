"""Files that `validate` cannot read."""

from __future__ import annotations

from pathlib import Path

import pytest

from krag_eval import InvalidInputError
from krag_eval_labels.validation import validate
from tests.adapters.labels.test_validation import kinds


def test_an_empty_file_and_one_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text("\n")
    assert kinds(validate(tmp_path / "set.jsonl")) == [("unreadable", ())]
    with pytest.raises(InvalidInputError, match=r"absent\.jsonl: cannot be read"):
        validate(tmp_path / "absent.jsonl")
