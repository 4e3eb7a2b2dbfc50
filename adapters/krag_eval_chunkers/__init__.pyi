"""The public names, once: type checkers read them here, and `__init__.py` loads each when it is first used."""

from .compare import ChunkerComparison as ChunkerComparison
from .compare import Chunking as Chunking
from .compare import compare_chunkers as compare_chunkers
from .local import build_retrievers as build_retrievers
from .local import chunk as chunk
