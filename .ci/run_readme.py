"""Run the python blocks of the README in the installed wheel, and compare what they print with the page.

The page is the one in the metadata of the wheel, which a package index shows; each of its blocks stands alone, in an
interpreter of its own. Further pages are files, read from top to bottom: a block knows the names and the files of those
before it. run_readme.py [FILE...]
"""

import doctest
import importlib.metadata
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RUN = """
import contextlib, io, json, sys
*before, code = json.load(sys.stdin)
names = {"__name__": "__main__"}
with contextlib.redirect_stdout(io.StringIO()):
    for block in before:
        exec(block, names)
exec(code, names)
"""

front_page = "README.md of the wheel"
pages = {front_page: importlib.metadata.metadata("krag-eval").get_payload()}
pages |= {name: Path(name).read_text(encoding="utf-8") for name in sys.argv[1:]}
checker = doctest.OutputChecker()
failed = False
for name, page in pages.items():
    blocks = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    if not any(language == "python" for language, _ in blocks):
        sys.exit(f"{name} has no python block.")
    before = []
    for number, (language, code) in enumerate(blocks):
        if language != "python":
            continue
        shown = dict(blocks[number + 1 : number + 2]).get("text", "")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-I", "-X", "utf8", "-c", RUN],
                cwd=folder,
                input=json.dumps([*before, code]),
                capture_output=True,
                encoding="utf-8",
            )
        if done.returncode or not checker.check_output(shown, done.stdout, doctest.ELLIPSIS):
            print(f"{name}, block {number}:\n{code}\nprinted:\n{done.stdout}\n{done.stderr}")
            failed = True
        if name != front_page:
            before.append(code)
print(f"Ran the blocks of {', '.join(pages)}.")
sys.exit(failed)
