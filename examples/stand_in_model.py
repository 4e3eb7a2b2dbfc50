"""NOT A LANGUAGE MODEL: a deterministic stand-in, so that the whole way can be shown without a key and a network.

It is a function from a prompt to a string, as `krag-eval bench --llm` takes it. It cuts sentences out of the passage
that the prompt holds and puts words of it into fixed phrases; it understands nothing. What a bench reports with it
shows that every stage works, and says nothing about questions or answers of a real model. To use one, name it in its
place, for example with a file `models.py` that holds

    from langchain_openai import ChatOpenAI; model = ChatOpenAI(model="gpt-5-mini")

and `--llm models:model`.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

_BLOCK = re.compile(
    r"-----BEGIN (?P<label>[A-Z]+) (?P<mark>\w+)-----\n(?P<text>.*?)\n-----END (?P=label) (?P=mark)-----", re.S
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")

# For each language: a literal question, a paraphrase, a scenario, and one that no shop's note answers.
_PHRASES = {
    "ko": (
        "'{0}'에 대해 안내된 내용은 무엇인가요?",
        "{1}하고 {0} 쪽은 어떻게 처리되는지 알려 주실 수 있나요?",
        "지난주에 주문한 사람인데 좀 난처한 일이 생겼습니다. {1} 문제와 {0} 때문인데 어떻게 하면 되나요?",
        "{0} 담당자가 매년 여름에 며칠 동안 휴가를 가나요?",
    ),
    "ru": (
        "Что сказано о том, что «{0}»?",
        "Как у вас обстоят дела с такими вещами, как {1} и {0}?",
        "На прошлой неделе я сделал заказ, и возникла трудность. Дело касается слов {1} и {0}, что мне теперь делать?",
        "Сколько дней летом отдыхает сотрудник, который отвечает за {0}?",
    ),
    "zh": (
        "关于“{0}”是怎么规定的？",
        "想了解一下{1}以及{0}方面通常怎么办？",
        "我上周下了单，现在碰到一点麻烦，跟{1}还有{0}有关系，我应该怎么做？",
        "负责{0}的同事每年夏天休几天假？",
    ),
    "en": (
        'What is said about "{0}"?',
        "How do you usually go about {1} and also {0}?",
        "I ordered something last week and now I am in a fix. It has to do with {1} and {0}, so what should I do?",
        "How many days of holiday does the person in charge of {0} take each summer?",
    ),
}


def stand_in(prompt: str) -> str:
    """Answer a prompt of `krag_eval`: questions, answers and verdicts, always the same for the same prompt."""
    blocks = {found["label"]: found["text"] for found in _BLOCK.finditer(prompt)}
    passages = [found["text"] for found in _BLOCK.finditer(prompt) if found["label"] == "PASSAGE"]
    answers: dict[str, Callable[[], str]] = {
        "You write questions": lambda: _question(prompt, blocks["PASSAGE"]),
        "You answer questions": lambda: _answer(blocks["QUESTION"], passages),
        "You take an answer apart": lambda: json.dumps({"statements": _sentences(blocks["REFERENCE"])}),
        "Was the passage useful": lambda: _useful(blocks["REFERENCE"], blocks["PASSAGE"]),
        "can be attributed": lambda: _attributed(blocks["STATEMENTS"], passages),
    }
    for phrase, answer in answers.items():
        if phrase in prompt:
            return answer()
    raise ValueError("The stand-in knows the prompts of krag_eval, and this is none. Name a real model for others.")


def _question(prompt: str, passage: str) -> str:
    place = (
        1
        if "in words of your own" in prompt
        else 2
        if "in a situation" in prompt
        else 3
        if "does not answer" in prompt
        else 0
    )
    sentences = _sentences(passage)
    # Another attempt at the same passage is about another sentence.
    evidence = sentences[prompt.count("An earlier attempt was not used") % len(sentences)]
    words = sorted(set(_words(evidence)), key=lambda word: (-len(word), word)) or [evidence]
    start = " ".join(evidence.split()[:5]) if " " in evidence.strip() else evidence[:10]
    names = (start, words[0]) if place == 0 else (words[0], words[min(1, len(words) - 1)])
    question = _PHRASES[_language(passage)][place].format(*names)
    made = {"question": question, "answer": evidence}
    if place == 3:
        made["answer"] = f"{random.Random(question).randint(101, 364)}"
    else:
        made["evidence"] = evidence
    return json.dumps(made, ensure_ascii=False)


def _answer(question: str, passages: list[str]) -> str:
    sentences = [sentence for passage in passages[:3] for sentence in _sentences(passage)]
    best = max(sentences, key=lambda sentence: _shared(question, sentence), default="")
    return best if _shared(question, best) >= 0.2 else "I don't know"


def _useful(reference: str, passage: str) -> str:
    share = _shared(reference, passage)
    reason = f"A stand-in counted: the passage has {share:.0%} of the answer's words."
    return json.dumps({"reason": reason, "useful": share >= 0.8})


def _attributed(statements: str, passages: list[str]) -> str:
    verdicts = []
    for line in statements.splitlines():
        number, _, statement = line.partition(". ")
        share = max((_shared(statement, passage) for passage in passages), default=0.0)
        reason = f"A stand-in counted: {share:.0%} of its words stand in one passage."
        verdicts.append({"number": int(number), "reason": reason, "attributed": share >= 0.8})
    return json.dumps({"verdicts": verdicts})


def _shared(text: str, other: str) -> float:
    """The share of the words of a text that another one has; of pairs of characters where there are no spaces."""
    words, others = (set(_words(one)) for one in (text, other))
    return len(words & others) / len(words) if words else 0.0


def _words(text: str) -> list[str]:
    if _language(text) == "zh":
        runs = re.findall(r"\w+", text)
        return [run[i : i + 4] for run in runs for i in range(0, max(len(run) - 3, 1), 2)]
    return [word for word in re.findall(r"\w+", text.lower()) if len(word) > 1]


def _sentences(text: str) -> list[str]:
    return [part for part in _SENTENCE_END.split(text.strip()) if part and part.strip()] or [text]


def _language(text: str) -> str:
    counts = {
        "ko": len(re.findall(r"[가-힣]", text)),
        "ru": len(re.findall(r"[а-яё]", text.lower())),
        "zh": len(re.findall(r"[一-鿿]", text)),
        "en": len(re.findall(r"[a-z]", text.lower())),
    }
    return max(counts, key=lambda language: counts[language])
