"""The recipes of CONTRIBUTING.md, followed in a copy: done whole, what is new is everywhere; each place is missed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.mutants.listed import ROOT
from tests.mutants.run import copy_tree, run_tests
from tests.mutants.warm import warmed_up

Change = Callable[[str], str]
FRONT, SITE, PACKAGING = (f"tests/project/test_{name}.py::" for name in ("front_door", "docs_site", "packaging"))


def after(line: str, more: str) -> Change:
    """Put something below the first line that begins like this."""

    def change(text: str) -> str:
        changed, n = re.subn(
            rf"^({re.escape(line)}.*\n)", lambda found: found[1] + more, text, count=1, flags=re.MULTILINE
        )
        assert n == 1, line
        return changed

    return change


def whole(content: str) -> Change:
    return lambda _: content


def at_the_end(more: str) -> Change:
    return lambda text: f"{text}\n{more}\n"


def instead(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text, old
        return text.replace(old, new)

    return change


class Recipe(NamedTuple):
    """What somebody does who follows a recipe.

    Attributes:
        title: Its heading.
        changes: What is done, with the file that it is done to.
        proof: A test of what is new, for the copy.
        checks: Tests of the project that see a place that was forgotten.
    """

    title: str
    changes: tuple[tuple[str, Change], ...]
    proof: str
    checks: tuple[str, ...]


METRIC = '''
"""Shine: a metric."""

from krag_eval.metrics.ranking import recall


def shine(judged, k=None):
    """Return the same as recall.

    Shape: (n_queries,), float64. Range: 0 to 1, lower is better. NaN where a query has no gold document.

    Edge cases:
        * Nothing retrieved: 0.

    Source: none.
    """
    return recall(judged, k)
'''
OF_METRIC = """
from krag_eval import UnknownMetricError, check_gate, compare, evaluate
from krag_eval.analysis.gate import Policy
from krag_eval_report import build_report
from krag_eval_report.html.cut_offs import cut_off_columns
from tests.adapters.cli.test_help import help_of
from tests.support.gate_cases import SET, make_run


def test_it_is_everywhere():
    first = evaluate([["a"], ["b"]], [["a", "x"], ["x"]], k=(1, 2){named})
    second = evaluate([["a"], ["b"]], [["y", "a"], ["b"]], k=(1, 2){named})
    assert first["shine@1"] == 0.5
    assert "shine" in cut_off_columns(build_report({{"s": first}}))["names"]
    row = next(row for row in compare({{"a": first, "b": second}}).rows if row.key.startswith("shine"))
    assert row.lower_is_better
    policy = Policy.from_dict({{"gate": {{"require": ["observed(shine@1) <= 1"]}}}})
    assert str(check_gate(SET, make_run("r", SET, set()), policy).status) == "pass"
    assert ("shine" in help_of("evaluate", is_whole=True)) == {in_help}
    with pytest.raises(UnknownMetricError, match="shine"):
        evaluate([["a"]], [["a"]], metrics="unknown")
