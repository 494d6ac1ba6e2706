"""How well an entity answers a question: its meaning, and its words place by place.

The formula, the weights and the bound of 12.5 are those of the registry's design: a question's keywords are matched as
substrings in any case, independently of one another, and what they bring adds up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .registry_entities import Entity, ToolCard

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
