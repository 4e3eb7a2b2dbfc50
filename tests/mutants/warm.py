"""The same tests of a copy again and again: imports take most of their time, and one process imports for all of them.

`python -m tests.mutants.warm TEST...` in a copy collects the tests, and runs them in a child of its own whenever it is
told to. What tests are written in and what they read they read anew; what they import of the packages stays as it was.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, CompletedProcess

import pytest

from tests.mutants.run import ONE_BY_ONE, environment_of


@contextmanager
def warmed_up(tree: Path, tests: Sequence[str], shown: Path) -> Iterator[Callable[[], CompletedProcess[str]]]:
    """Return what runs the tests as the copy is by then, until the first failure.

    Args:
        tree: The copy. Its packages are imported here: a later change of their code is not seen.
        tests: What pytest is called with.
        shown: A file for what it prints.
    """
    command = [sys.executable, "-m", "tests.mutants.warm", *tests]
    with subprocess.Popen(command, cwd=tree, env=environment_of(tree), stdin=PIPE, stdout=PIPE, text=True) as process:
        asking, answers = process.stdin, process.stdout
        assert asking is not None
        assert answers is not None

        def run() -> CompletedProcess[str]:
            asking.write(f"{shown}\n")
            asking.flush()
            code = int(answers.readline())
            return CompletedProcess(command, code, shown.read_text(encoding="utf-8"))

        yield run
        asking.close()


def main(tests: Sequence[str]) -> None:
    """Import what the tests need, and run them once for each line of standard input, which names a file."""
    arguments = [*ONE_BY_ONE, *tests]
    answers = os.fdopen(os.dup(1), "w")
    _write_to(os.devnull)
    pytest.main(["--collect-only", *arguments])
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _write_to(line.rstrip("\n"))
            for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
                del sys.modules[name]
            code = pytest.main(arguments)
            sys.stdout.flush()
            os._exit(code)
        answers.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        answers.flush()


def _write_to(path: str) -> None:
    with Path(path).open("w", encoding="utf-8") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)


if __name__ == "__main__":
    main(sys.argv[1:])
