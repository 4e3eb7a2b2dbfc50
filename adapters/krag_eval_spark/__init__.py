"""krag_eval at home in Spark: months of retrieval logs scored by the cluster that a team already runs.

* `score`: a DataFrame with one row for each query and a column for every metric at every cut-off.
* `aggregate`: the result over all queries, the same to the last bit as on one machine.
* `from_long`: logs with one row for each retrieved document, joined to their gold documents.
* `plain_errors`: what a worker refused, told in its own words where a DataFrame of `score` is computed.

Only the public API of DataFrames is used, so that the same code runs on classic Spark, on Spark Connect and on other
servers that speak it, such as Sail. The workers need krag-eval installed.

Importing this package does not import pyspark.
"""

import lazy_loader as _lazy_loader

# The public names stand in `__init__.pyi`. Each is loaded when it is first used.
_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    try:
        value: object = _load(name)
    except ImportError as error:
        if error.name != "pyarrow":
            raise
        from krag_eval import MissingDependencyError

        raise MissingDependencyError(f"krag_eval_spark.{name}", "pyarrow", "spark") from error
    return value
