"""Write a report as one HTML file that needs no other file, no server and no network.

The page holds the sections, the plots, and the data of the query browser as columns. Each text is stored once.
Whatever users wrote is escaped, and a Content-Security-Policy allows the page's own script and style only.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import itertools
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from krag_eval import Document, EvalSet, Redactor, __version__, as_document
from krag_eval.evaluation import Detail, GoldTable, SearchOutcome
from krag_eval.toolkit import (
    CAUSES,
    OWN_ID,
    BoolArray,
    FloatArray,
    IntArray,
    Side,
    cached_property,
    format_value,
    is_lower_better,
    needing,
    one_line,
    read_leniently,
)
from krag_eval_report.html.cut_offs import CAUSE_NUMBERS, cut_off_columns
from krag_eval_report.html.first_screen import first_screen
from krag_eval_report.html.matrices import matrix_of
from krag_eval_report.html.numbered import NONE, Numbered, Texts
from krag_eval_report.html.rows import rows_of
from krag_eval_report.html.saying import Saying, as_json, message
from krag_eval_report.html.texts import json_in_script, printable
from krag_eval_report.languages import language_of, languages
from krag_eval_report.plots import figures_of
from krag_eval_report.records import Report, ReportedSystem
from krag_eval_report.sections import sections_below

if TYPE_CHECKING:
    from jinja2 import Template

    from krag_eval.analysis import Funnel


# Each joined to one, in this order.
SCRIPTS = (
    *("dom", "parts", "data", "say", "words", "filters", "metrics", "search", "marks", "row", "list", "chips"),
    *("documents", "outcomes", "strips", "labels", "query", "focus", "means", "export", "controls", "keys"),
    *("address", "language", "board", "main"),
)
STYLES = ("tokens", "report", "shell", "overview", "filters", "list", "question", "documents", "labels", "means")
_FOLDER = resources.files(__package__) / "templates"


def html_page(report: Report, language: str | None = None) -> str:
    """Return a report as a page.

    Args:
        report: The report.
        language: The code of the language in which the page is written; by default it is written in English, and
            changes to the language of the reader's browser.

    Raises:
        MissingDependencyError: A package of the extra `report` is not installed.
        InvalidInputError: A result was streamed and kept no queries, or there is no such language.
    """
    return "".join(html_parts(report, language))


def html_parts(report: Report, language: str | None = None) -> Iterator[str]:
    """Yield the page in parts, because a page with many texts is large."""
    template = template_of("report.html.j2", language)
    data = itertools.chain([("messages", _messages())], payload(report))
    script, style = script_and_style()
    yield from template.generate(
        report=report,
        **first_screen(report),
        matrices=[matrix_of(report, system) for system in report.systems],
        sections=sections_below(report),
        figures=figures_of(report, Saying(language_of(language))),
        data=((name, json_in_script(part)) for name, part in data),
        script=script,
        style=style,
        policy=policy(script, style),
        version=__version__,
        isolated=isolating(report),
    )


def isolating(report: Report) -> Callable[[str], str]:
    """Return what marks, in a sentence of ours, the names of the report that are written from right to left.

    Without the mark, what follows such a name would be read as a part of it: `-0.5` as `0.5-`, on its other side.
    """
    fields, slices = [*report.slices_by_field], [part.value or "" for part in report.slices]
    names = {(report.evalset and report.evalset.name) or "", *fields, *slices, *(one.name for one in report.systems)}
    leftward = [name for name in names if any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in name)]
    if not leftward:
        return lambda text: text
    found = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(leftward, key=len, reverse=True)))})(?!\w)")
    return lambda text: found.sub("\u2068\\g<0>\u2069", text)  # characters that isolate what is between them


def template_of(name: str, language: str | None = None) -> Template:
    """Return a template of a page, which escapes whatever it is given and speaks a language.

    Raises:
        MissingDependencyError: jinja2 is not installed.
        InvalidInputError: There is no such language.
    """
    with needing("The HTML report", "jinja2", "report"):
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    environment = Environment(
        autoescape=True,
        finalize=printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(read_template),
    )
    environment.globals |= Saying(language_of(language)).functions() | {"is_chosen": language is not None}
    return environment.get_template(name)


def _messages() -> dict[str, Any]:
    """Return the messages of all languages, as part of the data."""
    return {code: [one.direction, one.messages] for code, one in languages().items()}


def script_and_style() -> tuple[str, str]:
    """Return all scripts in one scope, which nothing outside can reach, and all styles."""
    return _in_one_scope(*SCRIPTS), "\n".join(read_template(f"{name}.css") for name in STYLES)


def _in_one_scope(*names: str) -> str:
    parts = "\n".join([fluent(), *(read_template(f"{name}.js") for name in names)])
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def label_page(name: str, url: str, host: str, language: str | None = None) -> tuple[str, str]:
    """Return the page on which a queue is labelled, and its Content-Security-Policy.

    Args:
        name: What the queue is called.
        url: Where the page sends its keys, as a path.
        host: Where that is.
        language: The code of its language; English by default.
    """
    script = _in_one_scope("dom", "say", "label")
    style = "\n".join(read_template(f"{name}.css") for name in ("tokens", "report", "label"))
    its_policy = f"{policy(script, style)}; connect-src http://{host}{url}"
    data = json_in_script({"url": url})
    page = template_of("label.html.j2", language).render(
        name=name,
        script=script,
        style=style,
        policy=its_policy,
        data={"label": data, "messages": json_in_script(_messages())},
        version=__version__,
    )
    return page, its_policy


@functools.cache
def fluent() -> str:
    """Return the script of Project Fluent as the constant `fluent`, which nothing outside can reach."""
    script = (resources.files(__package__) / "fluent.js").read_text(encoding="utf-8")
    return f"const fluent = {{}};\n((exports, module) => {{\n{script}}})(fluent, {{}});\n"


def read_template(name: str) -> str:
    """Return a template, a script or a style as it is in its file."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def policy(script: str, style: str) -> str:
    """Return a Content-Security-Policy that allows this script and this style, and loads nothing."""
    return (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    """Return what names a script or a style in a Content-Security-Policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


FOUND = len(CAUSES)


class Details:
    """The gold and the retrieved documents of all queries of a report.

    Attributes:
        missed: For each system and query the causes of its misses, as bits in the order of `CAUSES`; the bit after
            them says that a gold document was found.
        leaking: For each system the queries for which it retrieved a forbidden document.
    """

    def __init__(self, report: Report, texts: Texts) -> None:
        self.missed: list[list[int]] = []
        self.leaking: list[list[int]] = []
        self._documents = Documents(texts)
        self._funnels = {funnel.name: funnel for funnel in report.funnels}
        self._methods: Numbered[str] = Numbered()
        self._similarities: Numbered[str] = Numbered()
        self._scores: Numbered[str] = Numbered()
        self._answers = [texts.number(question.answer or None) for question in report.evalset or ()]
        self._gold: dict[str, list[Any]] = {}
        self._starts: list[int] = []
        self._systems = [self._read(system, is_first=not place) for place, system in enumerate(report.systems)]

    def columns(self) -> dict[str, Any]:
        """Return everything as columns, ready for JSON.

        The documents of query `i` are at `start[i]` to `start[i + 1]`. Ranks count from 1, and 0 means no rank;
        positions and numbers count from 0, and -1 means none. `at` is the position of a match's rank in the columns of
        its system.
        """
        return {
            "ids": self._documents.ids.values(),
            "documents": self._documents.columns,
            "metadata": self._documents.metadata.values(),
            "methods": self._methods.values(),
            "similarities": [as_json(text) for text in self._similarities.values()],
            "scores": self._scores.values(),
            "answers": self._answers,
            "gold": {"start": self._starts, **self._gold},
        }

    def systems(self) -> list[dict[str, Any]]:
        """Return the columns of each system; a page reads those of one when it needs them."""
        return self._systems

    @property
    def lacking(self) -> tuple[str, ...]:
        """The sides whose documents have no text at all: `"gold"`, `"retrieved"`, both or neither."""
        text = self._documents.columns["text"]
        sides = {"gold": [self._gold], "retrieved": [system["ranks"] for system in self._systems]}
        return tuple(
            name
            for name, columns in sides.items()
            if any(column["document"] for column in columns)
            and all(text[document] == NONE for column in columns for document in column["document"])
        )

    def _read(self, system: ReportedSystem, *, is_first: bool) -> dict[str, Any]:
        detail = system.detail
        batch, matches = detail.batch, detail.matches
        side, settings = detail.documents.predicted, batch.settings
        starts, gold_starts = side.offsets.tolist(), batch.actual.offsets.tolist()
        match_starts = np.searchsorted(matches.predicted, side.offsets).tolist()
        gold, counted = detail.gold, detail.judged.gold_number
        best = detail.closest(system.diagnosis.nearest or detail.nearest)
        rank, method = (np.append(column, -1)[counted] for column in (best.rank, best.method))
        similarity = np.append(best.similarity, np.nan)[counted]
        read_gold = functools.partial(as_document, id_key=settings.id_key, grade_key=settings.grade_key, is_gold=True)
        golds = list(map(read_gold, batch.actual.documents)) if is_first or settings.uses_spans else []
        if is_first:
            documents = self._add_gold(golds, gold, gold_starts, side)
        else:
            documents = self._documents.numbers(side.ids, side.texts, side.documents, itertools.repeat(False))
        found = matches.actual - batch.actual.offsets[batch.actual.query_of(matches.actual)]
        outcomes: dict[str, Any] = {"cause": self._causes(system, gold.is_one, gold_starts)}
        outcomes["rank"] = _best_ranks(detail, np.maximum(rank, 0))
        matched: dict[str, Any] = {"at": matches.predicted.tolist(), "gold": found.tolist()}
        names = np.array([*matches.methods, None], dtype=object)  # the last is that of -1
        for name, numbered, of_gold, of_matches in (
            ("method", self._methods, names[method].tolist(), names[matches.method].tolist()),
            ("similarity", self._similarities, _printed(similarity), _printed(matches.similarity)),
        ):
            numbers = numbered.numbers(_woven(of_gold, of_matches, gold_starts, match_starts))
            outcomes[name], matched[name] = _apart(numbers, gold_starts, match_starts)
        ranks: dict[str, Any] = {"document": documents, "score": self._score_numbers(side), **_earned(detail)}
        forbidden = np.array([*ranks.get("forbidden", ())], dtype=np.int64)
        self.leaking.append(np.unique(side.query_of(forbidden)).tolist())
        if settings.uses_spans:
            parts = [detail.shared_parts(index, system.diagnosis.k) for index in range(len(batch))]
            held, evidence = ([one for of_query in parts for one in of_query[of_side]] for of_side in (0, 1))
            ranks["parts"] = list(map(_in_units, evidence, side.texts))
            outcomes["parts"] = list(map(_in_units, held, [one.text for one in golds]))
        errors = {str(query): error for query, error in system.result.errors.items()}
        read = {"gold": outcomes, "ranks": {"start": starts, **ranks}, "matches": matched, "errors": errors}
        if system.name in self._funnels:
            outcomes |= _fates(self._funnels[system.name], gold_starts)
        if system.answers:
            read["answers"] = {str(query): dict(answer) for query, answer in system.answers.items()}
        if detail.sessions is not None:
            read["searches"] = self._searches(detail.search_outcomes(system.diagnosis.k))
        return read

    def _searches(self, sessions: Sequence[Sequence[SearchOutcome]]) -> dict[str, list[Any]]:
        """Return what the searches of each session brought; those of query `i` are at `start[i]` to `start[i + 1]`."""
        columns = _Columns("n", "query", "brought")
        for search in itertools.chain.from_iterable(sessions):
            query = self._documents.texts.number(search.query or None)
            columns.add(search.n_retrieved, query, self._similarities.number(search.brought))
        return {"start": [0, *itertools.accumulate(map(len, sessions))], **columns}

    def _add_gold(self, golds: list[Document], gold: GoldTable, gold_starts: list[int], side: Side) -> list[int]:
        """Add the gold documents; return the numbers of the retrieved ones, counted query by query with them."""
        starts = side.offsets.tolist()
        numbers = self._documents.numbers(
            _woven([one.id for one in golds], side.ids, gold_starts, starts),
            _woven([one.text for one in golds], side.texts, gold_starts, starts),
            _woven(golds, side.documents, gold_starts, starts),
            _woven([True] * len(golds), [False] * starts[-1], gold_starts, starts),
        )
        of_golds, documents = _apart(numbers, gold_starts, starts)
        self._starts = gold_starts
        self._gold = {
            "document": of_golds,
            "grade": [None if one.grade is None else f"{one.grade:g}" for one in golds],
            "repeat": gold.repeat_of.tolist(),
            "alternative": gold.alternative_to.tolist(),
        }
        return documents

    def _causes(self, system: ReportedSystem, is_one: BoolArray, gold_starts: Sequence[int]) -> list[int]:
        """Return the cause of each miss, and note those of each query."""
        causes: list[int] = np.where(is_one, FOUND, NONE).tolist()
        missed = [0] * (len(gold_starts) - 1)
        for miss in system.diagnosis.misses:
            cause = CAUSE_NUMBERS[miss.cause]
            causes[gold_starts[miss.query_index] + miss.gold_index] = cause
            missed[miss.query_index] |= 1 << cause
        for query, (start, end) in enumerate(itertools.pairwise(gold_starts)):
            missed[query] |= (FOUND in causes[start:end]) << FOUND
        self.missed.append(missed)
        return causes

    def _score_numbers(self, side: Side) -> list[int]:
        scores = np.array(side.scores(), dtype=np.float64)  # None becomes NaN
        known, places = np.unique(scores, return_inverse=True)
        texts = [None if math.isnan(score) else f"{score:.4g}" for score in known.tolist()]
        return self._scores.numbers(map(texts.__getitem__, places.tolist()))


def _woven(ours: Sequence[Any], theirs: Sequence[Any], our_starts: list[int], their_starts: list[int]) -> list[Any]:
    """Return for each query its part of one column, then that of another; where they begin is said for both."""
    woven: list[Any] = []
    for (start, stop), (first, last) in zip(pairwise(our_starts), pairwise(their_starts), strict=True):
        woven += ours[start:stop]
        woven += theirs[first:last]
    return woven


def _apart(woven: Sequence[Any], our_starts: list[int], their_starts: list[int]) -> tuple[list[Any], list[Any]]:
    """Return the two columns that `_woven` joined."""
    ours: list[Any] = []
    theirs: list[Any] = []
    for (start, stop), (first, last) in zip(pairwise(our_starts), pairwise(their_starts), strict=True):
        ours += woven[start + first : stop + first]
        theirs += woven[stop + first : stop + last]
    return ours, theirs


def _printed(similarities: FloatArray) -> list[str | None]:
    """Return similarities as printed, each distinct one once; None for NaN."""
    different, of = np.unique(similarities, return_inverse=True)
    texts = [None if math.isnan(one) else format_value(one, 3) for one in different.tolist()]
    return [texts[number] for number in of.tolist()]


def _fates(funnel: Funnel, gold_starts: Sequence[int]) -> dict[str, list[Any]]:
    """Return what became of each gold document in the stages of a pipeline."""
    numbered: Numbered[str] = Numbered()
    fate = [NONE] * gold_starts[-1]
    for query, gold, name in zip(funnel.places.tolist(), funnel.golds.tolist(), funnel.fates, strict=True):
        fate[gold_starts[query] + gold] = numbered.number(name)
    stages = [{"name": stage.name, "inputs": list(stage.inputs)} for stage in funnel.stages]
    return {"fate": fate, "fates": numbered.values(), "stages": stages}


def _best_ranks(detail: Detail, ranks: IntArray) -> list[int]:
    """Return the rank of each gold document; in sessions the best place in all that was retrieved, if there is one."""
    if detail.sessions is not None:
        rank, search = detail.sessions.best_places
        rows = detail.sessions.batch.predicted.offsets
        row = detail.sessions.offsets[detail.judged.gold_query]
        places = np.append(np.where(rank > 0, rows[row + search] - rows[row] + rank, 0), 0)
        best = places[detail.judged.gold_number]
        ranks = np.where(best > 0, best, ranks)
    return list(ranks.tolist())


def _in_units(parts: Sequence[tuple[int, int]] | None, text: str | None) -> list[tuple[int, int]] | None:
    """Return parts of a text in UTF-16 units, as the browser counts; None where there is no text or no place."""
    if parts is None or text is None:
        return None
    if not text or max(text) < "\U00010000":
        return list(parts)
    units = np.append(0, np.cumsum([1 + (letter > "\uffff") for letter in text]))
    return [(int(units[start]), int(units[min(end, len(text))])) for start, end in parts]


def _earned(detail: Detail) -> dict[str, Any]:
    """Return for each retrieved document its credit (1: relevant, 2: credited) and the rank that it repeats.

    Where documents are forbidden also why, by their place; after unjudged documents were removed, ranks are others.
    """
    side, judged = detail.batch.predicted, detail.judged
    credit, repeat = np.zeros((2, int(side.offsets[-1])), dtype=np.int64)
    credit[side.offsets[judged.relevant_query] + judged.relevant_rank - 1] = 1
    credit[side.offsets[judged.credited_query] + judged.credited_rank - 1] = 2
    for position, first in detail.repeats.items():
        repeat[position] = first + 1
    again = np.flatnonzero(repeat)
    repeat[again] -= side.offsets[side.query_of(again)]
    earned: dict[str, Any] = {"credit": credit.tolist(), "repeat": repeat.tolist()}
    if detail.leaks is not None and detail.batch.settings.unjudged != "remove":
        starts = side.offsets.tolist()
        why = ((start, detail.leaks.reasons_of(query)) for query, start in enumerate(starts[:-1]))
        earned["forbidden"] = {start + rank - 1: reason for start, reasons in why for rank, reason in reasons.items()}
    return earned


class _Columns(dict[str, list[Any]]):
    """Columns of one length, filled row by row."""

    def __init__(self, *names: str) -> None:
        super().__init__((name, []) for name in names)

    def add(self, *row: object) -> None:
        for column, value in zip(self.values(), row, strict=True):
            column.append(value)


# The metrics shown at first: all of these for a single system, the first of these for several.
_ALONE = ("session_recall", "evidence_complete", "searches_to_evidence", "recall", "ndcg", "mrr", "hit_rate")
_COMPARED = ("recall", "ndcg", "hit_rate", "mrr", "session_recall")


def payload(report: Report) -> Iterator[tuple[str, Any]]:
    """Yield the parts of the data, each with its name, ready for JSON.

    `overview` has columns with one value per query, `details` the gold documents of all queries as document numbers,
    `system-0` and so on what each system retrieved, `rows` the questions as an evaluation set has them, and `texts-0`
    and so on the texts.
    """
    texts = Texts()
    details = Details(report, texts)
    rows = rows_of(report, texts, functools.cache(Redactor()))
    yield "overview", _overview(report, details)
    yield "cut-offs", cut_off_columns(report)
    yield "details", details.columns()
    for number, system in enumerate(details.systems()):
        yield f"system-{number}", system
    yield "rows", rows
    starts = [0]
    for number, block in enumerate(texts.blocks()):
        yield f"texts-{number}", block
        starts.append(starts[-1] + len(block))
    yield "blocks", starts
    yield "labels", _labels(report)


def _labels(report: Report) -> dict[str, Any]:
    """Return what labels of documents need to say: the set, its file, how ids were read; or why there can be none."""
    result, detail = report.systems[0].result, report.systems[0].detail
    settings, ids = detail.batch.settings, detail.query_ids
    why = None
    if settings.uses_spans:
        why = as_json(message("labels-of-spans"))
    elif ids is None:
        why = as_json(message("labels-without-ids"))
    known = json.dumps([ids and [*ids], detail.queries and [*detail.queries]], default=str)
    fingerprint = report.evalset.fingerprint if report.evalset else hashlib.sha256(known.encode()).hexdigest()[:16]
    at_documents = "level:document" in result.signature.split("|")
    return {
        "why": why,
        "set": fingerprint,
        "file": f"labels-{fingerprint}.jsonl",
        "key": settings.id_key if isinstance(settings.id_key, str) and settings.id_key != OWN_ID else None,
        "level": "document" if at_documents else "chunk",
    }


def _overview(report: Report, details: Details) -> dict[str, Any]:
    first = report.systems[0].detail
    keys = list(first.values)
    return {
        "n": report.n_queries,
        "systems": [system.name for system in report.systems],
        "ids": None if first.query_ids is None else list(first.query_ids),
        "questions": None if first.queries is None else _column(first.queries),
        "about": None if report.evalset is None else _about(report.evalset, [*report.slices_by_field]),
        "nGold": first.judged.n_gold.tolist(),
        "metrics": [
            {
                "key": key,
                "lower": is_lower_better(key),
                "systems": [_values(system.detail.values[key]) for system in report.systems],
            }
            for key in keys
            if all(key in system.detail.values for system in report.systems)
        ],
        "shown": _shown_first(keys, report),
        "causes": [{"key": key, "text": as_json(text)} for key, text in CAUSES.items()],
        "k": report.systems[0].diagnosis.k,
        "missed": details.missed,
        "errors": [sorted(system.result.errors) for system in report.systems],
        "leaking": details.leaking,
        "slices": _slices(report),
        "lacking": details.lacking,
    }


def _about(questions: EvalSet, shown: Sequence[str]) -> dict[str, list[Any]]:
    """Return what is known of each question beside what is shown anyway, such as its slices."""
    known = ({"source": q.source, **q.metadata, **q.further} for q in questions)
    redact = Redactor()
    return _column(
        lines_of({name: value for name, value in of.items() if name not in shown and value is not None}, redact)
        for of in known
    )


def _column(values: Any) -> dict[str, list[Any]]:
    """Return a column whose values repeat, as numbers of the distinct values."""
    different: Numbered[Any] = Numbered()
    return {"of": different.numbers(values), "values": different.values()}


def _values(column: FloatArray) -> dict[str, list[Any]]:
    """Return the distinct values of a metric, as numbers and as printed, and which of them each query has.

    They are formatted here because JavaScript rounds ties differently from Python.
    """
    different, of = np.unique(column, return_inverse=True)
    values = [None if math.isnan(value) else value for value in different.tolist()]
    return {"of": of.reshape(-1).tolist(), "values": values, "texts": [format_value(value) for value in values]}


def _shown_first(keys: list[str], report: Report) -> list[str]:
    """Return the metrics that are shown until the reader chooses others."""
    if report.comparison is not None and report.comparison.keys:
        compared = [key for key in report.comparison.keys if key in keys]
        return [key for name in _COMPARED for key in compared if key.partition("@")[0] == name][:1] or compared[:1]
    last = {key.partition("@")[0]: key for key in keys}  # of several cut-offs the last one stays
    names = _ALONE if len(report.systems) == 1 else _COMPARED[:1]
    return [last[name] for name in names if name in last] or keys[:1]


def _slices(report: Report) -> list[dict[str, Any]]:
    return [
        {"field": field, "values": [{"value": part.value, "members": part.chosen.tolist()} for part in parts]}
        for field, parts in report.slices_by_field.items()
    ]


class Documents:
    """Numbered documents, as pairs of an id and a text, with the metadata of the first one with both."""

    def __init__(self, texts: Texts) -> None:
        self.ids: Numbered[str] = Numbered()
        self.texts = texts
        self.metadata: Numbered[str] = Numbered()
        self._pairs: Numbered[int] = Numbered()  # the number of the id, then 32 bits for that of the text plus 1
        self._metadata: list[int | None] = []
        self._redact = functools.cache(Redactor())

    def numbers(
        self,
        ids: Sequence[str | None],
        texts: Sequence[str | None],
        documents: Iterable[object],
        is_gold: Iterable[bool],
    ) -> list[int]:
        """Return the numbers of the documents with these ids and texts; an empty text counts as none.

        Of a gold document without metadata those of the retrieved one are taken.
        """
        of_ids, of_texts = self.ids.numbers(ids), self.texts.numbers(text or None for text in texts)
        numbers = self._pairs.numbers(((np.array(of_ids, np.int64) << 32) + np.array(of_texts, np.int64) + 1).tolist())
        self._metadata += [None] * (len(self._pairs) - len(self._metadata))
        for number, document, one_is_gold in zip(numbers, documents, is_gold, strict=False):
            if self._metadata[number] is None:
                metadata = self.metadata.number(_metadata_of(document, self._redact))
                self._metadata[number] = None if one_is_gold and metadata == NONE else metadata
        return numbers

    @cached_property
    def columns(self) -> dict[str, list[int]]:
        """The numbers of the id, the text and the metadata of each document."""
        pairs = np.array(self._pairs.values(), dtype=np.int64)
        metadata = [NONE if number is None else number for number in self._metadata]
        return {
            "id": (pairs >> 32).tolist(),
            "text": ((pairs & 0xFFFFFFFF) - 1).tolist(),
            "metadata": metadata,
        }


def _metadata_of(document: object, redact: Callable[[str], str]) -> str | None:
    """Return the metadata of a document; None if it has none, or is an id or a text alone."""
    if document is None or isinstance(document, (str, bytes, int)):
        return None
    return lines_of((document if isinstance(document, Document) else read_leniently(document)).metadata, redact)


# Of metadata a reader sees what fits on a screen.
_MOST_NAMES, _LONGEST = 30, 300


def lines_of(values: Mapping[str, Any], redact: Callable[[str], str]) -> str | None:
    r"""Return values as lines of a name and a value without credentials, the long ones shortened; None without any.

    >>> lines_of({"source": "faq.md", "page": 3}, Redactor())
    'source: faq.md\npage: 3'
    """
    if not values:
        return None
    shown = itertools.islice(values.items(), _MOST_NAMES)
    # Cut after credentials are out: a piece of one is not known for what it is.
    lines = [f"{one_line(str(name))}: {one_line(str(value)[: 10 * _LONGEST])}" for name, value in shown]
    cut = (f"{line[:_LONGEST]}…" if len(line) > _LONGEST else line for line in redact("\n".join(lines)).split("\n"))
    return "\n".join(cut)
