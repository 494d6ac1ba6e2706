"""The keyword index's folder: its fields, its small state file, and how both are opened.

Nothing of a document is stored: the index holds postings, and two numbers per entry that lead back to the catalog.
"""

from __future__ import annotations

import json
import logging
import re
import textwrap
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tantivy

from ..errors import Damaged, SetupError
from ..files.owned_folder import Kind, claim, delete_files, json_object
from ..files.writing import write_whole
from ..models import AnalyzedQuery, Document, Ids, KeywordEntry, Selection
from .columns import CODED
from .rows import micros_or_no_date

log = logging.getLogger(__name__)

FORMAT = 2  #: raised when fields, or what goes into them, change: an index of another format is made anew
STATE_FILE = "librarian.json"

#: Analysed text fields. Positions are kept where quoted phrases are looked for.
PHRASED = ("body", "title", "headings")
UNPHRASED = ("path", "identifiers")
FIELDS = PHRASED + UNPHRASED
WORD_FIELDS = (*PHRASED, "path")
VALUES = (*CODED, "tags")

#: Names of the files of an index: tantivy's and ours.
_OWN = re.compile(
    r"meta\.json|\.managed\.json|\.tantivy-[\w-]+\.lock|\.tmp\w+|[0-9a-f]{32}\.[\w.]+"
    rf"|{re.escape(STATE_FILE)}|\.{re.escape(STATE_FILE)}\.\d+\.part"
)
_ANALYSED = "analysed"  # entries come as tokens joined by spaces; nothing more is done to them


@dataclass(frozen=True, slots=True)
class State:
    """What the index says about itself: its format, whose projection it is, and how far it has got."""

    format: int = FORMAT
    identity: str = ""
    generation: int = 0


def _schema() -> Any:
    """Text fields, values to filter by, and signed integers: an unsigned fast field panics on a plain int."""
    builder = tantivy.SchemaBuilder()
    for name in PHRASED:
        builder.add_text_field(name, tokenizer_name=_ANALYSED, index_option="position")
    for name in UNPHRASED:
        builder.add_text_field(name, tokenizer_name=_ANALYSED, index_option="freq")
    for name in VALUES:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("chunk", "doc", "modified"):
        builder.add_integer_field(name, indexed=True, fast=True)
    return builder.build()


SCHEMA = _schema()


def entry_of(chunk_id: int, doc_id: int, document: Document, entry: KeywordEntry) -> Any:
    """A chunk's entry, as the schema has it."""
    made = tantivy.Document()
    made.add_integer("chunk", int(chunk_id))
    made.add_integer("doc", int(doc_id))
    made.add_integer("modified", micros_or_no_date(document.last_modified))
    for name in FIELDS:
        made.add_text(name, getattr(entry, name))
    for name in CODED:
        made.add_text(name, getattr(document, name))
    for tag in document.tags:
        made.add_text("tags", tag)
    return made


