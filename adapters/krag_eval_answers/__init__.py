"""Score the answers of a RAG system against references: exact match, token F1, ROUGE, embeddings, and refusals.

>>> from krag_eval_answers import evaluate_answers
>>> evaluate_answers(["three days"], ["In three days."])["token_f1"]
0.8
"""

import lazy_loader as _lazy_loader

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
