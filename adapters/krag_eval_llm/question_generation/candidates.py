"""Ask a model for questions, round by round, until there are enough that pass the checks.

A round asks for everything that is missing, and only then decides, in the order of the questions. So the questions
depend on the answers alone, not on the concurrency, nor on whether a run was stopped and resumed.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import DaemonThreads, KeyedJournal, did_you_mean
from krag_eval_llm.failures import NoAnswerError
from krag_eval_llm.model import LanguageModel
from krag_eval_llm.prompts import (
    bundled_prompts,
    bundled_schemas,
    check_placeholders,
    delimited,
    fill,
    own_prompts,
    placeholders,
    version_of,
)
from krag_eval_llm.question_generation.checks import FINAL, NEGATIVE, REASONS, Candidate, CandidateFilter
from krag_eval_llm.question_generation.chunks import Chunk
from krag_eval_llm.question_generation.languages import language_for

# So many characters of its earlier answer are shown to the model.
_LONGEST_EARLIER = 1000


@dataclass(slots=True)
class _Place:
    """A question that is wanted."""

    kind: str
    chunk: Chunk | None = None
    attempt: int = 0
    reason: str = ""
    earlier: str = ""
    kept: Candidate | None = None


@dataclass(eq=False)
class Generator:
    """Fill the places of the questions: ask again what failed a check, then ask about another chunk.

    Args:
        kinds: The type of each wanted question.
        chunks: What to ask about, in order.
        prompts: The prompts.
        language: The requested language.
        attempts: How often to ask about one chunk for one question.
        most_prompts: The number of prompts after which no further round begins.
        tell: Called with the number of questions kept and of failures so far.

    Attributes:
        asked: The number of prompts, by type.
        dropped: The number of unused answers, by type and reason.
        is_over_budget: Whether `most_prompts` was reached.
    """

    kinds: Sequence[str]
    chunks: Sequence[Chunk]
    prompts: Prompts
    language: str
    attempts: int
    most_prompts: int
    tell: Callable[..., None]

    def __post_init__(self) -> None:
        self._places, self._cursor = [_Place(kind) for kind in self.kinds], 0
        self._tried: dict[str, set[int]] = defaultdict(set)
        self.asked: Counter[str] = Counter()
        self.dropped: dict[str, Counter[str]] = defaultdict(Counter)
        self.is_over_budget = False

    def generate(self, asker: Asker, checks: CandidateFilter) -> list[Candidate]:
        """Return the questions in the order of their places, fewer than wanted if no more can be made."""
        while requests := self._requests():
            rows: dict[int, Mapping[str, Any]] = {}
            for request, row in asker.ask_all(requests):
                rows[request.slot] = row
                self.tell(self._n_kept() + sum("reason" not in one for one in rows.values()), self._n_failed())
            for request in requests:
                if request.slot in rows:
                    self._decide(self._places[request.slot], request.chunk, rows[request.slot], checks)
            self.tell(self._n_kept(), self._n_failed())
            if asker.is_out_of_reach:
                break
        asker.finish()
        self.tell(self._n_kept(), self._n_failed(), is_over=True)
        return [place.kept for place in self._places if place.kept is not None]

    def _requests(self) -> list[Request]:
        requests: list[Request] = []
        for slot, place in enumerate(self._places):
            if place.kept is not None:
                continue
            if self.asked.total() + len(requests) >= self.most_prompts:
                self.is_over_budget = True
                break
            if place.chunk is None or place.attempt >= self.attempts or place.reason in FINAL:
                place.chunk, place.attempt, place.reason = self._next_chunk(place.kind), 0, ""
                if place.chunk is None:
                    continue
            place.attempt += 1
            requests.append(self._request(slot, place, place.chunk))
        return requests

    def _next_chunk(self, kind: str) -> Chunk | None:
        """Return the next chunk that was not used for a question of this type."""
        tried = self._tried[kind]
        for step in range(len(self.chunks)):
            number = (self._cursor + step) % len(self.chunks)
            if number not in tried:
                tried.add(number)
                self._cursor = number + 1
                return self.chunks[number]
        return None

    def _request(self, slot: int, place: _Place, chunk: Chunk) -> Request:
        language, _ = language_for(self.language, chunk.text)
        prompt = self.prompts.first(place.kind, chunk.text, language)
        if place.reason:
            prompt = self.prompts.again(prompt, REASONS[place.reason][1], place.earlier, language)
        key = f"{place.kind}:{place.attempt}:{chunk.id}"
        return Request(slot, key, place.kind, chunk, place.attempt, prompt)

    def _decide(self, place: _Place, chunk: Chunk, row: Mapping[str, Any], checks: CandidateFilter) -> None:
        answer = row["answer"]
        self.asked[place.kind] += 1
        if answer is None:
            verdict: Candidate | str = str(row["reason"])
        else:
            verdict = checks.check(place.kind, chunk, answer, language_for(self.language, chunk.text)[1])
        if isinstance(verdict, Candidate):
            place.kept = verdict
            checks.keep(verdict)
            return
        given = str(row.get("text") or "") if answer is None else json.dumps(answer, ensure_ascii=False)
        place.reason, place.earlier = verdict, given[:_LONGEST_EARLIER]
        self.dropped[place.kind][verdict] += 1

    def _n_kept(self) -> int:
        return sum(place.kept is not None for place in self._places)

    def _n_failed(self) -> int:
        return sum(counts.total() for counts in self.dropped.values())


# After so many unanswered prompts in a row the model is unreachable; asking on would use up the chunks.
MOST_UNANSWERED = 5

_SCHEMAS = bundled_schemas("krag_eval_llm.question_generation")


@dataclass(frozen=True, slots=True)
class Request:
    """A prompt to send.

    Attributes:
        slot: The number of the question it is for.
        key: Names its row in the journal: type, attempt and chunk.
        kind: The type of question.
        chunk: What it asks about.
        attempt: The number of the attempt with this chunk, from 1.
        prompt: The text.
    """

    slot: int
    key: str
    kind: str
    chunk: Chunk
    attempt: int
    prompt: str


class Asker:
    """Ask a language model, several prompts at a time, unless the journal has the answer.

    Args:
        model: The model.
        journal: Where answers are looked up and recorded.
        concurrency: How many prompts to send at a time.

    Attributes:
        is_out_of_reach: Whether the model left too many prompts in a row unanswered.
        last_error: Its last error, or None.
    """

    def __init__(self, model: LanguageModel, journal: KeyedJournal, concurrency: int) -> None:
        self._model, self._journal, self._concurrency = model, journal, concurrency
        self._unanswered: list[tuple[str, dict[str, Any]]] = []
        self.is_out_of_reach = False
        self.last_error: str | None = None

    def ask_all(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Mapping[str, Any]]]:
        """Yield each request with its row, in the order of completion; fewer if the model becomes unreachable.

        A row has `"answer"`, an object, or `"reason"`, a key of `checks.REASONS`.

        Raises:
            ModelSetupError: No prompt will be answered.
            InvalidInputError: The journal cannot be written.
        """
        new = []
        for request in requests:
            row = self._journal.get(request.key)
            if row is None:
                new.append(request)
            else:
                yield request, row
        # A single call at a time needs no thread, and Ctrl-C then reaches the model itself.
        asked = (
            ((request, self._answer(request)) for request in new)
            if self._concurrency == 1
            else DaemonThreads(self._concurrency, "krag-eval-generate").map(self._answer, new)
        )
        with closing(asked):
            for request, row in asked:
                yield request, self._record(request, row)
                if self.is_out_of_reach:
                    return

    def finish(self) -> None:
        """Record the unanswered prompts, unless the model is unreachable: then a rerun asks them again."""
        if not self.is_out_of_reach:
            self._write_unanswered()

    def _answer(self, request: Request) -> dict[str, Any]:
        schema = _SCHEMAS[NEGATIVE if request.kind == NEGATIVE else "question"]
        about = {"chunk_id": request.chunk.id, "type": request.kind, "attempt": request.attempt}
        try:
            return {**about, "answer": self._model.ask(request.prompt, schema, answer_retries=0)}
        except NoAnswerError as error:
            row = {**about, "answer": None, "reason": error.reason, "text": error.answer}
            # `error` marks what `retry_errors` asks again; bad JSON and refusals are answers.
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


RULES, RETRY = "rules", "retry"
# The placeholders that each prompt must and may have. A type needs {language} itself or through the rules.
_PLACEHOLDERS = {RULES: (set[str](), {"language"}), RETRY: ({"reason"}, {"reason", "earlier", "language"})}
_OF_A_TYPE = {"passage", "rules", "language"}


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts that generate questions.

    Attributes:
        texts: The texts by name: `rules`, `retry`, and one for each type of question.
    """

    texts: Mapping[str, str]

    @property
    def version(self) -> str:
        """Eight hex digits that change with any prompt."""
        return version_of(self.texts)

    def first(self, kind: str, passage: str, language: str) -> str:
        """Return the prompt for a question of a type about a passage."""
        values = {"language": language, "passage": delimited(passage, "PASSAGE")}
        values["rules"] = fill(self.texts[RULES], values)
        return fill(self.texts[kind], values)

    def again(self, first: str, reason: str, earlier: str, language: str) -> str:
        """Return the prompt for another attempt after an unused answer."""
        values = {"reason": reason, "earlier": json.dumps(earlier, ensure_ascii=False), "language": language}
        return f"{first}\n\n{fill(self.texts[RETRY], values)}"


