"""The public names, once: type checkers read them here, and `__init__.py` loads each when it is first used."""

from .verification import Verification as Verification
from .verification import verify as verify
