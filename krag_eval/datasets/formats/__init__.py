"""The file formats of evaluation sets and runs, one per module."""
