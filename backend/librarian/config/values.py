"""Values that are written in more than one way, made into the one that the program compares.

Each raises `ValueError` with a sentence, without its full stop, for what could never mean anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv6Address
from typing import Final

_HOST: Final = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(?::\d{1,5})?")
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s?#@]+")


def split_words(value: object) -> object:
    """A list, or its items separated by commas (the form of the environment)."""
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    return value


def secret(value: object) -> object:
    """A secret without the blanks around it, which no header keeps; None where nothing is left, as unset."""
    return value.strip() or None if isinstance(value, str) else value


def hosts(value: object) -> object:
    """Names as a request's `Host` has them; of an address (`https://docs.example.org/`) its name."""
    return _each(value, _host)


def origins(value: object) -> object:
    """Origins as browsers send them."""
    return _each(value, _origin)


def _each(value: object, read: Callable[[str], str]) -> object:
    words = split_words(value)
    if isinstance(words, (list, tuple)) and all(isinstance(word, str) for word in words):
        return tuple(read(word.strip().lower()) for word in words)
    return words


def _host(word: str) -> str:
    name = re.sub(r"^https?://", "", word).rstrip("/")
    with suppress(ValueError):
        return f"[{IPv6Address(name)}]"
    if not _HOST.fullmatch(name):
        raise ValueError(f"{word!r} is no host's name; write each as docs.example.org, without a path or a *")
    return name


def _origin(word: str) -> str:
    origin = word.rstrip("/")
    if origin not in ("*", "null") and not _ORIGIN.fullmatch(origin):
        raise ValueError(f"{word!r} is no web origin; write each as https://app.example.org, without a path")
    return origin