"""
IMPORT_METRIC = instead(
    "from krag_eval.metrics.redundancy import redundancy\n",
    "from krag_eval.metrics.redundancy import redundancy\nfrom krag_eval.metrics.shine import shine\n",
)


def in_part(first: str, change: Change) -> Change:
    """Change only what comes from this line on, up to the next table of another tool."""

    def changed(text: str) -> str:
        before, line, rest = text.partition(first)
        part, mark, others = rest.partition("\n[tool.pytest")
        return before + line + change(part) + mark + others

    return changed


def both(*changes: Change) -> Change:
    def change(text: str) -> str:
        for one in changes:
            text = one(text)
        return text

    return change


def metric(line: str, pages: tuple[str, ...], *, named: str) -> Recipe:
    return Recipe(
        "Add a metric",
        (
            ("krag_eval/metrics/shine.py", whole(METRIC)),
            (
                "krag_eval/metrics/__init__.py",
                both(IMPORT_METRIC, after(line, '    "shine": Metric(shine, lower_is_better=True),\n')),
            ),
            ("adapters/krag_eval_report/html/templates/metrics.js", after("  ndcg: ndcgOf,", "  shine: recallOf,\n")),
            ("docs/reference/metrics.md", at_the_end("::: krag_eval.metrics.shine.shine")),
            ("docs/statistics.md", at_the_end("`shine`")),
            *((page, at_the_end("`shine`")) for page in pages),
        ),
        OF_METRIC.format(named=named, in_help=not named),
        (
            f"{FRONT}test_each_metric_of_the_table_lives_in_the_file_of_its_subject",
            f"{FRONT}test_the_docstring_of_a_metric_says_range_edge_cases_and_source",
            f"{FRONT}test_a_page_names_all_that_its_table_has",
            f"{SITE}test_the_reference_has_every_metric_once",
            "tests/adapters/report/test_page_cut_offs.py::test_every_metric_that_needs_nothing_but_ranks_has_a_formula_on_the_page",
        ),
    )


FORMAT = '''
"""Lines of `question<TAB>id` after a line that says so."""

from pathlib import Path

from krag_eval import Question
from krag_eval.toolkit import write_atomically


def kinds_in(source):
    return ("evalset",) if source.head.startswith(b"#shine") else ()


def questions(source):
    for number, line in enumerate(Path(source.path).read_text().splitlines()[1:], 2):
        question, gold = line.split("\\t")
        yield f"{source.path}:{number}", Question(id=str(number), question=question, gold_chunk_ids=(gold,))


def write_questions(evalset, writing):
    lines = [f"{q.question}\\t{q.gold_chunk_ids[0]}\\n" for q in evalset]
    write_atomically(writing.path, ["#shine\\n", *lines])
'''
TOKENIZER = """
class ShineTokenizer:
    def tokenize(self, text):
        return [*text]
"""
SECTION = """

def shine_section(report):
    from krag_eval.toolkit import Section

    return Section("shine", "Shine")
"""
PLOT = '''
"""A plot."""


def draw_shine(report):
    return None
'''
ADAPTER_PAGES = (
    ("docs/zeta.md", whole("# Zeta\n")),
    ("docs/reference/packages.md", at_the_end("## Zeta\n\n::: krag_eval_zeta.score")),
    ("docs/site/mkdocs.yml", after("          - LangChain and LangSmith:", "          - Zeta: zeta.md\n")),
    ("docs/install.md", after("| `ray` |", "| `zeta` | `krag_eval_zeta` |\n")),
)
LAST, NEW = '    "krag_eval_verify",\n]', '    "krag_eval_verify",\n    "krag_eval_zeta",\n]'
ALONE = """
[[tool.importlinter.contracts]]
id = "zeta-alone"
name = "The adapter of Zeta imports zeta and no other framework"
type = "forbidden"
source_modules = ["krag_eval_zeta"]
forbidden_modules = [
    "langchain_core", "langfuse", "langsmith", "llama_index", "opentelemetry", "pyspark", "ray",
]
"""
PYPROJECT = {
    "the wheel": instead(
        '    "adapters/krag_eval_verify",\n', '    "adapters/krag_eval_verify",\n    "adapters/krag_eval_zeta",\n'
    ),
    "the extra": both(instead("\nspark = [", '\nzeta = ["zeta>=1,<2"]\nspark = [')),
    "the extra of all": instead("view,xlsx,yaml]", "view,xlsx,yaml,zeta]"),
    "what is ours": in_part("known-first-party = [", instead(LAST, NEW)),
    "the contracts of all": in_part("[tool.importlinter]", instead(LAST, NEW)),
    "its own contract": at_the_end(ALONE),
    "the contracts of others": lambda text: re.sub(
        r'(?<=source_modules = \["krag_eval_)((?!zeta)\w+"\]\nforbidden_modules = \[\n)', r'\1    "zeta",\n', text
    ),
}

RECIPES = {
    "a metric of all": metric(
        '    "ndcg": Metric(',
        ("docs/metrics.md", "docs/quickstart.ko.md", "docs/quickstart.ru.md", "docs/quickstart.zh.md"),
        named="",
    ),
    "a further metric": metric('    "err": Metric(', ("docs/metrics.md",), named=', metrics=["recall", "shine"]'),
    "a matcher": Recipe(
        "Add a matcher",
        (
            (
                "krag_eval/matching/exact.py",
                whole("def match_exact(batch):\n    return batch.equal_texts()\n"),
            ),
            (
                "krag_eval/matching/__init__.py",
                both(
                    after("from krag_eval.matching.embedding", "from krag_eval.matching.exact import match_exact\n"),
                    instead(
                        '    "containment": match_containment,\n',
                        '    "containment": match_containment,\n    "exact": match_exact,\n',
                    ),
                ),
            ),
            (
                "krag_eval/matching/settings.py",
                both(
                    instead('"text", "containment", *ROUGE', '"text", "containment", "exact", *ROUGE'),
                    instead(
                        'the default), `"containment"`, `"rouge1"`',
                        'the default), `"containment"`, `"exact"`, `"rouge1"`',
                    ),
                ),
            ),
            ("docs/evaluate.md", after('| `"containment"` |', '| `"exact"` | the texts are equal |\n')),
        ),
        """
