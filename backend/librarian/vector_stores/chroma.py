"""Windows' vectors in a ChromaDB collection on disk, kept honest.

Chroma answers fast and is what people know, but left alone it misses neighbours, loses filtered ones and grows. So:

* More is asked for than is wanted, which widens the graph search. Measured at 20,000 × 384 in 400 clusters, M 16,
  recall@50 for questions near to the library and foreign to it: asking for 200 finds 0.999 and 0.80, for 800 1.000 and
  0.99 (4 ms), for 1,600 1.000 and 1.000 (8 ms).
* A filter never goes through `where` (50–70 ms). Where few windows pass, their vectors are fetched and compared (at
  122,710 × 384 400 take 11 ms); Chroma given their ids takes as long for few as for many (84 ms) and is asked so
  where more pass. Where many pass, it is asked for so many more that enough of them pass, and given ids where they
  don't.
* Deleted entries stay in the graph. They are counted; from 30% `needs_rebuild` says so, and `rebuild` copies the living
  into a new collection and swaps the two. Chroma remembers dropped graphs (4.8 MB for each rebuild of 450 × 384), so
  the folder is then opened anew.
* A folder that is damaged or was deleted is noticed, set aside and begun anew; `recreated` then says that it has to be
  refilled from the archive. One that merely can't be written, for a full disk, stays and answers.

One process at a time may have the folder open. Telemetry is off and no embedding function is ever loaded.
"""

from __future__ import annotations

import logging
import re
import shutil
import sqlite3
import struct
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, Final, Literal, TypeVar

import numpy as np

from ..errors import LibrarianError, Unavailable
from ..files import owned_folder, paths
from ..files.owned_folder import claim
from ..models import Ids, Selection, Vector, Vectors
from .batches import best_first, checked_batch, checked_question, passes

logger = logging.getLogger(__name__)

_DATABASE: Final = "chroma.sqlite3"
_MARK: Final = "librarian.opening"
#: version, offset, capacity, count, size of a row, label and data offsets, levels, entry point, M (three), factor, ef
_HEADER: Final = struct.Struct("<i6QiI3QdQ")

#: The folder of a collection's graph, named by a UUID.
_GRAPH: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

#: SQLite's code and the system's (no space, over quota) for a disk that takes no more, in errors that have no numbers.
_FULL: Final = re.compile(r"\(code: 13\)|\bos error (28|122)\b|\[Errno (28|122)\]")


def _is_unmarked_folder(folder: Path) -> bool:
    """Whether all collections that the database holds carry what Librarian notes of its own."""
    query = "SELECT key FROM collection_metadata WHERE collection_id = ?"
    try:
        with closing(_opened(folder, "&immutable=1")) as db:
            ids = db.execute("SELECT id FROM collections").fetchall()
            return bool(ids) and all({row[0] for row in db.execute(query, found)} >= _NOTED for found in ids)
    except sqlite3.Error:
        return False


_NOTED: Final = frozenset({"fingerprint", "dimension", "dead"})  #: as `ChromaStore` writes it
#: The folder of a Chroma database.
FOLDER: Final = owned_folder.Kind(
    "Chroma",
    "librarian.vector_stores.chroma",
    "Choose another folder, or an empty one, with vector_db.path; vectors are copied there without embedding.",
    _is_unmarked_folder,
)


def is_full(why: str) -> bool:
    """Whether an error says that the disk is full, which leaves what lies on it whole."""
    return _FULL.search(why) is not None


def exists(folder: Path) -> bool:
    """Whether Chroma's database is (still) there."""
    return (folder / _DATABASE).exists()


def too_long(folder: Path) -> str:
    """Whether no database can be opened there for the length of its path; empty where it can."""
    return paths.too_long(folder / _DATABASE)


def damage(folder: Path) -> str:
    """What is wrong with the folder, in a few words; empty where nothing is seen to be. A missing one is fine."""
    if not exists(folder):
        return ""
    if (folder / _MARK).exists():
        return "the process before died while loading it"
    try:
        with closing(_opened(folder)) as db:
            db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error as error:
        return f"{_DATABASE}: {error}"
    for header in sorted(folder.glob("*/header.bin")):
        data = header.read_bytes()
        if len(data) != _HEADER.size:
            return f"{header.parent.name}/{header.name} has {len(data)} bytes"
        _, _, _, count, row_size, *_ = _HEADER.unpack(data)
        for name, expected in (("data_level0.bin", count * row_size), ("length.bin", count * 4)):
            file = header.with_name(name)
            size = file.stat().st_size if file.exists() else 0
            if size < expected:
                return f"{header.parent.name}/{name} has {size} of {expected} bytes"
    return ""


