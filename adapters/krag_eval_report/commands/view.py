"""`krag-eval view`: look at the reports and the runs of a folder in the browser, and label documents."""

from __future__ import annotations

import secrets
import socket
import webbrowser
from pathlib import Path

from krag_eval import InvalidInputError
from krag_eval.toolkit import load, needing, number_of, refuse, start_thread
from krag_eval_cli.output import console, notes
from krag_eval_report.languages import language_of
from krag_eval_report.view import Folder, view_app


def view(
    folder: Path,
    *,
    port: int = 0,
    no_browser: bool = False,
    language: str | None = None,
) -> None:
    """View the reports and runs of a folder in the browser, and label documents there.

    Only this machine can reach the pages, and only with the address that is printed. Ctrl+C ends it.

    Parameters:
        folder: Reports that krag-eval wrote, runs, evaluation sets and queues to label; also in the folders in it.
        port: The port on 127.0.0.1; 0 chooses a free one.
        no_browser: Print the address without opening a browser.
        language: en, ko, ru or zh; by default the language of the browser.
    """
    with needing("The viewer", "uvicorn", "view"):
        import uvicorn
    if not 0 <= port <= 65_535:
        refuse("port", "a number from 0 to 65535", port)
    found = Folder(folder).listed()
    if not found["reports"] and not found["runs"] and not found["queues"]:
        raise InvalidInputError(
            f"{folder}: has no report and no run. Name a folder with reports (.html) or runs (.jsonl, .parquet)."
        )
    with _bound(port) as server:
        port = server.getsockname()[1]
        token = secrets.token_urlsafe(32)
        files = load("krag_eval.labels", "files")(
            lambda said: notes().print(f"Not written, or gone: {said}", soft_wrap=True)
        )
        app = view_app(folder, token, port, files, language and language_of(language).code)
        address = f"http://127.0.0.1:{port}/{token}/"
        console().print(address, soft_wrap=True)
        if not no_browser:
            start_thread(lambda: webbrowser.open(address), "krag-eval-browser")
        settings = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, ws="none", lifespan="off",
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        try:
            uvicorn.Server(settings).run(sockets=[server])
        finally:
            files.check()
            if files.missing:
                missing = number_of(len(files.missing), "label")
                raise InvalidInputError(f"{missing} not in the file. The last: {[*files.missing.values()][-1]}")


def _bound(port: int) -> socket.socket:
    """Return a socket that listens on this machine alone."""
    server = socket.socket()
    try:
        server.bind(("127.0.0.1", port))
        server.listen(128)
    except OSError as error:
        server.close()
        raise InvalidInputError(
            f"Port {port} of 127.0.0.1 cannot be used ({error.strerror}). Choose another one, or 0 for any free one."
        ) from error
    return server
