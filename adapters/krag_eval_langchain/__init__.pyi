"""The public names of this adapter; `__init__.py` loads each when it is first used."""

from .feedback import LangSmithFeedbackSink as LangSmithFeedbackSink
from .handler import RetrievalScoringHandler as RetrievalScoringHandler
from .langsmith import as_langsmith_evaluator as as_langsmith_evaluator
from .langsmith import as_langsmith_summary_evaluator as as_langsmith_summary_evaluator
from .offline import aevaluate_retriever as aevaluate_retriever
from .offline import evaluate_retriever as evaluate_retriever
from .runnable import retrieval_evaluator_runnable as retrieval_evaluator_runnable