def open_index(path: Path | None) -> tuple[Any, State]:
    """The index in that folder, made where there is none; in memory where `path` is None.

    Raises `Damaged` where the folder's files can't be read or have another format, and `SetupError` where the folder is
    somebody else's or can't be written.
    """
    if path is None:
        index, state = tantivy.Index(SCHEMA), State()
    else:
        try:
            claim(path, FOLDER)
            if not (path / "meta.json").exists():
                tantivy.Index(SCHEMA, str(path))
                save_state(path, State())
        except (OSError, ValueError) as error:
            raise unwritable(path, str(error)) from error
        state = _load_state(path)
        try:
            index = tantivy.Index.open(str(path))
        except BaseException as error:
            raise damaged(path, error) from error
    index.register_tokenizer(_ANALYSED, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    index.config_reader(reload_policy="manual")
    return index, state


def save_state(path: Path | None, state: State) -> None:
    """Write the state file in one step, so that a kill leaves the old or the new one."""
    if path is None:
        return
    write_whole(path / STATE_FILE, json.dumps(asdict(state)))


def discard(path: Path) -> None:
    """Delete the files of an index that is closed or can't be opened. What else lies in its folder stays."""
    if path.exists():
        log.info("keyword index: deleting the files of %s", path)
        delete_files(path, FOLDER, _OWN)


def unwritable(path: Path | None, what: str) -> SetupError:
    """The error for a disk that is full, read-only or somebody else's: the index itself may be well."""
    return SetupError(
        f"The keyword index {path} can't be used: {what}.", hint="Check free space and permissions of the index folder."
    )


def damaged(path: Path | None, why: BaseException | str) -> BaseException:
    """The error to raise where tantivy can't read its files; `why` itself where it is no failure of tantivy."""
    if isinstance(why, BaseException) and not is_failure(why):
        return why
    return Damaged(
        f"The keyword index {path} can't be read: {textwrap.shorten(str(why), 200)}.",  # tantivy quotes whole files
        hint="Start Librarian again: the keyword index is then made again from the documents.",
    )


def is_failure(error: BaseException) -> bool:
    """Whether tantivy raises such errors: for files that it can't read or write, or a panic for broken ones."""
    return isinstance(error, (ValueError, OSError, RuntimeError)) or type(error).__name__ == "PanicException"


def _is_unmarked_index(path: Path) -> bool:
    """Whether its schema shows a folder to be an index that an earlier version made."""
    schema = json_object(path / "meta.json").get("schema")
    names = {field.get("name") for field in schema if isinstance(field, dict)} if isinstance(schema, list) else set()
    return {*FIELDS, "chunk", "doc"} <= names


#: The folder of a keyword index.
FOLDER = Kind(
    "keyword index",
    "librarian.storage.keyword_schema",
    "Move it away, or choose another index folder with --index or `index.path` (INDEX_PATH).",
    _is_unmarked_index,
)


def _load_state(path: Path) -> State:
    try:
        state = State(**json.loads((path / STATE_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise damaged(path, f"{STATE_FILE} is missing or broken") from error
    if state.format != FORMAT:
        raise damaged(path, f"it has format {state.format}, not {FORMAT}")
    return state


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """How much a term counts in each field of the keyword index; `benchmarks/ablations.py` chose the weights."""

    body: float = 1.0
    title: float = 0.3
    headings: float = 0.5
    path: float = 0.2
    identifiers: float = 0.5


Query = Any  #: tantivy has no types of its own for mypy
MUST, SHOULD, MUST_NOT = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot

#: Up to so many numbers a union of single terms beats a term set (120 of 90,000: 0.12 ms against 0.99 ms).
_FEW = 400


#: What a term counts that only another language's stemmer makes of the question's word: such stems are rare there.
_OTHER_STEM = 0.5
_OTHER_FORM = 0.2  #: what a form of a word counts: five of them less than the word itself


class QueryBuilder:
    """Builds queries for one set of weights."""

    def __init__(self, weights: FieldWeights) -> None:
        self.weights: dict[str, float] = asdict(weights)

    def shares(self, query: AnalyzedQuery) -> dict[str, float]:
        """Each of the terms of text fields with what it counts beside others: how often the question says it.

        A stem of another language than the question's counts less (`_OTHER_STEM`), and so does another form of a word.
        """
        times, found = dict(query.repeated), {}
        for term in query.terms or [term for phrase in query.phrases for term in phrase]:
            share = _OTHER_STEM if term in query.other_stems else _OTHER_FORM if term in query.other_forms else 1.0
            found[term] = share * times.get(term, 1)
        return found

    def weighted(self, query: AnalyzedQuery, fields: Iterable[str]) -> list[tuple[str, str, float]]:
        """Fields that count, the terms that are looked for there, and what each counts there."""
        shares, found = self.shares(query), []
        for field in fields:
            if (weight := self.weights[field]) > 0:
                terms = dict.fromkeys(query.identifiers, 1.0) if field == "identifiers" else shares
                found += [(field, term, weight * share) for term, share in terms.items()]
        return found

    def scored(self, query: AnalyzedQuery, fields: Iterable[str]) -> Query | None:
        """Any of the terms in any of the fields, weighted; None where there is nothing to look for."""
        of_term, boosted = tantivy.Query.term_query, tantivy.Query.boost_query
        clauses = [
            (SHOULD, boosted(of_term(SCHEMA, field, term, "freq"), weight))
            for field, term, weight in self.weighted(query, fields)
        ]
        return tantivy.Query.boolean_query(clauses) if clauses else None

    def demanded(self, query: AnalyzedQuery) -> list[tuple[Any, Query]]:
        """Clauses of quoted phrases, which must occur, and of what is excluded, which must not; neither scores.

        A path finds pages, so an excluded word excludes them by it too: `retry -celery` wants nothing of the product
        celery.
        """
        clauses = [(MUST, self._unscored(self._phrase(phrase))) for phrase in query.phrases if phrase]
        for term in query.excluded:
            clauses += [(MUST_NOT, self._term(field, term, "basic")) for field in WORD_FIELDS]
        clauses += [(MUST_NOT, self._phrase(phrase)) for phrase in query.excluded_phrases if phrase]
        return clauses

    def selected(self, selection: Selection) -> list[tuple[Any, Query]]:
        """Clauses that let through what the selection does, without a score."""
        if selection.mask is None:
            return []
        if selection.filters.is_empty() or selection.doc_ids is None:  # single chunks, not whole documents
            return [(MUST, self.among("chunk", np.flatnonzero(selection.mask)))]
        if not selection.complete:
            return [(MUST, self.among("doc", selection.doc_ids))]
        clauses = []
        for field, values in selection.allowed.items():
            any_of = [(SHOULD, self._term(field, value, "basic")) for value in values]
            clauses.append((MUST, self._unscored(tantivy.Query.boolean_query(any_of))))
        if selection.modified is not None:
            low, high = selection.modified
            within = tantivy.Query.range_query(SCHEMA, "modified", tantivy.FieldType.Integer, low, high)
            clauses.append((MUST, self._unscored(within)))
        return clauses

    def among(self, field: str, numbers: Ids) -> Query:
        """Entries whose number is one of these; scores nothing."""
        values: list[int] = np.asarray(numbers).tolist()
        if len(values) > _FEW:
            return self._unscored(tantivy.Query.term_set_query(SCHEMA, field, values))
        any_of = [(SHOULD, tantivy.Query.term_query(SCHEMA, field, value)) for value in values]
        return self._unscored(tantivy.Query.boolean_query(any_of))

    def _phrase(self, words: tuple[str, ...]) -> Query:
        if len(words) == 1:
            found = [self._term(field, words[0], "basic") for field in PHRASED]
        else:
            found = [tantivy.Query.phrase_query(SCHEMA, field, list(words)) for field in PHRASED]
        return tantivy.Query.boolean_query([(SHOULD, query) for query in found])

    def _term(self, field: str, term: str, detail: str) -> Query:
        return tantivy.Query.term_query(SCHEMA, field, term, detail)

    @staticmethod
    def _unscored(query: Query) -> Query:
        return tantivy.Query.const_score_query(query, 0.0)


def joined(clauses: list[tuple[Any, Query]]) -> Query:
    """One query of several clauses; a lone one stays bare, or tantivy would not skip postings."""
    return clauses[0][1] if len(clauses) == 1 else tantivy.Query.boolean_query(clauses)
