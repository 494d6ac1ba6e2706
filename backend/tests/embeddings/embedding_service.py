"""A service that speaks OpenAI's `/embeddings` on this machine, and fails as it is told to."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.embeddings.fakes import FakeEmbedder

Answer = tuple[int, dict[str, str], Any]  #: status, headers, body


class Service:
    """`planned` answers are given once each, in order; then `failure`, while there is one; else vectors.

    While `open` isn't set, requests hang, those for a single text only where `questions_too`.
    """

    def __init__(self) -> None:
        self.planned: list[Answer] = []
        self.failure: Answer | None = None
        self.open = threading.Event()
        self.open.set()
        self.questions_too = False
        self.requests: list[tuple[dict[str, str], dict[str, Any]]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                service.requests.append(({k.lower(): v for k, v in self.headers.items()}, body))
                if len(body["input"]) > 1 or service.questions_too:
                    service.open.wait(60)
                status, headers, answer = service.answer(body)
                data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
                try:
                    self.send_response(status)
                    for name, value in {"Content-Length": str(len(data)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    self.close_connection = True  # who asked has gone

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self._thread.start()

    def answer(self, body: dict[str, Any]) -> Answer:
        if self.planned:
            return self.planned.pop(0)
        return self.failure or (200, {}, self.embed(body))

    def embed(self, body: dict[str, Any]) -> dict[str, Any]:
        rows = [3 * FakeEmbedder()._vector(text) for text in body["input"]]
        data = [{"index": i, "embedding": row.tolist()} for i, row in enumerate(rows)]
        return {"data": data[::-1]}

    def texts(self) -> list[str]:
        """Every text that was sent, as often as it was."""
        return [text for _, body in list(self.requests) for text in body["input"]]

    def close(self) -> None:
        self.open.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()
