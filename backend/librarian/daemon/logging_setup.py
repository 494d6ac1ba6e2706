"""Where log lines go: stderr and a rotating file in the index folder, plain or as JSON.

Standard output belongs to protocols and answers. Each line names the request that it is about.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
from datetime import UTC, datetime
from io import TextIOWrapper
from textwrap import indent
from typing import Any

from ..errors import SetupError
from ..files.owned_folder import Kind, claim, claim_index, is_marked
from ..models import REQUEST
from ..settings import Settings
from ..text.sanitizing import visible

#: A folder that is made for the log alone.
FOLDER = Kind("log", "librarian.log", "Set logging.file to a file of another folder.")
PLAIN = "%(asctime)s %(levelname)s %(name)s%(request)s: %(message)s"

_LINE_ENDS = {ord(end): ascii(end)[1:-1] for end in "\r\n\v\f\x85\u2028\u2029"}
_JSON_LINE_ENDS = {ord(end): ascii(end)[1:-1] for end in "\u2028\u2029"}  # JSON itself escapes the others


class Plain(logging.Formatter):
    """A line of text, with the request in brackets where there is one.

    Messages name files and questions, and those may hold what rewrites a terminal, or what looks like a further line.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the library's name)
        """The line alone, without its traceback."""
        return visible(super().formatMessage(record).translate(_LINE_ENDS))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """The traceback, indented, because its last line may name a file, too."""
        return indent(visible(super().formatException(ei)).replace("\r", "\\r"), "  ")

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line; a traceback follows on further ones."""
        request = REQUEST.get()
        record.request = f" [{request}]" if request else ""
        return super().format(record)


class PrivateFile(logging.handlers.RotatingFileHandler):
    """A rotating file for this user alone: questions may be written in it."""

    def _open(self) -> TextIOWrapper:
        file = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return open(file, "a", encoding="utf-8", errors="backslashreplace")


class JsonLines(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message; request and traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        moment = datetime.fromtimestamp(record.created, UTC).replace(tzinfo=None)
        line = {
            "time": f"{moment.isoformat(timespec='milliseconds')}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request := REQUEST.get():
            line["request"] = request
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return visible(json.dumps(line, ensure_ascii=False)).translate(_JSON_LINE_ENDS)


def configure(settings: Settings) -> None:
    """Set up the root logger as the settings say. Doing so again replaces what was set up before.

    Raises `SetupError` where the log's folder can't be made or the index folder is somebody else's, or where the file
    that the settings name can't be written.
    """
    wanted, path = settings.logging, settings.logging.file or settings.index.path / "librarian.log"
    try:
        if path.parent == settings.index.path:
            claim_index(path.parent)
        elif not path.parent.is_dir() or is_marked(path.parent, FOLDER):  # one that is there is the user's
            claim(path.parent, FOLDER)
    except OSError as error:
        raise SetupError(
            f"The folder {path.parent} of the log can't be made: {error.strerror}.",
            hint="Set logging.file, or index.path (INDEX_PATH), to a place that may be written.",
        ) from error
    file = PrivateFile(path, maxBytes=5_000_000, backupCount=3, encoding="utf-8", delay=True)
    if wanted.file is not None:  # lines that can't be written are lost silently
        try:
            file._open().close()
        except OSError as error:
            raise SetupError(
                f"The log {path} can't be written: {error.strerror}.",
                hint="Set logging.file to a file that may be written, or leave it out.",
            ) from error
    handlers: list[logging.Handler] = [logging.StreamHandler(), file]
    formatter: logging.Formatter = JsonLines() if wanted.as_json else Plain(PLAIN)
    for handler in handlers:
        handler.setFormatter(formatter)
    logging.raiseExceptions = False  # a full disk costs the line, and nothing else
    logging.basicConfig(level=wanted.level.upper(), handlers=handlers, force=True)
    for noisy in ("httpx", "httpcore", "chromadb", "mcp", "asyncio", "watchfiles", "uvicorn"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, logging.getLogger().level))
