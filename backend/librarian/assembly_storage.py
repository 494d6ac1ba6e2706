"""Settings in, storage out: catalog, keyword index, archive and vector stores, on this machine or in PostgreSQL."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .models.table import dimension_of
from .settings import Settings, revealed
from .shelving.catalog import SqliteCatalog
from .shelving.lexical_index import TantivyIndex
from .shelving.vectors import chroma_files
from .shelving.vectors.archive import SqliteVectorArchive
from .shelving.vectors.child_store import ChildStore
from .shelving.vectors.chroma import ChromaStore
from .shelving.vectors.exact import ExactStore
from .shelving.vectors.qdrant import QdrantStore
from .shelving.vectors.sqlite_vec import SqliteVecStore
from .shelving.vectors.store_set import StoreSet
from .vocabulary.errors import SetupError
from .vocabulary.owned_folder import require_own
from .vocabulary.protocols import Catalog, LexicalIndex, VectorArchive, VectorStore

if TYPE_CHECKING:
    from .shelving.postgres.database import Database

EXACT_UP_TO = 1_000_000  #: windows; above, a graph index answers (decisions page)


@dataclass(frozen=True, slots=True)
class Storage:
    """Where a library lies. `names` are those of catalog, keyword index and vector store, for the status."""

    catalog: Catalog
    lexical: LexicalIndex
    archive: VectorArchive
    stores: StoreSet
    names: tuple[str, str, str]
    rescued: str = ""  #: a sentence, where a damaged file was set aside
    database: Database | None = None  #: PostgreSQL, where several servers may use the library

    def close(self) -> None:
        """Close everything, though some of it may fail."""
        with ExitStack() as closing:  # which ends with what it was given first
            for part in (self.catalog, self.archive, self.lexical, self.stores):
                closing.callback(part.close)


def storage(settings: Settings) -> Storage:
    """What `storage.catalog` and `vector_db.store` name. Raises `SetupError`, naming the extra that is missing."""
    return _postgres(settings) if settings.storage.catalog == "postgres" else _embedded(settings)


def _embedded(settings: Settings) -> Storage:
    index, chosen = settings.index.path, settings.vector_db.store
    if chosen == "pgvector":
        raise SetupError(
            "vector_db.store is pgvector, and storage.catalog isn't postgres.",
            hint="Set storage.catalog to postgres too, or choose another store.",
        )
    if settings.embeddings.enabled and chosen in ("auto", "chroma"):
        with suppress(OSError):  # who opens it says so
            require_own(settings.chroma_path, chroma_files.FOLDER)
    with ExitStack() as undone:
        catalog = SqliteCatalog.sound(index / "catalog.sqlite", shared_products=settings.docs.shared_products)
        undone.callback(catalog.close)
        lexical = TantivyIndex.sound(index / "keyword", identity=catalog.identity)
        undone.callback(lexical.close)
        archive = SqliteVectorArchive(index / "vectors.sqlite")
        undone.pop_all()
    return Storage(
        catalog,
        lexical,
        archive,
        StoreSet(partial(embedded_stores, settings), exact_up_to=EXACT_UP_TO),
        ("sqlite", "tantivy", "exact" if chosen == "auto" else chosen),
        rescued=catalog.rescued,
    )


def database(settings: Settings) -> Database:
    """The PostgreSQL database of `storage.database_url`. Raises `SetupError` where there is no address."""
    from .shelving.postgres.database import Database

    if settings.storage.database_url is None:
        raise SetupError(
            "storage.catalog is postgres, and no PostgreSQL database is named.",
            hint="Set storage.database_url (DATABASE_URL) to postgresql://user:password@host/name.",
        )
    return Database(
        settings.storage.database_url.get_secret_value(),
        schema=settings.storage.database_schema,
        text_search=settings.storage.text_search,
    )


def _postgres(settings: Settings) -> Storage:
    chosen = settings.vector_db.store
    if chosen not in ("auto", "pgvector", "qdrant"):
        raise SetupError(
            f"vector_db.store is {chosen}, which lies on one machine; servers that share PostgreSQL can't share it.",
            hint="Set it to auto, pgvector or qdrant.",
        )
    if chosen == "qdrant" and settings.storage.qdrant_url is None:
        raise SetupError("vector_db.store is qdrant, and no server is named.", hint="Set QDRANT_URL.")
    opened = database(settings).join()
    try:
        from .shelving.postgres.archive import PostgresVectorArchive
        from .shelving.postgres.catalog import PostgresCatalog
        from .shelving.postgres.lexical import PostgresLexicalIndex

        catalog = PostgresCatalog(opened, shared_products=settings.docs.shared_products)
        return Storage(
            catalog,
            PostgresLexicalIndex(opened, identity=catalog.identity, note=_ranking(settings)),
            PostgresVectorArchive(opened),
            StoreSet(partial(_shared_stores, settings, opened), exact_up_to=EXACT_UP_TO),
            ("postgres", "postgres", "qdrant" if chosen == "qdrant" else "pgvector"),
            database=opened,
        )
    finally:
        opened.leave()


def _ranking(settings: Settings) -> str:
    """How PostgreSQL ranks, for the answer's `legs`."""
    joined = (
        " and joined by weight" if settings.search.fusion == "weighted" else " and joined by reciprocal rank fusion"
    )
    return f"ranked by PostgreSQL's ts_rank{joined}"


