"""Question sets in Langfuse: a dataset as an `EvalSet`, and an `EvalSet` as a dataset."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from krag_eval import EvalSet, InvalidInputError, Question
from krag_eval_langfuse.fields import BareStrings, Fields, NothingFoundError, Where, find_gold

# The fields of a question that have no place of their own in an item stand under this key of its metadata.
OURS = "krag_eval"
LONGEST_ID = 255
_GOLD = ("gold", "gold_chunk_ids", "gold_doc_ids")
_FURTHER = ("type", "notes", "source")
_QUESTION = ("question", "query", "input", "user_input", "prompt", "text")
_ANSWER = ("answer", "expected_answer", "reference", "reference_answer")


def push_evalset(
    client: Any,
    evalset: EvalSet,
    dataset_name: str,
    *,
    description: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    id_prefix: str = "",
) -> int:
    """Write a question set as a dataset of Langfuse, one item a question; to do so again changes nothing.

    The input of an item is the question's text, its expected output holds `gold`, `gold_chunk_ids`, `gold_doc_ids`
    and `answer`, its metadata are the question's. Items that the dataset has on top are left alone.

    Args:
        client: A Langfuse client.
        evalset: The questions.
        dataset_name: The name of the dataset; it is made where there is none.
        description: The description of the dataset.
        metadata: The metadata of the dataset.
        id_prefix: What the ids of the items begin with. An id can stand in one dataset of a project only: two sets
            with the same ids need two prefixes.

    Returns:
        How many items were written.

    Raises:
        InvalidInputError: A question holds what JSON cannot say, or its id is too long; nothing is written then.
    """
    items = [_item(question, id_prefix) for question in evalset]  # before the first one is written
    for item in items:
        if len(item["id"]) > LONGEST_ID:
            raise InvalidInputError(
                f"The id {item['id']!r:.40} has {len(item['id'])} characters. An item of Langfuse has an id of at most "
                f"{LONGEST_ID}. Give the question a shorter one."
            )
    client.create_dataset(
        name=dataset_name,
        description=description,
        metadata={**(metadata or {}), OURS: {"fingerprint": evalset.fingerprint, "n_questions": len(evalset)}},
    )
    for item in items:
        client.create_dataset_item(dataset_name=dataset_name, **item)
    return len(items)


def evalset_from_langfuse_dataset(
    dataset: Any,
    *,
    question: str | Callable[[Any], object] | None = None,
    gold: Where = None,
    answer: str | Callable[[Any], object] | None = None,
    strings: str = "text",
    id_prefix: str = "",
    skip_without_gold: bool = False,
) -> EvalSet:
    """Read a dataset of Langfuse as a question set.

    Args:
        dataset: What `client.get_dataset(name)` returns, or a list of its items. Archived items are left out.
        question: Where the question stands in the input of an item: a key, or a function of it. By default the input
            is its text, or has it under a key such as `question` or `query`.
        gold: Where the gold documents stand in the expected output: a key, or a function of it. By default it is the
            list, or has it under a key such as `gold`, `gold_chunk_ids`, `gold_doc_ids` or `documents`.
        answer: Where the answer stands in the expected output. By default it is a string, or under a key such as
            `answer`.
        strings: What a bare string is in a list of gold documents: `"text"` or `"id"`.
        id_prefix: What the ids of the items begin with and those of the questions do not.
        skip_without_gold: Leave out items of which no gold is known. An empty list is known: nothing answers it.

    Raises:
        InvalidInputError: An item has no gold, or cannot be read; the message names it.
    """
    if strings not in ("text", "id"):
        raise InvalidInputError(f"`strings` is {strings!r:.60}. A bare string is a 'text' or an 'id'. Name one.")
    questions = []
    for item in _items(dataset):
        item_id = str(item.id)
        try:
            fields = _gold_of(item, gold, BareStrings(strings == "id"))
            questions.append(_question(item, item_id.removeprefix(id_prefix), fields, question, answer))
        except NothingFoundError as error:
            if not skip_without_gold:
                raise InvalidInputError(
                    f"item {item_id!r}: {error} To leave such items out: skip_without_gold=True."
                ) from None
        except InvalidInputError as error:
            raise InvalidInputError(f"item {item_id!r}: {error}") from None
    return EvalSet(questions, name=getattr(dataset, "name", None))


def _item(question: Question, id_prefix: str) -> dict[str, Any]:
    row = question.to_dict()
    expected = {name: row[name] for name in (*_GOLD, "answer") if name in row}
    ours = {name: row[name] for name in _FURTHER if name in row}
    if question.further:
        ours["further"] = dict(question.further)
    metadata = {**question.metadata, **({OURS: ours} if ours else {})}
    item = {
        "id": f"{id_prefix}{question.id}",
        "input": question.question,
        "expected_output": expected,
        "metadata": metadata or None,
    }
    try:
        if OURS in question.metadata or json.loads(json.dumps(item, allow_nan=False)) != item:
            raise ValueError("it would come back as something else")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"The question {question.id!r} cannot be written as JSON: {error}. Its metadata must be strings, finite "
            f"numbers, booleans, lists and mappings with string keys, none of them {OURS!r}. Change them."
        ) from None
    return item


def _items(dataset: Any) -> Iterable[Any]:
    items = getattr(dataset, "items", dataset)
    if isinstance(items, (str, bytes, Mapping)) or callable(items) or not isinstance(items, Iterable):
        raise InvalidInputError(
            f"`dataset` is of the type {type(dataset).__name__}. It must be a dataset of Langfuse or a list of its "
            "items. Get one with `client.get_dataset(name)`."
        )
    return [item for item in items if str(getattr(item, "status", "")).rpartition(".")[2] != "ARCHIVED"]


def _gold_of(item: Any, gold: Where, strings: BareStrings) -> Fields:
    """The gold fields of an item."""
    fields = None
    if gold is not None or not isinstance(item.expected_output, str):
        fields = find_gold(item.expected_output, gold, strings)
    if fields is None:
        raise NothingFoundError(
            "No gold documents are known: the expected output is empty or a text, which is probably the answer. Each "
            "question needs a list of them, [] where nothing answers it. Name where they stand with `gold=`."
        )
    return fields


def _question(
    item: Any,
    question_id: str,
    fields: Mapping[str, list[Any]],
    question: str | Callable[[Any], object] | None,
    answer: str | Callable[[Any], object] | None,
) -> Question:
    metadata = dict(item.metadata) if isinstance(item.metadata, Mapping) else {}
    ours = metadata.pop(OURS, None)
    known: dict[str, Any] = dict(ours) if isinstance(ours, Mapping) else {}
    return Question(
        id=question_id,
        question=_text("question", item.input, question, _QUESTION),
        answer=_text("answer", item.expected_output, answer, _ANSWER),
        metadata=metadata,
        further=known.get("further") or {},
        gold=tuple(fields.get("gold", ())),
        gold_chunk_ids=tuple(fields.get("gold_chunk_ids", ())),
        gold_doc_ids=tuple(fields.get("gold_doc_ids", ())),
        **{name: known[name] for name in _FURTHER if known.get(name) is not None},
    )


def _text(what: str, holder: Any, where: str | Callable[[Any], object] | None, keys: Iterable[str]) -> str | None:
    """A text in a field of an item: the field itself, or what stands in it under one of these keys."""
    if callable(where):
        found = where(holder)
    elif where is not None:
        if not isinstance(holder, Mapping) or where not in holder:
            raise InvalidInputError(f"there is no key {where!r}, which `{what}=` names. Name one that each item has.")
        found = holder[where]
    elif isinstance(holder, Mapping):
        found = next((holder[key] for key in keys if isinstance(holder.get(key), str)), None)
    else:
        found = holder if isinstance(holder, str) else None
    if found is not None and not isinstance(found, str):
        raise InvalidInputError(f"the {what} is of the type {type(found).__name__}. It must be a text.")
    return found
