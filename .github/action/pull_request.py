"""The steps of the GitHub Action (action.yml): `score`, `comment` and `verdict`. Settings come from the environment."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

MOST_CHARACTERS = 65_536  # of a comment, as GitHub counts them
_OUTCOMES = ("worse", "better", "unresolved", "same")
_SECONDS = 30
_CUT = "\n\nThis comment is cut. The summary of the job has the rest.\n"


def score() -> None:
    """Judge the run, and leave the status and the paths of summary, results and report as outputs of the step."""
    command, evalset, run = setting("COMMAND"), setting("EVALSET"), setting("RUN")
    if command not in ("gate", "compare"):
        stop(f"`command` must be gate or compare, got {command!r}.")
    folder = Path(setting("RUNNER_TEMP", "."), "krag-eval")
    folder.mkdir(parents=True, exist_ok=True)
    baseline = find_baseline(run, folder)
    summary, results, report = folder / "summary.md", folder / "results.json", folder / "report.html"
    texts, status = [], ""
    if command == "gate":
        if not setting("POLICY"):
            stop("`gate` needs `policy`, a TOML file with the requirements.")
        options = ["--policy", setting("POLICY"), *(["--baseline", baseline] if baseline else [])]
        texts.append(ask(["gate", evalset, run, *options], results, folder, accepted=(0, 1, 3)))
        status = json.loads(results.read_text("utf-8"))["status"]
    elif not baseline:
        stop("`compare` needs `baseline`, a run file, or `baseline-ref`, a branch or commit that holds one.")
    if command == "compare":
        more = shlex.split(setting("ARGUMENTS"))
        texts.append(ask(["compare", evalset, baseline, run, *more], results, folder, accepted=(0,)))
        found = {row["outcome"] for row in json.loads(results.read_text("utf-8"))["rows"]}
        status = next(outcome for outcome in _OUTCOMES if outcome in found)
    elif baseline:
        texts.append(compare_as_policy_says(evalset, baseline, run))
    summary.write_text("\n".join(texts), "utf-8")
    outputs = {"status": status, "summary": summary, "results": results}
    if setting("REPORT") == "true":
        runs = [baseline, run] if baseline else [run]
        more = shlex.split(setting("REPORT_ARGUMENTS"))
        krag_eval(["report", evalset, *runs, "--out", str(report), "--force", *more], accepted=(0,))
        outputs["report"] = report
    append("GITHUB_STEP_SUMMARY", summary.read_text("utf-8"))
    append("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in outputs.items()))


def find_baseline(run: str, folder: Path) -> str:
    """Return the path of the baseline, after it was read from the commit that holds it; empty if there is none."""
    reference, path = setting("BASELINE_REF"), setting("BASELINE")
    if not reference:
        return path
    path = path or run
    if reference.startswith("-"):
        stop(f"`baseline-ref` must name a branch, tag or commit, got {reference!r}.")
    fetched = subprocess.run(["git", "fetch", "--quiet", "--depth", "1", "origin", reference], check=False)
    commit = "FETCH_HEAD" if fetched.returncode == 0 else reference
    shown = subprocess.run(["git", "show", f"{commit}:./{path}"], capture_output=True, check=False)
    if shown.returncode:
        stop(f"{reference} has no {path}: {shown.stderr.decode(errors='replace').strip()} Correct `baseline-ref`.")
    kept = folder / (re.sub(r"[^\w.-]", "-", reference) + "".join(Path(path).suffixes[-2:]))
    kept.write_bytes(shown.stdout)
    return str(kept)


def compare_as_policy_says(evalset: str, baseline: str, run: str) -> str:
    """Return the comparison of both runs in Markdown, scored with the settings of the policy."""
    from krag_eval import KragEvalError, compare, read_evalset, read_run
    from krag_eval.analysis.gate import read_policy

    try:
        questions = read_evalset(evalset)
        before, after = read_run(baseline, questions), read_run(run, questions)
        first = f"{before.name} (baseline)" if before.name == after.name else before.name
        scoring = read_policy(setting("POLICY")).scoring
        return compare({first: before, after.name: after}, questions, **scoring).to_markdown()
    except KragEvalError as error:
        stop(str(error))


def ask(arguments: list[str], results: Path, folder: Path, *, accepted: tuple[int, ...]) -> str:
    """Run a command that writes JSON and Markdown, and return the Markdown."""
    text = folder / f"{arguments[0]}.md"
    krag_eval([*arguments, "--json", str(results), "--markdown", str(text)], accepted=accepted)
    return text.read_text("utf-8")


def krag_eval(arguments: list[str], *, accepted: tuple[int, ...]) -> None:
    """Run a command of krag-eval; stop as it does unless it ends with an accepted exit code."""
    code = subprocess.run([sys.executable, "-m", "krag_eval", *arguments], check=False).returncode
    if code not in accepted:
        stop(f"krag-eval {arguments[0]} ended with exit code {code}. Its message is above.")


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
        print(f"::warning::No comment was written: the API answered {error.code} {error.reason}.{why}")
    except (OSError, ValueError) as error:  # a URLError, a timeout, or a proxy's page instead of JSON
        print(f"::warning::No comment was written: {error}.")


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
    for name in ("INCONCLUSIVE", "WORSE"):
        if setting(name) not in ("warn", "fail"):
            stop(f"`{name.lower()}` must be warn or fail, got {setting(name)!r}.")
    fails = {"fail": "fail", "inconclusive": setting("INCONCLUSIVE"), "worse": setting("WORSE")}.get(status)
    if fails is None:
        print(f"Retrieval: {status}")
    elif fails == "warn":
        print(f"::warning::Retrieval: {status}")
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
    line = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::error::{line}")
    sys.exit(1)


if __name__ == "__main__":
    {"score": score, "comment": comment, "verdict": verdict}[sys.argv[1]]()
