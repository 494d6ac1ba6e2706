"""What every verb is asked, once: names, kinds and descriptions of arguments, for every door that takes them by name.

Here a door learns whether an argument exists and has a usable type; what values mean and may be is the desk's to say.
Weak callers are met halfway: `"7"` is 7, `"true"` and 1 are true, `'["md"]'` and `"md,txt"` are lists, `["md"]` is
`"md"` where one is wanted, a word of an enumeration has any case, null is "not given", and so is `""` where nothing is
needed.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .errors import CallerError

Kind = Literal["text", "whole", "number", "flag", "texts"]

ALIASES: Mapping[str, str] = {"search_mode": "mode", "hybrid_weight": "semantic_weight"}
"""Names from older documents that are still understood, though no schema shows them."""

#: What other systems call it, by the names here: whoever guesses one is told.
_ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "query": ("q", "question", "text", "search", "keywords"),
    "max_results": ("limit", "top_k", "topk", "k", "n", "num_results", "page_size"),
    "offset": ("skip", "start", "cursor"),
    "path": ("file_path", "file", "uri", "document", "doc_id", "id"),
}

_WANTED: Mapping[Kind, str] = {
    "text": "a string",
    "whole": "a whole number",
    "number": "a number",
    "flag": "true or false",
    "texts": "a list of strings",
}
_JSON: Mapping[Kind, dict[str, object]] = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "texts": {"type": "array", "items": {"type": "string"}},
}


SHOWN = 8  #: names that an error lists where none resembles what was asked for
USUAL = 10  #: results where neither the caller nor the settings say
USUAL_TOKENS = 1500  #: of an answer as text where the caller doesn't say, a token being four characters
LONGEST_QUERY = 2000  #: characters
LONGEST_TEXT = 20_000  #: characters of any other argument: it is looked for, or embedded
LONGEST_PATH = 4096  #: characters of a document's path: no system takes more
LONG_DOCUMENT = 20_000  #: characters of a part of a document that are given at once where the caller doesn't say
WHOLE_DOCUMENT = 2_000  #: tokens up to which a document comes whole where the caller names no part of it
#: The same of a conversation, headers included: some 250 usual mails, half of what models read at once.
LONG_THREAD = 400_000


@dataclass(frozen=True, slots=True)
class Counts:
    """How many results a caller gets that doesn't say, and at most: what settings allow of a tool's own numbers."""

    usual: int = USUAL
    most: int = 50


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a verb; `limits` are JSON Schema keywords (minimum, enum, default …) shown to callers.

    `results` is set where it says how many are wanted: those that come where it is left out, `USUAL` standing for the
    settings'. `for_models` is off where the argument serves people and programs alone: models' schemas leave it out.
    """

    name: str
    kind: Kind = "text"
    description: str = ""
    required: bool = False
    limits: Mapping[str, object] = field(default_factory=dict)
    results: int = 0
    for_models: bool = True

    def schema(self, counts: Counts = Counts()) -> dict[str, object]:
        """The argument as JSON Schema, without title and without a null-union: what may be null may be left out."""
        described = {"description": self.description} if self.description else {}
        some = {"minLength": 1} if self.required and self.kind == "text" else {}
        limits = dict(self.limits)
        if self.results:
            default = counts.usual if self.results == USUAL else self.results
            limits = {"minimum": 1, "maximum": counts.most, "default": min(default, counts.most)}
        return {**_JSON[self.kind], **some, **limits, **described}


def schema_of(arguments: Sequence[Argument], counts: Counts = Counts()) -> dict[str, object]:
    """All arguments of a verb as one JSON Schema object that allows no others."""
    properties = {item.name: item.schema(counts) for item in arguments}
    schema: dict[str, object] = {"type": "object", "properties": properties}
    if required := [item.name for item in arguments if item.required]:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def checked(verb: str, arguments: Sequence[Argument], given: Mapping[str, object]) -> dict[str, object]:
    """`given` under real names with usable types; null is left out, and what is blank and not required.

    Raises `CallerError` for an argument that doesn't exist (with the nearest name), is missing, is given under two
    names or can't be of its kind.

    >>> takes = [Argument("query", required=True), Argument("mode")]
    >>> checked("search", takes, {"query": "a", "search_mode": "keyword"})
    {'query': 'a', 'mode': 'keyword'}
    """
    known = {item.name: item for item in arguments}
    taken = {
        name: _converted(known[name], value)
        for name, value in named(verb, arguments, given).items()
        if value is not None and (known[name].required or not _blank(value))
    }
    for item in arguments:
        if item.required and item.name not in taken:
            raise CallerError(
                f"{verb} needs the argument {item.name} ({_WANTED[item.kind]}).",
                hint=item.description.rstrip(".") + ".",
            )
    return taken


