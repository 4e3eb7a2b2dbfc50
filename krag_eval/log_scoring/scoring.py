"""From Parquet files with a row for each query to a Parquet file with its values, and the result of all."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Unpack

from krag_eval.checks import check_count, check_cut_offs
from krag_eval.columnar import ColumnarScorer
from krag_eval.columnar.reading import repeated
from krag_eval.errors import InvalidInputError
from krag_eval.journal import JournalKind, KeyedJournal
from krag_eval.log_scoring.joining import JoinedParts
from krag_eval.log_scoring.long_form import LongForm
from krag_eval.log_scoring.pool import work_off
from krag_eval.log_scoring.repeats import find_repeated
from krag_eval.log_scoring.sources import RowGroup, find_files, fingerprint, open_parquet, row_groups
from krag_eval.log_scoring.work import read_state, score_row_group
from krag_eval.measurement import MetricFunction
from krag_eval.progress import ProgressHook, RunProgress, hook_for
from krag_eval.results import EvaluationResult
from krag_eval.settings import ScoringSettings

LOGS_JOURNAL = JournalKind("krag_eval_logs", "scoring of logs")
_JOINED = "joined"


def score_logs(
    logs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    gold: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    kmax: int | None = None,
    k: int | str | Sequence[int | str | None] | None = (1, 3, 5, 10),
    metrics: str | Sequence[str | MetricFunction] | None = None,
    workers: int = 1,
    intervals: bool | float = False,
    allow_repeated_ids: bool = False,
    force: bool = False,
    progress: bool | ProgressHook | None = False,
    **settings: Unpack[ScoringSettings],
) -> EvaluationResult:
    """Score Parquet files of any size; memory holds some thousand queries a process. Needs pyarrow (extra `arrow`).

    The files have one row a query, with the columns that `ColumnarScorer` reads. Their row groups are shared among
    processes; when one is killed, others do its work again. Each row group that is done is written down beside `out`,
    in the folder `out` + `.parts`: when the scoring ends for whatever reason, the same call goes on where it was. The
    numbers are those of `evaluate`, to the last bit.

    Args:
        logs: A path, a pattern such as `"logs/*.parquet"`, a folder, an address that Arrow can open (`s3://`, `gs://`),
            or a list of these.
        out: The Parquet file to write, one row a query in the order of the input; its pages have checksums. The
            columns are those of `ColumnarScorer.score_batch`.
        gold: Parquet files with one row a gold document; then `logs` have one row a retrieved document. DuckDB joins
            them in front, see `LongForm` for the columns (extra `duckdb`). Queries that are only in the logs are left
            out: nobody said what answers them.
        kmax: With `gold`, how many documents of a query are kept; by default the largest k.
        k: One cut-off or several, each at least 1, or a budget such as `"2000tok"`; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        workers: How many processes. A script that uses more than one must keep its own calls under
            `if __name__ == "__main__":`.
        intervals: An interval on every value, of 95 % or of the confidence given. Needs scipy (extra `stats`).
        allow_repeated_ids: Score rows of one `query_id` as so many queries; by default they are refused.
        force: Replace `out` if it is there.
        progress: True for a line on a terminal, or a function that is told about each row group.
        **settings: The scoring settings that `evaluate` takes, such as `match_method`, `threshold`, `tokenizer`.

    Returns:
        The result of all queries, without `per_query` and `explain`: the rows are in the file.

    Raises:
        InvalidInputError: A file, a row group or a query cannot be read or scored, a query comes twice, or `out` cannot
            be written; the message names the place. What was scored before stands.
        UnknownMetricError: A metric is not known.
        MissingDependencyError: pyarrow is not installed, or scipy for intervals.
    """
    hook, n_workers, target = hook_for(progress), check_count("workers", workers), _check_target(out, force)
    scorer = ColumnarScorer(k, metrics=metrics, allow_repeated_ids=allow_repeated_ids, **settings)
    parts, files = Path(f"{target}.parts"), find_files(logs, may_be_remote=gold is None)
    long_form = _long_form(files, gold, kmax, k, scorer)
    fingerprints = [_fingerprint(path, target) for path in (*files, *(long_form.gold if long_form else ()))]
    groups = [] if long_form is not None else _survey(files, scorer)
    with _journal(parts, scorer, fingerprints, long_form) as journal:
        if long_form is not None:
            groups = _survey([str(_joined(long_form, parts, journal))], scorer)
        paths = [_part(parts, number) for number in range(len(groups))]
        done = [number for number, path in enumerate(paths) if path.is_file()]  # a part is there whole or not at all
        left = [number for number, path in enumerate(paths) if not path.is_file()]
        watch = _Watch(target.name, groups, done, hook)
        work = partial(_score, groups=groups, scorer=scorer, parts=str(parts))
        with JoinedParts(paths, target, scorer) as joined:
            for number in done:
                joined.add(number)
            for number in work_off(work, left, n_workers, lambda number: groups[number].place):
                watch.add(groups[number].n_rows)
                joined.add(number)
            if not allow_repeated_ids:
                _check_repeats(paths)
            result = scorer.finalize(scorer.merge(map(read_state, paths)), intervals=intervals)
            joined.finish()
        watch.end()
    shutil.rmtree(parts)
    return result


def _score(number: int, *, groups: Sequence[RowGroup], scorer: ColumnarScorer, parts: str) -> None:
    score_row_group(groups[number], scorer, str(_part(Path(parts), number)))


def _part(parts: Path, number: int) -> Path:
    return parts / f"{number:06}.parquet"


def _check_target(out: object, force: bool) -> Path:
    if not isinstance(out, (str, os.PathLike)) or not os.fspath(out) or "://" in str(out):
        raise InvalidInputError(f"`out` must be the path of a file on this machine, got {out!r:.60}.")
    target = Path(out)
    if target.exists() and not (force and target.is_file()):
        what = "is there already. Give another path, or replace it with force=True"
        raise InvalidInputError(f"{target}: {what if target.is_file() else 'is no file. Give the path of one'}.")
    return target


def _long_form(logs: Sequence[str], gold: object, kmax: object, k: object, scorer: ColumnarScorer) -> LongForm | None:
    """How long logs are joined to their gold; it is seen before anything is joined whether that can be scored."""
    if gold is None:
        if kmax is not None:
            raise InvalidInputError("`kmax` cuts logs in long form. Give their `gold` too, or leave `kmax` out.")
        return None
    if kmax is None:
        cut_offs = check_cut_offs(k)
        if not all(isinstance(one, int) for one in cut_offs):
            raise InvalidInputError(f"With k={k!r:.60} the largest rank is not known. Give `kmax`, such as kmax=100.")
        kmax = max(one for one in cut_offs if isinstance(one, int))
    long_form = LongForm(logs, find_files(gold, may_be_remote=False), check_count("kmax", kmax), scorer.document_fields)
    joined = long_form.columns().joined
    try:
        scorer.check_schema(joined)
    except InvalidInputError as error:
        raise InvalidInputError(f"{logs[0]}, joined to {long_form.gold[0]}: {error}") from None
    return long_form


def _joined(long_form: LongForm, parts: Path, journal: KeyedJournal) -> Path:
    """The file of joined logs, made once."""
    path = parts / "joined.parquet"
    if journal.get(_JOINED) is None or not path.is_file():
        long_form.join(path)
        if journal.get(_JOINED) is None:
            journal.put(_JOINED, {})
    return path


def _fingerprint(path: str, target: Path) -> list[object]:
    if "://" not in path and target.exists() and target.samefile(path):
        raise InvalidInputError(f"{path}: is also what would be written. Give another path for the values.")
    with open_parquet(path) as file:
        return fingerprint(path, file)


def _survey(files: Sequence[str], scorer: ColumnarScorer) -> list[RowGroup]:
    """All row groups; every schema is looked at before anything is scored."""
    groups: list[RowGroup] = []
    for path in files:
        with open_parquet(path) as file:
            try:
                scorer.check_schema(file.schema_arrow)
            except InvalidInputError as error:
                raise InvalidInputError(f"{path}: {error}") from None
            groups += row_groups(path, file)
    if not groups:
        others = f", nor has any other of {len(files)} files" if len(files) > 1 else ""
        raise InvalidInputError(f"{files[0]}: has no rows{others}. Give at least one query.")
    return groups


@contextmanager
def _journal(
    parts: Path, scorer: ColumnarScorer, fingerprints: list[list[object]], long_form: LongForm | None
) -> Iterator[KeyedJournal]:
    settings: dict[str, object] = {"signature": scorer.signature, "keys": list(scorer.keys), "files": fingerprints}
    settings |= {} if long_form is None else {"kmax": long_form.kmax}
    with KeyedJournal(parts / "journal.jsonl", LOGS_JOURNAL, settings) as journal:
        yield journal


def _check_repeats(parts: Sequence[Path]) -> None:
    found = find_repeated([Path(f"{part}.ids.npy") for part in parts], parts)
    if found:
        raise repeated(list(found)[:3], len(found))


class _Watch:
    """Tells how many queries were scored."""

    def __init__(self, name: str, groups: Sequence[RowGroup], done: Sequence[int], hook: ProgressHook | None) -> None:
        self._name, self._hook = name, hook
        self._total = sum(group.n_rows for group in groups)
        self._before = self._done = sum(groups[number].n_rows for number in done)
        self._began = time.monotonic()
        self._tell()

    def add(self, n_rows: int) -> None:
        self._done += n_rows
        self._tell()

    def end(self) -> None:
        self._tell(is_over=True)

    def _tell(self, is_over: bool = False) -> None:
        if self._hook is not None:
            self._hook(
                RunProgress(
                    name=self._name,
                    done=self._done,
                    total=self._total,
                    errors=0,
                    asked=self._done - self._before,
                    seconds=time.monotonic() - self._began,
                    is_over=is_over,
                )
            )
