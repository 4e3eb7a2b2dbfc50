"""Fills the places of the questions, round by round: what is not kept is asked again, then asked of another chunk.

A round asks everything that is open, and only then decides, in the order of the places. So the questions depend on
the answers alone, and not on how many are asked at a time, nor on when a run was stopped and gone on with.

Asks a language model, unless the journal has its answer, and writes every answer down.

May a question that a model wrote be kept? If not, why not.

The prompts for questions: which there are, and what each has to hold.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from krag_eval._utils.errors import InvalidInputError, did_you_mean
from krag_eval._utils.journal.keyed import KeyedJournal
from krag_eval._utils.threads import as_they_come
from krag_eval.documents.text import normalize
from krag_eval.llm.calling import NoAnswerError
from krag_eval.llm.model import LanguageModel
from krag_eval.llm.prompts import bundled_prompts, delimited, fill, own_prompts, placeholders, version_of
from krag_eval.llm.question_generation.evidence import (
    Chunk,
    Span,
    WordSearch,
    find_evidence,
    holds_words,
    is_in,
    is_question,
    language_for,
    overlap,
    quotes_chunk,
    words_of,
)
from krag_eval.matching.near_duplicates import group_near_duplicates

# What is shown to the model of its earlier attempt, in characters.
_LONGEST_EARLIER = 1000


@dataclass(slots=True)
class _Place:
    """A question that is to be made."""

    kind: str
    chunk: Chunk | None = None
    attempt: int = 0
    reason: str = ""
    earlier: str = ""
    kept: Candidate | None = None


class Maker:
    """Makes questions.

    Args:
        kinds: The type of each question that is wanted.
        chunks: What to ask about, in order.
        prompts: The prompts.
        language: The language that was asked for.
        attempts: How often one chunk is asked about for one question.
        most_prompts: After how many prompts no further round begins.
        tell: Called with the number of questions kept and of failures so far.

    Attributes:
        asked: Prompts by type.
        dropped: Answers that were not used, by type and reason.
        is_over_budget: Whether `most_prompts` was reached.
    """

    def __init__(
        self,
        kinds: Sequence[str],
        chunks: Sequence[Chunk],
        prompts: Prompts,
        *,
        language: str,
        attempts: int,
        most_prompts: int,
        tell: Callable[..., None],
    ) -> None:
        self._places = [_Place(kind) for kind in kinds]
        self._chunks, self._prompts, self._language = chunks, prompts, language
        self._attempts, self._most_prompts, self._tell = attempts, most_prompts, tell
        self._cursor = 0
        self._tried: dict[str, set[int]] = defaultdict(set)
        self.asked: Counter[str] = Counter()
        self.dropped: dict[str, Counter[str]] = defaultdict(Counter)
        self.is_over_budget = False

    def make(self, asker: Asker, keeper: Keeper) -> list[Candidate]:
        """The questions, in the order of their places; fewer than wanted where there is no way to make more."""
        while requests := self._requests():
            rows: dict[int, Mapping[str, Any]] = {}
            for request, row in asker.ask_all(requests):
                rows[request.slot] = row
                self._tell(self._n_kept() + sum("reason" not in one for one in rows.values()), self._n_failed())
            for slot in sorted(rows):
                self._decide(self._places[slot], rows[slot], keeper)
            self._tell(self._n_kept(), self._n_failed())
            if asker.is_out_of_reach:
                break
        asker.finish()
        self._tell(self._n_kept(), self._n_failed(), is_over=True)
        return [place.kept for place in self._places if place.kept is not None]

    def _requests(self) -> list[Request]:
        requests: list[Request] = []
        for slot, place in enumerate(self._places):
            if place.kept is not None:
                continue
            if self.asked.total() + len(requests) >= self._most_prompts:
                self.is_over_budget = True
                break
            if place.chunk is None or place.attempt >= self._attempts or place.reason in FINAL:
                place.chunk, place.attempt, place.reason = self._next_chunk(place.kind), 0, ""
                if place.chunk is None:
                    continue
            place.attempt += 1
            requests.append(self._request(slot, place, place.chunk))
        return requests

    def _next_chunk(self, kind: str) -> Chunk | None:
        """The next chunk in turn that was not asked for a question of this type."""
        tried = self._tried[kind]
        for step in range(len(self._chunks)):
            number = (self._cursor + step) % len(self._chunks)
            if number not in tried:
                tried.add(number)
                self._cursor = number + 1
                return self._chunks[number]
        return None

    def _request(self, slot: int, place: _Place, chunk: Chunk) -> Request:
        language, _ = language_for(self._language, chunk.text)
        prompt = self._prompts.first(place.kind, chunk.text, language)
        if place.reason:
            prompt = self._prompts.again(prompt, REASONS[place.reason][1], place.earlier, language)
        key = f"{place.kind}:{place.attempt}:{chunk.id}"
        return Request(slot, key, place.kind, chunk.id, place.attempt, prompt)

    def _decide(self, place: _Place, row: Mapping[str, Any], keeper: Keeper) -> None:
        chunk, answer = place.chunk, row["answer"]
        if chunk is None:  # a place that was asked for has one
            return
        self.asked[place.kind] += 1
        if answer is None:
            verdict: Candidate | str = str(row["reason"])
        else:
            verdict = keeper.judge(place.kind, chunk, answer, language_for(self._language, chunk.text)[1])
        if isinstance(verdict, Candidate):
            place.kept = verdict
            keeper.keep(verdict)
            return
        place.reason = verdict
        place.earlier = (str(row.get("text") or "") if answer is None else json.dumps(answer, ensure_ascii=False))[
            :_LONGEST_EARLIER
        ]
        self.dropped[place.kind][verdict] += 1

    def _n_kept(self) -> int:
        return sum(place.kept is not None for place in self._places)

    def _n_failed(self) -> int:
        return sum(counts.total() for counts in self.dropped.values())


# So many prompts in a row without a word from the model: it is out of reach, and asking on would use up the chunks.
MOST_UNANSWERED = 5

_TEXT = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "question_with_evidence",
    "description": "A question about a passage, its answer, and the sentences that give it.",
    "properties": {"question": _TEXT, "answer": _TEXT, "evidence": _TEXT},
    "required": ["question", "answer", "evidence"],
}
NEGATIVE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "question_without_answer",
    "description": "A question that a passage does not answer, and what its answer would say.",
    "properties": {"question": _TEXT, "answer": _TEXT},
    "required": ["question"],
}


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt to be answered.

    Attributes:
        slot: The number of the question that it is for.
        key: Names its row in the journal: type, attempt and chunk.
        kind: The type of question.
        chunk_id: The chunk.
        attempt: The number of the attempt with this chunk, from 1.
        prompt: The text.
    """

    slot: int
    key: str
    kind: str
    chunk_id: str
    attempt: int
    prompt: str


