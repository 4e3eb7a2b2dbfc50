"""Labels: find gold that is probably wrong, take corrections, and estimate metrics from few labels.

* `audit_labels`: find gold labels that are probably missing, duplicate, unreachable or in conflict.
* `write_queue`, `apply_labels`: write what to label, and apply what was labeled.
* `estimate`, `plan_labels`, `label_agreement`: estimate a metric from a model's labels of all documents and human
  labels of a sample, choose the sample, and measure how much labelers agree.
* `start_from_log`, `number_from_labels`: choose what to label from a log without gold, and estimate its metrics.
* `reanchor`: link gold to the chunks of a corpus that was chunked anew.
* `find_versions`: find documents that look like versions of each other.
"""

import lazy_loader as _lazy_loader

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
