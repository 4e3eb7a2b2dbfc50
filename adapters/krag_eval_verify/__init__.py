"""Verify a run: score it with ir_measures (trec_eval) too, and compare the two programs query by query."""

import lazy_loader as _lazy_loader

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
