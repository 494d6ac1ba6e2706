"""A vector store in Qdrant: a server at an address, or Qdrant's local mode (for small libraries and tests).

Cosine distance; payload indexes on what filters name; approximate (HNSW) on a server, exact in local mode. With
quantization the server keeps small copies of the vectors in memory and rescores what they find.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import RLock
from typing import Any, Final, Literal

import numpy as np

from ..errors import Unavailable, missing_extra
from ..files.owned_folder import Kind
from ..models import WINDOWS_PER_CHUNK, Ids, Selection, Vector, Vectors
from .base import FILTERED, Hnsw, Payload, VectorStore, claim

logger = logging.getLogger(__name__)

Quantization = Literal["none", "scalar", "binary"]

IN_MEMORY: Final = ":memory:"
_BATCH: Final = 500  # rows per request: 0.8 MB at 384 dimensions
_PAGE: Final = 10_000
_SPARE: Final = 1.25  # rows asked beyond the limit, since a payload may lag behind the catalog
_TIE: Final = 6  # decimals in which cosines must differ: servers sum in any order
_TIMEOUT_S: Final = 60


#: The folder of Qdrant's local mode.
FOLDER: Final = Kind(
    "Qdrant",
    "librarian.vector_stores.qdrant",
    "Move it away, or choose another index folder with --index or `index.path` (INDEX_PATH).",
)


class QdrantStore(VectorStore):
    """A `VectorStore` in a collection that is made where there is none.

    Args:
        place: a server's address; a folder, or `IN_MEMORY`, for Qdrant's local mode (17 ms a row in a folder).
        collection: its name; one per model.
        quantization: of the server's copies in memory; `scalar` takes a quarter of them, `binary` a thirty-second.

    Raises `Unavailable` where the server doesn't answer or the folder can't be made, `SetupError` where qdrant-client
    isn't installed or the folder is somebody else's.
    """

    name = "qdrant"

    def __init__(
        self,
        place: str | Path,
        collection: str,
        dimension: int,
        *,
        hnsw: Hnsw = Hnsw(),
        quantization: Quantization = "none",
        api_key: str | None = None,
    ) -> None:
        try:
            import qdrant_client
        except ImportError as error:
            raise missing_extra("qdrant", error) from error
        self.collection = collection
        self.dimension = dimension
        self._models: Any = qdrant_client.models
        self._hnsw, self._quantization = hnsw, quantization
        local = isinstance(place, Path) or place == IN_MEMORY
        # local mode is plain Python over shared arrays; a server needs no lock
        self._lock: contextlib.AbstractContextManager[Any] = RLock() if local else contextlib.nullcontext()
        self._local = local
        self._place = place
        where: dict[str, Any] = {"url": place, "api_key": api_key, "timeout": _TIMEOUT_S, "check_compatibility": False}
        if isinstance(place, Path):
            where = {"path": str(place)}
            claim(place, FOLDER)
        elif local:
            where = {"location": place}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on http with a key, and on versions that differ a little: both are meant
            self._client: Any = qdrant_client.QdrantClient(**where)
        try:
            with self._asked():
                self._ensure()
        except BaseException:
            self.close()
            raise

    def _put(self, ids: Ids, vectors: Vectors, payloads: Sequence[Payload]) -> None:
        filtered = [
            {"chunk": number // WINDOWS_PER_CHUNK} | {name: given[name] for name in FILTERED if name in given}
            for number, given in zip(ids.tolist(), payloads, strict=True)
        ]
        with self._asked():
            self._client.upload_collection(
                self.collection, vectors=vectors, payload=filtered, ids=ids.tolist(), batch_size=_BATCH, wait=True
            )

    def _drop(self, ids: Ids) -> None:
        with self._asked():
            self._client.delete(self.collection, self._models.PointIdsList(points=ids.tolist()), wait=True)

    def _near(self, question: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        """A selection that values alone make is sent as values, which have indexes; any other by chunk."""
        params = None if self._local else self._models.SearchParams(hnsw_ef=max(self._hnsw.search_ef, limit))
        with self._asked():
            points = self._client.query_points(
                self.collection,
                query=question.tolist(),
                limit=int(limit * _SPARE) + 1,
                query_filter=self._filter(selection),
                search_params=params,
                with_payload=False,
            ).points
        ids = np.array([point.id for point in points], dtype=np.int64)
        return ids, np.array([round(point.score, _TIE) for point in points], dtype=np.float32)

    def count(self) -> int:
        with self._asked():
            return int(self._client.count(self.collection, exact=True).count)

    def ids(self) -> Ids:
        found: list[int] = []
        offset = None
        while True:
            with self._asked():
                points, offset = self._client.scroll(
                    self.collection, limit=_PAGE, offset=offset, with_payload=False, with_vectors=False
                )
            found += [point.id for point in points]
            if offset is None:
                return np.sort(np.array(found, dtype=np.int64))

    def clear(self) -> None:
        """Drop the collection and begin an empty one."""
        with self._asked():
            self._client.delete_collection(self.collection)
            self._ensure()

    def close(self) -> None:
        """Let go of the folder or the connection."""
        with self._lock:
            self._client.close()

    def _ensure(self) -> None:
        """Make the collection, or make it anew where its vectors have another length."""
        models = self._models
        if self._client.collection_exists(self.collection):
            params = self._client.get_collection(self.collection).config.params.vectors
            if getattr(params, "size", None) == self.dimension:
                return
            logger.warning("The Qdrant collection %s was made for another model; it is begun anew.", self.collection)
            self._client.delete_collection(self.collection)
        quantization = {
            "none": None,
            "scalar": models.ScalarQuantization(scalar={"type": "int8", "always_ram": True}),
            "binary": models.BinaryQuantization(binary={"always_ram": True}),
        }[self._quantization]
        self._client.create_collection(
            self.collection,
            vectors_config=models.VectorParams(
                size=self.dimension, distance=models.Distance.COSINE, on_disk=self._quantization != "none"
            ),
            hnsw_config=models.HnswConfigDiff(m=self._hnsw.M, ef_construct=self._hnsw.construction_ef),
            quantization_config=quantization,
        )
        if self._local:  # has no indexes, and says so in warnings
            return
        for name in (*FILTERED, "chunk"):
            kind = "integer" if name in ("chunk", "modified") else "keyword"
            self._client.create_payload_index(self.collection, name, kind, wait=True)

    def _filter(self, selection: Selection) -> Any:
        models = self._models
        if selection.mask is None:
            return None
        allowed: dict[str, list[Any]] = {"chunk": np.flatnonzero(selection.mask).tolist()}
        ranges = []
        if selection.complete and selection.allowed:
            allowed = {name: list(values) for name, values in selection.allowed.items()}
            if selection.modified is not None:
                low, high = selection.modified
                ranges.append(models.FieldCondition(key="modified", range=models.Range(gte=low, lte=high)))
        any_of = [models.FieldCondition(key=key, match=models.MatchAny(any=each)) for key, each in allowed.items()]
        return models.Filter(must=any_of + ranges)

    @contextlib.contextmanager
    def _asked(self) -> Iterator[None]:
        """Calls to Qdrant; its errors become ours."""
        from qdrant_client.common.client_exceptions import QdrantException
        from qdrant_client.http.exceptions import ApiException

        try:
            with self._lock:
                yield
        except (ApiException, QdrantException, OSError, RuntimeError) as error:
            where = f"folder {self._place}" if self._local else "server"
            raise Unavailable(
                f"The Qdrant {where} doesn't answer as it should: {str(error).strip() or type(error).__name__}.",
                hint="Check that it runs and that storage.qdrant_url (QDRANT_URL) names it; keyword search goes on.",
            ) from error
