"""Where log lines go: stderr, a rotating file, plain or as JSON. Standard output belongs to protocols and answers."""

from __future__ import annotations

import json
import logging
import logging.handlers
import time

from .config.settings import Settings

FILE_BYTES = 5_000_000
FILES_KEPT = 3


class JsonLines(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message, and the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "time": f"{stamp}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def configure(settings: Settings) -> None:
    """Set up the root logger as the settings say. Doing so again replaces what was set up before."""
    wanted = settings.logging
    formatter: logging.Formatter = (
        JsonLines() if wanted.as_json else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    if wanted.file is not None:
        wanted.file.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(
            logging.handlers.RotatingFileHandler(
                wanted.file, maxBytes=FILE_BYTES, backupCount=FILES_KEPT, encoding="utf-8", delay=True
            )
        )
    for handler in handlers:
        handler.setFormatter(formatter)
    logging.basicConfig(level=wanted.level.upper(), handlers=handlers, force=True)
    for noisy in ("httpx", "httpcore", "chromadb", "mcp", "asyncio", "watchdog"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, logging.getLogger().level))
