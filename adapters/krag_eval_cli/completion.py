"""The options that set up completion in a shell; what is completed is found by click."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from krag_eval import InvalidInputError

_NAMES = {"pwsh": "powershell"}
# By shell: where the script goes, the file of the user that has to know it, and the lines for that, below the home.
_PLACES = {
    "bash": (".bash_completions/krag-eval.sh", ".bashrc", ["source ~/.bash_completions/krag-eval.sh"]),
    "fish": (".config/fish/completions/krag-eval.fish", None, []),
    "zsh": (".zfunc/_krag-eval", ".zshrc", ["fpath+=~/.zfunc; autoload -Uz compinit; compinit"]),
}


def completion_options() -> list[click.Option]:
    """Return `--install-completion` and `--show-completion`."""
    about = {
        "--install-completion": (_install, "Install completion for the current shell."),
        "--show-completion": (
            _show,
            "Show completion for the current shell, to copy it or change the installation.",
        ),
    }
    return [
        click.Option([name], is_flag=True, expose_value=False, is_eager=True, callback=callback, help=text)
        for name, (callback, text) in about.items()
    ]


def _show(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(_script(ctx, _shell()))
        ctx.exit()


def _install(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    shell = _shell()
    script = _script(ctx, shell)
    if shell not in _PLACES:
        raise InvalidInputError(
            f"`--install-completion` knows {', '.join(_PLACES)}, and this shell is {shell}. "
            "Put what `--show-completion` prints into its profile."
        )
    place, profile, lines = _PLACES[shell]
    path = Path.home() / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script + "\n", encoding="utf-8")
    if profile is not None:
        known = Path.home() / profile
        text = known.read_text(encoding="utf-8", errors="surrogateescape") if known.is_file() else ""
        if missing := [line for line in lines if line not in text]:
            with known.open("a", encoding="utf-8") as file:
                file.write("\n" + "\n".join(missing) + "\n")
    click.echo(f"{shell} completion installed in {path}\nCompletion will take effect once you restart the terminal")
    ctx.exit()


def _script(ctx: click.Context, shell: str) -> str:
    found = _class_of(shell)
    if found is None:
        raise InvalidInputError(
            f"The shell {shell!r:.40} is not known. Start this in bash, zsh or fish, or name one in SHELL."
        )
    return str(found(ctx.command, {}, "krag-eval", "_KRAG_EVAL_COMPLETE").source())


def _class_of(shell: str) -> Any:
    from click.shell_completion import get_completion_class  # only these options need it

    return get_completion_class(shell)


def _shell() -> str:
    """Return the shell that called this, as the system names it; otherwise the one in `SHELL`."""
    parent = Path(f"/proc/{os.getppid()}/comm")
    name = parent.read_text(encoding="utf-8", errors="replace").strip().lstrip("-") if parent.is_file() else ""
    name = _NAMES.get(name, name)
    return name if _class_of(name) is not None else Path(os.environ.get("SHELL", "")).name
