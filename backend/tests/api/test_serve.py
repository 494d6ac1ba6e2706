"""The process that owns an index folder, run in this one: what is proved here.

* As a daemon it answers over the socket and ends when it is asked to; as a server it answers over HTTP, too, under the
  name that the settings give it.
* An answer's body doesn't wait for the acknowledgement of its head.
* A library that can't be opened is the answer to whoever asks, and the process's own end.
* A library that is still opening makes callers wait, remembers who wants news, and introduces itself as it did last.
"""

from __future__ import annotations

import asyncio
import io
import json
import socket
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from librarian import __version__
from librarian.api.library_handle import INTRODUCTION, LibraryHandle
from librarian.cli import main
from librarian.daemon import address, client, discovery
from librarian.daemon.address import bind
from librarian.daemon.client import served_at
from librarian.daemon.serve import serve
from librarian.errors import CallerError, LibrarianError, SetupError
from librarian.files.owned_folder import claim_index
from librarian.models import Deadline
from librarian.settings import Settings

PATIENCE_S = 300.0  #: matters only where something is wrong


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr("librarian.daemon.logging_setup.configure", lambda settings: None)  # the log is pytest's
    (tmp_path / "docs" / "ray" / "core").mkdir(parents=True)
    (tmp_path / "docs" / "ray" / "core" / "tokens.md").write_text("# Tokens\n\nRotate a token.\n", "utf-8")
    given = {
        "docs.root_path": tmp_path / "docs",
        "index.path": tmp_path / "index",
        "embeddings.enabled": False,
        "docs.watch_for_changes": False,
        "mcp.port": 0,
        "system.name": "House books",
    }
    return Settings.load(None, overrides=given)


def beside(work: Callable[[], Any], index: Path) -> tuple[threading.Thread, list[Any]]:
    """`work` in a thread, as soon as a daemon is there, which is asked to end after it; what it gave or raised."""
    outcome: list[Any] = []

    def run() -> None:
        end, pause = time.monotonic() + PATIENCE_S, threading.Event()
        while address.read(index) is None and time.monotonic() < end:
            pause.wait(0.01)
        try:
            outcome.append(work())
        except Exception as error:  # the server has to end in any case
            outcome.append(error)
        client.shut_down_daemon(index, timeout_s=PATIENCE_S)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


def test_a_keeper_answers_over_the_socket_until_it_is_asked_to_end(settings: Settings) -> None:
    index = settings.index.path

    def work() -> list[Any]:
        found = client.call(discovery.Library(index), "search_documentation", {"query": "rotate"})
        refreshed = client.call(discovery.Library(index), "refresh", {}, on_progress=lambda progress: None)
        with pytest.raises(CallerError, match="no operation 'dance'"):
            client.call(discovery.Library(index), "dance", {})
        return [found["results"][0]["file_path"], refreshed["documents"], served_at(index, settings.docs.root_path)]

    thread, outcome = beside(work, index)
    assert serve(settings, http=False) == 0
    thread.join(PATIENCE_S)
    assert outcome == [["ray/core/tokens.md", 1, ""]]
    assert address.read(index) is None
    assert "ray" in (index / INTRODUCTION).read_text("utf-8")


def test_a_server_answers_over_http_and_says_where(settings: Settings) -> None:
    index, out = settings.index.path, io.StringIO()

    def work() -> list[Any]:
        url = served_at(index, settings.docs.root_path)
        found = httpx.get(f"{url}/api/search", params={"q": "rotate"}, timeout=PATIENCE_S).json()
        client_info = {"name": "test", "version": "1"}
        given = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client_info}
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": given}
        said = httpx.post(f"{url}/mcp", json=hello, headers={"accept": "application/json"}, timeout=PATIENCE_S).json()
        return [url, found["results"][0]["file_path"], said["result"]["serverInfo"]]

    thread, outcome = beside(work, index)
    assert serve(settings, out=out) == 0
    thread.join(PATIENCE_S)
    ((url, path, server),) = outcome
    assert path == "ray/core/tokens.md"
    assert (server["name"], server["title"]) == ("librarian", "House books")
    assert f"page         {url}/" in out.getvalue()


