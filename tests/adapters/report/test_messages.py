"""The messages of pages and reports: every language says all of them, with the same arguments and its plural forms."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from babel import Locale
from fluent.syntax import FluentParser
from fluent.syntax import ast as ftl
from fluent.syntax.visitor import Visitor

from krag_eval import InvalidInputError
from krag_eval.toolkit import said
from krag_eval_report.html.page import fluent
from krag_eval_report.languages import Language, language_of, languages

ROOT = Path(__file__).parents[3]
CODES = [*languages()]
FORMS = ("zero", "one", "two", "few", "many", "other")
# Ids that are made of a word and what the code has in a table.
MADE: dict[str, tuple[str, ...]] = {"method": ("id", "text", "containment", "embedding", "span")}


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


def sources() -> Iterator[str]:
    folders = (ROOT / "krag_eval", ROOT / "adapters" / "krag_eval_report")
    for folder in folders:
        for path in folder.rglob("*"):
            if path.suffix in (".py", ".js", ".j2") and path.name != "fluent.js":
                yield path.read_text(encoding="utf-8")


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


def test_every_message_is_said_somewhere() -> None:
    text = "\n".join(sources())
    named = set(re.findall(r"""["'`]([a-z][\w-]*)["'`]""", text))
    made = {f"{word}-{value}" for word, values in MADE.items() for value in values}
    assert messages_of("en").keys() - named - made == {"language-name"} - named


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
