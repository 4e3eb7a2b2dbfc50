"""Why gold documents were missed."""

from krag_eval.diagnosis.causes import CAUSES
from krag_eval.diagnosis.diagnosing import diagnose
from krag_eval.diagnosis.records import Ceilings, Diagnosis, Miss

__all__ = ["CAUSES", "Ceilings", "Diagnosis", "Miss", "diagnose"]
