"""Score retrieval logs with Spark.

* `score`: compute a DataFrame with one row per query and one column per metric and cut-off.
* `aggregate`: compute the result over all queries, identical to the last bit to that of one machine.
* `plain_errors`: raise a worker's error with its own message where a DataFrame is computed.

Only the public DataFrame API is used, so the same code runs on classic Spark, on Spark Connect and on other servers
with the same protocol, such as Sail. krag-eval must be installed on the workers.

Importing this package does not import pyspark.
"""

import lazy_loader as _lazy_loader

from krag_eval.toolkit import needing as _needing

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "from_long":  # for one release
        raise ImportError("`from_long` was removed. A query replaces it: see docs/scale.md#spark.", name=__name__)
    with _needing(f"krag_eval_spark.{name}", "pyarrow", "spark"):
        return _load(name)
