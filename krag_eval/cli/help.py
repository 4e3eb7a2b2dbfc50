"""What `--help` shows: options in groups and examples, whole words at any width; and what a shell completes."""

from __future__ import annotations

import contextlib
import itertools
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from krag_eval._utils.errors import did_you_mean
from krag_eval._utils.formatting import escape_controls
from krag_eval._utils.signals import exit_codes

_FEWEST_TO_GROUP = 10
_GROUPS = {
    "Matching": "match threshold rouge_measure containment tokenizer use_stemmer raw_text embeddings embedding_prefix "
    "similarity_threshold span_measure id_key id_map near",
    "Scoring": "k metrics level doc_key grade_key precision_denominator gain unjudged relevance_level exclude_self "
    "proxy missing",
    "Statistics": "baseline by cluster margin probability known confidence intervals n_bootstrap n_randomisation seed",
    "Calls": "concurrency timeout retries max_error_rate most_prompts workers",
    "Reruns": "resume fresh retry_errors journal journals",
    "Other programs": "export suggest import_from",
    "Input files": "from_format kind columns encoding sheet queries max_bad_rows allow_repeated_ids",
    "Output": "out output badge_out badge_run to_format format json_out per_query markdown_out plots title force show "
    "queue failed worst output_format examples keep names",
}
_GROUP_OF = {name: group for group, names in _GROUPS.items() for name in names.split()}

# By command, from a file with one example per line.
_LINES = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8").splitlines()
EXAMPLES = {name: "\n".join(lines) for name, lines in itertools.groupby(_LINES, lambda line: line.split()[1])}


@contextlib.contextmanager
def _endings() -> Iterator[None]:
    """Give what ends a command exit codes of its own; an error that quotes an argument is printed without harm."""
    with exit_codes():
        try:
            yield
        except Exception as error:
            if isinstance(error, click.NoSuchOption):  # of several that are similar, click names them all
                named, meant = error.option_name, did_you_mean(error.option_name, error.possibilities or ())
                raise click.UsageError(escape_controls(f"No such option {named!r}.{meant}"), error.ctx) from None
            if isinstance(message := getattr(error, "message", None), str):
                error.message = escape_controls(message)  # type: ignore[attr-defined]
            raise


class Group(click.Group):
    """The list of the commands."""

    def summary_of(self, ctx: Any, name: str) -> str:
        """Return the first sentence about a command."""
        raise NotImplementedError

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the commands and options that begin so; click would import each command for its text."""
        from click.shell_completion import CompletionItem

        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=self.summary_of(ctx, name)) for name in names]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    # Here, before click gives what ends a command exit codes of its own.
    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the arguments."""
        with _endings():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _endings():
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names with their first sentences, which click would cut off."""
        with formatter.section("Commands"):
            _write(formatter, [(name, self.summary_of(ctx, name)) for name in self.list_commands(ctx)], 19)


class Command(click.Command):
    """One command."""

    def format_arguments(self, ctx: Any, formatter: Any) -> None:
        """Write nothing: `format_options` writes the arguments, too."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, the options in groups if there are many."""
        shown = [(param, record) for param in self.get_params(ctx) if (record := param.get_help_record(ctx))]
        n_options = sum(param.param_type_name == "option" for param, _ in shown)
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], **{name: [] for name in _GROUPS}}
        for param, record in shown:
            is_grouped = n_options >= _FEWEST_TO_GROUP and not param.required
            group = _GROUP_OF.get(param.name, "Options") if is_grouped else "Options"
            groups["Arguments" if param.param_type_name == "argument" else group].append(record)
        for name in _GROUPS:
            if len(groups[name]) == 1:
                groups["Options"].insert(-1, groups[name].pop())
        # An option `--help` alone comes last.
        for name, records in sorted(groups.items(), key=lambda group: (group[0] == "Options") * (len(group[1]) == 1)):
            if records:
                with formatter.section(name):
                    _write(formatter, records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, to be copied into a shell."""
        super().format_epilog(ctx, formatter)
        if self.name in EXAMPLES:
            with formatter.section("Examples"):
                for line in EXAMPLES[self.name].splitlines():
                    parts = textwrap.wrap(line, formatter.width - 6, break_long_words=False, break_on_hyphens=False)
                    formatter.write("  " + " \\\n      ".join(parts) + "\n")


def _write(formatter: Any, records: Iterable[tuple[str, str]], place: int | None = None) -> None:
    """Write names and their texts side by side, and break no word: click breaks at the hyphens of options."""
    place = place or (32 if formatter.width >= 76 else 24)
    for names, text in records:
        lines = textwrap.wrap(text, formatter.width - place, break_long_words=False, break_on_hyphens=False)
        first = f"  {names}"
        if len(first) > place - 2 or not lines:
            formatter.write(first + "\n")
        else:
            formatter.write(f"{first:{place}}{lines.pop(0)}\n")
        formatter.write("".join(f"{'':{place}}{line}\n" for line in lines))


def one_of_each(names: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """Return what completes the last of several names, separated by commas, in a shell; names are asked for then."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
        before, comma, last = incomplete.rpartition(",")
        return [before + comma + name for name in names() if name.startswith(last)]

    return complete
