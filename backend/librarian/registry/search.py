"""Which server, agent or tool does what is asked for: meaning and words, joined as the registry's design says."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice

import numpy as np

from ..embeddings.base import Embedder, LazyModel
from ..errors import Unavailable
from ..models import Deadline, Vector, Vectors, Window
from ..schemas import AgentItem, MatchingTool, RegistryResponse, ServerItem, ToolItem
from ..storage.base import EmbeddingCache
from .entities import Entity, ToolCard

PATH, NAME, DESCRIPTION, TAGS, TOOL = 5.0, 3.0, 2.0, 1.5, 1.0  #: points per keyword; TOOL counts for each tool
BOOST_SHARE = 0.1
MOST_LEXICAL_BOOST = 12.5  #: 5 + 3 + 2 + 1.5 + 1: one keyword everywhere
SHORTEST_KEYWORD = 3

_STOP_WORDS = """
a about all an and any are as at be been but by can could did do does for from had has have how i if in into is it its
me my no not of on or our out over please she should so some such than that the their them then there these they this
those to under was we were what when where which who why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def keywords(query: str) -> tuple[str, ...]:
    """The words of a question that say something, in lower case, each once.

    >>> keywords("How do I use the context7 docs?")
    ('use', 'context7', 'docs')
    """
    words = (word for word in re.split(r"\W+", query.lower()))
    return tuple(dict.fromkeys(word for word in words if len(word) >= SHORTEST_KEYWORD and word not in STOP_WORDS))


def text_boost(entity: Entity, words: Sequence[str]) -> float:
    """Points of all keywords over all places, 0 where none matches."""
    path, name, description = entity.path.lower(), entity.name.lower(), entity.description.lower()
    tags = [tag.lower() for tag in entity.tags]
    tools = [f"{tool.name}\n{tool.description}".lower() for tool in entity.tools]
    total = 0.0
    for word in words:
        total += PATH * (word in path) + NAME * (word in name) + DESCRIPTION * (word in description)
        total += TAGS * any(word in tag for tag in tags) + TOOL * sum(word in tool for tool in tools)
    return total


def matching_tools(entity: Entity, words: Sequence[str]) -> list[ToolCard]:
    """The tools in whose name or description a keyword stands: those that hold the most of them first."""
    counted = [
        (sum(word in f"{tool.name}\n{tool.description}".lower() for word in words), tool) for tool in entity.tools
    ]
    return [tool for count, tool in sorted(counted, key=lambda pair: -pair[0]) if count]


def hybrid_score(cosine: float, boost: float) -> float:
    """(cosine + 1) / 2 + 0.1 × boost, not clamped.

    >>> round(hybrid_score(0.3412, 8.0), 4)
    1.4706
    """
    return (cosine + 1.0) / 2.0 + BOOST_SHARE * boost


def lexical_score(boost: float) -> float:
    """The share of what one keyword can bring, not clamped.

    >>> lexical_score(8.0)
    0.64
    """
    return boost / MOST_LEXICAL_BOOST


def clamped(score: float) -> float:
    """`score` within 0–1."""
    return min(max(score, 0.0), 1.0)


def is_named(entity: Entity, query: str) -> bool:
    """Whether the question is nothing but the entity's name, its path or the path's last part, in any case."""
    wanted = query.strip().strip("/").casefold()
    path = entity.path.strip("/").casefold()
    return bool(wanted) and wanted in (entity.name.casefold(), path, path.rsplit("/", 1)[-1])


logger = logging.getLogger(__name__)

LEAST_CANDIDATES = 50
BATCH = 32  #: texts embedded between two looks at the deadline


