"""A model hub on this machine."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


class Hub(BaseHTTPRequestHandler):
    """Serves the files of `folder` as the repository owner/tiny, while it is `open`."""

    folder: Path
    revisions: set[str]  #: those that were asked for
    fetched: list[str]  #: files whose content was asked for
    open = threading.Event()

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        type(self).open.wait(120)
        path = self.path.split("?")[0]
        asked = re.search(r"/(?:revision|resolve)/(\w+)", path)
        revision = asked[1] if asked and asked[1] != "main" else "a" * 40
        type(self).revisions.add(revision)
        kind, data = "application/octet-stream", b""
        if path.startswith("/api/models/owner/tiny"):
            names = [{"rfilename": p.name} for p in self.folder.iterdir()]
            kind, data = (
                "application/json",
                json.dumps({"id": "owner/tiny", "sha": revision, "siblings": names}).encode(),
            )
        elif "/resolve/" in path and (self.folder / path.rsplit("/", 1)[-1]).is_file():
            data = (self.folder / path.rsplit("/", 1)[-1]).read_bytes()
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", f'"{abs(hash(path)):x}"')
        self.send_header("X-Repo-Commit", revision)
        self.end_headers()
        if body:
            self.wfile.write(data)
            type(self).fetched += [path.rsplit("/", 1)[-1]] if "/resolve/" in path else []

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a hub that serves the files of `folder`."""
    Hub.folder, Hub.revisions, Hub.fetched = folder, set(), []
    Hub.open.set()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        Hub.open.set()
        server.shutdown()
        server.server_close()
        thread.join()


def point_at(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the hub's client ask this hub, and keep what it gets in a folder of the test's."""
    from huggingface_hub import constants

    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
