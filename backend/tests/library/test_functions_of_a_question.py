"""What a hybrid question through MCP costs in functions of Librarian that are entered, and in read transactions.

Both are counted on a library whose passages are embedded, once it has answered another question.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import httpx
import pytest

import librarian
from librarian.library import Librarian
from librarian.storage.queries import CatalogReader
from librarian.web.app import build_app

from .conftest import write_library

PACKAGE = librarian.__path__[0]
FUNCTIONS = 300  #: of the package that a question may enter; lambdas and comprehensions are not counted
TRANSACTIONS = 2
LEARNING = "training"  #: the thread that asks questions of its own


class Recorder:
    """The package's functions that threads enter while it is on, but for those that learn."""

    def __init__(self) -> None:
        self.entered: set[CodeType] = set()
        self.transactions = 0
        self.on = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if not self.on or event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        if threading.current_thread().name == LEARNING or code.co_name.startswith("<"):
            return
        self.entered.add(code)
        self.transactions += code is CatalogReader.__init__.__code__


async def asked(library: Librarian, recorder: Recorder, questions: list[str]) -> list[dict[str, Any]]:
    """The answers to questions through MCP, the last one recorded."""
    app, answers = build_app(library), []
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
    transport = httpx.ASGITransport(app=app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport) as client:
        for question in questions:
            call = {"name": "search_documentation", "arguments": {"query": question, "mode": "hybrid"}}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            recorder.on = question == questions[-1]
            response = await client.post("http://127.0.0.1/mcp", json=message, headers=headers)
            recorder.on = False
            data = next(line for line in response.text.splitlines() if line.startswith("data: "))
            answers.append(json.loads(data.removeprefix("data: "))["result"]["structuredContent"])
    return answers


@pytest.mark.no_cover
def test_a_hybrid_question_takes_few_functions_and_transactions(tmp_path: Path, model: str) -> None:
    write_library(tmp_path / "docs")
    recorder = Recorder()
    threading.setprofile(recorder)  # before any thread of the library starts
    sys.setprofile(recorder)
    try:
        settings: dict[str, Any] = {"docs.watch_for_changes": False, "index.workers": 1, "embeddings.model": model}
        with Librarian.open(root=tmp_path / "docs", index=tmp_path / "index", **settings) as library:
            questions = ["when are refunds paid", "how do I rotate an access token"]
            answers = asyncio.run(asked(library, recorder, questions))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    assert answers[-1]["results"]
    names = sorted(f"{code.co_filename[len(PACKAGE) + 1 :]}: {code.co_qualname}" for code in recorder.entered)
    assert "search/retrievers.py: VectorQuery.rank" in names
    assert len(names) <= FUNCTIONS, "\n".join(names)
    assert recorder.transactions <= TRANSACTIONS
