"""The commands that ask a language model: `krag-eval generate` and `krag-eval bench`."""
