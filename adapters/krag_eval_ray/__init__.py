"""krag_eval at home in Ray Data: retrieval logs scored by the cluster that a team already runs.

* `score`: a dataset with one row for each query and a column for every metric at every cut-off.
* `aggregate`: the result over all queries, the same to the last bit as on one machine.
* `from_long`: logs with one row for each retrieved document, joined to their gold documents.
* `plain_errors`: what a worker refused, told in its own words where a dataset of `score` is consumed.

A row is one query: its id, its gold documents and its retrieved documents, best first. `from_long` makes that of logs
with one row for each retrieved document.

Importing this package does not import Ray.
"""

import lazy_loader as _lazy_loader

# The public names stand in `__init__.pyi`. Each is loaded when it is first used.
_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    try:
        value: object = _load(name)
    except ImportError as error:
        if error.name not in ("pyarrow", "ray"):
            raise
        from krag_eval import MissingDependencyError

        raise MissingDependencyError(f"krag_eval_ray.{name}", str(error.name), "ray") from error
    return value
