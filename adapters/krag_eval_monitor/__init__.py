"""Monitor a retriever in use: changes with a stated rate of false alarms, with or without gold, and bands of means.

`LiveScorer` and the callbacks of the frameworks take a `Watch`, and bands, and call `on_alert` with each `Alert`.
`Watch.find_changes` looks at recorded retrievals.
"""

import lazy_loader as _lazy_loader

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
