"""The command line of krag_eval: `krag-eval` and `python -m krag_eval`. Needs the extra `cli`.

Each command turns its options into one call of the library, and prints or writes the result. Packages beside the core
bring commands of their own by entry points of the group `krag_eval.commands`, and share the modules of this one.
"""

import lazy_loader as _lazy_loader

# The public names stand in `__init__.pyi`. Each is loaded when it is first used.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
