"""The commands about labels: `krag-eval doctor` and `krag-eval estimate`."""
