"""What a server takes in a process of its own: restart, HTTP, MCP, many clients, a changed file, memory."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import os
import re
import selectors
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from speed_parts import percentile, timed
from speed_report import Report

REPOSITORY = Path(__file__).resolve().parents[1]
DEBOUNCE_S = 1.0  #: the default of docs.watch_debounce_ms
CHILDREN_END_S = 75.0  #: children without work have ended after that


_NUMBERS = itertools.count()


def new(question: str) -> str:
    """The question as it wasn't asked yet, with a number: no answer and no vector of it is kept."""
    return f"{question} {next(_NUMBERS)}"


class Server:
    """A running server, asked over one connection a thread."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, started: float) -> None:
        self.process, self.port, self.started = process, port, started
        self._own = threading.local()
        self.session = ""  #: that the last answer named

    def get(self, path: str) -> Any:
        return json.loads(self.fetch("GET", path))

    def fetch(self, method: str, path: str, body: str = "", headers: Mapping[str, str] = MappingProxyType({})) -> bytes:
        """An answer's body. Raises `OSError` while nobody listens, and for an answer that isn't 200 or 202."""
        for attempt in (1, 2):
            connection = getattr(self._own, "connection", None)
            reused = connection is not None
            if connection is None:
                connection = self._own.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                connection.request(method, path, body or None, dict(headers))
                answer = connection.getresponse()
                found = answer.read()
                self.session = answer.headers.get("mcp-session-id", "")
                break
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                self._own.connection = None
                if attempt == 2 or not reused:  # the server closes connections that nobody used for a while
                    raise OSError(str(error)) from error
        if answer.status not in (200, 202):
            raise OSError(f"{answer.status} for {path}")
        return found

    def search(self, question: str, mode: str = "hybrid") -> Any:
        return json.loads(self.searched(question, mode))

    def searched(self, question: str, mode: str = "hybrid") -> bytes:
        return self.fetch("GET", f"/api/search?mode={mode}&q={urllib.parse.quote(question)}")

    def settled(self, timeout_s: float = 300) -> None:
        """Wait until nothing is left to be done."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            try:
                status = self.get("/api/status")
                if status["progress"]["phase"] == "idle" and not status["reasons"] and status["last_indexed_at"]:
                    return
            except OSError:
                pass
            time.sleep(0.3)


@contextmanager
def running(config: Path) -> Iterator[Server]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {**os.environ, "MCP_PORT": str(port), "PYTHONPATH": str(REPOSITORY / "backend"), "LOG_LEVEL": "error"}
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "librarian.daemon.serve", "--config", str(config)], env=env)
    try:
        yield Server(process, port, started)
    finally:
        process.terminate()
        process.wait(30)


def restart(config: Path, question: str, report: Report) -> None:
    """Once to settle what is behind; then the time from the start of the process to the first answers."""
    with running(config) as server:
        server.settled()
    firsts: dict[str, list[float]] = {"keyword": [], "hybrid": []}
    for _ in range(3):
        with running(config) as server:
            for mode, times in firsts.items():
                while time.perf_counter() - server.started < 120:
                    try:
                        answer = server.search(question, mode)
                    except OSError:
                        time.sleep(0.01)
                        continue
                    whole = answer["legs"]["semantic"]["status"] == "ok" and not answer["degraded"]
                    if answer["results"] and (mode == "keyword" or whole):
                        break
                    time.sleep(0.1)  # a question costs what reading the vectors could use
                times.append(time.perf_counter() - server.started)
    words, both = (statistics.median(times) for times in firsts.values())
    report.add(
        "restart to the first keyword / hybrid answer, s",
        f"{words:.1f} / {both:.1f}",
        bound="1.5 / 3",
        holds=words <= 1.5 and both <= 3,
    )


def served(config: Path, questions: Sequence[str], root: Path, report: Report) -> None:
    """Everything that one running server is asked."""
    with running(config) as server:
        server.settled()
        bound = 300 if server.get("/api/status")["documents"] <= 1_000 else 450  # of 50,000 passages
        time.sleep(CHILDREN_END_S)
        idle = pss(server.process.pid)
        health = timed(lambda _: server.get("/health"), questions)
        rest = timed(lambda question: server.search(new(question)), questions)
        report.add("hybrid through REST, p50 / p95 ms", f"{rest[0]:.1f} / {rest[1]:.1f}", f"/health {health[0]:.1f}")
        asyncio.run(_through_mcp(server, questions, report))
        _through_bare_mcp(server, questions, report)
        _changed_file(server, root, report)
        _clients(server, questions, report)
        _command(config, questions[0], report)
        busy = pss(server.process.pid)
        time.sleep(CHILDREN_END_S)
        after = pss(server.process.pid)
    report.add(
        "memory of the process tree (PSS): settled / after an index run and all questions, MB",
        f"{idle:.0f} / {after:.0f}",
        f"{busy:.0f} with the children that read and embed, which end after a minute",
        str(bound),
        max(idle, after) <= bound,
    )