def _opened(folder: Path, more: str = "") -> sqlite3.Connection:
    # quoted: of a bare path `#` and `?` end the name, and SQLite would make a file of what is before them
    return sqlite3.connect(f"{(folder / _DATABASE).absolute().as_uri()}?mode=ro{more}", uri=True)


@contextmanager
def marked(folder: Path) -> Iterator[None]:
    """A mark that outlives this block only where the process dies in it."""
    mark = folder / _MARK
    mark.touch()
    try:
        yield
    finally:
        mark.unlink(missing_ok=True)


def segments(folder: Path, collection: str) -> list[Path]:
    """The folders that hold the graph of a collection (by its id)."""
    try:
        with closing(_opened(folder)) as db:
            rows = db.execute("SELECT id FROM segments WHERE collection = ?", (collection,)).fetchall()
    except sqlite3.Error as error:
        logger.info("The graph files of Chroma collection %s can't be found: %s.", collection, error)
        return []
    return [folder / row[0] for row in rows if (folder / row[0]).is_dir()]


def set_aside(folder: Path) -> None:
    """Move Chroma's files into a folder beside them; what else lies there stays. A missing folder is fine."""
    if not folder.exists():
        return
    graphs = [each for each in folder.iterdir() if _GRAPH.fullmatch(each.name)]
    files = [folder / name for name in (*(f"{_DATABASE}-{log}" for log in ("wal", "shm", "journal")), _MARK, _DATABASE)]
    owned_folder.quarantine(*graphs, *files, name=_DATABASE)


def drop(path: Path, client: Any, collection: Any) -> None:
    """Delete a collection and the graph files that Chroma leaves behind."""
    leftovers = segments(path, str(collection.id))
    client.delete_collection(collection.name)
    for folder in leftovers:
        shutil.rmtree(folder, ignore_errors=True)


_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")


def collection_name(name: str) -> str:
    """`name` where Chroma takes it (3–512 of letters, digits, `._-`, ending in letters or digits), else made so.

    >>> collection_name("docs"), collection_name("a"), collection_name("BAAI/bge small")
    ('docs', 'librarian-a', 'BAAI-bge-small')
    """
    if _NAME.fullmatch(name):
        return name
    cleaned = re.sub(r"[^a-zA-Z0-9._-]+", "-", name).strip("._-")[:500]
    return cleaned if _NAME.fullmatch(cleaned) else f"librarian-{cleaned}".rstrip("-")


T = TypeVar("T")
Distance = Literal["cosine", "l2", "ip"]

REBUILD_SHARE: Final = 0.3  #: dead entries of all; 10,000 one-file updates grew a folder 9.2× without it
OVERSAMPLE: Final = 4  #: candidates asked for per result wanted
LEAST_ASKED: Final = 800  #: candidates asked for at least: graph search is as wide as what it is asked for
FEW: Final = 2000  #: windows that are fetched and compared rather than searched among
NARROW: Final = 0.2  #: share of windows below which their ids are given instead of asking for more
_DEAD_MATTER: Final = 200  #: fewer dead entries than this aren't worth a rebuild
_PAGE: Final = 2000  #: rows copied at once while rebuilding


@dataclass(frozen=True, slots=True)
class _Opened:
    client: Any
    collection: Any


