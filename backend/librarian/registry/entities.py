"""What a registry file says, in any of the shapes that servers and agents are published in.

Understood are MCP `server.json` files, dumps of an MCP registry's API (`{"servers": [{"server": …, "_meta": …}]}`), A2A
agent cards, and entries `{path, name, description, tags, is_enabled, tools: [{name, description, inputSchema}]}`; each
alone, in a list, or in an object under `servers` or `agents`.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from ..files.paths import Paths
from ..schemas import SkillItem
from ..storage.base import Catalog, CatalogReader

logger = logging.getLogger(__name__)

EntityType = Literal["mcp_server", "a2a_agent"]

MOST_BYTES = 64 * 1024 * 1024  #: a dump of the whole public registry has some 20 MB
MOST_BYTES_UNNAMED = 4 * 1024 * 1024  #: a JSON file whose name promises nothing is read up to this size
_NAMES = frozenset({"server.json", "agent-card.json", "agent.json", "agent_card.json", "servers.json", "registry.json"})
_LEFT_OUT = frozenset({"extension", "too_large", "in_root"})  #: why the index may pass over such a file
_OFFICIAL = "io.modelcontextprotocol.registry/official"
_SCHEMAS = ("inputSchema", "input_schema", "schema")
_DEEPEST = 3  #: lists and objects around an entry
_NUMBERS = re.compile(r"\d+")
_FILLED = ("description", "tags", "tools", "capabilities", "skills")  #: what older versions may add


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool of a server."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entity:
    """A server or an agent. `path` names it: one entity per type and path."""

    kind: EntityType
    path: str
    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    enabled: bool = True
    tools: tuple[ToolCard, ...] = ()
    capabilities: tuple[str, ...] = ()
    skills: tuple[SkillItem, ...] = ()
    version: str = ""
    latest: bool = False  #: the registry itself says that this version is the latest
    file_path: str = ""

    @property
    def text(self) -> str:
        """What is embedded: names, descriptions, tags, tools or skills; no schemas, paths, ids or examples."""
        parts = [self.name, self.description]
        if self.tags:
            parts.append(f"Tags: {', '.join(self.tags)}")
        if self.capabilities:
            parts.append(f"Capabilities: {', '.join(self.capabilities)}")
        parts += [text for tool in self.tools for text in (tool.name, tool.description)]
        parts += [text for skill in self.skills for text in (skill.name, skill.description)]
        return "\n".join(part for part in parts if part)


def entities_of(data: object, file_path: str = "") -> tuple[Entity, ...]:
    """Every server and agent in parsed JSON; empty where it is something else."""
    return tuple(replace(entity, file_path=file_path) for entity in _found(data, 0))


def _found(data: object, depth: int) -> Iterator[Entity]:
    if isinstance(data, list):
        for item in data if depth < _DEEPEST else ():
            yield from _found(item, depth + 1)
    elif isinstance(data, dict):
        lists = [data[key] for key in ("servers", "agents") if isinstance(data.get(key), list | dict)]
        if lists and depth < _DEEPEST and not isinstance(data.get("name"), str):
            for value in lists:
                if isinstance(value, dict):  # from path to entry
                    value = [{"path": key, **entry} for key, entry in value.items() if isinstance(entry, dict)]
                yield from _found(value, depth + 1)
        else:
            server = data.get("server")
            entity = _server(server, data) if isinstance(server, dict) else _agent(data) or _server(data, data)
            if entity is not None:
                yield entity


def _server(data: Mapping[str, Any], around: Mapping[str, Any]) -> Entity | None:
    """A server.json, or an entry with a path or with tools. `around` may hold what its registry says of it."""
    name = _text(data.get("server_name")) or _text(data.get("name"))
    if not name:
        return None
    official = _mapping(_mapping(around.get("_meta")).get(_OFFICIAL))
    published = "$schema" in data and "server" in str(data["$schema"])
    published |= any(isinstance(data.get(key), list) for key in ("packages", "remotes")) and "/" in name
    published |= bool(official) and "version" in data
    path = _text(data.get("path"))
    if not (published or path.startswith("/") or (isinstance(data.get("tools"), list) and "description" in data)):
        return None
    status = _text(official.get("status")) or _text(data.get("status"))
    return Entity(
        kind="mcp_server",
        path=path or f"/{name.strip('/')}",
        name=_text(data.get("title")) or name if published else name,
        description=_text(data.get("description")),
        tags=_texts(data.get("tags")) or _texts(data.get("keywords")),
        enabled=data.get("is_enabled") is not False and status != "deleted",
        tools=tuple(_tools(data.get("tools", data.get("tool_list")))),
        version=_text(data.get("version")),
        latest=official.get("isLatest") is True,
    )


def _tools(listed: object) -> Iterator[ToolCard]:
    for item in map(_mapping, listed if isinstance(listed, list) else ()):
        if name := _text(item.get("name")) or _text(item.get("tool_name")):
            summary = _text(_mapping(item.get("parsed_description")).get("main"))  # of a docstring, by gateways
            schema: dict[str, Any] = next((item[key] for key in _SCHEMAS if isinstance(item.get(key), dict)), {})
            yield ToolCard(name, _text(item.get("description")) or summary, schema)


def _agent(data: Mapping[str, Any]) -> Entity | None:
    """An agent card: a name with skills."""
    name, skills = _text(data.get("name")), data.get("skills")
    if not name or not isinstance(skills, list) or isinstance(data.get("tools"), list):
        return None
    abilities = data.get("capabilities")
    if isinstance(abilities, dict):
        abilities = [key for key, value in abilities.items() if value]
    return Entity(
        kind="a2a_agent",
        path=_text(data.get("path")) or "/" + (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or name),
        name=name,
        description=_text(data.get("description")),
        tags=_texts(data.get("tags")),
        enabled=data.get("is_enabled") is not False,
        capabilities=_texts(abilities),
        skills=tuple(
            SkillItem(name=skill, description=_text(item.get("description")))
            for item in map(_mapping, skills)
            if (skill := _text(item.get("name")))
        ),
        version=_text(data.get("version")),
    )


def merged(entities: Iterable[Entity]) -> tuple[Entity, ...]:
    """One entity per type and path: the latest version, its gaps filled from the others; ordered by path."""
    found: dict[tuple[str, str], Entity] = {}
    for other in sorted(entities, key=lambda one: (one.latest, _rank(one.version)), reverse=True):
        key = (other.kind, other.path.strip("/").casefold())
        best = found.setdefault(key, other)
        found[key] = replace(best, **{name: getattr(other, name) for name in _FILLED if not getattr(best, name)})
    return tuple(sorted(found.values(), key=lambda entity: (entity.kind, entity.path)))


def _rank(version: str) -> tuple[tuple[int, ...], bool, str]:
    """Order of versions: numbers first, then releases above what is still a pre-release."""
    release, dash, _ = version.partition("+")[0].partition("-")
    numbers = tuple(int(number[:18]) for number in _NUMBERS.findall(release))
    return numbers, not dash, version


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    return tuple(text for item in value if (text := _text(item))) if isinstance(value, list) else ()


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


class RegistryFiles:
    """Finds the files through the catalog, which lists what it read and what it passed over."""

    def __init__(self, catalog: Catalog, root: Path) -> None:
        self._catalog = catalog
        self._paths = Paths(root)
        self._known: tuple[list[tuple[Entity, ...]], tuple[Entity, ...]] = ([], ())  # of each file, and merged

    def entities(self) -> tuple[Entity, ...]:
        """Every entity of the library as its files are now, duplicates merged; the tuple stays the same while they do.

        A file that can't be read or isn't JSON holds none; a warning names it where its name promised some.
        """
        with self._catalog.read() as reader:
            names = sorted(set(_candidates(reader)))
        files = [(name, *self._paths.stat(name)) for name in names]
        read = (_read(path, name, now.st_size, now.st_mtime_ns) for name, path, now in files if now is not None)
        found = [entities for entities in read if entities]
        if found != self._known[0]:
            self._known = (found, merged(chain.from_iterable(found)))
        return self._known[1]


def _candidates(reader: CatalogReader) -> Iterator[str]:
    for failure in reader.failures():
        if failure.reason in _LEFT_OUT and failure.file_path.lower().endswith(".json"):
            yield failure.file_path
    for stored in reader.iter_documents():
        if stored.document.file_path.lower().endswith(".json"):
            yield from (stored.document.file_path, *stored.also_in)


@lru_cache(maxsize=10_000)
def _read(path: str, name: str, size: int, mtime_ns: int) -> tuple[Entity, ...]:
    base = name.rsplit("/", 1)[-1].lower()
    promises = base in _NAMES or base.endswith((".registry.json", ".server.json", ".agent-card.json"))
    if size > (MOST_BYTES if promises else MOST_BYTES_UNNAMED):
        return ()
    try:
        # NaN and infinities become null and lone surrogates U+FFFD, so that the answer is valid JSON.
        written = json.dumps(json.loads(Path(path).read_bytes(), parse_constant=lambda _: None), ensure_ascii=False)
        found = entities_of(
            json.loads(written.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")), name
        )
    except (OSError, ValueError, RecursionError) as error:
        if promises:
            logger.warning("The registry file %s can't be read: %s", name, error)
        return ()
    if not found and promises:
        logger.warning("The registry file %s holds neither a server nor an agent.", name)
    return found
