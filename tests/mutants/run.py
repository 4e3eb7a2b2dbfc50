"""Runs the list of mutants: `python -m tests.mutants.run [WORD...]`, or those whose room or file has such a word.

In a copy of the tree each mistake is made by itself, and the test that is named beside it must fail. In the untouched
copy all these tests must pass first, for otherwise a failure would say nothing. The exit code is 1 if a mutant
survives, or can no longer be made because its line is gone: then the list has to follow the code.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants.listed import ROOT, Mutant, read_mutants

CAUGHT, SURVIVED = "caught", "SURVIVED"
GONE, UNFIT = "DOES NOT APPLY", "DOES NOT RUN"
# What pytest ends with; anything else means that the test could not be run at all.
_PASSED, _FAILED = 0, 1
ONE_BY_ONE = ("-x", "-q", "-n", "0", "-p", "no:cacheprovider")


def main(words: Sequence[str]) -> None:
    """Run the mutants, and say of each what became of it."""
    mutants = [
        one
        for one in read_mutants()
        if one.caught_by and (not words or any(word in f"{one.room} {one.file}" for word in words))
    ]
    if not mutants:
        sys.exit(f"No mutant has {' or '.join(words)} in its room or file.")
    outcomes = []
    with TemporaryDirectory(prefix="krag-eval-mutants-") as folder:
        tree = Path(folder)
        copy_tree(tree)
        untouched = run_tests(tree, sorted({one.caught_by for one in mutants}))
        if untouched.returncode != _PASSED:
            sys.exit(f"{untouched.stdout}\nThese tests must pass before anything is changed.")
        for mutant in mutants:
            before = _seconds()
            outcome = outcome_of(mutant, tree)
            outcomes.append(outcome)
            _tell(f"{outcome:14} {_seconds() - before:5.1f} s  {mutant.file}: {mutant.means}")
    caught = outcomes.count(CAUGHT)
    _tell(f"{caught} of {len(mutants)} caught, in {_seconds():.0f} s of processor time.")
    sys.exit(caught < len(mutants))


def copy_tree(target: Path) -> None:
    """Copy what belongs to the project: what git knows, and what it would be told of next."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)


def run_tests(tree: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run tests of a copy against the copy, until the first failure; one that skips itself has failed."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", *ONE_BY_ONE, *tests],
        cwd=tree,
        env=environment_of(tree),
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def environment_of(tree: Path) -> dict[str, str]:
    """Return what tests of a copy run with."""
    # No compiled files: one of the same size and second as its source would be taken for it, mistake or not.
    # With CI set, hypothesis tries the same examples each time.
    settings = {"PYTHONDONTWRITEBYTECODE": "1", "CI": "1", "KRAG_EVAL_REQUIRE_ALL": "1"}
    settings["PYTHONPATH"] = os.pathsep.join([str(tree), str(tree / "adapters")])
    return os.environ | settings


def outcome_of(mutant: Mutant, tree: Path) -> str:
    """Make the mistake, ask the test, and put the file right again."""
    path = tree / mutant.file
    right = path.read_text(encoding="utf-8") if path.is_file() else ""
    wrong = mutant.applied_to(right)
    if wrong is None:
        return GONE
    path.write_text(wrong, encoding="utf-8")
    try:
        ended = run_tests(tree, [mutant.caught_by]).returncode
    finally:
        path.write_text(right, encoding="utf-8")
    return {_PASSED: SURVIVED, _FAILED: CAUGHT}.get(ended, UNFIT)


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _seconds() -> float:
    """Processor time of all tests so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(sys.argv[1:])
