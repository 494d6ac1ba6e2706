"""Characters that a storage can't hold, put aside before it is asked to."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

T = TypeVar("T")


def without(unstorable: re.Pattern[str], value: T) -> T:
    """The same dataclass, tuple or text with each such character replaced by U+FFFD: offsets stay."""
    return cast(T, _replaced(unstorable, value))


def _replaced(unstorable: re.Pattern[str], value: object) -> object:
    if isinstance(value, str):
        return unstorable.sub("\ufffd", value)
    if isinstance(value, tuple):
        return tuple(_replaced(unstorable, item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _replaced(unstorable, getattr(value, f.name)) for f in fields(value)})
    return value
