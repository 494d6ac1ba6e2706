"""Which identifiers of a query must be held by the first hits.

* all of them where it says hardly anything else, in a sentence those in backquotes
* in every mode but semantic no hit without the identifier comes before one with it
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from librarian.models import Mode, Query
from librarian.search.candidates import required_identifiers
from librarian.text.analyzer import StandardAnalyzer

from .library import Library

ANALYZER = StandardAnalyzer()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("move nginx2 to v1 by max_age, E42", ("nginx2", "v1", "max_age", "e42")),
        ("oven.bake", ("oven.bake",)),
        ("how do I use oven.bake in the kitchen", ("oven.bake",)),
        ("why does kube-proxy fail to start", ("kube-proxy",)),
        ("WaitForFirstConsumer and --max-heat", ("waitforfirstconsumer", "--max-heat")),
        ("are receipts signed in 2.5", ("2.5",)),
        ("when is the dough kneaded before oven.bake is called", ()),
        ("when is the dough kneaded before `oven.bake` is called", ("oven.bake",)),
        ("at which pressure does boundary-layer separation of a wing start", ()),
    ],
)
def test_what_the_first_hits_must_hold(text: str, found: tuple[str, ...]) -> None:
    assert required_identifiers(ANALYZER.query(text, ["en"]), ANALYZER) == found


@pytest.mark.parametrize("mode", ["keyword", "hybrid", "hyde"])
@pytest.mark.parametrize("text", ["kube-proxy", "why does kube-proxy fail", "restart kube-proxy on a node"])
def test_no_hit_without_the_identifier_comes_before_one_with_it(
    shelve: Callable[..., Library], text: str, mode: Mode
) -> None:
    filler = "Restart a node when a proxy of kube services fails. A node that fails to restart is a kube problem. "
    library = shelve(
        {
            **{f"kube/ops/{n}.md": f"# Restart a node, proxy {n}\n\n{filler * 2}\n" for n in range(12)},
            "kube/ops/rules.md": f"# Rules\n\n{'Rules of services are written on all machines. ' * 9}Ask kube-proxy.\n",
        }
    )
    outcome = library.engine().search(
        Query(text, mode=mode, hypothetical_answer="Restart it." if mode == "hyde" else None)
    )
    holds = ["kube-proxy" in hit.chunk.chunk.text for hit in outcome.hits]
    assert holds[0]
    assert holds == sorted(holds, reverse=True)


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("when is the dough kneaded before oven.bake is called", "bread/guide/dough.md"),
        ("dough oven.bake", "bread/recipes/"),
    ],
)
def test_a_name_is_the_topic_of_a_sentence(shelve: Callable[..., Library], mode: Mode, text: str, first: str) -> None:
    recipes = {f"bread/recipes/{n}.md": f"# Loaf {n}\n\nThen `oven.bake` is called.\n" for n in range(11)}
    guide = {"bread/guide/dough.md": "# When dough is kneaded\n\nDough is kneaded before baking.\n"}
    outcome = shelve({**recipes, **guide}).engine().search(Query(text, mode=mode))
    assert outcome.hits[0].document.document.file_path.startswith(first)
