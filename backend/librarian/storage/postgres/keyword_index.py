"""Which chunks hold which words, by PostgreSQL's full-text search.

The database keeps a `tsvector` of each entry (title, headings, path and body as weights A to D) with a GIN index.
An entry's score is made of `ts_rank` in its 0–1 form (normalisation 32: rank / (rank + 1)), of whether the entry holds
all that `websearch_to_tsquery` asks for, and of the share of the question's identifiers that it holds. Unlike BM25 it
knows nothing of how rare a word is, so that the learned ranker, which reads BM25 per field, isn't used with it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import Unavailable
from ...models import FEATURES, AnalyzedQuery, Document, Ids, KeywordEntry, Ranking, Selection, Vector
from ..keyword_schema import FieldWeights
from .database import Database

if TYPE_CHECKING:
    from psycopg import Connection

#: The columns that a name may choose: nothing else of a selection gets into a statement.
COLUMNS = {name: name for name in ("product", "component", "file_type", "doc_type", "language", "kind")}
FEW = 2_000  #: chunks that are sent by number; more are sent as a bit mask


def by_chunk(selection: Selection, column: str) -> tuple[str, Mapping[str, object]]:
    """(condition, its parameters) on `column`, an expression that gives a chunk's id.

    A mask is sent as bits, so that a million chunks are 125 KB and each row's test is one look.
    """
    mask = selection.mask
    if mask is None:
        return "true", {}
    inside = np.flatnonzero(mask)
    if inside.size <= FEW:
        return f"{column} = ANY(%(chunks)s::bigint[])", {"chunks": inside.tolist()}
    bits = np.packbits(mask, bitorder="little").tobytes()
    return (
        f"{column} < %(mask_size)s AND get_bit(%(mask)s::bytea, {column}) = 1",
        {"mask_size": int(mask.size), "mask": bits},
    )


def by_value(selection: Selection) -> tuple[str, Mapping[str, object]]:
    """(condition, its parameters) on a vector table's own columns, for selections that values alone make."""
    conditions: list[str] = []
    given: dict[str, object] = {}
    for name, values in selection.allowed.items():
        operator = "tags && %(tags)s::text[]" if name == "tags" else f"{COLUMNS[name]} = ANY(%({name})s::text[])"
        conditions.append(operator)
        given[name] = list(values)
    if selection.modified is not None:
        conditions.append("modified BETWEEN %(modified_low)s AND %(modified_high)s")
        given |= {"modified_low": selection.modified[0], "modified_high": selection.modified[1]}
    return " AND ".join(conditions) or "true", given


_LABELS = {"body": "D", "path": "C", "headings": "B", "title": "A"}  # in the order of ts_rank's weights
_PHRASED = ("D", "B", "A")
_SAMPLE = 2_000  # entries that a word's neighbours are gathered from
_COUNTED = 500  # chunks that hold a word; beyond, it is frequent, and how frequent no longer matters

_INSERT = """INSERT INTO entries (chunk_id, doc_id, title, headings, path, body, names)
             VALUES (%s, %s, %s, %s, %s, %s, %s)"""


