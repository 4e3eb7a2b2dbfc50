"""What the fields of rows are, by their names, their values and what stands beside them: all guessing happens here."""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import (
    Argument,
    Kind,
    Source,
    TextCell,
    as_id,
    escape_controls,
    parse_json,
    show,
)

_MOST_FIELDS, _MOST_OBJECTS, _DEEPEST, _LONGEST = 300, 1_000, 4, 200
_OWN_GOLD = ("gold", "gold_texts", "gold_chunk_ids", "gold_doc_ids")
_OWN_RETRIEVED = ("retrieved", "retrieved_ids", "retrieved_texts", "searches", "stages")
# What may be a document, or say something about the question.
_WEAK = {"title", "text", "content", "page", "section", "link", "url", "session", "fact", "knowledge", "slug", "path"}
_OF_JUDGMENTS = {"id": "id", "question": "question", "doc_id": "gold", "text": "gold", "grade": "grade"}
_WITHIN = {"start", "end", "offset", "line", "sent", "sentence"}  # places in a text, and no page
_PLURAL = re.compile(r"(?<=[a-z]{3})s$")
_ENDS = ("?", "？", "؟", "까", "요", "か", "吗", "呢")


def _folded(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if unicodedata.category(c) != "Mn")


@functools.cache
def _lexicon() -> dict[str, set[str]]:
    """Return the kinds of each word, as `field_words.txt` has them."""
    kinds, kind = dict[str, set[str]](), ""
    for line in Path(__file__).with_name("field_words.txt").read_text(encoding="utf-8").splitlines():
        before, colon, rest = line.partition(":")
        kind = before if colon else kind
        for word in () if line.startswith("#") else (rest if colon else line).split():
            kinds.setdefault(_folded(word), set()).add(kind)
    return kinds


