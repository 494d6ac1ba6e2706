"""A PostgreSQL database as a `Database`: connections, transactions, the tables' version, and errors explained.

Every value reaches the server as a parameter; names of schemas and tables are quoted by psycopg. A connection that
broke is replaced at its next use, so that a restart of the server costs the calls under way and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ...errors import SetupError, Unavailable, missing_extra
from ..database import CATALOG, EMBEDDING_CACHE, VERSION, Dialect, Session, tables_for
from ..database import Database as BaseDatabase

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

logger = logging.getLogger(__name__)

CONNECTIONS: Final = 20
WRITING: Final = "writing"  #: the lock that transactions share while they commit
_SPARE: Final = 6  #: connections that read transactions leave to writers
_WAIT_S: Final = 10.0
_SILENT_S: Final = 1.0  #: how long a call waits for a server that was away the last time
#: Seconds after which the server takes a machine that fell silent for dead, and frees what it had locked.
_KEEPALIVE: Final = {"tcp_keepalives_idle": 10, "tcp_keepalives_interval": 5, "tcp_keepalives_count": 3}

# text that is ordered by bytes, whatever the database's own order; texts of any length have a hash index
_DIALECT: Final = Dialect("bigint PRIMARY KEY", 'text COLLATE "C"', "bytea", "", "USING hash")


#: The catalog's and the keyword index's tables, of any earlier version.
_DERIVED: Final = (
    "meta, changes, documents, archives, texts, emails, mail_ids, chunks, windows, embedded_models, failures, entries, "
    "vector_tables"
)


@cache
def _translated(statement: str) -> str:
    return statement.replace("AMONG ?", "= ANY(%s)").replace("?", "%s")


def _storable(value: object) -> object:
    if isinstance(value, list):
        return [_storable(one) for one in value]
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


class PostgresSession(Session):
    """A `Session` over a connection that is in a transaction."""

    def __init__(self, connection: Connection[Any], channel: str) -> None:
        self.connection, self._channel = connection, channel

    def rows(self, statement: str, *values: object) -> list[Any]:
        cursor = self.connection.execute(_translated(statement).encode(), [_storable(value) for value in values])
        return cursor.fetchall() if cursor.description else []

    def many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        self.connection.cursor().executemany(_translated(statement).encode(), rows)

    def notify(self, generation: int) -> None:
        self.connection.execute("SELECT pg_notify(%s, %s)", (self._channel, str(generation)))


class Database(BaseDatabase):
    """One library's schema, which several parts share.

    Args:
        url: `postgresql://user:password@host/name`.
        schema: the schema that holds the library; made where there is none.
        text_search: PostgreSQL's text search configuration (`english`, `simple`, …).
        wait_s: how long a call waits for a connection before it fails.

    Raises `SetupError` where psycopg isn't installed, the server can't be reached, lacks pgvector, or holds a newer
    format.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str = "librarian",
        text_search: str = "english",
        connections: int = CONNECTIONS,
        wait_s: float = _WAIT_S,
    ) -> None:
        try:
            import pgvector  # noqa: F401
            import psycopg
            from psycopg_pool import ConnectionPool
        except ImportError as error:
            raise missing_extra("postgres", error) from error
        self.schema = schema
        self.text_search = text_search
        self.unstorable = (ValueError, psycopg.DataError)
        self._url = url
        self._here = threading.local()
        self._snapshots = threading.BoundedSemaphore(max(1, connections - _SPARE))
        self._wait_s = wait_s
        self._silent = False  #: whether the last who waited waited for a server that takes no connection
        self._failed = 0  #: tries to connect that had failed by then
        self._pool: ConnectionPool[Connection[Any]] | None = None
        try:
            with psycopg.connect(url, autocommit=True, connect_timeout=int(wait_s)) as connection:
                self._prepare(connection)
        except psycopg.errors.InvalidSchemaName as error:
            raise SetupError(f"PostgreSQL: {_first(error)}.", hint="Set storage.database_schema.") from error
        except psycopg.Error as error:
            raise SetupError(
                f"The PostgreSQL database can't be used: {_first(error).replace(url, '…')}.",  # it may hold a password
                hint="Check storage.database_url (DATABASE_URL), that the server runs, and that pgvector is installed.",
            ) from error
        if (trying := logging.getLogger("psycopg.pool")).level == logging.NOTSET:
            trying.setLevel(logging.ERROR)  # it logs each try to connect; the caller logs once
        self._pool = ConnectionPool(
            url,
            min_size=1,
            max_size=connections,
            kwargs={"autocommit": True, "application_name": "librarian"},
            configure=self._configure,
            check=ConnectionPool.check_connection,
            timeout=wait_s,
            reconnect_timeout=wait_s,  # then the pool begins anew: it waits twice as long after each try
            open=True,
        )

    def close(self) -> None:
        """Close all connections."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    # -- transactions ----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def read(self) -> Iterator[PostgresSession]:
        """A read transaction that sees one committed state. Within one, the same thread gets the same again."""
        inside: PostgresSession | None = getattr(self._here, "reading", None)
        if inside is not None:
            with self.notified():
                yield inside
            return
        with self.notified(), self._snapshots, self.connection() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._here.reading = PostgresSession(connection, self.channel)
            try:
                yield self._here.reading
            finally:
                self._here.reading = None
                if not connection.broken:
                    connection.rollback()

    @contextlib.contextmanager
    def write(self) -> Iterator[PostgresSession]:
        """A write transaction, undone where the block fails; within one of the same thread, a part of that."""
        whole: PostgresSession | None = getattr(self._here, "writing", None)
        if whole is not None:
            with self.notified(), whole.connection.transaction():
                yield whole
            return
        with self.notified(), self.connection() as connection, connection.transaction():
            self._here.writing = PostgresSession(connection, self.channel)
            try:
                yield self._here.writing
            finally:
                self._here.writing = None
            # Shared until the transaction is decided: a process that is killed may have sent its COMMIT, and who takes
            # the lock alone knows that all those are done.
            connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (self.lock_key(WRITING),))

    @contextlib.contextmanager
    def connection(self) -> Iterator[Connection[Any]]:
        """A connection in autocommit mode.

        The first who finds the server away waits `wait_s` for it, the others a moment until it is back.
        """
        from psycopg_pool import PoolTimeout

        pool = self.require_open()
        try:
            with pool.connection(timeout=min(_SILENT_S, self._wait_s) if self._silent else None) as connection:
                self._silent = False
                yield connection
        except PoolTimeout:
            failed = pool.get_stats().get("connections_errors", 0)
            self._silent, self._failed = failed > self._failed, failed  # else all are in use
            raise

    def require_open(self) -> ConnectionPool[Connection[Any]]:
        """Raises `Unavailable` once the database was closed."""
        if self._pool is None:
            raise Unavailable("The PostgreSQL library is closed.", hint="Open the library again.")
        return self._pool

    def session(self) -> Connection[Any]:
        """A connection of one's own, outside the pool: for locks and listening. The caller closes it."""
        import psycopg

        with self.notified():
            connection = psycopg.connect(self._url, autocommit=True, connect_timeout=int(self._wait_s))
            try:
                self._configure(connection)
            except BaseException:
                connection.close()
                raise
            return connection

    @contextlib.contextmanager
    def notified(self) -> Iterator[None]:
        """The server's silence becomes `Unavailable`; errors of statements are bugs and stay as they are."""
        import psycopg
        from psycopg_pool import PoolClosed, PoolTimeout

        try:
            yield
        except (PoolTimeout, PoolClosed, psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise Unavailable(
                f"The PostgreSQL database doesn't answer: {_first(error)}.",
                hint="Check that the server runs (DATABASE_URL); the next call tries again.",
            ) from error

    def _configure(self, connection: Connection[Any]) -> None:
        from pgvector.psycopg import register_vector
        from psycopg import sql

        register_vector(connection)
        search_path = sql.SQL("SET search_path TO {}, public").format(sql.Identifier(self.schema))
        idle = [sql.SQL("SET {} TO {}").format(sql.Identifier(name), sql.Literal(n)) for name, n in _KEEPALIVE.items()]
        connection.execute(sql.SQL("; ").join([search_path, *idle]))

    def _prepare(self, connection: Connection[Any]) -> None:
        """Make the schema's tables; those of an older version or another language are dropped, but for the embedding
        cache.

        Raises `SetupError` where a newer version made them: other servers may use it."""
        from psycopg import sql

        from . import keyword_index

        schema = self.schema

        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (self.lock_key("migration"),))
            # making an extension that exists already takes rights that a plain user lacks
            if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone() is None:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
            connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
            connection.execute(sql.SQL("SET LOCAL search_path TO {}, public").format(sql.Identifier(schema)))
            connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version integer NOT NULL)")
            connection.execute("ALTER TABLE schema_version ADD COLUMN IF NOT EXISTS text_search text")
            held = connection.execute("SELECT version, text_search FROM schema_version").fetchone() or (0, None)
            if held[0] > VERSION:
                raise SetupError(
                    f"The schema {schema} has format {held[0]}; this Librarian uses format {VERSION}.",
                    hint="Update Librarian, or choose another schema with storage.database_schema.",
                )
            if held == (VERSION, self.text_search):
                return
            cached = connection.execute("SELECT to_regclass('vectors')").fetchone() != (None,)
            if held[0]:
                logger.warning("the schema %s has format %d in %s: its documents are read again", schema, *held)
                connection.execute("DROP FUNCTION IF EXISTS hybrid_search_chunks")
                stores = [name for (name,) in connection.execute("SELECT name FROM vector_tables")]
                connection.execute(f"DROP TABLE IF EXISTS {', '.join([_DERIVED, *stores])} CASCADE".encode())
            for statement in tables_for(_DIALECT, CATALOG) + ([] if cached else tables_for(_DIALECT, EMBEDDING_CACHE)):
                connection.execute(statement.encode())
            keyword_index.create_tables(connection, self.text_search)
            connection.execute("DELETE FROM schema_version")
            connection.execute("INSERT INTO schema_version VALUES (%s, %s)", (VERSION, self.text_search))

    # -- locks and news --------------------------------------------------------------------------------------------

    def lock_key(self, purpose: str) -> int:
        """The number of an advisory lock of this library: the first 63 bits of a hash."""
        digest = hashlib.sha256(f"librarian/{self.schema}/{purpose}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 1

    @property
    def channel(self) -> str:
        """Where new generations are announced."""
        return f"librarian_{hashlib.sha256(self.schema.encode()).hexdigest()[:16]}"


def _first(error: BaseException) -> str:
    """The first line of an error, without its full stop."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".")
