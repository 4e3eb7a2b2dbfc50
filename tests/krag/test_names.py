"""Every public name of krag is in `krag_eval.krag`, or its page says what to write."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from krag_eval.krag import evaluators
from krag_eval.krag.tokenizers import KiwiTokenizer
from tests.support.krag_names import RECORDED, recorded_names

PAGE = Path(__file__).parents[2] / "docs" / "from-krag.md"
NAMES = recorded_names()
# What krag writes and we mean by it: a default that nobody may change, and a model that today's Kiwi does not have.
OTHER_DEFAULTS: dict[str, dict[str, object]] = {
    "document.KragDocument": {"page_content": "", "metadata": None},
    "tokenizers.KiwiTokenizer": {"model_type": None},
}


@pytest.fixture(scope="module")
def instances() -> dict[str, Any]:
    """What has its attributes on its instances."""
    docs = [["a b"]], [["a b"]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kiwipiepy.Kiwi", lambda **_: "stands in for Kiwi, which takes seconds to load")
        kiwi_tokenizer = KiwiTokenizer()
    return {
        "OfflineRetrievalEvaluators": evaluators.OfflineRetrievalEvaluators(*docs),
        "RougeOfflineRetrievalEvaluators": evaluators.RougeOfflineRetrievalEvaluators(*docs, tokenizer="words"),
        "EmbeddingRougeOfflineRetrievalEvaluators": evaluators.EmbeddingRougeOfflineRetrievalEvaluators(
            *docs, embeddings=lambda texts: [[1.0] for _ in texts], tokenizer="words"
        ),
        "TokenizerConfig": evaluators.TokenizerConfig(evaluators.TokenizerType.KIWI, str),
        "KiwiTokenizer": kiwi_tokenizer,
    }


def not_there() -> list[str]:
    section = PAGE.read_text(encoding="utf-8").partition("\n## What is missing\n")[2].partition("\n## ")[0]
    return re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", section)))


@pytest.mark.sample(13)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_krag_is_here_with_its_arguments_and_defaults(name: str, instances: dict[str, Any]) -> None:
    path, _, parameters = name.removesuffix(")").partition("(")
    module_name, *attributes = path.split(".")
    thing: Any = importlib.import_module(f"krag_eval.krag.{module_name}")
    module = vars(thing)
    for attribute in attributes:
        owner, thing = thing, getattr(thing, attribute, getattr(instances.get(attributes[0]), attribute, None))
        if thing is None:
            assert {attribute, owner.__name__} <= {*not_there(), *evaluators.__all__}, f"{name} is not on the page"
            return
    theirs = list(inspect.signature(eval(f"lambda {parameters}: 0", module)).parameters.values())
    ours = [one for one in inspect.signature(thing).parameters.values() if one.name != "self"] if theirs else []
    defaults = {one.name: one.default for one in theirs} | OTHER_DEFAULTS.get(path, {})
    assert {one.name: one.default for one in ours[: len(theirs)]} == defaults
    assert [one.name for one in ours[: len(theirs)]] == [one.name for one in theirs]


def test_the_page_and_the_list_name_the_same_version() -> None:
    version = RECORDED.stem.partition("_of_krag_")[2]
    assert f"krag {version}" in PAGE.read_text(encoding="utf-8")
    assert len(NAMES) > 60


def test_what_the_modules_of_krag_import_from_each_other_is_there_too() -> None:
    from krag_eval.krag import __version__, document, retrievers, utils

    assert evaluators.Document is document.Document is document.KragDocument
    assert utils.RougeOfflineRetrievalEvaluators is evaluators.RougeOfflineRetrievalEvaluators
    assert vars(retrievers)["KiwiTokenizer"] is KiwiTokenizer
    assert __version__
