"""Run each python block of the README in an interpreter of its own, and compare what it prints with the page.

The page is the one in the metadata of the installed wheel, which a package index shows. Further pages are files:
run_readme.py [FILE...]
"""

import doctest
import importlib.metadata
import re
import subprocess
import sys
import tempfile
from pathlib import Path

pages = {"README.md of the wheel": importlib.metadata.metadata("krag-eval").get_payload()}
pages |= {name: Path(name).read_text(encoding="utf-8") for name in sys.argv[1:]}
checker = doctest.OutputChecker()
failed = False
for name, page in pages.items():
    blocks = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    if not any(language == "python" for language, _ in blocks):
        sys.exit(f"{name} has no python block.")
    for number, (language, code) in enumerate(blocks):
        if language != "python":
            continue
        shown = dict(blocks[number + 1 : number + 2]).get("text", "")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-I", "-X", "utf8", "-c", code], cwd=folder, capture_output=True, encoding="utf-8"
            )
        if done.returncode or not checker.check_output(shown, done.stdout, doctest.ELLIPSIS):
            print(f"{name}, block {number}:\n{code}\nprinted:\n{done.stdout}\n{done.stderr}")
            failed = True
print(f"Ran the blocks of {', '.join(pages)}.")
sys.exit(failed)
