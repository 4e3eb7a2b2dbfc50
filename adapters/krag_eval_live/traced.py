"""Score by what a framework tells of its runs: what the adapters of LangChain and LlamaIndex share."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self, Unpack

from krag_eval.toolkit import check_names
from krag_eval_formats.dialects import FromTools
from krag_eval_live.functions import Place
from krag_eval_live.scorer import LiveOptions, LiveScorer
from krag_eval_live.tools import check_tools, kind_of

# How many names of tools and steps that have returned documents are remembered.
_MOST_NAMES = 1_000


@dataclass(slots=True, eq=False, kw_only=True)
class OpenRun:
    """A run of a framework, such as that of a chain, a tool or a workflow, that has not ended.

    Attributes:
        parent: The run around it, if its start was seen.
        tool: The name of the innermost tool that it is, or that is around it.
        is_tool: Whether it is a tool.
        query: The question that it was given.
        query_id: The id of the question that it was given.
        has_searched: Whether there was a retrieval in it.
        started: When it started, by the clock that `LiveScorer.begin` reads.
        targets: Where its scores would belong.
    """

    parent: Self | None = None
    tool: str | None = None
    is_tool: bool = False
    query: str | None = None
    query_id: str | None = None
    has_searched: bool = False
    started: float = field(default_factory=time.perf_counter)
    targets: list[object | None] | None = None

    def around(self) -> Iterator[Self]:
        """Yield it and the runs around it, outermost last."""
        run: Self | None = self
        while run is not None:
            yield run
            run = run.parent

    @property
    def root(self) -> Self:
        """The outermost run around it."""
        run = self
        while run.parent is not None:
            run = run.parent
        return run

    def note_search(self) -> None:
        """Note a retrieval in this run and in all runs around it: what they return was counted there."""
        for run in self.around():
            run.has_searched = True


class TracedScorer(LiveScorer):
    """A live scorer that knows which tools and steps of a framework are retrievals.

    Args:
        gold: The gold documents, as for `LiveScorer`.
        from_tools: By the name of a tool, a function that returns the documents in what the tool returned.
        **options: The other arguments of `LiveScorer`.
    """

    _framework = ""
    _roots = "runs"
    _documents = "documents"

    def __init__(self, gold: object, from_tools: FromTools | None = None, **options: Unpack[LiveOptions]) -> None:
        check_names(options, LiveOptions.__annotations__)
        super().__init__(gold, **options)
        self._from_tools = check_tools(from_tools)
        self._searches: set[str] = set()  # the names of tools and steps that have returned documents
        self._n_roots = 0
        self._unseen: Counter[str] | None = Counter()  # what tools returned; None after the first retrieval

    def _note_search(self, run: OpenRun | None, name: str | None = None) -> None:
        """Note a retrieval in a run; a tool or step of this name is one whatever it returns."""
        self._unseen = None
        if name is not None and len(self._searches) < _MOST_NAMES:
            self._searches.add(name)
        if run is not None:
            run.note_search()

    def _begin_step(self, run: OpenRun, run_id: object, name: str | None, query: object, place: Place) -> None:
        """Begin the retrieval of a tool or step, whose end showed that it is one."""
        self._note_search(run, name)
        self.begin(
            self._framework,
            run_id,
            query,
            query_id=place.query_id,
            question=place.question,
            name=name,
            session_id=place.session_id,
            tool=run.tool,
            started=run.started,
            targets=run.targets,
        )

    def _note_unread(self, tool: str | None, returned: object) -> None:
        """Note that a tool returned something that is no documents."""
        if self._unseen is not None:
            self._unseen[f"the tool {tool!r:.60} returned {kind_of(returned)}"] += 1

    def _tell_unseen(self, least: int = 1) -> None:
        """Tell once that so many root runs, at the least, had no retrieval, and what they had."""
        seen = self._unseen
        if seen is None or self._n_roots < least:
            return
        self._unseen = None
        tools = [f"{what}, {n} times" if n > 1 else what for what, n in seen.most_common(3)]
        self._note(
            "no retrieval was seen",
            f"{self._n_roots} {self._roots} with {seen.total()} calls of tools and 0 of retrievers"
            f"{': ' if tools else ''}{'; '.join(tools)}. Retrievers are seen, and whatever returns {self._documents}. "
            'Say how the documents of another tool are read, from_tools={"search": function}; or mark a function that '
            "searches, `@scorer.retrieval`.",
        )
