"""Ask any language model through one method, `ask(prompt, schema=None)`, with retries, time limits and counters.

No framework is imported: a model is recognised by its methods.

| model | called as |
|---|---|
| LangChain chat model | `invoke(prompt)`; with a schema `with_structured_output(schema)` where the model has it |
| LangChain text model, or another runnable that takes a prompt | `invoke(prompt)` |
| LlamaIndex LLM | `complete(prompt)` |
| function, plain or async | `llm(prompt)` |
"""

from krag_eval.llm.calling import ModelCounters
from krag_eval.llm.failures import LanguageModelError, ModelSetupError, NoAnswerError
from krag_eval.llm.model import LanguageModel, as_language_model

__all__ = [
    "LanguageModel",
    "LanguageModelError",
    "ModelCounters",
    "ModelSetupError",
    "NoAnswerError",
    "as_language_model",
]
