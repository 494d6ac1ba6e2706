"""What was taken otherwise than typed, and what to try when nothing that answers was found."""

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
_HINT = (
    'is no operator here and was searched as words. There are "quotes", -word, NOT word and a * behind a word\'s '
    "beginning; products, components, file types and tags are filters."
)

Suggestion = Mapping[str, object]


def remarks(
    asked: Query, searched: Query, reranking: str, analyzed: AnalyzedQuery, corrected: Iterable[tuple[str, str]]
) -> list[Suggestion]:
    """What of a query had no effect or was taken otherwise than typed. `searched` is the query `without_ignored`
    arguments, `reranking` the reason of the rerank stage."""
    found = []
    if asked.semantic_weight != searched.semantic_weight:
        found.append(_item("mode", "hybrid", "semantic_weight had no effect: it weighs mode=hybrid alone."))
    if asked.hypothetical_answer != searched.hypothetical_answer:
        found.append(_item("mode", "hyde", "hypothetical_answer had no effect: mode=hyde alone searches with it."))
    if reranking.startswith(NO_CROSS_ENCODER):
        found.append(_item("mode", "rerank", reranking))
    if asked.filters.kind != "email":
        others = [one[:LONGEST] for one in _UNSUPPORTED.findall(asked.text)[:MOST]]
        found += [_item("term", one, f"“{one}” {_HINT}") for one in others]
    if analyzed.excludes_alone:
        text = analyzed.text[:LONGEST]
        remark = f"“{text}” only leaves out, so it was searched without the minus. Say beside it what to look for."
        found.append(_item("term", text, remark))
    for word, other in corrected:
        remark = f"“{word}” isn't in the library: searched for “{other}”. In quotes it stays as typed."
        found.append(_item("term", other, remark))
    return found


def suggest(
    query: Query, analyzed: AnalyzedQuery, reader: CatalogReader, columns: Columns, *, semantic_left: bool
) -> list[Suggestion]:
    """What else to try; never empty: in the last resort it says what the library holds.

    `semantic_left`: the query was searched by its words alone, though it could be by its meaning too.
    """
    count, filters = reader.count(), query.filters
    sides = [(count.documents, "documents"), (count.emails, "mails")]
    (held, kind), (other_count, others) = sides[::-1] if filters.kind == "email" else sides
    if not held:
        text = f"The library holds no {kind}, but {other_count:,} {others}: {_TOOL[others]} looks there."
        return [_item("index", "0", text if other_count else "Nothing is indexed yet: see get_index_status.")]
    found: list[Suggestion] = []
    now = columns.select(filters).count
    other_kind = replace(filters, kind="document" if filters.kind == "email" else "email")
    if filters.kind is not None and not now and columns.select(other_kind).count:
        text = f"These filters let no {kind} through, but {others}: {_TOOL[others]} looks there."
        found.append(_item("index", "0", text))
    if analyzed.common:
        asked = analyzed.text[:LONGEST]
        text = f"“{asked}” holds no word that is looked for: those that every text holds tell nothing."
        found.append(_item("index", asked, f"{text} Say what it is about."))
    for name in _given(filters):
        without = columns.select(replace(filters, **{name: getattr(Filters(), name)})).count
        if without > now:
            found.append(_item("filter", name, f"Drop {name}: {without - now} more passages would be searched."))
    if semantic_left:
        found.append(_item("mode", "hybrid", "Search with mode=hybrid: other words may say the same."))
    elif query.mode == "semantic":
        found.append(_item("mode", "hybrid", "Search with mode=hybrid: exact words count there too."))
    if query.offset:
        found.append(_item("filter", "offset", "Start again at offset 0: this page lies beyond the last hit."))
    text = f"The library holds {held:,} {kind}; none speaks of this. Try other words, or list_products."
    return found or [_item("index", str(held), text)]


def without_ignored(query: Query, mode: Mode) -> Query:
    """The query without the arguments that its mode doesn't read: a weight of fusion, a hypothetical answer."""
    return replace(
        query,
        semantic_weight=query.semantic_weight if mode == "hybrid" else None,
        hypothetical_answer=query.hypothetical_answer if mode == "hyde" else None,
    )


def terms(nearest: Iterable[tuple[str, str]]) -> list[Suggestion]:
    """Of words as typed and the nearest indexed ones (`QueryNormalizer.nearest`)."""
    return [
        _item("term", near, f"“{word}” isn't in the library; the nearest word is “{near}”.") for word, near in nearest
    ]


def within(filters: Filters) -> str:
    """Where words were looked for, for the sentence that they aren't there; empty where that is the whole library."""
    if any(name != "product" for name in _given(filters)):
        return "within these filters"
    return f"in product {filters.product}" if filters.product else ""


def _item(kind: str, value: str, text: str) -> Suggestion:
    return {"kind": kind, "value": value, "text": text}


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
