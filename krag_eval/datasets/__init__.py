"""Question sets and runs: their records, and the files that they come from."""

import lazy_loader as _lazy_loader

from krag_eval._utils.moved import with_old_names as _with_old_names

# The names stand in `__init__.pyi`. Each is loaded when it is first used.
_load, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
__getattr__ = _with_old_names(__name__, _load)
