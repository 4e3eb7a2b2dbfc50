"""`python -m krag_eval` is `krag-eval`."""

from krag_eval.cli import main

main()
