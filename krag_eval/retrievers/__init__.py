"""Retrievers asked and scored: recorded runs, agents, and frames of values."""

import lazy_loader as _lazy_loader

# The names stand in `__init__.pyi`. Each is loaded when it is first used.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
