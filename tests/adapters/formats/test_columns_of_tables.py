"""Tables in memory whose columns have other names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from krag_eval import EvalSet, InvalidInputError, evaluate
from tests.datasets.test_arrow_tables import LONG_GOLD, LONG_GOT, Capsule


@pytest.mark.parametrize("make", [pa.table, pl.DataFrame, lambda rows: Capsule(pa.table(rows))])
def test_columns_with_other_names_are_explained(make: Callable[[Any], Any]) -> None:
    needed = "the columns query_id, doc_id, and relevance or score"
    wrong = {"chunk": LONG_GOT["doc_id"], "query_id": LONG_GOT["query_id"], "score": LONG_GOT["score"]}
    with pytest.raises(InvalidInputError, match=needed):
        evaluate(make(LONG_GOLD), make(wrong), k=2)
    with pytest.raises(InvalidInputError, match=needed):
        evaluate(make(wrong), make(wrong), k=2)
    with pytest.raises(InvalidInputError, match=r"`gold` is missing.*The columns are: id, question, goldd"):
        EvalSet(make({"id": ["1"], "question": ["?"], "goldd": [["a"]]}))
