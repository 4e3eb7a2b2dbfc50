"""Use krag_eval with OpenTelemetry: score the retrievals that spans record, and send scores to where the traces are.

* `RetrievalSpanProcessor`: score the retrievals of a running application, whatever framework makes them.
* `send_traces`: score exported traces, and send the scores to the same places.
* `PhoenixSink`: write scores as annotations into Arize Phoenix.
* `EvaluationEventSink`: emit scores as `gen_ai.evaluation.result` events.
"""

import lazy_loader as _lazy_loader

from krag_eval.toolkit import needing as _needing

# `opentelemetry` is a namespace package: it exists as soon as one of its parts is installed.
_MODULES = ("opentelemetry", "opentelemetry.sdk", "opentelemetry.trace")

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    with _needing(f"krag_eval_otel.{name}", "opentelemetry-sdk", "otel", module=_MODULES):
        value: object = _load(name)
    return value
