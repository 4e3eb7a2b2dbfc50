"""The public names of this adapter; `__init__.py` loads each when it is first used."""

from .scoring import aggregate as aggregate
from .scoring import plain_errors as plain_errors
from .scoring import score as score
