"""An hour of mixed searches and changes, and what is left of memory, handles and disk afterwards.

    PYTHONPATH=backend python benchmarks/soak.py                  # an hour, 2,000 streams
    PYTHONPATH=backend python benchmarks/soak.py --minutes 5

A real server (HTTP, all doors) over a library of its own with the real model: clients search over REST and MCP and
read documents, files are edited, moved, added and deleted, `/sse` streams are opened and dropped. Errors other than
`busy` count as errors. Memory (of the server, and of the children that read and embed for it), handles, threads and
disk are taken thirty times; growth counts from the fourth minute on and fails beyond five in a hundred.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend"))

import httpx
import psutil

from tests.reliability.killable import WORDS, change, page
from tests.reliability.running import Running, until

FILES = 300
WARM_UP_MIN = 4  #: by then the caches of answers and questions are as large as they get; of a short run half
PAUSE_S = 0.02  #: between two questions of a client
SAMPLES = 30
FLAT = 0.05  #: how much of the memory after warm-up may come on top of it


@dataclass(frozen=True, slots=True)
class Sample:
    """The server at one moment."""

    minute: float
    memory_mb: float
    each_child_mb: tuple[float, ...]  #: in the order in which they were started
    handles: int
    threads: int
    disk_mb: float

    @property
    def children_mb(self) -> float:
        return sum(self.each_child_mb)

    def __str__(self) -> str:
        each = " + ".join(f"{memory_mb:.1f}" for memory_mb in self.each_child_mb)
        return (
            f"{self.minute:6.1f} min  memory {self.memory_mb:7.1f} MB  "
            f"children {self.children_mb:6.1f} MB ({each})  handles {self.handles:4d}  "
            f"threads {self.threads:3d}  disk {self.disk_mb:6.1f} MB"
        )


def main() -> int:
    """Prints samples and figures; returns 1 where something failed or grew."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--clients", type=int, default=4)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    dice = random.Random(3)
    for number in range(FILES):
        path = folder / "docs" / f"p{number % 5}" / "c" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(dice))
    running = Running(folder, {"docs": {"root_path": "docs", "watch_debounce_ms": 200}})
    try:
        url = running.url()
        with httpx.Client(base_url=url, timeout=60) as asking:
            until(lambda: asking.get("/health").json()["status"] == "ok", "the index", 600)
        return soak(running, url, given.minutes * 60, given.streams, given.clients)
    finally:
        print(f"stopped in {running.stop():.1f} s")
        shutil.rmtree(folder)


def soak(running: Running, url: str, seconds: float, streams: int, clients: int) -> int:
    """All at once, for that long."""
    done, end = threading.Event(), time.monotonic() + seconds
    outcomes: Counter[str] = Counter()
    lock = threading.Lock()

    def count(what: str) -> None:
        with lock:
            outcomes[what] += 1

    samples: list[Sample] = []
    began = time.monotonic()
    with ThreadPoolExecutor(clients + 2) as pool:
        for number in range(clients):
            pool.submit(client, url, number, done, count)
        pool.submit(editor, running.folder / "docs", done, count)
        opened = pool.submit(opener, url, streams, seconds, done, count)
        while time.monotonic() < end:
            done.wait(seconds / SAMPLES)
            samples.append(sample(running, (time.monotonic() - began) / 60))
            print(samples[-1], flush=True)
        done.set()
        opened.result()
    with httpx.Client(base_url=url, timeout=60) as asking:
        until(lambda: asking.get("/health").json()["status"] == "ok", "quiet", 300)
        answered = asking.get("/health").json()["documents"]
    on_disk = sum(1 for _ in (running.folder / "docs").rglob("*.md"))
    print(dict(outcomes))
    warm = next(taken for taken in samples if taken.minute >= min(WARM_UP_MIN, seconds / 120))
    last = samples[-1]
    growth = last.memory_mb / warm.memory_mb - 1
    children = last.children_mb / warm.children_mb - 1
    largest = max(taken.disk_mb for taken in samples)
    print(f"memory {growth:+.1%} after warm-up, that of the children {children:+.1%}")
    half = samples[len(samples) // 2]
    print(
        f"of that in the second half {last.memory_mb / half.memory_mb - 1:+.1%}, "
        f"of the children {last.children_mb / half.children_mb - 1:+.1%}"
    )
    print(f"handles {last.handles - warm.handles:+d}; errors {outcomes['error']}")
    print(f"disk {warm.disk_mb:.1f} MB after warm-up, {largest:.1f} MB at most, {last.disk_mb:.1f} MB at the end")
    print(f"documents {answered}, files {on_disk}")
    grown = max(growth, children) > FLAT or abs(last.handles - warm.handles) > 8 or largest > 2 * warm.disk_mb
    return int(bool(outcomes["error"]) or answered != on_disk or grown)


def sample(running: Running, minute: float) -> Sample:
    disk = 0
    for path in running.index.rglob("*"):
        try:
            disk += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    watched = running.watched
    children: list[float] = []
    for child in sorted(watched.children(recursive=True), key=lambda child: child.pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            children.append(child.memory_info().rss / 1e6)
    return Sample(minute, running.memory_mb(), tuple(children), running.handles(), watched.num_threads(), disk / 1e6)


def client(url: str, number: int, done: threading.Event, count: object) -> None:
    """Questions of all kinds, one after the other."""
    dice = random.Random(number)
    headers = {"accept": "application/json, text/event-stream"}
    with httpx.Client(base_url=url, timeout=60, headers=headers) as asking:
        while not done.wait(PAUSE_S):
            words = " ".join(dice.choice(WORDS) for _ in range(dice.randrange(1, 5)))
            mode = dice.choice(("keyword", "semantic", "hybrid", "auto"))
            try:
                if dice.random() < 0.5:
                    answer = asking.get("/api/search", params={"q": words, "mode": mode})
                else:
                    called = {"name": "search_documentation", "arguments": {"query": words, "mode": mode}}
                    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}
                    answer = asking.post("/mcp", json=message)
                outcome = {200: "answered", 503: "busy"}.get(answer.status_code, "error")
                if outcome == "error" or "internal error" in answer.text:
                    print(answer.status_code, answer.text[:300], flush=True)
                    outcome = "error"
            except httpx.HTTPError as error:
                print(repr(error), flush=True)
                outcome = "error"
            count(outcome)  # type: ignore[operator]


def editor(docs: Path, done: threading.Event, count: object) -> None:
    """A few changes every two seconds; the library keeps its size."""
    dice = random.Random(9)
    while not done.wait(2):
        change(docs, dice.randrange(10**6))
        files = sorted(docs.rglob("*.md"))
        for path in dice.sample(files, max(0, len(files) - FILES)):
            path.unlink()
        count("change")  # type: ignore[operator]


def opener(url: str, streams: int, seconds: float, done: threading.Event, count: object) -> None:
    """Opens and drops `/sse` streams, evenly over the time."""
    parts = urlsplit(url)
    for _ in range(streams):
        with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30) as open_:
            open_.sendall(b"GET /sse HTTP/1.1\r\nhost: localhost\r\n\r\n")
            status = open_.recv(4096).split(b"\r\n")[0]
        count("stream" if b" 200 " in status else "stream refused")  # type: ignore[operator]
        done.wait(seconds * 0.9 / streams)  # those that are left when time is up come one right after the other


if __name__ == "__main__":
    sys.exit(main())
