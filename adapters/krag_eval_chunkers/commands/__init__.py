"""The commands with local retrievers: `krag-eval chunkers` and `krag-eval demo`."""