def parts_of(name: str) -> list[str]:
    """Return the parts of a name, in lower case, without accents and plural.

    >>> parts_of("expectedOutput.doc_ids")
    ['expected', 'output', 'doc', 'ids']
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [_PLURAL.sub("", part) for part in re.split(r"[\W_]+", _folded(spaced)) if part]


@functools.lru_cache(maxsize=4096)
def meanings(name: str) -> frozenset[str]:
    """Return the kinds of words in a name."""
    name = name[:_LONGEST]
    parts, whole, lexicon = parts_of(name), _folded(name), _lexicon()
    found: set[str] = set()
    for part in parts:
        for end in range(1, len(part) + 1):
            if end > 3 or end == len(part):
                found |= lexicon.get(part[:end], set())
    if not whole.isascii():
        found |= {kind for word, kinds in lexicon.items() if not word.isascii() and word in whole for kind in kinds}
    pairs = set(itertools.pairwise(parts))
    if pairs & {("must", "not"), ("should", "not"), ("not", "expected"), ("do", "not")}:
        found.add("forbidden")
    found |= {"gold"} if "evidence" in found else set()
    return frozenset(found - {"about", "yes", "no"})


def verdict_of(value: object) -> str:
    """Return "1" for a word that says that a document is relevant, "0" for one that says that it is not, else "".

    >>> verdict_of("Not relevant"), verdict_of(True), verdict_of("partly")
    ('0', '1', '')
    """
    kinds = _lexicon().get(re.sub(r"[\W_]+", "", _folded(str(value)[:_LONGEST])), set())
    return "1" if "yes" in kinds else "0" if "no" in kinds else ""


def graded(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a document of one id and a grade under names of its own with those of ours; any other as it is."""
    grade = next((key for key in given if "grade" in meanings(key)), None)
    ids = [key for key, one in given.items() if as_id(one) is not None and meanings(key) & {"id", "document"}]
    ids = ["id"] if "id" in given else ids
    if grade is None or len(ids) != 1 or {"id", grade} <= {*ids, "grade", "relevance"}:
        return given
    return {"id": given[ids[0]], "grade": given[grade]} | ({"text": given["text"]} if "text" in given else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of the rows of a file, and what it is taken for.

    Attributes:
        name: Its name; of a nested field the path, with dots.
        role: What it is: `question`, `id`, `gold`, `must_not`, `retrieved`, `answer`, `reference answer`, `documents`
            (gold or retrieved, which is not certain), `grade`, `flag`, `number` or `other`.
        shape: What it holds: `ids`, `texts`, `numbers`, `flags`, `objects`, `grades`, `pairs`, `lists` or `nothing`.
        n: How many of the rows have a value there.
        example: The first value.
        why: What says so.
    """

    name: str
    role: str
    shape: str
    n: int
    example: Any
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One way to read a file: what its rows then are, and the keyword arguments that read it so.

    Attributes:
        kind: As of `Inspection`.
        options: The keyword arguments of `read_evalset`, or `read_run` for a run or a log.
        meaning: What the rows are then, in words.
    """

    kind: str
    options: Mapping[str, Any]
    meaning: str

    def holds(self, kind: str) -> bool:
        """Return whether an evaluation set, or a run, can be read so."""
        return self.kind in (("evalset", "both") if kind == "evalset" else ("run", "log", "both"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Understanding:
    """What rows were found to be.

    Attributes:
        fields: Their fields.
        readings: The ways to read them: one if it is certain, two if it is not, or none.
        run: How to read what was retrieved, if there is any.
        options: Further options that the ids of the other side show: what separates ids.
        judgments: The names of the fields `id`, `question`, `doc_id`, `text` and `grade`, if each row is a question, a
            document and its grade; else empty.
    """

    fields: tuple[Field, ...]
    readings: tuple[Reading, ...]
    run: Reading | None
    options: Mapping[str, Any]
    judgments: Mapping[str, str]


def understand(rows: Sequence[Mapping[str, Any]], *, known: frozenset[str] = frozenset()) -> Understanding:
    """Return what the fields of rows are.

    Args:
        rows: The rows as they are stored; cells of tables are texts.
        known: The ids of the run or the corpus that belongs to them, if it is known.

    >>> found = understand([{"query": "When?", "expected_sources": ["loans.md"], "answer": "In May."}])
    >>> found.readings[0].kind, found.readings[0].options
    ('evalset', {'columns': {'question': 'query', 'gold_doc_ids': 'expected_sources'}})
    """
    return _Rows(rows, known).understood()


def understood(source: Source, kind: Kind) -> None:
    """Read the rows of a file with names of its own as they are certainly meant, if they are.

    Raises:
        InvalidInputError: They may be meant in two ways, or hold certainly something else.
    """
    found = understand(source.sample)
    readings = list(found.readings) if kind == "evalset" else [found.run] if found.run else []
    usable = [one for one in readings if one.holds(kind)]
    if len(readings) == len(usable) == 1:
        source.use(**usable[0].options)
    elif not source.has(kind) and found.readings:
        is_log = kind == "evalset" and [one.kind for one in found.readings] == ["log"]
        if is_log or not source.has("run"):
            raise InvalidInputError(f"{source.path}: ", *refusal(found, kind, source.path))


def refusal(found: Understanding, kind: str, path: str) -> tuple[str | Argument, ...]:
    """Return what to say of the rows of a file that cannot be read as what is wanted, or in more than one way."""
    readings = found.readings
    if len(readings) > 1:
        parts: tuple[str | Argument, ...] = ("can be read in several ways. ",)
        for one in readings:
            example = next((f.example for f in found.fields if f"`{f.name}`" in one.meaning), None)
            reader = ", read by read_run" if one.kind in ("run", "log") else ""
            parts += (f"{one.meaning[:1].upper()}{one.meaning[1:]} (such as {show(example)}{reader})",)
            parts += (": ", Argument("columns", one.options["columns"]), ". ") if "columns" in one.options else (". ",)
        return *parts, "Say which is meant."
    (one,) = readings
    if one.kind == "answers":
        names = " and ".join(f"`{f.name}`" for f in found.fields if f.role in ("answer", "reference answer"))
        said = (
            f"holds questions and answers ({names}), and no gold documents. Add a field with the ids or the texts of "
        )
        more = "the documents that answer each question; an answer is none. `krag_eval_answers` compares answers."
        return (said + more,)
    if kind == "evalset" and one.kind == "log":
        said = f"holds a log: what was retrieved, with answers, and no gold documents ({one.meaning}). "
        return (f"{said}`krag-eval start {shlex.quote(path)}` leads from it to a number.",)
    if kind == "evalset":
        said = f"holds a run: what was retrieved, and no gold documents ({one.meaning}). "
        return (f"{said}Read it with `read_run`, beside a set with gold.",)
    return (f"holds an evaluation set and nothing that was retrieved: {one.meaning}. Give a run.",)


def no_column(columns: Mapping[str, Any], field: str, names: Iterable[str]) -> tuple[str | Argument, ...]:
    """Return sentences about the column of a field that is not there, with what may be meant.

    >>> print(*no_column({"question": "querry"}, "question", ["query", "pos"]), sep="")
    has no column 'querry'. It has: pos, query. Did you mean columns={'question': 'query'}?
    """
    import difflib  # only a mistake needs it

    listed = sorted(names)
    near = [name for name in listed if len(name) <= 200]  # two names of a megabyte would take hours
    close = difflib.get_close_matches(columns[field][:200].casefold(), [name.casefold() for name in near], n=1)
    free = (name for name in near if name not in columns.values() and field.partition("_")[0] in meanings(name))
    meant = next((name for name in near if [name.casefold()] == close), next(free, None))
    said = f"has no column {columns[field]!r:.60}. It has: {', '.join(listed)!s:.300}."
    if meant in (None, field):
        return (said,)
    return f"{said} Did you mean ", Argument("columns", {**columns, field: meant}), "?"


def suggestion(
    kind: str, row: Mapping[str, Any], wanted: str | None = None, given: Mapping[str, Any] | None = None
) -> tuple[str | Argument, ...]:
    """Return sentences that list the columns of a row and suggest `columns` if it is certain what is meant.

    Args:
        kind: What is read: `evalset` or `run`.
        row: A row.
        wanted: The field that is missing; by default all that are needed.
        given: The columns that are named already.

    >>> print(*suggestion("evalset", {"frage": "Wann?", "belege": ["hilfe.md"]}), sep="")
    The columns are: frage, belege. Name those that are meant: columns={'question': 'frage', 'gold_doc_ids': 'belege'}.
    """
    shown = escape_controls(", ".join(map(str, row)))[:300]  # an escape is six times as long as its character
    if not row:
        return ()
    found = understand([row])
    readings = list(found.readings) if kind == "evalset" else [found.run] if found.run else []
    usable = [one for one in readings if one.holds(kind)]
    meant = dict(usable[0].options.get("columns", {})) if len(readings) == len(usable) == 1 else {}
    if wanted == "question":
        meant = dict.fromkeys([wanted], next((one.name for one in found.fields if one.role == wanted), wanted))
    meant = {**meant, **(given or {})}
    if meant and (wanted or meant != dict(given or {})):
        return f"The columns are: {shown}. Name those that are meant: ", Argument("columns", meant), "."
    names = "gold_chunk_ids, gold_doc_ids or gold_texts" if kind == "evalset" else "retrieved_ids or retrieved_texts"
    return (f"The columns are: {shown}. Say with `columns` which one is {wanted or names}.",)


class _Rows:
    """The rows of a file by their fields."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], known: frozenset[str]) -> None:
        self.known, self.n_rows = set(known), len(rows)
        self.values: dict[str, list[Any]] = {}
        leaves = [dict(_leaves(row)) for row in rows]
        ends = [TextCell(name).numbered() for name in {name for one in leaves for name in one}]
        numbered = Counter(base for base, number in ends if number)
        for number, row in enumerate(leaves):
            for name, value in _numbered_as_lists(row, numbered).items():
                if name in self.values or len(self.values) < _MOST_FIELDS:
                    self.values.setdefault(name, [None] * len(rows))[number] = value
        self.shapes = {name: self._shape(name) for name in self.values}
        self.roles: dict[str, tuple[str, str]] = {name: self._role(name) for name in self.values}

    def with_role(self, *roles: str) -> list[str]:
        return [name for name, (role, _) in self.roles.items() if role in roles]

    def given(self, name: str) -> list[Any]:
        return [value for value in self.values[name] if value not in (None, "", [], {})]

    def _shape(self, name: str) -> str:
        values = self.given(name)
        if any(isinstance(value, list) for value in values):
            lists = [value if isinstance(value, list) else [value] for value in values]
            values = [one for value in lists for one in value if one not in (None, "")]
        if not values:
            return "nothing"
        kinds = {_kind_of(value) for value in values}
        if len(kinds) > 1 and kinds <= {"whole", "text"}:
            kinds = {"text"}
        if len(kinds) > 1:
            return "lists"
        (kind,) = kinds
        if kind == "list":
            inner = [value for value in values if value]
            if all(len(one) == 2 and _kind_of(one[1]) == "whole" and isinstance(one[0], str) for one in inner):
                return "pairs"
            return "lists"
        if kind == "text":
            return "ids" if self._are_ids(name, [str(value) for value in values]) else "texts"
        if kind == "whole":
            return "ids" if "id" in meanings(name) or self._has_lists(name) else "numbers"
        return {"flag": "flags", "number": "numbers", "mapping": "objects", "grades": "grades"}[kind]

    def _are_ids(self, name: str, values: list[str]) -> bool:
        """Return whether strings are ids: by their looks, or because they are short and their field is one of names."""
        means = meanings(name)
        if self.known and sum(value in self.known for value in values) * 2 > len(values):
            return True
        several = [len(TextCell(value).ids()) > 1 for value in values]
        values = [one for value in values for one in TextCell(value).ids()] if any(several) else values
        if all(TextCell(value).is_file for value in values):
            return True
        if all(TextCell(value).is_word for value in values):
            return "passage" not in means or "id" in means or all(re.search(r"[0-9_./:#-]", one) for one in values)
        if "id" in means:
            return all(len(value) < 300 for value in values)
        are_short = all(len(value) <= 120 and not value.rstrip().endswith((".", "。", "!", "…")) for value in values)
        return are_short and bool(means & {"document"}) and not means & {"passage", "answer", "question"}

    def _role(self, name: str) -> tuple[str, str]:
        """Return what a field is by its own name and values, and why."""
        if name in (*_OWN_GOLD, "must_not"):
            return ("must_not" if name == "must_not" else "gold"), "it has the name of this field"
        if name in _OWN_RETRIEVED:
            return "retrieved", "it has the name of this field"
        shape, means, parts = self.shapes[name], meanings(name), parts_of(name)
        if parts and parts[-1] in ("text", "content", "string") and means & {"answer", "gold"}:
            means = meanings(".".join(parts[:-1]))  # the text of an answer is no passage
        said = f"its name says {', '.join(sorted(means - {'passage', 'page', 'support', 'chunk'}))}"
        is_gold, is_answer, is_id = "gold" in means, "answer" in means, "id" in means
        is_document = bool(means & {"document", "evidence"})
        if shape == "nothing":
            return "other", "it holds nothing"
        if shape == "flags":
            return "flag", "true or false"
        if parts and "about" in _lexicon().get(parts[-1], ()):
            return "other", "its name says that it is about something else"
        if shape == "numbers" and not (is_id or is_answer or (is_gold and is_document and "page" not in means)):
            return "number", "numbers"
        if parts and parts[0] in ("metadata", "meta") and not is_gold:
            return "other", "it is metadata"
        if "forbidden" in means:
            return "must_not", said
        if "negative" in means:
            return "other", "its name says that these are wrong ones"
        if is_id and not is_gold and ("question" in means or (means == {"id"} and "." not in name)):
            return "id", said
        if is_answer and is_id and not is_document:
            return "unclear", said
        if is_gold and (is_document or is_id or "retrieved" in means or set(parts) & {"pos", "positive"}):
            return "gold", said
        if is_answer and is_document:
            is_cited = parts[0] in ("output", "response") or parts[-1].startswith(("source", "citation"))
            return ("documents", said) if is_cited else ("gold", "its name says where the answer is")
        if "retrieved" in means and not is_gold:
            is_text = parts == ["result"] and shape == "texts" and not self._has_lists(name)
            return ("answer", "a text and no list of documents") if is_text else ("retrieved", said)
        if is_answer:
            return ("reference answer" if is_gold else "answer"), said
        if is_gold:
            if shape in ("ids", "objects", "grades", "pairs"):
                return ("gold" if self._are_surely_ids(name) else "unclear"), said
            is_plain = all(meanings(part) for part in parts)
            return ("reference answer", f"{said}, and it holds texts") if is_plain else ("other", "nothing says more")
        if is_document:
            return "documents", said
        if "question" in means and shape in ("texts", "ids"):
            return "question", said
        return "other", "nothing says more"

    def _has_lists(self, name: str) -> bool:
        return any(isinstance(value, list) for value in self.values[name])

    def _are_surely_ids(self, name: str) -> bool:
        """Return whether values under a name such as `expected` can be nothing but ids of documents."""
        flat = self._flat(name)
        if self.shapes[name] != "ids":
            return self.shapes[name] in ("objects", "grades")
        if self.known:
            return any(as_id(one) in self.known for one in flat)
        is_plain = all(meanings(part) for part in parts_of(name))  # expected, and not expected_tools
        return (self._has_lists(name) and is_plain) or all(
            isinstance(one, str) and TextCell(one).is_file for one in flat
        )

    def _question(self) -> str | None:
        """Return the field of the question; that with the plainest name, or else with the most question marks."""
        named = self.with_role("question")
        if named:
            order = ("question", "query", "user_input", "inputs.question", "input.question", "vars.question")
            return min(named, key=lambda n: (order.index(n) if n in order else len(order), len(parts_of(n)), len(n)))
        asked = {
            name: sum(isinstance(one, str) and one.rstrip().endswith(_ENDS) for one in self.given(name))
            for name in self.with_role("other", "documents", "answer", "reference answer")
            if self.shapes[name] == "texts"
        }
        best = max(asked, key=lambda name: asked[name], default=None)
        return best if best is not None and asked[best] * 2 > self.n_rows else None

    def _id(self) -> tuple[str | None, str | None]:
        """Return the field of the question's id; second, one called `id` that repeats: it may be no such id."""
        order = ("id", "query_id", "qid", "question_id", "_id")
        named = sorted(self.with_role("id"), key=lambda n: (order.index(n) if n in order else len(order), len(n)))
        for name in named:
            ids = [as_id(one) for one in self.values[name]]
            if None not in ids and len(set(ids)) == len(ids):
                return name, None
        full = [name for name in named if None not in self.values[name]]
        repeated = next((name for name in full if name in ("id", "_id")), None)
        return (None, repeated) if repeated else (next(iter(full), None), None)

    def understood(self) -> Understanding:
        judgments, question, (id_, repeated) = self._judgments(), self._question(), self._id()
        others = [name for name in self.with_role("question") if name != question]
        is_mixed = question is not None and self._is_mixed(question, others)
        for name in others:
            self.roles[name] = "other", f"the question is `{question}`"
        if question is not None and self.roles[question][0] != "question":
            self.roles[question] = "question", "its values are questions"
        golds, retrieved = self.with_role("gold"), self.with_role("retrieved")
        if not golds and repeated is not None and question is not None and not retrieved:
            self.roles[repeated] = "gold", "it repeats, so it is the id of a document and not of the question"
            golds, repeated = [repeated], None
        id_ = id_ or repeated  # ids that repeat are refused with their place
        if "actual" in self.values and not golds and [parts_of(one)[:1] for one in retrieved] == [["predicted"]]:
            golds, self.roles["actual"] = ["actual"], ("gold", "it stands beside `predicted`, as in `evaluate`")
        graded = [name for name in self.with_role("documents") if self._grade_in(name)]
        if not golds and not retrieved and graded:
            golds, self.roles[graded[0]] = graded[:1], ("gold", "each document has a grade")
        flagged = [name for name in self.with_role("documents", "other") if self._flag_in(name)]
        if not golds and flagged:
            golds = flagged[:1]
            self.roles[golds[0]] = "gold", f"`{self._flag_in(golds[0])}` marks those that answer"
        if question is not None:
            for name in self.with_role("unclear") if self.with_role("documents", "gold", "retrieved") else ():
                if not self._has_lists(name):
                    self.roles[name] = "reference answer", "documents stand beside it"
            self._settle_documents(golds, retrieved)
        golds, retrieved, unclear = self.with_role("gold"), self.with_role("retrieved"), self.with_role("unclear")
        found = (one for name in retrieved if self.shapes[name] == "ids" for one in self._flat(name))
        self.known |= {part for one in found for part in TextCell(one).ids()}
        documents = self.with_role("documents")
        if is_mixed:
            golds, retrieved, unclear, documents = [], [], [], []
        base = self._base(question, id_)
        if golds:
            chosen = self._chosen(golds)
            readings = [self._evalset(base, one, bool(retrieved)) for one in chosen]
            lists = [name for name in chosen[0] if self.shapes[name] == "lists" and name not in _OWN_GOLD]
            if lists and "gt" not in parts_of(lists[0]):
                readings = self._of_lists(base, lists[0])
        elif unclear or (documents and question is not None):
            readings = [self._evalset(base, [name], False) for name in (unclear or documents)[:2]]
            if len(readings) < 2:
                as_answer = Reading(
                    kind="answers", options={}, meaning=f"`{(unclear or [''])[0]}` is an answer, no gold"
                )
                readings.append(as_answer if unclear else self._run(base, documents))
        elif retrieved or (documents and id_ is not None and "question" in meanings(id_)):
            readings = [self._run(base, retrieved or documents)]
        elif question is not None and self.with_role("answer", "reference answer"):
            readings = [Reading(kind="answers", options={}, meaning="questions with answers, without documents")]
        else:
            readings = []
        if judgments:
            readings = [Reading(kind="evalset", options={}, meaning="each row is a question, a document and its grade")]
            for field, name in judgments.items():
                self.roles[name] = _OF_JUDGMENTS[field], f"each row has its grade, `{judgments['grade']}`"
        fields = [
            Field(
                name=name,
                role=self.roles[name][0],
                shape=self.shapes[name],
                n=len(self.given(name)),
                example=next(iter(self.given(name)), None),
                why=self.roles[name][1],
            )
            for name in self.values
        ]
        of_run = retrieved or ([] if golds else documents)
        run = self._run(base, of_run) if of_run else None
        return Understanding(
            fields=tuple(fields), readings=tuple(readings), run=run, options=self._separator(golds), judgments=judgments
        )

    def _separator(self, golds: list[str]) -> dict[str, str]:
        """Return what separates ids, if the other side has the parts of strings that would be read as one id."""
        strings = [one for name in golds for one in self._flat(name) if isinstance(one, str)]
        joined = [one for one in strings if one.strip() not in self.known and len(TextCell(one).ids()) == 1]
        for one in TextCell.SEPARATORS if self.known else ():
            parts = [TextCell(value).ids(one) for value in joined if one in value]
            if parts and all(len(each) > 1 and all(part in self.known for part in each) for each in parts):
                return {"separator": one}
        return {}

    def _is_mixed(self, question: str, others: list[str]) -> bool:
        """Return whether a row lacks the question of the others, and has one under another name."""
        rows = zip(self.values[question], *(self.values[name] for name in others), strict=True)
        return any(first in (None, "") and any(rest) for first, *rest in rows)

    def _judgments(self) -> dict[str, str]:
        """Return the fields of rows that are a question, a document and its grade; none if they are anything else."""
        one_each = [name for name in self.values if not self._has_lists(name)]
        grades = [name for name in one_each if "judged" in meanings(name) and self._are_grades(name)]
        documents = [
            n for n in one_each if "document" in meanings(n) and "question" not in meanings(n) and n not in grades
        ]
        ids, is_run = self.with_role("id"), any("retrieved" in meanings(name) for name in self.values)
        if is_run or len(grades) != 1 or len(one_each) < len(self.values):
            return {}
        fields = {"grade": grades[0]}
        for field, shape, plain in (("doc_id", "ids", "id"), ("text", "texts", "passage")):
            names = [name for name in documents if self.shapes[name] == shape]
            names = [name for name in names if plain in meanings(name)] or names
            if len(names) > 1:
                return {}
            if names:
                fields[field] = names[0]
        asked = [n for n in self.values if parts_of(n) == ["topic"] or (n in ids and "question" in meanings(n))]
        question = self._question()
        fields |= {"id": asked[0]} if len(asked) == 1 else {}
        fields |= {"question": question} if question is not None and question not in fields.values() else {}
        return fields if fields.keys() & {"id", "question"} and fields.keys() & {"doc_id", "text"} else {}

    def _are_grades(self, name: str) -> bool:
        """Return whether all values are whole numbers, or verdicts such as true or `irrelevant`."""
        values = self.values[name]
        if all(verdict_of(value) for value in values):
            return True
        return all(
            _kind_of(value) in ("whole", "number") and float(str(value).replace(",", ".")).is_integer()
            for value in values
        )

    def _has_grades(self) -> bool:
        """Return whether a row is a pair of a question and a document with a grade or a verdict, which may be none."""
        question = self._question()
        asked = [] if question is None else self.given(question)
        judged = [name for name in self.values if "judged" in meanings(name) and "document" not in meanings(name)]
        return any("grade" in meanings(name) and self.shapes[name] == "numbers" for name in self.values) or (
            bool(judged) and len(set(map(str, asked))) < len(asked)
        )

    def _settle_documents(self, golds: list[str], retrieved: list[str]) -> None:
        """Decide what documents are whose name does not say it, by what stands beside them."""
        documents = self.with_role("documents")
        answers = self.with_role("answer")
        is_example = any(name.startswith("inputs.") for name in self.values) and not any(
            name.split(".")[0] in ("reference_outputs", "expected", "reference") for name in self.values
        )
        for name in documents:
            means = meanings(name)
            if golds:
                self.roles[name] = "other", "the gold is elsewhere"
            elif "page" in means and len(documents) > 1 and self.shapes[name] in ("numbers", "ids"):
                self.roles[name] = "other", "a place within a document"
            elif is_example and name.startswith("outputs."):
                self.roles[name] = "gold", "the outputs of an example are what is expected"
            elif name == "context" and retrieved == ["retrieval_context"]:
                self.roles[name] = "gold", "DeepEval's name for what should be retrieved"
            elif retrieved:
                self.roles[name] = "other", "beside what was retrieved it may be anything"
            elif answers and self._has_lists(name):
                self.roles[name] = "retrieved", f"it stands beside an answer, `{answers[0]}`"
            elif self._has_grades():
                self.roles[name] = "other", "a document with a grade, which may say that it is not relevant"
            elif set(parts_of(name)) <= _WEAK:
                continue  # the title of a question, or that of a document
            elif not answers and (self.with_role("reference answer") or not self._has_lists(name)):
                beside = " beside a reference answer" if self.with_role("reference answer") else ""
                self.roles[name] = "gold", f"the only documents{beside}, and no system has answered"

    def _chosen(self, golds: list[str]) -> list[list[str]]:
        """Return the fields of gold: one group if it is certain, several if any of them may be meant."""
        own = [name for name in golds if name in _OWN_GOLD]
        if own:
            return [own]
        main = [name for name in golds if "page" not in meanings(name) or meanings(name) & {"passage"}] or golds
        by_id = [name for name in main if self._holds_ids(name)]
        texts = [name for name in main if name not in by_id]
        chunks = [name for name in by_id if self._level(name) == "gold_chunk_ids"]
        group = chunks or by_id
        if len(group) > 1 and not self._are_apart(group):
            plain = [name for name in group if "id" in meanings(name)]
            group = plain if len(plain) == 1 else group
            if len(group) > 1:
                return [[name] for name in group[:2]]
        if group:
            return [group]
        return [texts] if len(texts) == 1 or self._are_apart(texts) else [[name] for name in texts[:2]]

    def _are_apart(self, names: list[str]) -> bool:
        """Return whether no row has a value in two of these fields."""
        rows = zip(*(self.values[name] for name in names), strict=True)
        return all(sum(value not in (None, "", [], {}) for value in row) < 2 for row in rows)

    def _holds_ids(self, name: str) -> bool:
        return self.shapes[name] in ("ids", "grades", "pairs", "numbers") or (
            self.shapes[name] == "objects" and "gold_texts" not in self._of_objects(name, "gold")[0]
        )

    def _level(self, name: str) -> str:
        """Return the field for these ids: of chunks where the name says chunks or no documents, else of documents."""
        means = meanings(name)
        if means & {"chunk"}:
            return "gold_chunk_ids"
        flat = self._flat(name)
        if self.known and any(part in self.known for one in flat for part in TextCell(one).ids(known=self.known)):
            return "gold_chunk_ids"  # the other side has them as its own
        are_files = all(isinstance(one, str) and TextCell(one).is_file for one in flat)
        return "gold_doc_ids" if means & {"document"} or are_files or name in ("id", "_id") else "gold_chunk_ids"

    def _base(self, question: str | None, id_: str | None) -> dict[str, Any]:
        if question is not None and id_ is None and all(TextCell(one).is_marked for one in self.given(question)):
            question, id_ = None, question  # q1 is no question
        named = (("question", question), ("id", id_))
        return {field: name for field, name in named if name is not None and name != field}

    def _evalset(self, base: Mapping[str, Any], golds: list[str], has_run: bool) -> Reading:
        columns: dict[str, Any] = dict(base)
        options: dict[str, Any] = {}
        for name in golds:
            if name in _OWN_GOLD:
                continue
            made, id_key = self._gold_columns(name)
            for field, column in made.items():
                columns[field] = [*_listed(columns[field]), column] if field in columns else column
            options |= {"id_key": id_key} if id_key else {}
        forbidden = [name for name in self.with_role("must_not") if name != "must_not"]
        if forbidden:
            columns["must_not"] = forbidden[0] if len(forbidden) == 1 else forbidden
        answers = [n for n in self.with_role("reference answer") if self.shapes[n] in ("texts", "ids")]
        if answers and "answer" not in self.values and not self._has_lists(answers[0]):
            columns["answer"] = answers[0]
        columns = {field: column for field, column in columns.items() if column != field}
        options = {**({"columns": columns} if columns else {}), **options}
        listed = " and ".join(f"`{name}`" for name in golds)
        return Reading(kind="both" if has_run else "evalset", options=options, meaning=f"the gold is in {listed}")

    def _of_lists(self, base: Mapping[str, Any], name: str) -> list[Reading]:
        """Return the readings of lists of lists: an id of several parts, or documents of which any is enough."""
        one_id = Reading(
            kind="evalset",
            options={"columns": {**base, "gold_chunk_ids": name}},
            meaning=f"each list in `{name}` is one id of several parts",
        )
        meaning = f"each list in `{name}` holds documents of which any is enough, to be written as any_of"
        return [one_id, Reading(kind="evalset", options={}, meaning=meaning)]

    def _gold_columns(self, name: str) -> tuple[dict[str, Any], tuple[str, ...]]:
        shape = self.shapes[name]
        if shape == "objects":
            return self._of_objects(name, "gold")
        if shape == "pairs":
            if set(parts_of(name)) & {"fact"}:  # HotpotQA: the title of a document and the number of a sentence
                return {"gold_doc_ids": f"{name}.0"}, ()
            return {"gold_chunk_ids": name}, ()
        if shape in ("grades", "lists", "nothing"):
            return {"gold": name}, ()
        if shape == "ids" and (page := self._page_of(name)):
            return {"gold_chunk_ids": f"{name}+{page}"}, ()
        return {self._level(name) if self._holds_ids(name) else "gold_texts": name}, ()

    def _page_of(self, name: str) -> str | None:
        """Return the field with the pages of these documents, if each of them has one: both together are the id."""
        documents = [_listed(value) for value in self.values[name]]
        flat = [str(one) for row in documents for one in row]
        if "chunk" in meanings(name) or any(one in self.known or len(TextCell(one).ids()) > 1 for one in flat):
            return None
        for page in self.values:
            is_page = page != name and "page" in meanings(page) and _WITHIN.isdisjoint(parts_of(page))
            if not is_page or self._about(page) != self._about(name) or self.shapes[page] not in ("numbers", "ids"):
                continue
            pages = [_listed(value) for value in self.values[page]]
            if all(
                [one is None for one in row] == [one is None for one in of_row]
                for row, of_row in zip(documents, pages, strict=True)
            ):
                return page
        return None

    def _about(self, name: str) -> frozenset[str]:
        """Return what a name says apart from that it is a document or a page."""
        return meanings(name) - {"document", "page", "id", "passage", "chunk"}

    def _flag_in(self, name: str) -> str | None:
        """Return the key of objects that marks those that answer."""
        items = self._objects(name)
        keys = dict.fromkeys(key for item in items for key in item)
        for key in keys:
            values = [item.get(key) for item in items]
            if "support" in meanings(key) and all(one in (True, False, 0, 1) for one in values) and any(values):
                return key
        return None

    def _grade_in(self, name: str) -> bool:
        """Return whether all objects have a whole number as their grade."""
        items = self._objects(name)
        keys = {key for item in items for key in item if "grade" in meanings(key)}
        return len(keys) == 1 and all(_kind_of(item.get(key)) == "whole" for item in items for key in keys)

    def _objects(self, name: str) -> list[Mapping[str, Any]]:
        return [one for one in self._flat(name) if isinstance(one, Mapping)]

    def _flat(self, name: str) -> list[Any]:
        """Return the values of a field one by one, also those in lists."""
        return [one for value in self.given(name) for one in _listed(value)]

    def _of_objects(self, name: str, main: str) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the columns for objects: their text and document, their id, or the keys that are one id together."""
        items, flag = self._objects(name), self._flag_in(name)
        path = f"{name}[{flag}]" if flag and any(not item.get(flag) for item in items) else name
        inner = _Rows(items[:_MOST_OBJECTS], frozenset(self.known))
        keys = [key for key in inner.values if key != flag and inner.shapes[key] != "flags"]
        texts = [
            key
            for key in keys
            if inner.shapes[key] == "texts" and ("passage" in meanings(key) or not meanings(key) & {"document", "id"})
        ]
        ids = [
            key
            for key in keys
            if key not in texts
            and inner.shapes[key] in ("ids", "numbers")
            and not (set(parts_of(key)) & {"rank", "score", "start", "end", "offset", "idx", "index"})
            and "grade" not in meanings(key)
            and (inner.shapes[key] == "ids" or all(isinstance(v, int) for v in inner.given(key)))
        ]
        is_plain = "id" in keys or ("text" in keys and not ids)
        if is_plain or set(keys) >= {"doc_id", "start", "end"} or "any_of" in keys:
            return {main: path}, ()
        own = "retrieved_{}" if main == "retrieved" else "gold_{}"
        if texts:
            text = min(texts, key=lambda key: "passage" not in meanings(key))
            column = {own.format("texts"): f"{path}.{text}"}
            documents = [key for key in ids if inner.shapes[key] == "ids" and meanings(key) & {"document", "id"}]
            documents.sort(key=lambda key: "id" not in meanings(key))  # the title comes after the id
            if documents and main == "gold":
                column["gold_doc_ids"] = f"{path}.{documents[0]}"
            if "_id" in documents and main == "retrieved":  # hits of Elasticsearch
                column["retrieved_ids"] = f"{path}._id"
            return column, ()
        if main == "gold" and len(ids) > 1 and any("grade" in meanings(key) for key in keys):
            ids = ids[:1]
        if len(ids) > 1 and main == "gold":
            return {"gold_chunk_ids": path}, tuple(ids)
        if len(ids) == 1:
            grade = next((key for key in keys if "grade" in meanings(key)), None)
            if grade and main == "gold":
                return {"gold": path}, ()
            field = "retrieved_ids" if main == "retrieved" else self._level(f"{name}.{ids[0]}")
            return {field: f"{path}.{ids[0]}"}, ()
        return {main: path}, ()

    def _run(self, base: Mapping[str, Any], names: list[str]) -> Reading:
        columns = {("query_id" if field == "id" else field): column for field, column in base.items()}
        if "id" in self.with_role("id") and self._id()[0] == "id":
            columns["query_id"] = "id"
        name = max(names, key=lambda one: (self.shapes[one] in ("objects", "ids", "texts"), len(self.given(one))))
        same = [one for one in names if self.shapes[one] in ("ids", "texts")]
        if self.shapes[name] == "objects":
            columns |= self._of_objects(name, "retrieved")[0]
        else:
            for one in same or [name]:
                columns.setdefault("retrieved_ids" if self.shapes[one] == "ids" else "retrieved_texts", one)
        is_log = bool(self.with_role("answer", "reference answer"))
        columns = {field: column for field, column in columns.items() if column != field}
        if name in _OWN_RETRIEVED:
            columns = {field: column for field, column in columns.items() if field in ("query_id", "question")}
        if columns.get("query_id") in ("query_id",):
            del columns["query_id"]
        return Reading(
            kind="log" if is_log else "run",
            options={"columns": columns} if columns else {},
            meaning=f"`{name}` is what was retrieved" + (", and there is no gold" if is_log else ""),
        )


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _leaves(row: Mapping[str, Any], before: str = "", depth: int = _DEEPEST) -> Iterator[tuple[str, Any]]:
    """Yield the values of a row by their paths; cells are read as what they stand for."""
    for key, given in row.items():
        value = _value_of(given)
        is_group = isinstance(value, Mapping) and value and depth and _kind_of(value) != "grades"
        if is_group:
            yield from _leaves(value, f"{before}{key}.", depth - 1)
        else:
            yield f"{before}{key}", value


def _numbered_as_lists(leaves: Mapping[str, Any], bases: Mapping[str, int]) -> dict[str, Any]:
    """Return the values by name; those whose base has several numbers are a list under what is before the number."""
    fields: dict[str, Any] = {}
    for name, value in leaves.items():
        base, number = TextCell(name).numbered()
        if not number or not base.strip() or bases[base] < 2:
            fields[name] = value
        elif value not in (None, ""):
            fields.setdefault(base, []).append(value)
    return fields


def _value_of(given: Any) -> Any:
    """Return what a cell of text stands for: a list, an object, a number, a flag; nothing where it says so."""
    if not isinstance(given, str):
        return given
    cell = given.strip()
    if TextCell(cell).is_missing:
        return None
    if cell[:1] in ("[", "{"):
        for parse in (parse_json, ast.literal_eval) if len(cell) < 100_000 else (parse_json,):
            with contextlib.suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                value = parse(cell)
                if isinstance(value, (list, dict)):
                    return value
    if cell.lower() in ("true", "false"):
        return cell.lower() == "true"
    return given


_NUMBER = re.compile(r"[+-]?[0-9]*[.,]?[0-9]+(?:[eE][+-]?[0-9]+)?")


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int) or (isinstance(value, str) and value.strip().isdecimal()):
        return "whole"
    if isinstance(value, float) or (isinstance(value, str) and _NUMBER.fullmatch(value.strip())):
        return "number"
    if isinstance(value, Mapping):
        numbers = value and all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in value.values())
        return "grades" if numbers else "mapping"
    return "list" if isinstance(value, (list, tuple)) else "text"
