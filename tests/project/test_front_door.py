"""`import krag_eval`: what it offers, what it loads, and that names agree wherever they are written."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import inspect
import os
import pickle
import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

import krag_eval
import krag_eval_scale
from krag_eval import METRICS
from krag_eval._utils.moved import MODULES, NAMES
from krag_eval.matching import MATCHERS
from krag_eval.matching.settings import MATCH_METHODS, ScoringSettings, Settings
from krag_eval.metrics import FURTHER_METRICS
from krag_eval_report import sections
from krag_eval_report.plots import PLOTS
from tests.support.public_names import PUBLIC

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGE = Path(krag_eval.__file__).parent
MOST_ROOMS = 72
SLOW_TO_LOAD = {
    "asyncio",
    "concurrent",
    "csv",
    "email",
    "http",
    "importlib.metadata",
    "logging",
    "multiprocessing",
    "sqlite3",
}
SLOW_TO_LOAD |= {
    "importlib.resources",
    "ssl",
    "statistics",
    "subprocess",
    "tempfile",
    "unittest",
    "urllib",
    "uuid",
    "xml",
    "zipfile",
}
ALL_METRICS = {**METRICS, **FURTHER_METRICS}


def in_a_fresh_interpreter(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    return subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True, text=True, cwd=PACKAGE.parent, env=environment
    )


def test_all_is_sorted_complete_and_importable() -> None:
    names = dir(krag_eval)
    assert names == sorted(set(names)) == vars(krag_eval)["__all__"]
    assert [name for name in names if not hasattr(krag_eval, name)] == []
    public = {name for name, value in vars(krag_eval).items() if name[0] != "_" and not inspect.ismodule(value)}
    assert public | {"__version__"} == set(names)


def test_a_name_that_is_asked_for_twice_is_looked_up_once() -> None:
    assert krag_eval.evaluate_stream is vars(krag_eval)["evaluate_stream"]


@pytest.mark.parametrize(("old", "module", "new"), [(old, *place) for old, place in NAMES.items()])
def test_a_name_that_moved_still_works_and_says_where_it_is(old: str, module: str, new: str) -> None:
    said = rf"^`krag_eval\.{old}` is now `{module}\.{new}`\. Import it from there\.$"
    with pytest.warns(DeprecationWarning, match=said) as caught:
        assert getattr(krag_eval, old) is getattr(importlib.import_module(module), new)
    assert [warning.filename for warning in caught] == [__file__]
    assert old not in dir(krag_eval)


@pytest.mark.parametrize(
    ("room", "name", "new"),
    [
        ("datasets", "read_evalset", "krag_eval"),
        ("datasets", "write_run", "krag_eval"),
        ("datasets", "DOC_KEY", "krag_eval.datasets.question"),
        ("datasets", "reanchor", "krag_eval_labels"),
        ("retrievers", "evaluate_retriever", "krag_eval"),
    ],
)
def test_a_room_still_gives_what_is_no_record_and_says_where_it_is(room: str, name: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"`krag_eval\.{room}\.{name}` is now `{new}\.{name}`"):
        found = getattr(importlib.import_module(f"krag_eval.{room}"), name)
    assert found is getattr(importlib.import_module(new), name)


@pytest.mark.parametrize(("old", "new"), MODULES.items())
def test_a_module_that_moved_is_still_found_and_says_where_it_is(old: str, new: str) -> None:
    with warnings.catch_warnings(action="ignore"):
        importlib.import_module(old.rpartition(".")[0])  # it may have moved, too
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=rf"^`{old}` is now `{new}`\. Import from there\.$") as caught:
        exec(f"import {old}")
    assert sys.modules[old] is importlib.import_module(new)
    assert [warning.filename for warning in caught] == ["<string>"]


def test_a_class_that_was_pickled_by_an_old_name_is_the_class_of_the_new_one() -> None:
    with pytest.warns(DeprecationWarning, match="krag_eval_scale.scorer"):
        found = pickle.loads(b"ckrag_eval.scale.scorer\nBadRow\n.")
    assert found is krag_eval_scale.BadRow


def test_tell_names_still_works_and_does_nothing() -> None:
    with pytest.warns(DeprecationWarning, match="returns the function unchanged"):
        tell_names = krag_eval.__getattr__("tell_names")
    assert callable(tell_names)
    assert tell_names(in_a_fresh_interpreter) is in_a_fresh_interpreter


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    assert not hasattr(krag_eval, "wings")
    with pytest.raises(ImportError, match="wings"):
        exec("from krag_eval import wings")


def test_everything_the_front_door_offers_is_documented() -> None:
    offered = [*PUBLIC.values()]
    ours = [thing for thing in offered if inspect.isclass(thing) or inspect.isfunction(thing)]
    assert [thing.__name__ for thing in ours if not inspect.getdoc(thing)] == []
    # An inherited docstring would describe another class.
    assert [thing.__name__ for thing in ours if inspect.isclass(thing) and not thing.__doc__] == []


def test_every_error_raised_on_purpose_is_a_krag_eval_error_and_a_built_in_one() -> None:
    built_in = {"InvalidInputError": ValueError, "UnknownMetricError": KeyError, "MissingDependencyError": ImportError}
    for name, base in built_in.items():
        assert issubclass(getattr(krag_eval, name), (krag_eval.KragEvalError, base))
        assert issubclass(getattr(krag_eval, name), base)


def test_the_version_is_the_one_of_the_package_that_is_installed() -> None:
    try:
        installed = importlib.metadata.version(PROJECT["name"])
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"need {PROJECT['name']} installed, not only on the path (make setup)")
    assert installed == krag_eval.__version__


def test_the_version_is_written_in_one_place() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", krag_eval.__version__)
    if "version" in PROJECT:
        assert PROJECT["version"] == krag_eval.__version__
    else:
        hatch = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
        assert PROJECT["dynamic"] == ["version"]
        assert (ROOT / hatch["version"]["path"]).read_text(encoding="utf-8").count(krag_eval.__version__) == 1


@pytest.mark.parametrize(
    ("code", "others"),
    [("import krag_eval", {"lazy_loader"}), ("from krag_eval import evaluate", {"lazy_loader", "numpy"})],
)
def test_importing_loads_numpy_and_little_else_that_is_not_python_itself(code: str, others: set[str]) -> None:
    # What site-packages load by themselves (.pth files) is not ours: only the difference counts.
    code = f"import sys; before = set(sys.modules); {code}; print(*(set(sys.modules) - before))"
    loaded = {module.partition(".")[0] for module in in_a_fresh_interpreter("-c", code).stdout.split()}
    assert loaded - sys.stdlib_module_names - {"__mp_main__"} == {"krag_eval", *others}


def test_matching_by_id_and_text_loads_neither_rapidfuzz_nor_rouge_score() -> None:
    code = (
        "import sys; from krag_eval import evaluate\n"
        "document = {'id': 'a', 'text': 'one two', 'metadata': {}}\n"
        "evaluate([[document]], [[document]], match_method=['id', 'text', 'containment']).explain(0)\n"
        "print(*sys.modules)"
    )
    loaded = {module.partition(".")[0] for module in in_a_fresh_interpreter("-c", code).stdout.split()}
    assert loaded & {"rapidfuzz", "rouge_score", "nltk", "pandas", "matplotlib", "click", "rich", "kiwipiepy"} == set()


@pytest.mark.full
def test_rouge_without_its_tokenizer_or_stemmer_loads_neither_rouge_score_nor_nltk() -> None:
    code = (
        "import sys; from krag_eval import evaluate\n"
        "evaluate([['one two']], [['one three']], match_method=['rouge1', 'rouge2', 'rougeL'])\n"
        "print(*sys.modules)"
    )
    assert not {"rouge_score", "nltk"} & set(in_a_fresh_interpreter("-c", code).stdout.split())


@pytest.mark.full
def test_importing_loads_little_on_top_of_numpy() -> None:
    # What it costs in seconds is for benchmarks/imports.py to say, on a machine that does nothing else. That it stays
    # below a tenth of one is a matter of what is loaded: the rooms that every evaluation goes through, and no more.
    code = (
        "import sys, numpy; before = set(sys.modules); from krag_eval import evaluate; "
        "print(*(name for name in sys.modules if name not in before))"
    )
    loaded = in_a_fresh_interpreter("-c", code).stdout.split()
    ours = {name for name in loaded if name.partition(".")[0] == "krag_eval"}
    assert len(ours) <= MOST_ROOMS
    assert {"krag_eval.datasets", "krag_eval_report", "krag_eval.retrievers.runner"} & ours == set()
    others = {name.partition(".")[0] for name in loaded} - {"krag_eval", "lazy_loader"}
    assert {*loaded, *others} & SLOW_TO_LOAD == set()
    assert {name for name in others if name not in sys.stdlib_module_names} == set()


def test_each_metric_of_the_table_lives_in_the_file_of_its_subject() -> None:
    common = {"aggregation", "cut_offs", "judgments", "names"}
    files = {path.stem for path in (PACKAGE / "metrics").glob("[!_]*.py")} - common
    modules = {name: metric.function.__module__.rpartition(".")[2] for name, metric in ALL_METRICS.items()}
    assert set(modules.values()) == files
    functions = {name: metric.function.__name__ for name, metric in ALL_METRICS.items() if name != "undated"}
    functions = {
        name: f for name, f in functions.items() if modules[name] not in ("incomplete_labels", "ranking", "leaks")
    }  # several of one kind
    families = {"spans": "span_", "sessions": "session_"}
    starts = {name: families.get(module, module) for name, module in modules.items()}
    assert [name for name, function in functions.items() if not function.startswith(starts[name])] == []


@pytest.mark.sample(7)
@pytest.mark.parametrize("name", ALL_METRICS)
def test_the_docstring_of_a_metric_says_range_edge_cases_and_source(name: str) -> None:
    doc = inspect.getdoc(ALL_METRICS[name].function) or ""
    undefined = "NaN where no" if ALL_METRICS[name].reads_documents else "NaN where a query has"
    parts = ["Shape: (n_queries,), float64. Range: ", undefined, "Edge cases:", "Source: "]
    assert [part for part in parts if part not in " ".join(doc.split())] == []


NAMED_ON: dict[str, set[str]] = {
    "docs/quickstart.ko.md": {*METRICS},
    "docs/quickstart.ru.md": {*METRICS},
    "docs/quickstart.zh.md": {*METRICS},
    "docs/metrics.md": {*METRICS, *FURTHER_METRICS},
    "docs/statistics.md": {name for name, metric in ALL_METRICS.items() if metric.lower_is_better},
    "docs/evaluate.md": {*MATCH_METHODS, *krag_eval.TOKENIZERS},
    "docs/plots.md": {*PLOTS},
    "docs/install.md": {*PROJECT["optional-dependencies"]},
}


@pytest.mark.parametrize("page", NAMED_ON)
def test_a_page_names_all_that_its_table_has(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    code = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`[^`\n]+`|```.*?```", text, flags=re.DOTALL))))
    assert sorted(NAMED_ON[page] - code) == []


def test_the_docstring_of_the_sections_names_every_one_of_them() -> None:
    own = inspect.getsource(sections._own)
    doc = inspect.getdoc(sections.sections_of) or ""
    functions = re.findall(r"(\w+)_section\(", own)
    assert len(functions) > 5
    assert [name for name in functions if f"`{name}`" not in doc] == []


def test_the_docstring_of_the_settings_names_every_one_of_them_every_match_method_and_tokenizer() -> None:
    doc = inspect.getdoc(ScoringSettings) or ""
    names = ScoringSettings.__annotations__
    assert [name for name in names if f"\n    {name}: " not in doc] == []
    assert [name for name in names if f"`{name}`" not in (inspect.getdoc(krag_eval.evaluate) or "")] == []
    assert set(names) == {field.name for field in dataclasses.fields(Settings) if field.init}
    assert [name for name in (*MATCH_METHODS, *krag_eval.TOKENIZERS) if f'"{name}"' not in doc] == []


def test_every_match_method_has_its_matcher() -> None:
    assert tuple(MATCHERS) == MATCH_METHODS


def test_the_familiar_values_are_all_in_the_docstring_of_evaluate_all() -> None:
    doc = inspect.getdoc(krag_eval.evaluate_all) or ""
    values = krag_eval.evaluate_all([["a"]], [["a"]], k=1)
    assert [key for key in values if f"`{key}`" not in doc] == []


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()
