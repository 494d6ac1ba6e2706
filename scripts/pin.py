"""Prints the closure of pyproject.toml's dependencies at the versions installed here: the content of requirements.txt.

python scripts/pin.py > requirements.txt
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
HEADER = "# The whole runtime, pinned: written by scripts/pin.sh from pyproject.toml. Don't edit.\n"


def normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(roots: list[str]) -> dict[str, str]:
    """Versions by normalised name. Raises SystemExit where a package isn't installed or lies outside its range."""
    pins: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(Requirement(root), "") for root in roots]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        try:
            found = distribution(requirement.name)
        except PackageNotFoundError:
            sys.exit(f"{requirement.name} isn't installed here: pip install it, then pin again.")
        if not requirement.specifier.contains(found.version, prereleases=True):
            sys.exit(f"{requirement.name} {found.version} is outside {requirement.specifier}.")
        pins[normalise(requirement.name)] = found.version
        for wanted in ("", *requirement.extras):
            if (found.name, wanted) not in seen:
                seen.add((found.name, wanted))
                waiting += [(Requirement(text), wanted) for text in found.requires or []]
    return pins


if __name__ == "__main__":
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]
    sys.stdout.write(HEADER)
    for name, version in sorted(closure(project["dependencies"]).items()):
        sys.stdout.write(f"{name}=={version}\n")
