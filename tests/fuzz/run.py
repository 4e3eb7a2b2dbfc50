"""Runs a fuzz target: `python tests/fuzz/run.py readers 60` for a minute, from the corpus that is kept.

Needs atheris. What is new is kept in `build/fuzz/TARGET`; an input that breaks something is written to
`build/fuzz/TARGET-crash-…`: put it, mended, into `tests/fuzz/corpus/TARGET`, from where `test_corpus.py` replays it.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGETS = ("readers", "texts")
LONGEST = 4096


def main(target: str = "", seconds: str = "60", *options: str) -> None:
    """Fuzz one target; a finding ends the process with its input, its traceback and exit code 77."""
    if target not in TARGETS:
        sys.exit(f"usage: python tests/fuzz/run.py {'|'.join(TARGETS)} [SECONDS] [libFuzzer options]")
    sys.path.insert(0, str(ROOT))
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["krag_eval"]):
        check = importlib.import_module(f"tests.fuzz.{target}").check
    found = ROOT / "build" / "fuzz" / target
    found.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=20", "-rss_limit_mb=3000"]
    crashes = f"-artifact_prefix={found}-"
    kept = Path(__file__).parent / "corpus" / target
    atheris.Setup([sys.argv[0], *limits, crashes, *options, str(found), str(kept)], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
