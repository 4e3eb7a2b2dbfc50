"""Serve the reports and the runs of a folder on this machine: read-only, but for labels.

Whoever asks has to know the token in the address, and to name this machine as the host. A page that this version wrote
runs with its own script alone, may send labels, and reaches nothing else. Any other page is shown in a sandbox.
"""

from __future__ import annotations

import functools
import hmac
import html
import re
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import quote

from krag_eval import InvalidInputError, KragEvalError, __version__, read_evalset, read_run
from krag_eval.toolkit import Format, Source, load, needing, parse_json, read_checked
from krag_eval_report.build import build_report
from krag_eval_report.html.page import (
    digest,
    html_page,
    label_page,
    policy,
    read_template,
    script_and_style,
    template_of,
)
from krag_eval_report.html.texts import json_in_script
from krag_eval_report.languages import language_asked_for

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

MOST_BYTES = 1_000_000
"""The largest body of a request; a label holds one document."""

_PATTERNS = ("*", "*/*")
_HEAD = 1 << 16
_GENERATOR = re.compile('<meta name="generator" content="krag-eval [^"<>]*">')
_TITLE = re.compile("<title>([^<]*)</title>")
_HEADLINE = re.compile('<meta name="description" content="([^"<>]*)">')
_DATA = '<script type="application/json" id="krag-data-'
_SET = re.compile('id="krag-data-labels">[^<]*?"set":"([0-9a-f]{16})"')
_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_SANDBOX = f"{_NOTHING}; sandbox allow-scripts allow-downloads; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Found(NamedTuple):
    """A file of the folder: its path there, when it was changed, and what a report says of itself."""

    path: str
    date: datetime
    title: str = ""
    headline: str = ""


class Folder:
    """The files of a folder, and of the folders in it, that may be served: no hidden files, no symbolic links.

    Raises:
        InvalidInputError: There is no such folder.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise InvalidInputError(f"{path}: is no folder. Name the folder that has the reports or the runs.")
        self.path = path.resolve()

    def files(self) -> dict[str, Path]:
        """Return all by their paths in the folder, newest first."""
        found = [path for pattern in _PATTERNS for path in self.path.glob(pattern) if path.resolve() == path]
        found = [path for path in found if path.is_file() and "/." not in f"/{path.relative_to(self.path).as_posix()}"]
        newest = sorted(found, key=lambda path: (-path.stat().st_mtime, path))
        return {path.relative_to(self.path).as_posix(): path for path in newest}

    def listed(self) -> dict[str, list[Found]]:
        """Return the reports, the runs, the evaluation sets, the queues to label and the labels."""
        listed: dict[str, list[Found]] = {"reports": [], "runs": [], "sets": [], "queues": [], "labels": []}
        for name, path in self.files().items():
            date = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
            if path.suffix == ".html" and (head := _head_of(path)):
                listed["reports"].append(Found(name, date, _said(_TITLE, head) or name, _said(_HEADLINE, head)))
            elif re.fullmatch(r"labels-[0-9a-f]{16}\.jsonl", path.name):
                listed["labels"].append(Found(name, date))
            elif path.suffix in (".jsonl", ".parquet"):
                kinds = _kinds(path, path.stat().st_mtime_ns)
                listed["queues"] += [Found(name, date)] if "queue" in kinds else []
                listed["runs"] += [Found(name, date)] if "run" in kinds else []
                listed["sets"] += [Found(name, date)] if "evalset" in kinds else []
        return listed


def _head_of(path: Path) -> str:
    """Return the beginning of a page that krag-eval wrote, else an empty string."""
    with path.open(encoding="utf-8", errors="replace") as file:
        head = file.read(_HEAD)
    return head if _GENERATOR.search(head) else ""


def _said(pattern: re.Pattern[str], head: str) -> str:
    found = pattern.search(head)
    return html.unescape(found[1]) if found else ""


@functools.lru_cache(maxsize=10_000)
def _kinds(path: Path, _changed: int) -> tuple[str, ...]:
    if path.suffix == ".jsonl" and load("krag_eval.labels", "is_queue")(path):
        return ("queue",)
    try:
        return Format.detect(Source(path))[1]
    except KragEvalError:
        return ()


@functools.lru_cache(maxsize=8)
def _built(run: Path, questions: Path, language: str | None, *_changed: int) -> str:
    return html_page(build_report(read_evalset(questions), {run.stem: read_run(run)}), language)


class _Guard:
    """Refuses requests from elsewhere, and those that do not know the token."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token = app, token.encode()
        self.hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.datastructures import MutableHeaders
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in (_HEADERS | {"Content-Security-Policy": _NOTHING}).items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["type"] == "http":
            refused = self._refused(Request(scope))
            app = self.app if refused is None else PlainTextResponse(refused[1], refused[0])
            await app(scope, receive, send_with_headers)

    def _refused(self, request: Request) -> tuple[int, str] | None:
        headers = request.headers
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return 403, "This host is not served."
        if not {*origins} <= {f"http://{hosts[0]}"} or headers.get("sec-fetch-site", "none") not in _FROM_HERE:
            return 403, "Another site may not ask for this."
        if not hmac.compare_digest(request.scope["path"].removeprefix("/").partition("/")[0].encode(), self.token):
            return 403, "The token is missing or wrong. Open the address that was printed."
        return None


_FROM_HERE = ("none", "same-origin")


