"""The GitHub Action: its steps are run in bash as a runner runs them, with a stand-in for GitHub's API on loopback.

The stand-in keeps comments. It proves what is sent, not what GitHub makes of it. The step that uploads the artifact,
which is GitHub's own, does not run here.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import yaml  # type: ignore[import-untyped]

from krag_eval import Document, EvalSet, Run, RunRow, compare

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
SCRIPT = ROOT / ".github" / "action" / "pull_request.py"
POLICY = '[gate]\nrequire = ["observed(recall@5) >= 0.8"]\n'
pytestmark = pytest.mark.skipif(shutil.which("bash") is None or shutil.which("git") is None, reason="need bash and git")


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pull_request", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class Comments:
    """A stand-in for the comments of a pull request in GitHub's API."""

    address: str = ""
    kept: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    answers: int = 200

    def add(self, body: str, kind: str = "Bot") -> None:
        self.kept.append({"id": len(self.kept), "body": body, "user": {"type": kind}})


@pytest.fixture
def api() -> Iterator[Comments]:
    comments = Comments()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            comments.asked.append(f"{self.command} {self.path}")
            if "PRIVATE-TOKEN" in self.headers:  # GitLab
                content = {"body": parse_qs(sent)["body"][0]}
            else:
                content = json.loads(sent or "{}")
            token = self.headers.get("PRIVATE-TOKEN") or self.headers["Authorization"]
            assert token.removeprefix("Bearer ") == "secret-token"
            parts = urlsplit(self.path)
            found: Any = {}
            if comments.answers != 200:
                self.send_error(comments.answers)
                return
            if self.command == "GET":
                page = int(parse_qs(parts.query)["page"][0])
                found = comments.kept[100 * (page - 1) : 100 * page]
            elif self.command == "POST":
                comments.add(content["body"])
            else:
                comments.kept[int(parts.path.rpartition("/")[2])]["body"] = content["body"]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        do_GET = do_POST = do_PATCH = answer  # noqa: N815 - names of http.server

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    comments.address = f"http://127.0.0.1:{server.server_address[1]}"
    yield comments
    server.shutdown()
    server.server_close()


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def run_rows(found: set[int], n: int = 40) -> str:
    rows = [
        {"query_id": f"q{place}", "retrieved": [{"id": f"d{place}" if place in found else "other"}]}
        for place in range(n)
    ]
    return lines(rows)


def git(*arguments: str, folder: Path) -> None:
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *author, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone of the last commit alone, as `actions/checkout` makes it; its run is worse than that on `main`."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    git("init", "--quiet", folder=origin)
    questions = [
        {
            "id": f"q{place}",
            "question": f"What is <b>{place}</b>?",
            "gold": [{"id": f"d{place}"}],
            "type": "ab"[place % 2],
        }
        for place in range(40)
    ]
    (origin / "set.jsonl").write_text(lines(questions))
    (origin / "gate.toml").write_text(POLICY)
    (origin / "run.jsonl").write_text(run_rows({*range(38)}))
    git("add", ".", folder=origin)
    git("commit", "--quiet", "-m", "one", folder=origin)
    git("checkout", "--quiet", "-b", "change", folder=origin)
    (origin / "run.jsonl").write_text(run_rows({*range(10)}))
    git("commit", "--quiet", "-am", "two", folder=origin)
    git("clone", "--quiet", "--depth", "1", "--branch", "change", f"file://{origin}", str(clone), folder=tmp_path)
    return clone


@dataclass
class Job:
    """What a job of one use of the action left."""

    code: int
    text: str
    summary: str
    outputs: dict[str, str]


