"""What is wrong with a set of questions, as far as several runs can tell, and the labels that put it right."""

from krag_eval.doctor.examining import examine
from krag_eval.doctor.labels import apply_labels, write_queue
from krag_eval.doctor.records import REASONS, Candidate, ContainedGold, LostGold, NearQuestions
from krag_eval.doctor.report import DoctorReport

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
