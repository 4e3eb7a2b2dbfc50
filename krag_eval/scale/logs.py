"""From Parquet files with a row for each query to a Parquet file with its values, and the result of all.

Query ids that come more than once, found among any number of them in bounded memory.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Unpack

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval._utils.checks import check_count
from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.journal.keyed import KeyedJournal
from krag_eval._utils.journal.rows import JournalKind
from krag_eval._utils.progress import ProgressHook, RunProgress, hook_for
from krag_eval.evaluation.pipeline import MetricFunction
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.matching.settings import ScoringSettings
from krag_eval.matching.tokens import Words
from krag_eval.metrics.cut_offs import check_cut_offs
from krag_eval.scale.batch import repeated
from krag_eval.scale.files import Survey, find_files, survey, survey_long
from krag_eval.scale.long_form import LongForm
from krag_eval.scale.parts import JoinedParts, Unit, limits, place_of, read_state, score_unit, units_of
from krag_eval.scale.pool import work_off
from krag_eval.scale.repeats import hash_ids
from krag_eval.scale.scorer import ColumnarScorer

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
    # Rows of several files are scored together, and repeats among all of them are told at the end.
    scorer = ColumnarScorer(k, metrics=metrics, allow_repeated_ids=True, **settings)
    parts = Path(f"{target}.parts")
    files = find_files(logs, may_be_remote=gold is None, besides=parts)
    long_form = _long_form(files, gold, kmax, k, scorer)
    found = survey_long(files, long_form.gold, target) if long_form else survey(files, target, scorer)
    with _journal(target, parts, scorer, found, long_form) as journal:
        if long_form is not None:
            found = survey([str(_joined(long_form, parts, journal))], target, scorer)
        units = units_of(found.groups)
        paths = [_part(parts, unit) for unit in units]
        done = [unit for unit, path in zip(units, paths, strict=True) if path.is_file()]  # whole or not at all
        left = [unit for unit, path in zip(units, paths, strict=True) if not path.is_file()]
        watch = _Watch(target.name, units, done, hook)
        work = partial(_score, scorer=scorer, parts=parts, allow_repeated_ids=allow_repeated_ids)
        parts_of = [(path, [group.n_rows for group in unit.groups]) for path, unit in zip(paths, units, strict=True)]
        with JoinedParts(parts_of, target, scorer) as joined:
            for unit in done:
                joined.add(unit.number)
            for unit in work_off(work, left, n_workers, lambda unit: place_of(unit, str(_part(parts, unit)))):
                watch.add(unit.n_rows)
                joined.add(unit.number)
            if not allow_repeated_ids:
                _check_repeats(paths)
            state = scorer.merge(map(read_state, paths))
            if long_form is not None and not state.supply.sides["predicted"].documents:
                long_form.warn_of_nothing_found()
            result = scorer.finalize(state, intervals=intervals)
            joined.finish()
        watch.end()
    shutil.rmtree(parts)
    return result


def _score(unit: Unit, *, scorer: ColumnarScorer, parts: Path, allow_repeated_ids: bool) -> None:
    score_unit(unit, scorer, str(_part(parts, unit)), allow_repeated_ids=allow_repeated_ids)


def _part(parts: Path, unit: Unit) -> Path:
    return parts / f"{unit.number:06}.parquet"


def _check_target(out: object, force: bool) -> Path:
    if not isinstance(out, (str, os.PathLike)) or not os.fspath(out) or "://" in str(out) or str(out) == "-":
        raise InvalidInputError(f"`out` must be the path of a file on this machine, got {out!r:.60}.")
    target = Path(out)
    try:
        is_there = target.exists()
    except OSError as error:
        raise _unwritable(target, error) from error
    if is_there and not (force and target.is_file()):
        what = "is there already. Give another path, or replace it with force=True"
        raise InvalidInputError(f"{target}: {what if target.is_file() else 'is no file. Give the path of one'}.")
    return target


def _unwritable(target: Path, error: OSError) -> InvalidInputError:
    return InvalidInputError(
        f"{target}: cannot be written ({error.strerror or error}). Give a path in a folder that you may write to."
    )


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


@contextmanager
def _journal(
    target: Path, parts: Path, scorer: ColumnarScorer, found: Survey, long_form: LongForm | None
) -> Iterator[KeyedJournal]:
    settings: dict[str, object] = {"signature": scorer.signature, "keys": list(scorer.keys), "files": found.what}
    settings["units"] = limits()
    settings |= {} if long_form is None else {"kmax": long_form.kmax}
    try:
        parts.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(target, error) from error
    with KeyedJournal(parts / "journal.jsonl", LOGS_JOURNAL, settings) as journal:
        yield journal


def _check_repeats(parts: Sequence[Path]) -> None:
    found = find_repeated([Path(f"{part}.ids.npy") for part in parts], parts)
    if found:
        raise repeated(list(found)[:3], len(found))


class _Watch:
    """Tells how many queries were scored."""

    def __init__(self, name: str, units: Sequence[Unit], done: Sequence[Unit], hook: ProgressHook | None) -> None:
        self._name, self._hook = name, hook
        self._total = sum(unit.n_rows for unit in units)
        self._before = self._done = sum(unit.n_rows for unit in done)
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


_HASHES_AT_ONCE = 1 << 23  # 64 MB
_ROWS_AT_ONCE = 1 << 16
# So many are looked up by name; more repeats than that are counted by their hashes alone.
_NAMED_AT_MOST = 1000


def find_repeated(hash_files: Sequence[Path], parts: Iterable[Path]) -> dict[str, int]:
    """The query ids that come more than once, with how often; of very many only some.

    Args:
        hash_files: Files of hashes of query ids.
        parts: Parquet files with these query ids.
    """
    total = sum(len(np.load(path, mmap_mode="r")) for path in hash_files)
    n_shares = -(-total // _HASHES_AT_ONCE)
    suspects: list[Words] = []
    n_suspects = 0
    for share in range(n_shares):
        mine = [_share(path, share, n_shares) for path in hash_files]
        hashes = np.sort(np.concatenate(mine))
        again = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
        suspects.append(again)
        n_suspects += len(again)
        if n_suspects >= _NAMED_AT_MOST:
            break
    if not n_suspects:
        return {}
    return _count(np.sort(np.concatenate(suspects))[:_NAMED_AT_MOST], parts)


def _share(path: Path, share: int, n_shares: int) -> Words:
    hashes = np.load(path, mmap_mode="r")
    return np.asarray(hashes[hashes % np.uint64(n_shares) == share])


def _count(suspects: Words, parts: Iterable[Path]) -> dict[str, int]:
    """How often each id with such a hash comes; equal hashes alone prove nothing."""
    counts: Counter[str] = Counter()
    for part in parts:
        with pq.ParquetFile(part, page_checksum_verification=True) as file:
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=["query_id"]):
                ids = batch.column(0)
                is_suspect = np.isin(hash_ids(ids), suspects)
                if is_suspect.any():
                    counts.update(ids.filter(pa.array(is_suspect)).to_pylist())
    return {id_: count for id_, count in counts.items() if count > 1}
