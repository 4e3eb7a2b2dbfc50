"""These tests start Spark, which only `.venv-spark` has: run them with `make test-spark`."""

from __future__ import annotations

from importlib.util import find_spec

# Elsewhere they are not collected: they could only be skipped, and a skip counts as a failure on CI.
collect_ignore_glob = [] if find_spec("pyspark") else ["test_*.py"]
