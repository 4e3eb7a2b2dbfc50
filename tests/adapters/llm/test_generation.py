"""Questions from chunks: what is made, what each carries, what is dropped and why."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.schema import NodeWithScore, TextNode

from krag_eval import KragEvalWarning
from krag_eval.datasets import EvalSet
from krag_eval_labels import validate
from tests.support.generation_cases import CHUNKS, Writer, generate, kind_of, passage_of

TEXTS = {chunk["id"]: chunk["text"] for chunk in CHUNKS}


def test_questions_are_split_evenly_over_the_types_and_spread_over_the_documents() -> None:
    made = generate(Writer(), n=10)
    assert Counter(question.type for question in made.evalset) == {
        "literal": 3, "paraphrase": 3, "scenario": 2, "negative": 2,
    }  # fmt: skip
    chunk_ids = [question.metadata["chunk_id"] for question in made.evalset]
    assert len(set(chunk_ids)) == 10
    # Nine documents: one of each before a second one of any.
    assert len({chunk_id.partition("-")[0] for chunk_id in chunk_ids}) == 9


def test_each_question_carries_its_answer_its_gold_its_evidence_and_where_it_comes_from() -> None:
    def said_otherwise(kind: str, answer: dict[str, str], prompt: str) -> dict[str, str]:
        return answer | {"evidence": "“" + answer.get("evidence", "").upper().replace(" ", "\n ") + "”"}

    made = generate(Writer(said_otherwise), types=["literal", "paraphrase", "scenario"], n=6)
    assert len(made.evalset) == 6
    for question in made.evalset:
        chunk_id = question.metadata["chunk_id"]
        (gold,) = question.gold
        assert (question.gold_chunk_ids, gold.id, gold.text) == ((chunk_id,), chunk_id, TEXTS[chunk_id])
        assert question.gold_doc_ids == (chunk_id.partition("-")[0],) == (gold.metadata["doc_id"],)
        start, end = question.metadata["evidence_start"], question.metadata["evidence_end"]
        assert TEXTS[chunk_id][start:end] == question.metadata["evidence"]
        # Verbatim from the chunk, whatever the model made of width, case and line ends.
        assert " answers letters about " in question.metadata["evidence"]
        assert question.answer is not None
        assert question.answer in question.metadata["evidence"]
        assert question.source == f"Writer, prompts {made.report.prompts}"
    assert validate(made.evalset, CHUNKS).counts == {}


def test_a_negative_question_has_no_gold_no_answer_and_no_evidence() -> None:
    made = generate(Writer(), types=["negative"], n=2)
    for question in made.evalset:
        assert question.is_negative
        assert (question.gold, question.gold_chunk_ids, question.gold_doc_ids, question.answer) == ((), (), (), None)
        assert "evidence" not in question.metadata
        assert question.to_dict()["gold"] == []


def test_the_same_seed_gives_the_same_questions_and_another_one_others() -> None:
    first, again, other = (generate(Writer(), seed=seed).evalset for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_questions_do_not_depend_on_how_many_are_asked_at_a_time() -> None:
    def spoil(kind: str, answer: dict[str, str], prompt: str) -> Any:
        return "no JSON" if "refunds" in prompt or ("earlier" not in prompt and "parcels" in prompt) else answer

    assert generate(Writer(spoil), n=16).evalset == generate(Writer(spoil), n=16, concurrency=5).evalset


def test_of_two_that_are_nearly_the_same_the_one_asked_for_first_is_kept_whichever_answer_comes_first() -> None:
    def alike(kind: str, answer: dict[str, str], prompt: str) -> dict[str, str]:
        if len(writer.prompts) == 1:
            time.sleep(0.05)
        return answer | {"question": "When does the nearest desk in this town answer me?"}

    kept, first = list[str | None](), ""
    for concurrency in (1, 3):
        writer = Writer(alike)
        with pytest.warns(KragEvalWarning, match="Only 1 of 3"):
            made = generate(writer, CHUNKS[:6], types=["literal"], n=3, concurrency=concurrency)
        kept.append(made.evalset[0].gold[0].text)
        first = passage_of(writer.prompts[0]) if concurrency == 1 else first
    assert kept == [first] * 2


def test_the_model_is_told_why_its_first_attempt_was_not_used() -> None:
    def spoil(kind: str, answer: dict[str, str], prompt: str) -> dict[str, str]:
        return answer if "earlier attempt" in prompt else answer | {"evidence": "{passage} {rules} nowhere"}

    writer = Writer(spoil)
    made = generate(writer, types=["literal"], n=1)
    assert len(writer.prompts) == 2
    assert "the evidence was not copied letter by letter" in writer.prompts[1]
    assert "{passage} {rules} nowhere" in writer.prompts[1]
    assert (made.report.types["literal"].asked, made.report.dropped) == (2, {"no_evidence": 1})


def test_what_could_not_be_made_is_said_and_what_was_made_is_there() -> None:
    with pytest.warns(
        KragEvalWarning, match=r"Only 4 of 30 questions could be made\. There are no further chunks"
    ) as said:
        made = generate(Writer(), CHUNKS[:1], n=30)
    assert said[0].filename == __file__.replace("adapters/llm/test_generation", "support/generation_cases")
    assert len(made) == len(made.evalset) == 4
    assert made.report.stopped is not None
    assert "Fewer than wanted: There are no further chunks" in str(made)


def test_chunks_that_nobody_should_be_asked_about_are_left_out_and_counted() -> None:
    chunks = [
        *CHUNKS[:4],
        {"id": "short", "text": "Chapter three"},
        {"id": "empty", "text": " "},
        {"id": "twin-1", "text": "The office is closed on Sundays and on holidays."},
        {"id": "twin-2", "text": "The OFFICE is closed on Sundays and  on holidays."},
        CHUNKS[0],
    ]
    report = generate(Writer(), chunks, n=2).report
    assert report.skipped_chunks == {
        "no text": 1, "the same chunk again": 1, "fewer than 4 words": 1, "text that other chunks have too": 2,
    }  # fmt: skip
    assert report.n_chunks == 9
    assert "not asked about: 1 no text, 1 the same chunk again, 1 fewer than 4 words, 2 text that" in str(report)


SHAPES: dict[str, Any] = {
    "rows": CHUNKS,
    "documents of LangChain": [
        LangChainDocument(page_content=c["text"], metadata={"id": c["id"], **c["metadata"]}) for c in CHUNKS
    ],
    "nodes of LlamaIndex": [TextNode(id_=c["id"], text=c["text"], metadata=c["metadata"]) for c in CHUNKS],
    "scored nodes": [
        NodeWithScore(node=TextNode(id_=c["id"], text=c["text"], metadata=c["metadata"]), score=1.0) for c in CHUNKS
    ],
    "a generator": (c for c in CHUNKS),
}


@pytest.mark.parametrize("chunks", SHAPES.values(), ids=SHAPES)
def test_chunks_of_every_framework_give_the_same_questions(chunks: Any) -> None:
    assert generate(Writer(), chunks).evalset == generate(Writer()).evalset


def test_chunks_without_ids_are_named_after_their_text_and_that_is_said() -> None:
    texts = [chunk["text"] for chunk in CHUNKS]
    made = generate(Writer(), texts)
    named = {question.gold_chunk_ids[0]: question.gold[0].text for question in made.evalset if question.gold}
    assert all(chunk_id.startswith("text-") for chunk_id in named)
    assert named.items() <= {q.gold_chunk_ids[0]: q.gold[0].text for q in everything_about(texts[::-1])}.items()
    assert made.report.n_named_chunks == 18
    assert "18 had no id and got one from their text" in str(made)


def everything_about(texts: list[str]) -> EvalSet:
    return generate(Writer(), texts, n=18, types=["literal"]).evalset


def test_the_report_says_how_many_words_questions_took_from_their_chunks_and_that_this_flatters() -> None:
    report = generate(Writer()).report
    literal, paraphrase = report.types["literal"].overlap, report.types["paraphrase"].overlap
    assert literal is not None
    assert paraphrase is not None
    assert literal > 0.7 > 0.4 > paraphrase > 0
    assert "Generated questions flatter retrievers" in str(report)
    assert "words from the chunk" in str(report)
    assert json.loads(json.dumps(report.to_dict()))["types"]["literal"]["overlap"] == literal


def test_progress_is_told_to_its_end() -> None:
    told: list[Any] = []
    generate(Writer(), progress=told.append)
    assert (told[-1].name, told[-1].done, told[-1].total, told[-1].is_over) == ("questions", 8, 8, True)


def test_the_kind_is_told_from_the_prompt_in_these_tests() -> None:
    writer = Writer()
    made = generate(writer)
    assert [question.type for question in made.evalset] == [kind_of(prompt) for prompt in writer.prompts]
