"""Files in, under one strict policy and with bounds; files out, whole or not at all.

Each mistake in a file is named by path and line.
"""

from krag_eval._utils.files.io import (
    MAX_LINE,
    SAVE_AS_UTF8,
    is_file,
    is_folder,
    lines_of,
    looks_like,
    not_utf8,
    open_file,
    read_whole,
    unreadable,
    write_atomically,
)
from krag_eval._utils.files.json_lines import parse_json, parse_jsonl, read_jsonl
from krag_eval._utils.files.rejects import Rejects

__all__ = [
    "MAX_LINE",
    "SAVE_AS_UTF8",
    "Rejects",
    "is_file",
    "is_folder",
    "lines_of",
    "looks_like",
    "not_utf8",
    "open_file",
    "parse_json",
    "parse_jsonl",
    "read_jsonl",
    "read_whole",
    "unreadable",
    "write_atomically",
]
