"""The public names of this adapter; `__init__.py` loads each when it is first used."""

from .handler import RetrievalScoringHandler as RetrievalScoringHandler
from .langsmith import as_langsmith_evaluator as as_langsmith_evaluator
from .langsmith import as_langsmith_summary_evaluator as as_langsmith_summary_evaluator
from .langsmith import retrieval_evaluator_runnable as retrieval_evaluator_runnable
from .offline import aevaluate_retriever as aevaluate_retriever
from .offline import evaluate_retriever as evaluate_retriever
