"""Layouts of a library: what is proved here.

* A library whose layout is changed has its files, and the mails of its archives, in the products of the new one.
* With one product for all, a root that is renamed renames it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from librarian.bootstrap import Librarian

MAIL = """From ann@example.org Mon Mar  2 09:00:00 2026
From: Ann <ann@example.org>
Subject: Release plan
Date: Mon, 02 Mar 2026 09:00:00 +0000
Message-ID: <plan-1@example.org>

We ship on the ninth of April.
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    for name, text in (("shop/api/tokens.md", "# Tokens\n"), ("shop/mail/2026.mbox", MAIL), ("top.md", "# Top\n")):
        (tmp_path / "house" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "house" / name).write_text(text, "utf-8")
    return tmp_path / "house"


def products(house: Path, layout: str) -> dict[str, tuple[str, str]]:
    """Product and component by file, of a library that is brought up to date with a layout; and what it answers."""
    settings = {"docs.layout": layout, "embeddings.enabled": False, "docs.watch_for_changes": False}
    with Librarian.open(root=house, index=house.parent / "index", **settings) as library:
        found = [*library.search("tokens top").results, *library.search_emails("ship").results]
        assert {each.product for each in found} == {each.name for each in library.list_products().products}
        return {each.file_path.rsplit("/", 1)[-1]: (each.product, each.component) for each in found}


def test_another_layout_shelves_all_that_is_there_anew(house: Path) -> None:
    by_folders = {"tokens.md": ("shop", "api"), "2026.mbox": ("shop", "mail")}
    first = products(house, "product/component")
    mail = next(name for name in first if name.endswith(".eml"))
    assert first == {"tokens.md": by_folders["tokens.md"], mail: by_folders["2026.mbox"]}
    flat = {"tokens.md": ("house", "shop"), mail: ("house", "shop"), "top.md": ("house", "general")}
    assert products(house, "flat") == flat
    renamed = house.rename(house.parent / "home")
    assert products(renamed, "flat") == {name: ("home", component) for name, (_, component) in flat.items()}
    assert products(renamed, "product/component") == first