from krag_eval import evaluate
from tests.adapters.cli.test_help import help_of


def test_it_is_everywhere():
    assert evaluate([["a"]], [["a"]], match_method="exact", k=1)["recall@1"] == 1
    assert "exact" in help_of("evaluate", is_whole=True)
    with pytest.raises(ValueError, match="exact"):
        evaluate([["a"]], [["a"]], match_method="unknown")
""",
        (
            f"{FRONT}test_a_page_names_all_that_its_table_has",
            f"{FRONT}test_every_match_method_has_its_matcher",
            f"{FRONT}test_the_docstring_of_the_settings_names_every_one_of_them_every_match_method_and_tokenizer",
        ),
    ),
    "a tokenizer": Recipe(
        "Add a tokenizer",
        (
            (
                "krag_eval/documents/tokenizers.py",
                both(
                    instead(
                        "TOKENIZERS: dict",
                        f"{TOKENIZER}\n\nTOKENIZERS: dict",
                    ),
                    after('    "nltk": NltkTokenizer(),', '    "shine": ShineTokenizer(),\n'),
                ),
            ),
            ("krag_eval/matching/settings.py", instead('`"kiwi"`, `"nltk"`, an', '`"kiwi"`, `"nltk"`, `"shine"`, an')),
            ("docs/evaluate.md", at_the_end('`"shine"`')),
        ),
        """
from krag_eval import InvalidInputError, evaluate
from krag_eval_cli.options import values_of
from tests.adapters.cli.test_help import help_of


def test_it_is_everywhere():
    found = evaluate([["abc"]], [["a b c"]], match_method="rouge1", threshold=0.5, tokenizer="shine", k=1)
    assert found["recall@1"] == 1
    assert "tok:shine" in found.signature
    for command in ("evaluate", "validate", "doctor", "reanchor", "bench", "compare"):
        assert "shine" in help_of(command, is_whole=True)
    assert "shine" in values_of("tokenizer")
    with pytest.raises(InvalidInputError, match="Known tokenizers: .*shine"):
        evaluate([["a"]], [["a"]], match_method="rouge1", tokenizer="unknown")
""",
        (
            f"{FRONT}test_a_page_names_all_that_its_table_has",
            f"{FRONT}test_the_docstring_of_the_settings_names_every_one_of_them_every_match_method_and_tokenizer",
        ),
    ),
    "a file format": Recipe(
        "Add a file format",
        (
            ("adapters/krag_eval_formats/shine.py", whole(FORMAT)),
            (
                "adapters/krag_eval_formats/files.py",
                both(
                    instead("    ragas,\n    squad,\n", "    ragas,\n    shine,\n    squad,\n"),
                    after(
                        '    "hf": _format(', '    "shine": _format(shine, detected_in=_TEXT, endings=(".shine",)),\n'
                    ),
                ),
            ),
            ("docs/formats.md", after("| `hf` |", "| `shine` | sets | `.shine` | everything else |\n")),
        ),
        """
from pathlib import Path

from krag_eval import InvalidInputError, read_evalset
from krag_eval_cli.options import values_of
from tests.adapters.cli.test_help import help_of
from tests.support.command_line import Runner


