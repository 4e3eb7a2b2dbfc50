"""Score logs of any size with the numbers of `evaluate`: Arrow record batches, and Parquet files on one machine.

`krag_eval_spark` and `krag_eval_ray` stand on it.
"""

import lazy_loader as _lazy_loader

from krag_eval.toolkit import needing as _needing

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name in __all__:
        with _needing("krag_eval_scale", "pyarrow", "arrow"):
            import pyarrow as pa  # noqa: F401 - whether it is there
    value: object = _load(name)
    return value
