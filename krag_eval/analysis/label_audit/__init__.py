"""What is wrong with a set of questions, as far as several runs can tell, and the labels that put it right."""

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
