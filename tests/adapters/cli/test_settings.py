"""What arguments of the library mean, options mean too: ids, paths, metrics, readings and metadata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, read_evalset
from tests.support.command_line import Runner


def test_a_saved_reading_is_taken_from_then_on(tmp_path: Path, command: Runner) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps({"question": "When?", "contexts": ["A boat is lent for two days."]}))
    assert command("inspect set.jsonl --save --columns gold_texts=contexts").code == 0
    assert [one.text for one in read_evalset(path)[0].gold] == ["A boat is lent for two days."]
    (tmp_path / "set.jsonl.reading.json").write_text("[]")
    with pytest.raises(InvalidInputError, match=r"set\.jsonl\.reading\.json: must be what"):
        read_evalset(path)


def test_the_command_prints_what_a_file_is_and_its_command_reads_it(tmp_path: Path, command: Runner) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps({"query": "How long?", "expected_chunks": ["b#1"], "answer": "Two."}))
    (tmp_path / "run.jsonl").write_text('{"query_id": "0", "retrieved": [{"id": "b#1"}]}')
    first, *_, typed, _ = command("inspect set.jsonl").out.splitlines()
    assert first == "set.jsonl: an evaluation set (jsonl, 1 row)"
    scored = command(f"{typed.removeprefix('Command: krag-eval ').replace('RUN', 'run.jsonl')} --k 1 --json -")
    assert json.loads(scored.out)["runs"]["run"]["metrics"]["recall@1"] == 1.0


def test_paths_hold_for_options(tmp_path: Path, command: Runner) -> None:
    row = {"in": {"q": "When?"}, "docs": [{"id": "b"}], "out": {"hits": ["b"]}, "old": "x", "secret": ["y"]}
    columns = {"question": "in.q", "gold_chunk_ids": "docs.id"}
    (tmp_path / "set.jsonl").write_text(json.dumps(row))
    assert (
        command("evaluate set.jsonl -k 1 --columns question=in.q,gold_chunk_ids=docs.id,retrieved_ids=out.hits").code
        == 0
    )
    given = json.dumps(columns | {"must_not": ["old", "secret"]})
    assert command("convert set.jsonl new.jsonl --columns", given).code == 0
    assert [one.id for one in read_evalset(tmp_path / "new.jsonl")[0].must_not] == ["x", "y"]


def test_the_command_says_what_became_of_forbidden_documents(command: Runner) -> None:
    now, secret = "Refunds take three days.", "The margin is ten percent."
    rows = [
        {"id": "q", "question": "?", "gold": [{"id": "g", "text": now}], "must_not": [{"id": "s", "text": secret}, "x"]}
    ]
    for name, lines in (("set", rows), ("chunks", [{"id": "n1", "text": f"{now} {secret}"}])):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")
    outcome = command("reanchor set.jsonl --corpus chunks.jsonl")
    assert outcome.code == 1
    assert "2 documents of must_not: 1 merged, 1 unanchorable." in outcome.out
    assert "'q' 's': 'n1' is gold, too, so it is not forbidden. Cut smaller chunks." in outcome.out


def test_the_run_tells_which_cells_hold_several_ids(command: Runner) -> None:
    cells = ['"Refund policy, Shipping guide"', '"Shops, offices and more"', '"Old, and gone"']
    rows = [f"{n},What?,{cell}" for n, cell in enumerate(cells)]
    Path("set.csv").write_text("\n".join(["id,question,gold_chunk_ids", *rows]))
    found = [["Refund policy", "x"], ["Shops, offices and more"], ["Shipping guide"]]
    lines = [{"query_id": str(n), "retrieved": [{"id": one} for one in ids]} for n, ids in enumerate(found)]
    Path("run.jsonl").write_text("\n".join(map(json.dumps, lines)))
    corpus = [{"id": one, "text": one} for one in ("Old", "and gone")]
    Path("chunks.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    for option, counts in (("", [2, 1, 1]), ("--separator ;", [1, 1, 1])):
        asked = f"evaluate set.csv run.jsonl --metrics recall -k 2 --per-query rows.jsonl {option}"
        assert command(asked).code == 0
        assert [json.loads(line)["n_gold"] for line in Path("rows.jsonl").read_text().splitlines()] == counts
        Path("rows.jsonl").unlink()
    assert command("diagnose set.csv run.jsonl -k 2 --json causes.json").code == 0
    (causes,) = json.loads(Path("causes.json").read_text())["runs"].values()
    assert (causes["n_gold"], causes["n_found"]) == (4, 2)
    stages: list[dict[str, Any]] = [
        {"name": "dense", "retrieved": [{"id": "x"}]},
        {"name": "top", "inputs": ["dense"], "retrieved": []},
    ]
    lines = [{"query_id": str(n), "stages": stages} for n in range(3)]
    Path("run.jsonl").write_text("\n".join(map(json.dumps, lines)))
    for option, n_needs in (("", 3), ("--corpus chunks.jsonl", 4)):
        outcome = command(f"funnel set.csv run.jsonl {option} --json needs.json")
        assert outcome.code == 0
        (needs,) = json.loads(Path("needs.json").read_text())["runs"].values()
        assert needs["n_needs"] == n_needs


def test_an_own_id_is_read_where_that_is_asked_for(command: Runner) -> None:
    retrieved = [{"id": own, "metadata": {"id": other}} for own, other in (("d9", "x"), ("d1", "y"))]
    Path("run.jsonl").write_text(json.dumps({"query_id": "q", "retrieved": retrieved}))
    Path("set.jsonl").write_text('{"id": "q", "question": "?", "gold": [{"id": "d1"}]}')
    outcome = command("evaluate set.jsonl run.jsonl --k 2 --id-key .id --json -")
    assert (outcome.code, '"mrr@2": 0.5' in outcome.out) == (0, True)


def test_on_the_command_line_keys_are_separated_by_commas(command: Runner, tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_text('{"id": "q", "question": "w", "gold": [["a.pdf", 3]]}\n')
    row = {
        "query_id": "q",
        "retrieved": [{"text": "t", "metadata": {"file": "a.pdf", "page": page}} for page in (2, 3)],
    }
    (tmp_path / "run.jsonl").write_text(json.dumps(row) + "\n")
    files = (str(tmp_path / "set.jsonl"), str(tmp_path / "run.jsonl"))
    outcome = command("evaluate", *files, "--id-key", "file,page", "--metrics", "mrr", "--k", "2", "--json", "-")
    assert (outcome.code, json.loads(outcome.out)["runs"]["run"]["metrics"]["mrr@2"]) == (0, 0.5)
    outcome = command("fuse", *files[1:], *files[1:], "--id-key", "file,page", "--out", str(tmp_path / "fused.jsonl"))
    assert (
        outcome.code == 2 or len(json.loads((tmp_path / "fused.jsonl").read_text().split("\n")[-2])["retrieved"]) == 2
    )


def test_names_may_hold_their_cut_off(command: Runner) -> None:
    Path("set.jsonl").write_text('{"id": "q1", "gold": [{"id": "a"}]}\n', encoding="utf-8")
    Path("run.jsonl").write_text('{"query_id": "q1", "retrieved": [{"id": "b"}, {"id": "a"}]}\n', encoding="utf-8")
    shown = command("evaluate set.jsonl run.jsonl", "--metrics", "nDCG@20,MRR@2")
    assert (shown.code, "k:2,20" in shown.out) == (0, True), shown
    refused = command("evaluate set.jsonl run.jsonl", "--metrics", "ndcg@20", "-k", "1,3,5,10")
    assert (refused.code, "names its cut-off" in refused.err) == (2, True), refused


def test_the_run_keeps_the_metadata_that_it_is_told_to(command: Runner, tmp_path: Path) -> None:
    (tmp_path / "search.py").write_text(
        "def find(question):\n    return [{'id': 'x1', 'metadata': {'source': 'faq.md', 'author': 'Ann'}}]\n"
    )
    (tmp_path / "set.jsonl").write_text('{"id": "q1", "question": "When?", "gold_chunk_ids": ["x1"]}\n')
    line = "run set.jsonl --retriever search:find --k 1 --out"
    assert command(f"{line} ids.jsonl --metadata ids").code == 0
    assert command(f"{line} all.jsonl").code == 0
    written = [(tmp_path / name).read_text() for name in ("ids.jsonl", "all.jsonl")]
    assert ["faq.md" in text for text in written] == [True, True]
    assert ["Ann" in text for text in written] == [False, True]
    code, _, err = command(f"{line} no.jsonl --metadata some")
    assert (code, "--metadata" in err) == (2, True)


def test_diagnose_prints_what_filters_lost(command: Runner) -> None:
    dense = {"name": "dense", "retrieved": [{"id": one} for one in "abx"]}
    access = {"name": "access filter", "inputs": ["dense"], "retrieved": [{"id": "x"}, {"id": "b"}]}
    Path("set.jsonl").write_text('{"id": "q", "question": "?", "gold_chunk_ids": ["a", "b"]}')
    Path("run.jsonl").write_text(json.dumps({"query_id": "q", "stages": [dense, access]}))
    assert "filter_loss 0.5" in command("diagnose set.jsonl run.jsonl -k 2").out


@pytest.mark.parametrize("options", ["--metrics AP(rel=2)@2", "--metrics map -k 2 --relevance-level 2"])
def test_the_level_of_relevance_is_an_option_and_part_of_a_name(command: Runner, options: str) -> None:
    grades = {"1": {"a": 2, "b": 1}, "2": {"a": 1}}
    lines = [f"{query} 0 {name} {grade}\n" for query, row in grades.items() for name, grade in row.items()]
    Path("set.qrels").write_text("".join(lines))
    Path("run.txt").write_text("1 Q0 b 0 2 t\n1 Q0 a 0 1 t\n2 Q0 a 0 1 t\n")
    shown = command("evaluate set.qrels run.txt --json -", *options.split())
    assert (shown.code, '"map(rel=2)@2": 0.5' in shown.out) == (0, True), shown
