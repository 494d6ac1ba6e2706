"""Which chunks hold which words, by PostgreSQL's full-text search.

The database keeps a `tsvector` of each entry (title, headings, path and body as weights A to D) with a GIN index. An
entry's score is made of `ts_rank` in its 0–1 form (normalisation 32: rank / (rank + 1)), of whether the entry holds all
that `websearch_to_tsquery` asks for, and of the share of the question's identifiers that it holds. Unlike BM25 it knows
nothing of how rare a word is, so the learned ranker, which reads BM25 per field, isn't used with it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.resources import files
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import SetupError
from ...models import AnalyzedQuery, Document, Ids, KeywordEntry, Ranking, Selection, Vector
from ..base import KeywordIndex
from ..keyword_schema import FieldWeights

if TYPE_CHECKING:
    from psycopg import Connection

    from .database import Database

_TABLE: Final = """CREATE TABLE entries (
    chunk_id bigint PRIMARY KEY,
    doc_id bigint NOT NULL,
    title text NOT NULL,
    headings text NOT NULL,
    path text NOT NULL,
    body text NOT NULL,
    names text[] NOT NULL,
    search tsvector GENERATED ALWAYS AS ({}) STORED)"""
_INDEXES: Final = (
    "CREATE INDEX entries_by_document ON entries (doc_id)",
    "CREATE INDEX entries_by_name ON entries USING gin (names)",
    "CREATE INDEX entries_by_word ON entries USING gin (search)",
    "CREATE TABLE vector_tables (model text PRIMARY KEY, name text NOT NULL UNIQUE)",
)

#: For other programs. Vectors of the model in use lie in the table that `vector_tables` names.
_SEARCH_FUNCTION: Final = files(__package__).joinpath("search_function.sql").read_text("utf-8")

FEW: Final = 2_000  #: chunks that are sent by number; more are sent as a bit mask
_LABELS: Final = {"body": "D", "path": "C", "headings": "B", "title": "A"}  # in the order of ts_rank's weights
_PHRASED: Final = ("D", "B", "A")
_SAMPLE: Final = 2_000  # entries that a word's neighbours are gathered from
_COUNTED: Final = 500  # chunks that hold a word; beyond, it is frequent, and how frequent no longer matters
_LOOSE: Final = "to_tsquery(%(language)s::regconfig, %(loose)s)"
_STRICT: Final = "websearch_to_tsquery(%(language)s::regconfig, %(text)s)"
_DEMANDED: Final = "to_tsquery(%(language)s::regconfig, %(demanded)s)"
_ADMITTED: Final = f"(numnode({_DEMANDED}) = 0 OR e.search @@ {_DEMANDED})"
_MATCHING: Final = f"(e.search @@ {_LOOSE} OR e.names && %(names)s::text[])"
_NAMED: Final = """(SELECT count(*) FROM unnest(%(names)s::text[]) AS asked (name) WHERE asked.name = ANY(e.names))
    / greatest(cardinality(%(names)s::text[]), 1)::double precision"""
_RANK: Final = f"ts_rank(%(weights)s::real[], e.search, {_LOOSE}, 32)::double precision"


def create_tables(connection: Connection[Any], text_search: str) -> None:
    """Make the table, where the database keeps a `tsvector` of every entry in that configuration."""
    from psycopg import sql

    if connection.execute("SELECT 1 FROM pg_ts_config WHERE cfgname = %s", (text_search,)).fetchone() is None:
        known = connection.execute("SELECT string_agg(cfgname, ', ' ORDER BY cfgname) FROM pg_ts_config").fetchone()
        raise SetupError(
            f"PostgreSQL has no text search configuration {text_search!r}.",
            hint=f"Set storage.text_search to one of: {known[0] if known else ''}.",
        )
    language = sql.Literal(text_search)
    vector = sql.SQL(" || ").join(
        sql.SQL("setweight(to_tsvector({}::regconfig, {}), {})").format(language, sql.Identifier(name), label)
        for name, label in _LABELS.items()
    )
    connection.execute(sql.SQL(_TABLE).format(vector))
    # no function setting can be FROM CURRENT before it is set
    connection.execute(sql.SQL("SET LOCAL librarian.text_search TO {}").format(language))
    for statement in (*_INDEXES, _SEARCH_FUNCTION):
        connection.execute(statement.encode())


class PostgresKeywordIndex(KeywordIndex):
    """A `KeywordIndex` in the table `entries`, beside its catalog's.

    `note` is given with every ranking, since it ranks otherwise than the keyword index on one machine does.
    """

    def __init__(self, database: Database, *, note: str = "") -> None:
        self._note = note
        self._database = database
        self._language = database.text_search
        self._weights = {name: float(getattr(FieldWeights(), name)) for name in _LABELS}
        self._lock = RLock()
        #: statements with their rows, for the next commit
        self._pending: list[tuple[str, Sequence[Sequence[object]]]] = []

    # -- writing ---------------------------------------------------------------------------------------------------

    def put(self, items: Iterable[tuple[int, int, Document, KeywordEntry]]) -> None:
        rows = [
            (
                chunk_id,
                doc_id,
                *map(_plain, (each.title, each.headings, each.path, each.body)),
                _plain(each.identifiers).split(),
            )
            for chunk_id, doc_id, _, each in items
        ]
        statement = "INSERT INTO entries (chunk_id, doc_id, title, headings, path, body, names) VALUES"
        self._add(f"{statement} (%s, %s, %s, %s, %s, %s, %s)", rows)

    def delete(self, doc_ids: Iterable[int]) -> None:
        self._add("DELETE FROM entries WHERE doc_id = ANY(%s)", [([int(number) for number in doc_ids],)])

    def delete_chunks(self, chunk_ids: Iterable[int]) -> None:
        self._add("DELETE FROM entries WHERE chunk_id = ANY(%s)", [([int(number) for number in chunk_ids],)])

    def _add(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        self._database.require_open()
        with self._lock:
            self._pending.append((statement, rows))

    def commit(self, generation: int) -> None:
        """Make what was put and deleted visible, and remember the catalog's generation.

        Within a transaction of the catalog, with all that it holds, at its end. Raises `Unavailable` where it can't be
        written; searches go on with what was committed before.
        """
        with self._lock:
            pending, self._pending = self._pending, []
            with self._database.write() as session:
                for statement, rows in pending:
                    session.connection.cursor().executemany(statement.encode(), rows)
                session.rows(
                    """INSERT INTO meta VALUES ('lexical_generation', ?)
                       ON CONFLICT (key) DO UPDATE SET value = excluded.value""",
                    str(generation),
                )

    def clear(self) -> None:
        with self._lock:
            self._pending = [("DELETE FROM entries", [()])]
            self.commit(0)

    def rollback(self) -> None:
        with self._lock:
            self._pending = []

    def close(self) -> None:
        """Let go of the database; what isn't committed is lost."""
        self._database.close()

    # -- searching -------------------------------------------------------------------------------------------------

    def search(self, query: AnalyzedQuery, selection: Selection, limit: int) -> Ranking:
        """Best chunks by score, ties by id; the score is in 0–1 and given as both `raw` and `scores`."""
        started = time.perf_counter()
        terms = _terms(query)
        if limit < 1 or not (terms or query.identifiers) or (selection.mask is not None and not selection.count):
            return Ranking("keyword", (), (), ())
        passing, chosen = by_chunk(selection, "e.chunk_id")
        statement = f"""SELECT e.chunk_id, {_score(query)} AS score FROM entries e
            WHERE {_MATCHING} AND {_ADMITTED} AND {passing} ORDER BY score DESC, e.chunk_id LIMIT %(limit)s"""
        given = {**self._given(query, terms), **chosen, "demanded": _demands(query), "limit": limit}
        rows = self._rows(statement, given)
        ids, scores = tuple(int(row[0]) for row in rows), tuple(float(row[1]) for row in rows)
        return Ranking("keyword", ids, scores, scores, reason=self._note, ms=(time.perf_counter() - started) * 1000)

    def scores(self, query: AnalyzedQuery, chunk_ids: Ids) -> Vector:
        order = np.asarray(chunk_ids, dtype=np.int64).tolist()
        terms = _terms(query)
        found: dict[int, float] = {}
        if order and (terms or query.identifiers):
            statement = f"""SELECT e.chunk_id, {_score(query)} FROM entries e
                WHERE e.chunk_id = ANY(%(chunks)s) AND {_MATCHING}"""
            found = dict(self._rows(statement, {**self._given(query, terms), "chunks": order}))
        return np.array([found.get(number, 0.0) for number in order], dtype=np.float32)

    def admitted(self, query: AnalyzedQuery, chunk_ids: Ids) -> Ids:
        statement = f"SELECT e.chunk_id FROM entries e WHERE e.chunk_id = ANY(%(chunks)s) AND {_ADMITTED} ORDER BY 1"
        given = {"language": self._language, "demanded": _demands(query), "chunks": np.asarray(chunk_ids).tolist()}
        return np.array([row[0] for row in self._rows(statement, given)], dtype=np.int64)

    # -- looking around --------------------------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        rows = self._rows("SELECT value FROM meta WHERE key = 'lexical_generation'")
        return int(rows[0][0]) if rows else 0

    def frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Those of these terms that some chunk's body, title, headings or path holds, each with how many chunks do, as
        far as that is counted."""
        asked = [term for term in terms if term]
        rows = self._rows(
            """SELECT asked.place, holding.count
               FROM unnest(%(terms)s::text[]) WITH ORDINALITY AS asked (term, place),
               LATERAL (SELECT count(*) FROM (
                   SELECT FROM entries e WHERE e.search @@ to_tsquery(%(language)s::regconfig, asked.term)
                   LIMIT %(most)s) AS found) AS holding
               WHERE holding.count > 0""",
            {"language": self._language, "terms": [_quoted(term) for term in asked], "most": _COUNTED},
        )
        return {asked[place - 1]: int(count) for place, count in rows}

    def terms(self, prefix: str, limit: int, *, identifiers: bool = False) -> list[str]:
        """Indexed terms of bodies, or identifiers, that start so, most frequent first.

        Counted over two thousand entries: for terms, ones that hold such a term; for identifiers, ones that hold any.
        """
        sample, words = ("names FROM entries WHERE cardinality(names) > 0", "unnest(e.names) AS word (lexeme)")
        if not identifiers:
            sample = "search FROM entries" + (" WHERE search @@ to_tsquery('simple', %(asked)s)" if prefix else "")
            words = "unnest(e.search) AS word"
        rows = self._rows(
            f"""SELECT word.lexeme, count(*) FROM (SELECT {sample} LIMIT %(sample)s) e, {words}
                WHERE starts_with(word.lexeme, %(prefix)s) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %(limit)s""",
            {"asked": f"{_quoted(prefix)}:*", "sample": _SAMPLE, "prefix": _plain(prefix), "limit": limit},
        )
        return [row[0] for row in rows]

    def count(self) -> int:
        return int(self._rows("SELECT count(*) FROM entries")[0][0])

    def entry_counts(self) -> dict[int, int]:
        return dict(self._rows("SELECT doc_id, count(*) FROM entries GROUP BY doc_id"))

    # -- inside ----------------------------------------------------------------------------------------------------

    def _given(self, query: AnalyzedQuery, terms: Sequence[str]) -> dict[str, object]:
        return {
            "language": self._language,
            "loose": " | ".join(_quoted(term) for term in terms),
            "text": _plain(query.text),
            "names": [_plain(name) for name in query.identifiers],
            "weights": [self._weights[name] for name in _LABELS],
        }

    def _rows(self, statement: str, given: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        with self._database.read() as session:
            return session.connection.execute(statement.encode(), given).fetchall()


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


def _score(query: AnalyzedQuery) -> str:
    parts = [_RANK, f"(e.search @@ {_STRICT})::int", *([_NAMED] if query.identifiers else [])]
    return f"(({' + '.join(parts)}) / {len(parts)})"


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