def run_action(checkout: Path, api: Comments, event: dict[str, Any], **inputs: str) -> Job:
    """Run the steps of action.yml one after the other, as a runner does: later ones not after a failure."""
    scratch = checkout.parent / "runner"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    files = {name: scratch / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_EVENT_PATH")}
    for file in files.values():
        file.write_text("")
    files["GITHUB_EVENT_PATH"].write_text(json.dumps(event))
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    assert not given.keys() - ACTION["inputs"].keys()
    values = {f"inputs.{name}": str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
    values |= {f"inputs.{name}": value for name, value in given.items()} | {"inputs.version": ""}
    values |= {"inputs.token": "secret-token"}
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")},
        **{name: str(file) for name, file in files.items()},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(ROOT), str(ROOT / "adapters")]).strip(":"),
        "RUNNER_TEMP": str(scratch),
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_API_URL": api.address,
        "GITHUB_REPOSITORY": "me/rag",
    }
    code, text, outputs = 0, "", dict[str, str]()
    for step in ACTION["runs"]["steps"]:
        if code or not holds(step.get("if", "''==''"), values):
            continue
        if "uses" in step:
            values["steps.upload.outputs.artifact-url"] = "https://example.org/artifact"
            continue
        files["GITHUB_OUTPUT"].write_text("")
        own = {name: filled(value, values) for name, value in step["env"].items()}
        assert "${{" not in step["run"], "a value in the script itself could be code"
        script = scratch / "step.sh"
        script.write_text(step["run"])
        command = [str(script) if part == "{0}" else part for part in shlex.split(step["shell"])]
        done = subprocess.run(command, cwd=checkout, env=environment | own, capture_output=True, text=True, timeout=120)
        code, text = done.returncode, text + done.stdout + done.stderr
        for line in files["GITHUB_OUTPUT"].read_text("utf-8").splitlines():
            name, _, value = line.partition("=")
            values[f"steps.{step['id']}.outputs.{name}"] = outputs[name] = value
    return Job(code, text, files["GITHUB_STEP_SUMMARY"].read_text("utf-8"), outputs)


def filled(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: values.get(match[1], ""), text)


def holds(condition: str, values: dict[str, str]) -> bool:
    """Whether a condition of action.yml holds: comparisons of a value with a text, joined by `&&`."""
    parts = [re.fullmatch(r"([\w.-]*|'')\s*(==|!=)\s*'([^']*)'", part.strip()) for part in condition.split("&&")]
    assert all(parts), condition
    return all((values.get(part[1], "") == part[3]) == (part[2] == "==") for part in parts if part)


PULL_REQUEST = {"pull_request": {"number": 7}}
GATE = {"evalset": "set.jsonl", "run": "run.jsonl", "policy": "gate.toml", "report": "false"}
COMPARE = {"command": "compare", "evalset": "set.jsonl", "run": "run.jsonl", "baseline_ref": "main", "report": "false"}


@pytest.mark.full
def test_a_pull_request_has_one_comment_which_later_runs_change(checkout: Path, api: Comments) -> None:
    for _ in range(150):
        api.add("<!-- krag-eval --> quoted by a person", "User")
    job = run_action(checkout, api, PULL_REQUEST, **GATE, baseline_ref="main")
    assert (job.code, job.outputs["status"]) == (1, "fail")
    assert "::error::Retrieval: fail" in job.text
    assert len(api.kept) == 151
    body = api.kept[150]["body"]
    assert body.startswith("<!-- krag-eval -->\n### Retrieval gate: FAIL")
    assert "### Retrieval: `run` is worse than `main` in recall@10" in body
    assert "| `q10` `What is <b>10</b>?` | 1.000 | 0.000 |" in body
    assert body.split("\n", 1)[1].strip() == job.summary.strip()
    subprocess.run(["git", "checkout", "--quiet", "FETCH_HEAD", "--", "run.jsonl"], cwd=checkout, check=True)
    job = run_action(checkout, api, PULL_REQUEST, **GATE)
    assert (job.code, job.outputs["status"], len(api.kept)) == (0, "pass", 151)
    assert "### Retrieval gate: PASS" in api.kept[150]["body"]
    assert api.asked[-1] == "PATCH /repos/me/rag/issues/comments/150"


