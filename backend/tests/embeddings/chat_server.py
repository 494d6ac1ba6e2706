"""A language model's server on this machine: OpenAI's wire format, and its bad days."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ChatServer:
    """Says `words`. `status` other than 200 refuses with `refusal`; `breaks_after` words an error comes instead.

    `pause_s` lies between words. `requests` are (path, headers, body). `messages` are whole replies, such as tool
    calls, of which each request takes the first before `words` are said.
    """

    def __init__(self) -> None:
        self.recover()
        self.closing = threading.Event()
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        self._server = server
        self.url = f"http://127.0.0.1:{server.server_port}"
        self._thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        self._thread.start()

    def recover(self) -> None:
        """Back to a good day."""
        self.words: list[str] = []
        self.messages: list[dict[str, Any]] = []
        self.status = 200
        self.refusal: Any = {"error": {"message": "no"}}
        self.breaks_after: int | None = None
        self.pause_s = 0.0
        self.path = ""  # of the only path it knows, where it has moved
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    def close(self) -> None:
        """End it. Safe to call twice."""
        if self.closing.is_set():
            return
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def spoken(self) -> Iterator[str]:
        """The words, as they are said."""
        for number, word in enumerate(self.words):
            if number == self.breaks_after:
                raise RuntimeError("out of memory")
            if self.pause_s and self.closing.wait(self.pause_s):
                return
            yield word


def _handler(outer: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._whole(200, {"models": [], "data": []})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            outer.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            if outer.path and self.path != outer.path:
                self._whole(404, outer.refusal)
            elif outer.status != 200:
                self._whole(outer.status, outer.refusal)
            elif outer.messages:
                choice = {"message": {"role": "assistant", **outer.messages.pop(0)}}
                self._whole(200, {"choices": [choice], "usage": {"total_tokens": 100}})
            else:
                try:
                    message = {"message": {"role": "assistant", "content": "".join(outer.spoken())}}
                except RuntimeError as error:
                    self._whole(500, {"error": {"message": str(error)}})
                else:
                    self._whole(200, {"choices": [message]})

        def _whole(self, status: int, answer: Any) -> None:
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler
