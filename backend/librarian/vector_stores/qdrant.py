"""A vector store in Qdrant: a server at an address, or Qdrant's local mode (for small libraries and tests).

Cosine distance; payload indexes on what filters name; approximate (HNSW) on a server, exact in local mode. With
quantization the server keeps small copies of the vectors in memory and rescores what they find.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Any, Final, Literal

import numpy as np

from ..errors import Unavailable, missing_extra
from ..files.owned_folder import Kind, claim
from ..models import WINDOWS_PER_CHUNK, Ids, Selection, Vector, Vectors
from .base import FILTERED, best_first, checked_batch, checked_question, passes

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


class QdrantStore:
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
        M: int = 16,  # noqa: N803 - Qdrant's and the setting's name
        construction_ef: int = 200,
        search_ef: int = 100,
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
        self._m, self._construction_ef, self._search_ef = M, construction_ef, search_ef
        self._quantization = quantization
        local = isinstance(place, Path) or place == IN_MEMORY
        # local mode is plain Python over shared arrays; a server needs no lock
        self._lock: contextlib.AbstractContextManager[Any] = RLock() if local else contextlib.nullcontext()
        self._local = local
        self._place = place
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on http with a key, and on versions that differ a little: both are meant
            if isinstance(place, Path):
                try:
                    claim(place, FOLDER)
                except OSError as error:
                    raise Unavailable(f"The Qdrant folder {place} can't be made: {error}.") from error
                self._client: Any = qdrant_client.QdrantClient(path=str(place))
            elif local:
                self._client = qdrant_client.QdrantClient(place)
            else:
                self._client = qdrant_client.QdrantClient(
                    url=place, api_key=api_key, timeout=_TIMEOUT_S, check_compatibility=False
                )
        try:
            with self._asked():
                self._ensure()
        except BaseException:
            self.close()
            raise

    # -- the protocol ----------------------------------------------------------------------------------------------

    def upsert(self, ids: Ids, vectors: Vectors, payloads: Sequence[Mapping[str, object]] | None = None) -> None:
        """Store rows with their payloads, replacing those of equal ids; of equal ids within the batch the last."""
        of = dict(zip(np.asarray(ids).tolist(), payloads or ({} for _ in ids), strict=True))
        ids, vectors = checked_batch(ids, vectors, self.dimension)
        if not ids.size:
            return
        filtered = [
            {"chunk": number // WINDOWS_PER_CHUNK} | {name: of[number][name] for name in FILTERED if name in of[number]}
            for number in ids.tolist()
        ]
        with self._asked():
            self._client.upload_collection(
                self.collection, vectors=vectors, payload=filtered, ids=ids.tolist(), batch_size=_BATCH, wait=True
            )

    def delete(self, ids: Ids) -> None:
        doomed = np.unique(np.asarray(ids, dtype=np.int64)).tolist()
        with self._asked():
            self._client.delete(self.collection, self._models.PointIdsList(points=doomed), wait=True)

    def search(self, vector: Vector, limit: int, selection: Selection) -> tuple[Ids, Vector]:
        """Window ids and cosines, best first, ties by id, of windows whose chunk passes.

        A selection that values alone make is sent as values, which the server has indexes for; any other by chunk.
        """
        question = checked_question(vector, self.dimension)
        if limit < 1 or (selection.mask is not None and not selection.mask.any()):
            return np.empty(0, np.int64), np.empty(0, np.float32)
        params = None if self._local else self._models.SearchParams(hnsw_ef=max(self._search_ef, limit))
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
        cosines = np.round(np.array([point.score for point in points], dtype=np.float32), _TIE)
        keep = passes(selection, ids)
        return best_first(ids[keep], np.asarray(cosines[keep], dtype=np.float32), limit)

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

    # -- the collection --------------------------------------------------------------------------------------------

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
            "scalar": models.ScalarQuantization(
                scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
            ),
            "binary": models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=True)),
        }[self._quantization]
        self._client.create_collection(
            self.collection,
            vectors_config=models.VectorParams(
                size=self.dimension, distance=models.Distance.COSINE, on_disk=self._quantization != "none"
            ),
            hnsw_config=models.HnswConfigDiff(m=self._m, ef_construct=self._construction_ef),
            quantization_config=quantization,
        )
        if self._local:  # has no indexes, and says so in warnings
            return
        for name in FILTERED[:-1]:
            self._client.create_payload_index(self.collection, name, models.PayloadSchemaType.KEYWORD, wait=True)
        for name in ("chunk", "modified"):
            self._client.create_payload_index(self.collection, name, models.PayloadSchemaType.INTEGER, wait=True)

    def _filter(self, selection: Selection) -> Any:
        models, mask = self._models, selection.mask
        if mask is None:
            return None
        if selection.complete and selection.allowed:
            must = [
                models.FieldCondition(key=name, match=models.MatchAny(any=list(values)))
                for name, values in selection.allowed.items()
            ]
            if selection.modified is not None:
                low, high = selection.modified
                must.append(models.FieldCondition(key="modified", range=models.Range(gte=low, lte=high)))
            return models.Filter(must=must)
        inside, outside = np.flatnonzero(mask), np.flatnonzero(~mask)
        if inside.size <= outside.size:
            return models.Filter(must=[_among(models, inside)])
        within = models.FieldCondition(key="chunk", range=models.Range(lt=int(mask.size)))
        return models.Filter(must=[within], must_not=[_among(models, outside)] if outside.size else None)

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


def _among(models: Any, chunks: Ids) -> Any:
    return models.FieldCondition(key="chunk", match=models.MatchAny(any=chunks.tolist()))
