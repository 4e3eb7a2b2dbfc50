"""Rules of access in tables, which are read and checked."""

from __future__ import annotations

from pathlib import Path

from krag_eval import read_evalset
from krag_eval_labels import validate


def test_columns_of_a_table_say_it_in_cells(tmp_path: Path) -> None:
    text = (
        "id,question,gold_chunk_ids,must_not_ids,allowed_tenant,allowed_level,allowed_if_missing,asker\n"
        '1,When?,a1,"x1, x2",a|public,<= 2,true,ann\n2,Who?,b1,,,,,\n3,What?,,x9,,,,\n'
    )
    (tmp_path / "set.csv").write_text(text, encoding="utf-8")
    first, second, third = read_evalset(tmp_path / "set.csv")
    assert [one.id for one in first.forbidden()] == ["x1", "x2"]
    assert first.allowed == {"tenant": ["a", "public"], "level": "<= 2", "allowed_if_missing": True}
    assert (first.asker, second.must_not, second.allowed, second.asker) == ("ann", (), {}, None)
    assert third.is_negative
    assert validate(tmp_path / "set.csv").counts == {}
