"""These tests ask programs that only `.venv-peers` has: run them with `make test-peers`."""

from __future__ import annotations

from importlib.util import find_spec

# Elsewhere they are not collected: they could only be skipped, and a skip counts as a failure on CI.
collect_ignore_glob = [] if find_spec("krag") and find_spec("ranx") else ["test_*.py"]
