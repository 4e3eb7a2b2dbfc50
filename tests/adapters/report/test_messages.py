"""The messages of pages and reports: every language says all of them, with the same arguments and its plural forms."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path

import pytest
from babel import Locale
from fluent.syntax import FluentParser
from fluent.syntax import ast as ftl
from fluent.syntax.visitor import Visitor

from krag_eval import InvalidInputError
from krag_eval.toolkit import CAUSES, said
from krag_eval_report.html.page import fluent
from krag_eval_report.languages import Language, language_of, languages

ROOT = Path(__file__).parents[3]
CODES = [*languages()]
FORMS = ("zero", "one", "two", "few", "many", "other")
# Messages whose ids end with a word that the code has elsewhere: in a table, or in the data of a page.
MADE = {
    "cause": [*CAUSES],
    "fact-gained": ["within"],
    "fact-lost": ["within"],
    "ceiling": ["recall", "with_perfect_reranking", "without_repeats"],
    "method": ["id", "text", "containment", "embedding", "span"],
    "missed": [*CAUSES],
    "outcome": ["better", "worse", "same", "unresolved"],
}
SENTENCES = ("transitions-found", "transitions-missed", "slices-none-worse", "slice-worse")


def messages_of(code: str) -> dict[str, ftl.Message]:
    body = FluentParser().parse(languages()[code].messages).body
    assert not [entry for entry in body if isinstance(entry, ftl.Junk)], f"{code}.ftl has lines that are no messages"
    found = [entry for entry in body if isinstance(entry, ftl.Message)]
    names = [entry.id.name for entry in found]
    assert sorted(set(names)) == sorted(names), f"{code}.ftl says a message twice"
    return dict(zip(names, found, strict=True))


class Seen(Visitor):
    """The arguments of a message, and the sets of plural forms among which it chooses."""

    def __init__(self, message: ftl.Message) -> None:
        self.arguments: set[str] = set()
        self.formatted: set[str] = set()
        self.forms: list[set[str]] = []
        self.visit(message)

    def visit_VariableReference(self, node: ftl.VariableReference) -> None:  # noqa: N802
        self.arguments.add(node.id.name)

    def visit_FunctionReference(self, node: ftl.FunctionReference) -> None:  # noqa: N802
        if node.id.name == "VALUE":
            self.formatted |= {
                one.id.name for one in node.arguments.positional if isinstance(one, ftl.VariableReference)
            }
        self.generic_visit(node)

    def visit_SelectExpression(self, node: ftl.SelectExpression) -> None:  # noqa: N802
        names = {variant.key.name for variant in node.variants if isinstance(variant.key, ftl.Identifier)}
        if names <= {*FORMS}:
            self.forms.append(names)
        self.generic_visit(node)


def sources() -> Iterator[tuple[Path, str]]:
    """The files that may say a message, with their texts."""
    for folder in (ROOT / "krag_eval", ROOT / "adapters" / "krag_eval_report"):
        for path in folder.rglob("*"):
            if path.suffix in (".py", ".js", ".j2") and path.name != "fluent.js":
                text = path.read_text(encoding="utf-8")
                if path.suffix != ".py" or re.search(r"\b(?:said|column|number_of|message|respelled)\(", text):
                    yield path, text


@pytest.mark.parametrize("code", CODES)
def test_a_language_says_each_message_with_the_same_arguments(code: str) -> None:
    english, its = messages_of("en"), messages_of(code)
    assert {"missing": english.keys() - its.keys(), "unknown": its.keys() - english.keys()} == {
        "missing": set(),
        "unknown": set(),
    }
    for name, message in its.items():
        seen, expected = Seen(message), Seen(english[name])
        # The number in `$of-n` is as good as the words of `$of` that hold it.
        assert {one.partition("-")[0] for one in expected.arguments} == {
            one.partition("-")[0] for one in seen.arguments
        }, f"{name} in {code}"
        assert expected.formatted == seen.formatted, f"{name} in {code}"


@pytest.mark.parametrize("code", CODES)
def test_where_a_language_chooses_by_number_it_has_each_of_its_forms(code: str) -> None:
    rule = Locale(code).plural_form
    needed = {rule(n) for n in range(1000)}
    for name, message in messages_of(code).items():
        for forms in Seen(message).forms:
            assert forms == needed, f"{name} in {code}"


class Called(ast.NodeVisitor):
    """The ids of messages that a file of Python makes, and patterns of those that it makes of parts."""

    def __init__(self, text: str) -> None:
        self.patterns: set[str] = set()
        self.visit(ast.parse(text))

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        given = {one.arg: one.value for one in node.keywords}
        if name == "column" and node.args:
            message = f"column-{pattern_of(given.get('name', node.args[0]))}"
            self.patterns |= {message, f"{message}-help"} if len(node.args) > 2 else {message}
        elif name == "number_of" and len(node.args) == 2:
            self.patterns.add(f"n-{pattern_of(node.args[1])}".replace(" ", "-"))
        elif name == "respelled":
            self.patterns |= {f"{one}-sentence" for one in SENTENCES}
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.patterns.add(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        text = pattern_of(node)
        if text.partition("-")[0] in (*MADE, "no", "support", "alarm", "fact", "verdict", "column", "board"):
            self.patterns.add(text)


def pattern_of(node: ast.expr) -> str:
    """A pattern for a text: of what is put in, any word."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(one.value) if isinstance(one, ast.Constant) else "*" for one in parts)