def named(verb: str, arguments: Sequence[Argument], given: Mapping[str, object]) -> dict[str, object]:
    """`given` under real names, values untouched: what Python callers need, whose values have types already.

    Raises `CallerError` for an argument that doesn't exist (with the nearest name) or is given under two names.

    >>> named("search", [Argument("query"), Argument("mode")], {"query": "a", "search_mode": "keyword"})
    {'query': 'a', 'mode': 'keyword'}
    """
    known = [item.name for item in arguments]
    taken: dict[str, object] = {}
    names: dict[str, str] = {}
    for name, value in given.items():
        real = name if name in known else ALIASES.get(name, name)
        if real not in known:
            raise _unknown(verb, name, value, known)
        if real in taken:
            raise CallerError(f"{verb} was given {real} twice: {names[real]} and {name}.", hint=f"Pass {real} only.")
        taken[real] = value
        names[real] = name
    return taken


_REPR = reprlib.Repr()
_REPR.fillvalue = "…"
_REPR.maxlevel = 4
_REPR.maxlist = _REPR.maxtuple = _REPR.maxset = _REPR.maxdict = 40
_REPR.maxlong = _REPR.maxother = 78


def shortened(value: object) -> str:
    """A value as it may stand in an error message: at most 80 characters, however large or deep it is."""
    text = repr(value[:100]) if isinstance(value, str) else _REPR.repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def nearest(word: str, names: Iterable[str], count: int = 3) -> list[str]:
    """The names most like `word`, best first (difflib ratio ≥ 0.5, any case)."""
    by_lower = {name.lower(): name for name in names}
    return [by_lower[found] for found in difflib.get_close_matches(word.lower(), list(by_lower), count, 0.5)]


def some_of(names: Sequence[str], wanted: str, what: str) -> str:
    """A sentence with the names that `wanted` may have meant, else the first; few are never told as if they were all.

    >>> some_of(["Install", "Use"], "Instal", "headings"), some_of(["a", "b"], "zzz", "categories")
    ("Nearest of 2 headings: 'Install'.", "All categories: 'a', 'b'.")
    """
    near = nearest(wanted, names)
    shown = ", ".join(map(repr, near or names[:SHOWN]))
    if near:
        return f"Nearest of {len(names)} {what}: {shown}."
    return f"All {what}: {shown}." if len(names) <= SHOWN else f"The first of {len(names)} {what}: {shown}."


def _unknown(verb: str, name: str, value: object, names: list[str]) -> CallerError:
    message = f"{verb} has no argument {shortened(name)} (given: {shortened(value)})."
    near = [own for own, others in _ELSEWHERE.items() if own in names and name.lower() in others]
    near = near or nearest(name, [*names, *(alias for alias, real in ALIASES.items() if real in names)], 1)
    hint = f"Did you mean {ALIASES.get(near[0], near[0])!r}?" if near else ""
    takes = f"It takes {', '.join(names)}." if names else "It takes no arguments."
    return CallerError(message, hint=f"{hint} {takes}".strip())


def _blank(value: object) -> bool:
    """Whether a form's or a model's empty field: it asks for nothing."""
    return isinstance(value, str) and not value.strip()


def _converted(argument: Argument, value: object) -> object:
    if argument.kind != "texts" and isinstance(value, list) and len(value) == 1:
        value = value[0]
    match argument.kind:
        case "text":
            if isinstance(value, str):
                return _of_enumeration(argument.limits, _encodable(value))
            if isinstance(value, int | float) and not isinstance(value, bool):
                return str(value)
        case "whole":
            if (whole := _whole(value)) is not None:
                return whole
        case "number":
            if (number := _number(value)) is not None:
                return number
        case "flag":
            if isinstance(value, int | float) and value in (0, 1):
                return bool(value)
            if isinstance(value, str) and value.strip().lower() in FLAGS:
                return FLAGS[value.strip().lower()]
        case "texts":
            if (texts := _texts(value)) is not None:
                items = argument.limits.get("items")
                return [_of_enumeration(items, text) for text in texts] if isinstance(items, Mapping) else texts
    raise CallerError(
        f"{argument.name} must be {_WANTED[argument.kind]}, not {shortened(value)}.",
        hint=argument.description.rstrip(".") + "." if argument.description else "",
    )


def _of_enumeration(limits: Mapping[str, object], text: str) -> str:
    """The word of `enum` that `text` is in another case; `text` itself where there is none."""
    words = limits.get("enum")
    if not isinstance(words, Sequence) or text in words:
        return text
    return next((str(word) for word in words if str(word).lower() == text.strip().lower()), text)


def _encodable(text: str) -> str:
    """Half characters, as scripts send them that cut an emoji in two, can't be written anywhere: they are replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


#: Words that callers write for yes and no.
FLAGS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def _whole(value: object) -> int | None:
    """A whole number of any size, exactly: whether it is too large is the desk's to say."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number = _number(value)
    return int(number) if number is not None and number.is_integer() else None


def _number(value: object) -> float | None:
    """A number that is neither infinite nor NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _texts(value: object) -> list[str] | None:
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("["):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                return None
        else:
            return [part.strip() for part in _encodable(text).split(",") if part.strip()]
    if isinstance(value, Sequence) and all(isinstance(item, str) for item in value):
        return [_encodable(item) for item in value]
    return None
