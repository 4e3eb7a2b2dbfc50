"""Finds what a reader of a message would copy, and the cases that copy it out of real messages and use it."""

from __future__ import annotations

import ast
import re
import shlex
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import krag_eval
from krag_eval import KragEvalError, KragEvalWarning
from tests.support.command_line import Outcome, Runner
from tests.support.public_names import PUBLIC

ROOT = Path(__file__).parents[2]
# Those whose messages are copied into calls without a framework.
_WITHOUT = (
    *("answers", "chunkers", "cli", "formats", "labels", "live"),
    *("llm", "monitor", "pytest", "report", "scale", "verify"),
)
FOLDERS = ("krag_eval", *(f"adapters/krag_eval_{name}" for name in _WITHOUT))
HOLE = "\0"  # stands for what an f-string fills in

_VALUE = rf"(?:'[^']*'|\"[^\"]*\"|\([^)]*\)|\[[^]]*\]+|\{{[^}}]*\}}|[\w{HOLE}.]*[\w{HOLE}](?:\([^)]*\))?|\.\.\.)"
_COPIED = re.compile(
    "|".join(
        (
            rf"(?<![\w.{HOLE}-])[a-z_]\w*={_VALUE}",  # force=True, level='document', columns={...}
            rf"krag-eval (?!that|of)[a-z{HOLE}][\w-]*(?: (?:--)?[A-Z{HOLE}][\w{HOLE}]*)*",  # krag-eval evaluate SET RUN
            r"(?<![\w-])--[a-z][a-z-]*",
            r'pip install "[^"]*"',
            rf"`[a-z{HOLE}][\w.{HOLE}]*(?:=(?:\[\.\.\.\])?|\([^`]*\))`",  # `read_run(path)`, `gold=`
            rf"(?<![\w`.{HOLE}])[a-z]\w*(?:\.\w+)*\([\[a-zA-Z{HOLE}'\"](?:[^()]|\([^()]*\))*\)",  # zip(gold, retrieved)
            r"\[\[\.\.\.\]\]|\{\"id\": \.\.\.\}",
            rf"(?:[Pp]ass|[Gg]ive|[Uu]se|[Cc]all|[Ll]eave|[Oo]mit|with|as|by) `[\w.{HOLE}]+`",  # call `evaluate_ids`
        )
    )
)
# What a sentence that suggests something says; without one of these, an argument is what was given or is the subject.
_ADVISES = re.compile(
    r"\b(?:add|allow|become|call|choose|define|for example|gives?n?|install|leave|make|match|name|omit|or|overwrite|"
    r"pass|read|replace|resume|run|scores?d?|send|shows?|store|such as|use|wrap|writes?|written)\b",
    re.IGNORECASE,
)
_END = re.compile(r"[.;?] |\n")
_NOT_PROSE = re.compile(r"^\s*(?:SELECT|UPDATE|PRAGMA|INSERT|CREATE|DELETE)\b|[<\[]/?[a-z]+ |</|<\?|\(\?[:!<]|\\s")


# What is Python and no shell: a value as Python writes it, a call, a list of lists, an expression.
_PYTHON = re.compile(
    r"\b[a-z_]+=(?:True|False|None|['\"({\[])|\b(?:True|False|None(?! of)|lambda|import)\b|\[\[|\bid\.[a-z]+\(|"
    r"(?<!\()\b[a-z]\w*\((?!s\))\[?[a-z_]"
)
_NAMED = re.compile(r"`([a-z_]\w*)`|(?<![\w-])([a-z_]+)=(?!value)")
_PUBLIC = {name for name in PUBLIC if "_" in name.strip("_") and name.islower()}


def python_in(message: str, names: Collection[str]) -> list[str]:
    """Return what a message of the command line says in Python.

    Args:
        message: The message.
        names: The Python names of what are options of the command.
    """
    named = [found[1] or found[2] for found in _NAMED.finditer(message)]
    known = [name for name in named if name in names or name in _PUBLIC]
    return [*known, *(found[0] for found in _PYTHON.finditer(message))]


