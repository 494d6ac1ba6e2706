"""What is asked of gathered things: the registry's entities, sites' documents, and what nothing was found for."""

from __future__ import annotations

from collections.abc import Sequence

from ..vocabulary.arguments import shortened
from ..vocabulary.errors import CallerError
from ..vocabulary.protocols import Budget
from ..vocabulary.registry import ENTITY_TYPES, RegistryAnswer
from ..vocabulary.sites import GapsAnswer, SiteDocumentsAnswer, SiteListAnswer, SiteSearchAnswer
from ..vocabulary.types import Filters, Query
from . import arguments as check
from .asking import Asking


class Gathered(Asking):
    """The part of the desk that looks beyond passages."""

    def search_registry(
        self,
        query: str,
        *,
        entity_types: Sequence[str] | None = None,
        max_results: int | None = None,
        budget: Budget | None = None,
    ) -> RegistryAnswer:
        """Servers, agents and tools of the library's registry files; arguments as of the tool `search_registry`."""
        spent = budget or Budget()
        self._await_text(spent)
        options = self._parts.options
        text = check.query_text(query)
        most = options.max_results
        most = min(3, most) if max_results is None else check.whole_number("max_results", max_results, 1, most)
        wanted = tuple(dict.fromkeys(entity_types or ENTITY_TYPES))
        for kind in wanted:
            if kind not in ENTITY_TYPES:
                hint = check.one_of(ENTITY_TYPES, kind)
                raise CallerError(f"entity_types holds {shortened(kind)}, which is unknown.", hint=hint)
        return self._parts.registry.search(text, wanted, most, spent)

    def search_doc(
        self,
        query: str,
        *,
        project: str | None = None,
        category: str | None = None,
        limit: int | None = None,
        budget: Budget | None = None,
    ) -> SiteSearchAnswer:
        """Documents with their matching sections; arguments as of the tool `searchDoc`."""
        spent = budget or Budget()
        self._await_text(spent)
        options = self._parts.options
        text = check.query_text(query)
        most = options.max_results
        most = min(5, most) if limit is None else check.whole_number("limit", limit, 1, most)
        asked = Query(text=text, mode=options.default_mode, filters=Filters(product=self._project(project)))
        answer = self._parts.sites.search_doc(asked, check.text_or_none("category", category), most, spent)
        self._parts.questions.note(text, len(answer.results), "unknown", asked.filters.product)
        lacking = self._lacking(answer.degraded, by_meaning=answer.mode != "keyword")
        return answer.model_copy(update={"degraded": [*answer.degraded, *lacking]})

    def load_doc(
        self,
        slug: Sequence[str] | str,
        *,
        include_sections: bool = True,
        include_metadata: bool = True,
        budget: Budget | None = None,
    ) -> SiteDocumentsAnswer:
        """Documents by slug; arguments as of the tool `loadDoc`."""
        wanted = [slug] if isinstance(slug, str) else list(slug)
        return self._parts.sites.load_doc(wanted, include_sections, include_metadata)

    def list_doc(
        self,
        *,
        project: str | None = None,
        category: str | None = None,
        content_type: str | None = None,
        sort_by: str = "title",
        budget: Budget | None = None,
    ) -> SiteListAnswer:
        """Documents by category; arguments as of the tool `listDoc`."""
        return self._parts.sites.list_doc(
            self._project(project),
            check.text_or_none("category", category),
            check.text_or_none("content_type", content_type),
            sort_by,
        )

    def gaps(self, *, limit: int = 50, budget: Budget | None = None) -> GapsAnswer:
        """Questions that found nothing or little, where `analytics.enabled` has them kept."""
        return self._parts.questions.gaps(check.whole_number("limit", limit, 1, None))

    def _project(self, name: str | None) -> str | None:
        hint = "Use list_products or listDoc to see what there is."
        return check.known_name("project", name, list(self._products()), hint=hint)
