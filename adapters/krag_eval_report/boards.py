"""Read the evaluation sets and runs of a folder, match them, score them, and rank what may be ranked."""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from krag_eval import (
    EvalSet,
    EvaluationResult,
    InvalidInputError,
    KragEvalError,
    KragEvalWarning,
    Run,
    compare,
    evaluate_run,
    read_evalset,
    read_run,
)
from krag_eval.analysis import Comparison
from krag_eval.datasets import Latency
from krag_eval.toolkit import (
    CONTAINERS,
    DOC_KEY,
    Argument,
    IdKey,
    ScoringSettings,
    check_names,
    clip,
    decisive_keys,
    did_you_mean,
    is_lower_better,
    load,
    number_of,
    one_line,
    said,
)
from krag_eval_report.frontier import pareto
from krag_eval_report.run_table import leaderboard

_READ = (*(ending for endings in CONTAINERS.values() for ending in endings), ".qrels", ".run", ".trec", ".txt")
_BESIDE = (".reading.json", ".rejected.jsonl")  # what krag_eval keeps beside a file
OURS = b'{\n  "krag_eval_leaderboard"'
_LONGEST_REASON = 200


@dataclass(frozen=True, kw_only=True)
class RankedRun:
    """One run of a leaderboard.

    Attributes:
        name: Its file without the ending, with as much of its folder as tells it from the others.
        file: Its file in the folder.
        run: What was retrieved.
        result: Its scores.
        n_missing: How many questions it has no row for; these count as nothing retrieved.
        n_leaking: For how many questions it retrieved what is forbidden; such a run is listed last.
    """

    name: str
    file: str
    run: Run
    result: EvaluationResult
    n_missing: int
    n_leaking: int

    def value(self, key: str) -> float | None:
        """Return a value; None if it is undefined or missing."""
        return self.result[key] if key in self.result else None  # noqa: SIM401 - a result is no dict

    @property
    def latency(self) -> Latency | None:
        """How long its calls took; None if that was not recorded."""
        found = self.run.latency
        return found if found is not None and math.isfinite(found.mean) else None


