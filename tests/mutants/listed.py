"""The list of mutants: places of the core, what would be wrong there, and the test that notices."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LISTS = Path(__file__).parent / "lists"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One place of the core with a mistake in it.

    Attributes:
        room: The list that it stands in, such as `matching`.
        file: The file, from the root of the checkout.
        code: A fragment that stands there exactly once.
        becomes: The mistake in its place.
        means: What is wrong then, in one sentence.
        caught_by: The test that must fail, as `file::name`; empty for a mutant that is equivalent.
        equivalent: Why no test can fail, if none can: then it is only listed, so that nobody looks for a test again.
    """

    room: str
    file: str
    code: str
    becomes: str
    means: str
    caught_by: str = ""
    equivalent: str = ""

    def applied_to(self, text: str) -> str | None:
        """The text of the file with the mistake in it; None where the fragment does not stand there exactly once."""
        return text.replace(self.code, self.becomes) if text.count(self.code) == 1 else None


def read_mutants() -> list[Mutant]:
    """All mutants, by room."""
    tables = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(LISTS.glob("*.toml"))}
    return [Mutant(room=room, **entry) for room, table in tables.items() for entry in table["mutant"]]
