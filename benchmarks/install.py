"""How long an installation takes and how large it is: the default one, and the one with the torch extra.

Each is set up in an empty environment with an empty home and without pip's cache, as on a new machine. Times hold the
downloads, so they say something about the network too; `processor` is what this machine worked for it. Sizes are what
the files take on disk.

    python benchmarks/install.py                      the default installation
    python benchmarks/install.py --torch              with the torch extra as well
    python benchmarks/install.py --measured FOLDER    the size of an environment that exists already
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
MB = 1e6


def size_mb(folder: Path) -> float:
    """What the files below `folder` take on disk, hard links once, in MB (10⁶ bytes)."""
    seen: dict[tuple[int, int], int] = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            about = path.stat()
            seen[about.st_dev, about.st_ino] = about.st_blocks * 512
    return sum(seen.values()) / MB


def step(name: str, command: list[str], environ: dict[str, str], folder: Path, where: Path) -> None:
    """Run one step and print a row: its seconds, those of the processor, and how much `where` grew."""
    before, worked, started = size_mb(where), _worked_s(), time.perf_counter()
    subprocess.run(command, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
    took, grown = time.perf_counter() - started, size_mb(where) - before
    print(f"| {name} | {took:.0f} s | {_worked_s() - worked:.0f} s | {grown:.0f} MB |", flush=True)


def _worked_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Measure, and print a table for the manual."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", action="store_true", help="also install the torch extra: several gigabytes")
    parser.add_argument("--measured", type=Path, help="only print the size of this environment")
    given = parser.parse_args()
    if given.measured:
        print(f"{given.measured.name}: {size_mb(given.measured):.0f} MB")
        return 0
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        clone, home = place / "librarian", place / "home"
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(clone)], check=True)
        kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name == "PATH"}
        environ = {**kept, "HOME": str(home), "PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        print("| step | time | of the processor | on disk |\n|---|---|---|---|")
        step("set-up", ["scripts/setup.sh"], environ, clone, place)
        print(f"| all | | | {size_mb(clone / '.venv') + size_mb(home):.0f} MB |")
        if given.torch:
            pip = [".venv/bin/python", "-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary=:all:"]
            step("torch extra", [*pip, "--no-deps", "-r", "requirements-torch.txt"], environ, clone, place)
            print(f"| all with the torch extra | | | {size_mb(clone / '.venv') + size_mb(home):.0f} MB |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
