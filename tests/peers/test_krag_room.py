"""`krag_eval.krag` beside krag itself: the names, and the numbers where krag is right."""

from __future__ import annotations

import importlib.metadata
import random
import sys
import types
from typing import Any

import pytest

from krag_eval.krag import evaluators as ours
from krag_eval.krag.document import KragDocument
from tests.peers.test_differences import MODEL_CLIENTS
from tests.support.krag_names import RECORDED, names_of_krag, recorded_names

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

KOREAN = "환불은 사흘 안에 됩니다 주문을 취소했습니다 배송비는 무료입니다 제주도는 이틀 더 걸립니다"
ENGLISH = "refunds arrive within three working days running shoes returned orders cancelled islands longer"


@pytest.fixture(scope="module")
def theirs() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MPLBACKEND", "agg")
        for module, name in MODEL_CLIENTS.items():
            stub = types.ModuleType(module)
            setattr(stub, name, type(name, (), {}))
            patch.setitem(sys.modules, module, stub)
        import krag.evaluators

        kiwi = krag.evaluators.Kiwi()  # it would load one for each evaluator
        patch.setattr(krag.evaluators, "Kiwi", lambda: kiwi)
        yield krag.evaluators


def test_the_recorded_names_are_those_of_the_wheel() -> None:
    assert recorded_names() == names_of_krag()
    assert RECORDED.stem.endswith(importlib.metadata.version("krag"))


def queries(seed: int) -> tuple[list[list[str]], list[list[str]]]:
    """Different texts, of which some retrieved ones are gold with a word exchanged."""
    draw = random.Random(seed)
    words = (KOREAN, ENGLISH)[seed % 2].split()
    gold, retrieved = [], []
    for _ in range(4):
        texts = list(dict.fromkeys(" ".join(draw.sample(words, draw.randint(4, 7))) for _ in range(8)))
        gold.append(texts[: draw.randint(1, 3)])
        near = [text.replace(draw.choice(text.split()), draw.choice(words)) for text in texts]
        retrieved.append(list(dict.fromkeys(draw.choice(pair) for pair in zip(texts, near, strict=True))))
        draw.shuffle(retrieved[-1])
    return gold, retrieved


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("evaluator", "settings", "same"),
    [
        ("OfflineRetrievalEvaluators", {}, ["map", "ndcg"]),
        *(
            ("RougeOfflineRetrievalEvaluators", {"match_method": method, "tokenizer": tokenizer}, [])
            for method in ("rouge1", "rouge2", "rougeL")
            for tokenizer in ("KIWI", "WHITESPACE")
        ),
    ],
    ids=str,
)
def test_the_numbers_are_krags(
    theirs: Any, evaluator: str, settings: dict[str, str], same: list[str], seed: int
) -> None:
    from krag.document import KragDocument as TheirDocument

    def of(module: Any, document: Any) -> dict[str, float]:
        docs = ([[document(text) for text in query] for query in side] for side in queries(seed))
        chosen = {key: module.TokenizerType[value] if key == "tokenizer" else value for key, value in settings.items()}
        scored = getattr(module, evaluator)(*docs, **chosen)
        names = ["hit_rate", "mrr", "recall", "precision", *same]
        values = [getattr(scored, f"calculate_{name}")(k).items() for name in names for k in (1, 3, None)]
        return {f"{key} {place}": value for place, pairs in enumerate(values) for key, value in pairs}

    assert of(ours, KragDocument) == pytest.approx(of(theirs, TheirDocument), abs=1e-12)
