"""Prints the functions of Librarian that a search over MCP and a saved file pass through.

    python benchmarks/ways.py

A search passes the functions that are on the stack when the engine is asked, then those that they call with the
engine's outcome. A saved file passes the functions on the stack when the keyword index is given its entries; what runs
in the child process that reads the file is not seen.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import httpx

import librarian
from librarian import Librarian
from librarian.web.app import build_app

PACKAGE = str(Path(librarian.__file__).parent)
ENGINE = "search/engine.HybridSearchEngine.search"
INDEX = "storage/keyword_index.TantivyIndex.put"


def is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<")


def name(code: CodeType) -> str:
    return f"{code.co_filename[len(PACKAGE) + 1 : -3]}.{code.co_qualname}"


def stack(frame: FrameType | None) -> list[str]:
    found = []
    while frame is not None:
        if is_ours(frame.f_code):
            found.append(name(frame.f_code))
        frame = frame.f_back
    return found[::-1]


class Recorder:
    """Notes the calls of one search or one change, in all threads."""

    def __init__(self, target: str) -> None:
        self.target, self.on = target, False
        self.into: list[str] = []
        self.coroutines: list[str] = []
        self.back: list[str] = []
        self._returned = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if not self.on or not is_ours(frame.f_code):
            return
        called = name(frame.f_code)
        if event == "return":
            self._returned = self._returned or called == self.target
        elif event == "call" and called == self.target and not self.into:
            self.into = stack(frame)[:-1]
        elif event == "call" and not self.into and frame.f_code.co_flags & 0x80:  # a coroutine waits for the answer
            self.coroutines += [called] if called not in self.coroutines else []
        elif event == "call" and self._returned:
            outer = stack(frame)[:-1]
            known = {*self.into, *self.coroutines, *self.back}
            if called not in known and (not outer or outer[-1] in {*self.into, *self.coroutines}):
                self.back.append(called)


def show(title: str, functions: list[str]) -> None:
    print(f"{title}: {len(functions)}", *functions, "", sep="\n")


async def ask(library: Librarian, recorder: Recorder) -> None:
    app = build_app(library)
    call = {"name": "search_documentation", "arguments": {"query": "rotate", "mode": "keyword"}}
    transport = httpx.ASGITransport(app=app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport) as client:
        for question in ("token", "rotate a token"):
            call["arguments"] = {"query": question, "mode": "keyword"}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            recorder.on = question != "token"  # the first one warms up
            sys.setprofile(recorder)
            accept = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
            await client.post("http://127.0.0.1/mcp", json=message, headers=accept)
    sys.setprofile(None)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "docs", "shop", "api", "a.md")
        page.parent.mkdir(parents=True)
        page.write_text("# Tokens\n\nRotate a token.\n")
        search, save = Recorder(ENGINE), Recorder(INDEX)
        threading.setprofile(lambda *event: (search(*event), save(*event)))
        settings: dict[str, Any] = {"embeddings.enabled": False, "docs.watch_debounce_ms": 50}
        with Librarian.open(root=page.parents[2], index=Path(folder, "index"), **settings) as library:
            asyncio.run(ask(library, search))
            changed = threading.Event()
            library.on_generation(lambda _: changed.set())
            save.on = True
            page.write_text("# Tokens\n\nRotate a token often.\n")
            changed.wait(30)
            save.on = False
        threading.setprofile(None)
    show("A search, to the engine", [*search.coroutines, *search.into])
    show("A search, back", search.back)
    show("A saved file, to the keyword index", save.into)


if __name__ == "__main__":
    main()
