"""A name that a message suggests in place of a wrong one works in the function that was called."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import krag_eval
import krag_eval_answers
import krag_eval_live
import krag_eval_monitor
from krag_eval import InvalidInputError, UnknownArgumentError
from krag_eval._utils.suggestions import ARGUMENTS, INSTEAD
from tests.project.test_wrong_names import TAKE_SETTINGS
from tests.support.log_cases import write_rows
from tests.support.public_names import PUBLIC
from tests.support.suggestion_cases import FOUND, GOLD, RUN, SET, embed, prepare, search

# What each function cannot do without.
_LISTS: dict[str, Any] = {"actual": GOLD, "predicted": FOUND}
_KRAG: dict[str, Any] = {"actual_docs": GOLD, "predicted_docs": FOUND}
_ASKED: dict[str, Any] = {"retriever": search, "evalset": SET}
_STAGES = [{"name": "dense", "retrieved": FOUND[0]}, {"name": "cut", "inputs": ["dense"], "retrieved": FOUND[0]}]
RUN_OF_STAGES = krag_eval.Run.of(
    "pipeline", [krag_eval.RunRow.from_dict({"query_id": question["id"], "stages": _STAGES}) for question in SET]
)
NEEDED: dict[str, dict[str, Any]] = {
    "ColumnarScorer": {},
    "EmbeddingRougeOfflineRetrievalEvaluators": {**_KRAG, "embeddings": embed},
    "LiveScorer": {"gold": SET, "bands": {"empty": (None, 0.5)}, "on_alert": print},
    "OfflineRetrievalEvaluators": _KRAG,
    "RAGEvaluator": {},
    "RougeOfflineRetrievalEvaluators": _KRAG,
    "RowScorer": {},
    "Scorer": {},
    "aevaluate_retriever": _ASKED,
    "audit_labels": {"evalset": SET, "runs": RUN},
    "build_report": {"systems": {"a": RUN}, "evalset": SET},
    "calibrate": {"labelled_pairs": [("a b", "a b", True)] * 9},
    "compare": {"systems": {"a": RUN, "b": RUN}, "evalset": SET},
    "evaluate": _LISTS,
    "evaluate_all": _LISTS,
    "evaluate_ids": {"actual": [["a"]], "predicted": [["a"]]},
    "evaluate_retriever": _ASKED,
    "evaluate_retrievers": {"evalset": SET, "retrievers": {"a": search}, "k": 2},
    "evaluate_run": {"evalset": SET, "run": RUN},
    "evaluate_stream": {"pairs": list(zip(GOLD, FOUND, strict=True))},
    "funnel": {"run": RUN_OF_STAGES, "evalset": SET},
    "no_answer_curve": {"actual": [["a"]], "predicted": [[("a", 0.5)]]},
    "read_boards": {"folder": "."},
    "run_bench": {"corpus": None, "retriever": search, "evalset": SET, "skip_e2e": True},
    "score_row": {"actual": GOLD[0], "predicted": FOUND[0]},
    "score_logs": {"logs": "texts.parquet", "out": "out.parquet"},
    "sweep": _LISTS,
}
SLOW = {"build_report", "compare", "run_bench", "score_logs"}
# A value for each argument that is suggested.
VALUES: dict[str, Any] = {
    "actual": GOLD,
    "averaging_method": "micro",
    "concurrency": 1,
    "confidence": 0.95,
    "embeddings": embed,
    "force": True,
    "gold": SET,
    "in_use": 0.5,
    "intervals": 0.95,
    "k": 2,
    "match_method": "rougeL",
    "method": "rouge1",
    "metrics": "mrr",
    "n_jobs": 1,
    "on_alert": print,
    "predicted": FOUND,
    "retries": 0,
    "rouge_threshold": 0.5,
    "sinks": [],
    "threshold": 0.5,
    "tokenizer": "words",
    "use_stemmer": False,
    "workers": 1,
}
# What is said where another name alone does not do, and what a reader makes of it.
ADVICE: dict[str, Callable[[Any], dict[str, Any]]] = {
    r"[a-z]+=0\.95": lambda text: {text.partition("=")[0]: 0.95},
    r"embeddings=Hugging": lambda text: {"embeddings": embed},
    r"'recall@5' is the macro mean, 'micro_recall@5'": lambda text: {"metrics": "recall", "k": 5},
    r"`hit_rate` asks .* `hit_rate_all`": lambda text: {"metrics": re.findall(r"`(\w+)`", text), "k": 5},
    r"Leave it out": lambda text: {},
}


def called(name: str, **arguments: Any) -> Any:
    answer = PUBLIC[name](**arguments)
    return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer


def said_of(name: str, wrong: str) -> str:
    """What is said of a name that the function does not have; nothing if it has it."""
    try:
        called(name, **NEEDED[name], **{wrong: 1})
    except UnknownArgumentError as error:
        return str(error).partition(" It takes:")[0]
    except (InvalidInputError, TypeError):
        pass
    return ""


def applied(name: str, hint: str) -> dict[str, Any] | None:
    """The arguments that a hint says to write; None if it says none."""
    if ours := re.search(r"It is called `(\w+)` here", hint):
        return {ours[1]: NEEDED[name].get(ours[1], VALUES[ours[1]])}
    for pattern, arguments in ADVICE.items():
        if found := re.search(pattern, hint):
            return arguments(found[0])
    return None


def test_each_function_that_takes_settings_is_here() -> None:
    assert NEEDED.keys() == TAKE_SETTINGS.keys()


@pytest.mark.sample(5)
@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.full] if name in SLOW else []) for name in NEEDED],
)
def test_an_argument_that_is_suggested_can_be_given(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(Path("texts.parquet"), [{"query_id": "q1", "actual": GOLD[0], "predicted": FOUND[0]}])
    tried: dict[str, dict[str, Any]] = {}
    for wrong in sorted({*ARGUMENTS, *INSTEAD} - NEEDED[name].keys()):
        arguments = applied(name, said_of(name, wrong))
        if arguments is not None:
            tried[repr(arguments)] = arguments
    assert tried
    for arguments in tried.values():
        Path("out.parquet").unlink(missing_ok=True)
        called(name, **{**NEEDED[name], **arguments})


COMPARISON: Any = krag_eval.compare(SET, {"a": RUN, "b": RUN}, n_bootstrap=100, n_randomisation=100)
RESULT: Any = krag_eval.evaluate(GOLD, FOUND)
front: Any = krag_eval  # a type checker would stop most of these mistakes
# A call with a name that is nearly right, and the name.
MISSPELLED: list[tuple[Callable[[Any], object], str]] = [
    (lambda name: front.evaluate(GOLD, FOUND, **{name: "words"}), "tokeniser"),
    (lambda name: front.evaluate(GOLD, FOUND, metrics=[name]), "recal"),
    (lambda name: front.evaluate(GOLD, FOUND, metrics=f"rbp({name}=0.5)"), "P"),
    (lambda name: front.evaluate(GOLD, FOUND, match_method=name), "rougel"),
    (lambda name: front.evaluate(GOLD, FOUND, match_method="rougeL", tokenizer=name), "word"),
    (lambda name: krag_eval_answers.evaluate_answers(["a"], ["a"], metrics=[name]), "token-f1"),
    (lambda name: krag_eval_answers.evaluate_answers({"q1": "a"}, {name: "a"}), "q_1"),
    (lambda name: krag_eval_answers.evaluate_answers(["a"], ["a"])[name], "rougel"),
    (lambda name: front.compare(SET, {"base": RUN, "new": RUN}, baseline=name), "bas"),
    (lambda name: front.compare(SET, {"a": RUN, "b": RUN}, by=name), "typ"),
    (lambda name: front.compare(SET, {"a": RUN, "b": RUN}, missing=name), "emtpy"),
    (lambda name: front.Policy.from_dict({name: {"require": ["recall@5 >= 0.8"]}}), "gat"),
    (lambda name: front.read_run("run.jsonl", format=name), "json-l"),
    (lambda name: front.as_evalset(SET)[name], "q01"),
    (lambda name: krag_eval_live.LiveScorer(SET, bands={name: (None, 1)}, on_alert=print), "emty"),
    (
        lambda name: krag_eval_live.LiveScorer(SET, watch=krag_eval_monitor.Watch(signals=[name]), on_alert=print),
        "emty",
    ),
    (lambda name: krag_eval_monitor.Watch(signals={"empty": name}), "upp"),
    (lambda name: krag_eval_monitor.Watch(season=name), "days"),
    (lambda name: RESULT[name], "Recal_5"),
    (lambda name: RESULT[name], "hits@5"),
    (lambda name: RESULT.report("page.md", format=name), "mdd"),
    (lambda name: COMPARISON["b", name], "recal@10"),
    (lambda name: COMPARISON[name], "recal@10"),
    (lambda name: COMPARISON[name, "recall@10"], "bb"),
]


@pytest.mark.sample(5)
@pytest.mark.parametrize(("call", "wrong"), MISSPELLED, ids=[name for _, name in MISSPELLED])
def test_a_name_that_is_suggested_is_right(
    call: Callable[[Any], object], wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare()
    with pytest.raises(InvalidInputError, match=r"Did you mean|is called") as caught:
        call(wrong)
    suggested = re.search(r"(?:Did you mean|is called) ['`](.+?)['`](?:\?| here)", str(caught.value))
    assert suggested is not None, caught.value
    call(suggested[1])
