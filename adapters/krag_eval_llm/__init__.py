"""Ask any language model through one method, `ask(prompt, schema=None)`, with retries, time limits and counters.

No framework is imported: a model is recognised by its methods.

| model | called as |
|---|---|
| LangChain chat model | `invoke(prompt)`; with a schema `with_structured_output(schema)` where the model has it |
| LangChain text model, or another runnable that takes a prompt | `invoke(prompt)` |
| LlamaIndex LLM | `complete(prompt)` |
| function, plain or async | `llm(prompt)` |
"""

import lazy_loader as _lazy_loader

# The public names are listed in `__init__.pyi`. Each is loaded on first use.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
