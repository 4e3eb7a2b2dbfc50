"""`krag-eval reanchor`: move gold labels to the chunks of a re-chunked corpus."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Annotated, Any

from krag_eval import InvalidInputError, write_evalset
from krag_eval.toolkit import Format, Source, number_of, show
from krag_eval_cli.files import FileOptions, check_free
from krag_eval_cli.options import Declared
from krag_eval_cli.output import console, notes, print_first, print_indented, print_table, put_json
from krag_eval_labels import reanchor as move_gold
from krag_eval_labels.reanchoring import Anchor, ReanchorReport

_ABOUT: dict[str, str] = {
    "valid": "the chunk of this id still holds it",
    "moved": "another chunk has the same text, or nearly the same",
    "merged": "a larger chunk holds it",
    "split": "several chunks hold it together, all are gold now",
    "lost": "nothing in the corpus is similar enough, left as it was",
    "unanchorable": "only the old corpus has its text (--old-corpus)",
}


def reanchor(
    evalset: Path,
    *,
    corpus: Path,
    old_corpus: Path | None = None,
    out: Path | None = None,
    force: bool = False,
    show: Annotated[int, Declared(least=0)] = 10,
    json_out: Path | None = None,
    files: FileOptions,
    **passed: Annotated[Any, move_gold, "threshold tokenizer to doc_key with_texts"],
) -> None:
    """Move gold passages to the chunks of a new corpus. Exit code 0: all found, 1: some lost, 2: invalid input.

    Parameters:
        corpus: The chunks of the new corpus, each with an id and a text; with --to spans the whole documents.
        old_corpus: The chunks that the set was made for, if its gold has ids but no texts.
        out: The file to write; by default EVALSET with the ending .reanchored.jsonl.
        threshold: Minimum share of a passage's words in a chunk, 0 to 1 (recall of ROUGE-L).
        to: chunks, or spans: the places of the passages in whole documents.
        with_texts: Also write the texts of the old corpus, so that you no longer need it.
        show: Lost passages to show; 0 shows all.
    """
    if out is None and str(evalset) == "-":
        raise InvalidInputError("Standard input has no name to derive one from. Name a file with --out; `-` prints.")
    target = out or evalset.with_name(f"{Source(evalset).name}.reanchored.jsonl")
    Format.name_to_write(target, None)
    inputs = [path for path in (evalset, corpus, old_corpus) if path is not None]
    check_free(target, force, inputs)
    if json_out is not None:
        check_free(json_out, True, inputs)
    report = move_gold(
        files.evalset(evalset),
        files.corpus(corpus),
        old_corpus=() if old_corpus is None else files.corpus(old_corpus),
        **passed,
    )
    write_evalset(report.evalset, target)
    named = {"evalset": str(evalset), "corpus": str(corpus), "out": str(target)}
    if not put_json(json_out, lambda: named | report.to_dict()):
        _print(report, evalset, corpus, show)
    notes().print(f"Written to {target}")
    sys.exit(0 if report.ok else 1)


def _print(report: ReanchorReport, evalset: Path, corpus: Path, show: int) -> None:
    out = console()
    counts = report.counts
    title = (
        f"{evalset}: {number_of(len(report.anchors), 'gold passage')} of {number_of(len(report.evalset), 'question')}"
    )
    rows = [[f"{status}: {about}", f"{counts[status]:,}"] for status, about in _ABOUT.items() if counts[status]]
    print_table(f"{title}, looked for in {corpus}", ["status", "passages"], rows)
    n_several = sum(bool(anchor.alternatives) for anchor in report.anchors)
    if n_several:
        out.print(f"{number_of(n_several, 'passage')} also appear whole in further chunks; the first one was taken.")
    print_first(report.lost, show, _print_lost)
    _print_documents(report)
    _print_forbidden(report)


def _print_forbidden(report: ReanchorReport) -> None:
    """Print what became of forbidden documents: one that is not in the corpus cannot leak."""
    if report.forbidden:
        counts = Counter(anchor.status for anchor in report.forbidden)
        listed = ", ".join(f"{count:,} {status}" for status, count in counts.items())
        print_indented(f"{number_of(len(report.forbidden), 'document')} of must_not: {listed}.", 0)
    for anchor in report.forbidden:
        name = f"{anchor.question_id!r} {anchor.old_id!r}" if anchor.old_id else repr(anchor.question_id)
        if anchor.also_gold:
            chunks = " and ".join(map(repr, anchor.also_gold))
            print_indented(f"{name}: {chunks} is gold, too, so it is not forbidden. Cut smaller chunks.", 2)
        elif anchor.status == "unanchorable":
            print_indented(f"{name}: {_ABOUT['unanchorable']}, left as it was unless its id is in use.", 2)


def _print_lost(anchor: Anchor) -> None:
    chunk = "" if anchor.old_id is None else f" {anchor.old_id!r}"
    print_indented(f"{anchor.status}: {anchor.question_id!r}{chunk}", 2, "dim")
    if anchor.text is not None:
        near = " and ".join(map(repr, anchor.nearest))
        nearest = f": {near} comes nearest, with {anchor.similarity or 0:.0%} of its words." if near else ""
        print_indented(f"{show(anchor.text, 90)}{nearest}", 4)


def _print_documents(report: ReanchorReport) -> None:
    questions: dict[tuple[str, tuple[str, ...]], int] = defaultdict(int)
    for document in report.documents:
        questions[document.old_id, document.new_ids] += 1
    for (old_id, new_ids), count in questions.items():
        found = f"its passages are now of {' and '.join(map(repr, new_ids))}" if new_ids else "left as it was"
        text = f"The corpus has no document {old_id!r}, gold of {number_of(count, 'question')}: {found}."
        print_indented(text, 0)
