"""Score retrieval logs with Ray Data.

* `score`: compute a dataset with one row per query and one column per metric and cut-off.
* `aggregate`: compute the result over all queries, identical to the last bit to that of one machine.
* `plain_errors`: raise a worker's error with its own message where a dataset is consumed.

`score` and `aggregate` read one row per query: its id, its gold documents and its retrieved documents, best first.
docs/scale.md shows how to group logs with one row per retrieved document.

Importing this package does not import Ray.
"""

import lazy_loader as _lazy_loader

from krag_eval.toolkit import needing as _needing

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "from_long":  # for one release
        raise ImportError("`from_long` was removed. A query replaces it: see docs/scale.md#ray.", name=__name__)
    with _needing(f"krag_eval_ray.{name}", "pyarrow", "ray"), _needing(f"krag_eval_ray.{name}", "ray", "ray"):
        return _load(name)
