"""The JSON files of a library that hold servers or agents, read again only where they have changed."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from librarian.vocabulary.paths import Paths
from librarian.vocabulary.protocols import Catalog, CatalogReader

from .registry_entities import Entity, entities_of, merged

logger = logging.getLogger(__name__)

MOST_BYTES = 64 * 1024 * 1024  #: a dump of the whole public registry has some 20 MB
MOST_BYTES_UNNAMED = 4 * 1024 * 1024  #: a JSON file whose name promises nothing is looked into up to this size
_NAMES = frozenset({"server.json", "agent-card.json", "agent.json", "agent_card.json", "servers.json", "registry.json"})
_LEFT_OUT = frozenset({"extension", "too_large", "in_root"})  #: why the index may pass over such a file


@dataclass(frozen=True, slots=True)
class _Seen:
    size: int
    mtime_ns: int
    entities: tuple[Entity, ...]


class RegistryFiles:
    """Knows the files from the catalog, which lists what it read and what it passed over."""

    def __init__(self, catalog: Catalog, root: Path) -> None:
        self._catalog = catalog
        self._paths = Paths(root)
        self._lock = threading.Lock()
        self._seen: dict[str, _Seen] = {}
        self._entities: tuple[Entity, ...] = ()

    def entities(self) -> tuple[Entity, ...]:
        """Every entity of the library as its files are now, duplicates merged; the tuple stays the same while they do.

        A file that can't be read or isn't JSON holds none; a warning names it where its name promised some.
        """
        with self._catalog.read() as reader:
            names = set(_candidates(reader))
        with self._lock:
            changed = False
            for name in self._seen.keys() - names:
                changed |= bool(self._seen.pop(name).entities)
            for name in names:
                changed |= self._look(name)
            if changed:
                self._entities = merged(entity for name in sorted(self._seen) for entity in self._seen[name].entities)
            return self._entities

    def _look(self, name: str) -> bool:
        """Whether the file's entities are others than before."""
        before = self._seen.get(name)
        path, status = self._paths.stat(name)
        if status is None:
            return bool(self._seen.pop(name, _Seen(0, 0, ())).entities)
        if before is not None and (before.size, before.mtime_ns) == (status.st_size, status.st_mtime_ns):
            return False
        found = (
            _read(Path(path), name) if status.st_size <= (MOST_BYTES if _promises(name) else MOST_BYTES_UNNAMED) else ()
        )
        self._seen[name] = _Seen(status.st_size, status.st_mtime_ns, found)
        return bool(found) or (before is not None and bool(before.entities))


def _candidates(reader: CatalogReader) -> Iterator[str]:
    for failure in reader.failures():
        if failure.reason in _LEFT_OUT and failure.file_path.lower().endswith(".json"):
            yield failure.file_path
    for stored in reader.iter_documents():
        if stored.document.file_path.lower().endswith(".json"):
            yield from (stored.document.file_path, *stored.also_in)


def _promises(name: str) -> bool:
    base = name.rsplit("/", 1)[-1].lower()
    return base in _NAMES or base.endswith((".registry.json", ".server.json", ".agent-card.json"))


def _parsed(data: bytes) -> object:
    """JSON that can be answered as JSON again: NaN and infinities are null, halves of a surrogate pair U+FFFD."""
    found = json.loads(data, parse_constant=lambda _: None)
    return _whole(found) if b"\\ud" in data or b"\\uD" in data else found


def _whole(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value


def _read(path: Path, name: str) -> tuple[Entity, ...]:
    try:
        found = entities_of(_parsed(path.read_bytes()), name)
    except (OSError, ValueError, RecursionError) as error:
        if _promises(name):
            logger.warning("The registry file %s can't be read: %s", name, error)
        return ()
    if not found and _promises(name):
        logger.warning("The registry file %s holds neither a server nor an agent.", name)
    return found
