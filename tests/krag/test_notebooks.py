"""What krag's README and the course notebooks write, after `krag.` was replaced by `krag_eval.krag.`."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

import krag_eval
from krag_eval import InvalidInputError, KragEvalWarning
from krag_eval.krag.document import KragDocument
from krag_eval.krag.evaluators import (
    AveragingMethod,
    EmbeddingRougeOfflineRetrievalEvaluators,
    MatchingCriteria,
    OfflineRetrievalEvaluators,
    RougeOfflineRetrievalEvaluators,
    TokenizerType,
)
from krag_eval.krag.retrievers import KiWiBM25RetrieverWithScore
from krag_eval.krag.tokenizers import KiwiTokenizer
from krag_eval.krag.utils import (
    context_to_document,
    evaluate_retrieval_at_K,
    flatten_metrics,
    setup_retriever,
)

GOLD = [[KragDocument(page_content="This is the first document."), KragDocument("This is the second document.")]]
RETRIEVED = [[KragDocument(page_content="This is the last document."), KragDocument("This is the second document.")]]
LONGER = [["refund"], ["shipping"]], [["refund policy", "hours"], ["shipping"]]


def one_vector(texts: list[str]) -> list[list[float]]:
    return [[1.0, 0.0] for _ in texts]


def test_all_values_as_text() -> None:
    text = OfflineRetrievalEvaluators(GOLD, RETRIEVED).get_metrics_by_averaging_method(1)
    titles = ["Hit Rate", "MRR", "Recall", "Precision", "F1 Score", "MAP", "NDCG"]
    assert [line.partition(" @1: ")[0] for line in text.splitlines()] == titles
    assert "Recall @1: {'micro_recall': 0.0, 'macro_recall': 0.0}" in text


@pytest.mark.full
def test_rouge_cuts_by_kiwi_and_stems_unless_told_otherwise() -> None:
    gold, retrieved = (
        [["주문을 취소했습니다."], ["running shoes returned"]],
        [["주문이 취소되었다."], ["runs shoe return"]],
    )

    def hit_rate(**settings: Any) -> float | None:
        same = [["the same"]]
        scored = RougeOfflineRetrievalEvaluators(gold + same, retrieved + same, **settings)
        return scored.calculate_hit_rate()["hit_rate"]

    assert hit_rate() == hit_rate(tokenizer=TokenizerType.KIWI) == 1
    assert hit_rate(tokenizer=TokenizerType.WHITESPACE) == hit_rate(use_stemmer=False) == pytest.approx(2 / 3)
    by_nltk = RougeOfflineRetrievalEvaluators([["We can't ship."]], [["we can't ship"]], tokenizer=TokenizerType.NLTK)
    assert by_nltk.tokenizer.tokenize_fn("We can't ship.") == "we ca n't ship"
    assert (by_nltk.calculate_mrr(), by_nltk.threshold) == ({"mrr": 1.0}, 0.5)


def test_containment_is_told_once_at_the_first_call_that_it_would_change() -> None:
    evaluator = OfflineRetrievalEvaluators(*LONGER)
    with pytest.warns(KragEvalWarning, match=r"match more in 1 of 2 queries") as caught:
        assert evaluator.calculate_hit_rate(k=2) == {"hit_rate": 0.5}
    assert [warning.filename for warning in caught] == [__file__]
    assert evaluator.calculate_mrr(k=2) == {"mrr": 0.5}  # a second warning would be an error here


def test_the_arguments_that_the_warning_names_give_krags_result() -> None:
    with pytest.warns(KragEvalWarning) as caught:
        OfflineRetrievalEvaluators(*LONGER).calculate_mrr()
    advice = str(caught[0].message).partition("pass ")[2].partition(". To")[0]
    as_in_krag = eval(f"OfflineRetrievalEvaluators(*LONGER, {advice})")
    assert as_in_krag.calculate_hit_rate(k=2) == {"hit_rate": 1.0}


@pytest.mark.parametrize(
    ("retrieved", "settings"),
    [
        (["refund", "hours"], {}),  # equal
        (["Refund policy", "hours"], {}),  # neither: krag does not ignore the case
        (["ref", "hours"], {}),  # the other way round, which krag does not count
        (["refund policy"], {"match_method": "containment", "containment": "gold_in_retrieved"}),
        (["refund policy"], {"match_method": ["id", "text"]}),
    ],
)
def test_nothing_is_told_where_containment_changes_nothing(retrieved: list[str], settings: dict[str, Any]) -> None:
    gold, documents = KragDocument("refund", {"id": "x"}), [KragDocument(text, {"id": "y"}) for text in retrieved]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        OfflineRetrievalEvaluators([[gold]], [documents], **settings).evaluate_all()
    assert [warning for warning in caught if "krag would" in str(warning.message)] == []


def test_the_evaluators_of_the_package_itself_say_nothing_of_krag() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        krag_eval.OfflineRetrievalEvaluators(*LONGER).evaluate_all(2)
    assert [warning for warning in caught if "krag would" in str(warning.message)] == []


def test_documents_that_are_assigned_later_are_scored() -> None:
    evaluator = OfflineRetrievalEvaluators([["a", "c"]], [["a"]])
    evaluator.predicted_docs = [["a"], ["b"]]
    evaluator.actual_docs = [["a"], ["b"]]
    evaluator.averaging_method = "micro"
    assert evaluator.calculate_recall() == {"micro_recall": 1.0}
    evaluator.matching_criteria = "some"
    with pytest.raises(InvalidInputError, match="matching_criteria"):
        evaluator.calculate_hit_rate()


@pytest.mark.full
def test_two_texts_match_as_the_documents_do() -> None:
    by_rouge = RougeOfflineRetrievalEvaluators(GOLD, RETRIEVED, threshold=0.6)
    assert by_rouge.text_match("three working days", "within three days")
    assert not by_rouge.text_match("three working days", ["hours", "parcels"])
    assert OfflineRetrievalEvaluators(GOLD, RETRIEVED).text_match("a", ["b", "A"])
    assert not OfflineRetrievalEvaluators(GOLD, RETRIEVED).text_match("a", [])


def test_a_subclass_may_add_what_it_likes_but_its_own_text_match_would_not_be_called() -> None:
    class WithModel(OfflineRetrievalEvaluators):
        def __init__(self, actual_docs: object, predicted_docs: object, model: object) -> None:
            super().__init__(actual_docs, predicted_docs, "text", AveragingMethod.BOTH, MatchingCriteria.ALL)
            self.model, self.predicted_docs = model, predicted_docs

        def f1(self, k: int = 5) -> object:
            return self.calculate_f1_score(k=k).get("macro_f1")

    assert WithModel(GOLD, RETRIEVED, model=None).f1() == 0.5
    with pytest.raises(InvalidInputError, match="OwnMatch defines `text_match`, which krag_eval does not call"):
        type("OwnMatch", (OfflineRetrievalEvaluators,), {"text_match": lambda *_: True})


def test_a_document_has_what_notebooks_ask_of_it() -> None:
    short, long = KragDocument("a" * 100), KragDocument("a" * 101)
    assert (short.get_summary(), long.get_summary()) == ("a" * 100, "a" * 100 + "...")
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    store.add_documents([short])  # type: ignore[list-item]  # reads the id of every document
    assert [found.page_content for found in store.similarity_search("a", k=1)] == ["a" * 100]


def stand_in_for(monkeypatch: pytest.MonkeyPatch, module: str, name: str, thing: object) -> None:
    stand_in = types.ModuleType(module)
    setattr(stand_in, name, thing)
    monkeypatch.setitem(sys.modules, module.partition(".")[0], types.ModuleType(module.partition(".")[0]))
    monkeypatch.setitem(sys.modules, module, stand_in)


@pytest.mark.full
@pytest.mark.parametrize(
    ("embedding_type", "package", "config", "expected"),
    [
        ("openai", "langchain_openai:OpenAIEmbeddings", {"dimensions": 8}, {"model": "text-embedding-3-small"}),
        ("ollama", "langchain_ollama:OllamaEmbeddings", {}, {"model": "bge-m3"}),
        ("huggingface", "langchain_huggingface:HuggingFaceEmbeddings", {"encode_kwargs": {}}, {"encode_kwargs": {}}),
    ],
)
def test_an_embedding_type_loads_the_model_that_krag_loads(
    embedding_type: str, package: str, config: dict[str, Any], expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    class StandIn:  # for the client of that package
        def __init__(self, **settings: Any) -> None:
            made.append(settings)

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return one_vector(texts)

    module, _, name = package.partition(":")
    stand_in_for(monkeypatch, module, name, StandIn)
    evaluator = EmbeddingRougeOfflineRetrievalEvaluators(
        GOLD, RETRIEVED, embedding_type=embedding_type, embedding_config=config, rouge_threshold=0.8
    )
    assert evaluator.calculate_recall(k=2)["macro_recall"] == 1.0
    assert made[0].items() >= {**expected, **config}.items()
    assert (evaluator.rouge_threshold, evaluator.similarity_threshold) == (0.8, 0.7)
    assert isinstance(evaluator.embeddings, StandIn)


def test_a_model_whose_package_is_missing_is_named_with_the_two_ways_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_ollama", None)
    with pytest.raises(InvalidInputError, match=r"pip install langchain-ollama; or pass .* as `embeddings`"):
        EmbeddingRougeOfflineRetrievalEvaluators(GOLD, RETRIEVED, embedding_type="ollama")
    with pytest.raises(InvalidInputError, match=r"embedding_type.*huggingface"):
        EmbeddingRougeOfflineRetrievalEvaluators(GOLD, RETRIEVED, embedding_type="olama")


@pytest.mark.full
def test_kiwis_tokens_have_their_forms_and_a_model_that_is_not_there_is_told() -> None:
    forms = [token.form for token in KiwiTokenizer(typos="basic").tokenize("환불은 사흘")]
    assert forms == ["환불", "은", "사흘"]
    with pytest.warns(KragEvalWarning, match="no model 'knlm'"):
        tokenizer = KiwiTokenizer(model_type="knlm", typos="basic")
    assert [token.form for token in tokenizer.tokenize("환불은 사흘")] == forms


class BM25StandIn:  # for BM25Retriever of langchain-community: it ranks by the number of shared tokens
    def __init__(self, documents: list[Document], cut: Callable[[str], list[str]], k: int) -> None:
        self.documents, self.cut, self.k, self.vectorizer = documents, cut, k, self

    @classmethod
    def from_documents(cls, documents: list[Document], preprocess_func: Callable[[str], list[str]], k: int) -> Any:
        return cls(documents, preprocess_func, k)

    def get_scores(self, tokens: list[str]) -> list[int]:
        return [len({*tokens} & {*self.cut(one.page_content)}) for one in self.documents]

    def invoke(self, query: str) -> list[Document]:
        return self._get_relevant_documents(query, run_manager=None)

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        scores = self.get_scores(self.cut(query))
        order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
        return [self.documents[place] for place in order[: self.k]]


def test_the_bm25_retriever_has_scores_and_leaves_out_what_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in_for(monkeypatch, "langchain_community.retrievers", "BM25Retriever", BM25StandIn)
    notes = [Document("배송은 사흘", metadata={"n": 1}), Document("환불은 사흘"), Document("영업 시간")]
    tokens: Any = types.SimpleNamespace(tokenize=lambda text: [types.SimpleNamespace(form=one) for one in text])
    found = KiWiBM25RetrieverWithScore(notes, kiwi_tokenizer=tokens, k=3).invoke("환불은")
    assert [(one.page_content, one.metadata["bm25_score"]) for one in found] == [("환불은 사흘", 3), ("배송은 사흘", 1)]
    assert notes[0].metadata == {"n": 1}
    assert KiWiBM25RetrieverWithScore(notes).invoke("환불은 언제") == [
        Document("환불은 사흘", metadata={"bm25_score": 1.0})
    ]
    assert KiWiBM25RetrieverWithScore(notes, threshold=5).invoke("환불은 언제") == []


def test_without_its_package_the_bm25_retriever_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_community", None)
    with pytest.raises(InvalidInputError, match="pip install langchain-community rank-bm25; or use any"):
        KiWiBM25RetrieverWithScore([])


FRAME = pd.DataFrame(
    {
        "question": ["환불은 언제 되나요?", "제주도는 얼마나 걸리나요?"],
        "context": ["['환불은 사흘 안에 됩니다.']", "['제주도는 이틀 더 걸립니다.', '섬 지역은 배송비가 있습니다.']"],
        "source": ["['faq.pdf']", "['faq.pdf', 'faq.pdf']"],
        "doc_id": ["['d1']", "['d2', 'd3']"],
    }
)
METRICS = ["hit_rate", "mrr", "micro_recall", "macro_recall", "micro_precision", "macro_precision", "micro_f1"]
METRICS += ["macro_f1", "map", "ndcg"]


def search(question: str) -> list[Document]:
    return [Document("환불은 사흘 안에 됩니다."), Document("제주도는 이틀 더 걸립니다.")]


def test_two_retrievers_are_compared_in_krags_tables() -> None:
    some: Any = RunnableLambda(lambda question: search(question) if "환불" in question else [])
    means, rows = evaluate_retrieval_at_K(FRAME, 2, {"some": some, "found": search})
    assert list(means.columns) == [f"{name}@2" for name in METRICS]
    assert list(rows.columns) == ["question", "retriever", *means.columns]
    assert list(means.index) == ["found", "some"]
    found = means.loc["found"].to_dict()
    assert [found[name] for name in ("hit_rate@2", "mrr@2", "macro_recall@2")] == [1.0, 0.75, 0.75]
    assert found["micro_recall@2"] == pytest.approx(2 / 3)
    assert rows["retriever"].tolist() == ["some", "found"] * 2
    assert rows["question"].tolist() == sorted([*FRAME["question"], *FRAME["question"]], reverse=True)
    assert rows["micro_recall@2"].tolist() == rows["macro_recall@2"].tolist() == [1.0, 1.0, 0.0, 0.5]


def test_the_arguments_of_the_comparison() -> None:
    given: dict[str, Any] = {"averaging_method": AveragingMethod.MICRO, "matching_criteria": MatchingCriteria.ALL}
    means, _ = evaluate_retrieval_at_K(FRAME, 1, {"one": search}, rouge_method="rouge1", threshold=0.9, **given)
    assert [name for name in means.columns if name.startswith("macro_")] == []
    assert means["hit_rate@1"].tolist() == [0.5]
    shorter = FRAME.assign(context=["['환불은 사흘 안에 됩니다.']", "['이틀 더', '배송비']"])
    with pytest.warns(KragEvalWarning, match="match more in 1 of 2 queries"):
        evaluate_retrieval_at_K(shorter, 2, {"one": search, "two": search})


def test_an_ensemble_is_langchains(monkeypatch: pytest.MonkeyPatch) -> None:
    def ensemble(retrievers: list[Any], weights: list[float]) -> Any:  # stands in for the class
        assert (len(retrievers), weights) == (2, [0.5, 0.5])
        return retrievers[0]

    monkeypatch.setitem(sys.modules, "langchain_classic", None)
    monkeypatch.setitem(sys.modules, "langchain_classic.retrievers", None)
    stand_in_for(monkeypatch, "langchain.retrievers", "EnsembleRetriever", ensemble)
    means, _ = evaluate_retrieval_at_K(FRAME, 2, {"one": search, "two": search}, ensemble=True)
    assert list(means.index) == ["Ensemble", "one", "two"]
    monkeypatch.setitem(sys.modules, "langchain.retrievers", None)
    with pytest.raises(InvalidInputError, match="pip install langchain-classic; or add an ensemble of your own"):
        evaluate_retrieval_at_K(FRAME, 2, {"one": search}, ensemble=True)


def test_a_retriever_is_asked_for_k_documents_and_stays_as_it_was() -> None:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    store.add_documents([Document(str(number)) for number in range(9)])
    given = store.as_retriever()
    assert [len(one.invoke("5")) for one in (setup_retriever(given, 7), given)] == [7, 4]

    class BM25:
        k = 4

    class MultiQuery:
        retriever = given

    MultiQuery.__module__ = "langchain.retrievers.multi_query"
    assert (setup_retriever(BM25(), 7).k, BM25.k) == (7, 4)
    assert len(setup_retriever(MultiQuery(), 7).retriever.invoke("5")) == 7
    assert setup_retriever(RunnableLambda(search), 7).invoke("5") == search("5")
    assert setup_retriever(search, 7) is search


def test_a_row_of_the_frame_as_documents_and_metrics_as_one_dict() -> None:
    expected = KragDocument("섬 지역은 배송비가 있습니다.", {"source": "faq.pdf", "doc_id": "d3"})
    assert context_to_document(FRAME, 1)[1] == expected
    nested = {"recall": {"micro_recall": 0.5, "macro_recall": 1.0}, "mrr": 0.5}
    assert flatten_metrics(nested, 5) == {"micro_recall@5": 0.5, "macro_recall@5": 1.0, "mrr@5": 0.5}
