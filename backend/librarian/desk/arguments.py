"""What a caller may ask for: every argument is checked here, once, so that each door gives the same sentence.

What is wrong raises `CallerError`, which names the argument, the value and what would be right; the name of something
that isn't there raises `NotFound`.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Iterable, Sequence
from typing import get_args

from ..vocabulary.arguments import FLAGS, LONGEST_QUERY, LONGEST_TEXT, nearest, shortened
from ..vocabulary.errors import CallerError, NotFound
from ..vocabulary.paths import name_of
from ..vocabulary.types import Mode
from ..vocabulary.visible import visible

LARGEST = 10**15 - 1  #: of whole numbers: every program's are exact so far, and a database holds it
MODES: tuple[str, ...] = get_args(Mode)
DOC_TYPES = ("api", "guide", "architecture", "reference", "readme", "documentation")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence with the nearest names, or an empty one."""
    names = nearest(word, known)
    return f"Did you mean {' or '.join(repr(name) for name in names)}?" if names else ""


def one_of(known: Sequence[str], given: object, more: str = "") -> str:
    """Sentences with all names there are (`more` says what else is taken), and the nearest to the one given.

    >>> one_of(("vector", "hybrid"), "hibrid")
    "Use one of vector, hybrid. Did you mean 'hybrid'?"
    """
    return f"Use one of {', '.join(known)}{more}. {did_you_mean(str(given), known)}".strip()


_ASK = "Ask with at least one word, for example 'how to rotate a token'."


def query_text(query: object, *, may_be_empty: bool = False, hint: str = _ASK) -> str:
    """The question, stripped; 1 to `LONGEST_QUERY` characters. `hint` is what helps where it is empty."""
    if not isinstance(query, str):
        raise CallerError(f"query must be a string, not {type(query).__name__}.", hint="Pass the question as text.")
    text = query.strip()
    if not text and not may_be_empty:
        raise CallerError("query is empty.", hint=hint)
    if len(query) > LONGEST_QUERY:
        raise CallerError(
            f"query has {len(query)} characters; at most {LONGEST_QUERY} are allowed.",
            hint="Shorten it to the question itself; pass a draft of the answer as hypothetical_answer.",
        )
    return text


def whole_number(name: str, value: object, low: int, high: int | None, *, hint: str = "") -> int:
    """An integer in [low, high], or of at least `low` and at most `LARGEST`; numbers written as text are accepted."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,15}", value.strip()):
        value = int(value.strip())
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise CallerError(f"{name} must be a whole number, not {shortened(value)}.", hint=hint)
    if not low <= value <= (LARGEST if high is None else high):
        upper = " or more" if high is None and value < low else f" to {LARGEST if high is None else high}"
        raise CallerError(f"{name} is {shortened(value)}; it must be {low}{upper}.", hint=hint)
    return value


def fraction(name: str, value: object) -> float:
    """A number in [0, 1]."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise CallerError(f"{name} must be a number from 0 to 1, not {shortened(value)}.") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise CallerError(
            f"{name} is {shortened(value)}; it must be a number from 0 (words only) to 1 (meaning only).",
            hint="Leave it out for the measured default.",
        )
    return float(value)


def mode_name(value: object) -> str:
    """One of the six modes."""
    if isinstance(value, str) and value.strip().lower() in MODES:
        return value.strip().lower()
    raise CallerError(f"mode {shortened(value)} is unknown.", hint=one_of(MODES, value))


def extensions(value: object) -> tuple[str, ...]:
    """File types as `.md`, from `md`, `.MD`, `*.md`, a list of these or a comma-separated string."""
    return tuple(
        dict.fromkeys("." + item.strip().lower().lstrip("*.") for item in strings("file_types", value) if item.strip())
    )


def strings(name: str, value: object) -> tuple[str, ...]:
    """A list of strings; one string is split at commas."""
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(item, str) for item in value):
        return tuple(item for item in value if item.strip())
    raise CallerError(
        f"{name} must be a list of strings, not {shortened(value)}.", hint=f'For example {name}=["a", "b"].'
    )


def text_or_none(name: str, value: object) -> str | None:
    """A non-empty string of up to `LONGEST_TEXT` characters, or None for nothing given."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise CallerError(f"{name} must be a string, not {shortened(value)}.")
    if len(value) > LONGEST_TEXT:
        raise CallerError(
            f"{name} has {len(value)} characters; at most {LONGEST_TEXT} are allowed.", hint="Shorten it."
        )
    return value.strip() or None


def line_or_none(name: str, value: object) -> str | None:
    """The same with single blanks, as headers of mails are kept."""
    text = text_or_none(name, value)
    return " ".join(text.split()) if text else None


def truth(name: str, value: object) -> bool | None:
    """A boolean or None; words for yes and no are accepted."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in FLAGS:
        return FLAGS[value.strip().lower()]
    raise CallerError(f"{name} must be true or false, not {shortened(value)}.")


def moment(name: str, value: object, *, end: bool) -> str | None:
    """A date or time in ISO 8601 as UTC; a bare day, month or year means its first moment, or its last where `end`."""
    if value is None or value == "":
        return None
    wrong = CallerError(
        f"{name} {shortened(value)} is not a date.",
        hint="Use ISO 8601, for example 2025-03-01 or 2025-03-01T12:00:00Z.",
    )
    if isinstance(value, dt.date):  # as Python programs have them, a time of day included
        value = value.isoformat()
    if not isinstance(value, str):
        raise wrong
    text = re.sub(r"(:\d\d(?:\.\d+)?) (\d\d:?\d\d)$", r"\1+\2", value.strip())  # in a URL a bare + is a space
    try:
        if period := re.fullmatch(r"(\d{4})(?:-(\d{2}))?", text):
            year, month = int(period[1]), int(period[2] or (12 if end else 1))
            text = f"{year:04}-{month:02}-{calendar.monthrange(year, month)[1] if end else 1:02}"
        parsed = dt.datetime.fromisoformat(text)
    except ValueError:
        raise wrong from None
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=dt.UTC)
    if end and len(text) <= 10:
        parsed = parsed.replace(hour=23, minute=59, second=59, microsecond=999999)
    try:
        return parsed.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    except (OverflowError, ValueError):
        raise wrong from None


def known_name(kind: str, value: object, known: Sequence[str], *, hint: str) -> str | None:
    """A product or component that exists, in its own spelling (any case and normal form is accepted)."""
    text = text_or_none(kind, value)
    if text is None:
        return None
    text = name_of(text)
    if text in known:
        return text
    for name in known:
        if text.lower() in (name.lower(), visible(name).lower()):  # as answers show it
            return name
    suggestion = did_you_mean(text, known)
    raise NotFound(f"No {kind} {shortened(text)}.", hint=f"{suggestion} {hint}".strip())


def language_code(value: object) -> str | None:
    """An ISO 639-1 code; a region behind it is left out, as documents have none."""
    text = text_or_none("language", value)
    if text is None:
        return None
    code = re.split(r"[-_]", text.lower())[0]
    if not re.fullmatch("[a-z]{2,3}", code):
        raise CallerError(f"language {shortened(text)} is not a code.", hint="Use ISO 639-1, such as en or de.")
    return code


def doc_type_name(value: object) -> str | None:
    """One of the six document types."""
    text = text_or_none("doc_type", value)
    if text is None or text.lower() in DOC_TYPES:
        return text.lower() if text else None
    raise CallerError(f"doc_type {shortened(text)} is unknown.", hint=one_of(DOC_TYPES, text))
