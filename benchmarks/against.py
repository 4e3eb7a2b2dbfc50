"""Compare this checkout with another one, bit by bit: `python -m benchmarks.against PATH` scores the same with both.

Each checkout scores in a process of its own; what it pickles is read by the other one. Prints how many scorings there
were and which differ, and exits with 1 if one does.
"""

from __future__ import annotations

import itertools
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WORDS = {
    "en": "refund order parcel invoice return password account delivery address coupon",
    "ko": "환불 주문 택배 영수증 반품 비밀번호 계정 배송 주소 쿠폰",
    "ru": "возврат заказ посылка счёт пароль доставка адрес купон учётная запись",
    "zh": "退款 订单 包裹 发票 退货 密码 账户 配送 地址 优惠券",
}
METHODS: list[dict[str, Any]] = [
    {"match_method": "id"},
    {"match_method": "text"},
    {"match_method": "containment"},
    {"match_method": "rouge1", "threshold": 0.3},
    {"match_method": "rouge2", "threshold": 0.2},
    {"match_method": "rougeL", "threshold": 0.5},
    {"match_method": "rougeL", "threshold": 0.4, "use_stemmer": True},
    {"match_method": ["id", "text", "rougeL"], "threshold": 0.6},
    {"match_method": "rouge1", "tokenizer": "characters"},
    {"match_method": "text", "normalize": None},
]
SEEDS = range(10)


def documents(seed: int) -> tuple[list[Any], list[Any], list[str]]:
    """Return gold and retrieved documents with ids, texts and grades in four languages, and the ids of the queries."""
    draw = random.Random(seed)
    words = draw.choice(list(WORDS.values())).split()
    grades = [0, 1, 3]
    pool = [
        {"id": f"d{n}", "text": " ".join(draw.choices(words, k=draw.randint(2, 9))), "relevance": draw.choice(grades)}
        for n in range(12)
    ]
    gold = [draw.sample(pool, draw.randint(0, 3)) for _ in range(15)]
    found = [[dict(one) for one in draw.choices(pool, k=draw.randint(0, 8))] for _ in range(15)]
    return gold, found, [f"q{n}" for n in range(15)]


def scorings() -> Iterator[tuple[str, Any]]:
    """Yield the name and the values of every scoring."""
    import krag_eval

    ke: Any = krag_eval  # of two versions
    for seed, (place, settings) in itertools.product(SEEDS, enumerate(METHODS)):
        gold, found, names = documents(seed)
        name = f"seed {seed}, method {place}"
        others: list[dict[str, Any]] = [{}, {"metrics": _all_metrics()}, {"intervals": True}]
        for k, further in itertools.product([(1, 3, 5), None], others):
            scored = ke.evaluate(gold, found, k=k, query_ids=names, **settings, **further)
            yield f"{name}, evaluate, k={k}, {sorted(further)}", [scored.to_dict(), scored.signature, _rows(scored)]
        result = ke.evaluate(gold, found, k=None, intervals=True, query_ids=names, **settings)
        yield f"{name}, misses", [str(one) for one in result.misses()]
        yield f"{name}, explain", [str(one) for one in result.explanations()]
        yield f"{name}, diagnose", ke.diagnose(result).counts
        yield f"{name}, Scorer", _streamed(ke.Scorer(k=3, **settings), gold, found)
        yield f"{name}, score_row", [ke.score_row(*pair, k=3, **settings) for pair in zip(gold, found, strict=True)]
        yield f"{name}, evaluate_stream", ke.evaluate_stream(zip(gold, found, strict=True), k=3, **settings).to_dict()
        reversed_ = ke.evaluate(gold, found[::-1], k=None, intervals=True, query_ids=names, **settings)
        yield f"{name}, compare", ke.compare({"a": result, "b": reversed_}).to_json()
        if place in (0, 1):
            yield f"{name}, columns", _columnar(gold, found, names, settings)
    for seed, k in itertools.product(SEEDS, (1, 2, 5)):
        gold, found, names = documents(seed)
        texts = [[[one["text"] for one in row] for row in side] for side in (gold, found)]
        yield f"seed {seed}, evaluate_all, k={k}", ke.evaluate_all(*texts, k=k)
        for kind, of_rouge in itertools.product(("rouge1", "rouge2", "rougeL"), (0.3, 0.8)):
            rouge = ke.RougeOfflineRetrievalEvaluators(*texts, match_method=kind, threshold=of_rouge)
            yield f"seed {seed}, {kind} >= {of_rouge}, k={k}", _of_krag(rouge, k)
        yield f"seed {seed}, krag, k={k}", _of_krag(ke.OfflineRetrievalEvaluators(*texts), k)
        ids = [
            {query: [one["id"] for one in row] for query, row in zip(names, side, strict=True)}
            for side in (gold, found)
        ]
        yield f"seed {seed}, evaluate_ids, k={k}", ke.evaluate_ids(*ids, k=k).to_dict()


