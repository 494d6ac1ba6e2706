"""Which mail of a thread is shown: the reply that answers rather than the question."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..storage.base import CatalogReader, Columns
from .pagination import PageEntry
from .ranking import Ranked

_ASKS = re.compile("[?？؟]")
_RELATED = 0.25  #: cosine from which a reply without words of the query is about it


def replies_to(
    page: Sequence[Sequence[PageEntry]], found: Ranked, columns: Columns, reader: CatalogReader
) -> dict[int, PageEntry]:
    """For hits that are mails which ask something, by their places, the best reply in the thread that doesn't.

    A question shares more words with a query than its answer does, and isn't what is looked for.
    """
    ids = np.array(found.chunk_ids, dtype=np.int64)
    groups = columns.group_of(ids)
    chosen: dict[int, PageEntry] = {}
    for entry, *_ in page:
        if groups[entry.place] >= 0:  # no mail, or alone
            continue
        places = np.flatnonzero(groups == groups[entry.place]).tolist()
        documents = reader.documents(columns.doc_of(ids[places]).tolist())
        own = documents[found.candidate(entry.place, explain=False).doc_id].document
        if not _ASKS.search(own.summary):
            continue
        for place in places:
            one = found.candidate(place, explain=False)
            mail = documents[one.doc_id].document
            is_reply = mail.email is not None and (mail.email.is_answer or mail.email.in_reply_to)
            related = (one.keyword_score or 0) > 0 or (one.semantic_score or 0) >= _RELATED
            if is_reply and related and mail is not own and not _ASKS.search(mail.summary):
                chosen[entry.place] = PageEntry(place)
                break
    return chosen