@pytest.mark.full
def test_a_gate_and_its_comparison_score_as_the_policy_says(checkout: Path, api: Comments) -> None:
    texts = [{"id": f"q{place}", "question": "?", "gold": [{"text": f"text {place} of nine"}]} for place in range(40)]
    (checkout / "set.jsonl").write_text(lines(texts))
    (checkout / "gate.toml").write_text(POLICY + '[scoring]\nmatch_method = "text"\n')
    (checkout / "old").mkdir()
    for name, found in (("run", 10), ("old/run", 40)):
        rows = [
            {"query_id": f"q{place}", "retrieved": [{"text": f"text {place} of nine" if place < found else "other"}]}
            for place in range(40)
        ]
        (checkout / f"{name}.jsonl").write_text(lines(rows))
    job = run_action(checkout, api, {}, **GATE, baseline="old/run.jsonl")
    assert (job.code, job.outputs["status"]) == (1, "fail")
    assert "### Retrieval: `run` is worse than `run (baseline)` in recall@10" in job.summary
    assert job.summary.count("match:text") == 2


@pytest.mark.full
def test_a_push_is_judged_and_has_no_comment(checkout: Path, api: Comments) -> None:
    job = run_action(checkout, api, {"ref": "refs/heads/main"}, **COMPARE, arguments="--k 1 --metrics recall --by type")
    assert (job.code, job.outputs["status"], api.asked) == (0, "worse", [])
    assert "::warning::Retrieval: worse" in job.text
    assert job.summary.startswith("### Retrieval: `run` is worse than `main` in recall@1\n")
    assert "`type = a`, 20 questions: recall@1" in job.summary
    assert json.loads(Path(job.outputs["results"]).read_text())["keys"] == ["recall@1"]
    assert run_action(checkout, api, {}, **COMPARE, worse="fail").code == 1


@pytest.mark.full
@pytest.mark.parametrize(("answers", "said"), [(403, "Pull requests from forks never have it"), (503, "answered 503")])
def test_where_no_comment_can_be_written_that_is_a_warning(
    answers: int, said: str, checkout: Path, api: Comments
) -> None:
    api.answers = answers
    job = run_action(checkout, api, PULL_REQUEST, **COMPARE)
    assert (job.code, api.kept) == (0, [])
    assert "::warning::No comment was written: " in job.text
    assert said in job.text
    assert "secret-token" not in job.text


@pytest.mark.full
def test_where_nobody_answers_that_is_a_warning(checkout: Path, api: Comments) -> None:
    job = run_action(checkout, Comments("http://127.0.0.1:9"), PULL_REQUEST, **COMPARE)
    assert job.code == 0
    assert "::warning::No comment was written: <urlopen error" in job.text


@pytest.mark.full
def test_the_comment_links_the_report(checkout: Path, api: Comments) -> None:
    job = run_action(checkout, api, PULL_REQUEST, **COMPARE | {"report": "true"})
    assert Path(job.outputs["report"]).read_text("utf-8").startswith("<!DOCTYPE html>")
    assert "[Report with every question](https://example.org/artifact)" in api.kept[0]["body"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (COMPARE | {"command": "judge"}, "`command` must be gate or compare, got 'judge'."),
        (COMPARE | {"baseline_ref": ""}, "`compare` needs `baseline`, a run file, or `baseline-ref`"),
        (COMPARE | {"baseline_ref": "nowhere"}, "nowhere has no run.jsonl: "),
        (COMPARE | {"baseline_ref": "--upload-pack=touch made"}, "must name a branch, tag or commit"),
        (COMPARE | {"baseline": "old.jsonl"}, "main has no old.jsonl: "),
        (COMPARE | {"run": "$(touch made); touch made"}, "has no $(touch made); touch made"),
        (COMPARE | {"arguments": "--k 1; touch made"}, "krag-eval compare ended with exit code 2"),
        (GATE | {"policy": ""}, "`gate` needs `policy`"),
        (GATE | {"inconclusive": "maybe"}, "`inconclusive` must be warn or fail, got 'maybe'."),
    ],
)
def test_a_wrong_input_is_named_and_never_run(inputs: dict[str, str], said: str, checkout: Path, api: Comments) -> None:
    job = run_action(checkout, api, {}, **inputs)
    assert job.code == 1
    assert "::error::" in job.text
    assert said in job.text
    assert not list(checkout.rglob("made"))


