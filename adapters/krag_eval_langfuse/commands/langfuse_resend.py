"""`krag-eval langfuse-resend`: send the scores that did not reach Langfuse."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from krag_eval_cli.options import Declared
from krag_eval_cli.output import console, print_first, print_indented, put_json
from krag_eval_langfuse.outbox import Resent, resend_outbox
from krag_eval_langfuse.scores import Score


def langfuse_resend(
    outbox: Path,
    *,
    timeout: Annotated[float, Declared(least=0)] = 60.0,
    show: Annotated[int, Declared(least=0)] = 10,
    json_out: Path | None = None,
) -> None:
    """Send the scores that did not reach Langfuse. Exit code 0: all arrived, 1: some did not, 2: invalid input.

    The address and the keys come from the environment: LANGFUSE_BASE_URL, LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY.

    Parameters:
        outbox (OUTBOX): The file of delivery="outbox".
        timeout (SECONDS): Give up if Langfuse does not answer for this many seconds.
        show: Rejected scores to show; 0 shows all.
    """
    resent = resend_outbox(outbox, timeout=timeout)
    if not put_json(json_out, resent.to_dict):
        _print(resent, show)
    sys.exit(0 if resent.ok else 1)


def _print(resent: Resent, show: int) -> None:
    title = f"{resent.path}: {resent.sent:,} sent, {resent.waiting:,} waiting, {len(resent.rejected):,} rejected"
    if resent.damage is not None:
        title += f", {len(resent.damaged):,} damaged"
    console().print(title, soft_wrap=True)
    if resent.waiting:
        print_indented(resent.describe_waiting(), 0)
    if resent.damage is not None:
        print_indented(resent.describe_damage(), 0)
        print_first(resent.damaged, show, lambda name: print_indented(f"damaged: {name}", 2))
    print_first(resent.rejected, show, _print_rejected)


def _print_rejected(rejected: tuple[Score, str]) -> None:
    score, reason = rejected
    place = ", ".join(f"{name} {value}" for name, value in score.target.to_dict().items())
    print_indented(f"rejected: {score.name} = {score.value} of {place} ({score.id})", 2)
    print_indented(reason, 4, "dim")
