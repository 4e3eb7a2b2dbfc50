"""The command for logs: `krag-eval score-logs`."""
