"""What `--help` shows: options in groups and examples, whole words at any width; and what a shell completes."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

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
# What the short help only names, at its end.
_RARE = {
    *("rouge_measure", "containment", "use_stemmer", "raw_text", "embeddings", "embedding_prefix", "tokenizer", "near"),
    *("similarity_threshold", "span_measure", "id_map", "grade_key", "doc_key", "precision_denominator", "gain"),
    *("unjudged", "relevance_level", "exclude_self", "proxy", "margin", "confidence", "n_bootstrap", "probability"),
    *("n_randomisation", "known", "seed", "missing", "min_systems", "near_questions", "outside", "max_calls"),
    *("rows", "separator", "flatten", "encoding", "sheet", "from_format", "max_bad_rows", "allow_repeated_ids", "keep"),
    *("names", "limits", "plain", "title", "plots", "per_query", "journals", "prompts", "min_words", "most_prompts"),
    *("ties", "traces", "repeated", "retries", "retry_errors", "max_error_rate", "concurrency", "timeout", "metadata"),
    *("workers", "output", "e2e_limit"),
}
_MOST_EXPLAINED = 16  # options of a command, all of which its help explains
_COMMANDS = {
    "Look at files": "inspect validate convert reanchor",
    "Ask a retriever": "run bench chunkers demo",
    "Score and explain": "evaluate compare report leaderboard diagnose funnel fuse verify score-logs",
    "Decide": "gate plan",
    "Label and generate": "start label doctor estimate generate view",
    "Send": "langfuse-resend",
}
_GROUP_OF = {name: group for group, names in _GROUPS.items() for name in names.split()}

# By command, from a file with one example per line.
_LINES = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8").splitlines()
EXAMPLES = {name: "\n".join(lines) for name, lines in itertools.groupby(_LINES, lambda line: line.split()[1])}


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

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names in groups, each with what it does."""
        listed = self.list_commands(ctx)
        known = {name for names in _COMMANDS.values() for name in names.split()}
        others = {"From other packages": " ".join(name for name in listed if name not in known)}
        for title, names in (_COMMANDS | others).items():
            if there := [name for name in names.split() if name in listed]:
                with formatter.section(title):
                    # What follows a semicolon or a colon stands in the help of the command.
                    briefly = [(name, re.split("[;:] ", self.summary_of(ctx, name))[0]) for name in there]
                    _write(formatter, [(name, f"{text.removesuffix('.')}.") for name, text in briefly], 19)

    def format_epilog(self, _: Any, formatter: Any) -> None:
        """Say where there is more."""
        formatter.write("\nOptions and examples: krag-eval COMMAND --help\n")


class Command(click.Command):
    """One command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return its parameters, with an option that shows all of them where `--help` does not explain each."""
        params = super().get_params(ctx)
        if not any(_is_rare(param, params) for param in params):
            return params
        return [*params[:-1], printing_option("--help-all", _help_of_all, "Explain all options."), params[-1]]

    def format_arguments(self, ctx: Any, formatter: Any) -> None:
        """Write nothing: `format_options` writes the arguments, too."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the usual options with one sentence each, or with `--help-all` all in groups."""
        params, groups = self.get_params(ctx), {name: list[tuple[str, str]]() for name in ("Arguments", "Options")}
        groups |= {name: [] for name in _GROUPS}
        is_brief = not ctx.meta.get(_ALL) and any(_is_rare(param, params) for param in params)
        n_options = sum(param.param_type_name == "option" for param in params)
        for param in params:
            record = param.get_help_record(ctx)
            if record is None or (_is_rare(param, params) and not ctx.meta.get(_ALL)):
                continue
            is_grouped = ctx.meta.get(_ALL) and n_options >= _FEWEST_TO_GROUP and not param.required
            group = _GROUP_OF.get(param.name, "Options") if is_grouped else "Options"
            if param.param_type_name == "argument":
                groups["Arguments"].append(record)
            else:
                groups[group].append((record[0], _first_sentence(record[1])) if is_brief else record)
        for name in _GROUPS:
            if len(groups[name]) == 1:
                groups["Options"].insert(-1, groups[name].pop())
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    _write(formatter, records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, to be copied into a shell, and the names of the options that are not explained above."""
        super().format_epilog(ctx, formatter)
        if self.name in EXAMPLES:
            with formatter.section("Examples"):
                for line in EXAMPLES[self.name].splitlines():
                    parts = textwrap.wrap(line, formatter.width - 6, break_long_words=False, break_on_hyphens=False)
                    formatter.write("  " + " \\\n      ".join(parts) + "\n")
        params = self.get_params(ctx)
        if ctx.meta.get(_ALL) or not (rare := [param for param in params if _is_rare(param, params)]):
            return
        with formatter.section("More options, explained by --help-all"):
            by_group: dict[str, list[str]] = {}
            for param in rare:
                by_group.setdefault(_GROUP_OF.get(str(param.name), "Other"), []).append(param.opts[-1])
            _write(formatter, [(name, " ".join(names)) for name, names in by_group.items()], 19)


_ALL = "krag_eval.help_all"


def printing_option(name: str, text_of: Callable[[click.Context], str], about: str) -> click.Option:
    """Return an option that prints a text in the place of all else."""

    def print_and_end(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not ctx.resilient_parsing:
            click.echo(text_of(ctx), color=ctx.color)
            ctx.exit()

    return click.Option([name], is_flag=True, is_eager=True, expose_value=False, callback=print_and_end, help=about)


def _help_of_all(ctx: click.Context) -> str:
    ctx.meta[_ALL] = True
    return ctx.get_help()


def _is_rare(param: click.Parameter, params: Sequence[click.Parameter]) -> bool:
    """Whether the short help only names an option of a command that has these."""
    is_of_spans = param.name == "corpus" and any(one.name == "span_measure" for one in params)
    return (param.name in _RARE or is_of_spans) and not param.required and len(params) > _MOST_EXPLAINED


def _first_sentence(text: str) -> str:
    """Return the first sentence of what is said about an option, up to a semicolon, with its default."""
    said, bracket, default = text.partition("  [")
    first = re.split(r"(?<=\.) |; ", said, maxsplit=1)[0]
    return f"{first.removesuffix('.')}.{bracket}{default}"


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
