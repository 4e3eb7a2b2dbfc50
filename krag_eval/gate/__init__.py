"""May this be merged? A run against the demands of a policy."""

from krag_eval.gate.asserting import assert_retrieval
from krag_eval.gate.gating import GateReport, check_gate
from krag_eval.gate.policy import Demands, Policy, read_policy
from krag_eval.gate.requirements import Check, Requirement, Status

__all__ = [
    "Check",
    "Demands",
    "GateReport",
    "Policy",
    "Requirement",
    "Status",
    "assert_retrieval",
    "check_gate",
    "read_policy",
]
