"""The block of YAML, TOML or JSON with which many Markdown files begin."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import yaml

_OPENING = re.compile(r"(---|\+\+\+)[ \t]*\n")
_JSON_OPENING = re.compile(r'\{\s*"')
_BLANK_LINE = re.compile(r"[ \t]*(?:\n[ \t]*(?:\n|\Z)|\Z)")
_MAX_CHARACTERS = 100_000  #: front matter beyond this is text that happens to begin with a rule
_MAX_DEPTH = 20
_MAX_VALUES = 20_000  #: YAML's references can name the same list so often that a page of text becomes gigabytes
_MAX_NESTED = 1_000
#: A value on one line that wants no quotes from a reader, though YAML may: `title: Mail: the basics`, `name: @acme/ui`.
_LINE = re.compile(r"^([A-Za-z_][\w-]{0,60}):[ \t]+([^\s\"'\[\]{}|>&*!%#,?-][^\n]{0,1000}?)[ \t]*$", re.M)
_BRACKET = re.compile(r"[\[\]{}]")
_NESTED_ITEMS = re.compile(r"(?:[-?:][ \t]+){500}")

try:
    _Loader: type[yaml.SafeLoader] = yaml.CSafeLoader  # type: ignore[assignment]
except AttributeError:  # pragma: no cover - PyYAML built without libyaml
    _Loader = yaml.SafeLoader


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`end` is the offset behind its closing line, 0 where there is none; `note` says what was wrong with it."""

    values: Mapping[str, object] = field(default_factory=dict)
    end: int = 0
    note: str = ""


def read_front_matter(text: str) -> FrontMatter:
    """Front matter at the start of `text`. Where it is broken, its plain lines are taken, and the note says so."""
    opening = _OPENING.match(text)
    if opening is None:
        return _json(text) if _JSON_OPENING.match(text) else FrontMatter()
    rule = opening.group(1)
    closing = re.compile(
        rf"^{re.escape(rule)}[ \t]*(?:\n|\Z)" if rule == "+++" else r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.M
    )
    end = closing.search(text, opening.end(), opening.end() + _MAX_CHARACTERS)
    if end is None:
        return FrontMatter()
    body = text[opening.end() : end.start()]
    if rule == "---" and nested_too_deep(body):
        return FrontMatter(end=end.end(), note="front matter can't be read: it is nested too deep")
    try:
        values = tomllib.loads(body) if rule == "+++" else yaml.load(body, Loader=_Loader)
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        if rule == "---" and not re.search(r"^[\w-]+[ \t]*:", body, re.M):
            return FrontMatter()  # two thematic breaks with prose between them
        note = f"front matter can't be read: {str(error).splitlines()[0]}"
        lines: dict[str, object] = dict(_LINE.findall(body)) if rule == "---" else {}
        return FrontMatter(lines, end.end(), f"{note}; its lines are taken by themselves" if lines else note)
    if values is None:
        return FrontMatter(end=end.end())
    return _plain(values, end.end())


def _json(text: str) -> FrontMatter:
    """An object in front of a blank line, as Hugo takes it; what isn't valid JSON is text."""
    try:
        values, end = json.JSONDecoder().raw_decode(text[:_MAX_CHARACTERS])
    except (ValueError, RecursionError):
        return FrontMatter()
    if nested_too_deep(text[:end]):  # how deep the decoder itself goes differs from one Python to the next
        return FrontMatter()
    below = _BLANK_LINE.match(text, end)
    return _plain(values, below.end()) if below else FrontMatter()


def _plain(values: object, end: int) -> FrontMatter:
    if not isinstance(values, dict):
        return FrontMatter()
    count = itertools.count()
    try:
        plain = {str(key): _plain_value(value, count) for key, value in values.items()}
    except ValueError as error:
        return FrontMatter(end=end, note=f"front matter can't be read: {error}")
    return FrontMatter(plain, end)


def nested_too_deep(text: str) -> bool:
    """Whether YAML or JSON opens so many brackets or items inside each other that reading it would run out of stack."""
    if _NESTED_ITEMS.search(text):
        return True
    depth = 0
    for bracket in _BRACKET.findall(text):
        depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
        if depth > _MAX_NESTED:
            return True
    return False


def _plain_value(value: object, count: Iterator[int], depth: int = 0) -> object:
    """Values that JSON can hold; dates become ISO strings. Raises `ValueError` where there are too many."""
    if next(count) > _MAX_VALUES or depth > _MAX_DEPTH:
        raise ValueError("it unfolds to too many values")
    if isinstance(value, dict):
        return {str(key): _plain_value(inner, count, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain_value(inner, count, depth + 1) for inner in value]
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if value is None or isinstance(value, (str, int, bool)):
        return value
    return str(value)
