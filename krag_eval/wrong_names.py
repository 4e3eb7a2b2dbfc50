"""Wrong names of arguments and attributes, answered with the right ones."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from krag_eval.errors import UnknownArgumentError

Told = TypeVar("Told", bound=Callable[..., object])


class TellsAttributes:
    """An object that says of an attribute which does not exist what to write instead.

    It is an AttributeError as ever, so that `hasattr`, `copy` and `pickle` see no difference; and what a property
    raises comes through as it is.
    """

    __slots__ = ()

    # How the value of a key is asked for, where there are keys.
    _value_of: ClassVar[str] = ""

    if not TYPE_CHECKING:  # to a type checker every attribute would be there

        def __getattr__(self, name: str) -> None:
            own = type(self)
            if name.startswith("_") or hasattr(own, name) or name in getattr(own, "__dataclass_fields__", ()):
                return object.__getattribute__(self, name)  # raises as if this method were not there
            from krag_eval.attribute_names import instead_of  # only a mistake needs the table

            told = f"{own.__name__!r} object has no attribute {name!r}{instead_of(self, name)}"
            raise AttributeError(told, name=name, obj=self)


def tell_names(told: Told) -> Told:
    """Let a call with an argument that does not exist say what it is called here.

    Before the call, so that nothing is done yet and no name is passed over. Signature, documentation and type stay
    those of the function, and an async function stays one.

    Args:
        told: A function, or a class: its constructor and its own public methods.
    """
    if not inspect.isclass(told):
        return cast(Told, _telling(told))
    for name, member in list(vars(told).items()):
        if name == "__init__" or not name.startswith("_"):
            if inspect.isfunction(member):
                setattr(told, name, _telling(member))
            elif isinstance(member, classmethod):
                setattr(told, name, classmethod(_telling(member.__func__)))
    return told


def _telling(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        _takes(function).check(args, kwargs)
        return function(*args, **kwargs)

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        _takes(function).check(args, kwargs)
        return await function(*args, **kwargs)

    return awaited if inspect.iscoroutinefunction(function) else called


@dataclass(frozen=True, slots=True)
class _Takes:
    """What a function takes.

    Attributes:
        called: The name of the function, or of the class that it makes.
        by_place: The arguments that need no name, `self` among them.
        further: The name of those beyond, where there may be any number.
        by_name: The arguments that have a name, those of an unpacked TypedDict among them.
        needed: Those of them without a default.
        passes_on: Whether names beyond these are passed on, and checked where they are read.
    """

    called: str
    by_place: tuple[str, ...]
    further: str | None
    by_name: frozenset[str]
    needed: frozenset[str]
    passes_on: bool
    listed: tuple[str, ...]

    def check(self, args: tuple[object, ...], given: Mapping[str, object]) -> None:
        """See that the call has no argument that there is not.

        Raises:
            UnknownArgumentError: It has; the message says what it is called here.
        """
        if not self.by_name.issuperset(given):
            from krag_eval.argument_names import hint_for, is_meant  # only a mistake needs the table

            for name in given:
                if name not in self.by_name and (
                    not self.passes_on or is_meant(name, self.by_name - given.keys(), self.needed)
                ):
                    hint = hint_for(name, [*self.listed, *([self.further] if self.further else [])])
                    raise UnknownArgumentError(f"`{self.called}` has no argument {name!r}.{hint} {self._list()}")
        if len(args) > len(self.by_place) and self.further is None:
            places = [name for name in self.by_place if name != "self"]
            rest = [name for name in self.listed if name not in places]
            by_name = f" Give what follows by its name, such as {rest[0]}=..." if rest else ""
            raise UnknownArgumentError(
                f"`{self.called}` takes {len(places)} positional arguments at most ({', '.join(places)}), got "
                f"{len(args) - len(self.by_place) + len(places)}.{by_name} {self._list()}"
            )

    def _list(self) -> str:
        more = ", and the scoring settings of `evaluate`" if self.passes_on else ""
        return f"It takes: {', '.join(self.listed)}{more}."


@functools.cache
def _takes(function: Callable[..., Any]) -> _Takes:
    parameters = inspect.signature(function).parameters.values()
    listed = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    passes_on = False
    for rest in (p for p in parameters if p.kind == p.VAR_KEYWORD):
        unpacked = re.fullmatch(r"Unpack\[(\w+)\]", str(rest.annotation))
        named = function.__globals__.get(unpacked[1]) if unpacked else None
        passes_on = named is None
        listed += () if named is None else named.__annotations__
    return _Takes(
        called=function.__qualname__.removesuffix(".__init__"),
        by_place=tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)),
        further=next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), None),
        by_name=frozenset(listed),
        needed=frozenset(p.name for p in parameters if p.default is p.empty and p.name in listed),
        passes_on=passes_on,
        listed=tuple(dict.fromkeys(name for name in listed if name not in ("self", "cls"))),
    )
