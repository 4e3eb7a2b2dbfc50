"""A small corpus, a retriever over it and programs that answer, for the tests of the bench."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from krag_eval import Document

CORPUS = [
    {"id": f"c{n}", "text": f"The {colour} lamp number {n} costs {10 * n} euros. It is sold in the {town} shop."}
    for n, (colour, town) in enumerate(
        [("red", "Bonn"), ("green", "Jena"), ("blue", "Ulm"), ("white", "Kiel"), ("black", "Bern"), ("pink", "Graz")], 1
    )
]


def retrieve(question: str) -> list[dict[str, Any]]:
    """The chunks with most of the question's words, best first."""
    words = set(question.lower().replace("?", "").split())
    return sorted(CORPUS, key=lambda chunk: -len(words & set(chunk["text"].lower().split())))


def writer(calls: list[str]) -> Callable[[str], str]:
    """NOT A LANGUAGE MODEL: writes one question about each passage, and answers the other prompts of a bench."""

    def ask(prompt: str) -> str:
        calls.append(prompt)
        shown = [chunk for chunk in CORPUS if chunk["text"] in prompt]
        passage = min(shown, key=lambda chunk: prompt.index(chunk["text"]), default=CORPUS[0])
        colour, price = passage["text"].split()[1], passage["text"].split()[6]
        if "You write questions" in prompt:
            if "does not answer" in prompt:
                return json.dumps({"question": f"Who invented the {colour} one long ago?", "answer": "Ada Berg"})
            question = {
                True: f"What must one pay when the {colour} one is wanted?",
                False: f"How much does the {colour} lamp cost?",
            }["in words of your own" in prompt]
            if "in a situation" in prompt:
                question = f"My {colour} light broke and I need another. What should I bring along to buy it?"
            evidence = passage["text"].split(". ")[0] + "."
            return json.dumps({"question": question, "answer": f"{price} euros", "evidence": evidence})
        if "take an answer apart" in prompt:
            return json.dumps({"statements": ["It has a price."]})
        if "Was the passage useful" in prompt:
            return json.dumps({"reason": "it is the first", "useful": "number 1 " in prompt})
        if "can be attributed" in prompt:
            return json.dumps({"verdicts": [{"number": 1, "reason": "it says so", "attributed": True}]})
        return f"{price} euros"

    return ask


def answer(question: str, documents: Sequence[Document]) -> str:
    """The price in the best document."""
    return f"{(documents[0].text or '').split()[6]} euros"


_QUESTIONS = [
    {"id": "l1", "question": "How much does the red lamp cost?", "answer": "10 euros", "type": "literal"},
    {"id": "p1", "question": "What is the price of the green one?", "answer": "20 euros", "type": "paraphrase"},
    {"id": "s1", "question": "My blue lamp broke. What is a new one?", "answer": "30 euros", "type": "scenario"},
    {"id": "n1", "question": "Who invented lamps?", "type": "negative"},
]
_GOLD: dict[str, list[str]] = {"l1": ["c1"], "p1": ["c2"], "s1": ["c3"], "n1": []}
EVALSET: list[dict[str, Any]] = [{**row, "gold_chunk_ids": _GOLD[row["id"]], "gold": []} for row in _QUESTIONS]
