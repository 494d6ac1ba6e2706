"""What is asked of gathered things: the registry's servers, agents and tools."""

from __future__ import annotations

from collections.abc import Sequence

from ..vocabulary.errors import CallerError
from ..vocabulary.protocols import Budget
from ..vocabulary.registry import ENTITY_TYPES, RegistryAnswer
from . import arguments as check
from .parts import Parts


class Gathered:
    """The part of the desk that looks beyond passages."""

    _parts: Parts

    def search_registry(
        self,
        query: str,
        *,
        entity_types: Sequence[str] | None = None,
        max_results: int | None = None,
        budget: Budget | None = None,
    ) -> RegistryAnswer:
        """Servers, agents and tools of the library's registry files; arguments as of the tool `search_registry`."""
        options = self._parts.options
        text = check.query_text(query, options.max_query_length)
        most = check.whole_number("max_results", 3 if max_results is None else max_results, 1, options.max_results)
        wanted = tuple(dict.fromkeys(entity_types or ENTITY_TYPES))
        for kind in wanted:
            if kind not in ENTITY_TYPES:
                hint = f"Use any of {', '.join(ENTITY_TYPES)}. {check.did_you_mean(str(kind), ENTITY_TYPES)}".strip()
                raise CallerError(f"entity_types holds {kind!r}, which is unknown.", hint=hint)
        return self._parts.registry.search(text, wanted, most, budget or Budget())
