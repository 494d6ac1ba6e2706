"""Components of shared products are components of every product: its filter lets them through."""

from __future__ import annotations

import pytest

from librarian.documents import queries
from librarian.errors import NotFound
from librarian.schemas import SearchRequest
from librarian.settings import Settings

SETTINGS = Settings(docs={"shared_products": ("common", "gone")})
PRODUCTS = {"shop": {"api": 2}, "till": {"guide": 1}, "common": {"terms": 3}}


def test_a_component_of_a_shared_product_may_be_asked_for_with_any_product() -> None:
    request = SearchRequest(query="refund", product="shop", component="Terms")
    filters = queries.document_query(request, SETTINGS, lambda: PRODUCTS).filters
    assert (filters.product, filters.component) == ("shop", "terms")


def test_a_component_of_another_product_is_still_an_error() -> None:
    request = SearchRequest(query="refund", product="shop", component="guide")
    with pytest.raises(NotFound, match="No component 'guide'"):
        queries.document_query(request, SETTINGS, lambda: PRODUCTS)
