"""A PostgreSQL database as the shelves see it: connections, transactions, news, and errors told in sentences.

Every value reaches the server as a parameter; names of schemas and tables are quoted by psycopg. A connection that
broke is replaced at its next use, so that a restart of the server costs the calls under way and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from ...errors import SetupError, Unavailable
from ...vector_stores.sqlite_vec import missing
from . import schema as migrations

if TYPE_CHECKING:
    from psycopg import Connection

logger = logging.getLogger(__name__)

CONNECTIONS: Final = 20
WRITING: Final = "writing"  #: the lock that transactions share while they commit
_SPARE: Final = 6  # connections that snapshots leave to whoever needs one for a moment
_WAIT_S: Final = 10.0
_SILENT_S: Final = 1.0  # where the server was away the last time: whoever asks meanwhile isn't kept
#: Seconds after which the server takes a machine that fell silent for dead, and frees what it had locked.
_KEEPALIVE: Final = {"tcp_keepalives_idle": 10, "tcp_keepalives_interval": 5, "tcp_keepalives_count": 3}


class Database:
    """One library's schema. Parts that use it call `join` and `leave`; the last to leave closes the connections.

    Args:
        url: `postgresql://user:password@host/name`.
        schema: the schema that holds the library; made where there is none.
        text_search: PostgreSQL's text search configuration (`english`, `simple`, …).
        wait_s: how long a call waits for a connection before it is told that there is none.

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
            import psycopg
            from psycopg_pool import ConnectionPool
        except ImportError as error:
            raise missing("postgres", error) from error
        self.schema = schema
        self.text_search = text_search
        self._url = url
        self._users = 0
        self._users_lock = threading.Lock()
        self._here = threading.local()
        self._snapshots = threading.BoundedSemaphore(max(1, connections - _SPARE))
        self._wait_s = wait_s
        self._silent = False  #: whether the last who waited waited for a server that takes no connection
        self._failed = 0  #: tries to connect that had failed by then
        self._pool: ConnectionPool[Connection[Any]] | None = None
        try:
            with psycopg.connect(url, autocommit=True, connect_timeout=int(wait_s)) as connection:
                migrations.migrate(connection, schema, text_search)
        except psycopg.errors.InvalidSchemaName as error:
            raise SetupError(f"PostgreSQL: {_first(error)}.", hint="Set storage.database_schema.") from error
        except psycopg.Error as error:
            raise SetupError(
                f"The PostgreSQL database can't be used: {_first(error).replace(url, '…')}.",  # it may hold a password
                hint="Check storage.database_url (DATABASE_URL), that the server runs, and that pgvector is installed.",
            ) from error
        if (trying := logging.getLogger("psycopg.pool")).level == logging.NOTSET:
            trying.setLevel(logging.ERROR)  # it tells of each try to connect; whoever waits for one says it once
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

    # -- who uses it -----------------------------------------------------------------------------------------------

    def join(self) -> Database:
        """One more part uses this database."""
        with self._users_lock:
            self._users += 1
        return self

    def leave(self) -> None:
        """One part fewer; the last one closes all connections."""
        with self._users_lock:
            self._users -= 1
            pool, self._pool = (self._pool, None) if self._users <= 0 else (None, self._pool)
        if pool is not None:
            pool.close()

    # -- transactions ----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Connection[Any]]:
        """A read transaction that sees one committed state. Within one, the same thread gets the same again."""
        inside: Connection[Any] | None = getattr(self._here, "connection", None)
        if inside is not None:
            with self.told():
                yield inside
            return
        with self.told(), self._snapshots, self.connection() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._here.connection = connection
            try:
                yield connection
            finally:
                self._here.connection = None
                if not connection.broken:
                    connection.rollback()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Connection[Any]]:
        """A write transaction, undone where the block fails. Within one, the same thread gets a part of it."""
        if (whole := self.writing) is not None:
            with self.told(), whole.transaction():
                yield whole
            return
        with self.told(), self.connection() as connection, connection.transaction():
            self._here.writing = connection
            try:
                yield connection
            finally:
                self._here.writing = None
            self.about_to_commit(connection)

    @property
    def writing(self) -> Connection[Any] | None:
        """That of the write transaction which this thread is in."""
        return getattr(self._here, "writing", None)

    def about_to_commit(self, connection: Connection[Any]) -> None:
        """Share the lock `WRITING` until the transaction is decided.

        A process that is killed may have sent its COMMIT; who takes the lock alone knows that all those are done.
        """
        connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (self.lock_key(WRITING),))

    @contextlib.contextmanager
    def connection(self) -> Iterator[Connection[Any]]:
        """A connection in autocommit mode.

        The first who finds the server away waits `wait_s` for it, the others a moment until it is back.
        """
        if self._pool is None:
            raise Unavailable("The PostgreSQL library is closed.", hint="Open the library again.")
        from psycopg_pool import PoolTimeout

        try:
            with self._pool.connection(timeout=min(_SILENT_S, self._wait_s) if self._silent else None) as connection:
                self._silent = False
                yield connection
        except PoolTimeout:
            failed = self._pool.get_stats().get("connections_errors", 0) if self._pool is not None else 0
            self._silent, self._failed = failed > self._failed, failed  # else all are in use
            raise

    def session(self) -> Connection[Any]:
        """A connection of one's own, outside the pool: for locks and listening. The caller closes it."""
        import psycopg

        with self.told():
            connection = psycopg.connect(self._url, autocommit=True, connect_timeout=int(self._wait_s))
            try:
                self._configure(connection)
            except BaseException:
                connection.close()
                raise
            return connection

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """The server's silence told as `Unavailable`; errors of statements are bugs and stay as they are."""
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
        from psycopg import sql

        search_path = sql.SQL("SET search_path TO {}, public").format(sql.Identifier(self.schema))
        kept = [sql.SQL("SET {} TO {}").format(sql.Identifier(name), sql.Literal(n)) for name, n in _KEEPALIVE.items()]
        connection.execute(sql.SQL("; ").join([search_path, *kept]))

    # -- locks and news --------------------------------------------------------------------------------------------

    def lock_key(self, purpose: str) -> int:
        """The number of an advisory lock of this library: the first 63 bits of a hash."""
        return migrations.lock_key(self.schema, purpose)

    @property
    def channel(self) -> str:
        """Where new generations are announced."""
        return f"librarian_{hashlib.sha256(self.schema.encode()).hexdigest()[:16]}"


def _first(error: BaseException) -> str:
    """The first line of an error, without its full stop."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__).rstrip(".")
