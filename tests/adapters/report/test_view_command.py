"""`krag-eval view`: the list of a folder, runs scored on request, labels written to a file, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("starlette", reason="need the extra view")
pytest.importorskip("uvicorn", reason="need the extra view")
pytest.importorskip("jinja2", reason="need the extra report")

from krag_eval import InvalidInputError, read_evalset
from krag_eval._utils.journal.rows import read_checked
from krag_eval_labels import apply_labels
from krag_eval_labels.files import LabelFiles, put_label
from krag_eval_report import Report, build_report
from krag_eval_report.sections.overview import overview_of
from tests.support.command_line import Runner
from tests.support.page_cases import ARABIC, KOREAN, shop
from tests.support.view_cases import Served, fill, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NO_FILES = "has no report and no run. Name a folder with reports (.html) or runs (.jsonl, .parquet)."


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    folder = tmp_path / "shop 가게"
    folder.mkdir()
    fill(folder)
    with serving(folder) as one:
        yield one


def label(label: Any, document: Any, query_id: str = KOREAN) -> dict[str, Any]:
    return {"label": label, "query_id": query_id, "document": document}


def test_the_list_has_reports_and_runs_with_title_headline_and_date(served: Served) -> None:
    text = served.ask().text
    assert '<a href="report/report.html"><bdi>first, second on shop</bdi></a>' in text
    assert f"<bdi>{escape(overview_of(shop()).verdict.text, quote=False)}</bdi>" in text
    assert '<a href="report/old/%EB%B3%B4%EA%B3%A0%EC%84%9C%201.html"><bdi>Alt &amp; old</bdi></a>' in text
    assert '<a href="run?run=first.jsonl&amp;set=set.jsonl"><bdi>set.jsonl</bdi></a>' in text
    assert "somebody else" not in text
    assert re.search(r'<time datetime="\d{4}-\d\d-\d\dT\d\d:\d\d[+-]\d{4}">[A-Z][a-z]{2} \d', text)
    assert "hello" in served.ask("report/old/%EB%B3%B4%EA%B3%A0%EC%84%9C%201.html").text


def test_the_list_is_in_the_language_of_the_browser(served: Served) -> None:
    for accepted, code, heading in (
        ("ko-KR,en;q=0.5", "ko", "리포트"),
        ("fr, ru", "ru", "Отчёты"),
        ("fr", "en", "Reports"),
    ):
        text = served.ask(Accept_Language=accepted).text
        assert f'<html lang="{code}" dir="ltr">' in text
        assert f">{heading}</span></h2>" in text


def test_a_run_is_scored_on_request_and_again_only_when_it_changes(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    from krag_eval_report import view

    built: list[object] = []

    def build(*given: Any) -> Report:
        built.append(given)
        return build_report(*given)

    monkeypatch.setattr(view, "build_report", build)
    monkeypatch.setattr("krag_eval_report.html.page.figures_of", lambda report, speaker: [])
    pages = [served.ask("run?run=first.jsonl&set=set.jsonl") for _ in range(2)]
    assert [page.status for page in pages] == [200, 200]
    assert "<title>first on set</title>" in pages[0].text
    assert len(built) == 1
    (served.folder / "first.jsonl").write_text('{"query_id": "q-none", "retrieved": 3}\n', encoding="utf-8")
    assert served.ask("run?run=first.jsonl&set=set.jsonl").status == 422


def test_labels_replace_and_take_back_each_other_and_apply(served: Served) -> None:
    name = read_evalset(served.folder / "set.jsonl").fingerprint
    path = served.folder / f"labels-{name}.jsonl"
    texts = [{"text": "하나"}, {"text": "둘"}]
    sent = [
        label(True, {"id": "ko-2"}),
        label(False, {"id": "ko-2"}),
        label(True, texts[0]),
        label(True, texts[1]),
        label(None, texts[1]),
        label(True, {"id": "ar-2"}, ARABIC),
        {"query_id": KOREAN, "note": "왜?"},
        {"query_id": ARABIC, "note": "لا"},
        {"query_id": ARABIC, "note": ""},
    ]
    assert [json.loads(served.label(row, name).text)["labels"] for row in sent] == [1, 1, 2, 3, 2, 3, 4, 5, 4]
    assert [row for _, row in read_checked(path)] == [sent[i] for i in (1, 2, 5, 6)]
    labelled = apply_labels(read_evalset(served.folder / "set.jsonl"), path)
    assert labelled[KOREAN].notes == "왜?"
    assert [(one.id, one.grade) for one in labelled[KOREAN].gold] == [("ko-1", None), ("ko-2", 0.0), (None, None)]
    assert path.name in served.ask().text
    path.write_text("damaged\n", encoding="utf-8")
    assert served.label(sent[0], name).status == 422
    assert (path.read_text("utf-8"), served.ask("report/report.html").status) == ("damaged\n", 422)


def test_labels_sent_at_the_same_time_are_all_kept(served: Served) -> None:
    def send(n: int) -> None:
        for i in range(5):
            served.label(label(True, {"id": f"{n}-{i}"}))

    senders = [threading.Thread(target=send, args=(n,)) for n in range(4)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    assert len((served.folder / "labels-0123456789abcdef.jsonl").read_text("utf-8").splitlines()) == 20


def test_a_walk_from_the_list_to_a_label_in_the_file(browser: Browser, served: Served) -> None:
    context, faults, asked = browser.new_context(), [], []
    context.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    try:
        page.goto(served.address)
        page.click("text=first, second on shop")
        page.click(".tabs a[href='#queries']")
        page.click(f"#krag-rows >> text={KOREAN}")
        card = page.locator("#krag-query [data-rank='1']").first
        card.locator("h4").click()
        card.get_by_role("button", name="This is gold", exact=True).click()
        page.locator("#krag-query textarea").fill("둘")
        page.locator("#krag-query .label-bar", has_text=re.compile("1 label and 1 note, written to labels-")).wait_for()
        path = next(served.folder.glob("labels-*.jsonl"))
        rows = [row for _, row in read_checked(path)]
        page.reload()
        pressed = page.locator("#krag-query .labels [aria-pressed=true]").first
        assert pressed.inner_text().endswith("This is gold")
        assert page.locator("#krag-query textarea").input_value() == "둘"
        assert page.evaluate("fetch('../').then(() => 'reached', () => 'refused')") == "refused"
    finally:
        context.close()
    assert [row.get("label", row.get("note")) for row in rows] == [True, "둘"]
    assert all("Content Security Policy" in text or "connect-src" in text for text in faults)
    assert len(faults) <= 3  # of the request that the page may not make
    assert {url.rpartition("/" + served.address.split("/")[3])[0] for url in asked} == {
        served.address.rsplit("/", 2)[0]
    }


@pytest.mark.full
def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    fill(tmp_path)
    line = [sys.executable, "-m", "krag_eval", "view", str(tmp_path), "--no-browser"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        address = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", address)
        with urllib.request.urlopen(address) as answer:
            assert "first, second on shop" in answer.read().decode("utf-8")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert (process.stdout.read(), process.stderr.read()) == ("", "Stopped.\n")


def _removed(path: Path) -> None:
    path.unlink()


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def _replaced(path: Path) -> None:
    path.write_text("nothing that is a label\n", encoding="utf-8")


def _cut_between_rows(path: Path) -> None:
    path.write_text("", encoding="utf-8")


def _another_file_now(path: Path) -> None:
    path.unlink()
    put_label(path, {"query_id": "another", "document": {"id": "x"}, "label": False})


def _a_folder_now(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.full
@pytest.mark.parametrize("disturb", [_removed, _cut, _cut_between_rows, _replaced, _another_file_now, _a_folder_now])
@pytest.mark.parametrize("is_labeled_on", [True, False])
def test_a_label_that_is_not_written_is_told_at_once_at_the_end_and_by_the_exit_code(
    is_labeled_on: bool, disturb: Callable[[Path], None], tmp_path: Path
) -> None:
    fill(tmp_path)
    line = [sys.executable, "-m", "krag_eval", "view", str(tmp_path), "--no-browser"]
    first, second = ({"query_id": KOREAN, "document": {"id": id_}, "label": True} for id_ in ("ko-1", "ko-2"))
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        port, token = re.findall(r"127\.0\.0\.1:(\d+)/([\w-]{43})/", process.stdout.readline())[0]
        served = Served(tmp_path, int(port))

        def status_of(row: dict[str, Any]) -> int:
            body, kind = json.dumps(row).encode(), {"Content_Type": "application/json"}
            return served.ask("labels/0123456789abcdef", "POST", body, f"/{token}/", **kind).status

        assert status_of(first) == 200
        disturb(tmp_path / "labels-0123456789abcdef.jsonl")
        if is_labeled_on:
            assert status_of(second) == 422
            assert process.stderr.readline().startswith("Not written, or gone: ")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 2
        assert f"{'2 labels' if is_labeled_on else '1 label'} not in the file. The last: " in process.stderr.read()


def test_a_label_that_is_written_in_the_end_is_no_fault(tmp_path: Path) -> None:
    told: list[str] = []
    files, path = LabelFiles(told.append), tmp_path / "labels.jsonl"
    row = {"query_id": "q", "document": {"id": "a"}, "label": True}
    assert files.put(path, row) == 1
    path.unlink()
    with pytest.raises(InvalidInputError, match=r"labels\.jsonl: was removed\."):
        files.put(path, row)
    assert (len(told), len(files.missing)) == (1, 1)
    assert files.put(path, row) == 1
    files.check()
    assert files.missing == {}


def test_labels_of_others_are_no_fault_and_those_that_they_took_are_named_once(tmp_path: Path) -> None:
    files, path = LabelFiles(), tmp_path / "labels.jsonl"
    rows = [{"query_id": "q", "document": {"id": id_}, "label": True} for id_ in "abc"]
    files.put(path, rows[0])
    put_label(path, rows[1])
    put_label(path, {**rows[0], "label": False})
    assert files.put(path, rows[2]) == 3
    put_label(path, {**rows[1], "label": None})
    with pytest.raises(InvalidInputError, match=r"no longer has 1 of its 3 labels"):
        files.put(path, rows[1])
    assert files.put(path, rows[1]) == 3
    assert files.missing == {}


def test_another_file_in_the_place_of_the_labels_is_not_written_into(tmp_path: Path) -> None:
    files, path = LabelFiles(), tmp_path / "labels.jsonl"
    files.put(path, {"query_id": "q", "document": {"id": "a"}, "label": True})
    _another_file_now(path)
    content = path.read_bytes()
    for _ in range(2):
        with pytest.raises(InvalidInputError, match="another file now"):
            files.put(path, {"query_id": "q", "document": {"id": "b"}, "label": True})
    assert path.read_bytes() == content
    path.unlink()
    with pytest.raises(InvalidInputError, match="was removed"):
        files.put(path, {"query_id": "q", "document": {"id": "b"}, "label": True})
    assert files.put(path, {"query_id": "q", "document": {"id": "b"}, "label": True}) == 1
    assert len(files.missing) == 1


def test_what_cannot_be_served_is_said(command: Runner, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        fill(tmp_path)
        said = [
            command(line).err
            for line in ("view empty", "view none", "view set.jsonl", "view . --port 65536", f"view . --port {port}")
        ]
    assert [re.sub(r"used \(.*?\)", "used ()", text.replace(str(port), "PORT")) for text in said] == [
        f"InvalidInputError: empty: {NO_FILES}\n",
        "InvalidInputError: none: is no folder. Name the folder that has the reports or the runs.\n",
        "InvalidInputError: set.jsonl: is no folder. Name the folder that has the reports or the runs.\n",
        "InvalidInputError: `--port` must be a number from 0 to 65535, got 65536.\n",
        "InvalidInputError: Port PORT of 127.0.0.1 cannot be used (). Choose another one, or 0 for any free one.\n",
    ]


def test_the_browser_is_opened_unless_it_is_not_wanted(
    command: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    done = threading.Event()

    def open_(url: str) -> None:
        opened.append(url)
        done.set()

    def serve(*_: object, **__: object) -> None:
        if "--no-browser" not in sys.argv:
            done.wait(10)

    monkeypatch.setattr("webbrowser.open", open_)
    monkeypatch.setattr("uvicorn.Server.run", serve)
    fill(tmp_path)
    printed = [command("view ."), command("view . --no-browser")]
    assert [outcome.code for outcome in printed] == [0, 0]
    assert opened == [printed[0].out.strip()]
    assert printed[0].out != printed[1].out


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_a_missing_package_is_named_with_its_cure(
    command: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)

    class Absent:
        def find_spec(self, name: str, *_: object) -> None:
            if name.partition(".")[0] == package:
                raise ModuleNotFoundError(f"No module named {package!r}", name=package)

    monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])
    fill(tmp_path)
    outcome = command("view . --no-browser")
    assert outcome.code == 2
    assert f"'{package}'" in outcome.err
    assert 'pip install "krag-eval[view]"' in outcome.err
