"""Which server, agent or tool does what is asked for: meaning and words, joined as the registry's design says."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ..embeddings.base import Embedder, LazyModel
from ..errors import Unavailable
from ..models import Deadline, Vectors
from ..schemas import AgentItem, MatchingTool, RegistryResponse, ServerItem, ToolItem
from ..storage.base import EmbeddingCache
from ..text.dictionaries import raw_stop_words
from .entities import Entity, ToolCard

logger = logging.getLogger(__name__)

PATH, NAME, DESCRIPTION, TAGS, TOOL = 5.0, 3.0, 2.0, 1.5, 1.0  #: points per keyword; TOOL counts for each tool
BOOST_SHARE = 0.1
MOST_LEXICAL_BOOST = 12.5  #: 5 + 3 + 2 + 1.5 + 1: one keyword everywhere
LEAST_CANDIDATES = 50
BATCH = 32  #: texts embedded between two looks at the deadline
_KEYWORD = re.compile(r"\w{3,}")
_SCORE = (
    "Score for '%s' (type=%s): vector=%.4f, normalized_vector=%.4f, text_boost=%.1f, boost_contrib=%.4f, final=%.4f"
)


def keywords(query: str) -> tuple[str, ...]:
    """The words of a question that say something, in lower case, each once.

    >>> keywords("How do I use the context7 docs?")
    ('use', 'context7', 'docs')
    """
    return tuple(dict.fromkeys(w for w in _KEYWORD.findall(query.lower()) if w not in raw_stop_words("en")))


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


def score_of(cosine: float | None, boost: float) -> float:
    """(cosine + 1) / 2 + 0.1 × boost, or without a model the share of what one keyword can bring; not clamped.

    >>> round(score_of(0.3412, 8.0), 4), score_of(None, 8.0)
    (1.4706, 0.64)
    """
    return boost / MOST_LEXICAL_BOOST if cosine is None else (cosine + 1) / 2 + BOOST_SHARE * boost


def _matching_tools(entity: Entity, words: Sequence[str]) -> list[ToolCard]:
    """The tools in whose name or description a keyword stands: those that hold the most of them first."""
    counted = [
        (sum(word in f"{tool.name}\n{tool.description}".lower() for word in words), tool) for tool in entity.tools
    ]
    return [tool for count, tool in sorted(counted, key=lambda pair: -pair[0]) if count]


def _is_named(entity: Entity, query: str) -> bool:
    """Whether the question is nothing but the entity's name, its path or the path's last part, in any case."""
    wanted = query.strip().strip("/").casefold()
    path = entity.path.strip("/").casefold()
    return bool(wanted) and wanted in (entity.name.casefold(), path, path.rsplit("/", 1)[-1])


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
        self._embedded: tuple[tuple[Entity, ...], str, list[Vectors]] | None = None

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
        known: Sequence[float | None] = cosines or [None] * len(every)
        nearest = sorted(range(len(cosines or ())), key=lambda index: -(known[index] or 0.0))
        near = set(nearest[: max(3 * max_results, LEAST_CANDIDATES)])
        scored: list[tuple[bool, float, float, str, Entity]] = []
        for index, entity in enumerate(every):
            boost, named = text_boost(entity, words), _is_named(entity, query)
            if entity.enabled and (boost or named or index in near):
                score = score_of(known[index], boost)
                relevance = min(max(score, 0.0), 1.0)
                cosine = known[index]
                semantic, added = (0.0, score) if cosine is None else ((cosine + 1) / 2, BOOST_SHARE * boost)
                logger.debug(_SCORE, entity.name, entity.kind, cosine or 0.0, semantic, boost, added, relevance)
                scored.append((not named, -relevance, -score, entity.path, entity))
        scored.sort(key=lambda item: item[:4])
        servers = [(entity, -negative) for _, negative, _, _, entity in scored if entity.kind == "mcp_server"]
        agents = [(entity, -negative) for _, negative, _, _, entity in scored if entity.kind == "a2a_agent"]
        tools = (
            ToolItem(
                server_path=entity.path,
                tool_name=tool.name,
                description=tool.description,
                inputSchema=dict(tool.input_schema),
                relevance_score=score,
            )
            for entity, score in servers
            for tool in _matching_tools(entity, words)
        )
        return RegistryResponse(
            query=query,
            search_mode="lexical-only" if cosines is None else "hybrid",
            servers=[_server(*one, words) for one in servers[:max_results] if "mcp_server" in entity_types],
            agents=[_agent(*one) for one in agents[:max_results] if "a2a_agent" in entity_types],
            tools=list(islice(tools, max_results)) if "tool" in entity_types else [],
            total_entities=len(every),
        )

    def _cosines(self, query: str, every: tuple[Entity, ...], deadline: Deadline) -> list[float] | None:
        """Cosine of each entity's best window with the question; None without a model."""
        if self._embedder is None:
            return None
        try:
            embedder = self._embedder.get()
            asked = embedder.embed_query(query)
            known = self._embedded
            if known is None or known[0] is not every or known[1] != embedder.fingerprint:
                known = self._embedded = (every, embedder.fingerprint, self._vectors(embedder, every, deadline))
        except Unavailable as error:
            logger.warning("The registry is searched by words alone: %s", error)
            return None
        return [float(np.max(own @ asked)) if len(own) else 0.0 for own in known[2]]

    def _vectors(self, embedder: Embedder, every: tuple[Entity, ...], deadline: Deadline) -> list[Vectors]:
        """Per entity the vectors of its windows, shape (windows, dimension)."""
        windows = [embedder.windows("", entity.text) for entity in every]
        texts = {window.hash: window.text for own in windows for window in own}
        found = self._cache.get(embedder.fingerprint, list(texts)) if self._cache is not None else {}
        missing = [key for key in texts if key not in found]
        for start in range(0, len(missing), BATCH):
            deadline.check()
            batch = missing[start : start + BATCH]
            new = dict(zip(batch, embedder.embed_chunks([texts[key] for key in batch]), strict=True))
            if self._cache is not None:
                self._cache.put(embedder.fingerprint, new)
            found |= new
        none = np.zeros((0, embedder.spec.dimension), np.float32)
        return [np.stack([found[window.hash] for window in own]) if own else none for own in windows]


def _server(entity: Entity, score: float, words: Sequence[str]) -> ServerItem:
    tools = [MatchingTool(tool_name=one.name, description=one.description) for one in _matching_tools(entity, words)]
    return ServerItem(server_name=entity.name, matching_tools=tools, **_shared(entity, score))


def _agent(entity: Entity, score: float) -> AgentItem:
    abilities, skills = list(entity.capabilities), list(entity.skills)
    return AgentItem(agent_name=entity.name, capabilities=abilities, skills=skills, **_shared(entity, score))


def _shared(entity: Entity, score: float) -> dict[str, Any]:
    return {
        "path": entity.path,
        "description": entity.description,
        "tags": list(entity.tags),
        "relevance_score": score,
        "file_path": entity.file_path,
    }
