"""Vectors of windows in a ChromaDB collection on disk.

* More is asked for than is wanted, which widens the graph search.
* A filter never goes through `where`, which is slow. Where few windows pass, their vectors are fetched and compared;
  where many do, more are asked for; between, Chroma is given the ids that pass.
* Deleted entries stay in the graph. They are counted; from 30% on the living are put into a new collection.
* An entry's id is its passage's, as searches give it, with `~` and the number of the window behind it; its document is
  the passage's text, its metadata where that stands: any Chroma client can read the collection.
* A folder that can't be read is set aside and begun anew: the embedding cache refills it. One that merely can't be
  written, for a full disk, stays and answers.

One process at a time may have the folder open. Telemetry is off and no embedding function is ever loaded.
"""

from __future__ import annotations

import errno
import logging
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Final, Literal

import numpy as np

from ..errors import LibrarianError, Unavailable
from ..files import owned_folder
from ..files.paths import too_long
from ..models import Ids, Selection, Vector, Vectors
from .base import Hnsw, Payload, VectorStore, claim, passes

logger = logging.getLogger(__name__)

Distance = Literal["cosine", "l2", "ip"]

REBUILD_SHARE: Final = 0.3  #: dead entries of all; 10,000 one-file updates grew a folder 9.2× without it
OVERSAMPLE: Final = 4  #: candidates asked for per result wanted
LEAST_ASKED: Final = 800  #: candidates asked for at least: graph search is as wide as what it is asked for
FEW: Final = 2000  #: windows that are fetched and compared rather than searched among
NARROW: Final = 0.2  #: share of windows below which their ids are given instead of asking for more
_DEAD_MATTER: Final = 200  #: fewer dead entries than this aren't worth a rebuild
_DATABASE: Final = "chroma.sqlite3"
#: Lies in the folder while it is loaded: left behind where the process dies of it.
_OPENING: Final = "librarian.opening"
_GRAPH: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  #: the folder of a collection's graph

#: The folder of a Chroma database.
FOLDER: Final = owned_folder.Kind(
    "Chroma",
    "librarian.vector_stores.chroma",
    "Choose another folder, or an empty one, with vector_db.path; vectors are copied there without embedding.",
)


