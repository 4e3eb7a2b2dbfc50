"""Read Langfuse datasets as question sets, and write question sets as datasets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from krag_eval import EvalSet, InvalidInputError, Question
from krag_eval.toolkit import one_of, refuse
from krag_eval_langfuse.delivery import requests_of
from krag_eval_langfuse.fields import BareStrings, Fields, NothingFoundError, Where, find_gold

# The metadata key for fields of a question that have no counterpart in an item.
_OURS = "krag_eval"
_LONGEST_ID = 255
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
    """Write a question set as a Langfuse dataset, one item per question; repeating this changes nothing.

    The input of an item is the question's text, its expected output holds `gold`, `gold_chunk_ids`, `gold_doc_ids`
    and `answer`, and its metadata is that of the question. Other items of the dataset are left unchanged.

    Args:
        client: A Langfuse client.
        evalset: The questions.
        dataset_name: The name of the dataset, which is created if it does not exist.
        description: The description of the dataset.
        metadata: The metadata of the dataset.
        id_prefix: A prefix for the ids of the items. An id can occur in only one dataset of a project: two sets with
            the same ids need two prefixes.

    Returns:
        The number of items written.

    Raises:
        InvalidInputError: A question cannot be written as JSON, or its id is too long; nothing is written then.
        LangfuseRequestError: A request failed. Items that were written before are overwritten by the next try.
    """
    items = [_item(question, id_prefix) for question in evalset]  # before the first one is written
    for item in items:
        if len(item["id"]) > _LONGEST_ID:
            raise InvalidInputError(
                f"The id {item['id']!r:.40} has {len(item['id'])} characters. Ids of Langfuse items have at most "
                f"{_LONGEST_ID}. Give the question a shorter id."
            )
    with requests_of("push_evalset", client):
        client.create_dataset(
            name=dataset_name,
            description=description,
            metadata={**(metadata or {}), _OURS: {"fingerprint": evalset.fingerprint, "n_questions": len(evalset)}},
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
        question: Where the question is in the input of an item: a key, or a function of it. By default the input is
            its text, or holds it under a key such as `question` or `query`.
        gold: Where the gold documents are in the expected output: a key, or a function of it. By default it is the
            list, or holds it under a key such as `gold`, `gold_chunk_ids`, `gold_doc_ids` or `documents`.
        answer: Where the answer is in the expected output. By default it is a string, or under a key such as `answer`.
        strings: How to read a bare string in a list of gold documents: as `"text"` or `"id"`.
        id_prefix: A prefix of the ids of the items that the ids of the questions do not have.
        skip_without_gold: Leave out items whose gold is unknown. An empty list is known gold: nothing answers the
            question.

    Raises:
        InvalidInputError: An item has no gold, or cannot be read; the message names it.
    """
    one_of("strings", strings, ("text", "id"))
    questions = []
    for item in _items(dataset):
        item_id = str(item.id)
        try:
            fields = _gold_of(item, gold, BareStrings(strings == "id"))
            questions.append(_question(item, item_id.removeprefix(id_prefix), fields, question, answer))
        except NothingFoundError as error:
            if not skip_without_gold:
                raise InvalidInputError(
                    f"item {item_id!r}: {error} Pass skip_without_gold=True to leave such items out."
                ) from None
        except InvalidInputError as error:
            raise error.at(f"item {item_id!r}") from None
    return EvalSet(questions, name=getattr(dataset, "name", None))


def _item(question: Question, id_prefix: str) -> dict[str, Any]:
    row = question.to_dict()
    expected = {name: row[name] for name in (*_GOLD, "answer") if name in row}
    ours = {name: row[name] for name in _FURTHER if name in row}
    if question.further:
        ours["further"] = dict(question.further)
    metadata = {**question.metadata, **({_OURS: ours} if ours else {})}
    item = {
        "id": f"{id_prefix}{question.id}",
        "input": question.question,
        "expected_output": expected,
        "metadata": metadata or None,
    }
    try:
        if _OURS in question.metadata or json.loads(json.dumps(item, allow_nan=False)) != item:
            raise ValueError("it would change when read back")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"The question {question.id!r} cannot be written as JSON: {error}. Its metadata must consist of strings, "
            f"finite numbers, booleans, lists and mappings with string keys, and must not have the key {_OURS!r}."
        ) from None
    return item


def _items(dataset: Any) -> Iterable[Any]:
    items = getattr(dataset, "items", dataset)
    if isinstance(items, (str, bytes, Mapping)) or callable(items) or not isinstance(items, Iterable):
        cure = "Get one with `client.get_dataset(name)`."
        refuse("dataset", "a dataset of Langfuse or a list of its items", dataset, cure)
    return [item for item in items if str(getattr(item, "status", "")).rpartition(".")[2] != "ARCHIVED"]


def _gold_of(item: Any, gold: Where, strings: BareStrings) -> Fields:
    """Return the gold fields of an item."""
    fields = None
    if gold is not None or not isinstance(item.expected_output, str):
        fields = find_gold(item.expected_output, gold, strings)
    if fields is None:
        raise NothingFoundError(
            "There are no gold documents: the expected output is empty or a text, which is probably the answer. Each "
            "question needs a list of them, [] if nothing answers it. Pass their key with `gold=`."
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
    ours = metadata.pop(_OURS, None)
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
    """Return a text in a field of an item: the field itself, or its value under one of these keys."""
    if callable(where):
        found = where(holder)
    elif where is not None:
        if not isinstance(holder, Mapping) or where not in holder:
            raise InvalidInputError(f"there is no key {where!r}. Pass a key that each item has with `{what}=`.")
        found = holder[where]
    elif isinstance(holder, Mapping):
        found = next((holder[key] for key in keys if isinstance(holder.get(key), str)), None)
    else:
        found = holder if isinstance(holder, str) else None
    if found is not None and not isinstance(found, str):
        raise InvalidInputError(f"the {what} must be a string, got {type(found).__name__}.")
    return found