class Suggestion(NamedTuple):
    """A piece of a message that a reader would copy."""

    place: str
    message: str
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.message[self.start : self.end].replace(HOLE, "{}")

    def is_in(self, message: str, start: int, end: int) -> bool:
        """Tell whether a real message has this sentence, and what was copied from it touches this piece."""
        if max(self.message.split(HOLE), key=len).strip() not in message:
            return False
        pieces = (self.message[: self.start], self.message[self.start : self.end], self.message[self.end :])
        before, own, after = (re.escape(piece.strip(" ")).replace(HOLE, ".*?") for piece in pieces)
        found = re.search(rf"{before} ?({own}) ?{after}", message, re.DOTALL)
        return found is not None and found.start(1) < end and found.end(1) > start


def suggestions_of(folder: str) -> list[Suggestion]:
    """Return every suggestion in the messages of a folder of the repository, in the order of its files."""
    files = sorted((ROOT / folder).rglob("*.py"))
    return [one for path in files for one in suggestions_in(path.read_text("utf-8"), str(path.relative_to(ROOT)))]


def suggestions_in(source: str, name: str) -> Iterator[Suggestion]:
    """Yield every suggestion in the strings of a module that are sentences, without docstrings and help texts."""
    for line, text in sorted(_sentences(ast.parse(source))):
        for found in _COPIED.finditer(text):
            begin = max((end.end() for end in _END.finditer(text, 0, found.start())), default=0)
            stop = _END.search(text, found.end())
            if found.start() <= 1 and found[0].startswith("--"):
                continue  # the option that is wrong
            if found[0].startswith(("--", "krag-eval ")) or _ADVISES.search(text[begin : stop.end() if stop else None]):
                yield Suggestion(f"{name}:{line}", text, *found.span())


def _sentences(tree: ast.Module) -> Iterator[tuple[int, str]]:
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            skipped.update(map(id, ast.iter_child_nodes(node)))
        elif isinstance(node, ast.Expr) or (isinstance(node, ast.keyword) and node.arg in ("help", "epilog")):
            if isinstance(node.value, ast.Constant | ast.JoinedStr):
                skipped.add(id(node.value))
        elif parts := _parts(node):
            skipped.update(map(id, parts))
            yield node.lineno, "".join(map(_part, parts))  # type: ignore[attr-defined]
        elif isinstance(node, ast.JoinedStr | ast.Constant):
            skipped.update(map(id, ast.iter_child_nodes(node)))
            text = _flat(node)
            if " " in text.strip() and not _NOT_PROSE.search(text):
                yield node.lineno, text


def _parts(node: ast.AST) -> list[ast.expr]:
    """Return the parts of a message that names an argument: of a call, or of a tuple or list of parts."""
    if isinstance(node, ast.Call):
        parts = node.args[3:] if ast.unparse(node.func) == "refuse" else node.args
    else:
        parts = node.elts if isinstance(node, ast.Tuple | ast.List) else []
    return parts if any(map(_is_argument, parts)) else []


