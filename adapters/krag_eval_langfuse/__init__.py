"""Use krag_eval with Langfuse: score evaluations, live retrievals, experiments and recorded traces.

Importing this package does not import langfuse.
"""

import lazy_loader as _lazy_loader

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
