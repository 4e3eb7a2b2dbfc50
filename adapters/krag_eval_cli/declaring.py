"""Make the command of a function: its signature says which options there are, its docstring what each of them is.

A parameter of a command is an argument if it is positional, and an option otherwise. The section `Parameters:` of the
docstring says what it is, with its names and metavar in parentheses if they are not the usual ones; what several
commands share stands in the docstring of `options.py`.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import gc
import inspect
import operator
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import click

from krag_eval import set_limits
from krag_eval_cli import options, typed
from krag_eval_cli.files import dashes
from krag_eval_cli.help import Command, one_of_each
from krag_eval_cli.signals import interruptible

_SECTION = re.compile(r"\n\nParameters:\n(.*?)\s*\Z", re.DOTALL)
_PARAMETER = re.compile(r"^    (\w+)(?: \(([^)]*)\))?: (.*(?:\n {8}.*)*)", re.MULTILINE)
_FILLED = re.compile(r"{(\w+)}")  # the name of what an option can be, in its text
_TYPES: Mapping[object, click.ParamType[Any]] = {
    bool: click.BOOL,
    float: click.FLOAT,
    int: click.INT,
    str: click.STRING,
    Path: click.Path(path_type=Path),
}
_METAVARS: Mapping[object, str] = {float: "NUMBER", int: "N", str: "TEXT", Path: "FILE"}


class Option(click.Option):
    """An option whose help is completed when it is shown: the values that it names take time to import."""

    def _filled(self) -> str:
        return _FILLED.sub(_listed, self._text)

    def _fill_later(self, text: str) -> None:
        self._text = text

    help = property(_filled, _fill_later)


class Argument(click.Argument):
    """An argument with a text in the help."""

    def __init__(self, names: Sequence[str], *, text: str, **settings: Any) -> None:
        super().__init__(names, **settings)
        self.help = text  # that of click stands in another place, and only newer ones have it

    def make_metavar(self, *_: Any) -> str:
        """Return what stands in the usage: in brackets, if it may be left out."""
        return str(self.metavar) if self.required else f"[{self.metavar}]"

    def get_error_hint(self, *_: Any) -> str:
        """Return what messages call it."""
        return f"'{self.metavar}'"

    def get_help_record(self, _: click.Context) -> tuple[str, str]:
        """Return the metavar and the text."""
        return str(self.metavar), str(self.help)


def command_of(name: str, function: Callable[..., None]) -> Command:
    """Return the command that calls a function, with one option for each field of the dataclasses in its signature.

    A parameter `scoring: ScoringOptions` stands for the fields of `ScoringOptions`, and gets an instance that holds
    their values. What is passed on as `**passed: Annotated[Any, other, "margin seed"]` has the types and the defaults
    of that other function.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {one: hint for one, hint in hints.items() if dataclasses.is_dataclass(hint)}
    described, signature = _described(options) | _described(function), inspect.signature(function).parameters
    params: list[click.Parameter] = []
    for one, parameter in sorted(signature.items(), key=lambda item: item[0] in groups):
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            _, other, names = get_args(hints[one])
            params += _options_of(other, names.split(), described)
        elif one in groups:
            about = functools.reduce(operator.or_, map(_described, reversed(groups[one].__mro__)), described)
            params += _options_of(groups[one], inspect.signature(groups[one]).parameters, about)
        else:
            make = _option if parameter.kind is inspect.Parameter.KEYWORD_ONLY else _argument
            params.append(make(one, hints[one], parameter.default, *described[one]))
    about_limits = "Allow larger input, such as row=1GB; a limit is {limits}."
    params.append(_option("limits", str | None, None, "NAME=SIZE,...", about_limits))
    about_plain = "Print one fact per line, without colour, tables and progress bars."
    params.append(_option("plain", bool, False, "", about_plain))
    shown = {str(one.name): _shown(one) for one in params}
    shown |= {ours: shown[one] for one, ours in _ARGUMENTS.items() if one in shown}
    several = [str(one.name) for one in params if one.multiple or one.nargs < 0]

    def call(**given: Any) -> None:
        from krag_eval_cli.output import set_plain  # with rich

        typed.options.clear()
        typed.options.update(shown)
        pairs = (part.partition("=")[::2] for part in (given.pop("limits") or "").split(",") if part.strip())
        set_plain(given.pop("plain"))
        set_limits(**{limit.strip(): size for limit, size in pairs})
        given = {one: list(value) or None if one in several else value for one, value in given.items()}
        given = {one: given[one] for one in shown if one in given}  # in the order of the signature, not as typed
        for one, group in groups.items():
            given[one] = group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
        if not gc.isenabled():  # `__main__` switched it off for the imports, all of which stay
            gc.freeze()
            gc.enable()
        with interruptible(), dashes(function.__name__, given):  # what is imported before ends at once
            function(**given)

    return Command(name, params=params, callback=call, help=_SECTION.sub("", _docstring(function)))


