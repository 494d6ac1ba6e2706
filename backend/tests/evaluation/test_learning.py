"""Weights are learned from pairs, and a library asks questions about itself.

* the feature that tells answers apart gets the weight, one that doesn't gets little, none is negative
* a strong ridge keeps the prior, and so does a set without pairs
* link texts ask for the page they lead to, relative, from the site's root or over its index page; the linking page is
  left out; texts that say nothing ask nothing
* headings that one document alone has ask for it
* halves share no answer page
"""

from __future__ import annotations

import numpy as np
import pytest

from librarian.evaluation.judgments import Judged
from librarian.evaluation.learning import Asked, quality, trained
from librarian.evaluation.own_questions import OwnQuestion, halves, of_headings, of_links, sample
from librarian.vocabulary.types import Document, Heading, Link


def asked(seed: int) -> Asked:
    """Ten candidates, the third relevant: feature 0 is high for it, feature 1 is noise, feature 2 low for it."""
    random = np.random.default_rng(seed)
    values = random.random((10, 3))
    values[2, 0], values[2, 2] = 1.5, -1.0
    paths = [f"{place}.md" for place in range(10)]
    return Asked(Judged(str(seed), "q", {"2.md": 1}), paths, values, np.array([0, 0, 1] + [0] * 7))


def test_the_feature_that_tells_answers_apart_gets_the_weight() -> None:
    weights = trained([[asked(seed) for seed in range(20)]])
    assert weights[0] > 5 * weights[1] >= 0
    assert weights[2] == 0
    assert quality([asked(99)], weights) == [1.0]


def test_a_strong_ridge_and_nothing_to_learn_keep_the_prior() -> None:
    prior = np.array([1.0, 2.0, 3.0])
    kept = trained([[asked(seed) for seed in range(5)]], prior=prior, ridge=1e6)
    assert kept == pytest.approx(prior, rel=1e-3)
    hopeless = Asked(Judged("1", "q", {"x": 1}), ["a"], np.ones((1, 3)), np.array([0]))
    assert trained([[hopeless]], prior=prior) is prior
    with pytest.raises(ValueError, match="No question"):
        trained([[hopeless]])


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
    found = {question.judged.text: question for question in questions}
    assert set(found) == {"rolling back a release", "keeping data on disk", "choosing a class"}
    assert set(found["rolling back a release"].judged.grades) == {"shop/api/deploy.md", "shop/api/start.md"}
    assert set(found["keeping data on disk"].judged.grades) == {"shop/ops/storage/index.md"}
    assert found["choosing a class"].ignored == {"shop/api/start.md"}


def test_a_heading_that_one_document_has_asks_for_it() -> None:
    questions = of_headings(
        [
            page("a.md", headings=("Rolling back", "See also", "Before you begin", "Setting limits")),
            page("b.md", headings=("rolling back", "Attaching a volume")),
        ]
    )
    assert [(question.judged.text, *question.judged.grades) for question in questions] == [
        ("Attaching a volume", "b.md"),
        ("Setting limits", "a.md"),
    ]


def test_halves_share_no_answer_and_samples_repeat() -> None:
    questions = [
        OwnQuestion(Judged(str(n), f"q{n}", {f"{n % 7}": 1, f"{n % 5}": 1}), frozenset(), "links") for n in range(40)
    ]
    learn, held = halves(questions)
    assert learn
    pages = [{page for question in half for page in question.judged.grades} for half in (learn, held)]
    assert not pages[0] & pages[1]
    assert sample(questions, 10) == sample(questions, 10)
    assert len(sample(questions, 10)) == 10
    assert sample(questions, 100) == questions
