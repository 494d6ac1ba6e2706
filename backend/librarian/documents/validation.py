"""From a verb's arguments to a `Query`: checked, in the library's own spelling."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast, get_args

from ..errors import CallerError, NotFound
from ..files.paths import name_of
from ..models import Filters, Mode, Query
from ..schemas import FLAGS, LONGEST_QUERY, LONGEST_TEXT, USUAL_TOKENS, nearest, shortened
from ..search.mail_query import without_operators
from ..text.sanitizing import visible
from .dependencies import LibraryOptions

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


#: Product → component → documents, asked for where a question names one of them.
Products = Callable[[], Mapping[str, Mapping[str, int]]]

_ASK_OR_FILTER = "Ask with at least one word, or give a filter, such as sender or date_after, for the newest mails."
_ANY = "Leave it out to search everywhere."


def _place(
    options: LibraryOptions, known: Products, product: object, component: object
) -> tuple[str | None, str | None]:
    if product is None and component is None:
        return None, None
    products = known()
    named = known_name("product", product, list(products), hint=f"Use list_products to see what is indexed. {_ANY}")
    if named is not None:  # shared products pass its filter, so their components are meant too
        inside = (named, *(name for name in options.shared_products if name in products))
        components = list(dict.fromkeys(component for name in inside for component in products[name]))
    else:
        components = sorted({name for inside in products.values() for name in inside})
    return named, known_name(
        "component", component, components, hint=f"Use list_components to see what is indexed. {_ANY}"
    )


def _common(options: LibraryOptions, given: Mapping[str, Any], limit_name: str) -> dict[str, Any]:
    limit = given.get(limit_name)
    weight, tokens = given.get("semantic_weight"), given.get("max_tokens")
    wanted = given.get("max_results")
    brief = bool(truth("brief", given.get("brief")))
    usual = None if brief else USUAL_TOKENS
    return {
        "max_results": min(
            options.default_max_results if wanted is None else whole_number("max_results", wanted, 1, None),
            options.max_results,
        ),
        "offset": whole_number("offset", given.get("offset") or 0, 0, None),
        "mode": cast(Mode, mode_name(given.get("mode") or options.default_mode)),
        "semantic_weight": None if weight is None else fraction("semantic_weight", weight),
        "max_per_document": whole_number(limit_name, limit, 0, None, hint="0 means no limit.")
        if limit is not None
        else (1 if limit_name == "max_per_thread" else options.max_per_document),
        "max_tokens": usual if tokens is None else whole_number("max_tokens", tokens, 1, None),
        "packed": not brief,
        "counted": wanted is not None,
    }


def notes(options: LibraryOptions, given: Mapping[str, Any]) -> list[str]:
    """What is said of arguments that are taken otherwise than given."""
    wanted = given.get("max_results")
    if wanted is None or whole_number("max_results", wanted, 1, None) <= options.max_results:
        return []
    return [f"max_results is {wanted}: at most {options.max_results} come at once; page on with offset."]


def _ordered(after: str | None, before: str | None, names: tuple[str, str]) -> None:
    if after and before and dt.datetime.fromisoformat(after) > dt.datetime.fromisoformat(before):
        raise CallerError(f"{names[0]} {after} lies after {names[1]} {before}.", hint="Swap them.")


def documents(options: LibraryOptions, products: Products, given: Mapping[str, Any]) -> Query:
    """The arguments of `search_documentation`."""
    product, component = _place(options, products, given.get("product"), given.get("component"))
    after = moment("modified_after", given.get("modified_after"), end=False)
    before = moment("modified_before", given.get("modified_before"), end=True)
    _ordered(after, before, ("modified_after", "modified_before"))
    return Query(
        text=query_text(given.get("query")),
        filters=Filters(
            kind="document",
            product=product,
            component=component,
            file_types=extensions(given.get("file_types")),
            doc_type=doc_type_name(given.get("doc_type")),
            tags=strings("tags", given.get("tags")),
            language=language_code(given.get("language")),
            modified_after=after,
            modified_before=before,
        ),
        include_parent_context=bool(truth("include_parent_context", given.get("include_parent_context"))),
        hypothetical_answer=text_or_none("hypothetical_answer", given.get("hypothetical_answer")),
        include_weak=bool(truth("include_weak", given.get("include_weak"))),
        **_common(options, given, "max_per_document"),
    )


def emails(options: LibraryOptions, products: Products, given: Mapping[str, Any]) -> Query:
    """The arguments of `search_emails`; `query` may hold operators, and be empty where a filter is given."""
    text = query_text(given.get("query") or "", may_be_empty=True)
    text, given = without_operators(text, given)
    product, component = _place(options, products, given.get("product"), given.get("component"))
    after = moment("date_after", given.get("date_after"), end=False)
    before = moment("date_before", given.get("date_before"), end=True)
    _ordered(after, before, ("date_after", "date_before"))
    filters = Filters(
        kind="email",
        product=product,
        component=component,
        sender=line_or_none("sender", given.get("sender")),
        thread_id=text_or_none("thread_id", given.get("thread_id")),
        subject_contains=line_or_none("subject_contains", given.get("subject_contains")),
        has_attachments=truth("has_attachments", given.get("has_attachments")),
        recipients=strings("recipients", given.get("recipients")),
        modified_after=after,
        modified_before=before,
    )
    if filters.thread_id is not None and given.get("max_per_thread") in (None, 1):
        given = {**given, "max_per_thread": 0}  # the default; of one thread its best mail alone would be all
    return Query(
        text=query_text(text, may_be_empty=filters != Filters(kind="email"), hint=_ASK_OR_FILTER),
        filters=filters,
        **_common(options, given, "max_per_thread"),
    )
