"""Files in, under one strict policy and with bounds; files out, whole or not at all.

Each mistake in a file is named by path and line.
"""

from krag_eval.files.encodings import SAVE_AS_UTF8, looks_like, not_utf8
from krag_eval.files.json_lines import parse_jsonl, read_jsonl
from krag_eval.files.opening import MAX_LINE, is_file, is_folder, lines_of, open_file, read_whole, unreadable
from krag_eval.files.rejects import Rejects
from krag_eval.files.strict_json import parse_json
from krag_eval.files.writing import write_atomically

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
