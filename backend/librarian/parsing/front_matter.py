"""Front matter: the YAML, TOML or JSON that stands in front of a page, as its author typed it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import yaml

_OPENING = re.compile(r'(---|\+\+\+)[ \t]*\n|\{\s*"')
_CLOSING = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.M),
    "+++": re.compile(r"^\+\+\+[ \t]*(?:\n|\Z)", re.M),
}
_BLANK_LINE = re.compile(r"[ \t]*(?:\n[ \t]*(?:\n|\Z)|\Z)")
_MAX_CHARACTERS = 100_000  #: front matter beyond this is text that happens to begin with a rule
_MAX_WRITTEN = 500_000  #: YAML's references can name the same list so often that a page of text becomes gigabytes
_MAX_NESTED = 1_000
_BRACKET = re.compile(r"[\[\]{}]")
_NESTED_ITEMS = re.compile(r"(?:[-?:][ \t]+){500}")

#: Where an entry begins, and a value that opens what its line doesn't close.
_ENTRY = re.compile(r"^(?=[A-Za-z_][\w.-]{0,60}:(?:[ \t]|$))", re.M)
_OPEN = re.compile(r"[\"'\[{|>](?!.*[\"'\]}])")
#: Words with a number sign, which YAML takes for a comment: `title: Fix #3`.
_NUMBER_SIGN = re.compile(
    r"^((?:title|linkTitle|sidebar_label|description|summary):)[ \t]+"
    r"(?![\"'])(\S[^\n]{0,1000}?[ \t]#[^\s#][^\n]*?)[ \t]*$",
    re.M,
)
_REPAIRED = "front matter isn't valid YAML: its lines are taken by themselves, as they are typed"
_FAULTS = (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError, RecursionError)


class _AsTyped(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Leaves plain values as they are typed (`1.10`, `0123`, `no`, `12:30:45`), but for those that read the same."""

    yaml_implicit_resolvers: ClassVar[dict[str, object]] = {}


for _tag, _form, _first in (
    ("bool", "true|false|True|False|TRUE|FALSE", "tTfF"),
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"0|-?[1-9]\d{0,15}", "-0123456789"),
    ("float", r"-?(?:0|[1-9]\d{0,14})\.(?:0|\d{0,13}[1-9])", "-0123456789"),
    ("merge", "<<", "<"),
):
    _AsTyped.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_form})$"), list(_first))


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`end` is the offset behind its closing line, 0 where there is none; `note` says what was wrong with it."""

    values: Mapping[str, object] = field(default_factory=dict)
    end: int = 0
    note: str = ""


def read_front_matter(text: str) -> FrontMatter:
    """Front matter at the start of `text`. Where it is broken, its plain lines are taken, and the note says so."""
    opening = _OPENING.match(text)
    if opening is None or opening[1] is None:
        return _json(text) if opening else FrontMatter()
    closing = _CLOSING[opening[1]].search(text, opening.end(), opening.end() + _MAX_CHARACTERS)
    if closing is None:
        return FrontMatter()
    body, end = text[opening.end() : closing.start()], closing.end()
    try:
        values, note = _yaml(body) if opening[1] == "---" else (tomllib.loads(body), "")
        return FrontMatter(end=end) if values is None else _plain(values, end, note)
    except _FAULTS as error:
        return FrontMatter(end=end, note=f"front matter can't be read: {str(error).splitlines()[0]}")


def _yaml(body: str) -> tuple[object, str]:
    """The values of YAML, and a note where some of them had to be taken as they are typed."""
    if nested_too_deep(body):
        raise ValueError("it is nested too deep")
    quoted = _NUMBER_SIGN.sub(lambda entry: f"{entry[1]} {json.dumps(entry[2], ensure_ascii=False)}", body)
    try:
        return yaml.load(quoted, _AsTyped), _REPAIRED if quoted != body else ""
    except _FAULTS:
        values: dict[str, object] = {}
    _, *entries = _ENTRY.split(quoted)
    for entry in entries:
        key, _, value = entry.partition(":")
        typed = value.partition("\n")[0].strip()
        try:
            values |= yaml.load(entry, _AsTyped)
        except _FAULTS:
            if typed and not _OPEN.match(typed):
                values[key] = typed
    return values if entries else "", _REPAIRED  # thematic breaks with prose between them are text


def _json(text: str) -> FrontMatter:
    """An object in front of a blank line, as Hugo takes it; what isn't valid JSON is text."""
    try:
        values, end = json.JSONDecoder().raw_decode(text[:_MAX_CHARACTERS])
    except (ValueError, RecursionError):
        return FrontMatter()
    below = _BLANK_LINE.match(text, end)
    # How deep the decoder itself goes differs from one Python to the next.
    return _plain(values, below.end()) if below and not nested_too_deep(text[:end]) else FrontMatter()


def _plain(values: object, end: int, note: str = "") -> FrontMatter:
    """Values that JSON can hold; dates become ISO strings. Raises ValueError where they are too many."""
    if not isinstance(values, dict):
        return FrontMatter()
    written = ""
    for piece in json.JSONEncoder(skipkeys=True, default=str).iterencode(values):
        written += piece
        if len(written) > _MAX_WRITTEN:
            raise ValueError("it unfolds to too many values")
    return FrontMatter(json.loads(written, parse_constant=str), end, note)


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
