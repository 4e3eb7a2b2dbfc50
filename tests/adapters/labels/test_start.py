"""From a log without gold to a number: the folder, the choice of questions, the pool, the judge, other systems."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krag_eval import InvalidInputError, Run, RunRow, read_evalset
from krag_eval_chunkers.demo_data import load_collection
from krag_eval_chunkers.local import build_retriever
from krag_eval_labels import number_from_labels, start_from_log
from krag_eval_labels.start.design import Design, order_of_draw
from krag_eval_labels.start.values import METRICS, values_of
from tests.support import trace_cases
from tests.support.command_line import Runner

DOCUMENTS, QUESTIONS = load_collection()
GOLD = {q["question"]: {g["id"] for g in q["gold"]} for q in QUESTIONS}
K = 5


def search(way: str) -> Callable[[str], list[dict[str, Any]]]:
    return build_retriever(way, [{"id": d["id"], "text": d["text"]} for d in DOCUMENTS], K)


def bundled_rows(n: int = 300) -> list[dict[str, Any]]:
    """A log in which some of the bundled questions come again and again."""
    random, find = np.random.default_rng(3), search("bm25-characters")
    asked = [QUESTIONS[min(int(random.exponential(25)), len(QUESTIONS) - 1)]["question"] for _ in range(n)]
    return [
        {"question": one, "retrieved": [{"id": d["id"], "text": d["text"]} for d in find(one)], "answer": "So."}
        for one in asked
    ]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def label(folder: Path, n: int | None = None, gold: Mapping[str, set[str]] = GOLD) -> list[dict[str, Any]]:
    """Label the first rows of the queue as a person would who knows the gold."""
    queue = [json.loads(line) for line in (folder / "queue.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in queue[:n]:
        row["label"] = 2 * int(row["document"]["id"] in gold.get(row["question"], set()))
    write_rows(folder / "queue.jsonl", queue)
    return queue


def truth_of(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The mean values over all rows of a log; MRR, precision and hit rate, whose truth needs no pool."""
    values = []
    for row in rows:
        ids = [one["id"] for one in row["retrieved"]]
        values.append(values_of(ids, {one: 2.0 * (one in GOLD[row["question"]]) for one in ids}, ids, K))
    return dict(zip(METRICS, np.nanmean(values, axis=0).tolist(), strict=True))


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_from_a_log_to_a_number_in_four_commands(command: Runner) -> None:
    rows = bundled_rows()
    write_rows(Path("log.jsonl"), rows)
    assert command("start log.jsonl --out eval").code == 0
    first = files_of(Path("eval"))
    assert {"start.json", "questions.jsonl", "queue.jsonl", "README.md"} <= first.keys()
    again = command("start log.jsonl --out eval")
    assert (again.code, files_of(Path("eval"))) == (0, first)
    n_queued = len(label(Path("eval")))
    shown = command("start eval --json out.json")
    assert shown.code == 0
    told = json.loads(Path("out.json").read_text())
    assert (told["n_rows"], told["n_labels"]) == (300, n_queued)
    truth = truth_of(rows)
    for metric in ("precision", "dcg", "hit_rate", "mrr"):
        low, high = told["systems"]["log"][metric]["interval"]
        assert low < truth[metric] < high
    found = command(f"evaluate eval/set.jsonl eval/labelled/log.jsonl -k {K} --json scored.json")
    assert found.code == 0
    assert len(read_evalset("eval/set.jsonl")) == told["n_labelled"]


def test_all_labels_leave_nothing_open(tmp_path: Path) -> None:
    rows = bundled_rows(120)
    start_from_log(write_rows(tmp_path / "log.jsonl", rows), tmp_path / "eval", labels=10_000)
    label(tmp_path / "eval")
    result, truth = number_from_labels(tmp_path / "eval"), truth_of(rows)
    for metric in ("precision", "dcg", "hit_rate", "mrr"):
        found = result.systems["log"][metric]
        assert found.value == pytest.approx(truth[metric])
        assert found.interval == (found.value, found.value)
    assert result.reached
    assert result.n_labelled == result.n_questions
    assert result.gap is not None
    assert result.gap.interval[0] <= result.gap.share <= result.gap.interval[1] <= 1
    assert 0.5 < (result.gap.if_independent or 0) <= 1