class Registry:
    """Answers questions over entities; thread-safe.

    `entities` gives all there are; the same tuple while nothing has changed. `cache` keeps their vectors, so that
    each text is embedded once.
    """

    def __init__(
        self,
        entities: Callable[[], tuple[Entity, ...]],
        embedder: LazyModel[Embedder] | None = None,
        cache: EmbeddingCache | None = None,
    ) -> None:
        self._entities = entities
        self._embedder = embedder
        self._cache = cache
        self._embedded: tuple[tuple[Entity, ...], str, tuple[Vectors, ...]] | None = None

    def search(
        self, query: str, entity_types: Collection[str], max_results: int, deadline: Deadline
    ) -> RegistryResponse:
        """The best `max_results` of each wanted type. Every candidate is scored before any is cut off.

        Candidates are the entities nearest in meaning, max(3 × `max_results`, 50) of them, and all that hold a
        keyword. Without a model the words alone decide, and `search_mode` says so. An exact name comes first; else
        the score decides, and among equal ones the score before it was clamped.
        """
        every = self._entities()
        words = keywords(query)
        cosines = self._cosines(query, every, deadline)
        near: set[int] = set()
        if cosines is not None:
            near = set(np.argsort(-cosines, kind="stable")[: max(3 * max_results, LEAST_CANDIDATES)].tolist())
        scored: list[tuple[bool, float, Entity]] = []  # not asked for by name, score, entity
        for index, entity in enumerate(every):
            boost, named = text_boost(entity, words), is_named(entity, query)
            if entity.enabled and (boost or named or index in near):
                score = _score(entity, float(cosines[index]) if cosines is not None else None, boost)
                scored.append((not named, score, entity))
        scored.sort(key=lambda item: (item[0], -clamped(item[1]), -item[1], item[2].path))
        servers = [(entity, clamped(score)) for _, score, entity in scored if entity.kind == "mcp_server"]
        agents = [(entity, clamped(score)) for _, score, entity in scored if entity.kind == "a2a_agent"]
        tools = (_tool(*server, tool) for server in servers for tool in matching_tools(server[0], words))
        return RegistryResponse(
            query=query,
            search_mode="lexical-only" if cosines is None else "hybrid",
            servers=[_server(*one, words) for one in servers[:max_results] if "mcp_server" in entity_types],
            agents=[_agent(*one) for one in agents[:max_results] if "a2a_agent" in entity_types],
            tools=list(islice(tools, max_results)) if "tool" in entity_types else [],
            total_entities=len(every),
        )

    def _cosines(self, query: str, every: tuple[Entity, ...], deadline: Deadline) -> Vector | None:
        """Cosine of each entity's best window with the question, shape (n,); None without a model."""
        if self._embedder is None:
            return None
        try:
            embedder = self._embedder.get()
            asked = embedder.embed_query(query)
            vectors = self._vectors(embedder, every, deadline)
        except Unavailable as error:
            logger.warning("The registry is searched by words alone: %s", error)
            return None
        return np.array([float(np.max(own @ asked)) if len(own) else 0.0 for own in vectors], np.float32)

    def _vectors(self, embedder: Embedder, every: tuple[Entity, ...], deadline: Deadline) -> tuple[Vectors, ...]:
        """Per entity the vectors of its windows, shape (windows, dimension)."""
        known = self._embedded
        if known is not None and known[0] is every and known[1] == embedder.fingerprint:
            return known[2]
        windows = [embedder.windows("", entity.text) for entity in every]
        by_hash = self._embed(embedder, {window.hash: window for own in windows for window in own}, deadline)
        none = np.zeros((0, embedder.spec.dimension), np.float32)
        vectors = tuple(np.stack([by_hash[window.hash] for window in own]) if own else none for own in windows)
        self._embedded = (every, embedder.fingerprint, vectors)
        return vectors

    def _embed(self, embedder: Embedder, windows: Mapping[str, Window], deadline: Deadline) -> dict[str, Vector]:
        found = self._cache.get(embedder.fingerprint, list(windows)) if self._cache is not None else {}
        missing = [window for key, window in windows.items() if key not in found]
        for start in range(0, len(missing), BATCH):
            deadline.check()
            batch = missing[start : start + BATCH]
            rows = embedder.embed_chunks([window.text for window in batch])
            new = {window.hash: row for window, row in zip(batch, rows, strict=True)}
            if self._cache is not None:
                self._cache.put(embedder.fingerprint, new)
            found |= new
        return found


def _score(entity: Entity, cosine: float | None, boost: float) -> float:
    score = lexical_score(boost) if cosine is None else hybrid_score(cosine, boost)
    logger.debug(
        "Score for '%s' (type=%s): vector=%.4f, normalized_vector=%.4f, text_boost=%.1f, boost_contrib=%.4f, "
        "final=%.4f",
        entity.name,
        entity.kind,
        cosine or 0.0,
        0.0 if cosine is None else (cosine + 1) / 2,
        boost,
        score if cosine is None else BOOST_SHARE * boost,
        clamped(score),
    )
    return score


def _server(entity: Entity, score: float, words: Sequence[str]) -> ServerItem:
    return ServerItem(
        path=entity.path,
        server_name=entity.name,
        description=entity.description,
        tags=list(entity.tags),
        relevance_score=score,
        matching_tools=[
            MatchingTool(tool_name=tool.name, description=tool.description) for tool in matching_tools(entity, words)
        ],
        file_path=entity.file_path,
    )


def _agent(entity: Entity, score: float) -> AgentItem:
    return AgentItem(
        path=entity.path,
        agent_name=entity.name,
        description=entity.description,
        tags=list(entity.tags),
        capabilities=list(entity.capabilities),
        skills=list(entity.skills),
        relevance_score=score,
        file_path=entity.file_path,
    )


def _tool(entity: Entity, score: float, tool: ToolCard) -> ToolItem:
    return ToolItem(
        server_path=entity.path,
        tool_name=tool.name,
        description=tool.description,
        inputSchema=dict(tool.input_schema),
        relevance_score=score,
    )
