"""An object of every public class, made the way users make it."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

import krag_eval as front
import krag_eval_chunkers
import krag_eval_labels as labels
import krag_eval_live
import krag_eval_llm as llm
import krag_eval_monitor
import krag_eval_report
import krag_eval_scale
import krag_eval_verify
from krag_eval import RunProgress
from krag_eval._utils.errors import Argument
from krag_eval.analysis.funnel import Funnel
from krag_eval.analysis.gate import GateReport
from krag_eval.datasets.run import Latency
from krag_eval.datasets.sessions import Stage
from krag_eval.documents.tokenizers import StemmingTokenizer
from krag_eval.evaluation.pipeline import EvaluationStart
from krag_eval.matching.settings import ScoringSettings
from krag_eval.metrics.judgments import Judgments
from krag_eval.retrievers.recording import RetrieverChangedError
from krag_eval_answers import AnswerPairs, RefusalTest, evaluate_answers, read_references
from krag_eval_formats import Inspection
from krag_eval_formats.otlp import TraceSpan
from krag_eval_formats.traces import TraceSession
from krag_eval_langfuse.client import LangfuseDeliveryError
from krag_eval_langfuse.score_file import DamagedError
from krag_eval_live import Alert, ScoredRetrieval, ScoredSession
from krag_eval_llm.bench.answering import AnswerError
from tests.support import bench_cases, context_judge_cases, gate_cases, generation_cases, live_cases

GOLD: list[list[Any]] = [["the red lamp", "a blue chair"], ["green tea"], []]
FOUND: list[list[Any]] = [["a blue chair", "old red lamps", "tea"], ["tea", "green tea"], ["water"]]
OTHER: list[list[Any]] = [["tea"], ["tea"], ["lamp"]]
QUESTIONS = [
    {"id": f"q{n}", "question": f"Which {n}?", "gold": [{"id": f"g{n}", "text": text} for n, text in enumerate(texts)]}
    for n, texts in enumerate(GOLD)
]


def frequent(judged: Judgments, k: Any) -> Any:
    """A metric of our own."""
    return judged.relevant_within(k) * 1.0


def evaluated(found: Any = FOUND, **settings: Any) -> front.EvaluationResult:
    return front.evaluate(GOLD, found, k=(1, 3), queries=["one", "two", "three"], **settings)


def scorer_of_some() -> front.Scorer:
    scorer = front.Scorer(k=2)
    for gold, found in zip(GOLD, FOUND, strict=True):
        scorer.score(gold, found)
    return scorer


def partial_state() -> krag_eval_scale.PartialState:
    from tests.support.arrow_cases import as_batch

    ids = [[{"id": "a"}, {"id": "b"}], [{"id": "c"}]]
    return krag_eval_scale.ColumnarScorer(k=2, match_method="id").partial_state(as_batch(ids, ids))


def live() -> krag_eval_live.LiveScorer:
    scorer = live_cases.scored()
    for query, documents in live_cases.RETRIEVED.items():
        live_cases.retrieve(scorer, query, documents)
    assert scorer.flush(30)
    return scorer


def scored_retrieval() -> ScoredRetrieval:
    recorder = live_cases.Recorder()
    scorer = live_cases.scored(sinks=[recorder])
    live_cases.retrieve(scorer, "q1", live_cases.RETRIEVED["q1"])
    assert scorer.flush(30)
    return recorder.scored[0]


def scored_session() -> ScoredSession:
    return ScoredSession("root", "q1", run().rows["q1"], {"session_recall@5": 0.5}, 0, datetime.now(UTC))


def trace_span() -> TraceSpan:
    attributes = {"gen_ai.retrieval.documents": '[{"id": "a"}]'}
    return TraceSpan(trace_id="0a", span_id="0b", attributes=attributes, start_ns=1, end_ns=2)


def run() -> front.Run:
    return gate_cases.make_run("bm25", gate_cases.SET, range(0, 100, 7))


@functools.cache
def bench() -> llm.Bench:
    return llm.run_bench(
        bench_cases.CORPUS,
        bench_cases.retrieve,
        answer=bench_cases.answer,
        llm=bench_cases.writer([]),
        k=[1, 3],
        samples=6,
        progress=None,
    )


@functools.cache
def generated() -> llm.GeneratedEvalSet:
    return generation_cases.generate(generation_cases.Writer(), n=4, progress=False)


@functools.cache
def chunkers() -> krag_eval_chunkers.ChunkerComparison:
    questions = [{"id": "q", "question": "red lamps", "gold": [{"doc_id": "d", "start": 4, "end": 13}]}]
    corpus = [{"id": "d", "text": "the red lamps and a blue chair"}]
    return krag_eval_chunkers.compare_chunkers(questions, corpus, ["words:2", "words:3"], budgets=[2, 4], progress=None)


@functools.cache
def traced() -> Funnel:
    stages = [
        {"name": "dense", "retrieved": [{"id": "a"}, {"id": "b"}]},
        {"name": "rerank", "inputs": ["dense"], "retrieved": [{"id": "b"}]},
    ]
    pipeline = front.Run.of("pipeline", [front.RunRow.from_dict({"query_id": "q", "stages": stages})])
    questions = [{"id": "q", "question": "?", "gold_chunk_ids": ["a", "b", "c"], "type": "fact"}]
    return front.funnel(questions, pipeline, [{"id": "a"}, {"id": "b"}])


def embed(texts: list[str]) -> list[list[float]]:
    return [[len(text), text.count("e"), 1.0] for text in texts]


def judgments() -> Judgments:
    taken: list[Judgments] = []

    def take(judged: Judgments, k: Any) -> Any:
        taken.append(judged)
        return frequent(judged, k)

    evaluated(metrics=[take])
    return taken[0]


def policy() -> front.Policy:
    return front.Policy(scoring={"k": 1})


def gate_report() -> GateReport:
    return front.check_gate(gate_cases.SET, run(), policy())


def retriever(query: str) -> list[dict[str, str]]:
    return [{"id": "g0", "text": "tea"}, {"id": "g1", "text": "green tea"}]


def evaluator() -> front.OfflineRetrievalEvaluators:
    return front.OfflineRetrievalEvaluators(GOLD, FOUND)


def grouped() -> krag_eval_scale.GroupedResults:
    scorer = krag_eval_scale.ColumnarScorer(k=2, match_method="id", metrics="recall", by="day")
    rows = [
        {"query_id": day, "day": day, "actual": [{"id": "a"}], "predicted": [{"id": found}]}
        for day, found in [("monday", "a"), ("tuesday", "b")]
    ]
    result = scorer.finalize(scorer.partial_state(pa.RecordBatch.from_pylist(rows)))
    assert isinstance(result.groups, krag_eval_scale.GroupedResults)
    return result.groups


OBJECTS: dict[str, Callable[[], Any]] = {
    "Alert": lambda: Alert("recall@1", 0.1, 0.4, None, 200),
    "AnswerPairs": lambda: AnswerPairs(["within three days"], ["three days"]),
    "AnswerResult": lambda: evaluate_answers(["at nine", None], ["at nine", "who knows"], intervals=0.9),
    "AnswerRow": lambda: evaluate_answers(["at nine"], ["at nine"]).per_answer[0],
    "AveragingMethod": lambda: front.AveragingMethod.MICRO,
    "BadRow": lambda: krag_eval_scale.BadRow(3, "q4", "`predicted` is null"),
    "Bench": bench,
    "Calibration": lambda: front.calibrate([("a b", "a b", True), ("a b", "c d", False)] * 5, method="rouge1"),
    "ChunkerComparison": chunkers,
    "Chunking": lambda: chunkers().chunkings["words:2"],
    "ColumnarScorer": lambda: krag_eval_scale.ColumnarScorer(k=2, match_method="rougeL", metrics="recall"),
    "Comparison": lambda: front.compare({"one": evaluated(), "other": evaluated(OTHER)}),
    "ContextResult": lambda: llm.judge_contexts(
        context_judge_cases.GOLD, {"q": ["three days"]}, context_judge_cases.honest, questions=context_judge_cases.ASKED
    ),
    "ContextRow": lambda: OBJECTS["ContextResult"]().rows[0],
    "Diagnosis": lambda: front.diagnose(evaluated()),
    "DoctorReport": lambda: labels.audit_labels(gate_cases.SET, {"bm25": run()}),
    "Document": lambda: front.Document(id="a", text="t", metadata={"page": 3}),
    "EmbeddingRougeOfflineRetrievalEvaluators": lambda: front.EmbeddingRougeOfflineRetrievalEvaluators(
        GOLD, FOUND, embeddings=embed
    ),
    "EvalSet": lambda: front.EvalSet(QUESTIONS),
    "EvaluationCallback": front.EvaluationCallback,
    "EvaluationResult": lambda: evaluated(intervals=0.9, metrics=["recall", "ndcg", frequent]),
    "EvaluationStart": lambda: EvaluationStart(3, ("recall@1",), "match:id"),
    "Explanation": lambda: evaluated().explain(0),
    "Finding": lambda: labels.validate([{"id": "a", "question": "", "gold": []}]).findings[0],
    "Funnel": traced,
    "FunnelSlice": lambda: traced().slices[0],
    "FunnelStage": lambda: traced().stages[1],
    "GateReport": lambda: gate_report(),
    "GeneratedEvalSet": generated,
    "GenerationReport": lambda: generated().report,
    "GroupedResults": grouped,
    "Inspection": lambda: Inspection(
        path="set.jsonl", kind="evalset", options={}, format="jsonl", n_rows=2, is_whole=True
    ),
    "Judgments": lambda: judgments(),
    "KragDocument": lambda: front.KragDocument("text", {"id": "a"}),
    "Latency": lambda: Latency(n=2, mean=0.15, p50=0.1, p95=0.2, p99=0.2, max=0.2),
    "Leaderboard": lambda: krag_eval_report.leaderboard({"one": evaluated(), "other": evaluated(OTHER)}),
    "LiveCounters": lambda: live().counters,
    "MatchingCriteria": lambda: front.MatchingCriteria.ALL,
    "Miss": lambda: front.diagnose(evaluated(OTHER)).misses[0],
    "NoAnswerCurve": lambda: front.no_answer_curve([[], ["a"]], [[("x", 0.3)], [("a", 0.9)]]),
    "OfflineRetrievalEvaluators": evaluator,
    "PartialState": partial_state,
    "Policy": lambda: policy(),
    "QueryResult": lambda: evaluated().per_query[0],
    "QueryReview": lambda: evaluated(OTHER).misses(),
    "Need": lambda: front.Need(any_of=[{"id": "a"}, front.Document(id="b")], grade=2),
    "Question": lambda: front.EvalSet(QUESTIONS)[0],
    "RAGEvaluator": front.RAGEvaluator,
    "References": lambda: read_references({"q1": ["at nine", "nine"], "q2": None}),
    "RefusalTest": lambda: RefusalTest(["ask the help desk"]),
    "RankingComparison": lambda: front.compare_rankings([["a", "b"], ["c"]], [["a", "x"], []], k=2),
    "ReanchorReport": lambda: labels.reanchor(QUESTIONS, [{"id": "n", "text": "the red lamp is here"}]),
    "Report": lambda: krag_eval_report.build_report({"one": evaluated(intervals=0.9), "other": evaluated(OTHER)}),
    "RetrievalSink": krag_eval_live.RetrievalSink,
    "RetrieverScores": lambda: front.evaluate_retrievers(
        QUESTIONS, {"a": retriever, "b": retriever}, k=2, progress=False
    ),
    "ReviewedQuery": lambda: evaluated(OTHER).misses()[0],
    "RougeOfflineRetrievalEvaluators": lambda: front.RougeOfflineRetrievalEvaluators(GOLD, FOUND),
    "Run": run,
    "RunProgress": lambda: RunProgress(name="bm25", done=2, total=5, errors=0, asked=2, seconds=1.5),
    "RunRow": lambda: run().rows["q1"],
    "Search": lambda: front.Search(retrieved=run().rows["q1"].retrieved, query="When?", tokens=12),
    "Stage": lambda: Stage(name="dense", retrieved=run().rows["q1"].retrieved),
    "Span": lambda: front.Span("guide", 8, 28, "We ship on weekdays."),
    "ScoredRetrieval": scored_retrieval,
    "ScoredSession": scored_session,
    "RowScorer": lambda: front.RowScorer(k=2, metrics="recall", match_method="id", names="safe"),
    "Scorer": scorer_of_some,
    "ScoringSettings": lambda: ScoringSettings(match_method="id", id_key="doc_id"),
    "Sweep": lambda: front.sweep(GOLD, FOUND, k=3, match_method="rouge1"),
    "TraceSession": lambda: TraceSession.of([trace_span()]),
    "TraceSpan": lambda: trace_span(),
    "Tokenizer": lambda: StemmingTokenizer(front.TOKENIZERS["words"]),
    "TokenizerType": lambda: front.TokenizerType.KIWI,
    "ValidationReport": lambda: labels.validate([{"id": "a", "question": "", "gold": []}]),
    "Versions": lambda: labels.find_versions([{"id": f"of {n}", "text": f"From {n} on."} for n in (2025, 2026)]),
    "Agreement": lambda: labels.label_agreement({"q": {"a": 1, "b": 0}}, {"q": {"a": 1, "b": 1}}),
    "LogNumber": lambda: _number(),
    "Estimate": lambda: _estimation().systems[0],
    "Estimation": lambda: _estimation(),
    "Verification": lambda: krag_eval_verify.verify(gate_cases.SET, run(), k=(1,)),
    "Watch": lambda: krag_eval_monitor.Watch(
        signals={"empty": "up"}, reference=run(), season="day", canaries={"q1": ["a"]}
    ),
}

# They hold threads, open files, or keys.
OF_ONE_PROCESS: dict[str, Callable[[Path], Any]] = {
    "LanguageModel": lambda folder: llm.as_language_model(context_judge_cases.honest),
    "LiveScorer": lambda folder: live(),
    "Redactor": lambda folder: front.Redactor(),
    "RepeatFinder": lambda folder: krag_eval_scale.RepeatFinder(folder),
}

ERRORS: dict[str, Callable[[], BaseException]] = {
    "InvalidInputError": lambda: front.InvalidInputError("set.csv:2: ", Argument("k", 0), " is too small."),
    "AnswerError": lambda: AnswerError("no answer"),
    "LangfuseDeliveryError": lambda: LangfuseDeliveryError("2 scores did not arrive.", ("timed out",)),
    "DamagedError": lambda: DamagedError(Path("scores.outbox"), "the checksum of score 2 is wrong"),
    "RetrieverChangedError": lambda: RetrieverChangedError("search.py was changed."),
    "MissingDependencyError": lambda: front.MissingDependencyError("to_pandas()", "pandas", "pandas"),
    "NoAnswerError": lambda: llm.NoAnswerError("too slow", "timed_out", "so"),
}


def _number() -> Any:
    folder = Path(tempfile.mkdtemp())
    row = {"question": "When?", "retrieved": [{"id": "a", "text": "Nine."}], "answer": "At nine."}
    (folder / "log.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    labels.start_from_log(folder / "log.jsonl", folder / "eval")
    label = [{"query_id": "0", "document": {"id": "a"}, "label": 1}]
    return labels.number_from_labels(folder / "eval", labels=label)


def _estimation() -> Any:
    given = {"q": {"a": 1, "b": 0}}
    return labels.estimate({"one": {"q": {"a": 2.0, "b": 1.0}}}, judge=given, people=given, probability=1)
