"""From a request to a `Query`, in the library's own spelling of products and components; and the log of searches."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import CallerError
from ..models import Filters, Query, SearchOutcome
from ..schemas import DEFAULT_TOKENS, EmailSearchRequest, SearchRequest, check_order, known_name, timestamp
from ..search.mail_query import without_operators
from ..settings import Settings
from .responses import match_type

Products = Callable[[], Mapping[str, Mapping[str, int]]]  #: product → component → documents; reads the catalog

LONGEST_QUERY = 200  #: characters of a question that a line of the log holds
logger = logging.getLogger(__name__)

_ANY = "Leave it out to search everywhere."


def document_query(request: SearchRequest, settings: Settings, products: Products) -> Query:
    """The query of `search_documentation`."""
    placed = request.product is not None or request.component is not None
    product, component = _place(request, settings, products) if placed else (None, None)
    filters = Filters(
        kind="document",
        product=product,
        component=component,
        file_types=tuple(request.file_types),
        doc_type=request.doc_type,
        tags=tuple(request.tags),
        language=request.language,
        modified_after=request.modified_after,
        modified_before=request.modified_before,
    )
    limit = settings.search.per_document_limit if request.max_per_document is None else request.max_per_document
    return Query(
        text=request.query,
        filters=filters,
        include_parent_context=request.include_parent_context,
        hypothetical_answer=request.hypothetical_answer,
        max_per_document=limit,
        **_common(request, settings),
    )


def email_query(request: EmailSearchRequest, settings: Settings, products: Products) -> Query:
    """The query of `search_emails`, whose text may hold operators and be empty where a filter is given."""
    text, found = without_operators(request.query, request.model_dump())
    product, component = _place(request, settings, products)
    after, before = (
        timestamp(name, found[name], end=name == "date_before") if found[name] else None
        for name in ("date_after", "date_before")
    )
    check_order(("date_after", "date_before"), after, before)
    filters = Filters(
        kind="email",
        product=product,
        component=component,
        sender=_single_spaced(found["sender"]),
        thread_id=found["thread_id"],
        subject_contains=_single_spaced(found["subject_contains"]),
        has_attachments=found["has_attachments"],
        recipients=found.get("recipients", ()),
        modified_after=after,
        modified_before=before,
    )
    if not text and filters == Filters(kind="email"):
        raise CallerError(
            "query is empty.",
            hint="Ask with at least one word, or give a filter, such as sender or date_after, for the newest mails.",
        )
    # of one thread the default would show its best mail only
    limit = 0 if filters.thread_id is not None and request.max_per_thread == 1 else request.max_per_thread
    return Query(text=text, filters=filters, max_per_document=limit, **_common(request, settings))


def result_notes(request: SearchRequest | EmailSearchRequest, settings: Settings) -> list[str]:
    """What is reported of arguments that are used otherwise than given."""
    wanted, most = request.max_results, settings.search.max_results
    if wanted is None or wanted <= most:
        return []
    return [f"max_results is {wanted}: at most {most} come at once; page on with offset."]


def limited(name: str, value: int | None, default: int, most: int) -> int:
    """A number of results that may not be above the settings' maximum. Raises `CallerError`."""
    if value is None:
        return min(default, most)
    if value > most:
        raise CallerError(f"{name} is {value}; it must be 1 to {most}.")
    return value


def _single_spaced(text: str | None) -> str | None:
    return " ".join(text.split()) if text else None


def _place(
    request: SearchRequest | EmailSearchRequest, settings: Settings, products: Products
) -> tuple[str | None, str | None]:
    if request.product is None and request.component is None:
        return None, None
    known = products()
    product = known_name(
        "product", request.product, list(known), hint=f"Use list_products to see what is indexed. {_ANY}"
    )
    if product is not None:  # shared products pass its filter, so their components count too
        inside = (product, *(name for name in settings.docs.shared_products if name in known))
        components = list(dict.fromkeys(component for name in inside for component in known[name]))
    else:
        components = sorted({name for inside in known.values() for name in inside})
    hint = f"Use list_components to see what is indexed. {_ANY}"
    return product, known_name("component", request.component, components, hint=hint)


def _common(request: SearchRequest | EmailSearchRequest, settings: Settings) -> dict[str, Any]:
    wanted = request.max_results
    return {
        "max_results": min(settings.search.default_results if wanted is None else wanted, settings.search.max_results),
        "offset": request.offset,
        "mode": request.mode or settings.search.mode,
        "semantic_weight": request.semantic_weight,
        "max_tokens": request.max_tokens or (None if request.brief else DEFAULT_TOKENS),
        "packed": not request.brief,
        "counted": wanted is not None,
        "include_weak": request.include_weak,
        "explain": request.explain,
    }


def log(outcome: SearchOutcome, slow_ms: float) -> None:
    """Write down a search; with `slow_ms` above 0, one that took as long with the times of its retrievers."""
    slow = 0 < slow_ms <= outcome.took_ms
    if not slow and not logger.isEnabledFor(logging.DEBUG):
        return
    asked = outcome.query.text
    text = asked if len(asked) <= LONGEST_QUERY else asked[: LONGEST_QUERY - 1] + "…"
    retrievers = " ".join(
        f"{name}={retriever.status}" + (f":{retriever.ms:.1f}ms" if retriever.ms else "")
        for name, retriever in outcome.retrievers.items()
        if retriever.status != "off"
    )
    line = f"mode={outcome.mode} took={outcome.took_ms:.1f}ms total={outcome.total} {retrievers}"
    if outcome.cache:
        line += f" cache={outcome.cache}"
    if slow:
        logger.warning("slow search %r %s", text, line)
    hits = " ".join(
        f"{hit.document.document.file_path}#{hit.chunk.chunk.ordinal}:{match_type(hit.candidate)}:{hit.relevance:.3f}"
        for hit in outcome.hits
    )
    logger.debug("search %r %s hits=[%s]", text, line, hits)
