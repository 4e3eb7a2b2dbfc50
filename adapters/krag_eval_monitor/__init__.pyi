"""The public names, once: type checkers read them here, and `__init__.py` loads each when it is first used."""

from .watch import Watch as Watch
