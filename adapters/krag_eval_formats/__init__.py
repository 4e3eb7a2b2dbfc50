"""Read and write the files of other programs, and say what a file is whose rows have names of their own.

`krag_eval.read_evalset`, `read_run` and `read_corpus` find the formats here by themselves. `inspect_file` says what a
file holds, and `read_traces` reads what agents searched for from traces of OpenTelemetry.
"""

import lazy_loader as _lazy_loader

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
