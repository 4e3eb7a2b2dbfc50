"""What `krag-eval view` refuses: other hosts and sites, wrong tokens, other files, methods and bodies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="need the extra view")
pytest.importorskip("uvicorn", reason="need the extra view")
pytest.importorskip("jinja2", reason="need the extra report")

from krag_eval_report.html.page import digest, policy, read_template, script_and_style
from tests.support.view_cases import TOKEN, Served, fill, serving

LABEL = {"label": True, "query_id": "q", "document": {"id": "d"}}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    around = tmp_path_factory.mktemp("around")
    folder = around / "folder"
    folder.mkdir()
    fill(folder)
    secret = (folder / "report.html").read_bytes()
    for path in (around / "secret.html", folder / ".hidden.html"):
        path.write_bytes(secret)
    (folder / "link.html").symlink_to(around / "secret.html")
    (around / "elsewhere").mkdir()
    (around / "elsewhere" / "secret.html").write_bytes(secret)
    (folder / "linked").symlink_to(around / "elsewhere")
    with serving(folder) as one:
        yield one


def test_what_is_not_refused_is_served(served: Served) -> None:
    assert served.ask().status == served.ask("report/report.html").status == served.ask(method="HEAD").status == 200
    localhost = {"Host": f"localhost:{served.port}", "Origin": f"http://localhost:{served.port}"}
    assert served.ask(**localhost, Sec_Fetch_Site="same-origin").status == 200
    assert served.label(LABEL, Sec_Fetch_Site="same-origin", Origin=served.address[: -len(TOKEN) - 2]).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:{port}.evil", "", "[::1]:{port}"],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_host_is_refused(served: Served, host: str, method: str) -> None:
    body = None if method == "GET" else json.dumps(LABEL).encode()
    assert served.ask(method=method, body=body, Host=host.format(port=served.port)).status in (400, 403)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": ""},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": ""},
    ],
)
def test_another_site_is_refused(served: Served, headers: dict[str, str]) -> None:
    sent = {name: value.format(port=served.port) for name, value in headers.items()}
    answers = [served.ask(**sent), served.ask("report/report.html", **sent), served.label(LABEL, **sent)]
    assert [answer.status for answer in answers] == [403, 403, 403]
    assert "krag" not in "".join(answer.text for answer in answers)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "prefix",
    ["/", "", "//", "/x/", f"/{TOKEN[:-1]}/", f"/{TOKEN}x/", f"//{TOKEN}/", "/%ED%99%98/", f"/{TOKEN.upper()}/"],
)
def test_a_wrong_or_missing_token_is_refused(served: Served, prefix: str) -> None:
    for path in ("", "report/report.html", "run?run=first.jsonl&set=set.jsonl"):
        assert served.ask(path, prefix=prefix or "/").status == 403
    assert served.ask("labels/0123456789abcdef", "POST", json.dumps(LABEL).encode(), prefix=prefix or "/").status == 403


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "path",
    [
        "../secret.html",
        "..%2fsecret.html",
        "%2e%2e/secret.html",
        "%2e%2e%2fsecret.html",
        "old/../../secret.html",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "link.html",
        "linked/secret.html",
        ".hidden.html",
        "other.html",
        "set.jsonl",
        "no.html",
        "report.html%00",
    ],
)
def test_what_is_no_report_of_the_folder_is_refused(served: Served, path: str) -> None:
    assert served.ask(f"report/{path}").status in (403, 404)
    assert served.ask(f"run?run={path}&set=set.jsonl").status in (403, 404, 422)
    assert "<title>" not in served.ask(f"report/{path}").text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_reports_are_only_read(served: Served, method: str) -> None:
    for path in ("", "report/report.html", "run?run=first.jsonl&set=set.jsonl"):
        assert served.ask(path, method).status == 405
    assert served.ask("labels/0123456789abcdef", "GET").status == 405


@pytest.mark.parametrize(
    ("row", "status"),
    [
        (b"x" * 1_000_001, 413),
        (b"not json", 422),
        (b"[]", 422),
        (b"\xff", 422),
        (b'{"label": NaN}', 422),
        (b"[" * 100_000, 422),
        ({}, 422),
        ({**LABEL, "label": "yes"}, 422),
        ({**LABEL, "label": -1}, 422),
        ({**LABEL, "document": {}}, 422),
        ({**LABEL, "query_id": [1]}, 422),
    ],
)
def test_what_is_no_label_is_refused(served: Served, row: Any, status: int) -> None:
    before = sorted(served.folder.iterdir())
    assert served.label(row, "f" * 16).status == status
    assert [path for path in sorted(served.folder.iterdir()) if path.suffix != ".lock"] == [
        path for path in before if path.suffix != ".lock"
    ]


def test_a_large_body_without_its_length_is_refused(served: Served) -> None:
    pieces: Any = (b"x" * 100_000 for _ in range(11))
    assert served.ask("labels/" + "0" * 16, "POST", pieces, Content_Type="application/json").status == 413


@pytest.mark.parametrize(
    "name", ["x", "../../x", "..%2f..%2fset", "0" * 15, "0" * 17, "0" * 15 + "G", "0" * 15 + "%0a"]
)
def test_labels_go_into_their_own_files_alone(served: Served, name: str) -> None:
    assert served.label(LABEL, name).status in (403, 404)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_what_a_form_of_another_site_could_send_is_refused(served: Served, kind: str) -> None:
    assert served.label(LABEL, Content_Type=kind).status == 415


def test_a_page_may_run_its_script_and_send_labels_and_nothing_else(served: Served) -> None:
    answer = served.ask("report/report.html")
    allowed = answer.headers["content-security-policy"]
    sender = f"script-src '{digest(read_template('served.js'))}' "
    own = policy(*script_and_style()).replace("script-src ", sender)
    sent = f"{own}; connect-src http://127.0.0.1:{served.port}/{TOKEN}/labels/"
    assert re.fullmatch(f"{re.escape(sent)}[0-9a-f]{{16}}; frame-ancestors 'none'", allowed)
    assert "unsafe" not in allowed
    assert sent.replace("'", "&#39;") in answer.text
    assert (answer.headers["referrer-policy"], answer.headers["cache-control"]) == ("no-referrer", "no-store")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_page_with_another_script_is_in_a_sandbox(served: Served) -> None:
    allowed = served.ask("report/old/%EB%B3%B4%EA%B3%A0%EC%84%9C%201.html").headers["content-security-policy"]
    assert "sandbox allow-scripts allow-downloads;" in allowed
    assert "connect-src" not in allowed
    assert "default-src 'none'" in allowed
    assert "default-src 'none'" in served.ask().headers["content-security-policy"]
    assert "default-src 'none'" in served.ask("no").headers["content-security-policy"]


def test_a_page_that_claims_our_script_cannot_run_its_own(served: Served) -> None:
    claimed = (served.folder / "report.html").read_text("utf-8").replace("</body>", "<script>alert(1)</script></body>")
    path = Path(served.folder / "claimed.html")
    path.write_text(claimed, encoding="utf-8")
    try:
        allowed = served.ask("report/claimed.html").headers["content-security-policy"]
    finally:
        path.unlink()
    ours = {digest(script_and_style()[0]), digest(read_template("served.js"))}
    assert {*re.findall("script-src ([^;]*)", allowed)[0].split()} == {f"'{one}'" for one in ours}
