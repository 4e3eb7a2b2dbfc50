"""The options that set up completion in a shell; what is completed is found by click."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from krag_eval import InvalidInputError
from krag_eval_cli.help import printing_option

if TYPE_CHECKING:
    from click.shell_completion import ShellComplete

COMPLETION = "_KRAG_EVAL_COMPLETE"  # the variable by which a shell asks
_NAMES = {"pwsh": "powershell"}
# By shell: where the script goes, the file of the user that has to know it, and the line for that, below the home.
_PLACES = {
    "bash": (".bash_completions/krag-eval.sh", ".bashrc", "source ~/.bash_completions/krag-eval.sh"),
    "fish": (".config/fish/completions/krag-eval.fish", None, ""),
    "zsh": (".zfunc/_krag-eval", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
}


def completion_options() -> list[click.Option]:
    """Return `--install-completion` and `--show-completion`."""
    about = "Show completion for the current shell, to copy it or change the installation."
    return [
        printing_option("--install-completion", _install, "Install completion for the current shell."),
        printing_option("--show-completion", lambda ctx: _script(ctx, _shell()), about),
    ]


def _install(ctx: click.Context) -> str:
    """Write the script of the shell, and return what to say about it."""
    shell = _shell()
    script = _script(ctx, shell)
    if shell not in _PLACES:
        raise InvalidInputError(
            f"`--install-completion` knows {', '.join(_PLACES)}, and this shell is {shell}. "
            "Put what `--show-completion` prints into its profile."
        )
    place, profile, line = _PLACES[shell]
    path = Path.home() / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script + "\n", encoding="utf-8")
    if profile is not None:
        known = Path.home() / profile
        if not known.is_file() or line not in known.read_text(encoding="utf-8", errors="surrogateescape"):
            with known.open("a", encoding="utf-8") as file:
                file.write(f"\n{line}\n")
    return f"{shell} completion installed in {path}\nCompletion will take effect once you restart the terminal"


def _script(ctx: click.Context, shell: str) -> str:
    found = _class_of(shell)
    if found is None:
        raise InvalidInputError(
            f"The shell {shell!r:.40} is not known. Start this in bash, zsh or fish, or name one in SHELL."
        )
    return found(ctx.command, {}, "krag-eval", COMPLETION).source()


def _class_of(shell: str) -> type[ShellComplete] | None:
    from click.shell_completion import get_completion_class  # only these options need it

    return get_completion_class(shell)


def _shell() -> str:
    """Return the shell that called this, as the system names it; otherwise the one in `SHELL`."""
    parent = Path(f"/proc/{os.getppid()}/comm")
    name = parent.read_text(encoding="utf-8", errors="replace").strip().lstrip("-") if parent.is_file() else ""
    name = _NAMES.get(name, name)
    return name if _class_of(name) is not None else Path(os.environ.get("SHELL", "")).name