# The arguments of the library that are called otherwise here.
_ARGUMENTS = {"match": "match_method", "raw_text": "normalize", "labels": "people"}


def _options_of(other: Any, names: Iterable[str], about: Mapping[str, tuple[str, str]]) -> list[click.Option]:
    """Return options with the types and the defaults of these parameters of a function or class."""
    hints, its = get_type_hints(other, include_extras=True), inspect.signature(other).parameters
    return [_option(name, hints[name], its[name].default, *about[name]) for name in names]


def _option(name: str, hint: Any, default: Any, declared: str, text: str) -> click.Option:
    """Return an option with the names and the metavar that are declared, and its help."""
    names, metavar = _names_and_metavar(declared)
    own, kind, is_several = _types_in(hint)
    is_flag = kind is bool
    kind = kind if kind in _TYPES else str  # in Python it may be an object, too
    type_ = _parse_key if name in ("id_key", "doc_key") else _TYPES[kind]
    if own.least is not None:
        type_ = click.IntRange(min=int(own.least)) if kind is int else click.FloatRange(min=own.least)
    known = name in options.VALUES
    return Option(
        [name, *(names or (f"--{name.replace('_', '-')}",))],
        type=None if is_flag else type_,
        **({"required": True} if default is inspect.Parameter.empty else {"default": default}),
        is_flag=is_flag,
        multiple=is_several,
        metavar=None if is_flag else metavar or ("NAME" if known else _METAVARS[kind]),
        help=text,
        show_default=own.default or not (default is False or default == "" or is_several),
        shell_complete=one_of_each(functools.partial(options.values_of, name)) if known else None,
    )


def _argument(name: str, hint: Any, default: Any, declared: str, text: str) -> click.Argument:
    """Return an argument with the metavar that is declared, and its help."""
    _, kind, is_several = _types_in(hint)
    return Argument(
        [name],
        type=_TYPES[kind],
        required=default is inspect.Parameter.empty,
        nargs=-1 if is_several else 1,
        metavar=_names_and_metavar(declared)[1] or name.upper(),
        text=text,
    )


def _names_and_metavar(declared: str) -> tuple[list[str], str | None]:
    parts = declared.split()
    return [one for one in parts if one[0] == "-"], " ".join(one for one in parts if one[0] != "-") or None


def _types_in(hint: Any) -> tuple[options.Declared, Any, bool]:
    """Return what an annotation declares, the type of one value, and whether there may be several values."""
    own = options.Declared()
    if get_origin(hint) is Annotated:
        hint, own = get_args(hint)
    if isinstance(hint, types.UnionType):
        hint = next(one for one in get_args(hint) if one is not types.NoneType)
    return (own, get_args(hint)[0], True) if get_origin(hint) is list else (own, hint, False)


def _shown(parameter: click.Parameter) -> str:
    """Return what messages call a parameter: `--match`, `EVALSET`; of --resume/--no-resume the first."""
    if isinstance(parameter, click.Argument):
        return parameter.human_readable_name
    return next(one for one in parameter.opts if one.startswith("--"))


def _parse_key(text: Any) -> Any:
    """Return `source,page` as two keys."""
    keys = tuple(part.strip() for part in text.split(","))
    return keys if len(keys) > 1 and all(keys) else text


def _described(owner: object) -> dict[str, tuple[str, str]]:
    """Return what a docstring says about each parameter: what is in parentheses, and the text."""
    section = _SECTION.search(_docstring(owner))
    found = _PARAMETER.findall(section[1]) if section else []
    return {name: (declared, " ".join(text.split())) for name, declared, text in found}


def _listed(table: re.Match[str]) -> str:
    *names, last = options.values_of(table[1])
    return f"{', '.join(names)} or {last}"


def _docstring(owner: Any) -> str:
    """Return the docstring, from the source if Python runs without docstrings (-OO)."""
    if sys.flags.optimize < 2 or owner is object:
        return inspect.cleandoc(owner.__doc__ or "")
    tree = ast.parse(inspect.getsource(owner))
    return ast.get_docstring(tree if inspect.ismodule(owner) else tree.body[0]) or ""  # type: ignore[arg-type]