def test_labels_stay_when_more_are_asked_for(tmp_path: Path) -> None:
    log = write_rows(tmp_path / "log.jsonl", bundled_rows())
    start_from_log(log, tmp_path / "eval", labels=40)
    before = label(tmp_path / "eval")
    start_from_log(log, tmp_path / "eval", labels=90)
    after = [json.loads(line) for line in (tmp_path / "eval" / "queue.jsonl").read_text().splitlines()]
    assert [row["label"] for row in after[: len(before)]] == [row["label"] for row in before]
    assert 80 < len(after) <= 90
    assert {row["label"] for row in after[len(before) :]} == {None}
    with pytest.raises(InvalidInputError, match=r"made with.*k"):
        start_from_log(log, tmp_path / "eval", k=3)
    other = write_rows(tmp_path / "other.jsonl", bundled_rows(50))
    with pytest.raises(InvalidInputError, match=r"other log|another log"):
        start_from_log(other, tmp_path / "eval")


def test_a_call_that_was_cut_short_is_made_whole(tmp_path: Path) -> None:
    log = write_rows(tmp_path / "log.jsonl", bundled_rows(60))
    start_from_log(log, tmp_path / "whole")
    start_from_log(log, tmp_path / "cut")
    for name in ("start.json", "queue.jsonl", "README.md"):
        (tmp_path / "cut" / name).unlink()
    start_from_log(log, tmp_path / "cut")
    whole, cut = (files_of(tmp_path / name) for name in ("whole", "cut"))
    assert whole.pop("README.md") != cut.pop("README.md")  # they name their folders
    assert cut == whole


def test_a_gap_in_the_labels_ends_what_counts(tmp_path: Path) -> None:
    start_from_log(write_rows(tmp_path / "log.jsonl", bundled_rows()), tmp_path / "eval", labels=120)
    queue = label(tmp_path / "eval")
    ids = list(dict.fromkeys(row["query_id"] for row in queue))
    for row in queue:
        row["label"] = None if row["query_id"] in ids[3:9] else row["label"]
    write_rows(tmp_path / "eval" / "queue.jsonl", queue)
    assert number_from_labels(tmp_path / "eval").n_labelled == 3
    for row in queue:
        row["label"] = None if row["query_id"] == ids[12] else 0
    write_rows(tmp_path / "eval" / "queue.jsonl", queue)
    result = number_from_labels(tmp_path / "eval")
    assert result.n_labelled == len(ids) - 1
    assert any("skipped" in note for note in result.notes)


def test_the_number_beside_the_queue_is_short(tmp_path: Path) -> None:
    start_from_log(write_rows(tmp_path / "log.jsonl", bundled_rows()), tmp_path / "eval")
    with pytest.raises(InvalidInputError, match="no label of people"):
        number_from_labels(tmp_path / "eval", write=False)
    label(tmp_path / "eval", 60)
    standing = number_from_labels(tmp_path / "eval", write=False).brief
    assert len(standing.text.splitlines()) <= 6
    whole = number_from_labels(tmp_path / "eval")
    assert standing.reached == whole.reached
    few = replace(whole, n_labelled=4, wanted=whole.width + 0.1)
    assert not few.reached
    for text in (str(few), few.brief.text):
        assert "reached by 4 questions alone: label 10" in text
    assert replace(few, n_labelled=10).reached


def test_before_a_question_is_labelled_in_full_there_is_no_value(command: Runner) -> None:
    write_rows(Path("log.jsonl"), [row_of(i) for i in range(30)])
    command("start log.jsonl")
    label(Path("eval"), 1)
    shown = command("start eval")
    assert (shown.code, "no question yet" in shown.out, Path("eval/set.jsonl").exists()) == (0, True, False)
    assert json.loads(command("start eval --json -").out)["width"] is None
    assert not number_from_labels("eval", write=False).brief.reached