def test_programs_are_told_in_json_where_it_really_listens_and_hosts_are_connected_there(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    index, root, out = settings.index.path, settings.docs.root_path, io.StringIO()
    monkeypatch.setenv("MCP_PORT", "3001")

    def work() -> list[Any]:
        second = io.StringIO()
        assert serve(settings, out=second, as_json=True) == 0
        assert main.run(["connect", "cursor", "--http", "--root", str(root), "--index", str(index)]) == 0
        snippet = json.loads(capsys.readouterr().out)
        return [served_at(index, root), json.loads(second.getvalue()), snippet["mcpServers"]["librarian"]["url"]]

    thread, outcome = beside(work, index)
    assert serve(settings, out=out, as_json=True) == 0
    thread.join(PATIENCE_S)
    ((url, second, connected),) = outcome
    assert json.loads(out.getvalue()) == {"page": f"{url}/", "mcp": f"{url}/mcp", "rest": f"{url}/api/search"} == second
    assert connected == f"{url}/mcp" != "http://127.0.0.1:3001/mcp"


@pytest.mark.parametrize("request_line", ["GET /api/search?q=\u00fcbersicht HTTP/1.1", "HALLO"])
def test_what_is_not_http_is_refused_like_all_else_with_the_remedy(settings: Settings, request_line: str) -> None:
    index = settings.index.path

    def work() -> bytes:
        port = int(served_at(index, settings.docs.root_path).rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
            connection.sendall(f"{request_line}\r\nHost: localhost\r\n\r\n".encode())
            return b"".join(iter(lambda: connection.recv(65536), b""))

    thread, outcome = beside(work, index)
    assert serve(settings, out=io.StringIO()) == 0
    thread.join(PATIENCE_S)
    head, _, body = outcome[0].partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"x-content-type-options: nosniff" in head
    error = json.loads(body)["error"]
    assert (error["code"], error["message"]) == ("bad_request", "The request isn't HTTP.")
    assert "--data-urlencode" in error["hint"]


def test_small_packets_leave_at_once() -> None:
    async def accepted() -> int:
        delays: asyncio.Queue[int] = asyncio.Queue()

        async def look(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            await delays.put(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listening = bind("127.0.0.1", 0)
        async with await asyncio.start_server(look, sock=listening):
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            await reader.read()
            writer.close()
            return await delays.get()

    assert asyncio.run(accepted()) != 0


@pytest.mark.parametrize("http", [False, True])
def test_a_library_that_cannot_be_opened_is_the_answer_and_the_end(settings: Settings, http: bool) -> None:
    index = settings.index.path
    claim_index(index)
    (index / "catalog.sqlite").mkdir()
    thread, outcome = beside(
        lambda: client.call(discovery.Library(index), "search_documentation", {"query": "rotate"}), index
    )
    with pytest.raises(LibrarianError, match=r"catalog\.sqlite"):
        serve(settings, http=http)
    thread.join(PATIENCE_S)
    assert isinstance(outcome[0], LibrarianError)
    assert "catalog.sqlite" in str(outcome[0])


class Library:
    """As much of a library as an opening one hands on."""

    def __init__(self) -> None:
        self.heard: list[Callable[[int], None]] = []

    def instructions(self) -> str:
        return "Ask about ray."

    def call(self, name: str, arguments: Mapping[str, object], deadline: Deadline | None = None) -> str:
        return f"{name} of {arguments['product']}"

    def on_generation(self, callback: Callable[[int], None]) -> Callable[[], None]:
        self.heard.append(callback)
        return lambda: self.heard.remove(callback)


def test_calls_wait_for_a_library_that_is_opening(tmp_path: Path) -> None:
    opening, library = LibraryHandle(tmp_path), Library()
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(opening.call("list_components", {"product": "ray"})))
    waiting.start()
    first, second, third = [], [], []  # type: ignore[var-annotated]
    end_first = opening.on_generation(first.append)
    opening.on_generation(second.append)
    end_first()
    assert answers == []
    opening.opened(library)  # type: ignore[arg-type]
    waiting.join(PATIENCE_S)
    assert answers == ["list_components of ray"]
    end_third = opening.on_generation(third.append)
    for callback in library.heard:
        callback(7)
    assert (first, second, third) == ([], [7], [7])
    end_third()
    assert len(library.heard) == 1


def test_a_wait_ends_with_its_budget_or_with_the_failure(tmp_path: Path) -> None:
    opening, cancelled = LibraryHandle(tmp_path), Deadline()
    cancelled.cancelled.set()
    with pytest.raises(Exception, match=r"(?i)cancel"):
        opening.call("list_components", {}, cancelled)
    opening.failed(SetupError("The catalog is damaged.", hint="Delete it."))
    with pytest.raises(SetupError, match="damaged"):
        opening.wait()
    assert opening.instructions() == "Librarian can't answer: The catalog is damaged. Delete it."


def test_the_introduction_is_kept_for_the_next_start(tmp_path: Path) -> None:
    opening = LibraryHandle(tmp_path)
    assert not opening.introduced
    opening.opened(Library())  # type: ignore[arg-type]
    assert opening.instructions() == "Ask about ray."
    later = LibraryHandle(tmp_path)
    assert later.introduced
    assert later.instructions() == "Ask about ray."
    assert LibraryHandle(tmp_path / "gone").introduced is False
    stored = tmp_path / INTRODUCTION
    stored.write_text(stored.read_text("utf-8").replace(__version__, "0.0.0"), "utf-8")
    assert LibraryHandle(tmp_path).introduced is False, "another version may say it otherwise"


@pytest.mark.parametrize("host", ["192.0.2.1", "nowhere.invalid"])
def test_a_host_that_is_not_this_machine_is_not_blamed_on_another_program(host: str) -> None:
    with pytest.raises(SetupError, match=r"can't be used.*Give an address of this machine with --host"):
        bind(host, 0)


def test_a_taken_port_is_blamed_on_its_holder() -> None:
    with bind("127.0.0.1", 0) as first, pytest.raises(SetupError, match=r"holds it\. End that program, or choose"):
        bind("127.0.0.1", first.getsockname()[1])


def test_a_log_that_takes_no_line_is_refused_by_name(tmp_path: Path) -> None:
    settings = Settings.load(None, overrides={"logging.file": tmp_path, "index.path": tmp_path / "index"})
    with pytest.raises(SetupError, match=r"The log .* can't be written: Is a directory\. Set logging\.file"):
        serve(settings)
