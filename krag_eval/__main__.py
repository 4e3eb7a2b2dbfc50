"""`python -m krag_eval` is `krag-eval`."""

from krag_eval.cli import main

if __name__ == "__main__":
    main()