async def _through_mcp(server: Server, questions: Sequence[str], report: Report) -> None:
    from mcp import Client

    async with Client(f"http://127.0.0.1:{server.port}/mcp") as client:

        async def taking(tool: str, given: dict[str, object]) -> float:
            started = time.perf_counter()
            await client.call_tool(tool, given)
            return (time.perf_counter() - started) * 1000

        for question in questions[:5]:
            await taking("search_documentation", {"query": question, "mode": "hybrid"})
        asked = [
            await taking("search_documentation", {"query": new(question), "mode": "hybrid"}) for question in questions
        ]
        for question in questions[:20]:
            await taking("search_documentation", {"query": question})
        again = [await taking("search_documentation", {"query": q}) for q in questions[:20] for _ in range(3)]
        empty = [await taking("list_products", {}) for _ in range(60)]
    floor = f"list_products {percentile(empty, 0.5):.1f}"
    report.add(
        "hybrid through MCP over HTTP, official client, p50 / p95 ms",
        f"{percentile(asked, 0.5):.1f} / {percentile(asked, 0.95):.1f}",
        f"{floor}; the client checks every answer against its schema",
    )
    report.add("a repeated question through MCP, official client, p50 ms", f"{percentile(again, 0.5):.1f}", floor)


def _through_bare_mcp(server: Server, questions: Sequence[str], report: Report) -> None:
    """The same by plain HTTP: what the server takes, without what a client makes of the answer."""
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    number = iter(range(10**6))

    def ask(method: str, params: dict[str, object], notify: bool = False) -> float:
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not notify:
            message["id"] = next(number)
        body, started = json.dumps(message), time.perf_counter()
        server.fetch("POST", "/mcp", body, headers)
        return (time.perf_counter() - started) * 1000

    about = {"name": "speed", "version": "1"}
    ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about})
    headers |= {"mcp-protocol-version": "2025-11-25"} | ({"mcp-session-id": server.session} if server.session else {})
    ask("notifications/initialized", {}, notify=True)

    def taking(tool: str, given: dict[str, object]) -> float:
        return ask("tools/call", {"name": tool, "arguments": given})

    asked = [taking("search_documentation", {"query": new(question), "mode": "hybrid"}) for question in questions]
    again = [taking("search_documentation", {"query": questions[n % 20]}) for n in range(80)][20:]
    empty = [taking("list_products", {}) for _ in range(60)]
    floor = f"list_products {percentile(empty, 0.5):.1f}"
    p50, kept = percentile(asked, 0.5), percentile(again, 0.5)
    report.add(
        "hybrid through MCP over HTTP, p50 / p95 ms",
        f"{p50:.1f} / {percentile(asked, 0.95):.1f}",
        floor,
        "p50 15",
        p50 <= 15,
    )
    report.add("a repeated question through MCP, p50 ms", f"{kept:.1f}", floor, "3", kept <= 3)
    headers["accept"] = "application/json"
    again = [taking("search_documentation", {"query": questions[n % 20]}) for n in range(80)][20:]
    empty = [taking("list_products", {}) for _ in range(60)]
    kept, floor = percentile(again, 0.5), f"list_products {percentile(empty, 0.5):.1f}"
    report.add("the same by a script that takes no stream, p50 ms", f"{kept:.1f}", floor, "3", kept <= 3)


