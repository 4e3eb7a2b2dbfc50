"""krag_eval at home in Ray Data: retrieval logs scored by the cluster that a team already runs.

* `score`: a dataset with one row for each query and a column for every metric at every cut-off.
* `aggregate`: the result over all queries, the same to the last bit as on one machine.
* `from_long`: logs with one row for each retrieved document, joined to their gold documents.
* `plain_errors`: what a worker refused, told in its own words where a dataset of `score` is consumed.

A row is one query: its id, its gold documents and its retrieved documents, best first. `from_long` makes that of logs
with one row for each retrieved document.

Importing this package does not import Ray.
"""

import typing as _typing

if _typing.TYPE_CHECKING:
    from krag_eval_ray.long_logs import from_long
    from krag_eval_ray.scoring import aggregate, plain_errors, score

__all__ = ["aggregate", "from_long", "plain_errors", "score"]

_PLACES = {"aggregate": "scoring", "from_long": "long_logs", "plain_errors": "scoring", "score": "scoring"}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'krag_eval_ray' has no attribute {name!r}")
    from importlib import import_module

    from krag_eval import MissingDependencyError

    try:
        value: object = getattr(import_module(f"krag_eval_ray.{_PLACES[name]}"), name)
    except ImportError as error:
        if error.name not in ("pyarrow", "ray"):
            raise
        raise MissingDependencyError(f"krag_eval_ray.{name}", str(error.name), "ray") from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
