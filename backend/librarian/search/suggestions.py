"""What to try when nothing that answers was found: nearer words, other modes, filters to drop."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from ..models import AnalyzedQuery, Filters, Mode, Query

if TYPE_CHECKING:  # the command line reads this page without numpy
    from ..storage.base import CatalogReader, Columns

MOST = 3  #: operators that are named
#: Why the stage without a model ran where a cross-encoder was to.
NO_CROSS_ENCODER = "no cross-encoder: ranked by 70% meaning and 30% words"
LONGEST = 80  #: characters of a query that are shown

_TOOL = {"mails": "search_emails", "documents": "search_documentation"}

#: What other search engines take for operators: wildcards inside words, fields, and OR.
_UNSUPPORTED = re.compile(
    r"(?<!\S)(?:\w+[?*]\w[\w?*]*|\*\w+"
    r"|(?:title|intitle|path|file|filename|ext|type|tag|tags|site|url|inurl|product|component|author):[^\s:/]\S*)(?!\S)"
)

Suggestion = Mapping[str, object]


def suggest(
    query: Query,
    analyzed: AnalyzedQuery,
    nearest: Iterable[Suggestion],
    reader: CatalogReader,
    columns: Columns,
    *,
    semantic_left: bool,
) -> tuple[Suggestion, ...]:
    """`nearest` words (`terms`) and more; never empty: in the last resort it says what the library holds.

    `meaning_left`: the query was searched by its words alone, though it could be by its meaning too.
    """
    count, filters = reader.count(), query.filters
    sides = [(count.documents, "documents"), (count.emails, "mails")]
    (held, kind), (other_count, others) = sides[::-1] if filters.kind == "email" else sides
    if not held:
        text = f"The library holds no {kind}, but {other_count:,} {others}: {_TOOL[others]} looks there."
        return (_item("index", "0", text if other_count else "Nothing is indexed yet: see get_index_status."),)
    found: list[Suggestion] = [*nearest, *_other_kind(filters, columns)]
    if analyzed.common:
        asked = analyzed.text[:LONGEST]
        text = f"“{asked}” holds no word that is looked for: those that every text holds tell nothing."
        found.append(_item("index", asked, f"{text} Say what it is about."))
    given = _given(filters)
    now = columns.select(filters).count if given else 0
    for name in given:
        without = columns.select(replace(filters, **{name: getattr(Filters(), name)})).count
        if without > now:
            found.append(_item("filter", name, f"Drop {name}: {without - now} more passages would be searched."))
    if semantic_left:
        found.append(_item("mode", "hybrid", "Search with mode=hybrid: other words may say the same."))
    elif query.mode == "semantic":
        found.append(_item("mode", "hybrid", "Search with mode=hybrid: exact words count there too."))
    if query.offset:
        found.append(_item("filter", "offset", "Start again at offset 0: this page lies beyond the last hit."))
    if not found:
        text = f"The library holds {held:,} {kind}; none speaks of this. Try other words, or list_products."
        found.append(_item("index", str(held), text))
    return tuple(found)


def without_ignored(query: Query, mode: Mode) -> Query:
    """The query without the arguments that its mode doesn't read: a weight of fusion, a hypothetical answer."""
    return replace(
        query,
        semantic_weight=query.semantic_weight if mode == "hybrid" else None,
        hypothetical_answer=query.hypothetical_answer if mode == "hyde" else None,
    )


def ignored(query: Query, searched: Query) -> tuple[Suggestion, ...]:
    """Of arguments that made no difference: `searched` is the query `without_ignored` ones."""
    items = []
    if query.semantic_weight != searched.semantic_weight:
        items.append(_item("mode", "hybrid", "semantic_weight had no effect: it weighs mode=hybrid alone."))
    if query.hypothetical_answer != searched.hypothetical_answer:
        items.append(_item("mode", "hyde", "hypothetical_answer had no effect: mode=hyde alone searches with it."))
    return tuple(items)


def unsupported(query: Query) -> tuple[Suggestion, ...]:
    """Of operators of other search engines, which were searched as words.

    >>> [str(one["value"]) for one in unsupported(Query("title:pods kubern?tes what? C:"))]
    ['title:pods', 'kubern?tes']
    """
    text = 'is no operator here and was searched as words. There are "quotes", -word, NOT word and a * behind a word\'s'
    text += " beginning; products, components, file types and tags are filters."
    found = [] if query.filters.kind == "email" else _UNSUPPORTED.findall(query.text)[:MOST]
    return tuple(_item("term", one[:LONGEST], f"“{one[:LONGEST]}” {text}") for one in found)


def without_cross_encoder(reason: str) -> tuple[Suggestion, ...]:
    """Of an answer in rerank mode that no model has reranked, as the stage's `reason` says."""
    return (_item("mode", "rerank", reason),) if reason.startswith(NO_CROSS_ENCODER) else ()


def terms(nearest: Iterable[tuple[str, str]]) -> tuple[Suggestion, ...]:
    """Of words as typed and the nearest indexed ones (`QueryNormalizer.nearest`)."""
    return tuple(
        _item("term", near, f"“{word}” isn't in the library; the nearest word is “{near}”.") for word, near in nearest
    )


def excluding_alone(query: AnalyzedQuery) -> tuple[Suggestion, ...]:
    """Of a query that only says what to leave out, and was searched as words."""
    if not query.excludes_alone:
        return ()
    asked = query.text[:LONGEST]
    text = f"“{asked}” only leaves out, so it was searched without the minus. Say beside it what to look for."
    return (_item("term", asked, text),)


def corrected(words: Iterable[tuple[str, str]]) -> tuple[Suggestion, ...]:
    """Of words as typed and as they were searched."""
    return tuple(
        _item("term", other, f"“{word}” isn't in the library: searched for “{other}”. In quotes it stays as typed.")
        for word, other in words
    )


def within(filters: Filters) -> str:
    """Where words were looked for, for the sentence that they aren't there; empty where that is the whole library."""
    if any(name != "product" for name in _given(filters)):
        return "within these filters"
    return f"in product {filters.product}" if filters.product else ""


def _item(kind: str, value: str, text: str) -> Suggestion:
    return {"kind": kind, "value": value, "text": text}


def _other_kind(filters: Filters, columns: Columns) -> list[Suggestion]:
    """Where the filters let nothing through of the kind that was asked for, as a product of mails alone does."""
    if filters.kind is None or columns.select(filters).count:
        return []
    asked, others = ("mails", "documents") if filters.kind == "email" else ("documents", "mails")
    if not columns.select(replace(filters, kind="document" if filters.kind == "email" else "email")).count:
        return []
    text = f"These filters let no {asked} through, but {others}: {_TOOL[others]} looks there."
    return [_item("index", "0", text)]


def _given(filters: Filters) -> list[str]:
    """The names of the filters that a caller has set."""
    names = [one.name for one in fields(filters) if one.name not in ("kind", "absent") and getattr(filters, one.name)]
    return [*names, *(["has_attachments"] if filters.has_attachments is False else [])]


def no_mention(words: Sequence[str], where: str = "", *, of: str = "document") -> str:
    """A sentence naming words that no document (or email) mentions; empty without any.

    >>> no_mention(["Databricks"]), no_mention(["Okta", "SAML"], "in product ray", of="email")
    ('No document mentions “Databricks”.', 'No email in product ray mentions “Okta” or “SAML”.')
    """
    if not words:
        return ""
    quoted = [f"“{word}”" for word in words]
    listed = " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
    return f"No {of} {where} mentions {listed}." if where else f"No {of} mentions {listed}."
