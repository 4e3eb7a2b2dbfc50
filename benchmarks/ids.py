"""Metrics from ids: against pytrec_eval and ranx."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from benchmarks.data import Collection, collection, ids
from benchmarks.harness import Prepare, Row, Work, check_close, check_equal, in_turn, profiled
from krag_eval import EvaluationResult, evaluate, evaluate_ids

CUT_OFFS = (1, 3, 5, 10, 100)
_AT = ",".join(map(str, CUT_OFFS))
TREC_MEASURES = {f"{name}.{_AT}" for name in ("P", "recall", "map_cut", "ndcg_cut", "success")} | {"recip_rank"}
RANX_MEASURES = [f"{name}@{k}" for name in ("precision", "recall", "map", "ndcg", "hit_rate") for k in CUT_OFFS] + [
    "mrr"
]
# Their name and ours.
FROM_TREC = {"P": "precision", "recall": "recall", "map_cut": "map", "ndcg_cut": "ndcg", "success": "hit_rate"}

Values = Mapping[str, float]
# From lists of ids to what it takes; its evaluation of that, to be called; its means; the ratio asked for.
Peer = tuple[
    Callable[[list[list[str]], list[list[str]]], tuple[Any, Any]],
    Callable[[Any, Any], Callable[[], Any]],
    Callable[[Any], Values],
    float,
]


def ours(data: Collection) -> Prepare:
    """From fresh lists of ids to the whole result dict."""

    def prepare() -> Work:
        gold, retrieved = _one_string_each(data)

        def work() -> EvaluationResult:
            result = evaluate_ids(gold, retrieved, CUT_OFFS)
            result.to_dict()
            return result

        return work

    return prepare


def run(smoke: bool) -> Iterator[Row]:
    """The rows of ids."""
    n_queries, rounds = (50, 1) if smoke else (10_000, 5)
    data = ids(n_queries, 5, 100)
    # ranx compiles for a minute when it is first called: not in the smoke test, which only imports it.
    peers: dict[str, Peer] = {"pytrec_eval": (_trec_dicts, _trec, _trec_means, 4.0)}
    if smoke:
        importlib.import_module("ranx")
    else:
        peers["ranx (warm)"] = (_ranx_objects, _ranx, dict, 20.0)
        _ranx(*_ranx_objects(*_one_string_each(data.first(5))))()
    for name, (build, evaluation, means, asked) in peers.items():
        mine, from_lists, alone = in_turn(
            rounds,
            ours(data),
            lambda b=build, e=evaluation, m=means: _from_lists(data, b, e, m),  # type: ignore[misc]
            lambda b=build, e=evaluation: e(*b(*_one_string_each(data))),  # type: ignore[misc]
        )
        _check(name, mine.result, from_lists.result)
        work = f"{n_queries:,} queries x 100 retrieved by id, seven metrics at k = {_AT.replace(',', ', ')}"
        for what, theirs in ((f"{name}, from lists of ids", from_lists), (f"{name}, its evaluate alone", alone)):
            row = Row(work=work, peer=what, ours=mine.seconds, theirs=theirs.seconds, asked=asked)
            yield profiled(row, ours(data))


NODES = "LlamaIndex `NodeWithScore`"


class Shape(NamedTuple):
    """Documents of one kind: how one is made of an id, how the ids of a list are read, and what `evaluate` is told."""

    make: Callable[[str, int], Any]
    read: Callable[[list[Any]], list[str]]
    settings: Mapping[str, str] = {}
    has_peers: bool = False


def _shapes() -> dict[str, Shape]:
    from haystack import Document as HaystackDocument
    from langchain_core.documents import Document
    from llama_index.core.schema import NodeWithScore, TextNode

    def by_type(row: list[Any]) -> list[str]:
        return [d["id"] if type(d) is dict else d.id for d in row]

    return {
        "dicts": Shape(lambda id_, _: {"id": id_, "text": "t"}, lambda row: [d["id"] for d in row], has_peers=True),
        "LangChain Documents, id in `id`": Shape(
            lambda id_, _: Document("t", id=id_), lambda row: [d.metadata.get("id") or d.id for d in row], {}, True
        ),
        "LangChain Documents, id in the metadata": Shape(
            lambda id_, _: Document("t", metadata={"id": id_}), lambda row: [d.metadata["id"] for d in row], {}, True
        ),
        "LangChain Documents, `id_key`": Shape(
            lambda id_, _: Document("t", metadata={"key": id_}),
            lambda row: [d.metadata["key"] for d in row],
            {"id_key": "key"},
        ),
        "mappings with metadata": Shape(
            lambda id_, _: {"text": "t", "metadata": {"id": id_}}, lambda row: [d["metadata"]["id"] for d in row]
        ),
        NODES: Shape(
            lambda id_, _: NodeWithScore(node=TextNode(text="t", id_=id_), score=0.5),
            lambda row: [d.node.node_id for d in row],
        ),
        "Haystack Documents": Shape(
            lambda id_, _: HaystackDocument(content="t", id=id_), lambda row: [d.id for d in row]
        ),
        "dicts and LangChain Documents": Shape(
            lambda id_, rank: Document("t", id=id_) if rank % 2 else {"id": id_, "text": "t"}, by_type
        ),
        "pairs of a dict and a score": Shape(
            lambda id_, _: ({"id": id_, "text": "t"}, 0.5), lambda row: [d["id"] for d, _ in row]
        ),
        "dicts with grades in the metadata": Shape(
            lambda id_, rank: {"id": id_, "text": "t", "metadata": {"grade": rank % 3 + 1}},
            lambda row: [d["id"] for d in row],
        ),
    }


def run_documents(smoke: bool) -> Iterator[Row]:
    """The rows of documents: by id against other tools and the plain reading of ids, by text against strings."""
    n_queries, rounds = (20, 1) if smoke else (10_000, 3)
    data = ids(n_queries, 3, 100)
    if not smoke:
        _ranx(*_ranx_objects(*_one_string_each(data.first(5))))()
    for name, shape in _shapes().items():
        prepare = partial(_prepared, data, shape)
        sides: dict[str, tuple[Prepare, float | None]] = {"plain comprehension": (partial(prepare, _read_only), None)}
        sides["bare ids"] = (ours(data), None)
        if shape.has_peers:
            sides["pytrec_eval"] = (partial(prepare, _score_by_trec), 1.5)
            if not smoke:
                sides["ranx (warm)"] = (partial(prepare, _score_by_ranx), 5.0)
        mine, *others = in_turn(rounds, partial(prepare, _score), *(side for side, _ in sides.values()))
        check_equal(name, "grades" in name or mine.result.to_dict(), "grades" in name or others[1].result.to_dict())
        work = f"{n_queries:,} queries x 100 retrieved by id, from {name}"
        for (peer, (_, asked)), theirs in zip(sides.items(), others, strict=True):
            row = Row(work=work, peer=peer, ours=mine.seconds, theirs=theirs.seconds, asked=asked)
            if peer == "bare ids":
                limit = others[0].seconds + others[1].seconds
                row = replace(row, limit=limit, limited_by="plain comprehension, and scoring bare ids")
            yield profiled(row, partial(prepare, _score))
    yield from _by_text(*((20, 1) if smoke else (4_000, 5)))


def _prepared(data: Collection, shape: Shape, work: Callable[..., Any]) -> Work:
    gold, retrieved = (
        [[shape.make(id_, rank) for rank, id_ in enumerate(row)] for row in side] for side in _one_string_each(data)
    )
    return partial(work, shape, gold, retrieved)


def _score(shape: Shape, gold: Any, retrieved: Any) -> EvaluationResult:
    result = evaluate(gold, retrieved, CUT_OFFS, match_method="id", **shape.settings)  # type: ignore[arg-type]
    result.to_dict()
    return result


def _read_only(shape: Shape, *sides: Any) -> list[list[list[str]]]:
    read = [list(map(shape.read, side)) for side in sides]
    check_equal("types", {type_ for side in read for row in side for type_ in set(map(type, row))}, {str})
    return read


def _score_by_trec(shape: Shape, *sides: Any) -> Values:
    return _trec_means(_trec(*_trec_dicts(*_read_only(shape, *sides)))())


def _score_by_ranx(shape: Shape, *sides: Any) -> Values:
    means: Values = _ranx(*_ranx_objects(*_read_only(shape, *sides)))()
    return means


def _by_text(n_queries: int, rounds: int) -> Iterator[Row]:
    data = collection(n_queries, 2, 10)
    data = Collection([[*gold, row[0]] for gold, row in zip(data.gold, data.retrieved, strict=True)], data.retrieved)
    from langchain_core.documents import Document
    from llama_index.core.schema import NodeWithScore, TextNode

    makers: dict[str, Callable[[str], Any]] = {
        "strings": str,
        "LangChain Documents": Document,
        "dicts": lambda text: {"text": text},
        NODES: lambda text: NodeWithScore(node=TextNode(text=text), score=0.5),
    }
    for method in ("text", "rougeL"):
        sides = [partial(_prepared_texts, data, make, method) for make in makers.values()]
        strings, *others, reading = in_turn(rounds, *sides, partial(_prepared_nodes, data, makers[NODES]))
        for name, side, mine in zip(list(makers)[1:], sides[1:], others, strict=True):
            check_equal(name, mine.result.to_dict(), strings.result.to_dict())
            work = f"{n_queries:,} queries x 10 texts by {method}, from {name}"
            row = Row(work=work, peer="strings", ours=mine.seconds, theirs=strings.seconds, asked=0.9)
            if name == NODES:
                limit = strings.seconds + reading.seconds
                row = replace(row, limit=limit, limited_by="strings, and each text read once by `node.get_content()`")
            yield profiled(row, side)


def _prepared_texts(data: Collection, make: Callable[[str], Any], method: Any) -> Work:
    fresh = data.fresh()
    gold, retrieved = ([[make(text) for text in row] for row in side] for side in (fresh.gold, fresh.retrieved))
    return lambda: evaluate(gold, retrieved, 10, match_method=method)


def _prepared_nodes(data: Collection, make: Callable[[str], Any]) -> Work:
    fresh = data.fresh()
    sides = [[[make(text) for text in row] for row in side] for side in (fresh.gold, fresh.retrieved)]
    return lambda: [[[one.node.get_content() for one in row] for row in side] for side in sides]


def _one_string_each(data: Collection) -> tuple[list[list[str]], list[list[str]]]:
    """Every id a string of its own, as a parser hands them out."""
    gold, retrieved = ([[id_.encode().decode() for id_ in row] for row in side] for side in (data.gold, data.retrieved))
    return gold, retrieved


def _from_lists(
    data: Collection,
    build: Callable[[list[list[str]], list[list[str]]], tuple[Any, Any]],
    evaluation: Callable[[Any, Any], Callable[[], Any]],
    means: Callable[[Any], Values],
) -> Callable[[], Values]:
    gold, retrieved = _one_string_each(data)
    return lambda: means(evaluation(*build(gold, retrieved))())


def _trec_dicts(gold: list[list[str]], retrieved: list[list[str]]) -> tuple[Any, Any]:
    qrels = {f"q{query}": dict.fromkeys(row, 1) for query, row in enumerate(gold)}
    run_ = {
        f"q{query}": {id_: -float(rank) for rank, id_ in enumerate(row)} for query, row in enumerate(retrieved)
    }  # trec_eval sorts by score
    return qrels, run_


def _trec(qrels: Any, run_: Any) -> Callable[[], Any]:
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(qrels, TREC_MEASURES)
    return lambda: evaluator.evaluate(run_)


def _trec_means(rows: Any) -> Values:
    columns = next(iter(rows.values()))
    return {name: sum([row[name] for row in rows.values()]) / len(rows) for name in columns}


def _ranx_objects(gold: list[list[str]], retrieved: list[list[str]]) -> tuple[Any, Any]:
    from ranx import Qrels, Run

    qrels, run_ = _trec_dicts(gold, retrieved)
    return Qrels(qrels), Run(run_)


def _ranx(qrels: Any, run_: Any) -> Callable[[], Any]:
    from ranx import evaluate

    return lambda: evaluate(qrels, run_, RANX_MEASURES)


def _check(peer: str, mine: EvaluationResult, theirs: Values) -> None:
    for name, value in theirs.items():
        if name in ("recip_rank", "mrr"):
            key = f"mrr@{CUT_OFFS[-1]}"
        elif "@" in name:
            key = name
        else:
            measure, _, k = name.rpartition("_")
            key = f"{FROM_TREC[measure]}@{k}"
        check_close(f"{peer}: {key}", mine[key], float(value))