class PostgresKeywordIndex:
    """`protocols.KeywordIndex` in the table `entries`.

    `identity` names the catalog that this is a projection of: an index made for another one is emptied when opened.
    `note` is said with every answer, since it ranks otherwise than the keyword index on one machine does.
    """

    def __init__(self, database: Database, *, identity: str = "", note: str = "") -> None:
        self.damage = ""  # PostgreSQL reports damage itself, as an error of the query
        self._note = note
        self._database = database.join()
        self._language = database.text_search
        self._weights = {name: float(getattr(FieldWeights(), name)) for name in _LABELS}
        self._lock = RLock()
        self._open: contextlib.ExitStack | None = None
        self._writer: Connection[Any] | None = None
        self._closed = False
        held = self._meta("lexical_identity")
        if identity and identity != held:
            if held:
                self.clear()
            with database.transaction() as connection:
                _set_meta(connection, "lexical_identity", identity)

    # -- writing ---------------------------------------------------------------------------------------------------

    def put(self, items: Iterable[tuple[int, int, Document, KeywordEntry]]) -> None:
        """(chunk id, document id, its document, its entry); visible after `commit`.

        Adds: what an id held before must be deleted first (in the same commit is fine).
        """
        rows = [
            (chunk_id, doc_id, *map(_plain, (entry.title, entry.headings, entry.path, entry.body)), _names(entry))
            for chunk_id, doc_id, _, entry in items
        ]
        with self._writing() as connection:
            connection.cursor().executemany(_INSERT, rows)

    def delete(self, doc_ids: Iterable[int]) -> None:
        """Drop all entries of these documents; visible after `commit`."""
        doomed = [int(number) for number in doc_ids]
        if doomed:
            with self._writing() as connection:
                connection.execute("DELETE FROM entries WHERE doc_id = ANY(%s)", (doomed,))

    def delete_chunks(self, chunk_ids: Iterable[int]) -> None:
        """Drop single entries; visible after `commit`."""
        doomed = [int(number) for number in chunk_ids]
        if doomed:
            with self._writing() as connection:
                connection.execute("DELETE FROM entries WHERE chunk_id = ANY(%s)", (doomed,))

    def commit(self, generation: int) -> None:
        """Make what was put and deleted visible, and remember the catalog's generation.

        In a transaction of the catalog that is at its end, with all that it holds. Raises `Unavailable` where it can't
        be written; searches go on with what was committed before.
        """
        with self._lock:
            with self._writing() as connection:
                _set_meta(connection, "lexical_generation", str(generation))
                if connection is self._writer:
                    self._database.about_to_commit(connection)
                    connection.execute("COMMIT")
            self._end()

    def clear(self) -> None:
        """Drop everything, at once."""
        with self._lock:
            with self._writing() as connection:
                connection.execute("DELETE FROM entries")
            self.commit(0)

    def rollback(self) -> None:
        """Forget what was put and deleted since the last commit."""
        with self._lock:
            self._end()

    def close(self) -> None:
        """Let go of the database; what isn't committed is lost."""
        with self._lock:
            if not self._closed:
                self._end()
                self._closed = True
                self._database.leave()

    # -- searching -------------------------------------------------------------------------------------------------

    def search(self, query: AnalyzedQuery, selection: Selection, limit: int) -> Ranking:
        """Best chunks by score, ties by id; the score is in 0–1 and told as both `raw` and `scores`."""
        started = time.perf_counter()
        terms = _terms(query)
        if limit < 1 or not (terms or query.identifiers) or (selection.mask is not None and not selection.count):
            self._check_open()
            return Ranking("keyword", (), (), ())
        passing, chosen = by_chunk(selection, "e.chunk_id")
        demanded = _demands(query)
        statement = f"""
            SELECT e.chunk_id, {self._score(query)} AS score
            FROM entries e
            WHERE (e.search @@ {_LOOSE} OR e.names && %(names)s::text[])
              AND {_ADMITTED} AND {passing}
            ORDER BY score DESC, e.chunk_id LIMIT %(limit)s"""
        given = {**self._given(query, terms), **chosen, "demanded": demanded, "limit": limit}
        with self._reading() as connection:
            rows = connection.execute(statement, given).fetchall()
        ids, scores = tuple(int(row[0]) for row in rows), tuple(float(row[1]) for row in rows)
        return Ranking("keyword", ids, scores, scores, reason=self._note, ms=(time.perf_counter() - started) * 1000)

    def features(self, query: AnalyzedQuery, chunk_ids: Ids, names: Collection[str] = FEATURES) -> dict[str, Vector]:
        """Scores of given chunks: each of `names` → array in the order of `chunk_ids`.

        `bm25` is what `search` gives as `scores`; `body`, `title`, `headings`, `path` are `ts_rank` of those fields
        alone; `identifiers` is the share of the query's identifiers that the chunk holds. Demands (phrases, exclusions)
        are left aside.
        """
        order = np.asarray(chunk_ids, dtype=np.int64).tolist()
        every = ("bm25", *_LABELS, "identifiers")
        terms = _terms(query)
        rows: list[tuple[Any, ...]] = []
        self._check_open()
        if order and (terms or query.identifiers):
            alone = ", ".join(
                f"ts_rank(%(only_{name})s::real[], e.search, {_LOOSE}, 32)::double precision" for name in _LABELS
            )
            statement = f"""
                SELECT e.chunk_id,
                    CASE WHEN e.search @@ {_LOOSE} OR e.names && %(names)s::text[] THEN {self._score(query)} ELSE 0 END,
                    {alone}, {_NAMED}
                FROM entries e WHERE e.chunk_id = ANY(%(chunks)s)"""
            only = {f"only_{name}": [1.0 if other == name else 0.0 for other in _LABELS] for name in _LABELS}
            with self._reading() as connection:
                rows = connection.execute(statement, {**self._given(query, terms), **only, "chunks": order}).fetchall()
        found = {row[0]: row[1:] for row in rows}
        nothing = (0.0,) * len(every)
        table = np.array([found.get(number, nothing) for number in order], dtype=np.float32).reshape(-1, len(every))
        return {name: table[:, place].copy() for place, name in enumerate(every) if name in names}

    def admitted(self, query: AnalyzedQuery, chunk_ids: Ids) -> Ids:
        """Those of these chunks that hold all quoted phrases of the query and nothing that it excludes, by id."""
        statement = f"""
            SELECT e.chunk_id FROM entries e
            WHERE e.chunk_id = ANY(%(chunks)s) AND {_ADMITTED} ORDER BY e.chunk_id"""
        given = {"language": self._language, "demanded": _demands(query), "chunks": np.asarray(chunk_ids).tolist()}
        with self._reading() as connection:
            rows = connection.execute(statement, given).fetchall()
        return np.array([row[0] for row in rows], dtype=np.int64)

    # -- looking around --------------------------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """Of the last commit; 0 where there was none."""
        return int(self._meta("lexical_generation") or 0)

    def frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Those of these terms that some chunk's body, title, headings or path holds, each with how many chunks do, as
        far as that is counted."""
        asked = [term for term in terms if term]
        with self._reading() as connection:
            rows = connection.execute(
                """SELECT asked.place, holding.count
                   FROM unnest(%(terms)s::text[]) WITH ORDINALITY AS asked (term, place),
                   LATERAL (SELECT count(*) FROM (
                       SELECT FROM entries e WHERE e.search @@ to_tsquery(%(language)s::regconfig, asked.term)
                       LIMIT %(most)s) AS found) AS holding
                   WHERE holding.count > 0""",
                {"language": self._language, "terms": [_quoted(term) for term in asked], "most": _COUNTED},
            ).fetchall()
        return {asked[place - 1]: int(count) for place, count in rows}

    def vocabulary(self, prefix: str, limit: int, *, identifiers: bool = False) -> list[str]:
        """Indexed terms of bodies, or identifiers, that start so, most frequent first.

        Counted over two thousand entries: terms over such that hold one, identifiers over such that hold any.
        """
        terms = """SELECT word.lexeme, count(*) FROM (
                       SELECT search FROM entries WHERE search @@ to_tsquery('simple', %(asked)s) LIMIT %(sample)s
                   ) e, unnest(e.search) AS word
                   WHERE starts_with(word.lexeme, %(prefix)s) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %(limit)s"""
        names = """SELECT word, count(*) FROM (
                       SELECT names FROM entries WHERE cardinality(names) > 0 LIMIT %(sample)s
                   ) e, unnest(e.names) AS word
                   WHERE starts_with(word, %(prefix)s) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %(limit)s"""
        with self._reading() as connection:
            rows = connection.execute(
                names if identifiers else terms,
                {
                    "asked": f"{_quoted(prefix)}:*",
                    "sample": _SAMPLE,
                    "prefix": _plain(prefix),
                    "limit": limit,
                },
            ).fetchall()
        return [row[0] for row in rows]

    def count(self) -> int:
        """How many chunks have an entry."""
        with self._reading() as connection:
            row = connection.execute("SELECT count(*) FROM entries").fetchone()
            return 0 if row is None else int(row[0])

    def dead(self) -> int:
        """0: `ts_rank` reads no frequencies."""
        return 0

    def tally(self) -> dict[int, int]:
        """Document id → how many entries it has, for reconciling."""
        with self._reading() as connection:
            return dict(connection.execute("SELECT doc_id, count(*) FROM entries GROUP BY doc_id").fetchall())

    # -- inside ----------------------------------------------------------------------------------------------------

    def _score(self, query: AnalyzedQuery) -> str:
        parts = [
            f"ts_rank(%(weights)s::real[], e.search, {_LOOSE}, 32)::double precision",
            f"(e.search @@ {_STRICT})::int",
            *([_NAMED] if query.identifiers else []),
        ]
        return f"(({' + '.join(parts)}) / {len(parts)})"

    def _given(self, query: AnalyzedQuery, terms: Sequence[str]) -> dict[str, object]:
        return {
            "language": self._language,
            "loose": " | ".join(_quoted(term) for term in terms),
            "text": _plain(query.text),
            "names": [_plain(name) for name in query.identifiers],
            "weights": [self._weights[name] for name in _LABELS],
        }

    def _meta(self, key: str) -> str:
        with self._reading() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = %s", (key,)).fetchone()
            return "" if row is None else str(row[0])

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("The keyword index is closed.", hint="Open the library again.")

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Connection[Any]]:
        self._check_open()
        with self._database.snapshot() as connection:
            yield connection

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Connection[Any]]:
        """The connection whose transaction lasts from the first put or delete to the commit, or the catalog's."""
        with self._lock:
            self._check_open()
            try:
                with self._database.told():
                    if self._writer is None and (whole := self._database.writing) is not None:
                        yield whole
                        return
                    if self._writer is None:
                        stack = contextlib.ExitStack()
                        self._writer = stack.enter_context(self._database.connection())
                        self._open = stack
                        self._writer.execute("BEGIN")
                    yield self._writer
            except BaseException:
                self._end()
                raise

    def _end(self) -> None:
        stack, writer, self._open, self._writer = self._open, self._writer, None, None
        if stack is not None and writer is not None:
            if not (writer.broken or writer.closed):
                writer.rollback()
            stack.close()


