"""What krag_eval writes: no link of somebody else leads it elsewhere, and nobody may read more than before."""

from __future__ import annotations

import json
import os
import stat
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from krag_eval import EvalSet, InvalidInputError, evaluate, read_evalset, run_retriever, write_evalset
from krag_eval._utils.errors import KragEvalWarning
from krag_eval._utils.files.io import replacing, write_atomically
from krag_eval_report import build_report, write_report
from krag_eval_scale import score_logs
from tests.support.command_line import Runner
from tests.support.log_cases import write_logs

pytestmark = pytest.mark.skipif(os.name != "posix", reason="NOT TESTED: permissions are those of POSIX.")
SET = [{"id": f"q{n}", "question": "?", "gold_chunk_ids": ["a"]} for n in range(3)]


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def set_file(path: Path, mode: int = 0o644, *bad: str) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in SET) + "".join(f"{line}\n" for line in bad))
    path.chmod(mode)
    return path


def read_with_a_bad_line(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KragEvalWarning)
        read_evalset(set_file(folder / "set.jsonl", 0o644, "no json"), max_bad_rows=1)


def run_with_journal(folder: Path) -> None:
    run_retriever(EvalSet(SET), lambda _: ["a"], k=1, journal=folder / "run.jsonl")


def score(folder: Path) -> None:
    score_logs(write_logs(folder / "logs", (0, 150)), folder / "out.parquet", k=1, match_method="id")


OWN_NAMES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "rejected lines": ("set.jsonl.rejected.jsonl", read_with_a_bad_line),
    "journal": ("run.jsonl", run_with_journal),
    "parts": ("out.parquet.parts", score),
    "journal of a scoring": ("out.parquet.parts/journal.jsonl", score),
    "part": ("out.parquet.parts/000000.parquet", score),
    "note": ("out.parquet.parts/000000.parquet.at", score),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("what", [*OWN_NAMES])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_planted_link_is_refused_by_name_and_what_it_leads_to_stays(
    tmp_path: Path, what: str, is_there: bool
) -> None:
    name, write = OWN_NAMES[what]
    planted, victim = tmp_path / name, tmp_path / "victim"
    if planted.parent != tmp_path:
        planted.parent.mkdir()
    if what == "parts":
        victim.mkdir()
    elif is_there:
        victim.write_text("precious")
    planted.symlink_to(victim)
    with pytest.raises(InvalidInputError) as refused:
        write(tmp_path)
    assert str(refused.value).startswith(f"{planted}: is a symbolic link, and nothing is written through it.")
    assert planted.is_symlink()
    if what == "parts":
        assert list(victim.iterdir()) == []
    else:
        assert (victim.read_text() if is_there else victim.exists()) == ("precious" if is_there else False)


@pytest.mark.parametrize("is_there", [True, False])
def test_an_output_that_is_a_link_of_ones_own_leads_where_it_leads_and_one_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    (tmp_path / "elsewhere").mkdir()
    real, link, second = tmp_path / "elsewhere" / "real.md", tmp_path / "report.md", tmp_path / "second"
    link.symlink_to("second")
    second.symlink_to("elsewhere/real.md")
    if is_there:
        real.write_text("old")
    write_atomically(link, ["new"])
    assert (real.read_text(), link.is_symlink(), second.is_symlink()) == ("new", True, True)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    if me == 0:  # links of root are trusted
        os.chown(second, 12345, 12345, follow_symlinks=False)
    for write in (lambda: write_atomically(link, ["?"]), lambda: replacing(link).__enter__()):
        with pytest.raises(InvalidInputError, match=r"report\.md: is a symbolic link of another user\. Give the path"):
            write()
    assert real.read_text() == "new"


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InvalidInputError, match=r"a: cannot be written \(Too many levels of symbolic links\)"):
        write_atomically(tmp_path / "a", ["?"])


def test_rejected_lines_are_not_written_to_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "set.jsonl.rejected.jsonl")
    with pytest.raises(InvalidInputError, match=r"rejected\.jsonl: exists and is not a file"):
        read_evalset(set_file(tmp_path / "set.jsonl", 0o644, "no json"), max_bad_rows=1)


def test_another_name_of_a_replaced_file_keeps_its_content(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("old")
    os.link(tmp_path / "one", tmp_path / "other")
    write_atomically(tmp_path / "one", ["new"])
    assert ((tmp_path / "one").read_text(), (tmp_path / "other").read_text()) == ("new", "old")


@pytest.mark.sample(3)
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o400])
def test_what_is_replaced_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    report = build_report({"a": evaluate([["a"]], [["a"]], k=1)})
    target = tmp_path / "report.md"
    write_report(report, target)
    assert mode_of(target) == 0o644
    target.chmod(mode)
    write_report(report, target, force=True)
    assert mode_of(target) == mode
    score(tmp_path)
    (tmp_path / "out.parquet").chmod(mode)
    score_logs(tmp_path / "logs", tmp_path / "out.parquet", k=1, match_method="id", force=True)
    assert mode_of(tmp_path / "out.parquet") == mode


@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="NOT TESTED: only root may give files away.")
def test_what_root_replaces_keeps_its_owner(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("old")
    os.chown(tmp_path / "report.md", 12345, 12346)
    write_atomically(tmp_path / "report.md", ["new"])
    there = (tmp_path / "report.md").stat()
    assert (there.st_uid, there.st_gid) == (12345, 12346)


REJECTED = [(0o644, None, 0o600), (0o600, None, 0o600), (0o644, 0o644, 0o644), (0o600, 0o644, 0o600)]


@pytest.mark.parametrize(("source", "there", "expected"), REJECTED)
def test_rejected_lines_are_for_their_owner_unless_told_otherwise_and_never_looser_than_their_source(
    tmp_path: Path, source: int, there: int | None, expected: int
) -> None:
    path, kept = tmp_path / "set.jsonl", tmp_path / "set.jsonl.rejected.jsonl"
    if there is not None:
        kept.touch(there)
    with pytest.warns(KragEvalWarning):
        read_evalset(set_file(path, source, "no json"), max_bad_rows=1)
    assert mode_of(kept) == expected


@pytest.mark.parametrize("target", ["new.csv", "new.parquet", "there.csv", "folder"])
def test_a_file_that_is_converted_is_never_looser_than_its_source(tmp_path: Path, command: Runner, target: str) -> None:
    source = set_file(tmp_path / "set.jsonl", 0o600)
    (tmp_path / "there.csv").touch(0o644)
    further = ["--to", "beir"] if target == "folder" else []
    assert command("convert --force", str(source), str(tmp_path / target), *further).code == 0
    written = [path for path in (tmp_path / target, *(tmp_path / target).rglob("*")) if path.is_file()]
    assert written
    assert {mode_of(path) for path in written} == {0o600}
    if target == "folder":
        assert {mode_of(tmp_path / "folder"), mode_of(tmp_path / "folder" / "qrels")} == {0o700}
    write_evalset(EvalSet(SET), tmp_path / "usual.csv")
    assert mode_of(tmp_path / "usual.csv") == 0o644


def test_journals_and_parts_are_for_their_owner_alone_unless_they_were_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.umask(0)
    run_with_journal(tmp_path)
    assert mode_of(tmp_path / "run.jsonl") == 0o600
    (tmp_path / "run.jsonl").chmod(0o640)
    run_with_journal(tmp_path)
    assert mode_of(tmp_path / "run.jsonl") == 0o640
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    score(tmp_path)
    assert mode_of(tmp_path / "out.parquet.parts") == 0o700
    assert mode_of(tmp_path / "out.parquet.parts" / "journal.jsonl") == 0o600
