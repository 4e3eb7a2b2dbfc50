"""Reports to look at: the HTML page, plots, and a server of a folder of them.

`build_report`, `write_report` and `.report(path)` of results find the page here. The plots need the extra `report`.
"""

import lazy_loader as _lazy_loader

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
