"""The package and its adapters, read as syntax trees: nothing runs code from data, no shell, no pickle is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(path for room in ("krag_eval", "adapters") for path in (ROOT / room).rglob("*.py"))
MODULES = {
    "cPickle", "cloudpickle", "dill", "joblib", "jsonpickle", "marshal", "pickle", "pty", "runpy", "shelve",
    "subprocess", "yaml",
}  # fmt: skip
CALLS = {"__import__", "compile", "eval", "exec", "input"}
METHODS = {"fork", "import_module", "mktemp", "popen", "read_pickle", "spawnl", "spawnv", "system", "to_pickle"}
ARGUMENTS = {"allow_pickle", "shell", "trust_remote_code"}
# Where one stands, and why it may.
ALLOWED = {
    "adapters/krag_eval_cli/loading.py: .import_module": "the module that the user named on the command line",
    "adapters/krag_eval_chunkers/local.py: .import_module": "an optional package, by a name in the code",
    "adapters/krag_eval_formats/yaml_rows.py: yaml": "its safe loader, after a check of what the file would become",
    "adapters/krag_eval_verify/verification.py: .import_module": "an optional package, by a name in the code",
    "krag_eval/_utils/moved.py: .import_module": "the new name of a module, by a name in the code",
    "krag_eval/toolkit.py: .import_module": "a room of the core, by a name in toolkit.pyi",
    "krag_eval/krag/__init__.py: .import_module": "a class of LangChain, by a name in the code",
    "adapters/krag_eval_langfuse/client.py: .import_module": "an optional package, by a name in the code",
}


def found_in(code: str) -> Iterator[str]:
    """What of this code is on the lists."""
    for node in ast.walk(ast.parse(code)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # Of an error that others raise, its name is needed.
            names = [node.module or ""] if any(not one.name.endswith("Error") for one in node.names) else []
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in CALLS and isinstance(node.func, ast.Name):
                yield name
            if name in METHODS and not (name == "import_module" and _is_written_out(node)):
                yield f".{name}"
            yield from (f"{one.arg}=" for one in node.keywords if one.arg in ARGUMENTS)
        yield from (name.partition(".")[0] for name in names if name.partition(".")[0] in MODULES)


def _is_written_out(call: ast.Call) -> bool:
    """Whether the module is named in the code, or is one of the own package."""
    name = call.args[0]
    parts = name.values[:1] if isinstance(name, ast.JoinedStr) else [name]
    written = next((part.value for part in parts if isinstance(part, ast.Constant)), None)
    return isinstance(written, str) and (name is parts[0] or written.startswith("krag_eval"))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import pickle as p", "pickle"),
        ("from yaml import load", "yaml"),
        ("def f():\n    from subprocess import run", "subprocess"),
        ("eval(text)", "eval"),
        ("[exec(line) for line in lines]", "exec"),
        ("os.system(command)", ".system"),
        ("import_module(name)", ".import_module"),
        ("importlib.import_module(f'{name}.x')", ".import_module"),
        ("np.load(path, allow_pickle=True)", "allow_pickle="),
        ("pd.read_pickle(path)", ".read_pickle"),
    ],
)
def test_each_is_seen_where_it_stands(code: str, found: str) -> None:
    assert list(found_in(code)) == [found]


def test_what_only_sounds_like_it_is_let_pass() -> None:
    own = "re.compile('a'); model.eval(); import_module('httpx'); import_module(f'krag_eval.{name}')"
    assert list(found_in(own + "; from pickle import PicklingError")) == []


@pytest.mark.full
def test_nothing_forbidden_stands_in_the_package_or_an_adapter() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {what}" for path in FILES for what in found_in(path.read_text(encoding="utf-8"))
    }
    assert found - set(ALLOWED) == set()
    assert set(ALLOWED) - found == set(), "no longer there: take it off the list"
