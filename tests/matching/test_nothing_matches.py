"""Where nothing matches, one warning says what would, and it does when it is followed word for word."""

from __future__ import annotations

import pickle
import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from krag_eval import (
    Document,
    EvalSet,
    InvalidInputError,
    KragDocument,
    KragEvalWarning,
    OfflineRetrievalEvaluators,
    RAGEvaluator,
    RougeOfflineRetrievalEvaluators,
    Run,
    RunRow,
    Scorer,
    as_document,
    evaluate,
    evaluate_all,
    evaluate_ids,
    evaluate_retriever,
    evaluate_retrievers,
    evaluate_run,
    evaluate_stream,
    sweep,
)
from krag_eval.matching import remedies
from krag_eval.matching.matchability import DocumentCounts
from krag_eval.matching.settings import make_settings
from tests.support.advice import counts_in, follow, warned_by

Rows = list[list[Any]]
Settings = dict[str, Any]

LANGUAGES = {
    "English": ("Refunds arrive within three days.", "Ask us for the rest."),
    "Korean": ("환불은 사흘 안에 처리됩니다.", "나머지는 문의해 주세요."),
    "Russian": ("Возврат приходит за три дня.", "Остальное спросите у нас."),
    "Chinese": ("退款三天内到账。", "其余请联系我们。"),
    "Arabic": ("يصل المبلغ خلال ثلاثة أيام.", "اسألونا عن الباقي."),
}
OTHER = "We open at nine."
ID: Settings = {"match_method": "id"}


def chunk(id_: object, text: str = OTHER, **metadata: object) -> dict[str, Any]:
    return {"id": id_, "text": text, "metadata": metadata}


