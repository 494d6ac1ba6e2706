"""From a verb's arguments to a `Query`: checked, in the library's own spelling."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, cast

from ..vocabulary.arguments import USUAL_TOKENS
from ..vocabulary.errors import CallerError
from ..vocabulary.types import Filters, Mode, Query
from . import arguments as check
from .mail_operators import without_operators
from .parts import DeskOptions

#: Product → component → documents, asked for where a question names one of them.
Products = Callable[[], Mapping[str, Mapping[str, int]]]

_ASK_OR_FILTER = "Ask with at least one word, or give a filter, such as sender or date_after, for the newest mails."
_ANY = "Leave it out to search everywhere."


def _place(options: DeskOptions, known: Products, product: object, component: object) -> tuple[str | None, str | None]:
    if product is None and component is None:
        return None, None
    products = known()
    named = check.known_name(
        "product", product, list(products), hint=f"Use list_products to see what is indexed. {_ANY}"
    )
    if named is not None:  # shared products pass its filter, so their components are meant too
        inside = (named, *(name for name in options.shared_products if name in products))
        components = list(dict.fromkeys(component for name in inside for component in products[name]))
    else:
        components = sorted({name for inside in products.values() for name in inside})
    return named, check.known_name(
        "component", component, components, hint=f"Use list_components to see what is indexed. {_ANY}"
    )


def _common(options: DeskOptions, given: Mapping[str, Any], limit_name: str) -> dict[str, Any]:
    limit = given.get(limit_name)
    weight, tokens = given.get("semantic_weight"), given.get("max_tokens")
    wanted = given.get("max_results")
    brief = bool(check.truth("brief", given.get("brief")))
    usual = None if brief else USUAL_TOKENS
    return {
        "max_results": min(
            options.default_max_results if wanted is None else check.whole_number("max_results", wanted, 1, None),
            options.max_results,
        ),
        "offset": check.whole_number("offset", given.get("offset") or 0, 0, None),
        "mode": cast(Mode, check.mode_name(given.get("mode") or options.default_mode)),
        "semantic_weight": None if weight is None else check.fraction("semantic_weight", weight),
        "max_per_document": check.whole_number(limit_name, limit, 0, None, hint="0 means no limit.")
        if limit is not None
        else (1 if limit_name == "max_per_thread" else options.max_per_document),
        "max_tokens": usual if tokens is None else check.whole_number("max_tokens", tokens, 1, None),
        "packed": not brief,
        "counted": wanted is not None,
    }


def notes(options: DeskOptions, given: Mapping[str, Any]) -> list[str]:
    """What is said of arguments that are taken otherwise than given."""
    wanted = given.get("max_results")
    if wanted is None or check.whole_number("max_results", wanted, 1, None) <= options.max_results:
        return []
    return [f"max_results is {wanted}: at most {options.max_results} come at once; page on with offset."]


def _ordered(after: str | None, before: str | None, names: tuple[str, str]) -> None:
    if after and before and dt.datetime.fromisoformat(after) > dt.datetime.fromisoformat(before):
        raise CallerError(f"{names[0]} {after} lies after {names[1]} {before}.", hint="Swap them.")


def documents(options: DeskOptions, products: Products, given: Mapping[str, Any]) -> Query:
    """The arguments of `search_documentation`."""
    product, component = _place(options, products, given.get("product"), given.get("component"))
    after = check.moment("modified_after", given.get("modified_after"), end=False)
    before = check.moment("modified_before", given.get("modified_before"), end=True)
    _ordered(after, before, ("modified_after", "modified_before"))
    return Query(
        text=check.query_text(given.get("query")),
        filters=Filters(
            kind="document",
            product=product,
            component=component,
            file_types=check.extensions(given.get("file_types")),
            doc_type=check.doc_type_name(given.get("doc_type")),
            tags=check.strings("tags", given.get("tags")),
            language=check.language_code(given.get("language")),
            modified_after=after,
            modified_before=before,
        ),
        include_parent_context=bool(check.truth("include_parent_context", given.get("include_parent_context"))),
        hypothetical_answer=check.text_or_none("hypothetical_answer", given.get("hypothetical_answer")),
        include_weak=bool(check.truth("include_weak", given.get("include_weak"))),
        **_common(options, given, "max_per_document"),
    )


def emails(options: DeskOptions, products: Products, given: Mapping[str, Any]) -> Query:
    """The arguments of `search_emails`; `query` may hold operators, and be empty where a filter is given."""
    text = check.query_text(given.get("query") or "", may_be_empty=True)
    text, given = without_operators(text, given)
    product, component = _place(options, products, given.get("product"), given.get("component"))
    after = check.moment("date_after", given.get("date_after"), end=False)
    before = check.moment("date_before", given.get("date_before"), end=True)
    _ordered(after, before, ("date_after", "date_before"))
    filters = Filters(
        kind="email",
        product=product,
        component=component,
        sender=check.line_or_none("sender", given.get("sender")),
        thread_id=check.text_or_none("thread_id", given.get("thread_id")),
        subject_contains=check.line_or_none("subject_contains", given.get("subject_contains")),
        has_attachments=check.truth("has_attachments", given.get("has_attachments")),
        recipients=check.strings("recipients", given.get("recipients")),
        modified_after=after,
        modified_before=before,
    )
    if filters.thread_id is not None and given.get("max_per_thread") in (None, 1):
        given = {**given, "max_per_thread": 0}  # the default; of one thread its best mail alone would be all
    return Query(
        text=check.query_text(text, may_be_empty=filters != Filters(kind="email"), hint=_ASK_OR_FILTER),
        filters=filters,
        **_common(options, given, "max_per_thread"),
    )
