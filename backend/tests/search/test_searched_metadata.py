"""What front matter says of a page is searched, without being shown: in the index of its first passage."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from librarian.models import Query

from .library import Library

PAGE = """---
title: Container orchestration
{key}: {value}
---

# Container orchestration

Move the work away first.

## Later

Bring it back.
"""
VALUES = [
    ("description", "How to calm a barnacle", "calm a barnacle"),
    ("summary", "Everything on quinces", "quinces"),
    ("aliases", "[Marrow cheat sheet, pip notes]", "marrow cheat sheet"),
    ("alias", "pip notes", "pip notes"),
    ("tags", "[turnips, oncall]", "oncall"),
    ("keywords", "cordon, evict", "evict"),
    ("subtitle", "For gardeners at sea", "gardeners"),
    ("sidebar_label", "Cress", "cress"),
    ("sidebarTitle", "Chard", "chard"),
    ("linkTitle", "Radish", "radish"),
    ("slug", "/garden/sea-kale", "sea kale"),
    ("author", "Zelda Quill", "Zelda Quill"),
    ("category", "Perennials", "perennials"),
    ("id", "root_crops", "root crops"),
    ("sidebar", "{label: Samphire, order: 3}", "samphire"),
    ("seo", "{description: How to pickle a walnut}", "pickle a walnut"),
]


@pytest.mark.parametrize("mode", ["keyword", "auto"])
@pytest.mark.parametrize(("key", "value", "asked"), VALUES, ids=[key for key, _, _ in VALUES])
def test_words_of_front_matter_bring_their_page_first(
    shelve: Callable[..., Library], key: str, value: str, asked: str, mode: str
) -> None:
    others = {f"shop/guide/{n}.md": f"# Page {n}\n\nHow to keep calm, notes and a sheet at sea.\n" for n in range(12)}
    library = shelve({"shop/guide/page.md": PAGE.format(key=key, value=value), **others})
    found = library.engine().search(Query(asked, mode=mode))  # type: ignore[arg-type]
    assert found.hits[0].document.document.file_path == "shop/guide/page.md"
    assert not found.not_mentioned
    assert "Move the work away" in found.hits[0].chunk.chunk.text


def test_other_values_are_not_searched(shelve: Callable[..., Library]) -> None:
    library = shelve({"shop/guide/page.md": PAGE.format(key="layout", value="zigzag")})
    assert not library.engine().search(Query("zigzag", mode="keyword")).hits
