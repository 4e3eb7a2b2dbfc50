"""Chunks to ask about, and stand-ins for language models that write questions about them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from krag_eval_llm.question_generation import GeneratedEvalSet, generate_evalset

TOPICS = ("parcels", "refunds", "invoices", "passwords", "warranties", "vouchers", "exchanges", "reviews", "members")
NAMES = (
    *("Ada", "Bao", "Cem", "Dia", "Eun", "Fay", "Gil", "Hoa", "Ida"),
    *("Jae", "Kai", "Lea", "Min", "Noa", "Oli", "Pia", "Rui", "Sol"),
)
CHUNKS: list[dict[str, Any]] = [
    {
        "id": f"{TOPICS[place // 2]}-{place % 2 + 1}",
        "text": f"The desk for {TOPICS[place // 2]} is the place of {name}. {name} answers letters about "
        f"{TOPICS[place // 2]} within {place + 2} days. Customers write before noon, or they call the office in town.",
        "metadata": {"doc_id": TOPICS[place // 2]},
    }
    for place, name in enumerate(NAMES)
]
_ROLES = {
    "negative": "does not answer",
    "scenario": "Imagine a person",
    "paraphrase": "in words of your own",
    "literal": "Use the words of the passage",
}
# Short, for questions that differ in one word of seven are nearly the same.
_ASKED = {
    "literal": "Within what days {name} answers {topic}?",
    "paraphrase": "How soon will {name} handle {topic}?",
    "scenario": "My {topic} failed. Will {name} react?",
    "negative": "Where was {name} before these {topic}?",
}


def passage_of(prompt: str) -> str:
    found = re.search(r"-----BEGIN PASSAGE (\w+)-----\n(.*)\n-----END PASSAGE \1-----", prompt, re.DOTALL)
    assert found is not None
    return found[2]


def kind_of(prompt: str) -> str:
    return next(kind for kind, words in _ROLES.items() if words in prompt)


def answer_to(prompt: str) -> dict[str, str]:
    """What a good model would write about one of `CHUNKS`."""
    passage, kind = passage_of(prompt), kind_of(prompt)
    found = re.match(r"The desk for (\w+) is the place of (\w+)\.", passage)
    assert found is not None
    question = _ASKED[kind].format(topic=found[1], name=found[2])
    if kind == "negative":
        return {"question": question, "answer": "Miss Okonkwo of Lagos"}
    evidence = re.split(r"(?<=\.) ", passage)[1]
    return {"question": question, "answer": evidence.split("within ")[1].rstrip("."), "evidence": evidence}


class Writer:
    """A model that writes well, unless `spoil` says otherwise; it notes its prompts.

    `spoil(kind, answer, prompt)` returns another answer, a string to say instead, or raises.
    """

    def __init__(self, spoil: Callable[[str, dict[str, str], str], Any] = lambda kind, answer, prompt: answer) -> None:
        self.spoil = spoil
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        said = self.spoil(kind_of(prompt), answer_to(prompt), prompt)
        return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def moody(kind: str, answer: dict[str, str], prompt: str) -> Any:
    """Now and then bad JSON, a refusal, or evidence that is not there; always the same to the same prompt."""
    mood = sum(map(ord, prompt)) % 7
    said: dict[int, Any] = {0: "{bad", 1: "I'm sorry, I can't.", 2: answer | {"evidence": "nowhere", "answer": "noon"}}
    return said.get(mood, answer)


def generate(llm: Any, chunks: Sequence[object] = CHUNKS, **options: Any) -> GeneratedEvalSet:
    settings: dict[str, Any] = {"n": 8, "progress": False}
    return generate_evalset(chunks, llm, **settings | options)
