"""A server that takes a library over from the daemon which a relay has started, and a kill in the middle of that."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Literal

import psutil

from librarian.daemon import client
from librarian.files.lock import DAEMON, FolderLock
from librarian.library import Librarian
from tests.api.raw_host import RawHost, relay
from tests.reliability.running import Running, until

PATIENCE_S = 120.0


def hand_over(folder: Path, killed: Literal["daemon", "server", "both"], after_s: float) -> None:
    """Kill one (or both) so long after the server's start; whoever asks is answered afterwards, by one daemon.

    `folder`/docs holds the library.
    """
    docs, index = folder / "docs", folder / "index"
    files = sum(1 for _ in docs.rglob("*.md"))
    server: Running | None = None
    with RawHost(relay(docs, index), {"ENABLE_EMBEDDINGS": "false"}) as host:
        try:
            host.initialize()
            assert _found(host)
            holder = FolderLock(index, DAEMON).holder()
            assert holder is not None
            keeper = psutil.Process(holder.pid)
            server = Running(folder, {"embeddings": {"enabled": False}})
            threading.Event().wait(after_s)
            if killed in ("daemon", "both") and keeper.is_running():
                keeper.kill()
            if killed in ("server", "both"):
                server.process.kill()
                server.process.wait()
            if killed == "daemon":
                server.url()  # it gets the folder, whoever held it
            until(lambda: _found(host), "an answer", PATIENCE_S)
            until(lambda: _documents(host) == files, "every file", PATIENCE_S)
        finally:
            if server is not None:
                server.stop()
            client.shut_down_daemon(index)
    with Librarian.open(root=docs, index=index, **{"embeddings.enabled": False}) as library:
        assert library.check().problems == []
        assert library.status().documents == files


def _found(host: RawHost) -> bool:
    """Whether a search is answered with results; what was under way when its daemon was killed is told so."""
    answer = host.call("search_documentation", query="Page", timeout_s=PATIENCE_S)
    if error := answer.get("error"):
        assert "Send the request again" in error["message"], error
        return False
    result: dict[str, Any] = answer["result"]
    assert not result.get("isError"), result
    return bool(result["structuredContent"]["results"])


def _documents(host: RawHost) -> int:
    answer = host.call("list_products", timeout_s=PATIENCE_S)
    if "result" not in answer:
        return -1
    return sum(product["document_count"] for product in answer["result"]["structuredContent"]["products"])
