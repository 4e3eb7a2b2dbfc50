"""Fills the places of the questions, round by round: what is not kept is asked again, then asked of another chunk.

A round asks everything that is open, and only then decides, in the order of the places. So the questions depend on
the answers alone, and not on how many are asked at a time, nor on when a run was stopped and gone on with.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from krag_eval.generation.asking import Asker, Request
from krag_eval.generation.chunks import Chunk
from krag_eval.generation.keeping import FINAL, REASONS, Candidate, Keeper
from krag_eval.generation.languages import language_for
from krag_eval.generation.prompting import Prompts

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
        is_used_up: Whether chunks ran out.
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
        self.is_used_up = self.is_over_budget = False

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
                    self.is_used_up = True
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