class PutsLabels(Protocol):
    """Writes labels into files, as `krag_eval_labels.files.LabelFiles` does."""

    def put(self, path: Path, row: Mapping[str, Any]) -> int:
        """Write a label, and return how many rows the file has now."""


def view_app(
    folder: Path, token: str, port: int, labels_of: PutsLabels | None = None, language: str | None = None
) -> ASGIApp:
    """Return the application that serves a folder.

    Args:
        folder: The folder.
        token: What the address has to begin with.
        port: The port on 127.0.0.1, which requests have to name.
        labels_of: Writes the labels.
        language: The code of the language of the pages; by default that of the browser.

    Raises:
        InvalidInputError: It is no folder, or there is no such language.
        MissingDependencyError: A package of the extra `view` is not installed.
    """
    with needing("The viewer", "starlette", "view"):
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse
        from starlette.routing import Mount, Route

    served, building, files_of_labels = (
        Folder(folder),
        threading.Lock(),
        labels_of or load("krag_eval.labels", "files")(),
    )
    queues = load("krag_eval.labels", "page")()

    def spoken(request: Request) -> str:
        return language or language_asked_for(request.headers.get("accept-language", "")).code

    def index(request: Request) -> Response:
        style = script_and_style()[1]
        text = template_of("view.html.j2", spoken(request)).render(
            name=served.path.name, style=style, version=__version__, **served.listed()
        )
        return HTMLResponse(text, headers=_with(f"{_NOTHING}; style-src '{digest(style)}'"))

    def report(request: Request) -> Response:
        path = served.files().get(request.path_params["path"])
        if path is None or path.suffix != ".html" or not _head_of(path):
            return PlainTextResponse("The folder has no such report.", 404)
        return shown(path.read_text(encoding="utf-8", errors="replace"), request)

    def run(request: Request) -> Response:
        files, asked = served.files(), request.query_params
        paths = [files.get(asked.get(name, "")) for name in ("run", "set")]
        run_path, set_path = paths
        if run_path is None or set_path is None:
            return PlainTextResponse("The folder has no such run, or no such evaluation set.", 404)
        changed = [path.stat().st_mtime_ns for path in (run_path, set_path)]
        try:
            with building:
                return shown(_built(run_path, set_path, language, *changed), request)
        except KragEvalError as error:
            return PlainTextResponse(str(error), 422)

    def shown(page: str, request: Request) -> Response:
        policy_now = policy(*script_and_style())
        own, found = policy_now.replace("'", "&#39;"), _SET.search(page)  # as jinja2 escapes it
        if own not in page or found is None:
            return HTMLResponse(page, headers=_with(_SANDBOX))
        url, path = f"/{token}/labels/{found[1]}", served.path / f"labels-{found[1]}.jsonl"
        try:
            rows = [row for _, row in read_checked(path)] if path.is_file() else []
        except KragEvalError as error:
            return PlainTextResponse(str(error), 422)
        sender = read_template("served.js")
        allowed = policy_now.replace("script-src", f"script-src '{digest(sender)}'")
        allowed += f"; connect-src http://{request.headers['host']}{url}"
        data = json_in_script({"url": url, "file": path.name, "rows": rows})
        page = page.replace(own, allowed.replace("'", "&#39;"), 1)
        page = page.replace(_DATA, f'<script>{sender}</script>\n{_DATA}served">{data}</script>\n{_DATA}', 1)
        return HTMLResponse(page, headers=_with(f"{allowed}; frame-ancestors 'none'"))

    async def sent(request: Request, put: Callable[[Mapping[str, Any]], object]) -> Response:
        """Do something with the object that a page sends, and answer with what comes of it."""
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                return PlainTextResponse("The body is too large.", 413)
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return PlainTextResponse("A label is sent as application/json.", 415)
        try:
            row = parse_json(body.decode("utf-8"))
            if not isinstance(row, Mapping):
                raise InvalidInputError("A label is a JSON object.")
            return JSONResponse(await run_in_threadpool(put, row))
        except (ValueError, KragEvalError) as error:
            return PlainTextResponse(str(error), 422)

    async def labels(request: Request) -> Response:
        if not re.fullmatch("[0-9a-f]{16}", name := request.path_params["name"]):
            return PlainTextResponse("There is no such file of labels.", 404)
        path = served.path / f"labels-{name}.jsonl"
        return await sent(request, lambda row: {"labels": files_of_labels.put(path, row)})

    async def queue(request: Request) -> Response:
        name = request.path_params["path"]
        path = served.files().get(name)
        if path is None or "queue" not in _kinds(path, path.stat().st_mtime_ns):
            return PlainTextResponse("The folder has no such queue.", 404)
        if request.method == "POST":
            return await sent(request, lambda row: queues.answer(path, row))
        text, its_policy = label_page(name, f"/{token}/label/{quote(name)}", request.headers["host"], spoken(request))
        return HTMLResponse(text, headers=_with(f"{its_policy}; frame-ancestors 'none'"))

    routes = [
        Route("/", index),
        Route("/report/{path:path}", report),
        Route("/run", run),
        Route("/labels/{name}", labels, methods=["POST"]),
        Route("/label/{path:path}", queue, methods=["GET", "POST"]),
    ]
    return _Guard(Starlette(routes=[Mount(f"/{token}", routes=routes)]), token, port)


def _with(its_policy: str) -> dict[str, str]:
    return {"Content-Security-Policy": its_policy}
