"""krag_eval at home in Langfuse: scores of an evaluation, of live retrievals, of experiments and of what is recorded.

Importing this package does not import langfuse.
"""

import lazy_loader as _lazy_loader

# The public names stand in `__init__.pyi`. Each is loaded when it is first used.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
