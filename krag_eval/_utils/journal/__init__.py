"""Append-only files of rows that cost time or money to find out, which can be resumed at any time."""
