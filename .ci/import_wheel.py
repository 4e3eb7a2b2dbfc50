"""Import every module of an installed wheel, and see that none comes from somewhere else."""

import importlib
import sys
import sysconfig
import zipfile
from pathlib import Path

wheel, front_door_only = sys.argv[1], "--front-door-only" in sys.argv
files = [Path(name) for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")]
packages = sorted({file.parts[0] for file in files})
modules = sorted(
    ".".join(file.parent.parts if file.name == "__init__.py" else file.with_suffix("").parts)
    for file in files
    if file.name != "__main__.py"
)
if front_door_only:
    modules = ["krag_eval"]
home = Path(sysconfig.get_path("purelib")).resolve()
for name in modules:
    origin = importlib.import_module(name).__file__
    if origin is None or home not in Path(origin).resolve().parents:
        sys.exit(f"{name} comes from {origin}, not from {home}.")
for package in packages:
    if not (home / package / "py.typed").is_file():
        sys.exit(f"{package} has no py.typed, so its types do not reach those who install it.")
if front_door_only:  # without the extras, each public name is there or says what to install
    front_door = importlib.import_module("krag_eval")
    for name in dir(front_door):
        try:
            getattr(front_door, name)
        except front_door.MissingDependencyError as error:
            print(error)
print(f"Imported {len(modules)} modules of {', '.join(packages)}.")
