"""Several models in one library: what is proved here.

* Every passage has vectors of its product's model, and of no other, however products come to other models (property).
* A library without further spaces keeps nothing about any.
* A model that can't be loaded leaves its own products without vectors, says so, and keeps no other one waiting.
* What belongs to a space goes with its last product; a kill at any step leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from librarian.shelving.spaces import Space, own_products, products_by_space
from librarian.vocabulary.errors import Unavailable
from librarian.vocabulary.protocols import Embedder
from librarian.vocabulary.types import Filters, Products
from tests.models.fakes import FakeEmbedder
from tests.shelving.library import Killed, Library


class Spaced(Library):
    """A library whose `models` say which product has a model of its own."""

    def __init__(self, folder: Path) -> None:
        self.models: dict[str, str] = {}
        self.others = {name: FakeEmbedder(48, name=name) for name in ("small", "large")}
        self.broken: dict[str, str] = {}
        super().__init__(folder)
        for product in ("alpha", "beta", "gamma"):
            for number in range(2):
                self.write(
                    f"{product}/guide/{number}.md", f"# {product} {number}\n\nThe {product} page number {number}.\n"
                )
        self.further = self.wanted
        self.reopen()

    def wanted(self) -> list[Space]:
        return [
            Space(self.making(name), name, name, Products(frozenset(of), others=False))
            for name in sorted(set(self.models.values()))
            if (of := {product for product, chosen in self.models.items() if chosen == name})
        ]

    def making(self, name: str) -> Callable[[], Embedder]:
        def make() -> Embedder:
            if name in self.broken:
                raise Unavailable(self.broken[name], hint="Mend it.")
            return self.others[name]

        return make

    def embedded_by(self) -> dict[str, set[str]]:
        """Product → the models that have vectors of it, in the catalog and in the stores alike."""
        found: dict[str, set[str]] = {}
        columns = self.catalog.columns()
        with self.catalog.read() as reader:
            documents = {stored.doc_id: stored.document.product for stored in reader.iter_documents()}
            for embedder in (self.embedder, *self.others.values()):
                held = {number // 64 for number, _ in self.catalog.windows(embedder.fingerprint)}
                store = self.store_kept.get(embedder.fingerprint)
                assert held == ({int(number) // 64 for number in store.ids()} if store else set())
                for chunk in reader.chunks(sorted(held)).values():
                    found.setdefault(documents[chunk.doc_id], set()).add(embedder.spec.name)
            assert columns.select(Filters()).count == reader.count().chunks
        return found


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Spaced]:
    made = Spaced(tmp_path)
    yield made
    made.close()


def test_a_product_is_embedded_by_its_own_model_and_by_no_other(library: Spaced) -> None:
    library.models = {"beta": "small"}
    library.complete()
    assert library.embedded_by() == {"alpha": {"fake"}, "beta": {"small"}, "gamma": {"fake"}}
    with library.catalog.read() as reader:
        count = reader.count()
        assert count.embedded_chunks == count.chunks == 6
        assert own_products(reader) == Products(frozenset({"beta"}))
    assert (library.embedder.calls, library.others["small"].calls) == (4, 2)
    assert library.indexer.model() == library.embedder.fingerprint
    (space,) = library.indexer.spaces()
    assert (space.name, space.products) == ("small", frozenset({"beta"}))
    assert space.fingerprint == library.others["small"].fingerprint
    assert library.indexer.check() == []


def test_without_further_spaces_nothing_is_kept_about_any(library: Spaced) -> None:
    library.complete()
    with library.catalog.read() as reader:
        assert reader.meta("spaces") == ""
        assert own_products(reader).everything
    assert library.indexer.spaces() == ()
    assert library.embedded_by() == {product: {"fake"} for product in ("alpha", "beta", "gamma")}


def test_a_changed_page_is_embedded_by_its_space_alone(library: Spaced) -> None:
    library.models = {"beta": "small"}
    library.complete()
    before = library.embedder.calls
    library.write("beta/guide/0.md", "# Beta\n\nAnother text.\n")
    library.complete()
    assert (library.embedder.calls, library.others["small"].calls) == (before, 3)
    library.reopen()
    library.complete()
    assert library.others["small"].calls == 3


def test_a_model_that_fails_leaves_only_its_own_products_without_vectors(library: Spaced) -> None:
    library.models = {"alpha": "large", "beta": "small"}
    library.broken["large"] = "The model isn't here."
    library.complete()
    assert library.embedded_by() == {"beta": {"small"}, "gamma": {"fake"}}
    assert library.indexer.problems() == {"embeddings of alpha": "The model isn't here. Mend it."}
    assert library.indexer.state() == "degraded"
    library.write("gamma/guide/new.md", "# New\n\nA page that comes meanwhile.\n")
    library.complete()
    with library.catalog.read() as reader:
        assert reader.count().embedded_chunks == 5
    library.broken.clear()
    library.complete()
    assert library.indexer.state() == "degraded"  # it rests
    library.indexer.retry()
    library.complete()
    assert library.embedded_by() == {"alpha": {"large"}, "beta": {"small"}, "gamma": {"fake"}}
    assert library.indexer.problems() == {}


def test_in_the_background_the_failed_space_is_tried_again_later(library: Spaced) -> None:
    library.models = {"beta": "small"}
    library.broken["small"] = "No space left."
    with library.indexer as indexer:
        indexer.start()
        assert indexer.wait_until_ready(20)
        assert indexer.problems() == {"embeddings of beta": "No space left. Mend it."}
        assert library.embedded_by() == {"alpha": {"fake"}, "gamma": {"fake"}}
        library.write("gamma/guide/new.md", "# New\n\nA page that comes meanwhile.\n")
        indexer.changed(frozenset({str(library.root / "gamma/guide/new.md")}))
        assert indexer.wait_until_ready(20)
        with library.catalog.read() as reader:
            assert reader.count().embedded_chunks == 5
        library.broken.clear()
        indexer.retry()
        assert indexer.wait_until_ready(20)
        assert indexer.problems() == {}
        assert library.embedded_by()["beta"] == {"small"}


def test_a_space_goes_with_its_last_product(library: Spaced) -> None:
    library.models = {"alpha": "small", "beta": "small"}
    library.complete()
    small = library.others["small"].fingerprint
    for product in ("alpha", "beta"):
        for path in (library.root / product / "guide").iterdir():
            path.unlink()
        library.complete()
        library.indexer.prune()
        library.indexer.embed()
    assert library.indexer.spaces() == ()
    assert library.store(small).count() == 0
    assert library.archive.count(small) == 0
    with library.catalog.read() as reader:
        assert reader.meta("model of small") == ""
        assert products_by_space(reader) == {}


def test_a_full_look_notices_that_a_product_has_another_model(library: Spaced) -> None:
    with library.indexer as indexer:
        indexer.start()
        assert indexer.wait_until_ready(20)
        library.models = {"gamma": "large"}
        indexer.look_at_everything()
        assert indexer.wait_until_ready(20)
        assert library.embedded_by()["gamma"] == {"large"}
        library.models = {}
        indexer.look_at_everything()
        assert indexer.wait_until_ready(20)
        assert library.embedded_by()["gamma"] == {"fake"}


def test_the_librarys_own_model_may_become_a_products_and_back(library: Spaced) -> None:
    library.models = {"beta": "small"}
    library.complete()
    library.embedder, library.others["small"] = library.others["small"], library.embedder
    library.others["fake"] = library.others.pop("small")
    library.models, library.model_key = {"beta": "fake"}, "small"
    library.reopen()
    library.complete()
    assert library.embedded_by() == {"alpha": {"small"}, "beta": {"fake"}, "gamma": {"small"}}
    library.indexer.rebuild()
    library.indexer.embed()
    assert library.embedded_by() == {"alpha": {"small"}, "beta": {"fake"}, "gamma": {"small"}}


MODELS = st.dictionaries(st.sampled_from(["alpha", "beta", "gamma"]), st.sampled_from(["small", "large"]))
STEPS = st.sampled_from(["", "", "archive put", "store upsert", "mark", "stores delete"])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(MODELS, STEPS), min_size=1, max_size=5))
def test_every_passage_has_vectors_of_its_products_model_and_of_no_other(
    tmp_path_factory: pytest.TempPathFactory, story: list[tuple[dict[str, str], str]]
) -> None:
    library = Spaced(tmp_path_factory.mktemp("spaced"))
    try:
        for number, (models, step) in enumerate(story):
            library.models, library.fault_at = models, step
            library.write("beta/guide/0.md", f"# Beta\n\nText number {number}.\n")
            try:
                library.complete()
            except Killed:
                library.fault_at = ""
                library.store_kept.clear()
                library.reopen()
                library.complete()
            library.fault_at = ""
            wanted = {product: {models.get(product, "fake")} for product in ("alpha", "beta", "gamma")}
            assert library.embedded_by() == wanted
            assert {space.name for space in library.indexer.spaces()} == set(models.values())
            assert library.indexer.check() == []
    finally:
        library.close()