def test_every_message_is_said_somewhere() -> None:
    patterns = {f"{word}-{value}" for word, values in MADE.items() for value in values}
    for path, text in sources():
        if path.suffix == ".py":
            patterns |= Called(text).patterns
        else:
            patterns |= set(re.findall(r"""["'`]([a-z][\w-]*)["'`]""", text))
            patterns |= {f"{start}*" for start in re.findall(r"""["'`]([a-z][a-z-]*-)(?:\$\{|["'] [+~])""", text)}
    made = [one for one in patterns if "*" in one and re.match("[a-z]+-", one)]
    unsaid = [name for name in messages_of("en") if name not in patterns]
    assert [name for name in unsaid if not any(fnmatchcase(name, one) for one in made)] == []


def test_a_further_language_is_a_further_file() -> None:
    french = Language("fr", "language-name = Français\nfound = { VALUE($x) } sur { $n }\n")
    assert french.name == "Français"
    assert french.text(said("found", "{x} of {n}", x="0.5000", n=1234)) == "0,5000 sur 1\u202f234"
    files = {file.name for file in resources.files("krag_eval_report").joinpath("messages").iterdir()}
    assert files == {f"{code}.ftl" for code in languages()}


def test_numbers_and_names_in_each_language() -> None:
    assert {code: language_of(code).figure("1,234.5000") for code in CODES} == {
        "en": "1,234.5000",
        "ko": "1,234.5000",
        "ru": "1\u00a0234,5000",
        "zh": "1,234.5000",
    }
    russian = Language("ru", "a = { $name }: { VALUE($x) }")
    assert russian.message("a", name="v1.5", x="0.5") == "v1.5: 0,5"
    assert russian.message("a", name="{ $x } <b>", x="-.5") == "{ $x } <b>: -,5"
    assert russian.message("a", name="בדיקה", x="-0.5") == "\u2068בדיקה\u2069: -0,5"
    assert russian.text("no message") == "no message"
    assert russian.text(said("unknown", "an unknown {n}", n=1)) == "an unknown 1"


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="language"):
        language_of("kr")


def test_the_script_of_fluent_is_the_published_one() -> None:
    # index.js of @fluent/bundle 0.19.1 of the npm registry, where the integrity of the package is
    # sha512-SWJLZrPamDPsJlFFOW1nkgN0j0rbPbmSdmK0XAoXlyqKieLtMVl4vzng3aR5pwKoUx0scug8+YY2oct3fdfy9A==
    file = resources.files("krag_eval_report.html") / "fluent.js"
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert digest == "08fc26d9b0d7e43c8c96eeb4757a94cc48ce2b4c36b5547ebc415dc7dc94f39c"
    assert file.read_text(encoding="utf-8") in fluent()
