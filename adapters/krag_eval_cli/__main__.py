"""`krag-eval`, `python -m krag_eval` and `python -m krag_eval_cli`."""

import gc

from krag_eval_cli.signals import end_at_once


def main() -> None:
    """Run `krag-eval`; Ctrl+C ends it in one line, also while its modules are imported."""
    end_at_once()
    gc.disable()  # nothing that an import makes is garbage, and looking for it takes a tenth of the start
    from krag_eval_cli.running import main

    main()


if __name__ == "__main__":
    main()
