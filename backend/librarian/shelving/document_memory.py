"""Documents read lately, kept for as long as the catalog doesn't change.

Decoding a document's headings and blocks costs more than finding it; the same few documents answer most questions.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict

from librarian.vocabulary.types import Count, StoredDocument

ENTRIES = 4096  #: documents at most
CHARACTERS = 8_000_000  #: of their texts together, at most
AT_ONCE = 60  #: more than an answer shows; who reads so many reads them all, once

Key = tuple[int, bool]  #: document id, with text


class DocumentMemory:
    """The documents of one state of the catalog, least recently used first. Any thread may use it."""

    def __init__(self, entries: int = ENTRIES, characters: int = CHARACTERS) -> None:
        self._most, self._most_characters = entries, characters
        self._lock = threading.Lock()
        self._changes = -1
        self._documents: OrderedDict[Key, StoredDocument] = OrderedDict()
        self._characters = 0
        #: connection → its data_version, the totals then, embedded chunks by model
        self.totals: dict[sqlite3.Connection, tuple[int, Count, dict[str, int]]] = {}
        #: what `changes` named, product → component → number of documents then
        self.products: tuple[int, dict[str, dict[str, int]]] | None = None

    def known(self, changes: int, ids: list[int], *, text: bool) -> dict[int, StoredDocument]:
        """Those of `ids` that were read in the state that `changes` names."""
        with self._lock:
            if changes != self._changes:
                return {}
            found = {}
            for doc_id in ids:
                if (document := self._documents.get((doc_id, text))) is not None:
                    self._documents.move_to_end((doc_id, text))
                    found[doc_id] = document
            return found

    def remember(self, changes: int, documents: dict[int, StoredDocument], *, text: bool) -> None:
        """Keep what was read in the state that `changes` names, unless it is more than `AT_ONCE`; a newer state forgets
        all of the older."""
        with self._lock:
            if changes < self._changes or len(documents) > AT_ONCE:
                return
            if changes > self._changes:
                self._documents.clear()
                self._changes, self._characters = changes, 0
            for doc_id, document in documents.items():
                if (doc_id, text) not in self._documents:
                    self._documents[doc_id, text] = document
                    self._characters += len(document.document.text)
            while len(self._documents) > self._most or self._characters > self._most_characters:
                _, dropped = self._documents.popitem(last=False)
                self._characters -= len(dropped.document.text)
