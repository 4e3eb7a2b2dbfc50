"""krag_eval at home in Spark: months of retrieval logs scored by the cluster that a team already runs.

* `score`: a DataFrame with one row for each query and a column for every metric at every cut-off.
* `aggregate`: the result over all queries, the same to the last bit as on one machine.
* `from_long`: logs with one row for each retrieved document, joined to their gold documents.
* `plain_errors`: what a worker refused, told in its own words where a DataFrame of `score` is computed.

Only the public API of DataFrames is used, so that the same code runs on classic Spark, on Spark Connect and on other
servers that speak it, such as Sail. The workers need krag-eval installed.

Importing this package does not import pyspark.
"""

import typing as _typing

if _typing.TYPE_CHECKING:
    from krag_eval_spark.long_logs import from_long
    from krag_eval_spark.scoring import aggregate, plain_errors, score

__all__ = ["aggregate", "from_long", "plain_errors", "score"]

_PLACES = {"aggregate": "scoring", "from_long": "long_logs", "plain_errors": "scoring", "score": "scoring"}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'krag_eval_spark' has no attribute {name!r}")
    from importlib import import_module

    from krag_eval import MissingDependencyError

    try:
        value: object = getattr(import_module(f"krag_eval_spark.{_PLACES[name]}"), name)
    except ImportError as error:
        if error.name != "pyarrow":
            raise
        raise MissingDependencyError(f"krag_eval_spark.{name}", "pyarrow", "spark") from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
