"""Find probably wrong gold labels from several runs, and apply corrected ones."""

from krag_eval.analysis.label_audit.audit import audit_labels
from krag_eval.analysis.label_audit.report import (
    REASONS,
    Candidate,
    ContainedGold,
    DoctorReport,
    LostGold,
    NearQuestions,
    apply_labels,
    write_queue,
)

__all__ = [
    "REASONS",
    "Candidate",
    "ContainedGold",
    "DoctorReport",
    "LostGold",
    "NearQuestions",
    "apply_labels",
    "audit_labels",
    "write_queue",
]
