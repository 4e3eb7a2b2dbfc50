"""The command for verification: `krag-eval verify`."""