def test_it_is_everywhere(command: Runner):
    Path("set").write_text("#shine\\nWhen?\\tc1\\n")
    assert read_evalset("set")[0].question == "When?"
    assert command("convert", "set", "x.shine", "--force").code == 0
    assert Path("x.shine").read_text() == "#shine\\nWhen?\\tc1\\n"
    assert command("validate", "x.shine").code == 0
    shown = [help_of(name, is_whole=True) for name in ("evaluate", "convert")]
    assert ["shine" in shown[0], "shine" in shown[1].partition("--to")[2]] == [True, True]
    assert ["shine" in values_of("from_format"), "shine" in values_of("to_format")] == [True, True]
    with pytest.raises(InvalidInputError, match="Known formats: .*shine"):
        read_evalset("set", format="unknown")
""",
        (
            "tests/adapters/formats/test_formats_refusals.py::test_the_page_about_files_names_every_format_and_every_ending",
        ),
    ),
    "an answer metric": Recipe(
        "Add an answer metric",
        (
            (
                "adapters/krag_eval_answers/metrics.py",
                after('    "rougeLsum": AnswerMetric(', '    "shine": AnswerMetric(exact_match),\n'),
            ),
            (
                "docs/answers.md",
                lambda text: text.replace(
                    "| `semantic_similarity` |", "| `shine` | 1 | none |\n| `semantic_similarity` |", 1
                ),
            ),
        ),
        """
from krag_eval import UnknownMetricError
from krag_eval_answers import evaluate_answers


def test_it_is_everywhere():
    assert evaluate_answers(["a"], ["a"])["shine"] == 1
    with pytest.raises(UnknownMetricError, match="shine"):
        evaluate_answers(["a"], ["a"], metrics="unknown")
""",
        ("tests/adapters/answers/test_input.py::test_the_page_of_answers_has_a_row_for_every_metric",),
    ),
    "a plot": Recipe(
        "Add a report section or plot",
        (
            ("adapters/krag_eval_report/plots/shine.py", whole(PLOT)),
            (
                "adapters/krag_eval_report/plots/__init__.py",
                both(
                    instead("\nPLOTS: dict", "\nfrom krag_eval_report.plots.shine import draw_shine\n\nPLOTS: dict"),
                    after('    "stages": Plot(', '    "shine": Plot("stages", draw_shine),\n'),
                ),
            ),
            ("docs/plots.md", at_the_end("`shine`")),
        ),
        """
from krag_eval import InvalidInputError, evaluate
from krag_eval_report import build_report
from krag_eval_report.plots import PLOTS, figures_of


def test_it_is_everywhere():
    assert "shine" in PLOTS
    figures_of(build_report({"s": evaluate([["a"]], [["a"]], k=1)}))
""",
        (f"{FRONT}test_a_page_names_all_that_its_table_has",),
    ),
    "a section": Recipe(
        "Add a report section or plot",
        (
            (
                "adapters/krag_eval_report/sections/__init__.py",
                both(
                    instead(
                        "    yield signatures_section(report)\n",
                        "    yield signatures_section(report)\n    yield shine_section(report)\n",
                    ),
                    instead("and\n    `signatures`, as far", "\n    `signatures` and `shine`, as far"),
                    instead("\n\ndef sections_of", f"{SECTION}\n\ndef sections_of"),
                ),
            ),
        ),
        """
from krag_eval import evaluate
from krag_eval_report import build_report
from krag_eval_report.sections import sections_of


def test_it_is_everywhere():
    assert "shine" in [section.key for section in sections_of(build_report({"s": evaluate([["a"]], [["a"]], k=1)}))]
""",
        (f"{FRONT}test_the_docstring_of_the_sections_names_every_one_of_them",),
    ),
    "an adapter": Recipe(
        "Add an adapter",
        (
            (
                "adapters/krag_eval_zeta/__init__.py",
                whole((ROOT / "adapters/krag_eval_ray/__init__.py").read_text("utf-8").replace("ray", "zeta")),
            ),
            ("adapters/krag_eval_zeta/__init__.pyi", whole("from .scoring import score as score\n")),
            ("adapters/krag_eval_zeta/scoring.py", whole("def score(rows):\n    return rows\n")),
            ("adapters/krag_eval_zeta/py.typed", whole("")),
            *(("pyproject.toml", change) for change in PYPROJECT.values()),
            (
                "tests/project/test_packaging.py",
                after('    "krag_eval_verify": ', '    "krag_eval_zeta": {"zeta"},\n'),
            ),
            *ADAPTER_PAGES,
        ),
        """
