"""The steps of the GitHub Action (action.yml): `score`, `comment` and `verdict`. Settings come from the environment.

A pull request brings data only. Python runs isolated, and what it starts runs outside the checkout.
"""

import os
import sys

# Both are loaded when Python starts. What else is imported could come from PYTHONPATH, which `-I` ignores.
if __name__ == "__main__" and not (sys.flags.isolated and sys.flags.utf8_mode):
    os.execv(sys.executable, [sys.executable, "-I", "-X", "utf8", *sys.argv])

import json
import re
import shlex
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

MOST_CHARACTERS = 65_536  # of a comment, as GitHub counts them
_OUTCOMES = ("worse", "better", "unresolved", "same")
_STATUSES = ("pass", "fail", "inconclusive", *_OUTCOMES)
_SECONDS = 30
_CUT = "\n\nThis comment is cut. The summary of the job has the rest.\n"
_FILES = ("--corpus",)  # options that name data
NO_OPTIONS = ("--embeddings", "--json", "--markdown", "--out", "--plots", "--format", "--force")
# What a process needs of the environment; everything else may have been set by an earlier step, or be a secret.
_KEPT = (
    *("HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TMP", "TEMP", "LD_LIBRARY_PATH", "GITHUB_ACTIONS"),
    *("SYSTEMROOT", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA"),
)
# Settings of a repository that name programs, each without one.
_NO_PROGRAMS = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.sshCommand=ssh", "core.gitProxy=", "core.askPass="),
    *("core.attributesFile=/dev/null", "core.alternateRefsCommand=", "credential.helper=", "protocol.ext.allow=never"),
    *(
        "remote.origin.uploadpack=git-upload-pack",
        "fetch.recurseSubmodules=false",
        "maintenance.auto=false",
        "gc.auto=0",
    ),
)