def _is_argument(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Argument", ".argument"))


def _part(node: ast.expr) -> str:
    if isinstance(node, ast.Call) and _is_argument(node):
        name, *values = (repr(one.value) if isinstance(one, ast.Constant) else HOLE for one in node.args)
        if len(values) == 2:
            return ast.literal_eval(values[1]) if values[1] != HOLE else HOLE
        return f"{name[1:-1]}={values[0]}" if values else f"`{name[1:-1]}`"
    return _flat(node) if isinstance(node, ast.JoinedStr | ast.Constant) else HOLE


def _flat(node: ast.JoinedStr | ast.Constant) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(str(part.value) if isinstance(part, ast.Constant) else HOLE for part in node.values)


_NONE = object()


@dataclass(frozen=True)
class Case:
    """A mistake, what a reader copies from the message about it, and what has to come of that.

    Attributes:
        wrong: The call that is a mistake, made with `given`; or a command line, or several joined by `&&`.
        taken: A regular expression for what is copied.
        given: Arguments of the wrong call that what is copied may replace, or that it says to leave out.
        value: What the reader puts where the message leaves the value open: `id_key`, `embeddings=...`, `--out`; for a
            value on the command line its option; empty if it leaves an option out.
        fills: What the reader puts in place of words such as SET in a command.
        then: What is done with the copied text, unless it is an argument, an option or a command.
        holds: Whether the outcome is what the message promised.
        is_slow: Whether to do what is copied takes more than a moment.
    """

    wrong: Callable[..., object] | str
    taken: str
    given: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    value: object = _NONE
    fills: Mapping[str, str] = field(default_factory=dict)
    then: Callable[[str], object] | None = None
    holds: Callable[[Any], object] = lambda outcome: True
    is_slow: bool = False

    def message(self, command: Runner) -> str:
        """Make the mistake, and return what is said of it: the error, or else the warnings and what was returned."""
        if isinstance(self.wrong, str):
            outcome = [command(line) for line in self.wrong.split(" && ")][-1]
            return " ".join((outcome.err + outcome.out).split())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                said = self.wrong(**self.given)
            except KragEvalError as error:
                return str(error)
        return "\n".join([*(str(one.message) for one in caught), *([said] if isinstance(said, str) else [])])

    def copied(self, message: str) -> re.Match[str]:
        """Return what is copied from a message."""
        found = re.search(self.taken, message)
        assert found is not None, f"{self.taken!r} is not in what was said of {self.wrong}: {message}"
        return found

    def apply(self, text: str, command: Runner) -> object:
        """Do what the copied text says, and return the outcome; no warning may be left."""
        if self.then is not None:
            return self.then(text)
        if isinstance(self.wrong, str) or text.startswith("krag-eval "):
            return self._run(text, command)
        return self.wrong(**self._arguments(text))

    def _arguments(self, text: str) -> dict[str, Any]:
        bare = text.rpartition(" `")[2].strip("`") if "`" in text else text
        name, equals, value = bare.partition("=")
        if equals and value and "..." not in value:
            return {**self.given, **eval(f"dict({bare})", dict(vars(krag_eval)))}
        if self.value is _NONE:
            assert name in self.given, f"{text!r} has no value, and was not given"
            return {key: one for key, one in self.given.items() if key != name}
        return {**self.given, name: self.value}

    def _run(self, text: str, command: Runner) -> Outcome:
        for word, own in self.fills.items():
            text = text.replace(word, own)
        if text.startswith("krag-eval "):
            line = text.removeprefix("krag-eval ")
        else:
            option, *values = shlex.split(text) if text.startswith("-") else (str(self.value), text)
            values = values or ([str(self.value)] if self.value is not _NONE else [])
            words = shlex.split(str(self.wrong).rpartition(" && ")[2])
            if option in words:
                place = words.index(option)
                del words[place : place + 1 + (values != [])]
            line = shlex.join(words if values == [""] else [*words, option, *values])
        outcome = command(line)
        assert outcome.code != 2, outcome
        return outcome


def check_case(case: Case, message: str, command: Runner) -> None:
    """Copy what the message suggests, use it, and look whether it works."""
    text = case.copied(message)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", KragEvalWarning)
        outcome = case.apply(text, command)
    assert case.holds(outcome), f"{text!r} gave {outcome!r}"


def uncovered(suggestions: Iterable[Suggestion], said: Iterable[tuple[Case, str]], allowed: Iterable[str]) -> list[str]:
    """Return the suggestions that no case copies out of its message and no allowed piece of text names."""
    copied = [(message, *case.copied(message).span()) for case, message in said]
    return [
        f"{one.place}: {one.text!r} in {one.message.replace(HOLE, '{}')!r}"
        for one in suggestions
        if not any(piece in one.message.replace(HOLE, "{}") for piece in allowed)
        and not any(one.is_in(*place) for place in copied)
    ]
