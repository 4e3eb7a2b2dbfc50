"""A handler that does not know where scores belong, or was given what it cannot use, says so before it sends."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from langfuse import Langfuse

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import InvalidInputError, KragEvalWarning, evaluate
from krag_eval_langfuse import LangfuseScoreHandler, Target

GOLD = [["a", "b"], ["c"], ["d"], []]
RETRIEVED = [["b", "x"], ["y", "c"], ["z"], ["w"]]


def run(handler: LangfuseScoreHandler, **settings: Any) -> None:
    settings = {"k": (1, 2), "metrics": ["recall", "mrr"], "query_ids": ["q1", "q2", "q3", "q4"], **settings}
    evaluate(GOLD, RETRIEVED, callbacks=[handler], raise_errors=True, **settings)


def test_a_handler_without_any_target_says_so_once_and_sends_nothing(
    server: LoopbackLangfuse, client: Langfuse
) -> None:
    with pytest.warns(KragEvalWarning) as warned:
        result = evaluate(GOLD, RETRIEVED, k=1, callbacks=[LangfuseScoreHandler(client)])
    (only,) = warned
    assert str(only.message).startswith("1 callback call failed")
    for name in ("`trace_ids`", "`dataset_run_id`", "`session_id`"):
        assert name in str(only.message)
    assert result["recall@1"] is not None
    with pytest.raises(InvalidInputError, match="`trace_ids`, `dataset_run_id` or `session_id`"):
        run(LangfuseScoreHandler(client))
    assert server.requests == []


def test_traces_of_none_of_the_queries_are_one_warning(server: LoopbackLangfuse, client: Langfuse) -> None:
    handler = LangfuseScoreHandler(client, trace_ids={"other": "1" * 32}, delivery="sync")
    with pytest.warns(KragEvalWarning, match="None of 4 queries is in `trace_ids`"):
        run(handler)
    assert (handler.sent, handler.counters.no_target) == (0, 16)


def test_a_list_of_another_length_is_refused_before_anything_is_sent(
    server: LoopbackLangfuse, client: Langfuse
) -> None:
    with pytest.raises(InvalidInputError, match="a list of 3 for 4 queries"):
        run(LangfuseScoreHandler(client, trace_ids=["1" * 32] * 3, delivery="sync"))
    assert server.requests == []


def test_a_name_that_no_score_config_can_have_is_refused(client: Langfuse) -> None:
    def a_metric_with_a_very_long_name_indeed(judged: Any, k: Any) -> Any:
        return judged.n_gold * 0.0

    with pytest.raises(InvalidInputError, match=r"'krag\.a_metric_with_a_very_long_name_indeed_at_1' cannot have"):
        run(LangfuseScoreHandler(client, session_id="s"), k=1, metrics=[a_metric_with_a_very_long_name_indeed])


def test_two_keys_of_one_name_are_refused(client: Langfuse) -> None:
    def recall_at_1(judged: Any, k: Any) -> Any:
        return judged.n_gold * 0.0

    with pytest.raises(InvalidInputError, match=r"would both be the score 'krag\.recall_at_1'"):
        run(LangfuseScoreHandler(client, session_id="s"), k=(1, None), metrics=["recall", recall_at_1])


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        pytest.param({"dataset_run_id": "d", "session_id": "s"}, "exactly one target", id="two targets"),
        pytest.param({"session_id": ""}, "`session_id` must be", id="an empty id"),
        pytest.param({"dataset_run_id": 7}, "`dataset_run_id` must be", id="an id that is no string"),
        pytest.param({"trace_ids": "abc"}, "must be a mapping from query ids", id="traces as a string"),
        pytest.param({"trace_ids": 3}, "must be a mapping from query ids", id="traces as a number"),
        pytest.param({"trace_ids": {"q": 5}}, r"`trace_ids\['q'\]` must be", id="a trace that is no string"),
        pytest.param(
            {"trace_ids": {"q": ("t", 5)}}, r"`trace_ids\['q'\]` must be", id="an observation of another kind"
        ),
        pytest.param({"trace_ids": [""]}, "`trace_id` must be", id="an empty trace"),
        pytest.param({"trace_ids": [("", "o")]}, "`trace_id` must be", id="an observation without its trace"),
        pytest.param({"prefix": "krag@"}, "`prefix` must be .* got 'krag@'", id="a prefix with @"),
        pytest.param({"prefix": "검색."}, "`prefix` must be", id="a prefix in Korean"),
        pytest.param({"prefix": "p" * 35}, "`prefix` must be", id="a prefix that leaves no room"),
        pytest.param({"prefix": None}, "`prefix` must be .* got None", id="no prefix"),
        pytest.param({"timestamp": datetime(2026, 1, 1)}, "a time with a time zone", id="a naive time"),  # noqa: DTZ001
        pytest.param({"timestamp": "2026-01-01"}, "a time with a time zone", id="a time as a string"),
        pytest.param({"run_id": ""}, "`run_id` must be", id="an empty run"),
        pytest.param({"delivery": "fast"}, "`delivery` must be .* got 'fast'", id="an unknown delivery"),
        pytest.param(
            {"delivery": ["outbox"]}, "`delivery` must be one of queue, sync, outbox", id="several deliveries"
        ),
        pytest.param({"delivery": "outbox"}, "`outbox` must be the path .* got None", id="an outbox without a file"),
        pytest.param(
            {"delivery": "outbox", "outbox": ""}, "`outbox` must be the path .* got ''", id="an outbox without a name"
        ),
        pytest.param({"delivery": "outbox", "outbox": "/"}, "^/: cannot be written", id="an outbox that is a folder"),
        pytest.param(
            {"outbox": "x"}, "`outbox` must be left out with the delivery 'queue'", id="a file that nobody writes"
        ),
        pytest.param({"on_error": "ignore"}, "`on_error` must be", id="an unknown on_error"),
        pytest.param(
            {"langchain_handler": object()}, "`langchain_handler` must be a callback handler", id="no handler"
        ),
    ],
)
def test_arguments_that_cannot_be_used_are_refused_when_they_are_given(
    settings: dict[str, Any], says: str, client: Langfuse
) -> None:
    with pytest.raises(InvalidInputError, match=says):
        LangfuseScoreHandler(client, **settings)


@pytest.mark.parametrize("client", ["pk-lf-1", {}, object(), 0])
def test_what_is_no_client_is_refused(client: Any) -> None:
    with pytest.raises(InvalidInputError, match="`client` must be a Langfuse client"):
        LangfuseScoreHandler(client, session_id="s")


def test_a_target_is_exactly_one() -> None:
    assert Target(session_id="s").to_dict() == {"session_id": "s"}
    with pytest.raises(InvalidInputError, match="got none"):
        Target()
    with pytest.raises(InvalidInputError, match="exactly one target"):
        Target(trace_id="t", session_id="s")
    with pytest.raises(InvalidInputError, match="exactly one target"):
        Target(observation_id="o")
    with pytest.raises(InvalidInputError, match="has no trace"):
        Target(observation_id="o", session_id="s")
