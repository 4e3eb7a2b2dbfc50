"""What krag has in `krag.document`."""

from krag_eval.documents.document import KragDocument

Document = KragDocument

__all__ = ["Document", "KragDocument"]
