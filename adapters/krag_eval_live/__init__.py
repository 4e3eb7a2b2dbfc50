"""Score retrievals of a running application, against gold or by counts alone, and pass the scores to sinks.

The adapters of LangChain, LlamaIndex, Langfuse and OpenTelemetry and `krag_eval_monitor` stand on it.
"""

import lazy_loader as _lazy_loader

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
