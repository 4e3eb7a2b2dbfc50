"""Ten faults planted in a pipeline over the bundled collection: the funnel names each, and knows where to look."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from krag_eval import compare_rankings, funnel
from krag_eval.analysis.funnel import Funnel
from tests.support import faulty_pipeline
from tests.support.faulty_pipeline import FAULTS, Pipeline
from tests.support.marks import nothing_may_match

PAGE = Path(__file__).resolve().parents[2] / "benchmarks" / "guides.md"
NAMED = 0.95
LEAST = 10
"""So many questions each fault hits at least: otherwise a share of them says little."""


def traced(pipeline: Pipeline) -> Funnel:
    _, questions = faulty_pipeline.collection()
    run, corpus = faulty_pipeline.run(pipeline), faulty_pipeline.chunks_of(pipeline)
    return funnel(questions, run, corpus, k=faulty_pipeline.KEPT, **faulty_pipeline.SETTINGS)


@functools.cache
def sound() -> Funnel:
    return traced(Pipeline())


@pytest.mark.sample(3)
@nothing_may_match
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_for_the_questions_that_it_hits(fault: str) -> None:
    pipeline, fate = FAULTS[fault]
    before, after = sound(), traced(pipeline)
    assert (before.places.tolist(), sum(after.counts.values())) == (after.places.tolist(), before.n_needs)
    taken: dict[int, set[str]] = {}
    for place, was, is_now in zip(after.places.tolist(), before.fates, after.fates, strict=True):
        if was == "kept" != is_now:
            taken.setdefault(place, set()).add(is_now)
    named = sum(fates == {fate} for fates in taken.values())
    assert len(taken) >= LEAST
    assert named >= NAMED * len(taken), f"{named} of {len(taken)}"
    row = f"| {fault} | `{fate}` | {len(taken)} | {named / len(taken):.0%} |"
    assert row in PAGE.read_text(encoding="utf-8"), row


def test_a_sound_pipeline_loses_nothing_in_the_stages_without_a_fault() -> None:
    lost = {fate for fate in sound().counts if fate.startswith("lost_in:")}
    assert lost == {"lost_in:rerank"}  # which keeps five documents
    assert "not_in_corpus" not in sound().counts


@pytest.mark.full
def test_comparing_rankings_finds_the_loss_of_a_quantised_index_without_labels() -> None:
    exact = faulty_pipeline.stage_of(faulty_pipeline.run(Pipeline()), "vectors")
    coarse = faulty_pipeline.stage_of(faulty_pipeline.run(FAULTS["quantised index"][0]), "vectors")
    assert compare_rankings(exact, exact, k=faulty_pipeline.DEPTH).lost_share == 0
    assert compare_rankings(exact, coarse, k=faulty_pipeline.DEPTH).mean < 0.5
