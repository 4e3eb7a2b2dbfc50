"""The commands about labels: `krag-eval doctor`, `estimate`, `label`, `reanchor` and `start`."""
