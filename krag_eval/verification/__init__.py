"""A run scored once more by another program, and where the two differ."""

from krag_eval.verification.records import AGREEMENT, Verification, VerifiedMeasure
from krag_eval.verification.verifying import verify

__all__ = ["AGREEMENT", "Verification", "VerifiedMeasure", "verify"]
