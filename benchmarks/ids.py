"""Metrics from ids: against pytrec_eval and ranx."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmarks.data import Collection, ids
from benchmarks.harness import Prepare, Row, Work, check_close, in_turn, profiled
from krag_eval import EvaluationResult, evaluate_ids

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
