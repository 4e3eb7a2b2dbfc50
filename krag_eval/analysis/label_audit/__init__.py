"""What is wrong with a set of questions, as far as several runs can tell, and the labels that put it right."""

from krag_eval.analysis.label_audit.audit import examine
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
    "examine",
    "write_queue",
]
