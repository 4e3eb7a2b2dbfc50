"""Compare ways to cut documents into chunks, with retrievers that run on this machine.

* `compare_chunkers`: cut the same corpus in several ways, and measure how much of the gold passages is found in the
  same number of tokens.
* `build_retrievers`, `chunk`: BM25 of words and of characters, dense and hybrid retrievers, without a server or model.
"""

import lazy_loader as _lazy_loader

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
