"""Everything that the library returns can be copied and pickled, and comes back equal."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import krag_eval as front
from krag_eval.documents.tokenizers import TOKENIZERS
from tests.support.marks import nothing_may_match
from tests.support.public_names import PUBLIC
from tests.support.public_objects import ERRORS, FOUND, GOLD, OBJECTS, OF_ONE_PROCESS, embed, evaluated, frequent

pytestmark = [nothing_may_match, pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")]

CLASSES = {name: one for name, one in PUBLIC.items() if name[0] != "_" and inspect.isclass(one)}
COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
# What does the same is as good as equal: these are tools and not results.
USED: dict[str, Callable[[Any], object]] = {
    "AnswerPairs": lambda pairs: (pairs.references, pairs.answers, pairs.settings),
    "ColumnarScorer": lambda scorer: scorer.signature,
    "EmbeddingRougeOfflineRetrievalEvaluators": lambda one: one.calculate_recall(),
    "EvaluationCallback": vars,
    "Judgments": lambda judged: {field.name: getattr(judged, field.name).tolist() for field in fields(judged)},
    "OfflineRetrievalEvaluators": lambda one: one.calculate_recall(),
    "RAGEvaluator": lambda one: one.evaluate_all(GOLD, FOUND, 1),
    "RefusalTest": lambda is_refusal: (is_refusal.describe(), is_refusal("Ask the help desk!")),
    "RetrievalSink": vars,
    "RougeOfflineRetrievalEvaluators": lambda one: one.calculate_recall(),
    "RowScorer": lambda scorer: (scorer.signature, scorer.score(["a"], ["b", "a"])),
    "Scorer": lambda scorer: scorer.result(),
    "Tokenizer": lambda tokenizer: tokenizer.tokenize("running shoes"),
}


@functools.cache
def made(name: str) -> Any:
    return OBJECTS[name]()


def itself(one: Any) -> object:
    return one


def test_every_public_class_has_an_object_here() -> None:
    errors = {name for name, one in CLASSES.items() if issubclass(one, BaseException)}
    assert set(CLASSES) - errors == set(OBJECTS) | set(OF_ONE_PROCESS)


@pytest.mark.sample(4)
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_of_every_public_class_comes_back_equal(name: str, how: str) -> None:
    one, use = made(name), USED.get(name, itself)
    again = COPIES[how](one)
    assert type(again) is type(one)
    assert use(again) == use(one)
    assert repr(use(again)) == repr(use(one))


@functools.cache
def all_errors() -> list[type[BaseException]]:
    found: list[type[BaseException]] = [front.KragEvalError]
    for one in found:
        found += one.__subclasses__()
    return [one for one in found if one.__module__.startswith(("krag_eval.", "krag_eval_"))]


@pytest.mark.parametrize("how", COPIES)
def test_every_error_comes_back_with_all_that_it_says(how: str) -> None:
    for kind in all_errors():
        one = ERRORS[kind.__name__]() if kind.__name__ in ERRORS else kind("what is wrong")
        again = COPIES[how](one)
        assert (type(again), str(again), vars(again)) == (type(one), str(one), vars(one))


def test_every_error_with_a_signature_of_its_own_is_made_with_real_arguments() -> None:
    assert {kind.__name__ for kind in all_errors() if "__init__" in vars(kind)} <= set(ERRORS)


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", OF_ONE_PROCESS)
@pytest.mark.parametrize("how", COPIES)
def test_what_belongs_to_one_process_says_so(name: str, how: str, tmp_path: Path) -> None:
    one = OF_ONE_PROCESS[name](tmp_path)
    with pytest.raises(TypeError, match=f"{name} cannot be copied or pickled: "):
        COPIES[how](one)


METHODS: dict[str, dict[str, Any]] = {
    **{method: {"match_method": method} for method in ("text", "containment", "rouge1", "rouge2", "rougeL")},
    "embedding": {"match_method": "embedding", "embeddings": embed},
    "several": {"match_method": ["text", "rougeL"], "similarity_threshold": 0.1, "embeddings": embed},
    "stems": {"match_method": "rouge1", "use_stemmer": True},
    "our own": {"metrics": ["recall", frequent], "normalize": str.lower},
    **{name: {"match_method": "rouge1", "tokenizer": name} for name in TOKENIZERS if name != "kiwi"},
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("settings", METHODS.values(), ids=METHODS)
def test_a_result_of_every_method_comes_back_equal_and_explains_as_before(settings: dict[str, Any]) -> None:
    one = evaluated(**settings)
    list(one.explanations())  # fills whatever is computed when it is first read
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert list(again.explanations()) == list(one.explanations())
    assert again.per_query == one.per_query
    assert (again.misses(), again.worst(2)) == (one.misses(), one.worst(2))
    assert front.diagnose(again) == front.diagnose(one)


def test_results_that_differ_in_anything_are_not_equal() -> None:
    one = evaluated(match_method="rouge1")
    others = [
        evaluated(match_method="rouge2"),
        evaluated([*FOUND[:2], ["wine"]], match_method="rouge1"),
        evaluated(match_method="rouge1", metrics="recall"),
        evaluated(match_method="rouge1", intervals=0.9),
        front.evaluate(GOLD, FOUND, k=(1, 3), match_method="rouge1"),
        front.evaluate_stream(zip(GOLD, FOUND, strict=True), k=(1, 3), match_method="rouge1"),
    ]
    assert all(one != other for other in others)
    assert one == evaluated(match_method="rouge1")
    assert hash(one) == hash(evaluated(match_method="rouge1"))


def test_ids_runs_and_streams_come_back_equal() -> None:
    ids = [["a", "b"], ["c"]]
    for one in (
        front.evaluate_ids(ids, ids, k=1),
        front.evaluate_all(ids, ids, k=1),
        front.evaluate_stream(zip(ids, ids, strict=True), k=1, match_method="text"),
        front.evaluate_run(front.EvalSet([{"id": "q", "gold_chunk_ids": ["a"]}]), front.Run.of("r", []), k=1),
        front.fuse([["a", "b"], ["b", "c"]]),
    ):
        assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == copy.deepcopy(one) == one


class Model:
    """An embedding model with a key, and a connection that cannot be pickled."""

    model_name = "bge"

    def __init__(self) -> None:
        self.key = "sk-canary-0123456789"
        self.connection = Path(__file__).open(encoding="utf-8")  # noqa: SIM115 - it stays open

    def encode(self, texts: list[str]) -> list[list[float]]:
        return embed(texts)


def test_a_pickled_result_holds_no_embedding_model_and_explains_as_before() -> None:
    model = Model()
    for settings in (
        {"match_method": "embedding", "embeddings": model},
        {"match_method": "rougeL", "embeddings": model, "similarity_threshold": 0.5},
    ):
        one = evaluated(**settings)
        for content in (one, front.compare({"one": one, "other": one}), front.diagnose(one), one.misses()):
            assert b"sk-canary" not in pickle.dumps(content)
        again = pickle.loads(pickle.dumps(one))
        assert again == one
        assert list(again.explanations()) == list(one.explanations())
        assert copy.deepcopy(again) == one
    model.connection.close()


def test_a_lambda_is_named_by_pickle_and_kept_by_cloudpickle() -> None:
    one = evaluated(normalize=lambda text: text.lower())
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(one)
    cloudpickle = pytest.importorskip("cloudpickle")
    assert pickle.loads(cloudpickle.dumps(one)).explain(0) == one.explain(0)


def frameworks() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {"mapping": lambda id_, text: {"id": id_, "text": text}}
    try:
        from langchain_core.documents import Document as LangChainDocument

        found["LangChain"] = lambda id_, text: LangChainDocument(page_content=text, metadata={"id": id_})
    except ImportError:
        pass
    try:
        from llama_index.core.schema import NodeWithScore, TextNode

        found["LlamaIndex"] = lambda id_, text: NodeWithScore(node=TextNode(id_=id_, text=text), score=0.5)
    except ImportError:
        pass
    try:
        from haystack import Document as HaystackDocument

        found["Haystack"] = lambda id_, text: HaystackDocument(id=id_, content=text)
    except ImportError:
        pass
    return found


@pytest.mark.parametrize("method", ["id", "text", "rougeL"])
def test_results_of_the_documents_of_frameworks_come_back_equal(method: str) -> None:
    for make in frameworks().values():
        one = front.evaluate(
            [[make("a", "green tea")]], [[make("b", "tea"), make("a", "green tea")]], k=2, match_method=method
        )
        again = pickle.loads(pickle.dumps(one))
        assert (again, again.explain(0)) == (one, one.explain(0))


ELSEWHERE = """
import pickle, sys
result, report = pickle.load(sys.stdin.buffer)
import krag_eval
print(result["recall@1"], result.per_query[0].n_gold, len(result.misses()), result.explain(0).query)
print(len(krag_eval.compare({"a": result, "b": result}).rows) > 0, result == pickle.loads(pickle.dumps(result)))
"""


@pytest.mark.full
def test_a_result_works_in_another_process() -> None:
    one = evaluated()
    content = pickle.dumps((one, front.build_report({"one": one})))
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], input=content, capture_output=True, check=False)
    assert done.stderr == b""
    assert done.stdout.decode().splitlines() == [
        f"{one['recall@1']} {one.per_query[0].n_gold} {len(one.misses())} one",
        "True True",
    ]
