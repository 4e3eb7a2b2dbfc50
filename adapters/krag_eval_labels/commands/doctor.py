"""`krag-eval doctor`: find gold labels of a question set that are probably missing or wrong."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from krag_eval import EvalSet, InvalidInputError, normalize, write_evalset
from krag_eval.toolkit import Format, IdKey, dump_json, number_of, refuse
from krag_eval_cli.files import RunFileOptions, check_free, has_results, read_runs
from krag_eval_cli.options import parse_names, parse_threshold
from krag_eval_cli.output import console, notes, put_json
from krag_eval_labels.audit import audit_labels
from krag_eval_labels.estimation import label_agreement, plan_labels
from krag_eval_labels.files import apply_labels, write_queue
from krag_eval_labels.versions import Versions, find_versions


def doctor(
    evalset: Path,
    runs: list[Path] | None = None,
    *,
    queue: Path | None = None,
    limit: str = "500",
    apply: Path | None = None,
    out: Path | None = None,
    force: bool = False,
    corpus: Path | None = None,
    versions: Path | None = None,
    within: str | None = None,
    match: str | None = None,
    threshold: str = "0.5",
    tokenizer: str = "words",
    raw_text: bool = False,
    id_key: str | None = None,
    grade_key: str = "relevance",
    judge: Path | None = None,
    json_out: Path | None = None,
    files: RunFileOptions,
    **passed: Annotated[Any, audit_labels, "k min_systems near near_questions level doc_key"],
) -> None:
    """Find gold labels that are probably missing, duplicate, unreachable or in conflict, and write what to label.

    Parameters:
        runs (RUN...): Retrieval results; several that differ reveal the most. By default EVALSET, if it has some.
        queue: Write the documents that may be gold as JSONL, for labelling.
        limit: Rows of the queue, the most useful first; or `all`.
        apply: Add the labels of this queue (true, false or a grade) to the set.
        out: Where --apply writes the new set.
        k (--k -k): The rank down to which systems are compared.
        min_systems: Systems that must agree; by default all of up to three, else three.
        near: Minimum ROUGE-L of a near-duplicate of a gold text.
        near_questions: Minimum ROUGE-L of near-duplicate questions.
        corpus: The searched documents, if the set or the runs have only ids. Documents in it that look like versions of
            each other are listed.
        versions (OUT): Write these as JSON for you to confirm: ids and the ids that they replaced. No run is needed.
        within (KEY,...): Metadata keys in which versions agree, such as tenant.
        match (NAME,NAME,...): How documents are identified, as in evaluate; by id by default, or by text without ids.
        threshold: The threshold for --match by ROUGE, as in evaluate.
        judge: A model's labels of what was retrieved, JSONL. The queue is then the sample that shrinks the interval of
            estimate most, and the agreement of the model with the grades of the set is shown.
    """
    most = _parse_limit(limit)
    if not runs and apply is None and has_results(evalset, files):
        runs = [evalset]
    if (apply is None) != (out is None):
        raise InvalidInputError("`--apply` and `--out` belong together: the labels to add, and the new set to write.")
    if versions is not None and corpus is None:
        raise InvalidInputError("`--versions` are found in a corpus. Name it with `--corpus`.")
    if not runs and (queue is not None or (apply is None and versions is None)):
        raise InvalidInputError("There is no run. Give at least one, or labels with --apply and --out.")
    if out is not None:
        Format.name_to_write(out, None)
    for path in (out, queue, versions):
        if path is not None:
            check_free(path, force, [one for one in (evalset, *(runs or ()), apply, judge, corpus) if one is not None])
    questions = files.evalset(evalset, id_key=id_key, grade_key=grade_key)
    if apply is not None and out is not None:
        questions = _apply(questions, apply, out, id_key=id_key, grade_key=grade_key)
    documents = None if corpus is None else files.corpus(corpus)
    found_versions = _versions(documents, versions, passed["doc_key"], id_key, within) if documents else None
    if not runs:
        if found_versions is not None and not put_json(json_out, lambda: {"versions": found_versions.to_dicts()}):
            console().print(str(found_versions), soft_wrap=True)
        return
    settings: dict[str, Any] = {} if match is None else {"match_method": parse_names(match)}
    found = read_runs(runs, questions, files, id_key=id_key)
    report = audit_labels(
        questions,
        found,
        corpus=documents,
        **parse_threshold(threshold),
        tokenizer=tokenizer,
        id_key=id_key,
        grade_key=grade_key,
        normalize=None if raw_text else normalize,
        **passed,
        **settings,
    )
    rows, agreement = None, None
    if judge is not None:
        rows = plan_labels(found, judge=judge, n=most or sys.maxsize, k=passed["k"], evalset=questions, id_key=id_key)
        with contextlib.suppress(InvalidInputError):  # the set may have no grade of what the model labelled
            agreement = label_agreement(questions, judge, id_key=id_key)
    if queue is not None:
        written = write_queue(report if rows is None else rows, queue, limit=most, force=force)
        n_all = len(report.candidates if rows is None else rows)
        of_all = "" if written == n_all else f" of {n_all}; --limit all writes them"
        notes().print(f"{queue}: {number_of(written, 'document')} to label{of_all}.")
    whole: dict[str, Any] = {} if agreement is None else {"agreement": asdict(agreement)}
    whole |= {"versions": found_versions.to_dicts()} if found_versions else {}
    if not put_json(json_out, lambda: dump_json(report.to_dict(most) | whole, "the report", indent=2)):
        console().print(str(report), soft_wrap=True)
        if agreement is not None:
            console().print(f"        {agreement}", soft_wrap=True)
        if found_versions:
            console().print(str(found_versions), soft_wrap=True)


def _versions(
    documents: Sequence[Any], out: Path | None, doc_key: IdKey, id_key: str | None, within: str | None
) -> Versions:
    found = find_versions(documents, within=parse_names(within) or (), doc_key=doc_key, id_key=id_key)
    if out is not None:
        put_json(out, lambda: found.supersedes)
        notes().print(f"{out}: {number_of(len(found.supersedes), 'document')} with older versions to confirm.")
    return found


def _apply(questions: EvalSet, labels: Path, out: Path, *, id_key: str | None, grade_key: str) -> EvalSet:
    labelled = apply_labels(questions, labels, id_key=id_key)
    changed = sum(new != old for new, old in zip(labelled, questions, strict=True))
    write_evalset(labelled, out, id_key=id_key, grade_key=grade_key)
    notes().print(f"{out}: {changed} of {len(labelled)} questions have new labels.")
    return labelled


def _parse_limit(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdecimal() or not int(text):
        refuse("limit", "an integer of at least 1, or `all`", text)
    return int(text)
