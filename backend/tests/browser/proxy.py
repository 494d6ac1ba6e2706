"""A proxy that serves a server below a path which it takes off, as `location /docs/ { proxy_pass http://…:3001/; }`."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

_KEPT = {"content-type", "cache-control", "etag", "content-security-policy"}


@contextlib.contextmanager
def below(prefix: str, url: str) -> Iterator[str]:
    """`url` below `prefix` of another port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.passed_on()

        def do_POST(self) -> None:
            self.passed_on()

        def passed_on(self) -> None:
            if not self.path.startswith(f"{prefix}/"):
                self.send_error(404)
                return
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            sent = {name: text for name, text in self.headers.items() if name.lower() not in {"host", "content-length"}}
            try:
                answer = client.request(self.command, url + self.path.removeprefix(prefix), headers=sent, content=body)
            except httpx.TransportError:
                self.send_error(502)  # with a page of its own, as proxies do
                return
            self.send_response(answer.status_code)
            for name in _KEPT & set(answer.headers):
                self.send_header(name, answer.headers[name])
            self.send_header("content-length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: object) -> None:
            pass

    with httpx.Client() as client, ThreadingHTTPServer(("127.0.0.1", 0), Handler) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{proxy.server_address[1]}{prefix}"
        finally:
            proxy.shutdown()
            thread.join()