def _all_metrics() -> list[str]:
    from krag_eval.metrics import METRICS

    return [*METRICS, "r_precision", "rbp"]


def _rows(result: Any) -> list[Any]:
    return [[row.id, row.n_gold, row.n_retrieved, dict(row.values)] for row in result.per_query]


def _streamed(scorer: Any, gold: list[Any], found: list[Any]) -> Any:
    for pair in zip(gold, found, strict=True):
        scorer.score(*pair)
    return scorer.result().to_dict()


def _of_krag(one: Any, k: int) -> list[Any]:
    kinds = ("recall", "precision", "f1_score", "hit_rate", "mrr", "map", "ndcg")
    return [getattr(one, f"calculate_{kind}")(k) for kind in kinds]


def _columnar(gold: list[Any], found: list[Any], names: list[str], settings: dict[str, Any]) -> Any:
    import pyarrow as pa

    try:
        from krag_eval_scale import ColumnarScorer
    except ImportError:
        from krag_eval import ColumnarScorer  # type: ignore[attr-defined, no-redef]

    keys = ("id",) if settings["match_method"] == "id" else ("text",)
    side = [[[{key: one[key] for key in keys} for one in row] for row in rows] for rows in (gold, found)]
    rows = [dict(zip(("query_id", "actual", "predicted"), row, strict=True)) for row in zip(names, *side, strict=True)]
    scorer = ColumnarScorer(k=(1, 3), **settings)
    return scorer.finalize(scorer.partial_state(pa.RecordBatch.from_pylist(rows))).to_dict()


def write(folder: Path) -> None:
    """Write every scoring and some pickled results into a folder."""
    import krag_eval as ke

    warnings.simplefilter("ignore")
    values = {name: _exact(value) for name, value in scorings()}
    (folder / "values.json").write_text(json.dumps(values), encoding="utf-8")
    gold, found, names = documents(1)
    results = [ke.evaluate(gold, found, query_ids=names, **settings) for settings in METHODS]
    reversed_ = ke.evaluate(gold, found[::-1], query_ids=names, **METHODS[0])
    kept = [*results, ke.compare({"a": results[0], "b": reversed_}), [ke.diagnose(one) for one in results]]
    (folder / "results.pickle").write_bytes(pickle.dumps(kept))


def read(folder: Path) -> None:
    """Read what the other checkout pickled, and print it."""
    warnings.simplefilter("ignore")
    *results, comparison, diagnoses = pickle.loads((folder / "results.pickle").read_bytes())
    print(json.dumps([[_exact(one.to_dict()), _exact(_rows(one)), list(map(str, one.misses()))] for one in results]))
    print(json.dumps([comparison.to_json(), [one.counts for one in diagnoses]], default=str))


def _exact(value: Any) -> Any:
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _exact(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(one) for one in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def main() -> None:
    """Score with both checkouts and compare."""
    here, other = Path(__file__).parents[1], Path(sys.argv[1]).resolve()

    def run(checkout: Path, *arguments: str) -> str:
        paths = os.pathsep.join(str(path) for path in (checkout, checkout / "adapters"))
        code = (
            f"import runpy, sys; sys.argv = ['', *{list(arguments)!r}]; "
            f"runpy.run_path({str(Path(__file__))!r}, run_name='__main__')"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=checkout, env={**os.environ, "PYTHONPATH": paths}, check=True,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return done.stdout

    with tempfile.TemporaryDirectory() as name:
        folders = {checkout: Path(name) / str(place) for place, checkout in enumerate((here, other))}
        for checkout, folder in folders.items():
            folder.mkdir()
            run(checkout, "write", str(folder))
        ours, theirs = (json.loads((folder / "values.json").read_text("utf-8")) for folder in folders.values())
        differ = [key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)]
        travels = run(here, "read", str(folders[other])) == run(other, "read", str(folders[other]))
    print(f"{len(ours):,} scorings, {len(differ)} differ from those of {other}: {sorted(differ)[:10]}")
    print(f"Results that it pickled are {'read here, and are equal' if travels else 'different here'}.")
    sys.exit(bool(differ) or not travels)


if __name__ == "__main__":
    if sys.argv[1] in ("write", "read"):
        {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]))
    else:
        main()
