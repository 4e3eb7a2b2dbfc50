"""`python -m krag_eval`: the command line, which is a package beside the core."""

import sys

from krag_eval._utils.errors import KragEvalError
from krag_eval._utils.plugins import load


def main() -> None:
    """Run `krag-eval`."""
    try:
        run = load("console_scripts", "krag-eval")
    except KragEvalError as error:
        sys.exit(_refused(error))
    run()


def _refused(error: KragEvalError) -> int:
    print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201 - there is no command line to say so
    return 2


if __name__ == "__main__":
    main()
