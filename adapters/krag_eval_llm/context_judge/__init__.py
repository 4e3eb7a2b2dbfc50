"""Judge retrieved chunks with a language model (extra `llm`)."""
