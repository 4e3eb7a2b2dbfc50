"""What vector stores and search engines return: where the hits are in an answer, and the fields of a hit.

| answer | its hits | a hit: id; fields; score |
|---|---|---|
| Qdrant `QueryResponse`, `ScoredPoint` | `points` | `id`; `payload`; `score` |
| Weaviate `QueryReturn`, `Object` | `objects` | `uuid`; `properties`; none |
| Chroma `QueryResult`, a dict | lists by query: `ids`, `documents`, `metadatas`, `distances` | one place of each |
| Elasticsearch, OpenSearch: a dict, or its `body` | `hits.hits`, in each of `responses` | `_id`; `_source`; `_score` |
| Pinecone `QueryResponse`, `ScoredVector` | `matches` | `id`; `metadata`; `score` |
| Milvus, a dict | a list | `id`; `entity`; none |

The order of the hits is the ranking, whether their numbers are scores or distances. The text of a hit is the field with
one of the names in `TEXT_NAMES`; if it has none of these, its only string that is no id or address. A hit in which
several fields may be the text has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from krag_eval._utils.errors import InvalidInputError, describe_type

TEXT_NAMES = ("text", "page_content", "content", "document", "body", "chunk", "passage", "chunk_text")
# The mappings in a hit that hold the fields of the document.
FIELD_KEYS = ("_source", "payload", "properties", "entity", "fields")
_NO_TEXT = re.compile(
    r"_.*|(?:.*[_.-])?(?:id|key|url|uri|path|file|source|hash|type|title|name|date|lang|language)|.*(?:Id|ID|Url|URL)"
)
_OF_CHROMA = frozenset({"documents", "metadatas", "distances", "embeddings"})


def text_in(fields: Mapping[str, Any]) -> str | None:
    """Return the text among the fields of a hit; None if there is none, or several may be it.

    >>> text_in({"body": "At nine.", "url": "https://x"}), text_in({"answer": "At nine.", "doc_id": "d1"})
    ('At nine.', 'At nine.')
    >>> text_in({"text": "At nine.", "content": "Opening hours"}), text_in({"doc_id": "d1"})
    (None, None)
    """
    named = [fields[name] for name in TEXT_NAMES if isinstance(fields.get(name), str)]
    found = dict.fromkeys(named or [fields[name] for name in string_fields(fields)])
    return next(iter(found)) if len(found) == 1 else None


def string_fields(fields: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields that may be a text: strings that are no id, address or title by their name."""
    return [name for name, value in fields.items() if isinstance(value, str) and not _NO_TEXT.fullmatch(str(name))]


def metadata_in(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a hit as metadata; those that LangChain nests under `metadata` are beside the others."""
    inner = fields.get("metadata")
    return {**fields, **inner} if isinstance(inner, Mapping) else fields


def is_answer(given: object) -> bool:
    """Return whether it is what a store returns, and not a list or document."""
    return hits_of_queries(given) is not None


def hits_in(answer: object) -> list[Any] | None:
    """Return the hits of an answer to one query, best first; None if it is no answer of a store.

    Raises:
        InvalidInputError: It has the hits of several queries.
    """
    found = hits_of_queries(answer)
    if found is None:
        return None
    if len(found) != 1:
        raise InvalidInputError(
            f"{describe_type(answer)} has the hits of {len(found)} queries, and those of one are expected. "
            "Ask the store one question at a time, or score all of its answers with `evaluate`."
        )
    return found[0]


def hits_of_queries(answer: object) -> list[list[Any]] | None:
    """Return the hits of each query in an answer of a store; None if it is none, or reading it raises."""
    try:
        return _hits_in(answer)
    except InvalidInputError:
        raise
    except Exception:  # noqa: BLE001 - whoever reads it as something else says what it is
        return None


def _hits_in(answer: Any) -> list[list[Any]] | None:
    if isinstance(answer, Mapping):
        return _hits_in_mapping(answer)
    for name in ("points", "objects", "matches"):
        hits = getattr(answer, name, None)
        if type(hits) is list:
            return [hits]
    body = getattr(answer, "body", None)
    return _hits_in_mapping(body) if isinstance(body, Mapping) else None


def _hits_in_mapping(answer: Mapping[str, Any]) -> list[list[Any]] | None:
    hits, responses, ids = answer.get("hits"), answer.get("responses"), answer.get("ids")
    if isinstance(hits, Mapping) and isinstance(hits.get("hits"), Sequence):
        return [list(hits["hits"])]
    if isinstance(responses, list) and all(isinstance(one, Mapping) for one in responses):
        found = [_hits_in_mapping(one) for one in responses]
        return None if None in found else [hits for several in found for hits in several or ()]
    if isinstance(ids, list) and _OF_CHROMA & answer.keys():
        if not all(isinstance(row, list) for row in ids):
            raise InvalidInputError(
                "the result of Chroma's `get` has no ranking: its `ids` are one flat list. Ask with `query`."
            )
        return [_of_chroma(answer, query) for query in range(len(ids))]
    matches = answer.get("matches")
    return [matches] if isinstance(matches, list) else None


def _of_chroma(answer: Mapping[str, Any], query: int) -> list[dict[str, Any]]:
    columns = {"id": "ids", "text": "documents", "metadata": "metadatas", "distance": "distances"}
    given = {name: answer[key][query] for name, key in columns.items() if answer.get(key) is not None}
    rows: Iterable[tuple[Any, ...]] = zip(*given.values(), strict=True)
    return [dict(zip(given, row, strict=True)) for row in rows]
