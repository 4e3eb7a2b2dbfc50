"""These tests start Spark, which only `.venv-spark` has: run them with `make test-spark`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# Elsewhere they are not collected: they could only be skipped, and a skip counts as a failure on CI.
collect_ignore_glob = [] if find_spec("pyspark") else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    """Spark leaves sockets to the end of the process."""
    config.addinivalue_line("filterwarnings", "ignore::ResourceWarning")


@pytest.fixture(scope="session")
def connect_port() -> int:
    """Where the session below also answers as a Spark Connect server."""
    from tests.adapters.spark.engines import free_port

    return free_port()


@pytest.fixture(scope="session")
def spark(connect_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Classic Spark on loopback with two workers: it takes seconds to start, so all tests share it."""
    from tests.adapters.spark.engines import start_classic

    session = start_classic(connect_port, tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Queries as Parquet, for all engines."""
    from tests.adapters.spark.engines import write_queries

    return write_queries(tmp_path_factory.mktemp("queries"))
