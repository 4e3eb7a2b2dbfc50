"""`krag-eval plan`: how many questions an evaluation needs, from a pilot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from krag_eval import InvalidInputError, questions_needed
from krag_eval.toolkit import PilotValues, format_value
from krag_eval_cli.commands.compare import COMPARED
from krag_eval_cli.commands.evaluate import score_each
from krag_eval_cli.files import RunFileOptions, names_of, read_runs
from krag_eval_cli.options import RunScoringOptions, cut_offs_option, parse_cut_offs, parse_names
from krag_eval_cli.output import print_table, put_json


def plan(
    evalset: Path,
    runs: list[Path] | None = None,
    *,
    effect: float = 0.02,
    power: float = 0.8,
    confidence: float = 0.95,
    cluster: str | None = None,
    k: Annotated[str | None, cut_offs_option(COMPARED)] = None,
    metrics: str = "recall,mrr,ndcg",
    json_out: Path | None = None,
    scoring: RunScoringOptions,
    files: RunFileOptions,
) -> None:
    """Compute from a pilot how many questions show a difference of two systems, or let a gate decide.

    Parameters:
        runs (RUN...): Retrieval results of the pilot: two systems, or one if you have no other yet; by default
            EVALSET, a file that has them too.
        effect: The difference of the means to find, or the drop that the gate allows.
        power: The share of cases in which that many questions suffice.
        confidence: Confidence level of the gate.
        metrics (NAME,NAME,...): Comma-separated metric names, or `all`.
    """
    runs = runs or [evalset]
    questions = files.evalset(evalset, id_key=scoring.id_key, grade_key=scoring.grade_key)
    if len(runs) not in (1, 2):
        raise InvalidInputError(f"A pilot has one run or two, got {len(runs)}. Name the two systems that are compared.")
    read, cut_offs = read_runs(runs, questions, files, id_key=scoring.id_key), parse_cut_offs(k, COMPARED)
    names = None if metrics == "all" else names_of(parse_names(metrics), read)
    results = list(score_each(questions, read, cut_offs, metrics=names, **scoring.settings()).values())
    questions_needed(effect, power, sd=1.0, confidence=confidence)  # checks the numbers
    planned = {}
    for key in results[0].detail.values if results[0].detail else ():
        found = PilotValues.of(results, key)
        of: dict[str, Any] = {"pilot": results, "key": key, "cluster": cluster, "evalset": questions}
        needed = None if found.sd is None else questions_needed(effect, power, confidence=confidence, **of)
        planned[key] = {"n": found.n, "sd": found.sd, "questions": needed}
    about = {"runs": list(read), "effect": effect, "power": power, "confidence": confidence, "keys": planned}
    if put_json(json_out, lambda: about):
        return
    print_table(
        f"Questions that let a gate with a drop of {effect:g} pass in {power:.0%} of cases",
        ["metric", "questions in the pilot", "standard deviation", "questions needed"],
        [
            [
                key,
                f"{one['n']:,}",
                format_value(one["sd"]),
                "-" if one["questions"] is None else f"{one['questions']:,}",
            ]
            for key, one in planned.items()
        ],
    )