@dataclass(frozen=True, kw_only=True)
class Board:
    """The runs of one evaluation set that were scored by one rule, the best first, runs that leak last.

    Attributes:
        name: The set.
        file: Its file in the folder.
        fingerprint: Of its questions.
        n_questions: How many it has.
        signature: Every setting that can change a number.
        keys: The values; runs are sorted by the first.
        runs: The runs.
        intervals: The 95 % intervals of each run by key; empty without scipy.
        comparison: The runs against the baseline; None if it is not named, is not among them, or is alone.
        frontier: The names of the runs that no other one beats in both the first key and the median latency; empty
            if fewer than two runs have recorded times.
        notes: What a reader has to know, each with the name of the run; of the set's own, that is empty.
    """

    name: str
    file: str
    fingerprint: str
    n_questions: int
    signature: str
    keys: tuple[str, ...]
    runs: tuple[RankedRun, ...]
    intervals: Mapping[str, Mapping[str, tuple[float, float] | None]] = field(default_factory=dict)
    comparison: Comparison | None = None
    frontier: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Boards:
    """What a folder comes to.

    Attributes:
        title: The title.
        boards: One for each set, and for each rule where its runs were scored by several.
        skipped: The files that could not be used, each with the reason.
        baseline: The name of the run that the others are compared with, or None.
    """

    title: str
    boards: tuple[Board, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    baseline: str | None = None


def read_boards(
    folder: str | os.PathLike[str],
    *,
    baseline: str | None = None,
    k: int | str | None = 10,
    metrics: str | Sequence[str] | None = None,
    title: str | None = None,
    level: str = "chunk",
    doc_key: IdKey = DOC_KEY,
    proxy: bool = False,
    seed: int = 0,
    without: Sequence[Path] = (),
    **settings: Unpack[ScoringSettings],
) -> Boards:
    """Score all runs of a folder, and of the folders in it, against the evaluation sets beside them.

    A run belongs to the set whose fingerprint it recorded, else to the set that has most of its questions. Files that
    cannot be used are named, and the rest is scored. Hidden files and symbolic links are left out. The same files
    give the same leaderboards, wherever the folder is.

    Args:
        folder: The folder.
        baseline: The run that the others are compared with: its name, or its file.
        k: The cut-off.
        metrics: What runs are scored by; the first is the one that they are sorted by. By default recall, nDCG and MRR,
            or for sessions of several searches `session_recall` and `evidence_complete`.
        title: The title; by default the folder's name.
        level: `"chunk"` or `"document"`.
        doc_key: The metadata key of document ids.
        proxy: As in `evaluate_run`.
        seed: The seed of intervals and comparison.
        without: Files that are left out, such as those that are written.
        **settings: The scoring settings that `evaluate_run` takes.

    Raises:
        InvalidInputError: There is no such folder, it has no set with a run, or the baseline is none of the runs.
    """
    check_names(settings, ScoringSettings.__annotations__)
    top = Path(folder)
    if not top.is_dir():
        raise InvalidInputError(f"{top}: is no folder. Name the folder that has the evaluation sets and the runs.")
    found = _Folder(top, {path.resolve() for path in without}, settings)
    shared: dict[str, Any] = {"k": k, "metrics": metrics, "level": level, "doc_key": doc_key, "proxy": proxy}
    asked = _Asked(baseline, seed, shared | settings)
    boards = [board for file in sorted(found.sets) for board in _boards_of(found, file, asked)]
    if not boards:
        lacking = "evaluation set" if not found.sets else "run" if not found.runs else "run of its evaluation sets"
        reasons = "".join(f" {file}: {reason}" for file, reason in [*found.skipped.items()][:3])
        raise InvalidInputError(
            f"{top}: has no {lacking} that can be scored. Put evaluation sets and runs of them there.{reasons}"
        )
    runs = [run for board in boards for run in board.runs]
    if baseline is not None and not any(baseline in (run.name, run.file) for run in runs):
        raise no_run("baseline", baseline, [run.name for run in runs])
    return Boards(
        title=title or top.resolve().name,
        boards=tuple(boards),
        skipped=tuple(sorted(found.skipped.items())),
        baseline=baseline,
    )


def no_run(argument: str, given: str, names: Sequence[str]) -> InvalidInputError:
    """Return the error that a name is none of the runs."""
    return InvalidInputError(
        Argument(argument),
        f" {given!r:.80} is none of the runs.{did_you_mean(given, names)} "
        f"The runs are: {', '.join(dict.fromkeys(names))!s:.300}.",
    )


@dataclass(frozen=True)
class _Asked:
    """What `read_boards` was asked for."""

    baseline: str | None
    seed: int
    scoring: Mapping[str, Any]


class _Folder:
    """The sets and the runs of a folder by their paths in it, which runs belong to which set, and what was skipped."""

    def __init__(self, top: Path, without: set[Path], settings: Mapping[str, Any]) -> None:
        self._settings = {name: settings[name] for name in ("id_key", "grade_key") if settings.get(name)}
        self.sets: dict[str, EvalSet] = {}
        self.runs: dict[str, Run] = {}
        self.of_set: dict[str, list[str]] = {}
        self.skipped: dict[str, str] = {}
        self.notes: dict[str, list[str]] = {}
        paths = {path.relative_to(top).as_posix(): path for path in _files(top, without)}
        kinds = {file: self.reading(file, path, partial(_kind_of, path)) for file, path in paths.items()}
        for file, kind in kinds.items():
            if kind in ("evalset", "both"):
                self._read_set(file, paths[file])
            elif kind is not None and kind != "run":
                self.skipped[file] = _NEITHER.get(kind, "It is neither an evaluation set nor a run.")
        for file in [file for file, kind in kinds.items() if kind in ("run", "both") and file not in self.skipped]:
            self._read_run(file, paths[file])

    def reading(self, file: str, path: Path, read: Callable[[], Any]) -> Any:
        """Return what is read, and keep the warnings; None if it cannot be read, and keep why."""
        with noted(self.notes.setdefault(file, []), path):
            try:
                return read()
            except (KragEvalError, OSError) as error:
                self.skipped[file] = without_path(str(error), path)
        return None

    def _read_set(self, file: str, path: Path) -> None:
        questions = self.reading(file, path, lambda: read_evalset(path, **self._settings))
        if questions is not None:
            self.sets[file] = questions

    def _read_run(self, file: str, path: Path) -> None:
        only = next(iter(self.sets.values())) if len(self.sets) == 1 else None
        given: dict[str, Any] = {"evalset": self.sets.get(file, only), "id_key": self._settings.get("id_key")}
        run: Run | None = self.reading(file, path, lambda: read_run(path, **given))
        if run is None:
            return
        recorded = run.recorded.get("fingerprint")
        fitting = [file] if file in self.sets else [one for one in self.sets if self.sets[one].fingerprint == recorded]
        if not fitting:
            known = {one: sum(its.get(query) is not None for query in run.rows) for one, its in self.sets.items()}
            fitting = [one for one, count in known.items() if count == max(known.values()) > 0]
        if len(fitting) == 1:
            self.runs[file] = run
            self.of_set.setdefault(fitting[0], []).append(file)
        elif fitting:
            self.skipped[file] = (
                f"Its questions are in {fitting[0]} and {fitting[1]} alike. Keep one set in the folder."
            )
        else:
            self.skipped[file] = "No evaluation set of the folder has one of its questions."


def _kind_of(path: Path) -> str:
    kind: str = load("krag_eval.formats", "inspect")(path).kind
    return kind


_NEITHER = {"log": "It is a log without gold documents.", "answers": "It has answers, and nothing that was retrieved."}


def _files(folder: Path, without: set[Path]) -> Iterator[Path]:
    """Yield files and BEIR folders in the order of their names: no hidden ones, no links, none of what we write."""
    for path in sorted(folder.iterdir(), key=lambda one: one.name):
        if path.name.startswith(".") or path.is_symlink() or path.resolve() in without:
            continue
        if path.is_dir():
            yield from [path] if (path / "queries.jsonl").is_file() else _files(path, without)
        elif path.name.lower().endswith(_READ) and not path.name.endswith(_BESIDE) and not _is_ours(path):
            yield path


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(OURS)) == OURS