def test_several_people_count_by_majority(tmp_path: Path) -> None:
    start_from_log(write_rows(tmp_path / "log.jsonl", bundled_rows()), tmp_path / "eval", labels=30)
    queue = label(tmp_path / "eval")
    (tmp_path / "eval" / "labels").mkdir()
    for who, grade in (("ann", 1), ("bo", 1)):
        write_rows(tmp_path / "eval" / "labels" / f"{who}.jsonl", [{**queue[0], "label": grade}])
    queue[0]["label"] = 0
    write_rows(tmp_path / "eval" / "queue.jsonl", queue)
    whole = number_from_labels(tmp_path / "eval")
    write_rows(tmp_path / "eval" / "labels" / "bo.jsonl", [{**queue[0], "label": 2}])
    write_rows(tmp_path / "eval" / "labels" / "cy.jsonl", [{**queue[0], "label": 0}])
    other = number_from_labels(tmp_path / "eval")
    assert whole.systems["log"]["precision"].value != other.systems["log"]["precision"].value


class Asked:
    """A judge that answers by the gold, and counts."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self.prompts: list[str] = []
        self._answer = answer

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self._answer(prompt)


def by_gold(prompt: str) -> str:
    question, passage = (
        json.loads(prompt.partition(f"{what}: ")[2].partition("\n")[0]) for what in ("Question", "Passage")
    )
    ids = {document["id"] for document in DOCUMENTS if document["text"] == passage}
    return json.dumps({"grade": 2 if ids & GOLD[question] else 0})


@pytest.mark.full
def test_a_judge_goes_on_where_it_stopped_and_narrows_the_interval(tmp_path: Path) -> None:
    log, folder = write_rows(tmp_path / "log.jsonl", bundled_rows()), tmp_path / "eval"
    alone = start_from_log(log, folder, labels=250)
    label(folder)
    before = number_from_labels(folder)
    judge = Asked(by_gold)
    start_from_log(log, folder, judge=judge, max_calls=30)
    assert len(judge.prompts) == 30
    start_from_log(log, folder, judge=judge)
    n_pairs = len((folder / "judge.jsonl").read_text().splitlines())
    assert len(judge.prompts) == n_pairs == len(set(judge.prompts))
    after = number_from_labels(folder)
    assert after.agreement is not None
    assert after.agreement.share == 1
    mrr = after.systems["log"]["mrr"]
    assert mrr.width < before.systems["log"]["mrr"].width
    assert mrr.savings > 1
    assert "queue.jsonl" in str(alone)


def test_a_judge_that_answers_nonsense_is_counted_and_never_a_score(tmp_path: Path) -> None:
    log, folder = write_rows(tmp_path / "log.jsonl", bundled_rows(40)), tmp_path / "eval"
    judge = Asked(lambda prompt: "Blue." if len(prompt.partition("Answer with")[0]) % 2 else '{"grade": 1}')
    started = start_from_log(log, folder, judge=judge, questions=4)
    assert "bad json" in str(started)
    n_said = len((folder / "judge.jsonl").read_text().splitlines())
    assert 0 < n_said < len(judge.prompts)
    with pytest.raises(
        InvalidInputError, match=rf"{n_said} of {n_said} documents relevant.*no score|no score.*{n_said} of"
    ):
        number_from_labels(folder)


def test_two_systems_and_a_third_that_reuses_their_labels(tmp_path: Path) -> None:
    rows = bundled_rows()
    log, folder = write_rows(tmp_path / "log.jsonl", rows), tmp_path / "eval"
    words = search("bm25")
    asked = sorted({row["question"] for row in rows})
    second = Run.of(
        "words",
        [
            RunRow.from_dict({"query_id": f"w{i}", "question": one, "retrieved": [{"id": d["id"]} for d in words(one)]})
            for i, one in enumerate(asked)
        ],
    )
    start_from_log(log, folder, retriever=second, labels=150)
    label(folder)
    result = number_from_labels(folder)
    truth = (
        truth_of([{**row, "retrieved": words(row["question"])} for row in rows])["precision"]
        - truth_of(rows)["precision"]
    )
    low, high = result.differences["words"]["precision"].interval or (1, 0)
    assert low <= truth <= high
    texts = {d["id"]: d["text"] for d in DOCUMENTS}
    queue = [json.loads(line) for line in (folder / "queue.jsonl").read_text().splitlines()]
    assert sum(row["document"].get("text") == texts[row["document"]["id"]] for row in queue) > 0.9 * len(queue)
    before = len(files_of(folder)["queue.jsonl"].splitlines())
    third = Run.of(
        "first-two",
        [RunRow(query_id=r.query_id, retrieved=r.retrieved[:2], further=r.further) for r in second.rows.values()],
    )
    told = str(start_from_log(log, folder, retriever=third))
    assert "first-two: needs 0 new labels" in told
    assert len(files_of(folder)["queue.jsonl"].splitlines()) == before
    assert number_from_labels(folder).differences.keys() == {"words", "first-two"}
    stranger = Run.of("other", [RunRow(query_id="nobody", retrieved=())])
    with pytest.raises(InvalidInputError, match="no row for a chosen question"):
        start_from_log(log, folder, retriever=stranger)


def row_of(number: int, **more: Any) -> dict[str, Any]:
    chunks = [f"Text {number % 7} of a chunk.", f"Text {number % 5} of another chunk."]
    return {"question": f"What about the matter {number}?", "contexts": chunks, "answer": "So it is.", **more}


def test_a_tiny_log_is_labelled_as_a_whole(tmp_path: Path) -> None:
    log = write_rows(tmp_path / "log.jsonl", [row_of(i) for i in range(3)])
    start_from_log(log, tmp_path / "eval")
    label(tmp_path / "eval", gold={})
    result = number_from_labels(tmp_path / "eval")
    assert (result.n_labelled, result.systems["log"]["precision"].interval) == (3, (0, 0))


def test_one_question_two_thousand_times_is_one_question(tmp_path: Path) -> None:
    log = write_rows(tmp_path / "log.jsonl", [row_of(1) for _ in range(2_000)])
    started = start_from_log(log, tmp_path / "eval")
    assert started.state["counts"]["questions"] == 1
    label(tmp_path / "eval", gold={})
    result = number_from_labels(tmp_path / "eval")
    assert (result.n_rows, result.n_labelled) == (2_000, 1)
    assert any("one question" in note for note in result.notes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "hashes of their texts"),
        ({"contexts": ["x" * 200, "y" * 200, "z" * 200]}, "cut at 200"),
        ({"question": ""}, "without the text of a question"),
    ],
)
def test_what_is_odd_about_a_log_is_said(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    rows = [row_of(i) for i in range(20)] + [row_of(i) | change for i in range(20, 40)]
    started = start_from_log(write_rows(tmp_path / "log.jsonl", rows), tmp_path / "eval")
    assert said in str(started)


def test_a_log_of_ids_alone_has_no_second_retriever(tmp_path: Path) -> None:
    rows = [{"question": f"What is {i}?", "retrieved_ids": [f"d{i}", f"d{i + 1}"], "answer": "So."} for i in range(30)]
    started = start_from_log(write_rows(tmp_path / "log.jsonl", rows), tmp_path / "eval")
    assert "no texts to search" in str(started)
    assert len((tmp_path / "eval" / "queue.jsonl").read_text().splitlines()) > 20


def test_a_corpus_gives_texts_to_a_log_of_ids(tmp_path: Path) -> None:
    rows = [{"question": f"What is {i}?", "retrieved_ids": [f"d{i}", f"d{i + 1}"], "answer": "So."} for i in range(30)]
    corpus = [{"id": f"d{i}", "text": f"It is the text {i}."} for i in range(31)]
    start_from_log(write_rows(tmp_path / "log.jsonl", rows), tmp_path / "eval", corpus=corpus)
    queue = [json.loads(line) for line in (tmp_path / "eval" / "queue.jsonl").read_text().splitlines()]
    assert all(row["document"]["text"].startswith("It is the text") for row in queue)


def test_five_languages_are_strata(tmp_path: Path) -> None:
    asked = ["How long may I keep it", "환불은 얼마나 걸리나요", "Сколько это стоит", "可以退货吗", "كم يستغرق الشحن"]
    rows = [row_of(i, question=f"{asked[i % 5]} {i}?") for i in range(200)]
    started = start_from_log(write_rows(tmp_path / "log.jsonl", rows), tmp_path / "eval")
    strata = started.state["counts"]["strata"]
    assert (len(strata), started.state["by"]) == (5, ["language"])
    assert {one["chosen"] for one in strata.values()} == {40}


def test_secrets_are_masked_on_request(tmp_path: Path) -> None:
    secret, mail = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD", "ann@example.com"
    row = row_of(1, question=f"Why does {secret} of {mail} fail?", contexts=[f"The key {secret}."], user=mail)
    log = write_rows(tmp_path / "log.jsonl", [row])
    start_from_log(log, tmp_path / "plain")
    start_from_log(log, tmp_path / "masked", mask=True)
    assert any(secret.encode() in one for one in files_of(tmp_path / "plain").values())
    for word in (secret, mail):
        assert not any(word.encode() in one for one in files_of(tmp_path / "masked").values())


def test_labels_of_unknown_documents_are_counted(tmp_path: Path) -> None:
    start_from_log(write_rows(tmp_path / "log.jsonl", bundled_rows()), tmp_path / "eval", labels=30)
    queue = label(tmp_path / "eval")
    write_rows(tmp_path / "eval" / "queue.jsonl", [*queue, {**queue[0], "document": {"id": "nobody"}, "label": 1}])
    assert any("1 label of documents that are in no pool" in one for one in number_from_labels(tmp_path / "eval").notes)


def trace_rows(kind: str) -> list[dict[str, Any]]:
    """Two traces with a question and a retrieval, as Langfuse or LangSmith exports them."""
    rows: list[dict[str, Any]] = []
    for i in range(2):
        found = [{"page_content": f"Text {i} {j}.", "metadata": {"n": j}, "id": f"d{i}{j}"} for j in range(3)]
        at = f"2026-01-01T00:00:0{i}+00:00"
        if kind == "langfuse":
            own = {"traceId": f"t{i}", "startTime": at}
            rows.append({**own, "id": f"a{i}", "type": "SPAN", "name": "rag", "input": f"What is {i}?"})
            rows.append(
                {
                    **own,
                    "id": f"r{i}",
                    "parentObservationId": f"a{i}",
                    "type": "RETRIEVER",
                    "input": "q",
                    "output": found,
                }
            )
        else:
            own = {"trace_id": f"t{i}", "start_time": at}
            rows.append({**own, "id": f"t{i}", "run_type": "chain", "inputs": {"question": f"What is {i}?"}})
            rows.append(
                {
                    **own,
                    "id": f"r{i}",
                    "parent_run_id": f"t{i}",
                    "run_type": "retriever",
                    "inputs": {"query": "q"},
                    "outputs": {"documents": found},
                }
            )
    return rows


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_traces_of_opentelemetry_are_logs(tmp_path: Path, ending: str) -> None:
    spans = [trace_cases.retriever(n, None, "lamp", query=f"What is {n}?", trace=f"{n:032x}") for n in (1, 2, 3)]
    path = trace_cases.write(tmp_path / f"traces.{ending}", trace_cases.request(*spans))
    started = start_from_log(path, tmp_path / "eval")
    assert (started.state["log"]["kind"], started.state["counts"]["rows"]) == ("traces (OTLP)", 3)


@pytest.mark.parametrize("kind", ["langfuse", "langsmith"])
def test_exported_traces_are_logs(tmp_path: Path, kind: str) -> None:
    started = start_from_log(write_rows(tmp_path / "log.jsonl", trace_rows(kind)), tmp_path / "eval")
    assert started.state["log"]["kind"].lower() == f"traces ({kind})"
    asked = [json.loads(line)["question"] for line in (tmp_path / "eval" / "questions.jsonl").read_text().splitlines()]
    assert sorted(asked) == ["What is 0?", "What is 1?"]
    found = json.loads((tmp_path / "eval" / "runs" / "log.jsonl").read_text().splitlines()[0])
    assert len(found["retrieved"]) == 3


def test_complaints_make_a_stratum_and_no_gold(tmp_path: Path) -> None:
    rows = [row_of(i, thumbs="down" if i % 4 == 0 else "up") for i in range(100)]
    started = start_from_log(write_rows(tmp_path / "log.jsonl", rows), tmp_path / "eval")
    assert started.state["by"] == ["feedback"]
    assert not read_evalset(tmp_path / "eval" / "questions.jsonl").gold()[0]


def test_a_question_in_an_unknown_column_is_read_when_it_is_named(command: Runner) -> None:
    rows = [{"id": i, "wonder": f"About {i}", "retrieved": [{"id": f"d{i}"}]} for i in range(4)]
    write_rows(Path("log.jsonl"), rows)
    refused = command("start log.jsonl")
    assert refused.code == 2
    assert "`columns`" in refused.err
    assert command("start log.jsonl --columns question=wonder").code == 0
    assert "About 1" in Path("eval/questions.jsonl").read_text()


def test_the_readme_of_a_folder_has_commands_that_run(command: Runner) -> None:
    write_rows(Path("log.jsonl"), bundled_rows(60))
    assert command("start log.jsonl --out eval").code == 0
    label(Path("eval"))
    other = search("bm25")
    write_rows(
        Path("RUN.jsonl"),
        [{"query_id": q, "question": q, "retrieved": [{"id": d["id"]} for d in other(q)]} for q in GOLD],
    )
    lines = re.findall("`krag-eval (.*?)`", Path("eval/README.md").read_text())
    assert len(lines) == 6
    for line in lines:
        if not line.endswith("start") and not line.startswith("label"):
            assert command(line).code == 0, line


def test_a_stratum_is_named_where_it_surely_differs(tmp_path: Path) -> None:
    rows = [row_of(i, plan="paid" if i % 2 else "free") for i in range(80)]
    start_from_log(write_rows(tmp_path / "log.jsonl", rows), tmp_path / "eval", labels=200)
    queue = [json.loads(line) for line in (tmp_path / "eval" / "queue.jsonl").read_text().splitlines()]
    for row in queue:
        row["label"] = int(row["question"].rstrip("?").split()[-1]) % 2  # what people with a plan find is relevant
    write_rows(tmp_path / "eval" / "queue.jsonl", queue)
    result = number_from_labels(tmp_path / "eval")
    assert set(result.decided) == {"free", "paid"}
    assert result.strata["paid"]["precision"].value == 1
    for row in queue:
        row["label"] = len(row["document"]["text"]) % 2
    write_rows(tmp_path / "eval" / "queue.jsonl", queue)
    assert number_from_labels(tmp_path / "eval").decided == ()


@pytest.mark.parametrize("line", ["evaluate log.jsonl", "report log.jsonl", "doctor log.jsonl", "inspect log.jsonl"])
def test_a_log_leads_to_start_and_nothing_else(command: Runner, line: str) -> None:
    write_rows(Path("log.jsonl"), [row_of(i) for i in range(5)])
    code, out, err = command(line)
    assert code == (0 if "inspect" in line else 2)
    assert "krag-eval start log.jsonl" in out + err
    for other in ("read_run", "EVALSET", "gold=", "krag-eval evaluate"):
        assert other not in out + err


@pytest.mark.parametrize("is_difference", [False, True])
def test_intervals_hold_the_mean_of_the_log(is_difference: bool) -> None:
    random = np.random.default_rng(1)
    weight, stratum = random.geometric(0.4, 200).astype(np.float64), random.integers(0, 4, 200)
    values = random.binomial(5, 0.2 + 0.15 * stratum) / 5 - (0.3 if is_difference else 0)
    design, truth = Design(weight, stratum), float(np.average(values, weights=weight))
    held = 0
    for seed in range(300):
        first = order_of_draw(weight, stratum, seed)[:25]
        low, high = design.mean(first, values[first], is_difference=is_difference).interval or (1, 0)
        held += low <= truth <= high
    assert 0.92 <= held / 300 <= 0.99


def test_a_judge_that_is_wrong_throughout_costs_nothing_and_a_good_one_saves() -> None:
    random = np.random.default_rng(2)
    weight, stratum, every = np.ones(300), np.zeros(300, dtype=np.int64), np.arange(300)
    values = random.beta(1, 2, 300)
    design, truth = Design(weight, stratum), float(values.mean())
    errors: dict[str, list[float]] = {"none": [], "against": [], "good": []}
    judges = {
        "against": 1 - values * 0.5 - random.beta(1, 2, 300) * 0.5,
        "good": values * 0.9 + random.random(300) * 0.1,
    }
    for seed in range(200):
        first = order_of_draw(weight, stratum, seed)[:40]
        errors["none"].append((design.mean(first, values[first]).value or 0) - truth)
        for name, said in judges.items():
            errors[name].append((design.mean(first, values[first], every, said).value or 0) - truth)
    square = {name: float(np.mean(np.square(one))) for name, one in errors.items()}
    assert square["against"] < 1.1 * square["none"]
    assert square["good"] < square["none"] / 3