import krag_eval_zeta


def test_it_is_everywhere():
    assert krag_eval_zeta.score([]) == []
""",
        (
            f"{PACKAGING}test_the_wheel_holds_the_core_and_every_adapter_of_the_folder",
            f"{PACKAGING}test_the_folder_of_adapters_is_no_package_and_each_adapter_is_a_typed_one",
            f"{PACKAGING}test_the_checks_know_every_adapter",
            f"{PACKAGING}test_the_contracts_of_the_imports_name_every_adapter",
            f"{PACKAGING}test_every_adapter_of_a_framework_has_the_extra_of_its_name",
            f"{PACKAGING}test_the_extra_all_is_all_of_them_but_pytest_the_engines_and_a_local_model",
            f"{SITE}test_the_menu_names_every_page_once_and_no_other",
            f"{SITE}test_the_reference_has_every_public_name_once",
            f"{FRONT}test_a_page_names_all_that_its_table_has",
        ),
    ),
    "a page": Recipe(
        "Add a documentation page",
        (
            ("docs/shine.md", whole("# Shine\n")),
            ("docs/site/mkdocs.yml", after("      - Evaluate a retriever:", "      - Shine: shine.md\n")),
        ),
        "",
        (f"{SITE}test_the_menu_names_every_page_once_and_no_other",),
    ),
}
PROOF = "tests/project/test_shine.py"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recipes")
    copy_tree(folder)
    return folder


@contextmanager
def followed(recipe: Recipe, tree: Path, *, without: int | None = None) -> Iterator[list[str]]:
    """Do what the recipe says but for one change; return what finds out whether that is all."""
    before: dict[Path, str | None] = {}
    proof = whole(f"import pytest\n{recipe.proof}")
    changes = [change for number, change in enumerate(recipe.changes) if number != without]
    try:
        for file, change in [*changes, (PROOF, proof)]:
            path = tree / file
            text = path.read_text(encoding="utf-8") if path.exists() else None
            before.setdefault(path, text)
            path.parent.mkdir(exist_ok=True)
            path.write_text(change(text or ""), encoding="utf-8")
        yield [PROOF, *recipe.checks] if recipe.proof else [*recipe.checks]
    finally:
        for path, text in before.items():
            if text is None:
                path.unlink()
            else:
                path.write_text(text, encoding="utf-8")
        if (new := tree / "adapters" / "krag_eval_zeta").exists():
            new.rmdir()


@pytest.mark.full
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_who_follows_a_recipe_is_done_and_misses_each_place_that_was_forgotten(
    recipe: Recipe, tree: Path, tmp_path: Path
) -> None:
    unseen = list[str]()
    with ExitStack() as stack:
        with followed(recipe, tree) as checks:
            again = stack.enter_context(warmed_up(tree, checks, tmp_path / "shown.txt"))
            ended = again()
        assert ended.returncode == 0, ended.stdout
        for number, (file, _) in enumerate(recipe.changes):
            is_imported = file.endswith((".py", ".pyi")) and not file.startswith("tests/")
            if is_imported and not file.endswith("settings.py"):
                continue  # what Python code lacks is missed by whoever imports it
            with followed(recipe, tree, without=number):
                ended = run_tests(tree, checks) if is_imported else again()
            if ended.returncode != 1 or "1 failed" not in ended.stdout:
                unseen.append(f"{number}: {file}\n{ended.stdout}")
    assert unseen == []


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_names_every_file_that_it_changes(name: str) -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    text = page.partition(f"\n### {RECIPES[name].title}\n")[2].partition("\n### ")[0]
    assert text
    named = [file if (ROOT / file).exists() else f"{Path(file).parent}/" for file, _ in RECIPES[name].changes]
    named = [re.sub(r"krag_eval_zeta", "krag_eval_NAME", file) for file in named]
    assert [file for file in named if f"`{file}" not in text] == []
