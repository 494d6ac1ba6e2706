"""Operators as mail users type them: `from:ann subject:"release plan" after:2026-01-31 has:attachment budget`."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from ..vocabulary.errors import CallerError

_OPERATOR = re.compile(
    r"""(?<!\S)(?P<not>-?)(?P<name>from|to|cc|subject|before|after|since|until|older|newer|has|thread):"""
    r"""(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s"]+))(?!\S)""",
    re.I,
)
_ARGUMENTS = {
    "from": "sender",
    "to": "recipient",
    "cc": "recipient",
    "subject": "subject_contains",
    "thread": "thread_id",
    "before": "date_before",
    "older": "date_before",
    "until": "date_before",
    "after": "date_after",
    "newer": "date_after",
    "since": "date_after",
}
_DATE = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?$")
_ATTACHMENTS = {"attachment", "attachments"}


def without_operators(query: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """(the words that are left, the arguments with what the operators say).

    `before:` a day ends before it begins, `after:` begins with it, as mail programs have it; `until:` includes it.
    Raises `CallerError` where an operator and an argument, or two operators, say different things.

    >>> without_operators('from:ann has:attachment budget', {})
    ('budget', {'sender': 'ann', 'has_attachments': True})
    """
    found: dict[str, Any] = {}

    def take(match: re.Match[str]) -> str:
        name = match["name"].lower()
        value = (match["quoted"] if match["quoted"] is not None else match["plain"]).strip()
        if name == "has":
            if value.lower() not in _ATTACHMENTS:
                return match.group()
            _put(found, "has_attachments", not match["not"], match.group())
            return " "
        if match["not"] or not value:
            return match.group()
        argument = _ARGUMENTS[name]
        _put(found, argument, _moment(name, value) if argument.startswith("date_") else value, match.group())
        return " "

    rest = " ".join(_OPERATOR.sub(take, query).split()) if ":" in query else query
    merged = dict(given)
    for argument, value in found.items():
        asked = merged.get(argument)
        if asked is not None and asked != value:
            raise CallerError(
                f"The query asks for {argument} {value!r}, the argument {argument} for {asked!r}.",
                hint="Give one of them.",
            )
        merged[argument] = value
    return rest, merged


def _put(found: dict[str, Any], argument: str, value: object, operator: str) -> None:
    if argument in found and found[argument] != value:
        raise CallerError(f"{operator} contradicts another operator in the query.", hint="Give each once.")
    found[argument] = value


def _moment(operator: str, value: str) -> str:
    """ISO 8601 of a day, month or year as the bound that the operator means; anything else is left to be checked."""
    match = _DATE.match(value)
    if match is None:
        return value
    year, month, day = (int(part) if part else None for part in match.groups())
    try:
        first = dt.datetime(year or 1, month or 1, day or 1, tzinfo=dt.UTC)
        if operator in ("after", "newer", "since"):
            return first.isoformat()
        if operator == "until":
            first = _next(first, month is not None, day is not None)
        return (first - dt.timedelta(microseconds=1)).isoformat()
    except (ValueError, OverflowError):
        return value


def _next(first: dt.datetime, has_month: bool, has_day: bool) -> dt.datetime:
    """The beginning of the next day, month or year."""
    if has_day:
        return first + dt.timedelta(days=1)
    if has_month:
        return (first + dt.timedelta(days=31)).replace(day=1)
    return first.replace(year=first.year + 1)