def without_path(text: str, path: Path) -> str:
    """Return a message without the path, which depends on where the folder is; of a long one the first sentence."""
    line = one_line(text.replace(f"{path}: ", "").replace(str(path), path.name))
    return (
        line if len(line) <= _LONGEST_REASON else clip(f"{line.partition('. ')[0].removesuffix('.')}.", _LONGEST_REASON)
    )


@contextlib.contextmanager
def noted(notes: list[str], path: Path) -> Iterator[None]:
    """Add to the notes what krag_eval warns of, instead of showing it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KragEvalWarning)
        yield
    notes += [without_path(str(one.message), path) for one in caught]


def _names(files: Sequence[str]) -> dict[str, str]:
    """Return what each file is called: its name without the ending, or with its folder, or all of it.

    >>> _names(["bm25.jsonl", "dense.run", "old/bm25.jsonl"])
    {'bm25.jsonl': 'bm25', 'dense.run': 'dense', 'old/bm25.jsonl': 'old/bm25'}
    """
    names: dict[str, str] = {}
    for file in sorted(files, key=lambda one: (one.count("/"), one)):
        folder, _, last = file.rpartition("/")
        stem = last.removesuffix(".gz").rpartition(".")[0] or last
        choices = (stem, f"{folder}/{stem}" if folder else last, file)
        names[file] = next(one for one in choices if one == file or one not in names.values())
    return names


def _boards_of(found: _Folder, file: str, asked: _Asked) -> Iterator[Board]:
    """Yield a leaderboard for each rule by which runs of a set were scored, that of most runs first."""
    questions, files, name = found.sets[file], found.of_set.get(file, []), _names(list(found.sets))[file]
    if not files:
        found.skipped.setdefault(file, "The folder has no run of this evaluation set.")
    by_rule: dict[tuple[str, ...], list[RankedRun]] = {}
    for of_run, its_name in _names(files).items():
        run, path = found.runs[of_run], Path(of_run)
        result = found.reading(of_run, path, partial(evaluate_run, questions, run, **asked.scoring))
        if result is None:
            continue
        if run.recorded.get("fingerprint", questions.fingerprint) != questions.fingerprint:
            words = "It was recorded for another version of the evaluation set."
            found.notes[of_run].append(said("board-other-version", words))
        leaks = result.leaks() if result.detail is not None and result.detail.leaks is not None else None
        ranked = RankedRun(
            name=its_name,
            file=of_run,
            run=run,
            result=result,
            n_missing=len(run.missing(questions)),
            n_leaking=0 if leaks is None else leaks.n_leaking,
        )
        parts = [part for part in result.signature.split("|") if not part.startswith("k:")]
        by_rule.setdefault((*parts, str(run.has_sessions)), []).append(ranked)
    rules = sorted(by_rule.items(), key=lambda item: (-len(item[1]), item[0]))
    for number, (_, ranked_runs) in enumerate(rules, 1):
        notes = [("", note) for note in found.notes[file]]
        if len(by_rule) > 1:
            words = "Its runs were scored by different rules: there is one table for each rule."
            notes.append(("", said("board-rules", words)))
        notes += [(run.name, note) for run in ranked_runs for note in [*found.notes[run.file], *_notes_of(run)]]
        yield _board(file, name if number == 1 else f"{name}, rule {number}", questions, ranked_runs, notes, asked)


def _board(
    file: str, name: str, questions: EvalSet, ranked: Sequence[RankedRun], notes: list[tuple[str, str]], asked: _Asked
) -> Board:
    by_name = {run.name: run for run in sorted(ranked, key=lambda run: run.name)}
    results = {name: run.result for name, run in by_name.items()}
    keys = list(next(iter(results.values())).tally.means)
    if asked.scoring["metrics"] is None:
        keys = sorted(decisive_keys(list(results.values())) or keys, key=_order)
    first = next((run.name for run in ranked if asked.baseline in (run.name, run.file)), None)
    intervals: Mapping[str, Mapping[str, tuple[float, float] | None]] = {}
    comparison, caught = None, list[str]()
    with noted(caught, Path(file)):
        table = leaderboard(results, keys, sort_by=keys[0])
        try:
            intervals = leaderboard(results, keys, intervals=True).intervals
            if first is not None and len(results) > 1:
                comparison = compare(questions, results, baseline=first, keys=keys, seed=asked.seed)
        except KragEvalError as error:
            caught.append(one_line(str(error)))
    runs = sorted((by_name[name] for name in table.results), key=lambda run: run.n_leaking > 0)
    return Board(
        name=name,
        file=file,
        fingerprint=questions.fingerprint,
        n_questions=len(questions),
        signature=runs[0].result.signature,
        keys=tuple(keys),
        runs=tuple(runs),
        intervals=intervals,
        comparison=comparison,
        frontier=_frontier(keys[0], runs),
        notes=tuple(dict.fromkeys([*notes, *(("", note) for note in caught)])),
    )


_FIRST = ("recall", "session_recall", "ndcg", "evidence_complete", "mrr")


def _order(key: str) -> int:
    name = key.partition("@")[0]
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _notes_of(run: RankedRun) -> Iterator[str]:
    """Yield what lowers the values of a run, or keeps it from being ranked."""
    if run.n_missing:
        words = "It has no row for {questions}; each counts as nothing retrieved."
        yield said("board-missing", words, questions=number_of(run.n_missing, "question"))
    if run.result.errors:
        words = "{retrievals} failed; each counts as nothing retrieved."
        yield said("board-errors", words, retrievals=number_of(len(run.result.errors), "retrieval"))
    if run.n_leaking:
        words = "It is not ranked: it retrieved forbidden documents for {questions}."
        yield said("board-leaks", words, questions=number_of(run.n_leaking, "question"))


def _frontier(key: str, runs: Sequence[RankedRun]) -> tuple[str, ...]:
    """Return the names of the runs on the frontier of quality and median latency, the fastest first."""
    timed = [(run, run.latency.p50) for run in runs if not run.n_leaking and run.latency is not None]
    if len(timed) < 2:
        return ()
    values, seconds = [run.value(key) for run, _ in timed], [p50 for _, p50 in timed]
    return tuple(timed[place][0].name for place in pareto(values, seconds, lower_is_better=is_lower_better(key)))
