"""`krag-eval`, and `python -m krag_eval`."""

import gc

from krag_eval._utils.signals import end_at_once


def main() -> None:
    """Run `krag-eval`; Ctrl+C ends it in one line, also while its modules are imported."""
    end_at_once()
    gc.disable()  # nothing that an import makes is garbage, and looking for it takes a tenth of the start
    from krag_eval.cli import main

    main()


if __name__ == "__main__":
    main()
