"""A library asks questions about itself.

* link texts ask for the page they lead to, relative, from the site's root or over its index page; the linking page is
  left out; texts that say nothing ask nothing
* headings that one document alone has ask for it
* a page's editions in several versions of a manual are one page: in questions, in results, and where pages are held out
* a sample is the same each time
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from librarian.evaluation.evaluate import RatedQuery
from librarian.models import Document, Heading, Link
from librarian.tuning.own_questions import OwnQuestion, of_headings, of_links, sample


def page(file_path: str, *links: tuple[str, str], headings: tuple[str, ...] = ()) -> Document:
    found = tuple(Link(text, target, 0) for text, target in links)
    return Document(
        file_path,
        "shop",
        "api",
        "document",
        ".md",
        file_path,
        "",
        headings=tuple(Heading(2, text, 1, 0) for text in headings),
        links=found,
    )


def test_link_texts_ask_for_the_page_they_lead_to() -> None:
    questions = of_links(
        [
            page(
                "shop/api/start.md",
                ("rolling back a release", "deploy.md#rolling-back"),
                ("keeping data on disk", "../ops/storage/"),
                ("choosing a class", "/docs/ops/classes"),
                ("click here", "deploy.md"),
                ("Deploying", "deploy.md"),
                ("another site's page", "https://example.org/deploy.md"),
                ("no such page", "lost.md"),
                ("my own section", "#section"),
            ),
            page("shop/api/deploy.md", ("rolling back a release", "start.md")),
            page("shop/ops/storage/index.md"),
            page("shop/ops/classes.md"),
        ]
    )
    found = {question.rated.text: question for question in questions}
    assert set(found) == {"rolling back a release", "keeping data on disk", "choosing a class"}
    assert set(found["rolling back a release"].rated.grades) == {"shop/api/deploy.md", "shop/api/start.md"}
    assert set(found["keeping data on disk"].rated.grades) == {"shop/ops/storage/index.md"}
    assert found["choosing a class"].ignored == {"shop/api/start.md"}


def test_a_heading_that_one_document_has_asks_for_it() -> None:
    questions = of_headings(
        [
            page("a.md", headings=("Rolling back", "See also", "Before you begin", "Setting limits")),
            page("b.md", headings=("rolling back", "Attaching a volume")),
        ]
    )
    assert [(question.rated.text, *question.rated.grades) for question in questions] == [
        ("Attaching a volume", "b.md"),
        ("Setting limits", "a.md"),
    ]


def manual(version: str, *headings: str, link: str = "pods.md") -> list[Document]:
    pods = replace(page(f"shop/{version}/pods.md", headings=("Pods", "What pods are", *headings)), title="Pods")
    start = replace(page(f"shop/{version}/start.md", ("running a container", link)), title="Start")
    return [pods, start]


def test_a_page_with_editions_in_several_versions_is_one_page() -> None:
    versions = [f"v{number}" for number in range(1, 6)]
    documents = [document for version in versions[:4] for document in manual(version, "Resizing a pod", "Limits")]
    documents += manual("v5", "Resizing a pod", "Evicting a pod")
    heading = {question.rated.text: question for question in of_headings(documents)}["Resizing a pod"]
    (link,) = of_links(documents)
    for question, left_out in ((heading, set()), (link, {f"shop/{version}/start.md" for version in versions})):
        assert question.rated.grades == {"shop/v1/pods.md": 1}
        assert question.ignored == left_out
        assert question.pages_of(["shop/v3/pods.md", *sorted(left_out), "other.md", "shop/v1/pods.md"]) == [
            "shop/v1/pods.md",
            "other.md",
        ]
    assert heading.answers == {f"shop/{version}/pods.md" for version in versions[:4]} | {"shop/v5/pods.md"}


def test_an_edition_without_a_heading_says_nothing_of_it() -> None:
    documents = [*manual("v1", "Limits", "Quotas"), *manual("v2", "Limits", "Quotas", "Evicting a pod")]
    question = {one.rated.text: one for one in of_headings(documents)}["Evicting a pod"]
    assert (question.answers, question.ignored) == ({"shop/v2/pods.md"}, {"shop/v1/pods.md"})
    assert question.pages_of(["shop/v1/pods.md", "shop/v2/pods.md"]) == ["shop/v1/pods.md"] == [*question.rated.grades]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("shop/v1.28/a.md", "shop/latest/a.md", True),
        ("shop-2.x/api/a.md", "shop-3.1/api/a.md", True),
        ("tickets/12/a.md", "tickets/13/a.md", False),
        ("shop/release-1.9.3/a.md", "shop/release-main/a.md", True),
        ("shop/v1/a.md", "till/v2/a.md", False),
        ("shop/init/a.md", "shop/join/a.md", False),
        ("shop/v1/a.md", "shop/v2/b.md", False),
    ],
)
def test_editions_lie_in_folders_that_versions_alone_tell_apart(one: str, other: str, same: bool) -> None:
    pages = [replace(page(path, headings=("Options", "Shared heading")), title="A") for path in (one, other)]
    assert bool(of_headings(pages)) is same


def test_numbered_steps_are_no_editions() -> None:
    pages = [
        replace(page(f"step-{n}/index.md", headings=(f"Doing {word}s", f"More {word}s", "Shared heading")), title="A")
        for n, word in enumerate(("shop", "till"))
    ]
    assert "Shared heading" not in [one.rated.text for one in of_headings(pages)]


def test_samples_repeat() -> None:
    questions = [OwnQuestion(RatedQuery(str(n), f"q{n}", {f"{n % 7}": 1}), frozenset(), "links") for n in range(40)]
    assert sample(questions, 10) == sample(questions, 10)
    assert len(sample(questions, 10)) == 10
    assert sample(questions, 100) == questions
