"""Query ids that come more than once, found among any number of them in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval.columnar.hashing import hash_ids
from krag_eval.matching.spans import Words

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
