"""These tests start Ray, which only `.venv-ray` has: run them with `make test-ray`."""

from __future__ import annotations

import logging
import os
import secrets
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

# Elsewhere they are not collected: they could only be skipped, and a skip counts as a failure on CI.
collect_ignore_glob = [] if find_spec("ray") else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    """Ray warns of its own settings, and leaves files and sockets to the end of the process."""
    for ignored in ("DeprecationWarning:ray", "ResourceWarning"):
        config.addinivalue_line("filterwarnings", f"ignore::{ignored}")


@pytest.fixture(scope="session", autouse=True)
def cluster() -> Iterator[None]:
    """Ray on loopback with two workers: it takes seconds to start, so all tests share it."""
    os.environ.update(
        RAY_USAGE_STATS_ENABLED="0",
        RAY_AUTH_TOKEN=secrets.token_hex(32),  # or Ray writes one into the home of whoever runs the tests
        RAY_worker_niceness="0",  # or its workers wait for whatever else the machine does
        RAY_num_workers_soft_limit="8",  # or idle processes are ended, and a shuffle starts new ones
        RAY_DATA_PARQUET_FOOTER_NUM_ACTORS="1",  # or every read starts 32 processes to look at footers
    )
    import ray

    # Its sockets lie in that folder, and the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        ray.init(
            address="local",
            num_cpus=2,
            object_store_memory=300_000_000,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _node_ip_address="127.0.0.1",
            _temp_dir=folder,
        )
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        context.default_hash_shuffle_parallelism = 4  # 200 are for clusters
        yield
        ray.shutdown()