class Asker:
    """Asks a language model, some prompts at a time.

    Args:
        model: The model.
        journal: Where answers are looked up and written down.
        concurrency: How many prompts are asked at a time.

    Attributes:
        is_out_of_reach: Whether the model was given up, because it did not answer several prompts in a row.
        last_error: What it said last instead of an answer, or None.
    """

    def __init__(self, model: LanguageModel, journal: KeyedJournal, concurrency: int) -> None:
        self._model, self._journal, self._concurrency = model, journal, concurrency
        self._unanswered: list[tuple[str, dict[str, Any]]] = []
        self.is_out_of_reach = False
        self.last_error: str | None = None

    def ask_all(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Mapping[str, Any]]]:
        """Each request with its row, as they come; fewer where the model is out of reach.

        A row has `"answer"`, an object, or `"reason"`, a key of `keeping.REASONS`.

        Raises:
            ModelSetupError: No prompt will be answered.
            InvalidInputError: A row cannot be written down.
        """
        new = []
        for request in requests:
            row = self._journal.get(request.key)
            if row is None:
                new.append(request)
            else:
                yield request, row
        # One by one nothing needs a thread, and Ctrl-C reaches the model itself.
        asked = (
            ((request, self._answer(request)) for request in new)
            if self._concurrency == 1
            else as_they_come(self._answer, new, self._concurrency, "krag-eval-generate")
        )
        with closing(asked):
            for request, row in asked:
                yield request, self._record(request, row)
                if self.is_out_of_reach:
                    return

    def finish(self) -> None:
        """Write down what is held back, unless the model is out of reach: then it will be asked again."""
        if not self.is_out_of_reach:
            self._write_unanswered()

    def _answer(self, request: Request) -> dict[str, Any]:
        schema = NEGATIVE_SCHEMA if request.kind == NEGATIVE else SCHEMA
        about = {"chunk_id": request.chunk_id, "type": request.kind, "attempt": request.attempt}
        try:
            return {**about, "answer": self._model.ask(request.prompt, schema, answer_retries=0)}
        except NoAnswerError as error:
            row = {**about, "answer": None, "reason": error.reason, "text": error.answer}
            # `error` marks what an operator may want to have asked again; bad JSON and refusals are answers.
            return row if error.reason in ("bad_json", "refused") else {**row, "error": str(error)}

    def _record(self, request: Request, row: dict[str, Any]) -> Mapping[str, Any]:
        error = row.get("error")
        if error is not None and row["reason"] != "rejected":
            self.last_error = str(error)
            self._unanswered.append((request.key, row))
            self.is_out_of_reach = len(self._unanswered) >= MOST_UNANSWERED
        else:
            self._write_unanswered()
            self._journal.put(request.key, row)
        return row

    def _write_unanswered(self) -> None:
        held, self._unanswered = self._unanswered, []
        for key, row in held:
            self._journal.put(key, row)