class ChromaStore:
    """A `VectorStore` on disk below `path`. Any thread may search while one writes.

    `distance` is Chroma's space (cosine, l2 or ip); whichever it is, cosines are returned. `M` (neighbours per node),
    `construction_ef` and `distance` shape the graph: a collection made with others is dropped and `recreated`.
    `search_ef` is set anew at each opening. Raises `ValueError` on a distance that Chroma doesn't know and
    `Unavailable` where the folder can't be used.
    """

    name = "chroma"

    def __init__(
        self,
        path: Path,
        collection: str,
        dimension: int,
        *,
        distance: Distance = "cosine",
        M: int = 16,  # noqa: N803 (HNSW's own name for it)
        construction_ef: int = 200,
        search_ef: int = 100,
    ) -> None:
        if distance not in ("cosine", "l2", "ip"):
            raise ValueError(f"Chroma knows no distance {distance!r}; use cosine, l2 or ip.")
        self.path = path
        self.collection = collection_name(collection)
        self.dimension = dimension
        self.recreated = False  #: True once a collection was replaced by an empty one that has to be refilled
        self._distance: Distance = distance
        self._search_ef = search_ef
        self._hnsw = {"space": distance, "max_neighbors": M, "ef_construction": construction_ef}
        self._lock = RLock()  #: held by writers, and while opening
        self._spelling = 0  #: how often the path to the folder goes through "."; see `_client`
        self._ids: Ids = np.empty(0, np.int64)  #: ascending; replaced, never changed
        self._dead = 0
        self._opened: _Opened | None = None
        with self._lock:
            self._open_or_recreate()

    @property
    def fingerprint(self) -> str:
        """What shapes the graph; a collection of another fingerprint isn't used."""
        shape = " ".join(f"{key}={value}" for key, value in sorted(self._hnsw.items()))
        return f"1 dimension={self.dimension} {shape}"

    # -- the protocol ----------------------------------------------------------------------------------------------

    def upsert(self, ids: Ids, vectors: Vectors, payloads: Sequence[Mapping[str, object]] | None = None) -> None:
        """Store rows, replacing those of equal ids; of equal ids within the batch the last. Payloads (plain values by
        name) are kept as Chroma's metadata for other programs; Librarian itself filters by id.
        """
        kept = dict(zip(np.asarray(ids).tolist(), payloads, strict=True)) if payloads is not None else None
        ids, vectors = checked_batch(ids, vectors, self.dimension)
        if not ids.size:
            return

        def write(opened: _Opened) -> None:
            largest = opened.client.get_max_batch_size()
            for start in range(0, ids.size, largest):
                span = slice(start, start + largest)
                metadatas = [_storable(kept[i]) for i in ids[span].tolist()] if kept is not None else None
                opened.collection.upsert(
                    ids=[str(i) for i in ids[span].tolist()], embeddings=vectors[span], metadatas=metadatas
                )

        with self._lock:
            self._do(write)
            self._ids = np.union1d(self._ids, ids)

    def delete(self, ids: Ids) -> None:
        """Forget rows; unknown ids are fine."""
        with self._lock:
            gone = np.intersect1d(np.asarray(ids, dtype=np.int64), self._ids)
            if not gone.size:
                return

            def write(opened: _Opened) -> None:
                largest = opened.client.get_max_batch_size()
                for start in range(0, gone.size, largest):
                    opened.collection.delete(ids=[str(i) for i in gone[start : start + largest].tolist()])
                opened.collection.modify(metadata=self._metadata(self._dead + gone.size))

            self._do(write)
            self._ids = np.setdiff1d(self._ids, gone, assume_unique=True)
            self._dead += int(gone.size)

    def search(self, vector: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        """Window ids and cosines, best first, ties by id, of windows whose chunk passes.

        Raises `Unavailable` on a search that finds the folder damaged or gone; later ones find the new, empty one.
        """
        question = checked_question(vector, self.dimension)
        ids = self._ids
        nothing = np.empty(0, np.int64), np.empty(0, np.float32)
        if limit < 1 or not ids.size:
            return nothing
        wanted = max(LEAST_ASKED, OVERSAMPLE * limit)
        if selection.mask is None:
            return best_first(*self._nearest(question, min(wanted, ids.size)), limit)
        allowed = ids[passes(selection, ids)]
        if not allowed.size:
            return nothing
        if allowed.size <= FEW:
            return best_first(*self._compared(question, allowed), limit)
        share = allowed.size / ids.size
        if share >= NARROW:
            found, cosines = self._nearest(question, min(int(wanted / share), ids.size))
            keep = passes(selection, found)
            if np.count_nonzero(keep) >= min(limit, allowed.size):
                return best_first(found[keep], cosines[keep], limit)
        return best_first(*self._nearest(question, min(wanted, allowed.size), among=allowed), limit)

    def count(self) -> int:
        return int(self._ids.size)

    def ids(self) -> Ids:
        """Every stored id, ascending."""
        return self._ids.copy()

    def clear(self) -> None:
        """Drop the collection and begin an empty one."""
        with self._lock:
            self._do(lambda opened: self._start_over(opened.client))

    def close(self) -> None:
        """Let go of the folder. Calling anything but `close` afterwards raises `Unavailable`."""
        with self._lock:
            opened, self._opened = self._opened, None
            if opened is not None:
                opened.client.close()

    # -- keeping it small ------------------------------------------------------------------------------------------

    @property
    def dead(self) -> int:
        """Deleted entries that still lie in the graph."""
        return self._dead

    @property
    def needs_rebuild(self) -> bool:
        """Whether so much of the graph is dead that copying the living pays."""
        return self._dead >= max(_DEAD_MATTER, REBUILD_SHARE * (self._dead + self._ids.size))

    def rebuild(self) -> None:
        """Copy the living rows into a new collection beside this one, then swap them. Searches go on meanwhile; writes
        wait. The old graph's files are removed.
        """
        with self._lock:
            self._do(self._rebuild)
            self._open_anew()

    def _rebuild(self, opened: _Opened) -> None:
        client, old = opened.client, opened.collection
        beside = f"{self.collection[:500]}-rebuild"
        if beside in (found.name for found in client.list_collections()):
            drop(self.path, client, client.get_collection(beside, embedding_function=None))
        new = self._create(client, beside)
        batch = min(_PAGE, client.get_max_batch_size())
        for start in range(0, self._ids.size, batch):
            names = [str(i) for i in self._ids[start : start + batch].tolist()]
            rows = old.get(ids=names, include=["embeddings", "metadatas"])
            metadatas = rows["metadatas"] if any(rows["metadatas"]) else None
            new.upsert(ids=rows["ids"], embeddings=rows["embeddings"], metadatas=metadatas)
        drop(self.path, client, old)
        new.modify(name=self.collection)
        self._dead = 0
        self._opened = _Opened(client, new)

    def _open_anew(self) -> None:
        """Let go of a client that remembers dropped collections, once another is there; else it stays."""
        old = self._opened
        assert old is not None
        self._spelling ^= 1
        try:
            self._opened = self._open()
        except Exception:
            self._spelling = (self._spelling ^ 1) + 2  # past the pair of the one that failed
            logger.warning("The Chroma folder %s can't be opened a second time.", self.path, exc_info=True)
        else:
            old.client.close()

    # -- Chroma ----------------------------------------------------------------------------------------------------

    def _nearest(self, question: Vector, count: int, among: Ids | None = None) -> tuple[Ids, Vector]:
        """What Chroma takes for the nearest, in no reliable order of ties."""
        names = None if among is None else [str(i) for i in among.tolist()]
        answer = self._do(
            lambda opened: opened.collection.query(
                query_embeddings=question[np.newaxis], n_results=count, ids=names, include=["distances"]
            )
        )
        distances = np.asarray(answer["distances"][0], dtype=np.float32)
        # squared length of a difference of unit vectors: 2 − 2·cosine
        cosines = 1 - distances / 2 if self._distance == "l2" else 1 - distances
        return np.asarray([int(i) for i in answer["ids"][0]], dtype=np.int64), np.asarray(cosines, np.float32)

    def _compared(self, question: Vector, among: Ids) -> tuple[Ids, Vector]:
        """These windows with their cosines, in no order; those that are gone meanwhile are left out."""
        names = [str(i) for i in among.tolist()]
        rows = self._do(lambda opened: opened.collection.get(ids=names, include=["embeddings"]))
        vectors = np.asarray(rows["embeddings"], dtype=np.float32).reshape(-1, self.dimension)
        return np.asarray([int(i) for i in rows["ids"]], dtype=np.int64), np.einsum("ij,j->i", vectors, question)

    def _do(self, work: Callable[[_Opened], T]) -> T:
        """Do something with the collection; where that fails twice, begin anew and raise `Unavailable`."""
        opened = self._opened
        if opened is None:
            raise Unavailable("The Chroma store is closed.", hint="Open the library again.")
        try:
            if not exists(self.path):
                raise FileNotFoundError(f"{self.path} was removed")
            return work(opened)
        except LibrarianError:
            raise
        except Exception as error:
            with self._lock:
                if self._opened is not opened and self._opened is not None:
                    # swapped or recreated by another thread since this one began
                    return work(self._opened)
                if isinstance(error, ValueError | TypeError):
                    raise
                if exists(self.path):
                    with suppress(Exception):  # a search that met a write: none is under way now
                        return work(opened)
                self._recreate(str(error))
            raise Unavailable(
                f"The Chroma folder {self.path} was unusable ({error}) and was begun anew.",
                hint="It is refilled from the kept vectors; until then keyword search answers.",
            ) from error

    def _open_or_recreate(self) -> None:
        try:
            self._claim()
            problem = damage(self.path)
            if problem:
                self._recreate(problem)
            else:
                self._opened = self._open()
        except (LibrarianError, PermissionError):
            raise
        except Exception as error:
            self._recreate(str(error))

    def _open(self) -> _Opened:
        client = self._client()
        try:
            if self.collection not in (found.name for found in client.list_collections()):
                return _Opened(client, self._create(client, self.collection))
            collection = client.get_collection(self.collection, embedding_function=None)
            metadata = collection.metadata or {}
            if metadata.get("fingerprint") != self.fingerprint:
                logger.warning(
                    "The Chroma collection %s was made as %r, not %r; it is built again.",
                    self.collection,
                    metadata.get("fingerprint"),
                    self.fingerprint,
                )
                self._start_over(client)
                assert self._opened is not None
                return self._opened
            if collection.configuration_json["hnsw"]["ef_search"] != self._search_ef:
                with warnings.catch_warnings():
                    # Chroma deprecates collections without an embedding function, and still means to keep them
                    warnings.simplefilter("ignore", DeprecationWarning)
                    collection.modify(configuration={"hnsw": {"ef_search": self._search_ef}})
            if collection.count():
                # reads the graph's files, so that damage shows now
                with marked(self.path):
                    collection.query(query_embeddings=np.ones((1, self.dimension), np.float32), n_results=1, include=[])
            self._ids = np.sort(np.asarray([int(i) for i in collection.get(include=[])["ids"]], dtype=np.int64))
            self._dead = int(metadata.get("dead", 0))
            return _Opened(client, collection)
        except BaseException:
            client.close()
            raise

    def _client(self) -> Any:
        import chromadb
        from chromadb.config import Settings

        self._claim()
        # Chroma shares one system per spelling of the path and keeps one whose start failed: each failure moves on to
        # another pair of spellings.
        spelling = str(self.path) + "/." * self._spelling
        return chromadb.PersistentClient(spelling, settings=Settings(anonymized_telemetry=False))

    def _claim(self) -> None:
        try:
            claim(self.path, FOLDER)
        except OSError as error:
            raise Unavailable(
                f"The Chroma folder {self.path} can't be made: {error}.",
                hint="Check vector_db.path and that its parent folder is writable.",
            ) from error

    def _create(self, client: Any, name: str) -> Any:
        return client.create_collection(
            name,
            embedding_function=None,
            metadata=self._metadata(0),
            configuration={"hnsw": {**self._hnsw, "ef_search": self._search_ef}},
        )

    def _metadata(self, dead: int) -> dict[str, str | int]:
        return {"fingerprint": self.fingerprint, "dimension": self.dimension, "dead": int(dead)}

    def _start_over(self, client: Any) -> None:
        """An empty collection in place of the one there is."""
        drop(self.path, client, client.get_collection(self.collection, embedding_function=None))
        self._ids, self._dead = np.empty(0, np.int64), 0
        self._opened = _Opened(client, self._create(client, self.collection))
        self.recreated = True

    def _recreate(self, why: str) -> None:
        """Set the folder's files aside and begin with none."""
        if is_full(why):
            raise Unavailable(
                f"The Chroma folder {self.path} can't be written: {why}.", hint="Make room there; it is kept as it is."
            )
        logger.warning("The Chroma folder %s is unusable (%s); it is begun anew and refilled.", self.path, why)
        opened, self._opened = self._opened, None
        self._spelling += 2
        self._ids, self._dead = np.empty(0, np.int64), 0
        self.recreated = True
        if opened is not None:
            opened.client.close()
        try:
            set_aside(self.path)
            self._opened = self._open()
        except LibrarianError:
            raise
        except Exception as error:
            raise Unavailable(
                f"The Chroma folder {self.path} is unusable and can't be replaced: {too_long(self.path) or error}.",
                hint="Remove it, or choose another with vector_db.path.",
            ) from error


def _storable(payload: Mapping[str, object]) -> dict[str, Any] | None:
    """What Chroma takes as metadata: no empty lists, no nulls, and None rather than nothing at all."""
    return {name: value for name, value in payload.items() if value is not None and value != []} or None
