"""Remember which files were scored into a folder, so that a later call scores only new ones."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval._utils.errors import InvalidInputError, warn
from krag_eval._utils.files.io import put_in_place, refuse_link
from krag_eval._utils.formatting import number_of
from krag_eval._utils.journal.keyed import KeyedJournal
from krag_eval._utils.journal.rows import JournalKind
from krag_eval.scale.files import fingerprint, unified
from krag_eval.scale.scorer import PartialState
from krag_eval.scale.tasks import STATE

INCREMENTS = JournalKind("krag_eval_increments", "incremental scoring of logs")
_TOLD = 3


class Increments:
    """A folder with one Parquet file per call, and a journal of the files that were scored into each.

    A file counts as scored when its row is in the journal: a Parquet file without one is replaced by the next call.

    Args:
        out: The folder. The journal is in its folder `_krag_eval`, which readers of Parquet skip.
        settings: Every setting that can change a row or a number; a folder with other ones is refused.

    Attributes:
        parts: The Parquet files of earlier calls.
        hash_files: For each of them, the file with the hashes of its query ids.
        out: The folder.
        target: The Parquet file for this call.
        rejected: The file for the rows that cannot be scored in this call.

    Raises:
        InvalidInputError: The folder holds something else, was made with other settings, is in use or damaged, or
            cannot be written.
    """

    def __init__(self, out: Path, settings: Mapping[str, Any]) -> None:
        self.out, self._own = out, out / "_krag_eval"
        if out.exists() and not (self._own.is_dir() or (out.is_dir() and not any(out.iterdir()))):
            raise InvalidInputError(
                f"{out}: was not made by `incremental=True`. Give the path of a new folder, or of one that was."
            )
        refuse_link(self._own)
        self._journal = KeyedJournal(self._own / "journal.jsonl", INCREMENTS, settings)
        self._rows = {name: self._journal.get(name) or {} for name in self._journal}
        self.parts = [self.out / name for name in self._rows]
        unknown = sorted(set(out.glob("part-*.parquet")).difference(self.parts))
        # A call that was stopped leaves one at most, with the folder of its scoring.
        if unknown and (len(unknown) > 1 or not any(self._own.glob("scoring-*"))):
            self._journal.close()
            raise InvalidInputError(
                f"{self._own / 'journal.jsonl'}: is damaged: it lacks {unknown[0]}. Restore it, or score all files "
                "into a new folder."
            )
        self.hash_files = [self._hashes(part) for part in self.parts]
        self.target = out / f"part-{len(self.parts):06}.parquet"
        self.rejected = self._own / f"{self.target.stem}.rejected.jsonl"
        self._known = {path: (name, seen) for name, row in self._rows.items() for path, seen in row["files"].items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._journal.close(kind)

    def new(self, files: Iterable[str]) -> list[str]:
        """Return the files that were not scored before.

        Raises:
            InvalidInputError: One has changed since it was scored.
        """
        self._seen = {path: (path if "://" in path else os.path.abspath(path)) for path in files}  # noqa: PTH100
        for path, place in self._seen.items():
            name, seen = self._known.get(place, ("", ""))
            if name and fingerprint(path) != seen:
                raise InvalidInputError(
                    f"{path}: has changed since it was scored into {self.out / name}. Restore it, or score all files "
                    "into a new folder."
                )
        gone = sorted(set(self._known) - set(self._seen.values()))
        if gone:
            warn(
                f"{number_of(len(gone), 'file')} scored before into {self.out} are not among the logs now, such as "
                f"{', '.join(gone[:_TOLD])}. Their scores are still counted."
            )
        return [path for path, place in self._seen.items() if place not in self._known]

    def folder_of(self, files: str) -> Path:
        """Return the folder for the unfinished scoring of these files."""
        return self._own / f"scoring-{hashlib.sha256(files.encode()).hexdigest()[:16]}"

    def kept(self, there: pa.Schema, files: Sequence[str]) -> pa.Schema:
        """Return the kept columns as they are in the earlier files, if there are any.

        Args:
            there: Those of the new files.
            files: The new files.

        Raises:
            InvalidInputError: A column is missing in the new files, or its values do not fit the type.
        """
        if not self.parts or not files:
            return there
        schema = self._footer(self.parts[-1]).schema.to_arrow_schema()
        before = pa.schema([(one.name, one.type) for one in list(schema)[1 : schema.get_field_index("n_gold")]])
        wider = unified(before, there, str(self.parts[-1]), files[0])
        for one, other in zip(before, wider, strict=True):
            if one.type != other.type:
                raise InvalidInputError(
                    f"{files[0]}: the column `{one.name}` needs the type {other.type}, and in {self.parts[-1]} it has "
                    f"the type {one.type}. Write the files with that type, or score all files into a new folder."
                )
        return before

    def states(self) -> Iterable[PartialState]:
        """Yield the states of the earlier files.

        Raises:
            InvalidInputError: A file is missing or damaged.
        """
        for part in self.parts:
            yield PartialState.from_json(self._footer(part).metadata[STATE])

    def _footer(self, part: Path) -> Any:
        row, hashes = self._rows[part.name], self._hashes(part)
        try:
            is_sound = (row["part"], row["ids"]) == (_digest(part), _digest(hashes))
        except OSError:
            is_sound = False
        if not is_sound:
            raise InvalidInputError(
                f"{part}: is missing or damaged, or {hashes} is. Restore them, or score all files into a new folder."
            )
        return pq.read_metadata(part)

    def _hashes(self, part: Path) -> Path:
        return self._own / f"{part.stem}.ids.npy"

    def commit(self, files: Sequence[str], hash_files: Sequence[Path]) -> None:
        """Record that the files are scored into the target, which is finished.

        Args:
            files: The files, as `new` returned them.
            hash_files: The hashes of their query ids.
        """
        sizes = [len(np.load(path, mmap_mode="r")) for path in hash_files]
        written, final = self._own / "ids.tmp", self._hashes(self.target)
        hashes = np.lib.format.open_memmap(written, "w+", np.uint64, (sum(sizes),))
        for end, size, path in zip(np.cumsum(sizes, dtype=np.int64), sizes, hash_files, strict=True):
            hashes[end - size : end] = np.load(path, mmap_mode="r")
        hashes.flush()
        put_in_place(written, final)
        seen = {self._seen[path]: fingerprint(path) for path in files}
        self._journal.put(self.target.name, {"part": _digest(self.target), "ids": _digest(final), "files": seen})


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
