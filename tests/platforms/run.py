"""Execute each recipe of docs/platforms.md with its platform, in an environment of its own.

    python tests/platforms/run.py [NAME ...]

The file check_NAME.py starts with the requirements that are known to work, and checks the recipe. Each is run with
these, and with the newest versions; what fails with the newest alone is named and is no failure. With
KRAG_EVAL_PICTURES=PYTHON, a Python with playwright takes the pictures of their pages in docs/img.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "platforms.md"
_RECIPE = re.compile(r"make test-platforms does \((\S+)\) -->\n```python\n(.*?)```", re.DOTALL)
_OFFLINE = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "LITELLM_LOCAL_MODEL_COST_MAP": "true",
    "OPIK_TRACK_DISABLE": "true",
    "OPIK_URL_OVERRIDE": "http://127.0.0.1:9/api",  # where nobody is
    "PHOENIX_TELEMETRY_ENABLED": "false",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "RAGAS_DO_NOT_TRACK": "true",
    "WEAVE_DISABLED": "true",
}


def recipes() -> dict[str, str]:
    """Return the code of the recipes of the page, by name."""
    return dict(_RECIPE.findall(PAGE.read_text(encoding="utf-8")))


def recipe(name: str) -> ModuleType:
    """Execute a recipe, and return its module, which can be imported as `recipe`."""
    module = sys.modules["recipe"] = ModuleType("recipe")
    exec(compile(recipes()[name], f"{PAGE.name} ({name})", "exec"), vars(module))
    return module


def assert_names_field(name: str, function: Callable[..., object], *args: object, **fields: object) -> None:
    """Call what has to name the field that a row lacks, and the version that works, in its error or in its result."""
    try:
        said = str(function(*args, **fields))
    except Exception as error:  # noqa: BLE001 - each platform has its own
        said = str(error)
    assert re.search(f"field .?'{name}.?'.*This works with [a-z-]+ [0-9.]+;", said), said


def free_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextmanager
def serving(command: list[str], address: str, **environment: str) -> Iterator[None]:
    """Run a platform's server until it answers, and end it at the end of the block."""
    with Path("server.log").open("w", encoding="utf-8") as log:
        server = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
        try:
            for _ in range(900):
                try:
                    urllib.request.urlopen(address, timeout=2).close()
                    break
                except OSError:
                    assert server.poll() is None, Path("server.log").read_text(encoding="utf-8")[-2000:]
                    time.sleep(0.2)
            else:
                raise TimeoutError(f"{command[0]} does not answer at {address}")
            yield
        finally:
            server.terminate()
            server.wait(30)


_TAKE = """
import sys
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1280, "height": 800}, device_scale_factor=1)
    page.goto(sys.argv[2])
    page.wait_for_timeout(12000)
    page.screenshot(path=sys.argv[3])
"""


def take_picture(name: str, address: str) -> None:
    """Save what a platform's page shows, if KRAG_EVAL_PICTURES names a Python that has playwright."""
    if python := os.environ.get("KRAG_EVAL_PICTURES"):
        browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
        target = str(ROOT / "docs" / "img" / f"platform-{name}.png")
        subprocess.run([python, "-c", _TAKE, browser, address, target], check=True)


def checks() -> dict[str, Path]:
    """Return the files that check recipes, by name."""
    return {path.stem.removeprefix("check_"): path for path in sorted(HERE.glob("check_*.py"))}


def requirements(check: Path) -> list[str]:
    """Return the requirements in the first line of a file."""
    return check.read_text(encoding="utf-8").partition("\n")[0].removeprefix("#").split()


def _passes(check: Path, packages: list[str], folder: Path) -> bool:
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    venv.create(folder, with_pip=uv is None, clear=True)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "-qq", "--no-input", "--disable-pip-version-check", str(ROOT)]
    if uv is not None:  # it takes a tenth of the time
        install = [uv, "pip", "install", "--quiet", "--python", python, "--requirement", str(ROOT / "pyproject.toml")]
    environment = {**os.environ, **_OFFLINE, "KRAG_EVAL_PLATFORM": check.stem, "PYTHONPATH": str(ROOT)}
    environment["MLFLOW_TRACKING_URI"] = f"sqlite:///{folder}/m.db"
    of_npm = [one.removeprefix("npm:").replace("==", "@") for one in packages if one.startswith("npm:")]
    steps = [[*install, *(one for one in packages if not one.startswith("npm:"))]]
    if of_npm:
        npm = [str(folder / "bin" / "npm"), "install", "--prefix", str(folder), "--ignore-scripts"]
        environment["PATH"] = f"{folder / 'bin'}{os.pathsep}{environment['PATH']}"
        steps.append([*npm, "--no-audit", "--no-fund", "--loglevel=error", *of_npm])
    steps.append([python, str(check)])
    return all(subprocess.run(step, cwd=folder, env=environment, check=False).returncode == 0 for step in steps)


def main(names: list[str]) -> int:
    """Run the checks, of all recipes if none is named; return 1 if one fails with its named versions."""
    known = checks()
    failed = []
    for name in names or known:
        named = requirements(known[name])
        newest = [re.sub("==.*", "", one) for one in named]
        for packages in (named, newest) if newest != named else (named,):
            passes = _passes(known[name], packages, ROOT / ".venv-platforms" / name)
            outcome = "passed" if passes else "FAILED"
            print(f"{name} with {' '.join(packages) or 'no package'}: {outcome}", flush=True)  # noqa: T201
            failed += [name] if packages is named and not passes else []
    print(f"Failed with the named versions: {', '.join(failed) or 'none'}.")  # noqa: T201
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
