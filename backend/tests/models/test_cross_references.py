"""Where links lead:

* beside the file, as files lie and as a site's addresses do, with any ending of documents or none
* a site's own addresses, by the end of a path; labels; where a page was fetched from or is published
* names that several pages have lead nowhere, but in the component of the one that has it alone there
* what leads out of the library, into the page itself or nowhere
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.models import Document
from librarian.text.cross_references import Places, key_of, names_of, stem_of, targets_of


def page(path: str, **changes: object) -> Document:
    product, component, *_ = *path.split("/"), ""
    bare = Document(path, product, component, "document", ".md", "Title", "")
    return replace(bare, **changes)  # type: ignore[arg-type]


START = page("shop/guide/start.md")
LIBRARY = (
    START,
    page("shop/guide/index.md"),
    page("shop/guide/start/first-steps.md"),
    page("shop/ops/storage/_index.md"),
    page("shop/ops/storage/classes.rst.txt", labels=("storage-class", "Ops: the classes")),
    page("shop/ops/v1.2.md"),
    page("shop/ops/ray.data.Dataset.html"),
    page("shop/pages/modules/ROOT/pages/tuning/limits.adoc"),
    page("shop/ops/published.md", front_matter={"slug": "/manual/printed", "url": 3}),
    page("web/site/fetched.md", front_matter={"source_url": "https://www.example.org/docs/Fetched.html?x=1"}),
    page("shop/ops/Daily Notes.md"),
    page("twin/one/same.md", labels=("both",)),
    page("twin/two/same.md", labels=("both",)),
    page("twin/two/other.md"),
)


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("index.md", "shop/guide/index.md"),
        ("./", "shop/guide/index.md"),
        ("../guide", "shop/guide/index.md"),
        ("start.md#top", "shop/guide/start.md"),
        ("first-steps", "shop/guide/start/first-steps.md"),
        ("../ops/storage/", "shop/ops/storage/_index.md"),
        ("../ops/storage/classes.html#x", "shop/ops/storage/classes.rst.txt"),
        ("../../ops/storage/classes/", "shop/ops/storage/classes.rst.txt"),
        ("/docs/ops/storage/classes", "shop/ops/storage/classes.rst.txt"),
        ("/shop/ops/storage/classes.md", "shop/ops/storage/classes.rst.txt"),
        ("/classes/", "shop/ops/storage/classes.rst.txt"),
        ("storage-class", "shop/ops/storage/classes.rst.txt"),
        ("ops:  the Classes", None),  # as of another project: `python:glossary`
        ("../ops/v1.2.md", "shop/ops/v1.2.md"),
        ("/ops/v1.2/", "shop/ops/v1.2.md"),
        ("../ops/ray.data.dataset.html", "shop/ops/ray.data.Dataset.html"),
        ("tuning/limits.adoc", "shop/pages/modules/ROOT/pages/tuning/limits.adoc"),
        ("ROOT:tuning/limits.adoc#max", "shop/pages/modules/ROOT/pages/tuning/limits.adoc"),
        ("/manual/printed/", "shop/ops/published.md"),
        ("https://example.org/docs/fetched", "web/site/fetched.md"),
        ("//EXAMPLE.org/docs/fetched.html#part", "web/site/fetched.md"),
        ("Daily%20Notes", "shop/ops/Daily Notes.md"),
        ("daily notes", "shop/ops/Daily Notes.md"),
        ("https://elsewhere.org/ops/storage/classes", None),
        ("ftp://example.org/docs/fetched.html", None),
        ("mailto:ann@example.org", None),
        ("/docs/elsewhere/classes", None),
        ("../lost.md", None),
        ("../../../../etc/passwd", None),
        ("#section", None),
        ("?page=2", None),
        ("", None),
        ("/", None),
        ("http://[broken", None),
        ("data:text/plain," + "a" * 600, None),
    ],
)
def test_a_link_leads_to_the_page_that_it_means(target: str, path: str | None) -> None:
    assert Places(LIBRARY).of(START, target) == path


def test_names_that_two_pages_have_lead_nowhere_but_within_their_own_product_or_component() -> None:
    places = Places(LIBRARY)
    fetched = page("web/site/other.md", front_matter={"source_url": "https://example.org/docs/other.html"})
    assert places.of(fetched, "/docs/Fetched.html#part") == "web/site/fetched.md"  # as a crawl writes a site's links
    other = next(one for one in LIBRARY if one.file_path == "twin/two/other.md")
    assert places.of(other, "/docs/same") is None
    assert places.of(other, "/same") == "twin/two/same.md"
    assert places.of(other, "both") == "twin/two/same.md"
    assert places.of(other, "../one/same.md") == "twin/one/same.md"
    assert places.of(START, "both") is None


@given(st.text(max_size=60))
def test_whatever_stands_in_a_link_is_read(target: str) -> None:
    for name in targets_of(START, target):
        assert -(2**63) <= key_of(name) < 2**63


@given(st.lists(st.text("aB1._-", min_size=1, max_size=6), min_size=1, max_size=4))
def test_a_page_is_found_by_its_own_path_with_and_without_its_ending(parts: list[str]) -> None:
    made = page("shop/" + "/".join(parts) + ".md")
    assert names_of(made) & targets_of(START, f"/{made.file_path}")
    assert stem_of(stem_of(made.file_path) + ".html") == stem_of(made.file_path)
