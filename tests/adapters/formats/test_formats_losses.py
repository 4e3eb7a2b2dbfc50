"""What a format cannot hold is named when it is written: nothing differs in silence, whatever the set."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krag_eval import (
    Document,
    EvalSet,
    InvalidInputError,
    Question,
    Run,
    RunRow,
    read_evalset,
    read_run,
    write_evalset,
    write_run,
)
from krag_eval.datasets.formats.registry import formats
from krag_eval.datasets.formats.writing import FIELDS
from krag_eval.documents.readers import read_grade

# Each example writes and reads a file.
FEWER = settings(max_examples=settings.default.max_examples // 3 if settings.default else 20)
TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
IDS = st.sampled_from(["a", "b", "c", "д"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["x", "y"]), inner, max_size=2),
    max_leaves=4,
)
METADATA = st.dictionaries(st.sampled_from(["doc_id", "title", "page", "relevance"]), TEXTS | st.integers(0, 3))


@st.composite
def documents(draw: st.DrawFn) -> Document:
    doc_id, text = draw(st.none() | IDS), draw(TEXTS)
    metadata = {name: value for name, value in draw(METADATA).items() if name != "relevance" or isinstance(value, int)}
    if doc_id is None and not text:
        text = "both would be missing"
    return Document(id=doc_id, text=text, grade=draw(st.sampled_from([None, 0.0, 1.0, 2.0, 0.5])), metadata=metadata)


@st.composite
def evalsets(draw: st.DrawFn) -> EvalSet:
    questions = []
    for number in range(draw(st.integers(1, 3))):
        fields: dict[str, Any] = {name: draw(TEXTS) for name in ("question", "answer", "type", "notes", "source")}
        gold = tuple(draw(st.lists(documents(), max_size=3)))
        chunks, docs = draw(st.lists(IDS, max_size=2)), draw(st.lists(IDS, max_size=2))
        metadata = draw(st.dictionaries(st.sampled_from(["m", "answers", "paragraph"]), JSON, max_size=2))
        further = draw(st.dictionaries(st.sampled_from(["extra", "tags"]), JSON, max_size=2))
        questions.append(
            Question(
                id=f"q{number}",
                gold=gold,
                gold_chunk_ids=tuple(chunks),
                gold_doc_ids=tuple(docs),
                metadata=metadata,
                further=further,
                **fields,
            )
        )
    return EvalSet(questions)


# What the warning says where the documents of a question are not those that they were.
_OF_DOCUMENTS = ("same id", "grade 0", "further gold documents", "differ under one id", "without an id")


def silent_differences(before: EvalSet, after: EvalSet, said: str) -> Iterator[str]:
    """What differs and is not named."""
    level = "chunk" if any(question.gold_chunks() for question in before) else "document"
    for old in before:
        new = after.get(old.id)
        if new is None:
            if "questions without" not in said:
                yield f"{old.id} is missing"
            continue
        for name in FIELDS:
            value, then = getattr(old, name) or None, getattr(new, name) or None
            if name == "metadata":  # formats with several answers have the one of this set among them
                value, then = {"answers": None, **old.metadata}, {"answers": None, **new.metadata}
                then["answers"] = value["answers"] if value["answers"] is None else then["answers"]
            if value != then and f"`{name}`" not in said:
                yield f"`{name}` of {old.id}: {value!r} became {then!r}"
        for name in old.further.keys() | new.further.keys():
            if (value := old.further.get(name)) != new.further.get(name) and f"`{name}`" not in said:
                yield f"`{name}` of {old.id}: {value!r} became {new.further.get(name)!r}"
        if level == "chunk" and set(old.gold_doc_ids) != set(new.gold_doc_ids) and "`gold_doc_ids`" not in said:
            yield f"`gold_doc_ids` of {old.id}: {old.gold_doc_ids} became {new.gold_doc_ids}"
        is_rearranged = any(words in said for words in _OF_DOCUMENTS)
        pairs = [*zip(old.gold_at(level), new.gold_at("chunk") or new.gold_at(level), strict=False)]
        if not is_rearranged and len(old.gold_at(level)) != max(len(new.gold_at("chunk")), len(new.gold_at(level))):
            yield f"gold of {old.id}: {old.gold_at(level)} became {new.gold}"
        for one, other in pairs if not is_rearranged else ():
            grades = read_grade(one, "relevance"), read_grade(other, "relevance")
            # A null is the same as nothing, and which document a chunk is of may come to be known.
            known = (None, "relevance", "doc_id")
            metadata = [
                {k: v for k, v in document.metadata.items() if v is not None and k not in known}
                for document in (one, other)
            ]
            parts = {"id": (one.id, other.id), "text": (one.text or None, other.text or None), "grade": grades}
            for name, (value, then) in {**parts, "metadata": tuple(metadata)}.items():
                if value != then and f"`{name}` of documents" not in said:
                    yield f"{name} of a document of {old.id}: {value!r} became {then!r}"


def written(write: Callable[[], None]) -> bool:
    """Whether there was something that the format could hold."""
    try:
        write()
    except InvalidInputError as error:
        if "would be empty" in str(error):
            return False
        raise
    return True


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [name for name, its in formats().items() if its.write_questions is not None])
@FEWER
@given(evalset=evalsets())
def test_whatever_differs_after_writing_and_reading_is_named(name: str, evalset: EvalSet) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = Path(folder) / "out"
        if not written(lambda: write_evalset(evalset, path, format=name)):
            return
        said = "".join(str(warning.message) for warning in caught)
        after = read_evalset(path, format=name)
    assert list(silent_differences(evalset, after, said)) == []


@st.composite
def runs(draw: st.DrawFn) -> Run:
    finite = st.floats(allow_nan=False, allow_infinity=False)
    rows = []
    for number in range(draw(st.integers(1, 3))):
        found = draw(st.lists(documents(), max_size=4))
        scores: list[float | None] = draw(
            st.sampled_from([[3.0, 2.0, 1.5, 1.0], [1.0, 1.0, 0.0, 2.0], [None] * 4, [5.0, None, 1e300, -0.0]])
        )
        rows.append(
            RunRow(
                query_id=f"q{number}",
                retrieved=tuple(
                    Document(id=d.id, text=d.text, score=score, metadata=d.metadata)
                    for d, score in zip(found, scores, strict=False)
                ),
                error=draw(st.none() | st.just("Timeout: 30 s")),
                seconds=draw(st.none() | finite),
                further=draw(st.dictionaries(st.sampled_from(["tag", "response", "cost"]), JSON, max_size=2)),
            )
        )
    parameters = draw(st.dictionaries(st.sampled_from(["chunk_size", "model"]), JSON, max_size=2))
    return Run.of("bm25", rows, parameters=parameters)


def silent_changes(before: Run, after: Run, said: str) -> Iterator[str]:
    """What differs in a run and is not named; the order of documents may not differ at all."""
    if before.parameters != after.parameters and "`parameters`" not in said:
        yield f"parameters: {before.parameters} became {after.parameters}"
    for old in before.rows.values():
        new = after.rows.get(old.query_id)
        if new is None:
            if "rankings without documents" not in said:
                yield f"{old.query_id} is missing"
            continue
        fields = {"error": (old.error, new.error), "seconds": (old.seconds, new.seconds)}
        fields |= {name: (old.further.get(name), new.further.get(name)) for name in old.further}
        for name, (value, then) in fields.items():
            if value is not None and value != then and f"`{name}`" not in said:
                yield f"`{name}` of {old.query_id}: {value!r} became {then!r}"
        if "that repeat an id" in said:
            continue
        ids = [[document.id for document in row.retrieved if document.id is not None] for row in (old, new)]
        if len(old.retrieved) != len(new.retrieved) or (ids[0] != ids[1] and "without an id" not in said):
            yield f"ids of {old.query_id}: {ids[0]} became {ids[1]}"
        for one, other in zip(old.retrieved, new.retrieved, strict=False):
            metadata = [{k: v for k, v in d.metadata.items() if v is not None} for d in (one, other)]
            parts: dict[str, tuple[object, object]] = {"text": (one.text or None, other.text or None)}
            parts["metadata"] = metadata[0], metadata[1]
            if "scores do not give" not in said and one.score is not None:
                parts["score"] = one.score, other.score
            for name, (was, is_now) in parts.items():
                if was != is_now and f"`{name}` of documents" not in said:
                    yield f"{name} of a document of {old.query_id}: {was!r} became {is_now!r}"


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", [name for name, its in formats().items() if its.write_rankings is not None])
@FEWER
@given(run=runs())
def test_whatever_differs_in_a_run_is_named_and_the_order_never_does(name: str, run: Run) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = Path(folder) / "out"
        if not written(lambda: write_run(run, path, format=name)):
            return
        said = "".join(str(warning.message) for warning in caught)
        after = read_run(path, format=name)
    assert list(silent_changes(run, after, said)) == []
