"""Who wants to know about changed documents, and how these were when they were last looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


class Session(Protocol):
    """The way back to a client that opened its connection with a handshake."""

    async def send_resource_list_changed(self) -> None: ...

    async def send_resource_updated(self, uri: str) -> None: ...


@dataclass(eq=False)
class Connection:
    """A connection that lasts: `session` is there once a client with handshake is ready for notices."""

    session: Session | None = None
    uris: set[str] = field(default_factory=set)


class Watched:
    """Resources that someone subscribed to, each with its last fingerprint; counted, for several may watch one."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}
        self._watchers: dict[str, int] = {}

    def add(self, uri: str, fingerprint: str) -> None:
        """One more watcher."""
        self._seen.setdefault(uri, fingerprint)
        self._watchers[uri] = self._watchers.get(uri, 0) + 1

    def remove(self, uri: str) -> None:
        """One watcher fewer; the last one's leaving forgets the resource."""
        left = self._watchers.pop(uri, 0) - 1
        if left > 0:
            self._watchers[uri] = left
        else:
            self._seen.pop(uri, None)

    def uris(self) -> list[str]:
        """What is watched."""
        return list(self._seen)

    def update(self, uri: str, fingerprint: str) -> bool:
        """Remember how a resource is now; true where that is new."""
        changed = uri in self._seen and self._seen[uri] != fingerprint
        if changed:
            self._seen[uri] = fingerprint
        return changed