def score() -> None:
    """Judge the run, and leave the status and the paths of summary, results and report as outputs of the step."""
    command, run = setting("COMMAND"), setting("RUN")
    if command not in ("gate", "compare"):
        stop(f"`command` must be gate or compare, got {command!r}.")
    folder = Path(tempfile.mkdtemp(prefix="krag-eval-", dir=setting("RUNNER_TEMP") or None)).resolve()
    options = {name: options_of(name) for name in ("ARGUMENTS", "REPORT_ARGUMENTS")}
    baseline = find_baseline(run, folder)
    evalset, run = data_file("evalset", setting("EVALSET")), data_file("run", run)
    policy = data_file("policy", setting("POLICY")) if setting("POLICY") else ""
    os.chdir(folder)  # matplotlib, for one, reads its settings where it is started
    summary, results, report = folder / "summary.md", folder / "results.json", folder / "report.html"
    texts, status = [], ""
    if command == "gate":
        if not policy:
            stop("`gate` needs `policy`, a TOML file with the requirements.")
        given = ["--policy", policy, *(["--baseline", baseline] if baseline else [])]
        texts.append(ask(["gate", *given], [evalset, run], results, folder, accepted=(0, 1, 3)))
        status = json.loads(results.read_text("utf-8"))["status"]
    elif not baseline:
        stop("`compare` needs `baseline`, a run file, or `baseline-ref`, a branch or commit that holds one.")
    if command == "compare":
        given = ["compare", *options["ARGUMENTS"]]
        texts.append(ask(given, [evalset, baseline, run], results, folder, accepted=(0,)))
        found = {row["outcome"] for row in json.loads(results.read_text("utf-8"))["rows"]}
        status = next(outcome for outcome in _OUTCOMES if outcome in found)
    elif baseline:
        texts.append(compare_as_policy_says(evalset, baseline, run, policy))
    summary.write_text("\n".join(texts), "utf-8")
    outputs = {"status": status, "summary": summary, "results": results}
    if setting("REPORT") == "true":
        runs = [baseline, run] if baseline else [run]
        given = ["report", *options["REPORT_ARGUMENTS"], "--out", str(report), "--force"]
        krag_eval(given, [evalset, *runs], accepted=(0,))
        outputs["report"] = report
    append("GITHUB_STEP_SUMMARY", summary.read_text("utf-8"))
    append("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in outputs.items()))


def options_of(name: str) -> list[str]:
    """Return the options that an input adds to a command, without those that load code or say where to write."""
    given, shown = shlex.split(setting(name)), name.lower().replace("_", "-")
    for place, option in enumerate(given):
        known, sign, value = option.partition("=")
        if known in NO_OPTIONS:
            stop(f"`{shown}` has {known}, which loads code or writes files; the action does neither. Leave it out.")
        if known in _FILES and sign:
            given[place] = f"{known}={data_file(known, value)}"
        elif known in _FILES and place + 1 < len(given):
            given[place + 1] = data_file(known, given[place + 1])
    return given


def data_file(name: str, path: str) -> str:
    """Return the absolute path of a file of data: a link of the pull request could lead to a secret of this machine."""
    file = Path(os.path.abspath(path))  # noqa: PTH100 - which follows no link
    roots = [Path.cwd(), *([Path(setting("RUNNER_TEMP"))] if setting("RUNNER_TEMP") else []), file.parent]
    root = next(one for one in roots if file.is_relative_to(one))
    plain = root.resolve() / file.relative_to(root)
    if os.path.normcase(file.resolve()) != os.path.normcase(plain):
        stop(f"`{name}` must be a file, got {path}, which a symbolic link leads to. Put the file itself there.")
    if file.exists() and not file.is_file():
        stop(f"`{name}` must be a file, got {path}, which is none. Name a file.")
    return str(plain)


def find_baseline(run: str, folder: Path) -> str:
    """Return the path of the baseline, after it was read from the commit that holds it; empty if there is none."""
    reference, path = setting("BASELINE_REF"), setting("BASELINE")
    if not reference:
        return data_file("baseline", path) if path else ""
    path = path or run
    if reference.startswith("-"):
        stop(f"`baseline-ref` must name a branch, tag or commit, got {reference!r}.")
    fetched = git("fetch", "--quiet", "--depth", "1", "--no-recurse-submodules", "origin", reference)
    commit = "FETCH_HEAD" if fetched.returncode == 0 else reference
    shown = git("cat-file", "blob", f"{commit}:./{path}")  # as it is stored: no filter, no text conversion
    if shown.returncode:
        stop(f"{reference} has no {path}: {shown.stderr.decode(errors='replace').strip()} Correct `baseline-ref`.")
    kept = folder / "baseline" / (re.sub(r"[^\w.-]", "-", reference) + "".join(Path(path).suffixes[-2:]))
    kept.parent.mkdir()
    kept.write_bytes(shown.stdout)
    return str(kept)


def git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run git without any program that the settings of the repository name."""
    program = shutil.which("git", path=safe_path())
    if program is None:
        stop("`baseline-ref` needs git, which is not on the path. Install it, or use `baseline`.")
    settings = [part for one in _NO_PROGRAMS for part in ("-c", one)]
    return subprocess.run([program, *settings, *arguments], env=environment(), capture_output=True, check=False)


def safe_path() -> str:
    """Return the folders of PATH without those of the checkout."""
    here = {Path.cwd(), Path.cwd().resolve(), *([Path(root)] if (root := setting("GITHUB_WORKSPACE")) else [])}
    folders = [Path(one) for one in setting("PATH").split(os.pathsep) if Path(one).is_absolute()]
    return os.pathsep.join(str(one) for one in folders if not any(one.is_relative_to(root) for root in here))


def environment() -> dict[str, str]:
    """Return the environment for other programs: no secret, and no setting that makes them load something."""
    kept = {name: value for name in _KEPT if (value := os.environ.get(name)) is not None}
    return kept | {"PATH": safe_path(), "GIT_TERMINAL_PROMPT": "0", "MPLBACKEND": "agg"}


def compare_as_policy_says(evalset: str, baseline: str, run: str, policy: str) -> str:
    """Return the comparison of both runs in Markdown, scored with the settings of the policy."""
    from krag_eval import KragEvalError, compare, read_evalset, read_run
    from krag_eval.analysis.gate import read_policy

    try:
        questions = read_evalset(evalset)
        before, after = read_run(baseline, evalset=questions), read_run(run, evalset=questions)
        first = f"{before.name} (baseline)" if before.name == after.name else before.name
        scoring = read_policy(policy).scoring
        return compare(questions, {first: before, after.name: after}, **scoring).to_markdown()
    except KragEvalError as error:
        stop(str(error))


def ask(command: list[str], files: Sequence[str], results: Path, folder: Path, *, accepted: tuple[int, ...]) -> str:
    """Run a command that writes JSON and Markdown, and return the Markdown."""
    text = folder / f"{command[0]}.md"
    krag_eval([*command, "--json", str(results), "--markdown", str(text)], files, accepted=accepted)
    return text.read_text("utf-8")


def krag_eval(command: list[str], files: Sequence[str], *, accepted: tuple[int, ...]) -> None:
    """Run a command of krag-eval; stop as it does unless it ends with an accepted exit code."""
    line = [sys.executable, "-I", "-X", "utf8", "-m", "krag_eval", *command, "--", *files]
    code = subprocess.run(line, env=environment(), check=False).returncode
    if code not in accepted:
        stop(f"krag-eval {command[0]} ended with exit code {code}. Its message is above.")


def comment() -> None:
    """Write the summary into the comment that this action keeps on the pull request; elsewhere do nothing."""
    event = json.loads(Path(setting("GITHUB_EVENT_PATH")).read_text("utf-8"))
    number = event.get("pull_request", {}).get("number")
    if number is None:
        print("This is no pull request: there is nothing to comment on. The summary of the job has the verdict.")
        return
    marker = f"<!-- {setting('NAME')} -->"
    link = f"\n[Report with every question]({setting('REPORT_URL')})\n" if setting("REPORT_URL") else ""
    body = fit(f"{marker}\n{Path(setting('SUMMARY')).read_text('utf-8')}", link)
    address = f"{setting('GITHUB_API_URL')}/repos/{setting('GITHUB_REPOSITORY')}/issues"
    try:
        mine = next((one for one in comments(f"{address}/{number}/comments") if is_mine(one, marker)), None)
        if mine is None:
            request("POST", f"{address}/{number}/comments", {"body": body})
        else:
            request("PATCH", f"{address}/comments/{mine['id']}", {"body": body})
    except urllib.error.HTTPError as error:
        why = ""
        if error.code in (401, 403, 404):
            why = (
                " The token may not write comments: give the job the permission `pull-requests: write`. Pull requests "
                "from forks never have it."
            )
        annotate("warning", f"No comment was written: the API answered {error.code} {error.reason}.{why}")
    except (OSError, ValueError) as error:  # a URLError, a timeout, or a proxy's page instead of JSON
        annotate("warning", f"No comment was written: {error}.")


def fit(text: str, link: str) -> str:
    """Return text and link within the characters that a comment may have: cut at the end of a line, if at all."""
    room = MOST_CHARACTERS - len(link)
    if len(text) > room:
        text = text[: room - len(_CUT)].rpartition("\n")[0] + _CUT
    return text + link


def is_mine(one: dict[str, Any], marker: str) -> bool:
    """Whether a bot wrote this comment, and it begins with the marker: a person may have quoted it."""
    is_bot: bool = one["user"]["type"] == "Bot"
    return is_bot and str(one["body"]).startswith(marker)


def comments(address: str) -> Iterator[dict[str, Any]]:
    """Yield the comments, page by page."""
    page = 1
    while found := request("GET", f"{address}?per_page=100&page={page}"):
        yield from found
        page += 1


def request(method: str, address: str, content: dict[str, str] | None = None) -> Any:
    """Ask the API of GitHub."""
    asked = urllib.request.Request(
        address,
        None if content is None else json.dumps(content).encode(),
        {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {setting('TOKEN')}",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
        method=method,
    )
    with urllib.request.urlopen(asked, timeout=_SECONDS) as answer:
        return json.load(answer)


def verdict() -> None:
    """Fail the job if the status asks for it."""
    status = setting("STATUS")
    if status not in _STATUSES:
        stop(f"The status must be one of {', '.join(_STATUSES)}, got {status!r}. The step that scores says why.")
    for name in ("INCONCLUSIVE", "WORSE"):
        if setting(name) not in ("warn", "fail"):
            stop(f"`{name.lower()}` must be warn or fail, got {setting(name)!r}.")
    fails = {"fail": "fail", "inconclusive": setting("INCONCLUSIVE"), "worse": setting("WORSE")}.get(status)
    if fails is None:
        print(f"Retrieval: {status}")
    elif fails == "warn":
        annotate("warning", f"Retrieval: {status}")
    else:
        stop(f"Retrieval: {status}")


def setting(name: str, default: str = "") -> str:
    """Return a variable of the environment."""
    return os.environ.get(name, default)


def append(variable: str, text: str) -> None:
    """Append to the file that a variable names, as steps give their summary and outputs to the runner."""
    with Path(setting(variable)).open("a", encoding="utf-8") as file:
        file.write(text)


def stop(message: str) -> NoReturn:
    """End the step with an error that the runner shows at the job."""
    annotate("error", message)
    sys.exit(1)


def annotate(kind: str, message: str) -> None:
    """Have the runner show a message at the job, on one line, in which nothing steers it."""
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in " ".join(message.split()))
    print(f"::{kind}::{line.replace('%', '%25')}", flush=True)


if __name__ == "__main__":
    {"score": score, "comment": comment, "verdict": verdict}[sys.argv[1]]()