def _changed_file(server: Server, root: Path, report: Report) -> None:
    product = next(path for path in sorted(root.iterdir()) if path.is_dir())
    page = product / "general" / "speed-probe.md"
    page.parent.mkdir(exist_ok=True)
    words, vectors = [], []
    try:
        for number in range(3):
            word = f"zorkmid{chr(97 + number)}quatloo"
            page.write_text(f"# Probe\n\nThe word {word} stands here.\n")
            started = time.perf_counter()
            # in quotes: else it would be corrected to the word before, which is one slip away
            while not server.search(f'"{word}"', "keyword")["results"] and time.perf_counter() - started < 60:
                time.sleep(0.02)
            words.append(time.perf_counter() - started - DEBOUNCE_S)
            while time.perf_counter() - started < 60:
                status = server.get("/health")
                if status["embedded_chunks"] == status["chunks"]:
                    break
                time.sleep(0.02)
            vectors.append(time.perf_counter() - started - DEBOUNCE_S)
    finally:
        page.unlink(missing_ok=True)
    first, last = statistics.median(words), statistics.median(vectors)
    report.add(
        "a changed file to searchable, after the debounce: words / vectors, s",
        f"{first:.2f} / {last:.2f}",
        bound="0.5 / 2",
        holds=first <= 0.5 and last <= 2,
    )


class _Client:
    """One connection that asks one question after the other, by bare HTTP: what it takes is taken from the server."""

    def __init__(self, port: int, questions: Iterator[str]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.times: list[float] = []
        self.errors = 0
        self._questions = questions
        self._received = b""
        self._asked = 0.0

    def ask(self) -> bool:
        """Send the next question; False where there is none."""
        question = next(self._questions, None)
        if question is None:
            return False
        path = f"/api/search?mode=hybrid&q={urllib.parse.quote(question)}"
        self._asked = time.perf_counter()
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        return True

    def receive(self) -> bool:
        """Take what has come; True once the answer is whole."""
        piece = self.socket.recv(1 << 16)
        self._received += piece
        head, _, body = self._received.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        if piece and (length is None or len(body) < int(length[1])):
            return False
        self.times.append((time.perf_counter() - self._asked) * 1000)
        self.errors += not head.startswith(b"HTTP/1.1 200 ")
        self._received = b""
        return True


def _clients(server: Server, questions: Sequence[str], report: Report, clients: int = 16, each: int = 40) -> None:
    """The generator shares the processors with the server."""
    pings: list[float] = []
    errors: list[str] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            started = time.perf_counter()
            try:
                server.get("/health")
            except OSError as error:
                errors.append(str(error))
            pings.append((time.perf_counter() - started) * 1000)

    asking = selectors.DefaultSelector()
    every = []
    for number in range(clients):
        own = [new(questions[(number * each + turn) % len(questions)]) for turn in range(each)]
        every.append(_Client(server.port, iter(own)))
    watcher = threading.Thread(target=watch)
    watcher.start()
    worked, started = processor_s(server.process.pid), time.perf_counter()
    for client in every:
        client.ask()
        asking.register(client.socket, selectors.EVENT_READ, client)
    while asking.get_map():
        for key, _ in asking.select():
            if key.data.receive() and not key.data.ask():
                asking.unregister(key.fileobj)
    took, worked = time.perf_counter() - started, processor_s(server.process.pid) - worked
    done.set()
    watcher.join()
    for client in every:
        client.socket.close()
    times = [one for client in every for one in client.times]
    failed = len(errors) + sum(client.errors for client in every)
    rate = len(times) / took
    slow, ping = percentile(times, 0.95), percentile(pings, 0.95)
    report.add(
        f"{clients} clients at once, hybrid: a second, p95 ms, errors",
        f"{rate:.0f}, {slow:.0f}, {failed}",
        f"/health meanwhile p95 {ping:.0f} ms; {worked / len(times) * 1000:.1f} ms of the processor an answer",
        "100, 300, 0; /health 50",
        rate >= 100 and slow <= 300 and not failed and ping <= 50,
    )


def _command(config: Path, question: str, report: Report) -> None:
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY / "backend")}
    command = [sys.executable, "-m", "librarian.cli.main", "search", question, "--config", str(config)]
    times = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run(command, env=env, capture_output=True, check=True)  # what fails is quick
        times.append(time.perf_counter() - started)
    took = statistics.median(times)
    report.add("`librarian search` where a keeper runs, start to end, s", f"{took:.2f}", "", "0.5", took <= 0.5)


def processor_s(pid: int) -> float:
    """Seconds of processor time that a process has taken."""
    import psutil

    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def pss(pid: int) -> float:
    """MB of a process and all its children: shared pages are divided among those that share them."""
    import psutil

    total = 0.0
    try:
        process = psutil.Process(pid)
        tree = [process, *process.children(recursive=True)]
    except psutil.Error:
        return total
    for one in tree:
        try:
            found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{one.pid}/smaps_rollup").read_text(), re.MULTILINE)
        except OSError:
            continue
        total += int(found[1]) / 1024 if found else 0
    return total
