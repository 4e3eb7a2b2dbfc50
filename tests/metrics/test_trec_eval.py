"""The same numbers as trec_eval: through pytrec_eval on random rankings, and on the files of trec_eval's own tests."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import EvaluationResult, evaluate

pytestmark = [
    pytest.mark.peer,
    pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning"),  # now and then not one id matches
]

# Both add the same terms in double precision, in orders of their own.
ROUNDING = 1e-12
CUT_OFFS = (1, 3, 5, 10, 100)
# Their name, up to the cut-off, and ours.
AT_A_CUT_OFF = {
    "P": "precision",
    "recall": "recall",
    "map_cut": "map",
    "ndcg_cut": "ndcg",
    "success": "hit_rate",
}
OF_ALL_RANKS = {
    "map": "map",
    "recip_rank": "mrr",
    "ndcg": "ndcg",
    "set_P": "precision",
    "set_recall": "recall",
    "set_F": "f1",
}

Qrels = dict[str, dict[str, int]]
Scores = dict[str, dict[str, float]]
Run = dict[str, list[str]]


def ranked(scores: Scores, depth: int | None = None) -> Run:
    """By score in single precision, then document number, both descending: trec_eval ignores the ranks of a run."""
    orders = {
        query: sorted(row, key=lambda name: (np.float32(row[name]), name), reverse=True)
        for query, row in scores.items()
    }
    return {query: order[:depth] for query, order in orders.items()}


def evaluated(
    qrels: Qrels, run: Run, level: int = 1, k: tuple[int | None, ...] = (*CUT_OFFS, None)
) -> EvaluationResult:
    """The rankings scored under trec_eval's conventions, for the queries of `qrels`; grades below `level` are 0."""
    return evaluate(
        [
            [{"id": name, "grade": grade if grade >= level else 0} for name, grade in judged.items()]
            for judged in qrels.values()
        ],
        [[{"id": name} for name in run.get(query, [])] for query in qrels],
        k,
        match_method="id",
        precision_denominator="k",
        gain="linear",
        query_ids=list(qrels),
    )


def our_key(theirs: str) -> str | None:
    """Our key for one of their measures, such as `precision@5` for `P_5`; None where there is none."""
    if theirs in OF_ALL_RANKS:
        return OF_ALL_RANKS[theirs]
    name, _, k = theirs.rpartition("_")
    return f"{AT_A_CUT_OFF[name]}@{k}" if name in AT_A_CUT_OFF and k.isdigit() else None


def their_values(qrels: Qrels, scores: Scores) -> dict[str, dict[str, float]]:
    cut_offs = ",".join(map(str, CUT_OFFS))
    measures = {*OF_ALL_RANKS, *(f"{name}.{cut_offs}" for name in AT_A_CUT_OFF)}
    values: dict[str, dict[str, float]] = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(scores)
    return values


def assert_equal_to_pytrec_eval(qrels: Qrels, scores: Scores) -> None:
    ours, theirs = evaluated(qrels, ranked(scores)), their_values(qrels, scores)
    for row in ours.per_query:
        expected = {our_key(name): value for name, value in theirs[str(row.id)].items()}
        assert len(expected) == len(OF_ALL_RANKS) + len(AT_A_CUT_OFF) * len(CUT_OFFS)
        assert pytest.approx(expected, abs=ROUNDING, rel=0) == {key: row.values[key] for key in expected if key}


@st.composite
def unique_ids(draw: st.DrawFn, top_grade: int) -> tuple[Qrels, Scores]:
    """Queries with at least one relevant document, and rankings of some judged and some unjudged documents."""
    qrels: Qrels = {}
    scores: Scores = {}
    for query in map(str, range(draw(st.integers(1, 3)))):
        first, *others = [f"d{number}" for number in draw(st.sets(st.integers(0, 30), min_size=1, max_size=14))]
        qrels[query] = {first: draw(st.integers(1, top_grade))}
        qrels[query] |= {name: draw(st.integers(0, top_grade)) for name in others}
        unjudged = [f"u{number}" for number in range(draw(st.integers(0, 9)))]
        order = draw(st.permutations([first, *others, *unjudged]))
        scores[query] = falling(order[: draw(st.integers(1, len(order)))])
    return qrels, scores


def falling(order: list[str]) -> dict[str, float]:
    """Scores that put the documents in this order."""
    return {name: float(-rank) for rank, name in enumerate(order)}


@pytest.mark.sample(3)
@pytest.mark.parametrize("top_grade", [1, 2, 5])
@given(data=st.data())
def test_random_rankings_score_as_in_trec_eval(top_grade: int, data: st.DataObject) -> None:
    assert_equal_to_pytrec_eval(*data.draw(unique_ids(top_grade)))