def _shared_stores(settings: Settings, opened: Database, fingerprint: str) -> Iterator[VectorStore]:
    if settings.vector_db.store == "qdrant":
        yield qdrant(settings, fingerprint)
        return
    from .shelving.postgres.vectors import PgVectorStore

    hnsw = settings.vector_db.hnsw_config
    yield PgVectorStore(
        opened,
        fingerprint,
        dimension_of(fingerprint),
        M=hnsw.M,
        construction_ef=hnsw.construction_ef,
        search_ef=hnsw.search_ef,
    )


def embedded_stores(settings: Settings, fingerprint: str) -> Iterator[VectorStore]:
    """A model's vector stores, the one that answers first (decisions page: an exact scan answers small libraries)."""
    chosen, dimension = settings.vector_db.store, dimension_of(fingerprint)
    if chosen in ("auto", "exact"):
        yield ExactStore(dimension)
    if chosen in ("auto", "chroma"):
        yield ChildStore("chroma", chroma_child(settings, fingerprint, dimension))
    if chosen == "sqlite-vec":
        yield SqliteVecStore(settings.index.path / "sqlite-vec" / f"{_of(fingerprint)}.sqlite", dimension)
    if chosen == "qdrant":
        yield qdrant(settings, fingerprint)


def qdrant(settings: Settings, fingerprint: str) -> QdrantStore:
    """A model's collection on the server at `storage.qdrant_url`, or in the index folder where there is no address."""
    storage, hnsw = settings.storage, settings.vector_db.hnsw_config
    address = revealed(storage.qdrant_url)
    parts = urlsplit(address or "")
    key = parts.username if parts.username and not parts.password else parts.password
    collection = collection_of(settings, fingerprint)
    return QdrantStore(
        _without_key(address) if address else settings.index.path / "qdrant" / collection,
        collection,
        dimension_of(fingerprint),
        M=hnsw.M,
        construction_ef=hnsw.construction_ef,
        search_ef=hnsw.search_ef,
        threshold=settings.search.similarity_threshold,
        quantization=settings.vector_db.quantization,
        api_key=key,
    )


def chroma_child(settings: Settings, fingerprint: str, dimension: int) -> Callable[[], VectorStore]:
    """What opens a model's Chroma collection inside a child."""
    database, hnsw = settings.vector_db, settings.vector_db.hnsw_config
    return partial(
        ChromaStore,
        settings.chroma_path,
        collection_of(settings, fingerprint),
        dimension,
        distance=database.distance_metric,
        M=hnsw.M,
        construction_ef=hnsw.construction_ef,
        search_ef=hnsw.search_ef,
    )


def collection_of(settings: Settings, fingerprint: str) -> str:
    """The name of a model's collection."""
    return f"{settings.vector_db.collection_name}-{_of(fingerprint)}"


def _of(fingerprint: str) -> str:
    return hashlib.sha256(fingerprint.encode()).hexdigest()[:8]


def _without_key(address: str) -> str:
    """The address without what stands before `@`, which is the key (`https://KEY@host:6333`)."""
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
