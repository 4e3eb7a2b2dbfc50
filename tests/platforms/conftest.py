"""What runs a recipe in an environment of its own is no test here: `make test-platforms` runs it."""

collect_ignore_glob = ["check_*.py", "run.py"]
