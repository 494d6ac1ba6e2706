"""Which request a thread or task is busy with: an id that its log lines carry and its answer tells."""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar
from typing import Final

REQUEST: Final[ContextVar[str]] = ContextVar("request", default="")
DRAFT: Final[ContextVar[bool]] = ContextVar("draft", default=False)
"""Whether the question is still being typed, so the question log leaves it out."""

_USABLE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


def new_id() -> str:
    """Eight hexadecimal digits: enough to find one request in a log, short enough to read out."""
    return secrets.token_hex(4)


def usable_id(given: str | None) -> str:
    """A caller's own id where it fits on a log line and in a header; else a new one."""
    return given if given is not None and _USABLE.fullmatch(given) else new_id()
