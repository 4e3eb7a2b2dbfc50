"""Private plumbing that knows nothing of retrieval."""