LONGEST_QUESTION = 1000
# An answer of so few words stands in any large corpus by chance.
_WORDS_TO_LOOK_FOR = 3

# Why an answer of the model gave no question, in the words of the report, and as the model is told.
REASONS: dict[str, tuple[str, str]] = {
    "rate_limited": ("rate limit, after all retries", ""),
    "timed_out": ("time-out, after all retries", ""),
    "unreachable": ("no connection, after all retries", ""),
    "rejected": ("prompt rejected by the model", ""),
    "refused": ("refused by the model", "no question came"),
    "bad_json": ("bad JSON", "it was no JSON object with the fields that were asked for"),
    "nothing_to_ask": ("nothing worth asking, as the model said", ""),
    "no_question": ("no question", "it did not have the form of a question"),
    "too_long": ("question too long", f"the question was longer than {LONGEST_QUESTION} characters"),
    "other_language": ("another language", "the question was in another language"),
    "no_answer": ("no answer", "the answer was empty"),
    "no_evidence": ("evidence not in the chunk", "the evidence was not copied letter by letter from the passage"),
    "quotes_chunk": ("quotes the chunk", "the question copied phrases of the passage"),
    "near_duplicate": ("nearly the same as another", "nearly the same question was asked already"),
    "is_answered": ("answered by the corpus", "its answer stands in the passage, or in another one"),
}
# Where another attempt with the same chunk would hardly go better.
FINAL = {"rate_limited", "timed_out", "unreachable", "rejected", "nothing_to_ask"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that may be kept.

    Attributes:
        kind: Its type.
        chunk: What it was asked about.
        question: Its text, on one line.
        answer: Its answer; empty for a question that has none.
        evidence: Where its evidence stands; None for a question that has no answer.
        overlap: The share of its words that stand in the chunk.
    """

    kind: str
    chunk: Chunk
    question: str
    answer: str
    evidence: Span | None
    overlap: float | None


class Keeper:
    """Decides on questions, one after the other.

    Args:
        corpus: All chunks, to look for the answers of questions that should have none.
        near: From which F-measure of ROUGE-L two questions are nearly the same.
        most_quoted: The share from which a question quotes its chunk.
    """

    def __init__(self, corpus: Sequence[Chunk], *, near: float, most_quoted: float) -> None:
        self._near, self._most_quoted = near, most_quoted
        self._corpus = WordSearch([chunk.text for chunk in corpus])
        self._kept: list[tuple[str, Counter[str]]] = []

    def judge(self, kind: str, chunk: Chunk, answer: Mapping[str, Any], script: str | None) -> Candidate | str:
        """The question, or the reason why it is not kept."""
        question = " ".join(str(answer["question"]).split())
        given, evidence = str(answer.get("answer") or "").strip(), None
        if not question:
            return "nothing_to_ask"
        if len(question) > LONGEST_QUESTION:
            return "too_long"
        if not is_question(question) or words_of(question).total() < 2:
            return "no_question"
        if not is_in(question, script):
            return "other_language"
        if kind == NEGATIVE:
            if self._is_answered(given, chunk) or find_evidence(str(answer.get("evidence") or ""), chunk.text):
                return "is_answered"
        else:
            if not normalize(given):
                return "no_answer"
            evidence = find_evidence(str(answer.get("evidence") or ""), chunk.text)
            if evidence is None:
                return "no_evidence"
        if kind not in ("literal", NEGATIVE) and quotes_chunk(question, chunk.text, self._most_quoted):
            return "quotes_chunk"
        if self._is_known(question):
            return "near_duplicate"
        shared = overlap(question, chunk.text)
        return Candidate(kind, chunk, question, "" if kind == NEGATIVE else given, evidence, shared)

    def keep(self, candidate: Candidate) -> None:
        """Questions that come later must not be nearly the same as this one."""
        self._kept.append((candidate.question, words_of(candidate.question)))

    def _is_known(self, question: str) -> bool:
        words = words_of(question)
        # No more words can be common in the same order than are common at all: that leaves hardly any to compare.
        possible = [
            kept
            for kept, its in self._kept
            if 2 * (words & its).total() >= self._near * (words.total() + its.total()) - 1e-9
        ]
        return bool(possible) and any(
            group[0] == 0 for group in group_near_duplicates([question, *possible], self._near)
        )

    def _is_answered(self, answer: str, chunk: Chunk) -> bool:
        if holds_words(chunk.text, answer):
            return True
        return words_of(answer).total() >= _WORDS_TO_LOOK_FOR and self._corpus.holds(answer)


RULES, RETRY, NEGATIVE = "rules", "retry", "negative"
# What each file has to hold, and what it may; a type must have the language itself, or by the rules.
_NEEDED = {RULES: set[str](), RETRY: {"reason"}}
_ALLOWED = {RULES: {"language"}, RETRY: {"reason", "earlier", "language"}}
_OF_A_TYPE = {"passage"}
_ALLOWED_OF_A_TYPE = {"passage", "rules", "language"}


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of a generation.

    Attributes:
        texts: The texts by name: `rules`, `retry`, and one for each type of question.
    """

    texts: Mapping[str, str]

    @property
    def version(self) -> str:
        """Eight hex digits that change with any prompt."""
        return version_of(self.texts)

    def first(self, kind: str, passage: str, language: str) -> str:
        """The prompt for a question of a type about a passage."""
        values = {"language": language, "passage": delimited(passage, "PASSAGE")}
        values["rules"] = fill(self.texts[RULES], values)
        return fill(self.texts[kind], values)

    def again(self, first: str, reason: str, earlier: str, language: str) -> str:
        """The prompt for another attempt, after one that was not used."""
        values = {"reason": reason, "earlier": json.dumps(earlier, ensure_ascii=False), "language": language}
        return f"{first}\n\n{fill(self.texts[RETRY], values)}"


def load_prompts(given: object, types: Sequence[str]) -> Prompts:
    """The prompts for some types of questions: those given, the bundled ones for the rest.

    Args:
        given: None, a folder with files `NAME.txt`, or a mapping from names to texts.
        types: The types of questions that are needed.

    Raises:
        InvalidInputError: A prompt is missing, has an unknown name, or lacks a placeholder.
    """
    bundled, own = bundled_prompts("krag_eval.llm.question_generation"), own_prompts(given, "literal")
    needed = [RULES, RETRY, *types]
    for name in own:
        if name not in bundled and name not in types:
            raise InvalidInputError(
                f"`prompts` has {name!r}, which is no prompt.{did_you_mean(name, [*bundled, *types])} Known prompts: "
                f"{', '.join(bundled)}, and the name of any type that `types` has."
            )
    for name in needed:
        if name not in own and name not in bundled:
            raise InvalidInputError(
                f"`types` has {name!r}, for which there is no prompt.{did_you_mean(name, bundled)} Give one, as "
                f"prompts={{{name!r}: ...}} or as a file {name}.txt, or use "
                f"{', '.join(sorted(bundled.keys() - {RULES, RETRY}))}."
            )
    texts = {name: own.get(name, bundled.get(name, "")) for name in needed}
    for name, text in texts.items():
        _check(name, text, texts[RULES])
    return Prompts(texts)


def _check(name: str, text: str, rules: str) -> None:
    found = placeholders(text)
    allowed = _ALLOWED.get(name, _ALLOWED_OF_A_TYPE)
    for unknown in sorted(found - allowed):
        raise InvalidInputError(
            f"The prompt {name!r} has {{{unknown}}}, for which there is no value.{did_you_mean(unknown, allowed)} It "
            f"may have {', '.join(f'{{{one}}}' for one in sorted(allowed))}."
        )
    missing = _NEEDED.get(name, _OF_A_TYPE) - found
    if name not in _NEEDED and "language" not in found and not ("rules" in found and "{language}" in rules):
        missing |= {"language"}
    if missing:
        raise InvalidInputError(
            f"The prompt {name!r} lacks {', '.join(f'{{{one}}}' for one in sorted(missing))}. Put it where its value "
            "belongs."
        )