def load_prompts(given: object, types: Sequence[str]) -> Prompts:
    """Load the prompts for some types of questions: the given ones, and the bundled ones for the rest.

    Args:
        given: None, a folder with files `NAME.txt`, or a mapping from names to texts.
        types: The types of questions.

    Raises:
        InvalidInputError: A prompt is missing, has an unknown name, or lacks a placeholder.
    """
    bundled = bundled_prompts("krag_eval_llm.question_generation")
    own, needed = own_prompts(given, [*bundled], types), [RULES, RETRY, *types]
    for name in needed:
        if name not in own and name not in bundled:
            raise InvalidInputError(
                f"`types` has {name!r}, which has no prompt.{did_you_mean(name, bundled)} Give one as "
                f"prompts={{{name!r}: ...}} or in a file {name}.txt, or use "
                f"{', '.join(sorted(bundled.keys() - {RULES, RETRY}))}."
            )
    texts = {name: own.get(name, bundled.get(name, "")) for name in needed}
    for name, text in texts.items():
        by_rules = "rules" in placeholders(text) and "{language}" in texts[RULES]
        needs, may_have = _PLACEHOLDERS.get(name, ({"passage"} if by_rules else {"passage", "language"}, _OF_A_TYPE))
        check_placeholders(name, text, needs, may_have)
    return Prompts(texts)
