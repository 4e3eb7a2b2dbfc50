"""Find by entry point what stands above or beside: a room never imports what uses it, it asks for it by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from krag_eval._utils.errors import InvalidInputError, KragEvalError
from krag_eval._utils.objects import Printed
from krag_eval._utils.serialization import Tabular
from krag_eval._utils.version import __version__

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from matplotlib.figure import Figure

Group = Literal[
    "console_scripts",
    "krag_eval.commands",
    "krag_eval.formats",
    "krag_eval.labels",
    "krag_eval.models",
    "krag_eval.reports",
    "krag_eval.retrievers",
]


def offered(group: Group) -> dict[str, EntryPoint]:
    """Return what is offered in a group, by name; what krag_eval brings itself goes before what others bring."""
    from importlib.metadata import entry_points  # takes longer than a module of this package

    found = sorted(entry_points(group=group), key=lambda one: one.value.startswith("krag_eval"))
    return {one.name: one for one in found}


def load(group: Group, name: str) -> Any:
    """Return the object that is offered under a name.

    Raises:
        InvalidInputError: Nothing is, or it cannot be imported.
        MissingDependencyError: A package that it needs is not installed.
    """
    cure = f"Install krag-eval {__version__} again: pip install --force-reinstall krag-eval."
    entry = offered(group).get(name)
    if entry is None:
        raise InvalidInputError(
            f"The installation of krag-eval is incomplete: {name!r} of {group!r} is missing. {cure}"
        )
    if entry.dist is not None and entry.value.startswith("krag_eval") and entry.dist.version != __version__:
        raise InvalidInputError(
            f"{name!r} comes from {entry.dist.name} {entry.dist.version}, and this is krag-eval {__version__}. {cure}"
        )
    try:
        return entry.load()
    except KragEvalError:
        raise
    except (Exception, SystemExit) as error:
        raise InvalidInputError(
            f"{name!r} of {group!r} ({entry.value}) cannot be loaded: {type(error).__name__}: {error}. {cure}"
        ) from error


class ShownInNotebooks:
    """Base class of what a notebook shows as tables."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = load("krag_eval.reports", "notebook")(self)
        return html


class Pictured:
    """Base class of what has a picture."""

    __slots__ = ()

    def plot(self, kind: str | None = None, **options: Any) -> Figure:
        """Return it as a figure of matplotlib, whose `alternative` says what it shows. Needs the extra `report`.

        Args:
            kind: Which picture, where there are several: of a result `"over_k"`, `"hits"`, `"spread"`, `"causes"`,
                `"over_size"`, `"over_searches"` or `"sweep"`; of a comparison `"differences"`, `"changes"`, or one of
                the first four. By default the first for which there are values.
            **options: Of a leaderboard `cost`, such as `{"bm25": 0.012, "dense": 0.045}`, and its `unit`: the runs that
                no other one beats in both the first value and the cost are then marked.

        Raises:
            InvalidInputError: There is no such picture, or no value is defined.
            MissingDependencyError: matplotlib is not installed.
        """
        figure: Figure = load("krag_eval.reports", "plot")(self, kind, **options)
        return figure


class Presented(Printed, Pictured, ShownInNotebooks, Tabular):
    """Base class of results that print as text, have a picture, and are tables in notebooks and other libraries."""

    __slots__ = ()
