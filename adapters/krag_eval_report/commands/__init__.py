"""The command that serves pages: `krag-eval view`."""
