"""Calls the MCP tools of a library in this process, through the official client, as a host would."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "backend"))

from librarian import Librarian
from librarian.api.mcp import McpServer


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool returned: the text that a model reads, the structured half, and whether it is an error."""

    text: str
    structured: Mapping[str, Any]
    failed: bool = False

    @property
    def structured_size(self) -> int:
        """Characters of the structured half as compact JSON."""
        return len(json.dumps(self.structured, ensure_ascii=False, separators=(",", ":")))


class Tools:
    """A connected MCP client. Synchronous: the client runs in the portal's event loop."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self._client = client
        self.listed = portal.call(client.list_tools).tools

    def arguments_of(self, name: str) -> set[str]:
        """The arguments that the tool's input schema names."""
        return {argument for tool in self.listed if tool.name == name for argument in tool.input_schema["properties"]}

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool; its text blocks are joined by line breaks, resource links are left out."""
        result = self._portal.call(partial(self._client.call_tool, name, dict(arguments)))
        text = "\n".join(block.text for block in result.content if block.type == "text")
        return ToolResult(text, result.structured_content or {}, bool(result.is_error))

    def wait_until_calibrated(self, timeout_s: float = 300.0) -> None:
        """Wait until relevance is calibrated to the library, which happens in the background after it is opened.

        Raises `TimeoutError`.
        """
        until = time.monotonic() + timeout_s
        while not self.call("search_documentation", {"query": "calibration"}).structured.get("calibrated", True):
            if time.monotonic() > until:
                raise TimeoutError(f"Relevance was not calibrated within {timeout_s:.0f} s.")
            time.sleep(0.5)


@contextmanager
def served(library: Librarian) -> Iterator[Tools]:
    """The library's MCP tools, while the body runs."""
    server = McpServer(library)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(server.run()),
        portal.wrap_async_context_manager(Client(server.server)) as client,
    ):
        yield Tools(portal, client)
