"""고객센터 검색기를 채점해 보기: 적중률, MRR, MAP, nDCG를 한 걸음씩 손으로 계산하고 krag_eval과 맞춰 봅니다.

    python examples/korean_customer_service.py

온라인 쇼핑몰의 고객센터 챗봇이 고객의 질문마다 안내문을 찾아온다고 합시다. 이 파일은 질문 하나에서 시작해 여러 질문으로
넘어가고, 끝으로 문서 ID만 보아서는 놓치는 것을 본문 비교(ROUGE)가 어떻게 찾는지 보여 줍니다. 모든 수는 손으로 적은
계산식과 krag_eval의 값이 나란히 나오며, 둘이 다르면 프로그램이 멈춥니다.

A Korean walk-through of the metrics on small lists. It needs nothing but krag_eval; with kiwipiepy (extra `ko`) the
last section also compares by Korean morphemes.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from math import log2
from typing import Any

from krag_eval import TOKENIZERS, EvaluationResult, KragEvalWarning, evaluate, evaluate_ids
from krag_eval.documents.tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class Step:
    """A number twice: as it is computed by hand, and as krag_eval gives it.

    Attributes:
        name: What is computed.
        formula: The calculation as a reader would write it; empty where there is nothing to calculate.
        by_hand: What it comes to.
        measured: The value of krag_eval.
    """

    name: str
    formula: str
    by_hand: float
    measured: float | None

    def __str__(self) -> str:
        calculation = f"{self.formula} = {self.by_hand:.4f}" if self.formula else f"{self.by_hand:.4f}"
        return f"  {self.name}: {calculation} | krag_eval {self.measured:.4f}"


def show(*steps: Step) -> None:
    """Print each step, and stop where the two values differ."""
    for step in steps:
        if step.measured is None or not math.isclose(step.by_hand, step.measured, abs_tol=1e-12):
            raise ArithmeticError(f"{step.name}: 손 계산 {step.by_hand}, krag_eval {step.measured}")
        print(step)


# "반품하면 배송비는 누가 내나요?"의 정답 문서는 둘이고, 검색기는 다섯 건을 이 순서로 찾아왔습니다.
GOLD = ["반품-배송비", "반품-절차"]
RETRIEVED = ["배송-조회", "반품-배송비", "회원-등급", "반품-절차", "교환-안내"]


def one_question() -> None:
    """적중률, 역순위, 평균 정밀도: 순위 2와 4에 정답이 있는 질문."""
    print("1. 질문 하나: 반품하면 배송비는 누가 내나요?")
    print(f"  정답 문서: {', '.join(GOLD)}")
    for rank, name in enumerate(RETRIEVED, start=1):
        print(f"  {rank}위 {name}{' (정답)' if name in GOLD else ''}")
    result = evaluate_ids([GOLD], [RETRIEVED], k=(1, 2, 3, 5))

    print("\n적중률(hit rate): k위 안에 정답이 있으면 1, 없으면 0입니다. '하나라도'와 '모두'는 다른 물음입니다.")
    show(
        Step("하나라도, k=1", "", 0, result["hit_rate@1"]),
        Step("하나라도, k=3", "", 1, result["hit_rate@3"]),
        Step("모두, k=3", "", 0, result["hit_rate_all@3"]),
        Step("모두, k=5", "", 1, result["hit_rate_all@5"]),
    )
    print("\n역순위(RR): 1 / 첫 정답의 순위. 첫 정답이 2위이므로 1/2이고, k=1이면 정답이 보이지 않아 0입니다.")
    show(Step("RR, k=5", "1 / 2", 1 / 2, result["mrr@5"]), Step("RR, k=1", "", 0, result["mrr@1"]))

    print("\n평균 정밀도(AP): 정답이 나온 순위마다 (거기까지 찾은 정답 수 / 순위)를 구해 더하고, 정답 수로 나눕니다.")
    print("  2위에서 1/2, 4위에서 2/4입니다. k=3이면 4위의 몫이 빠지지만 나누는 수는 그대로 2입니다.")
    show(
        Step("AP, k=5", "(1/2 + 2/4) / 2", (1 / 2 + 2 / 4) / 2, result["map@5"]),
        Step("AP, k=3", "(1/2) / 2", (1 / 2) / 2, result["map@3"]),
    )


def graded_question() -> None:
    """nDCG: 등급이 없을 때와 있을 때."""
    print("\n2. nDCG: 위에 있을수록 값지게")
    print("  순위 r의 이득을 log2(r + 1)로 나누어 더한 것이 DCG이고, 가장 좋은 순서의 DCG로 나누면 nDCG입니다.")
    result = evaluate_ids([GOLD], [RETRIEVED], k=(3, 5))
    ideal = 1 / log2(2) + 1 / log2(3)
    show(
        Step(
            "nDCG, k=5",
            "(1/log2(3) + 1/log2(5)) / (1/log2(2) + 1/log2(3))",
            (1 / log2(3) + 1 / log2(5)) / ideal,
            result["ndcg@5"],
        ),
        Step("nDCG, k=3", "(1/log2(3)) / (1/log2(2) + 1/log2(3))", (1 / log2(3)) / ideal, result["ndcg@3"]),
    )
    print("  '반품-배송비'는 질문에 바로 답하고(등급 2) '반품-절차'는 거들 뿐이라면(등급 1),")
    print("  이득은 2^등급 - 1이므로 3과 1이 됩니다.")
    graded = evaluate_ids([{"반품-배송비": 2, "반품-절차": 1}], [RETRIEVED], k=5)
    show(
        Step(
            "등급 nDCG, k=5",
            "(3/log2(3) + 1/log2(5)) / (3/log2(2) + 1/log2(3))",
            (3 / log2(3) + 1 / log2(5)) / (3 / log2(2) + 1 / log2(3)),
            graded["ndcg@5"],
        )
    )


QUESTIONS = [
    "반품하면 배송비는 누가 내나요?",
    "제주도는 며칠 걸리나요?",
    "쿠폰을 두 장 쓸 수 있나요?",
    "매장에 주차할 수 있나요?",
]
ALL_GOLD = [GOLD, ["배송-제주"], ["쿠폰-사용"], []]  # 마지막 질문의 답은 어느 안내문에도 없습니다.
ALL_RETRIEVED = [
    RETRIEVED,
    ["배송-제주", "배송-조회", "배송-해외"],
    ["쿠폰-발급", "적립금-사용", "회원-등급"],
    ["매장-위치", "회원-등급"],
]


def several_questions() -> None:
    """평균: 정답이 없는 질문은 평균에서 빠지고, 빠졌다는 사실이 함께 남습니다."""
    print("\n3. 여러 질문: 질문마다 계산해 평균을 냅니다 (k=3)")
    result = evaluate_ids(ALL_GOLD, ALL_RETRIEVED, k=3, queries=QUESTIONS)
    for question, row in zip(QUESTIONS, result.per_query, strict=True):
        cells = [f"{name} {_or_dash(row.values[f'{name}@3'])}" for name in ("hit_rate", "mrr", "map", "ndcg")]
        print(f"  {question} {', '.join(cells)}")
    ndcg = (1 / log2(3)) / (1 / log2(2) + 1 / log2(3))
    show(
        Step("적중률(하나라도)", "(1 + 1 + 0) / 3", (1 + 1 + 0) / 3, result["hit_rate@3"]),
        Step("적중률(모두)", "(0 + 1 + 0) / 3", (0 + 1 + 0) / 3, result["hit_rate_all@3"]),
        Step("MRR", "(1/2 + 1 + 0) / 3", (1 / 2 + 1 + 0) / 3, result["mrr@3"]),
        Step("MAP", "(1/4 + 1 + 0) / 3", (1 / 4 + 1 + 0) / 3, result["map@3"]),
        Step(
            "nDCG",
            "((1/log2(3)) / (1/log2(2) + 1/log2(3)) + 1 + 0) / 3",
            (ndcg + 1 + 0) / 3,
            result["ndcg@3"],
        ),
    )
    print("  네 번째 질문은 정답 문서가 없어 값이 정해지지 않습니다. 0점이 아니라 평균에서 빠지고, 따로 세어 둡니다:")
    left_out, came_back = result.undefined["mrr@3"], result.no_answer.mean_retrieved
    print(f"  평균에서 빠진 질문 {left_out}개, 그 질문에 그래도 찾아온 문서 {came_back:g}건")


# 안내문을 다시 나누어 색인하니 ID가 모두 바뀌었습니다. 같은 내용을 찾아왔는데도 ID로는 알 수 없습니다.
TEXT_QUESTIONS = ["반품하면 배송비는 누가 내나요?", "환불은 언제 되나요?"]
GOLD_TEXTS = [
    {"id": "반품-배송비", "text": "단순 변심 반품은 왕복 배송비를 고객님이 부담합니다"},
    {"id": "환불-시기", "text": "환불은 상품 검수를 마치면 영업일 사흘 안에 됩니다"},
]
FOUND_TEXTS = [
    {"id": "v2-031", "text": "단순 변심 반품은 왕복 배송비 6,000원을 고객님이 부담합니다"},
    {"id": "v2-044", "text": "상품의 검수가 끝나면 영업일로 사흘 안에 환불이 됩니다"},
]
THRESHOLD = 0.5


def texts() -> None:
    """ID로는 0, 본문으로는 그보다 많이."""
    print("\n4. ID가 놓치는 것: 안내문을 다시 나누면 ID가 바뀝니다")
    for question, gold, found in zip(TEXT_QUESTIONS, GOLD_TEXTS, FOUND_TEXTS, strict=True):
        print(f"  {question}")
        print(f"    정답 {gold['id']}: {gold['text']}")
        print(f"    1위  {found['id']}: {found['text']}")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", KragEvalWarning)
        by_id = score_texts(match_method="id")
    show(Step("ID로 본 적중률", "(0 + 0) / 2", 0, by_id["hit_rate@1"]))
    print(f"  krag_eval의 경고: {warned[0].message}")
    compare_tokens("words", "낱말", TOKENIZERS["words"])
    if find_spec("kiwipiepy") is None:
        print('\nkiwipiepy가 없어 형태소 비교는 건너뜁니다. 설치: pip install "krag-eval[ko]"')
        return
    print("\n'환불은'과 '환불이'는 낱말로는 다르지만, 조사를 떼어 형태소로 보면 '환불'이 같습니다.")
    compare_tokens("kiwi", "형태소", TOKENIZERS["kiwi"])


def compare_tokens(name: str, meaning: str, tokenizer: Tokenizer) -> None:
    """ROUGE-1 of each pair by hand, from its tokens, and what the threshold makes of them."""
    print(f'\nROUGE-1, tokenizer="{name}": 두 글에 함께 있는 {meaning}의 수 x 2 / 두 글의 {meaning} 수의 합')
    result = score_texts(match_method="rouge1", threshold=THRESHOLD, tokenizer=name)
    reached = []
    for place, (gold, found) in enumerate(zip(GOLD_TEXTS, FOUND_TEXTS, strict=True)):
        wanted, there = tokenizer.tokenize(gold["text"]), tokenizer.tokenize(found["text"])
        both = list((Counter(wanted) & Counter(there)).elements())
        print(f"  {gold['id']} {len(wanted)}개, {found['id']} {len(there)}개, 함께 {len(both)}개: {' '.join(both)}")
        rouge = 2 * len(both) / (len(wanted) + len(there))
        outcome = result.explain(place).gold[0]
        match = outcome.match or outcome.nearest  # where it is no match: the most similar text that came back
        formula = f"2 * {len(both)} / ({len(wanted)} + {len(there)})"
        show(Step(f"{gold['id']} ROUGE-1", formula, rouge, match.similarity if match else None))
        reached.append(int(rouge >= THRESHOLD))
        print(
            f"    {THRESHOLD} 이상이므로 찾은 것입니다."
            if reached[-1]
            else f"    {THRESHOLD}보다 작아 찾지 못했습니다."
        )
    formula = f"({reached[0]} + {reached[1]}) / 2"
    show(Step(f"{name}로 본 적중률", formula, sum(reached) / 2, result["hit_rate@1"]))


def score_texts(**settings: Any) -> EvaluationResult:
    """The pairs of texts, matched in one way."""
    return evaluate([[gold] for gold in GOLD_TEXTS], [[found] for found in FOUND_TEXTS], k=1, **settings)


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def main() -> None:
    """Run the sections in their order."""
    one_question()
    graded_question()
    several_questions()
    texts()
    print("\n모든 값이 손 계산과 같습니다.")


if __name__ == "__main__":
    main()
