"""Documents that look like versions of each other are found, ordered and written down to be confirmed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, read_evalset
from krag_eval_labels import find_versions
from tests.support.cli_doctor_cases import jsonl, prepare
from tests.support.command_line import Runner

TEXT = "A parcel up to two kilograms costs {} euros, a letter {} cents. Both are free for members."


def document(name: str, text: str = "", **metadata: Any) -> dict[str, Any]:
    return {"id": name, "text": text or TEXT.format(*range(5, 7)), "metadata": metadata}


def prices(price: int) -> str:
    return TEXT.format(price, price * 10)


@pytest.mark.parametrize(
    ("older", "newer", "by", "values"),
    [
        pytest.param(
            document("a", title="Prices", version=9), document("b", title="Prices", version=10), "version", ("10", "9")
        ),
        pytest.param(
            document("a", title="Prices", version="v1.9"),
            document("b", title="Prices", version="v1.10"),
            "version",
            ("v1.10", "v1.9"),
            id="dotted",
        ),
        pytest.param(
            document("a", title="Prices 31.01.2025"),
            document("b", title="PRICES 01.02.2025"),
            "title",
            ("PRICES 01.02.2025", "Prices 31.01.2025"),
            id="German dates",
        ),
        pytest.param(
            document("a", source="2024/prices.pdf"),
            document("b", source="2025/prices.pdf"),
            "source",
            ("2025/prices.pdf", "2024/prices.pdf"),
            id="paths",
        ),
        pytest.param(document("price_v2"), document("price_v3"), "id", ("v3", "v2"), id="ids"),
        pytest.param(document("가격-2025"), document("가격-2026"), "id", ("2026", "2025"), id="Korean ids"),
        pytest.param(
            document("a", f"{prices(5)} From 2025-07-01.", title="Prices"),
            document("b", f"{prices(6)} From 2026-01-01.", title="Prices"),
            "text",
            ("2026-01-01", "2025-07-01"),
            id="dates in the text",
        ),
    ],
)
def test_the_newer_one_is_told_by_metadata_title_path_id_or_text(
    older: dict[str, Any], newer: dict[str, Any], by: str, values: tuple[str, str]
) -> None:
    (group,) = find_versions([older, newer, document("other", "Closed on Sundays.", title="Hours")])
    assert (group.by, group.values, group.is_ordered) == (by, values, True)
    assert group.supersedes == {newer["id"]: [older["id"]]}


def test_three_versions_are_a_chain_and_two_copies_of_one_stand_side_by_side() -> None:
    years = [("p24", 2024), ("p26", 2026), ("p25", 2025), ("p25b", 2025)]
    found = find_versions([document(name, prices(year), title="Prices", year=year) for name, year in years])
    assert found.supersedes == {"p26": ["p25", "p25b"], "p25": ["p24"], "p25b": ["p24"]}
    evalset = EvalSet([{"id": 1, "gold_chunk_ids": ["p26"]}], supersedes=found.supersedes)
    assert sorted(str(one.id) for one in evalset[0].must_not) == ["p24", "p25", "p25b"]


def test_numbers_that_differ_without_an_order_are_shown_and_not_written() -> None:
    found = find_versions([document("a", prices(5), title="Prices"), document("b", prices(6), title="Prices")])
    assert [group.ids for group in found] == [("a", "b")]
    assert found.supersedes == {}
    assert "a, b: numbers in the text differ, and nothing says which is newer" in str(found)


@pytest.mark.parametrize(
    "corpus",
    [
        pytest.param([document("a", title="Prices"), document("b", title="Prices")], id="copies"),
        pytest.param([document("1", prices(5)), document("2", prices(6))], id="numbered ids"),
        pytest.param([document("d-1", prices(5)), document("d-2", prices(6))], id="numbered ids with a letter"),
        pytest.param(
            [document("a", title="Chapter 1"), document("b", "We met in the woods.", title="Chapter 2")], id="chapters"
        ),
        pytest.param([document("a", title="Parcels", year=1), document("b", title="Letters", year=2)], id="titles"),
        pytest.param([document("a"), {"text": prices(6)}], id="no id"),
    ],
)
def test_what_only_looks_a_little_alike_is_no_version(corpus: list[Any]) -> None:
    assert not find_versions(corpus)


def test_versions_agree_in_the_keys_of_within() -> None:
    corpus = [document(f"{t}{v}", title="Contract", tenant=t, version=v) for t in "ab" for v in (1, 2)]
    assert find_versions(corpus).supersedes == {"a2": ["a1", "b1"], "b2": ["a1", "b1"]}
    assert find_versions(corpus, within=["tenant"]).supersedes == {"a2": ["a1"], "b2": ["b1"]}


def test_chunks_are_put_together_to_documents() -> None:
    chunks = [
        document(f"{doc}#{n}", part, doc_id=doc, title="Prices")
        for doc, price in (("prices-2025", 5), ("prices-2026", 6))
        for n, part in enumerate(prices(price).split(". "))
    ]
    assert find_versions(chunks).supersedes == {"prices-2026": ["prices-2025"]}


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"`read_corpus\(path\)`"):
        find_versions("corpus.jsonl")
    with pytest.raises(InvalidInputError, match="near"):
        find_versions([document("a")], near=0)
    with pytest.raises(InvalidInputError, match="document 1"):
        find_versions([document("a"), 3])


@pytest.fixture
def run(command: Runner) -> Runner:
    prepare(Path())
    corpus = [document(f"p{year}", prices(year), title="Prices", year=year) for year in (2025, 2026)]
    Path("corpus.jsonl").write_text(jsonl(corpus), encoding="utf-8")
    return command


def test_the_doctor_lists_versions_of_its_corpus_and_writes_them_to_confirm(run: Runner) -> None:
    listed = "1 group of documents that look like versions of each other\n  p2026 (year: 2026) > p2025 (year: 2025)\n"
    command = "doctor set.jsonl --corpus corpus.jsonl --versions old.json"
    assert run(command) == (0, listed, "old.json: 1 document with older versions to confirm.\n")
    assert json.loads(Path("old.json").read_text(encoding="utf-8")) == {"p2026": ["p2025"]}
    assert "already exists" in run(command).err
    assert json.loads(run(f"{command} --force --json -").out)["versions"][0]["ids"] == ["p2026", "p2025"]

    with_runs = run("doctor set.jsonl bm25.jsonl dense.jsonl --corpus corpus.jsonl")
    assert with_runs.out.endswith(listed)
    assert json.loads(run("doctor set.jsonl bm25.jsonl --corpus corpus.jsonl --json -").out)["versions"]

    kept = {
        "questions": [{"id": 1, "gold_chunk_ids": ["p2026"]}],
        "supersedes": json.loads(Path("old.json").read_text()),
    }
    Path("ruled.json").write_text(json.dumps(kept), encoding="utf-8")
    assert [one.id for one in read_evalset("ruled.json")[0].must_not] == ["p2025"]


def test_the_command_says_what_is_missing(run: Runner) -> None:
    assert "Name it with `--corpus`" in run("doctor set.jsonl --versions old.json").err
    assert "There is no run" in run("doctor set.jsonl --corpus corpus.jsonl --versions old.json --queue q.jsonl").err
    assert "needs a name" in run("doctor set.jsonl --corpus corpus.jsonl --versions -").err
    assert "is one of the inputs" in run("doctor set.jsonl --corpus corpus.jsonl --versions corpus.jsonl --force").err
