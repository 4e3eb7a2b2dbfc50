"""What users import: the names of the core, and of the packages beside it that need no framework."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import krag_eval
import krag_eval_answers
import krag_eval_chunkers
import krag_eval_formats
import krag_eval_labels
import krag_eval_live
import krag_eval_llm
import krag_eval_monitor
import krag_eval_report
import krag_eval_scale
from krag_eval._utils.moved import NAMES

PACKAGES = (
    krag_eval,
    krag_eval_labels,
    krag_eval_live,
    krag_eval_llm,
    krag_eval_monitor,
    krag_eval_scale,
    krag_eval_report,
    krag_eval_chunkers,
    krag_eval_answers,
    krag_eval_formats,
)
PUBLIC: dict[str, Any] = {name: getattr(package, name) for package in PACKAGES for name in dir(package)}
# Records that are only returned, and the like, are public in their rooms.
PUBLIC |= {new: getattr(import_module(module), new) for module, new in NAMES.values()}
