"""Write requirements/sbom.cdx.json from a lock on stdin: the packages of krag-eval and its extras, as CycloneDX.

The wheel carries it (PEP 770). It has no time and no serial number, so that the same lock gives the same bytes.
Licences are those that the installed packages declare. `make lock` calls this.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def licences_of(package: metadata.PackageMetadata) -> list[dict[str, Any]]:
    """Return what a package says about its licence: an expression, or else its classifiers, or else one line."""
    if expression := package.get("License-Expression"):
        return [{"expression": expression}]
    classifiers = [
        line for line in package.get_all("Classifier") or () if line.startswith("License :: OSI Approved :: ")
    ]
    named = [line.rpartition(" :: ")[2] for line in classifiers] or [package.get("License") or ""]
    return [{"license": {"name": name}} for name in named if name and len(name.splitlines()) == 1]


def needed_by(lines: list[str], known: set[str]) -> list[str]:
    """Return the names of the packages that these requirements need on this machine, without those of extras."""
    needed = [Requirement(line) for line in lines]
    names = {canonicalize_name(r.name) for r in needed if r.marker is None or r.marker.evaluate({"extra": ""})}
    return sorted(names & known)


def main() -> None:
    """Read the lock, and write the file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = sys.stdin.read().replace("\\\n", " ").splitlines()
    locked = {line.partition("==")[0]: line for line in lines}
    requires, licences = {project["name"]: needed_by(project["dependencies"], set(locked))}, {}
    for name in locked:
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # of another platform
            continue
        requires[name], licences[name] = needed_by(package.requires or [], set(locked)), licences_of(package.metadata)
    core, waiting = set[str](), [project["name"]]
    while waiting:
        new = set(requires.get(waiting.pop(), ())) - core
        core |= new
        waiting += new
    refs = {name: f"pkg:pypi/{name}@{re.split('[= ]+', line)[1]}" for name, line in locked.items()}
    refs[project["name"]] = f"pkg:pypi/{project['name']}@{project['version']}"

    def component(name: str, **fields: Any) -> dict[str, Any]:
        purl = refs[name]
        return {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": purl.rpartition("@")[2],
            **fields,
            "purl": purl,
        }

    components = [
        component(
            name,
            scope="required" if name in core else "optional",
            hashes=[{"alg": "SHA-256", "content": one} for one in re.findall(r"--hash=sha256:(\w+)", line)],
            **({"licenses": licences[name]} if licences.get(name) else {}),
        )
        for name, line in sorted(locked.items())
    ]
    sbom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(project["name"], licenses=[{"license": {"id": project["license"]}}])},
        "components": components,
        "dependencies": [
            {"ref": refs[name], "dependsOn": [refs[one] for one in requires[name]]} for name in sorted(requires)
        ],
    }
    target = ROOT / "requirements" / "sbom.cdx.json"
    target.write_text(json.dumps(sbom, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