@pytest.mark.full
def test_the_comment_of_10_000_questions_fits() -> None:
    draw = np.random.default_rng(0)
    runs = {}
    for name in ("a" * 300, "b|" * 150):
        hits = draw.random(10_000) < 0.6
        retrieved = [(Document(id=f"d{place}" if hit else "x"),) for place, hit in enumerate(hits)]
        runs[name] = Run.of(
            name, [RunRow(query_id=f"q{place}" * 100, retrieved=one) for place, one in enumerate(retrieved)]
        )
    questions = EvalSet(
        [
            {
                "id": f"q{place}" * 100,
                "question": "왜 | `<b>` " * 500,
                "gold": [{"id": f"d{place}"}],
                "type": f"t{place % 40}",
            }
            for place in range(10_000)
        ]
    )
    comparison = compare(questions, runs, k=[1, 3, 5, 10], n_bootstrap=200, n_randomisation=200)
    text = comparison.to_markdown()
    assert len(text) < 20_000
    pull_request = script()
    assert pull_request.fit(text, "link") == text + "link"
    long = pull_request.fit("a line\n" * 20_000, "\nlink")
    assert 65_000 < len(long) <= pull_request.MOST_CHARACTERS == 65_536
    assert long.endswith("This comment is cut. The summary of the job has the rest.\n\nlink")


def test_the_action_installs_this_release_and_pins_what_it_uses() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert ACTION["inputs"]["version"]["default"] == project["version"]
    install = ACTION["runs"]["steps"][0]["run"]
    extras = re.search(r"krag-eval\[([a-z,]+)\]==\$VERSION", install)
    assert extras is not None
    assert {*extras[1].split(",")} <= {*project["optional-dependencies"]}
    used = [step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step]
    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", one) for one in used)


@pytest.mark.full
@pytest.mark.parametrize(("version", "code"), [("", 0), ("9.9", 1), ("0.1.0; touch made", 1)])
def test_the_step_that_installs_takes_the_named_release_alone(version: str, code: int, tmp_path: Path) -> None:
    """pip itself, with a wheel in a folder in place of an index."""
    release = ACTION["inputs"]["version"]["default"]
    about = f"krag_eval-{release}.dist-info"
    with zipfile.ZipFile(tmp_path / f"krag_eval-{release}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: krag-eval\nVersion: {release}\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PIP_FIND_LINKS": str(tmp_path),
        "PIP_NO_DEPS": "1",
        "PIP_NO_INDEX": "1",
        "PIP_TARGET": str(tmp_path / "installed"),
        "VERSION": version or release,
    }
    step = ACTION["runs"]["steps"][0]["run"]
    assert "${{" not in step
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", step], cwd=tmp_path, env=environment, check=False)
    assert (done.returncode, (tmp_path / "installed" / about).exists()) == (code, code == 0)
    assert not (tmp_path / "made").exists()


def blocks(language: str) -> list[str]:
    page = (ROOT / "docs" / "gate.md").read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


@pytest.mark.full
def test_the_workflow_of_the_documentation_uses_inputs_that_there_are(checkout: Path, api: Comments) -> None:
    workflows = [yaml.safe_load(block) for block in blocks("yaml") if "OWNER/krag-eval@" in block]
    assert [list(workflow["jobs"]) for workflow in workflows] == [["retrieval"], ["ask", "retrieval"]]
    for workflow in workflows:
        job = workflow["jobs"]["retrieval"]
        assert job["permissions"]["pull-requests"] == "write"
        (step,) = [step for step in job["steps"] if step.get("uses", "").startswith("OWNER/")]
        assert not step["with"].keys() - ACTION["inputs"].keys()
        given = {
            name.replace("-", "_"): filled(value, {"github.base_ref": "main"}) for name, value in step["with"].items()
        }
        files = {"evalset": "set.jsonl", "run": "run.jsonl", "policy": "gate.toml", "report": "false"}
        files |= {"baseline": "run.jsonl"} if "baseline" in given else {}
        assert run_action(checkout, api, PULL_REQUEST, **given | files).outputs["status"] == "fail"


