"""Ask a daemon for an operation: the command line's way to search without loading anything.

After the handshake (kind `call`) each side sends JSON lines::

    client  {"id": 1, "operation": "search", "arguments": {"query": "…"}}
    daemon  {"id": 1, "progress": {"phase": "embedding", "done": 10, "total": 200}}       (any number)
    daemon  {"id": 1, "result": {…}}   or   {"id": 1, "error": {"code": …, "message": …, "hint": …}}

Hanging up cancels what is still being worked on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import LibrarianError, Unavailable
from . import address as addresses
from .handshake import Lines, as_error, encode, greet
from .launcher import Library, connect
from .launcher import shut_down_daemon as shut_down_daemon

OnProgress = Callable[[Mapping[str, Any]], None]


def call(
    index: Path,
    operation: str,
    arguments: Mapping[str, Any],
    *,
    config: Path | None = None,
    root: Path | None = None,
    on_progress: OnProgress | None = None,
    timeout: float | None = None,
    library: Library | None = None,
    on_note: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """An operation's answer by the daemon of `index`, which is started (with `config` and `root`) where there is none.

    Raises what the operation raised, by its code; `SetupError` if the daemon can't start; `Unavailable` if it hangs,
    dies or takes longer than `timeout` seconds. `on_note` hears where the daemon has other settings than
    `library` and keeps them for somebody else.
    """
    if library is None:
        library = Library(index.absolute(), _absolute(config), _absolute(root))
    end = None if timeout is None else time.monotonic() + timeout
    connection = connect(library, "call")
    lines = connection.lines
    if on_note is not None and (note := connection.note(library)):
        on_note(note)
    try:
        lines.socket.sendall(encode({"id": 1, "operation": operation, "arguments": dict(arguments)}))
        while True:
            answer = _answer(lines, end)
            if "progress" in answer:
                if on_progress is not None:
                    on_progress(answer["progress"])
            elif "error" in answer:
                raise as_error(answer["error"])
            else:
                result = answer["result"]
                return result if isinstance(result, dict) else {"result": result}
    except TimeoutError as error:
        raise Unavailable(
            f"{operation} wasn't answered within {timeout or 0:g} s.", hint="Ask for less, or allow more time."
        ) from error
    except (OSError, ValueError, KeyError) as error:
        raise Unavailable(
            f"The daemon ended before it had answered {operation}.",
            hint=f"Ask again: another one starts by itself. What happened is in {library.index / 'daemon.log'}.",
        ) from error
    finally:
        lines.close()


def served_at(index: Path, root: Path, *, named: bool = True) -> str:
    """Where a running `librarian serve` serves this index; empty where none does.

    Raises `SetupError` where it serves it for another root, `named` by whoever asks or the server.
    """
    address = addresses.read(index)
    if address is None or not address.url:
        return ""
    try:
        lines, connection = greet(address, "ping", __version__)
    except (OSError, LibrarianError):
        return ""
    lines.close()
    addresses.require_root(address, root, named=named)
    return connection.url


def _answer(lines: Lines, end: float | None) -> dict[str, Any]:
    if end is not None:
        lines.socket.settimeout(max(end - time.monotonic(), 0.001))
    line = lines.read()
    if not line:
        raise ConnectionResetError("hung up")
    answer = json.loads(line)
    if not isinstance(answer, dict):
        raise ValueError("no object")
    return answer


def _absolute(path: Path | None) -> Path | None:
    return None if path is None else path.absolute()
