"""Queues for Argilla, Label Studio and Langfuse, as files, and the labels that come back.

The files were checked once against argilla 2.8.0 and label-studio-sdk 2.1.2, which read and wrote them.

* Argilla 2.8: a list of records as `Record.to_dict` writes them, which `dataset.records.from_json` and
  `dataset.records.to_json` read and write (argilla/records/_io/_json.py).
* Label Studio 1.2x: a list of tasks with `data` and `predictions`; the exports JSON and JSON-MIN
  (https://labelstud.io/guide/task_format, https://labelstud.io/guide/export).
* Langfuse 3: the bodies of `POST /api/public/score-configs`, `/annotation-queues`, `/ingestion` (traces) and
  `/annotation-queues/{queueId}/items`; back come the rows of `GET /api/public/v2/scores`
  (https://api.reference.langfuse.com).

A model's label is shown to people only if that is asked for: they tend to agree with what they see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from krag_eval_labels.labelling.items import Item, Said
from krag_eval_labels.labelling.queue import GRADES

QUESTION = "relevance"
"""What the question is called in Argilla and Label Studio, and the score in Langfuse."""
_MEANINGS = ("not relevant", "relevant", "answers it fully")
LABEL_STUDIO_CONFIG = """<View>
  <Header value="$question"/>
  <Text name="passage" value="$text"/>
  <Choices name="relevance" toName="passage" choice="single" required="true">
    <Choice value="0" hint="not relevant" hotkey="0"/>
    <Choice value="1" hint="relevant" hotkey="1"/>
    <Choice value="2" hint="answers it fully" hotkey="2"/>
  </Choices>
</View>"""


def argilla(items: Iterable[Item], *, suggest: bool) -> object:
    """Return records: the fields `question` and `text`, and the label question `relevance` with "0", "1" and "2"."""
    return [
        {
            "id": item.key,
            "fields": {"question": item.question, "text": item.text},
            "metadata": {"query_id": item.query_id, "document_id": item.document_id},
            "suggestions": {
                name: {"value": _choice(judge), "score": None, "agent": "judge"}
                for name, judge in zip([QUESTION], _shown(item, suggest), strict=False)
            },
            "responses": {},
            "vectors": {},
            "status": "pending",
            "_server_id": None,
        }
        for item in items
    ]


def label_studio(items: Iterable[Item], *, suggest: bool) -> object:
    """Return tasks for a project with the labelling interface `LABEL_STUDIO_CONFIG`."""
    return [
        {
            "data": {
                "key": item.key,
                "question": item.question,
                "text": item.text,
                "query_id": item.query_id,
                "document_id": item.document_id,
            },
            "predictions": [
                {
                    "model_version": "judge",
                    "result": [
                        {
                            "from_name": QUESTION,
                            "to_name": "passage",
                            "type": "choices",
                            "value": {"choices": [_choice(judge)]},
                        }
                    ],
                }
                for judge in _shown(item, suggest)
            ],
        }
        for item in items
    ]


def langfuse(items: Iterable[Item], *, suggest: bool) -> object:
    """Return a score config, a queue, one trace per document, and the items of the queue."""
    items = list(items)
    return {
        "scoreConfig": {
            "name": QUESTION,
            "dataType": "CATEGORICAL",
            "categories": [{"value": n, "label": f"{n} {what}"} for n, what in zip(GRADES, _MEANINGS, strict=True)],
            "description": "Does the passage help to answer the question?",
        },
        "queue": {"name": "krag-eval", "description": "Passages to label", "scoreConfigIds": []},
        "traces": [
            {
                "id": item.trace_id,
                "name": "passage to label",
                "input": {"question": item.question},
                "output": {"text": item.text},
                "metadata": {
                    "key": item.key,
                    "query_id": item.query_id,
                    "document_id": item.document_id,
                    **dict.fromkeys(["judge"] if suggest and item.judge is not None else [], item.judge),
                },
            }
            for item in items
        ],
        "items": [{"objectId": item.trace_id, "objectType": "TRACE", "status": "PENDING"} for item in items],
    }


def said_in(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[Said] | None:
    """Return what the rows of a file of JSON say, by what the first one looks like; None for an unknown format."""
    rows = list(rows)
    first = rows[0][1] if rows else {}
    if "responses" in first and "fields" in first:
        read = _said_in_argilla
    elif "data" in first and ("annotations" in first or "predictions" in first):
        read = _said_in_label_studio
    elif "traceId" in first:
        read = _said_in_langfuse
    elif "key" in first and "query_id" in first:  # Label Studio's JSON-MIN
        read = _said_in_short_label_studio
    else:
        return None
    return chain.from_iterable(read(at, row) for at, row in rows)


def _said_in_argilla(at: str, row: Mapping[str, Any]) -> Iterator[Said]:
    key, metadata = str(row.get("id") or ""), _mapping(row.get("metadata"))
    for one in map(_mapping, _list(_mapping(row.get("responses")).get(QUESTION))):
        yield Said(at, key, one.get("value"), str(one.get("user_id") or ""), _ids(metadata))


def _said_in_label_studio(at: str, row: Mapping[str, Any]) -> Iterator[Said]:
    data = _mapping(row.get("data"))
    for annotation in map(_mapping, _list(row.get("annotations"))):
        by = annotation.get("completed_by")
        who = f"user {_mapping(by).get('id', by)}"
        results = [one for one in map(_mapping, _list(annotation.get("result"))) if one.get("from_name") == QUESTION]
        chosen = [choice for one in results for choice in _list(_mapping(one.get("value")).get("choices"))]
        if chosen and not annotation.get("was_cancelled"):
            label = chosen[0] if len(chosen) == 1 else chosen
            yield Said(at, str(data.get("key") or ""), label, who, _ids(data))


def _said_in_short_label_studio(at: str, row: Mapping[str, Any]) -> Iterator[Said]:
    who = f"user {row['annotator']}" if "annotator" in row else ""
    yield Said(at, str(row["key"]), row.get(QUESTION), who, _ids(row))


def _said_in_langfuse(at: str, row: Mapping[str, Any]) -> Iterator[Said]:
    if row.get("name") == QUESTION and row.get("source", "ANNOTATION") == "ANNOTATION":
        yield Said(at, str(row["traceId"]), row.get("value"), str(row.get("authorUserId") or ""))


def _shown(item: Item, suggest: bool) -> list[float]:
    return [item.judge] if suggest and item.judge is not None else []


def _choice(grade: float) -> str:
    return str(min(int(grade), max(GRADES)))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _ids(holder: Mapping[str, Any]) -> tuple[str, str]:
    return str(holder.get("query_id") or ""), str(holder.get("document_id") or "")
