"""Judges that the tests of the judged context metrics share."""

from __future__ import annotations

import json
import re

from krag_eval_llm import LanguageModel, as_language_model

USEFUL, USELESS = '{"reason": "It says so.", "useful": true}', '{"reason": "Another matter.", "useful": false}'
TWO = '{"statements": ["Refunds take three days.", "They are free."]}'
ONE_OF_TWO = json.dumps(
    {
        "verdicts": [
            {"number": 2, "reason": "Not said.", "attributed": False},
            {"number": 1, "reason": "Rank 1.", "attributed": True},
        ]
    }
)
GOLD, ASKED = {"q": "three days, free"}, {"q": "How long does a refund take?"}


def patient(llm: object) -> LanguageModel:
    return as_language_model(llm, retries=1, sleep=lambda seconds: None)


def honest(prompt: str) -> str:
    """Decides by words: a chunk is useful if it says "three"; a statement can be attributed if a passage holds it."""
    if "Was the passage useful" in prompt:
        passage = re.findall(r"BEGIN PASSAGE \w+-----\n(.*?)\n-----END", prompt, re.DOTALL)[0]
        return json.dumps({"reason": "by words", "useful": "three" in passage})
    if "take an answer apart" in prompt:
        reference = re.findall(r"BEGIN REFERENCE \w+-----\n(.*?)\n-----END", prompt, re.DOTALL)[0]
        return json.dumps({"statements": [part.strip() for part in reference.split(",")]})
    statements = re.findall(r"^\d+\. (.*)$", prompt, re.MULTILINE)
    passages = " ".join(re.findall(r"BEGIN PASSAGE \w+-----\n(.*?)\n-----END", prompt, re.DOTALL))
    verdicts = [
        {"number": number, "reason": "by words", "attributed": text in passages}
        for number, text in enumerate(statements, 1)
    ]
    return json.dumps({"verdicts": verdicts})
