"""Files as teams keep them, in their own words and languages, each with what it certainly means; and what is uncertain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, inspect_file, read_evalset, read_run
from tests.support.command_line import Runner

# ruff: noqa: E501
GOLD: dict[str, tuple[str, list[list[str]]]] = {
    "ko.csv": ("번호,질문,정답_문서,모범답변\n1,배송은?,faq-12;faq-13,이틀\n2,환불은?,faq-20,앱에서\n", [["faq-12", "faq-13"], ["faq-20"]]),
    "de.yaml": ("fragen:\n- frage: Wann?\n  erwartete_dokumente: [versand.md, agb.md]\n  musterantwort: Morgen.\n", [["versand.md", "agb.md"]]),
    "es.csv": ("pregunta;documentos_esperados;respuesta\n¿Cuándo?;envio.pdf;Mañana\n¿Cómo?;a.pdf|b.pdf;Así\n", [["envio.pdf"], ["a.pdf", "b.pdf"]]),
    "zh.json": (json.dumps({"数据": [{"问题": "什么时候？", "相关文档": ["d1", "d2"], "答案": "两天"}]}), [["d1", "d2"]]),
    "ja.jsonl": (json.dumps({"質問": "配送は？", "正解ドキュメントID": ["d1"], "正解": "二日"}), [["d1"]]),
    "ru.jsonl": (json.dumps({"вопрос": "Когда?", "ожидаемые_документы": ["a.md"], "ответ": "Завтра"}), [["a.md"]]),
    "pairs.json": (json.dumps([["When does it ship?", "doc-1"], ["Who is it?", "doc-2"]]), [["doc-1"], ["doc-2"]]),
    "map.json": (json.dumps({"When does it ship?": "doc-1", "Who?": "doc-2"}), [["doc-1"], ["doc-2"]]),
    "columns.json": (json.dumps({"question": ["When?", "Who?"], "relevant_docs": [["a"], ["b", "c"]]}), [["a"], ["b", "c"]]),
    "tests.yml": ("tests:\n- ask: When do you ship?\n  must_retrieve: [s1]\n  must_not_retrieve: [s0]\n", [["s1"]]),
}  # fmt: skip


@pytest.mark.parametrize("name", GOLD)
def test_what_is_certain_is_read_at_once(name: str, tmp_path: Path) -> None:
    text, gold = GOLD[name]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert inspect_file(path).kind == "evalset"
    found = [[*question.gold_chunk_ids, *question.gold_doc_ids] for question in read_evalset(path)]
    assert found == gold


@pytest.mark.parametrize(
    "document",
    [
        {"When does it ship?": ["d1", "d4"], "Who is it?": ["d2"]},
        {"When does it ship?": ["d1", "d4"], "Who is it?": ["d2", "d3"]},  # no table by column
        [["When does it ship?", ["d1", "d4"]], ["Who is it?", ["d2"]]],
    ],
)
def test_questions_with_lists_may_be_a_set_or_a_run_and_both_are_shown(document: Any, tmp_path: Path) -> None:
    path = tmp_path / "lists.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidInputError, match="several ways") as refused:
        read_evalset(path)
    assert "columns={'gold_doc_ids': 'documents'}" in str(refused.value)
    assert "columns={'retrieved_ids': 'documents'}" in str(refused.value)
    read = read_evalset(path, columns={"gold_doc_ids": "documents"})
    assert (read[0].question, read[0].gold_doc_ids) == ("When does it ship?", ("d1", "d4"))


@pytest.mark.parametrize(
    "document", [[["a", "b"], ["c"]], [["When?", {"x": 1}]], [[1, 2]], {"when": ["a"], "who": ["b"]}]
)
def test_other_lists_are_no_pairs_of_questions_and_ids(document: Any, tmp_path: Path) -> None:
    path = tmp_path / "lists.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidInputError):
        read_evalset(path)


def test_hits_of_elasticsearch_keep_their_ids_beside_their_texts(tmp_path: Path) -> None:
    hits = [{"_id": f"d{n}", "_score": 1 / n, "_source": {"text": f"text {n}"}} for n in (1, 2)]
    path = tmp_path / "hits.jsonl"
    path.write_text(json.dumps({"query": "When?", "hits": hits}))
    (row,) = read_run(path).rows.values()
    assert [(one.id, one.text) for one in row.retrieved] == [("d1", "text 1"), ("d2", "text 2")]


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