_LOOSE = "to_tsquery(%(language)s::regconfig, %(loose)s)"
_STRICT = "websearch_to_tsquery(%(language)s::regconfig, %(text)s)"
_DEMANDED = "to_tsquery(%(language)s::regconfig, %(demanded)s)"
_ADMITTED = f"(numnode({_DEMANDED}) = 0 OR e.search @@ {_DEMANDED})"
_NAMED = """(SELECT count(*) FROM unnest(%(names)s::text[]) AS asked (name) WHERE asked.name = ANY(e.names))
    / greatest(cardinality(%(names)s::text[]), 1)::double precision"""


def _set_meta(connection: Connection[Any], key: str, value: str) -> None:
    connection.execute(
        "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, value)
    )


def _terms(query: AnalyzedQuery) -> tuple[str, ...]:
    return query.terms or tuple(dict.fromkeys(term for phrase in query.phrases for term in phrase))


def _demands(query: AnalyzedQuery) -> str:
    """Phrases, each in one field, and words and phrases that must occur in none, in the notation of `to_tsquery`."""
    demands = [_phrase(phrase) for phrase in query.phrases if phrase]
    demands += [f"!{_phrase(phrase)}" for phrase in query.excluded_phrases if phrase]
    demands += [f"!{_quoted(word)}:{''.join(_LABELS.values())}" for word in query.excluded]
    return " & ".join(demands)


def _phrase(words: tuple[str, ...]) -> str:
    ways = (" <-> ".join(f"{_quoted(word)}:{label}" for word in words) for label in _PHRASED)
    return "(" + " | ".join(f"({way})" for way in ways) + ")"


def _quoted(word: str) -> str:
    """A word as one operand of `to_tsquery`, whatever it consists of."""
    return "'" + _plain(word).replace("\\", "\\\\").replace("'", "''") + "'"


def _plain(text: str) -> str:
    """Without NUL and half surrogates, which PostgreSQL can't hold."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def _names(entry: KeywordEntry) -> list[str]:
    return _plain(entry.identifiers).split()
