"""Results to look at: tables, reports as pages, Markdown, JSON or CSV, plots, leaderboards, and a server of them.

`.report(path)`, `.plot()` and `.to_latex()` of results, and notebooks, find this package by entry point. Pages and
plots need the extra `report`.
"""

import lazy_loader as _lazy_loader

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
