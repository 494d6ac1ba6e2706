"""What a host waits for, and whether many at once are served: bridges as processes, a daemon behind them.

    .venv/bin/python benchmarks/bridges.py [--bridges 16] [--searches 200] [--starts 10]

Prints, for the manual (`docs/librarian/`) copied to a temporary folder and the settings of the environment:

* seconds until `initialize` is answered where the daemon must be started, and where it runs; those of the processor
  too, which a busy machine doesn't change much;
* a bridge's memory, and seconds from its start to the first answer of a search with a daemon running;
* searches by many bridges at once while files are written, changed and deleted: errors (exit code 1 where there is one)
  and times.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend"))

from librarian.daemon import client
from librarian.daemon.discovery import Library
from librarian.files.lock import FolderLock
from tests.api.raw_host import BACKEND, RawHost, relay

QUESTIONS = [
    "how do I connect Cursor",
    "what does the daemon do",
    "serve.idle_timeout_s",
    "rebuild the index",
    "which models can I use",
    "bearer token",
    "search modes compared",
    "where are vectors stored",
]


def processor_s(pid: int) -> float:
    """Seconds of the processor that a process has used; nan where the system doesn't say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def middle(values: list[float]) -> str:
    """Median and range."""
    return f"{statistics.median(values):.3f} s (from {min(values):.3f} to {max(values):.3f})"


def starts(root: Path, index: Path, rounds: int) -> None:
    """Handshakes and first answers, with and without a daemon running."""
    cold, used, warm, answered, memory = [], [], [], [], []
    for number in range(rounds):
        client.shut_down_daemon(index)
        began = time.perf_counter()
        with RawHost(relay(root, index)) as host:
            host.initialize()
            cold.append(time.perf_counter() - began)
            holder = FolderLock(index).holder()
            used.append(processor_s(holder.pid if holder else 0) + processor_s(host.process.pid))
            host.call("search_documentation", query=QUESTIONS[0])
            began = time.perf_counter()
            with RawHost(relay(root, index)) as other:
                other.initialize()
                warm.append(time.perf_counter() - began)
                other.call("search_documentation", query=f"{QUESTIONS[1]} {number}")
                answered.append(time.perf_counter() - began)
                memory.append(other.memory_mb())
    print(f"initialize, daemon to be started   {middle(cold)}; of the processor {middle(used)}")
    print(f"initialize, daemon running         {middle(warm)}")
    print(f"first answer, daemon running       {middle(answered)}")
    print(f"memory of a bridge                 {max(memory):.1f} MB")


def crowd(root: Path, index: Path, bridges: int, searches: int) -> int:
    """Many bridges at once while files change; how many errors there were."""
    done = threading.Event()
    changes = 0

    def change() -> None:
        nonlocal changes
        chance = random.Random(1)
        while not done.wait(0.05):
            path = root / "librarian" / "changing" / f"page{chance.randrange(40)}.md"
            path.parent.mkdir(exist_ok=True)
            if path.exists() and chance.random() < 0.3:
                path.unlink()
            else:
                path.write_text(f"# Page {changes}\n\nThe token of change {changes} is t{chance.random()}.\n", "utf-8")
            changes += 1

    def search(host: RawHost, seed: int) -> tuple[list[float], list[str]]:
        chance, times, errors = random.Random(seed), [], []
        for number in range(searches):
            began = time.perf_counter()
            question = f"{chance.choice(QUESTIONS)} {number if number % 2 else ''}"
            answer = host.call("search_documentation", timeout_s=120, query=question)
            times.append(time.perf_counter() - began)
            if "error" in answer or answer["result"].get("isError"):
                errors.append(str(answer)[:300])
        return times, errors

    with ExitStack() as stack:
        hosts = [stack.enter_context(RawHost(relay(root, index))) for _ in range(bridges)]
        for host in hosts:
            host.initialize()
        changer = threading.Thread(target=change)
        changer.start()
        began = time.perf_counter()
        try:
            with ThreadPoolExecutor(bridges) as pool:
                outcomes = list(pool.map(search, hosts, range(bridges)))
        finally:
            done.set()
            changer.join()
        seconds = time.perf_counter() - began
        noise = sum(len(host.noise) for host in hosts)
    times = sorted(value for found, _ in outcomes for value in found)
    errors = [error for _, found in outcomes for error in found]
    p50, p95 = (1000 * times[int(len(times) * part)] for part in (0.5, 0.95))
    print(
        f"{bridges} bridges, {searches} searches each    {len(errors)} errors, {noise} lines that aren't protocol, "
        f"{changes} changes of files; {len(times) / seconds:.0f} searches/s, p50 {p50:.0f} ms, p95 {p95:.0f} ms"
    )
    for error in errors[:5]:
        print(f"  {error}")
    return len(errors) + noise


def main() -> int:
    """Measure and print; 1 where a search failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bridges", type=int, default=16)
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--starts", type=int, default=10)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="librarian-bench-") as folder:
        root, index = Path(folder) / "docs", Path(folder) / "index"
        shutil.copytree(BACKEND.parent / "docs", root)
        print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
        try:
            with RawHost(relay(root, index)) as host:
                host.initialize()
            client.call(Library(index), "refresh", {})
            starts(root, index, given.starts)
            return int(crowd(root, index, given.bridges, given.searches) > 0)
        finally:
            client.shut_down_daemon(index)


if __name__ == "__main__":
    sys.exit(main())