def test_the_documented_job_that_runs_code_of_the_pull_request_has_no_secret_and_no_right_to_write() -> None:
    for workflow in (yaml.safe_load(block) for block in blocks("yaml") if "OWNER/krag-eval@" in block):
        for name, job in workflow["jobs"].items():
            runs_code = any("run" in step for step in job["steps"])
            assert runs_code == (name == "ask")
            if runs_code:
                assert job["permissions"] == {"contents": "read"}
                assert "secrets." not in yaml.safe_dump(job)
                assert job["steps"][0]["with"] == {"persist-credentials": False}


# What a pull request could plant: modules that Python or a library imports, settings of tools, programs.
PLANTED = {
    **{
        f"{name}.py": "{write}"
        for name in (
            *("json", "tomllib", "typing", "re", "pathlib", "random", "secrets", "sitecustomize", "usercustomize"),
            *("conftest", "numpy", "rich", "cyclopts", "evil", "scipy", "jinja2", "matplotlib", "site", "encodings"),
        )
    },
    "krag_eval/__init__.py": "{write}",
    "krag_eval/__main__.py": "{write}",
    "evil.pth": "import os; {write}",
    "pyvenv.cfg": "home = .",
    "matplotlibrc": "backend: module://evil",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p evil'\n",
    "pip.conf": "[global]\nno-index = true\n",
    ".venv/bin/python": "#!/bin/sh\ntouch {canary}\n",
    **dict.fromkeys(("git", "python", "python3", "pip"), "#!/bin/sh\ntouch {canary}\n"),
}


@pytest.mark.full
@pytest.mark.parametrize("command", ["gate", "compare"])
def test_nothing_that_a_pull_request_plants_runs(
    command: str, checkout: Path, api: Comments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = tmp_path / "canary"
    write = f"import sys; open({str(canary)!r}, 'a').write(__file__ + chr(10))"
    for name, content in PLANTED.items():
        path = checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.replace("{write}", write).replace("{canary}", f"'{canary}'"))
        path.chmod(0o755)
    probe = [sys.executable, "-c", "import json"]
    subprocess.run(probe, cwd=checkout, check=False, capture_output=True)
    assert canary.exists(), "the planted modules work where Python looks into the checkout"
    canary.unlink()
    monkeypatch.setenv("PATH", f"{checkout}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(checkout / "pip.conf"))
    monkeypatch.setenv("MATPLOTLIBRC", str(checkout / "matplotlibrc"))
    monkeypatch.setenv("BASH_ENV", str(checkout / "python"))
    monkeypatch.setenv("PYTHONPATH", str(checkout))  # as an earlier step may have left it
    inputs = {"gate": GATE | {"baseline_ref": "main"}, "compare": COMPARE}[command] | {"report": "true"}
    job = run_action(checkout, api, PULL_REQUEST, **inputs)
    assert job.outputs["status"] == {"gate": "fail", "compare": "worse"}[command], job.text
    assert Path(job.outputs["report"]).is_file()
    assert not canary.exists(), canary.read_text()


@pytest.mark.full
@pytest.mark.skipif(shutil.which("curl") is None, reason="need curl")
def test_the_gitlab_job_of_the_documentation_writes_a_note(checkout: Path, api: Comments) -> None:
    (job,) = [yaml.safe_load(block)["retrieval"] for block in blocks("yaml") if "CI_MERGE_REQUEST_IID" in block]
    install, gate = job["script"]
    assert shlex.split(install)[:2] == ["pip", "install"]
    (checkout / "data").mkdir()
    for name in ("set.jsonl", "run.jsonl"):
        shutil.copy(checkout / name, checkout / "data" / name.replace("set", "evalset"))
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CI_API_V4_URL": f"{api.address}",
        "CI_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_IID": "7",
        "GITLAB_TOKEN": "secret-token",
        "no_proxy": "127.0.0.1",
    }
    judged = subprocess.run(["bash", "-ec", gate], cwd=checkout, env=environment, capture_output=True, text=True)
    assert judged.returncode == 1
    note = "\n".join(job["after_script"])
    sent = subprocess.run(["bash", "-ec", note], cwd=checkout, env=environment, capture_output=True, text=True)
    assert sent.returncode == 0, sent.stderr
    assert api.asked == ["POST /projects/1/merge_requests/7/notes"]
    assert api.kept[0]["body"].startswith("### Retrieval gate: FAIL")