# Gold, retrieved, settings, and the argument that has to be named.
CAUSES: dict[str, tuple[Rows, Rows, Settings, str]] = {
    "gold strings are ids": ([["d1"], ["d2"]], [[chunk("d1")], [chunk("x"), chunk("d2")]], {}, "match_method='id'"),
    "gold strings are ids of objects": ([["d1"]], [[Document(id="d1", text="hello")]], {}, "match_method='id'"),
    "gold strings are ids in another key": ([["d1"]], [[chunk("x", src="d1")]], {}, "id_key='src'"),
    "gold is inside a longer chunk": ([["Refunds arrive."]], [["Refunds arrive. Ask us."]], {}, "'containment'"),
    "the chunk is inside of the gold": ([["Refunds arrive. Ask us."]], [["Ask us."]], {}, "'containment'"),
    "one direction only": (
        [["Refunds arrive. Ask us."]],
        [["Ask us."]],
        {"match_method": "containment", "containment": "gold_in_retrieved"},
        "containment='either'",
    ),
    "indexed again": ([[chunk("a", "Ask us.")]], [[chunk("9f1c", "ask  us.")]], ID, "match_method='text'"),
    "indexed again as longer chunks": ([[chunk("a", "Ask us.")]], [[chunk("9f", "Yes. Ask us.")]], ID, "containment"),
    "raw texts": ([["Ask Us"]], [["ask us"]], {"normalize": None}, "no `normalize`"),
    "a key of the metadata": ([[{"id": "g"}]], [[chunk("x", source_id="g")]], ID, "id_key='source_id'"),
    "a key of both": ([[chunk("a", n="g")]], [[chunk("x", n="g")]], ID, "id_key='n'"),
    "a key of bare gold": (
        [[Document(id="g")]],
        [[Document(id="x", text="t", metadata={"s k": "g"})]],
        ID,
        "id_key='s k'",
    ),
    "a number in the metadata": ([[Document(id="7")]], [[Document(id="x", metadata={"n": 7})]], ID, "id_key='n'"),
    "a wrong key": (
        [[chunk("g", a="1")]],
        [[chunk("g", a="2")]],
        {**ID, "id_key": "a"},
        "no `id_key`",
    ),
    "a prefix": ([[{"id": "7"}], [{"id": "8"}]], [[chunk("faq-7")], [chunk("faq-8")]], ID, 'removeprefix("faq-")'),
    "a prefix of the gold": ([[{"id": "문서/7"}]], [[chunk("7")]], ID, "id_map='basename'"),
    "a suffix": ([[{"id": "док"}], [{"id": "faq"}]], [[chunk("док.md")], [chunk("faq.md")]], ID, "id_map='stem'"),
    "a chunk number": ([[{"id": "a"}], [{"id": "b"}]], [[chunk("a#1")], [chunk("b#22")]], ID, 'rpartition("#")[0]'),
    "a path": ([[{"id": "a"}], [{"id": "b"}]], [[chunk("x/a")], [chunk("y/z/b")]], ID, "id_map='basename'"),
    "case": ([[{"id": "Док-A"}]], [[chunk("док-a")]], ID, "id_map='casefold'"),
    "white space": ([[{"id": " d1"}]], [[chunk("d1\n")]], ID, "strip()"),
    "zeros": ([[{"id": "doc007"}]], [[chunk("doc7")]], ID, "id_map='strip_zeros'"),
    "quotes": ([[{"id": "7"}]], [[chunk("\"'id-7")]], ID, "removeprefix("),
    "rouge recall": (
        [["Refunds arrive within three days"]],
        [["Refunds mostly arrive within the first three days unless we ask you for one more paper before that"]],
        {"match_method": "rouge1", "threshold": 0.6},
        "rouge_measure='recall'",
    ),
    "rouge threshold": (
        [["one two three four five six"]],
        [["one two three seven eight nine"]],
        {"match_method": "rougeL", "threshold": 0.6},
        "threshold=0.5",
    ),
    "alike": ([["one two three four five"]], [["one two three four six"]], {}, "match_method='rougeL'"),
    "thresholds by method": (
        [["a b c d e"]],
        [["x a b c d e y"]],
        {"match_method": "rouge2", "threshold": {"rouge2": 0.95}},
        "'containment' and no `threshold`",
    ),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("cause", CAUSES)
def test_what_the_warning_says_works_when_it_is_written(cause: str) -> None:
    gold, retrieved, settings, named = CAUSES[cause]
    message = warned_by(lambda: evaluate(gold, retrieved, k=5, **settings))
    assert named in message
    matching, tried = counts_in(message)
    actual, predicted, followed = follow(message, gold, retrieved, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = evaluate(actual, predicted, k=5, metrics="hit_rate", **followed)
    assert (result["hit_rate@5"], tried) == (matching / tried, len(gold))


@pytest.mark.sample(3)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("match_method", ["text", "rougeL"])
def test_a_gold_text_inside_of_a_chunk_is_recognized_in_any_language(language: str, match_method: str) -> None:
    gold, more = LANGUAGES[language]
    retrieved = [[OTHER, f"{more} {more} {gold} {more} {more} {more}"]]
    message = warned_by(lambda: evaluate([[gold]], retrieved, match_method=match_method, threshold=0.9))
    assert f"Gold texts look like {gold!r}" in message
    assert "With match_method='containment', 1 of 1 query would match" in message


def advice_of_bare_ids(gold: list[list[str]], retrieved: list[list[str]]) -> None:
    message = warned_by(lambda: evaluate_ids(gold, retrieved, k=3))
    actual, predicted, settings = follow(message, gold, retrieved, {})
    assert evaluate_ids(actual, predicted, k=3, metrics="hit_rate", **settings)["hit_rate@3"] == 1.0


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("gold", "retrieved"),
    [("7", "faq-7"), ("faq-7", "7"), ("A", "a "), ("007", "7"), ("d7", "d7#1"), ("s3://b/d7", "d7"), ("id-d", "d")],
)
def test_advice_on_bare_ids_changes_the_lists_of_bare_ids(gold: str, retrieved: str) -> None:
    advice_of_bare_ids([[gold]], [["other", retrieved]])


def test_integers_are_ids_too() -> None:
    advice_of_bare_ids([[7, 8], [9]], [["n7"], ["n9"]])  # type: ignore[list-item]


def dated(texts: list[str]) -> EvalSet:
    return EvalSet([{"id": i, "question": f"q{i}", "gold": [text]} for i, text in enumerate(texts)])


def answered(chunks: list[dict[str, Any]]) -> Run:
    return Run.of("r", [RunRow.from_dict({"query_id": i, "retrieved": [one]}) for i, one in enumerate(chunks)])


GOLD, FOUND = ["Refunds arrive.", "환불은 사흘"], ["Refunds arrive. Ask us.", "네, 환불은 사흘 안에 됩니다."]


def streamed_one_by_one(**settings: Any) -> object:
    scorer = Scorer(k=1, **settings)
    for gold, found in zip(GOLD, FOUND, strict=True):
        scorer.score([gold], [found])
    scorer.result()
    return scorer.result()


ACTUAL, PREDICTED = [[one] for one in GOLD], [[one] for one in FOUND]
FRONTS: dict[str, Callable[..., object]] = {
    "evaluate": lambda **s: evaluate(ACTUAL, PREDICTED, **s),
    "evaluate_all": lambda **s: evaluate_all(ACTUAL, PREDICTED, **s),
    "an evaluator": lambda **s: OfflineRetrievalEvaluators(ACTUAL, PREDICTED, **s).evaluate_all(),
    "RAGEvaluator": lambda **s: RAGEvaluator(**s).evaluate_all(ACTUAL, PREDICTED),
    "evaluate_run": lambda **s: evaluate_run(dated(GOLD), answered([chunk("u", one) for one in FOUND]), **s),
    "evaluate_retriever": lambda **s: evaluate_retriever(dated(GOLD), lambda q: [FOUND[int(q[1])]], k=1, **s),
    "evaluate_retrievers": lambda **s: evaluate_retrievers(dated(GOLD), {"r": lambda q: [FOUND[int(q[1])]]}, k=1, **s),
    "evaluate_stream": lambda **s: evaluate_stream(zip(ACTUAL, PREDICTED, strict=True), batch_size=1, **s),
    "Scorer": streamed_one_by_one,
    "sweep": lambda **s: sweep(ACTUAL, PREDICTED, [0.9], in_use=0.95, **{**s, "match_method": "rougeL"}),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("front", FRONTS)
def test_every_front_warns_once_and_names_the_argument(front: str) -> None:
    message = warned_by(lambda: FRONTS[front](match_method="text"))
    assert "Gold texts look like 'Refunds arrive.', retrieved texts like 'Refunds arrive. Ask us.'." in message
    assert "With match_method='containment', 2 of 2 queries would match" in message
    if front != "sweep":
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            FRONTS[front](match_method="containment")


def test_the_best_is_named_with_the_counts_of_the_others() -> None:
    gold: Rows = [[chunk("a", "Ask us.")], [chunk("b", "Yes.")], [chunk("c", "No.")]]
    retrieved: Rows = [[chunk("x", "Ask us.", n="a")], [chunk("y", "Well, yes.", n="b")], [chunk("z", n="zz")]]
    message = warned_by(lambda: evaluate(gold, retrieved, match_method="id"))
    assert 'With id_key=\'n\' and actual = [[{**one, "n": one["id"]} for one in row] for row in actual], ' in message
    assert message.endswith(
        "2 of 3 queries would match, 2 with match_method='containment', 1 with match_method='text'."
    )


def test_where_nothing_helps_a_gold_and_a_retrieved_document_are_shown_escaped_and_shortened() -> None:
    gold, found = "Первая\x1b[2J строка", "完全不同的内容" * 50
    message = warned_by(lambda: evaluate([[gold]], [[found]]))
    assert "No other setting that was tried matches either" in message
    assert "text 'Первая\\x1b[2J строка'; text '完全不同的内容" in message
    assert len(message) < 500


@pytest.mark.parametrize("match_method", ["id", "text"])
def test_the_same_documents_for_other_queries_are_no_trouble_of_settings(match_method: str) -> None:
    gold, retrieved = [[chunk("a", "x y")], [chunk("b", "z w")]], [[chunk("b", "z w")], [chunk("a", "x y")]]
    message = warned_by(lambda: evaluate(gold, retrieved, match_method=match_method))
    assert f"Both sides have the same {match_method}s, but never for the same query" in message
    assert "With " not in message


def test_queries_with_only_gold_or_only_retrieved_documents_are_said_to_be_so() -> None:
    assert "No query with gold documents has retrieved any" in warned_by(lambda: evaluate([["a"], []], [[], ["a"]]))


@pytest.mark.parametrize(("n_matching", "n_warnings"), [(0, 1), (1, 0)])
def test_a_stream_decides_at_its_end(n_matching: int, n_warnings: int) -> None:
    pairs = [(["a b"], ["x a b"])] * 50 + [(["same"], ["same"])] * n_matching
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate_stream(pairs, batch_size=7)
    assert [str(warning.message)[:14] for warning in caught] == ["Not one text m"] * n_warnings


def test_only_so_many_queries_and_characters_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    long, pairs = "x" * 10_000, [(["a"], ["b"])] * 5000
    scorer = Scorer(match_method="text")
    for start in range(0, 5000, 500):
        scorer.score_batch(*map(list, zip(*pairs[start : start + 500], strict=True)))
    warned_by(scorer.result)
    assert len(scorer._document_counts.sample) == remedies.MOST_QUERIES
    monkeypatch.setattr(remedies, "MOST_CHARACTERS", 20_000)
    scorer = Scorer(match_method="text")
    scorer.score_batch([[f"{i} {long}"] for i in range(50)], [[f"y{i} {long}"] for i in range(50)])
    assert len(scorer._document_counts.sample) == 3


def test_of_a_part_it_says_how_many_were_tried() -> None:
    n_queries = 3 * remedies.MOST_QUERIES
    message = warned_by(lambda: evaluate([["a b"]] * n_queries, [["x a b"]] * n_queries))
    assert "200 of 200 queries that were tried would match" in message


def test_two_long_texts_with_the_same_beginning_are_not_taken_for_equal() -> None:
    start = "word " * 2000
    message = warned_by(lambda: evaluate([[chunk("a", f"{start}end")]], [[chunk("b", f"{start}other")]], **ID))
    assert 'text"' not in message
    assert "containment" not in message


def test_where_anything_matches_no_sample_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(remedies, "sample_of", refused)
    monkeypatch.setattr(remedies, "merged", refused)
    evaluate([["a"], ["b"]], [["a"], ["c"]])
    scorer = Scorer()
    scorer.score(["a"], ["a"])
    scorer.score(["b"], ["c"])
    scorer.result()


def test_a_sample_stays_in_its_process_and_is_dropped_once_anything_matches() -> None:
    def counts(gold: str, found: str) -> DocumentCounts:
        scorer = Scorer(match_method="text")
        scorer.score([gold], [chunk("i", found, source="s")])
        return scorer._document_counts

    assert len(counts("Ask", "Ask us").sample) == 1
    for first, second in ((counts("a", "a"), counts("Ask", "Ask us")), (counts("Ask", "Ask us"), counts("a", "a"))):
        first.merge(second)
        assert first.sample == []

    sent = pickle.loads(pickle.dumps(counts("Ask", "Ask us")))
    assert (sent, sent.sample) == (counts("Ask", "Ask us"), [])
    with pytest.warns(KragEvalWarning, match=r"^Not one text matches\. Score some of these queries with `evaluate`"):
        sent.check(make_settings(match_method="text"))


def test_documents_that_raise_when_they_are_looked_at_again_do_not_break_the_evaluation() -> None:
    class Odd:
        id = "x"

        @property
        def text(self) -> str:
            raise RuntimeError

    assert "Not one id matches" in warned_by(lambda: evaluate([[{"id": "a"}]], [[Odd()]], match_method="id"))


def test_no_model_is_asked_and_no_package_loaded_for_the_advice() -> None:
    asked: list[list[str]] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.append(texts)
        return [[1.0, 0.0] if text == "Ask" else [0.0, 1.0] for text in texts]

    settings: Settings = {"match_method": ["text", "embedding"], "embeddings": embed, "normalize": str.upper}
    message = warned_by(lambda: evaluate([["Ask"]], [["Ask us"]], **settings))
    assert "With match_method='containment', 1 of 1" in message
    assert sum(map(len, asked)) == 2


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("gold", "retrieved", "settings", "named"),
    [
        (["d1"], ["d1"], ID, "With match_method='text', 1 of 1"),
        (["Ask."], ["Ask. Yes."], ID, "With match_method='containment', 1 of 1"),
        (["d1"], [{"id": "d1"}], ID, 'With actual = [[{"id": one} for one in row] for row in actual], 1 of 1'),
        ([{"id": "d1"}], ["d1"], ID, 'With predicted = [[{"id": one} for one in row] for row in predicted], 1 of 1'),
        ([{"id": "d1"}], [chunk("d1")], {}, "With match_method='id', 1 of 1"),
        ([{"id": "d1"}], [chunk("d1")], {**ID, "id_key": "k"}, "With no `id_key`, 1 of 1"),
        ([{"id": "d1"}], [chunk("x", k="d1")], {**ID, "id_key": "k"}, "With id_key='k' and actual = [[{**one, \"k\""),
        ([{"id": "d1"}], [chunk("x", k="d1")], {**ID, "id_key": "z"}, "With id_key='k' and actual = [[{**one, \"k\""),
        ([{"id": "d1"}], ["text"], {"match_method": ["id", "text"]}, "Compare the gold and the first retrieved"),
    ],
)
def test_an_error_about_documents_that_can_never_match_suggests_what_was_tried(
    gold: list[Any], retrieved: list[Any], settings: Settings, named: str
) -> None:
    with pytest.raises(InvalidInputError) as refused:
        evaluate([gold], [retrieved], **settings)
    assert named in str(refused.value)
    if "With " in str(refused.value):
        actual, predicted, followed = follow(str(refused.value), [gold], [retrieved], settings)
        assert evaluate(actual, predicted, k=1, **followed)["hit_rate@1"] == 1.0


def test_before_anything_is_retrieved_texts_are_first_of_all_looked_for_in_longer_texts() -> None:
    with pytest.raises(InvalidInputError) as refused:
        evaluate_retriever(dated(GOLD), lambda _: [FOUND[0]], k=1)
    assert "match_method='containment' finds them in longer texts too" in str(refused.value)


@pytest.mark.parametrize("field", ["gold_chunk_ids", "gold"])
def test_gold_ids_of_a_question_set_are_read_under_any_key(field: str) -> None:
    gold = {"gold_chunk_ids": ["g1"], "gold": [{"id": "g1"}]}[field]
    evalset, run = EvalSet([{"id": 0, field: gold}]), answered([chunk("u1", src="g1")])
    assert "With id_key='src', 1 of 1 query would match" in warned_by(lambda: evaluate_run(evalset, run))
    assert evaluate_run(evalset, run, k=1, id_key="src")["recall@1"] == 1.0


def test_document_ids_under_another_key_are_named_with_the_argument_of_the_level() -> None:
    evalset = EvalSet([{"id": 0, "gold_doc_ids": ["manual"]}])
    run = answered([{"id": "manual", "metadata": {"doc_id": "x", "source": "manual"}}])
    message = warned_by(lambda: evaluate_run(evalset, run, level="document"))
    assert "With doc_key='source', 1 of 1 query would match." in message
    assert evaluate_run(evalset, run, k=1, level="document", doc_key="source")["recall@1"] == 1.0


def test_the_evaluators_of_krag_are_told_their_own_arguments() -> None:
    gold, longer = [["Refunds arrive."]], [["Yes. Refunds arrive. Then we are done with all of it."]]
    message = warned_by(lambda: RougeOfflineRetrievalEvaluators(gold, longer, threshold=0.9))
    assert "With OfflineRetrievalEvaluators and match_method='containment', 1 of 1 query would match" in message
    assert OfflineRetrievalEvaluators(gold, longer, match_method="containment").calculate_mrr() == {"mrr": 1.0}
    alike: Rows = [["one two three seven eight nine"]]
    rag = RAGEvaluator(match_method="rougeL", rouge_threshold=0.9)
    message = warned_by(lambda: rag.evaluate_all([["one two three four five six"]], alike))
    assert "With rouge_threshold=0.5, 1 of 1 query would match" in message


def test_of_thousands_of_keys_the_most_frequent_are_tried() -> None:
    gold = [[{"id": f"g{i}"}] for i in range(200)]
    keyed = [[chunk(f"x{i}", src=f"g{i}", **{f"key {i} {j}": "v" for j in range(19)})] for i in range(200)]
    assert "With id_key='src'" in warned_by(lambda: evaluate(gold, keyed, match_method="id"))


def test_a_normalizer_that_fails_on_texts_that_nobody_asked_for_breaks_nothing() -> None:
    def refuse(text: str) -> str:
        raise ValueError(text)

    gold, found = [[chunk("a", "x")]], [[chunk("b", "y")]]
    assert "No other setting" in warned_by(lambda: evaluate(gold, found, match_method="id", normalize=refuse))


@pytest.mark.parametrize("kind", ["LangChain", "mapping", "record"])
def test_an_id_in_the_metadata_that_hides_the_own_id_is_named(kind: str) -> None:
    documents = pytest.importorskip("langchain_core.documents")
    page: Any = documents.Document(OTHER, id="g1", metadata={"id": "row 1"})
    if kind == "mapping":
        page = {"page_content": OTHER, "id": "g1", "metadata": {"id": 0}}
    retrieved = [[as_document(page) if kind == "record" else page]]
    message = warned_by(lambda: evaluate([[{"id": "g1"}]], retrieved, match_method="id"))
    assert (
        "The retrieved documents have gold ids as `id`, but an \"id\" in their metadata wins. With id_key='.id', 1"
        in message
    )
    _, _, followed = follow(message, [], retrieved, {"match_method": "id"})
    assert evaluate([[{"id": "g1"}]], retrieved, k=1, **followed)["mrr@1"] == 1.0


@pytest.mark.parametrize(
    ("retrieved", "said"),
    [
        ([[], []], "Nothing was retrieved for 2 queries, so every score is 0. Ask the retriever one of the questions"),
        ([[], OSError("no route")], "1 retrieval failed. The first error: OSError: no route. Fix the cause"),
    ],
)
def test_an_evaluation_without_anything_retrieved_warns_with_the_first_reason(retrieved: list[Any], said: str) -> None:
    assert said in warned_by(lambda: evaluate([["a"], ["b"]], retrieved), "Nothing was retrieved")
    pairs = zip([["a"], ["b"]], retrieved, strict=True)
    assert said in warned_by(lambda: evaluate_stream(pairs, batch_size=1), "Nothing was retrieved")


def test_a_retriever_whose_every_call_fails_is_reported_once() -> None:
    def retrieve(_: str) -> list[str]:
        raise ValueError("no index")

    by_text: Any = {"match_method": "text"}
    message = warned_by(lambda: evaluate_retriever(dated(GOLD), retrieve, k=1, retries=0, **by_text), "Nothing was")
    assert "2 retrievals failed. The first error: ValueError: no index" in message
    several: dict[str, Any] = {"all fail": retrieve, "fine": lambda q: [GOLD[int(q[1])]]}
    message = warned_by(lambda: evaluate_retrievers(dated(GOLD), several, k=1, retries=0, **by_text), "Nothing")
    assert message.startswith("all fail: Nothing was retrieved for 2 queries")


def test_questions_without_an_answer_for_which_nothing_comes_back_are_no_trouble() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate([[], []], [[], []])
        evaluate([[], []], [["a"], []])


IDS = [
    "d1",
    "D1",
    " d1",
    "doc-1",
    "doc-01",
    "1",
    "01",
    "a#1",
    "a/b",
    "b",
    "faq:1",
    "ё",
    "Ё",
    "문서 1",
    "1.md",
    'q"1',
    "it's",
]
TEXTS = ["a b c d", "A B C D", "x a b c d y", "a b c x", "환불은 3일", "네 환불은 3일 끝", "d1", "", "  "]


def any_document(kind: str, choice: random.Random) -> object:
    if kind in ("text", "bare"):
        return choice.choice(IDS + TEXTS[:-2]) if kind == "text" else Document(id=choice.choice(IDS))
    names = choice.sample(["src", "id", "k 1", 'k"2'], choice.randint(0, 3))
    metadata = {name: choice.choice([*IDS, 7, None, ["l"]]) for name in names}
    if kind == "page":
        return KragDocument(choice.choice(TEXTS), metadata)
    return {"id": choice.choice(IDS), "text": choice.choice(TEXTS), "metadata": metadata}


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(40))
def test_whatever_the_input_the_advice_matches_as_many_queries_as_it_says(seed: int) -> None:
    choice = random.Random(seed)
    n_queries, kinds = (
        choice.randint(1, 3),
        (choice.choice(["text", "bare", "full"]), choice.choice(["text", "full", "page"])),
    )
    gold, found = (
        [[any_document(kind, choice) for _ in range(choice.randint(1, 3))] for _ in range(n_queries)] for kind in kinds
    )
    settings: Settings = {"match_method": choice.choice(["id", "text", "containment", "rougeL", ["id", "text"]])}
    if choice.random() < 0.3:
        settings["id_key"] = "src"
    if settings["match_method"] == "rougeL":
        settings["threshold"] = {"rougeL": 0.9}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            evaluate(gold, found, **settings)
        except InvalidInputError as error:
            said = str(error)
        else:
            said = "".join(str(warning.message) for warning in caught)
    if "would match" not in said or any(words in said for words in ("given as", "gold_chunk_ids", "without that key")):
        return
    has_code = re.search(r"ids [^(]*\((?:import re; )?(?:actual|predicted) = ", said)
    if re.search(r"the (?:gold|retrieved|gold and retrieved) ids (?!have|look)", said) and not has_code:
        return  # of objects, which no line of Python changes
    actual, predicted, followed = follow(said, gold, found, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = evaluate(actual, predicted, **followed).detail
    assert kept is not None
    assert len({*kept.batch.actual.query_of(kept.matches.actual).tolist()}) == counts_in(said)[0]