@pytest.mark.parametrize("top_grade", [1, 4])
def test_long_rankings_score_as_in_trec_eval(top_grade: int) -> None:
    rng = np.random.default_rng(20240229)
    names = [f"d{number}" for number in range(400)]
    qrels = {
        str(query): dict(zip(rng.choice(names, 120, replace=False).tolist(), grades.tolist(), strict=True))
        for query, grades in enumerate(rng.integers(0, top_grade + 1, (20, 120)))
    }
    scores = {query: falling(rng.permutation(names)[: rng.integers(1, 400)].tolist()) for query in qrels}
    assert_equal_to_pytrec_eval(qrels, scores)


def test_a_query_without_relevant_documents_is_undefined_where_trec_eval_says_0() -> None:
    qrels = {"answerable": {"a": 1}, "not": {"a": 0}}
    scores = {"answerable": {"a": 1.0}, "not": {"a": 1.0}}
    assert set(their_values(qrels, scores)["not"].values()) == {0.0}
    ours = evaluated(qrels, ranked(scores), k=(1,))
    assert set(ours.per_query[1].values.values()) == {None}
    assert (ours["recall@1"], ours.undefined["recall@1"]) == (1.0, 1)


def read_qrels(path: Path) -> Qrels:
    """Comment lines are left out, and a negative grade means not relevant, as in trec_eval."""
    qrels: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            query, _, name, grade = line.split()
            qrels[query][name] = max(int(grade), 0)
    return dict(qrels)


def read_scores(path: Path) -> Scores:
    scores: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        query, _, name, _, score, *_ = line.split()
        scores[query][name] = float(score)
    return dict(scores)


REAL = [
    ("qrels.test", "results.test"),
    ("qrels.test.with-comments", "results.test"),
    ("qrels.rel_level", "results.test"),
    ("qrels.123", "results.test"),
    ("qrels.123", "results.trunc"),
    ("qrels-302.test", "results-302.test"),
]


@pytest.mark.parametrize(("qrels_name", "run_name"), REAL)
def test_a_real_run_scores_as_in_trec_eval(shared_data: Path, qrels_name: str, run_name: str) -> None:
    qrels = read_qrels(shared_data / "trec_eval" / qrels_name)
    scores = read_scores(shared_data / "trec_eval" / run_name)
    assert_equal_to_pytrec_eval({query: row for query, row in qrels.items() if query in scores}, scores)


def read_expected(path: Path) -> list[tuple[str, str, str]]:
    """(measure, query or `all`, printed value) for the measures that this package has too."""
    rows = [line.split() for line in path.read_text().splitlines()]
    return [(measure, query, value) for measure, query, value in rows if our_key(measure)]


# Their file, and how trec_eval was called for it: qrels, run, -l (the lowest relevant grade), -M (the depth), and how
# many of its lines are about a measure that this package has too.
OUTPUTS: dict[str, tuple[str, str, int, int | None, int]] = {
    "out.test.a": ("qrels.test", "results.test", 1, None, 45),
    "out.test.aq": ("qrels.test", "results.test", 1, None, 180),
    "out.test.aql": ("qrels.rel_level", "results.test", 2, None, 180),
    "out.test.aqc": ("qrels.test", "results.trunc", 1, None, 180),
    "out.test.aqcM": ("qrels.test", "results.trunc", 1, 100, 180),
    "out.test.meas_params": ("qrels.test", "results.test", 1, None, 44),
}


@pytest.mark.parametrize("output", OUTPUTS)
def test_trec_evals_own_expected_output_comes_out(shared_data: Path, output: str) -> None:
    folder = shared_data / "trec_eval"
    qrels_name, run_name, level, depth, n_lines = OUTPUTS[output]
    expected = read_expected(folder / output)
    k = (*{int(measure.rpartition("_")[2]) for measure, _, _ in expected if measure not in OF_ALL_RANKS}, None)
    qrels, run = read_qrels(folder / qrels_name), ranked(read_scores(folder / run_name), depth)
    graded, binary = evaluated(qrels, run, k=k), evaluated(qrels, run, level, k=k)

    def printed(measure: str, query: str) -> str:
        # -l decides what is relevant; nDCG works with the grades themselves and does not look at it.
        result = graded if measure.startswith("ndcg") else binary
        values = {str(row.id): row.values for row in result.per_query} | {"all": result.to_dict()}
        return f"{values[query][str(our_key(measure))]:.4f}"

    assert expected == [(measure, query, printed(measure, query)) for measure, query, _ in expected]
    assert len(expected) == n_lines