class ChromaStore(VectorStore):
    """A `VectorStore` on disk below `path`. Any thread may call; calls wait for each other.

    `distance` is Chroma's space (cosine, l2 or ip); whichever it is, cosines are returned. A collection that was made
    with another distance or other `hnsw` is dropped and begun anew. Raises `Unavailable` where the folder can't be
    used.
    """

    name = "chroma"

    def __init__(
        self,
        path: Path,
        collection: str,
        dimension: int,
        *,
        model: str = "",
        distance: Distance = "cosine",
        hnsw: Hnsw = Hnsw(),
    ) -> None:
        self.path = path
        self.dimension = dimension
        self.recreated = False  #: True once a collection was replaced by an empty one that has to be refilled
        self._base, self._model = collection, model
        self._hnsw = {
            "space": distance,
            "max_neighbors": hnsw.M,
            "ef_construction": hnsw.construction_ef,
            "ef_search": hnsw.search_ef,
        }
        self._lock = RLock()
        self._client: Any = None
        self._collection: Any = None
        self._keep({})
        try:
            self._open()
        except (LibrarianError, PermissionError):
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            self._recreate(error)

    def _keep(self, names: dict[int, str], dead: int = 0) -> None:
        """Remember Chroma's id of each window, and how many deleted entries still lie in the graph."""
        self._names, self.dead = names, dead
        self._ids: Ids = np.sort(np.fromiter(names, dtype=np.int64, count=len(names)))

    # -- the protocol ----------------------------------------------------------------------------------------------

    def _put(self, ids: Ids, vectors: Vectors, payloads: Sequence[Payload]) -> None:
        """Payloads (plain values by name) are kept as Chroma's documents and metadata for other programs; Librarian
        itself filters by id."""
        named = {number: _name(number, one) for number, one in zip(ids.tolist(), payloads, strict=True)}
        documents = [str(one.get("text", "")) for one in payloads]
        with self._using():
            moved = [number for number, name in named.items() if self._names.get(number, name) != name]
            if moved:
                self._drop(np.array(moved))
            self._upsert(list(named.values()), vectors, [_storable(one) for one in payloads], documents)
            self._keep(self._names | named, self.dead)

    def _drop(self, ids: Ids) -> None:
        with self._using():
            names = [self._names[number] for number in np.intersect1d(ids, self._ids).tolist()]
            if not names:
                return
            for span in self._spans(len(names)):
                self._collection.delete(ids=names[span])
            dead = self.dead + len(names)
            self._collection.modify(metadata=self._metadata(dead))
            doomed = set(ids.tolist())
            self._keep({number: name for number, name in self._names.items() if number not in doomed}, dead)
            if dead >= max(_DEAD_MATTER, REBUILD_SHARE * (dead + self._ids.size)):
                self.rebuild()

    def _near(self, question: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        """Raises `Unavailable` where it finds the folder damaged or gone; later searches find the new, empty one."""
        with self._using():
            allowed = self._ids if selection.mask is None else self._ids[passes(selection, self._ids)]
            wanted, share = max(LEAST_ASKED, OVERSAMPLE * limit), allowed.size / max(self._ids.size, 1)
            if allowed.size <= FEW:
                return self._compared(question, allowed) if allowed.size else (allowed, np.empty(0, np.float32))
            if share >= NARROW:
                found, cosines = self._queried(question, min(int(wanted / share), self._ids.size))
                if np.count_nonzero(passes(selection, found)) >= min(limit, allowed.size):
                    return found, cosines
            return self._queried(question, min(wanted, allowed.size), among=allowed)

    def count(self) -> int:
        return int(self._ids.size)

    def ids(self) -> Ids:
        return self._ids.copy()

    def clear(self) -> None:
        """Drop the collection and begin an empty one."""
        with self._using():
            self._start_over()

    def close(self) -> None:
        """Let go of the folder. Calling anything but `close` afterwards raises `Unavailable`."""
        with self._lock:
            client, self._client = self._client, None
            if client is not None:
                client.close()

    def rebuild(self) -> None:
        """Put the living rows into a new collection. What a kill in the middle loses is refilled from the cache."""
        with self._using():
            held, names = self._names, list(self._names.values())
            include = ["embeddings", "metadatas", "documents"]
            pages = [self._collection.get(ids=names[span], include=include) for span in self._spans(len(names))]
            self._start_over()
            for page in pages:
                self._upsert(page["ids"], page["embeddings"], page["metadatas"], page["documents"])
            self._keep(held)

    # -- Chroma ----------------------------------------------------------------------------------------------------

    def _upsert(
        self, names: Sequence[str], vectors: Vectors, metadatas: Sequence[Any], documents: Sequence[str]
    ) -> None:
        for span in self._spans(len(names)):
            self._collection.upsert(
                ids=names[span],
                embeddings=vectors[span],
                metadatas=metadatas[span] if any(metadatas[span]) else None,
                documents=documents[span],
            )

    def _spans(self, count: int) -> list[slice]:
        largest = self._client.get_max_batch_size()
        return [slice(start, start + largest) for start in range(0, count, largest)]

    def _queried(self, question: Vector, count: int, among: Ids | None = None) -> tuple[Ids, Vector]:
        """What Chroma takes for the nearest, in no reliable order of ties."""
        names = None if among is None else [self._names[number] for number in among.tolist()]
        answer = self._collection.query(
            query_embeddings=question[np.newaxis], n_results=count, ids=names, include=["distances"]
        )
        distances = np.asarray(answer["distances"][0], dtype=np.float32)
        # squared length of a difference of unit vectors: 2 − 2·cosine
        cosines = 1 - distances / 2 if self._hnsw["space"] == "l2" else 1 - distances
        return _numbers(answer["ids"][0]), np.asarray(cosines, np.float32)

    def _compared(self, question: Vector, among: Ids) -> tuple[Ids, Vector]:
        """These windows with their cosines, in no order."""
        names = [self._names[number] for number in among.tolist()]
        rows = self._collection.get(ids=names, include=["embeddings"])
        vectors = np.asarray(rows["embeddings"], dtype=np.float32).reshape(-1, self.dimension)
        return _numbers(rows["ids"]), np.einsum("ij,j->i", vectors, question)

    @contextmanager
    def _using(self) -> Iterator[None]:
        """What is done with the collection; where that fails, it is begun anew and `Unavailable` raised."""
        with self._lock:
            if self._client is None:
                raise Unavailable("The Chroma store is closed.", hint="Open the library again.")
            try:
                if not (self.path / _DATABASE).exists():
                    raise FileNotFoundError(f"{self.path} was removed")
                yield
            except (LibrarianError, ValueError, TypeError):
                raise
            except Exception as error:
                self._recreate(error)
                raise Unavailable(
                    f"The Chroma folder {self.path} was unusable ({error}) and was begun anew.",
                    hint="It is refilled from the kept vectors; until then keyword search answers.",
                ) from error

    # -- opening ---------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        import chromadb

        claim(self.path, FOLDER)
        mark = self.path / _OPENING
        if mark.exists():
            raise RuntimeError("the process before died while loading it")
        mark.touch()
        try:
            self._client = chromadb.PersistentClient(
                str(self.path), settings=chromadb.Settings(anonymized_telemetry=False)
            )
            self._collection = self._found()
            if self._collection.count():  # reads the graph's files, so that damage shows now
                nearest = np.ones((1, self.dimension), np.float32)
                self._collection.query(query_embeddings=nearest, n_results=1, include=[])
            names = self._collection.get(include=[])["ids"]
            dead = int((self._collection.metadata or {}).get("dead", 0))
            self._keep(dict(zip(_numbers(names).tolist(), names, strict=True)), dead)
        except BaseException:
            self.close()
            raise
        finally:
            mark.unlink(missing_ok=True)

    def _found(self) -> Any:
        """The model's collection; an empty one where there is none, or one that was made otherwise.

        It has the name that is set, unless another collection has it, as one of the model before that still answers.
        """
        noted = {found.name: found.metadata or {} for found in self._client.list_collections()}
        mine = {"base": self._base, "model": self._model}
        own = next((name for name, facts in noted.items() if mine.items() <= facts.items()), None)
        taken = self._base in noted and own != self._base
        if own and taken and "model" in noted[self._base] and not self._of(self._base).count():  # it answers no more
            self._of(self._base).modify(name=f"{self._base}-{noted[self._base]['model']}")
            taken = False
        name = f"{self._base}-{self._model}" if taken else self._base
        if own is None:
            return self._made(name)
        collection = self._of(own)
        collection.modify(name=name)
        made_as = collection.metadata.get("fingerprint")
        if made_as != self._metadata(0)["fingerprint"]:
            logger.warning("The Chroma collection %s was made as %r; it is built again.", name, made_as)
            self._collection = collection
            self._start_over()
            return self._collection
        return collection

    def _of(self, name: str) -> Any:
        return self._client.get_collection(name, embedding_function=None)

    def _made(self, name: str) -> Any:
        return self._client.create_collection(
            name, embedding_function=None, metadata=self._metadata(0), configuration={"hnsw": self._hnsw}
        )

    def _metadata(self, dead: int) -> dict[str, str | int]:
        shape = " ".join(f"{key}={value}" for key, value in sorted(self._hnsw.items()))
        return {
            "fingerprint": f"2 dimension={self.dimension} {shape}",
            "dimension": self.dimension,
            "dead": int(dead),
            "base": self._base,
            "model": self._model,
        }

    def _start_over(self) -> None:
        """An empty collection in place of the one there is."""
        name = str(self._collection.name)
        # quoted: of a bare path `#` and `?` end the name, and SQLite would make a file of what is before them
        with closing(sqlite3.connect(f"{(self.path / _DATABASE).absolute().as_uri()}?mode=ro", uri=True)) as db:
            segments = "SELECT id FROM segments WHERE collection = ?"
            graphs = db.execute(segments, [str(self._collection.id)]).fetchall()
        self._client.delete_collection(name)
        for (graph,) in graphs:  # which Chroma leaves behind
            shutil.rmtree(self.path / graph, ignore_errors=True)
        self._keep({})
        self.recreated = True
        self._collection = self._made(name)

    def _is_disk_full(self) -> bool:
        """Whether the database could not be written once more; errors of Chroma's compaction don't say so."""
        try:
            with tempfile.TemporaryFile(dir=self.path) as probe, (self.path / _DATABASE).open("rb") as database:
                shutil.copyfileobj(database, probe)
                probe.write(bytes(1_000_000))
        except OSError as error:
            return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        return False

    def _recreate(self, why: BaseException) -> None:
        """Set the folder's files aside and begin with none."""
        from chromadb.api.shared_system_client import SharedSystemClient

        if self._is_disk_full():
            raise Unavailable(
                f"The Chroma folder {self.path} can't be written: no space is left ({why}).",
                hint="Make room there; it is kept as it is.",
            ) from why
        logger.warning("The Chroma folder %s is unusable (%s); it is begun anew and refilled.", self.path, why)
        self.close()
        SharedSystemClient.clear_system_cache()  # which keeps one whose start failed
        self._keep({})
        self.recreated = True
        try:
            if self.path.exists():
                graphs = [each for each in self.path.iterdir() if _GRAPH.fullmatch(each.name)]
                logs = [self.path / f"{_DATABASE}-{log}" for log in ("wal", "shm", "journal")]
                files = [*graphs, *logs, self.path / _OPENING, self.path / _DATABASE]
                owned_folder.quarantine(*files, name=_DATABASE)
            self._open()
        except LibrarianError:
            raise
        except Exception as error:
            raise Unavailable(
                f"The Chroma folder {self.path} is unusable and can't be replaced: "
                f"{too_long(self.path / _DATABASE) or error}.",
                hint="Remove it, or choose another with vector_db.path.",
            ) from error


def _name(number: int, payload: Payload) -> str:
    return f"{payload['passage']}~{number}" if "passage" in payload else str(number)


def _numbers(names: Sequence[str]) -> Ids:
    return np.asarray([int(name.rpartition("~")[2]) for name in names], dtype=np.int64)


def _storable(payload: Payload) -> dict[str, Any] | None:
    """What Chroma takes as metadata: no empty lists, no nulls, and None rather than nothing at all. The text is its
    document."""
    return {key: value for key, value in payload.items() if key != "text" and value is not None and value != []} or None
