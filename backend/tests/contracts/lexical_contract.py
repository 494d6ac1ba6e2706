"""What every `KeywordIndex` promises, as tests: subclass `LexicalContract` and say how to open one.

* What is put is found after a commit and not before; what is deleted is found by nothing.
* A ranking is ordered by score, ties by id, holds no more than its limit, and its scores lie in 0–1.
* A filtered search gives what an unfiltered one gives after taking away what the selection's mask does not let through.
* Quoted phrases must occur in order; excluded words and phrases must not occur, in a search and among given chunks; no
  query text can break a search.
* Features agree with the search, in the order that was asked for.
* Searches see whole commits while another thread writes; a closed index finds its entries and generation again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from librarian.errors import Unavailable
from librarian.models import AnalyzedQuery, Document, Filters, Ids, KeywordEntry, Selection
from librarian.storage.base import KeywordIndex
from librarian.storage.catalog import SqliteCatalog
from tests.contracts.catalog_contract import document, documents, mails, result, sparse_filters

SEVERAL = [HealthCheck.differing_executors]  # a contract is meant to run for several storages
EVERYTHING = Selection(Filters(), None, 0)
SOME = document("alpha/api/a.md")


def asked(
    *terms: str,
    identifiers: Sequence[str] = (),
    phrases: Sequence[Sequence[str]] = (),
    excluded: Sequence[str] = (),
    excluded_phrases: Sequence[Sequence[str]] = (),
) -> AnalyzedQuery:
    return AnalyzedQuery(
        " ".join(terms),
        terms,
        tuple(identifiers),
        tuple(tuple(words) for words in phrases),
        tuple(excluded),
        excluded_phrases=tuple(tuple(words) for words in excluded_phrases),
    )


def entry(body: str = "", title: str = "", headings: str = "", path: str = "", identifiers: str = "") -> KeywordEntry:
    return KeywordEntry(body, title, headings, path, identifiers)


def single_chunks(ids: Sequence[int], highest: int) -> Selection:
    mask = np.zeros(highest + 1, dtype=np.bool_)
    mask[list(ids)] = True
    return Selection(Filters(), mask, int(mask.sum()))


words = st.sampled_from(("apple", "berry", "cherry", "date"))
bodies = st.lists(st.lists(words, max_size=8).map(" ".join), min_size=1, max_size=12)


class LexicalContract:
    """Subclass, and return a new or reopened index for the folder."""

    def open(self, folder: Path) -> KeywordIndex:
        raise NotImplementedError

    def open_transient(self, folders: pytest.TempPathFactory) -> KeywordIndex:
        """A new index that is never opened again: in memory, where an index can live there."""
        return self.open(folders.mktemp("lexical"))

    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[KeywordIndex]:
        opened = self.open(tmp_path)
        yield opened
        opened.close()

    # -- writing ---------------------------------------------------------------------------------------------------

    def test_a_new_index_is_empty_and_answers(self, index: KeywordIndex) -> None:
        assert (index.count(), index.entry_counts(), index.generation) == (0, {}, 0)
        assert index.search(asked("apple"), EVERYTHING, 5).ids == ()
        assert index.terms("a", 5) == []
        assert index.scores(asked("apple", identifiers=("a.b",)), np.array([1], dtype=np.int64)).tolist() == [0.0]

    def test_what_is_put_is_found_after_the_commit(self, index: KeywordIndex) -> None:
        index.put([(7, 3, SOME, entry("apple berry"))])
        assert index.search(asked("apple"), EVERYTHING, 5).ids == ()
        index.commit(4)
        ranking = index.search(asked("apple"), EVERYTHING, 5)
        assert (ranking.source, ranking.ids, ranking.status) == ("keyword", (7,), "ok")
        assert (index.count(), index.entry_counts(), index.generation) == (1, {3: 1}, 4)

    def test_a_document_can_be_replaced_within_one_commit(self, index: KeywordIndex) -> None:
        index.put([(7, 3, SOME, entry("apple")), (8, 3, SOME, entry("apple"))])
        index.commit(1)
        index.delete([3])
        index.put([(7, 3, SOME, entry("berry"))])
        index.commit(2)
        assert index.search(asked("apple"), EVERYTHING, 5).ids == ()
        assert index.search(asked("berry"), EVERYTHING, 5).ids == (7,)
        assert index.count() == 1

    def test_single_entries_of_a_document_that_stays_can_go(self, index: KeywordIndex) -> None:
        index.put([(7, 3, SOME, entry("apple")), (8, 3, SOME, entry("apple"))])
        index.commit(1)
        index.put([(9, 4, SOME, entry("apple"))])
        index.delete_chunks([8, 9, 99])
        assert set(index.search(asked("apple"), EVERYTHING, 5).ids) == {7, 8}, "not before the commit"
        index.commit(2)
        assert index.search(asked("apple"), EVERYTHING, 5).ids == (7,)
        assert index.entry_counts() == {3: 1}

    def test_a_rollback_forgets_what_wasn_t_committed(self, index: KeywordIndex) -> None:
        index.rollback()
        index.put([(7, 3, SOME, entry("apple"))])
        index.commit(1)
        index.put([(8, 4, SOME, entry("apple"))])
        index.delete([3])
        index.rollback()
        index.put([(9, 5, SOME, entry("apple"))])
        index.commit(2)
        assert index.search(asked("apple"), EVERYTHING, 5).ids == (7, 9)
        assert index.entry_counts() == {3: 1, 5: 1}

    def test_clearing_leaves_nothing(self, index: KeywordIndex) -> None:
        index.put([(1, 1, SOME, entry("apple"))])
        index.commit(9)
        index.clear()
        assert (index.count(), index.entry_counts(), index.generation) == (0, {}, 0)

    def test_a_reopened_index_knows_what_was_committed(self, tmp_path: Path) -> None:
        index = self.open(tmp_path)
        index.put([(1, 1, SOME, entry("apple"))])
        index.commit(5)
        index.put([(2, 2, SOME, entry("apple"))])
        index.close()
        index.close()
        index = self.open(tmp_path)
        assert (index.count(), index.entry_counts(), index.generation) == (1, {1: 1}, 5)
        assert index.search(asked("apple"), EVERYTHING, 5).ids == (1,)
        index.close()

    def test_a_closed_index_says_so(self, index: KeywordIndex) -> None:
        index.close()
        with pytest.raises(Unavailable, match="closed"):
            index.search(asked("apple"), EVERYTHING, 5)
        with pytest.raises(Unavailable, match="closed"):
            index.put([(1, 1, SOME, entry("apple"))])

    @settings(deadline=None, max_examples=25, suppress_health_check=SEVERAL)
    @given(made=bodies, doomed=st.sets(st.integers(0, 11)), wanted=st.lists(words, min_size=1, max_size=3, unique=True))
    def test_what_is_deleted_is_found_by_nothing(
        self, tmp_path_factory: pytest.TempPathFactory, made: list[str], doomed: set[int], wanted: list[str]
    ) -> None:
        index = self.open_transient(tmp_path_factory)
        half = len(made) // 2
        rows = [(100 + n, n, SOME, entry(body)) for n, body in enumerate(made)]
        index.put(rows[:half])
        index.commit(1)
        index.put(rows[half:])
        index.delete(doomed)
        index.commit(2)
        left = {n for n in range(len(made)) if n not in doomed}
        holding = {100 + n for n in left if set(made[n].split()) & set(wanted)}
        assert set(index.search(asked(*wanted), EVERYTHING, 50).ids) == holding
        assert index.entry_counts() == dict.fromkeys(left, 1)
        assert index.count() == len(left)
        index.close()

    # -- ranking ---------------------------------------------------------------------------------------------------

    @settings(deadline=None, max_examples=25, suppress_health_check=SEVERAL)
    @given(made=bodies, wanted=st.lists(words, max_size=4, unique=True), limit=st.integers(0, 6))
    def test_a_ranking_is_ordered_limited_and_within_0_and_1(
        self, tmp_path_factory: pytest.TempPathFactory, made: list[str], wanted: list[str], limit: int
    ) -> None:
        index = self.open_transient(tmp_path_factory)
        index.put([(n, n, SOME, entry(body, title="apple")) for n, body in enumerate(made, start=1)])
        index.commit(1)
        ranking = index.search(asked(*wanted), EVERYTHING, limit)
        assert len(ranking.ids) == len(ranking.raw) == len(ranking.scores) <= limit
        assert list(zip(ranking.raw, ranking.ids, strict=True)) == sorted(
            zip(ranking.raw, ranking.ids, strict=True), key=lambda hit: (-hit[0], hit[1])
        )
        assert all(0 < score <= 1 for score in ranking.scores)
        assert list(ranking.scores) == sorted(ranking.scores, reverse=True)
        index.close()

    def test_a_text_with_all_terms_scores_above_one_with_half_of_them(self, index: KeywordIndex) -> None:
        index.put([(n, n, SOME, entry(f"filler{n}")) for n in range(1, 20)])
        index.put([(20, 20, SOME, entry("apple berry")), (21, 21, SOME, entry("apple other"))])
        index.commit(1)
        ranking = index.search(asked("apple", "berry"), EVERYTHING, 5)
        assert ranking.ids == (20, 21)
        lone = index.search(asked("apple", "unheard"), EVERYTHING, 5)
        assert max(lone.scores) < 0.5 < ranking.scores[0] + 0.3

    def test_identifiers_are_looked_for_whole(self, index: KeywordIndex) -> None:
        index.put([(1, 1, SOME, entry("read", identifiers="ray.read ray.write")), (2, 2, SOME, entry("read"))])
        index.commit(1)
        ranking = index.search(asked("read", identifiers=("ray.read",)), EVERYTHING, 5)
        assert ranking.ids == (1, 2)
        assert index.search(asked(identifiers=("ray.write",)), EVERYTHING, 5).ids == (1,)

    # -- demands ---------------------------------------------------------------------------------------------------

    def test_phrases_must_occur_in_order_in_one_field(self, index: KeywordIndex) -> None:
        index.put(
            [
                (1, 1, SOME, entry("apple berry cherry")),
                (2, 2, SOME, entry("berry apple cherry")),
                (3, 3, SOME, entry("other", title="apple berry")),
                (4, 4, SOME, entry("apple", title="berry")),
            ]
        )
        index.commit(1)
        phrase = asked("apple", "berry", phrases=[("apple", "berry")])
        assert set(index.search(phrase, EVERYTHING, 9).ids) == {1, 3}
        assert set(index.search(asked(phrases=[("apple", "berry")]), EVERYTHING, 9).ids) == {1, 3}
        both = asked("apple", phrases=[("apple", "berry"), ("cherry",)])
        assert index.search(both, EVERYTHING, 9).ids == (1,)

    def test_excluded_words_must_not_occur_anywhere(self, index: KeywordIndex) -> None:
        index.put(
            [
                (1, 1, SOME, entry("apple berry")),
                (2, 2, SOME, entry("apple")),
                (3, 3, SOME, entry("apple", title="berry")),
                (4, 4, SOME, entry("apple", headings="berry")),
                (5, 5, SOME, entry("apple", path="berry")),
            ]
        )
        index.commit(1)
        assert index.search(asked("apple", excluded=["berry"]), EVERYTHING, 9).ids == (2,)
        assert index.search(asked(excluded=["berry"]), EVERYTHING, 9).ids == ()

    def test_an_excluded_phrase_must_not_occur_in_order_in_one_field(self, index: KeywordIndex) -> None:
        index.put(
            [
                (1, 1, SOME, entry("apple berry cherry")),
                (2, 2, SOME, entry("apple cherry berry")),
                (3, 3, SOME, entry("apple", headings="apple berry")),
                (4, 4, SOME, entry("apple", title="berry")),
            ]
        )
        index.commit(1)
        assert set(index.search(asked("apple", excluded_phrases=[("apple", "berry")]), EVERYTHING, 9).ids) == {2, 4}
        both = asked("apple", excluded=["cherry"], excluded_phrases=[("apple", "berry"), ("not", "there")])
        assert index.search(both, EVERYTHING, 9).ids == (4,)

    def test_given_chunks_are_held_against_the_demands_whatever_else_they_say(self, index: KeywordIndex) -> None:
        index.put(
            [
                (4, 1, SOME, entry("apple berry cherry")),
                (3, 1, SOME, entry("cherry apple berry")),
                (2, 2, SOME, entry("apple", title="berry", path="cherry")),
                (1, 2, SOME, entry("date", headings="apple berry")),
            ]
        )
        index.commit(1)
        every = np.array([4, 1, 77, 3, 2], dtype=np.int64)

        def admitted(chunk_ids: Ids = every, **demands: Sequence[Sequence[str]] | Sequence[str]) -> list[int]:
            return index.admitted(asked("apple", identifiers=["a.b"], **demands), chunk_ids).tolist()  # type: ignore[arg-type]

        assert admitted() == [1, 2, 3, 4]
        assert admitted(excluded=["berry"]) == []
        assert admitted(excluded=["cherry"]) == [1], "where a path is looked at for a word, it excludes by it too"
        assert admitted(phrases=[["apple", "berry"]]) == [1, 3, 4]
        assert admitted(phrases=[["apple", "berry"]], excluded=["date"]) == [3, 4]
        assert admitted(every[:2], phrases=[["apple", "berry"], ["cherry"]]) == [4]
        assert admitted(every[:0], excluded=["berry"]) == []
        assert admitted(np.arange(1000), excluded=["cherry"]) == [1]
        assert admitted(excluded_phrases=[["apple", "berry"]]) == [2]

    @settings(deadline=None, max_examples=25, suppress_health_check=SEVERAL)
    @given(text=st.text(min_size=1, max_size=30))
    def test_no_text_breaks_a_search(self, tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
        index = self.open_transient(tmp_path_factory)
        index.put([(1, 1, SOME, entry(text, text, text, text, text))])
        index.commit(1)
        query = asked(text, identifiers=[text], phrases=[[text, text]], excluded=[text])
        index.search(query, EVERYTHING, 5)
        index.scores(query, np.array([1], dtype=np.int64))
        index.terms(text, 3)
        assert index.count() == 1
        index.close()

    # -- filters ---------------------------------------------------------------------------------------------------

    @settings(deadline=None, max_examples=30, suppress_health_check=SEVERAL)
    @given(
        made=st.lists(st.one_of(documents, mails), min_size=1, max_size=12, unique_by=lambda each: each.file_path),
        wanted=st.lists(sparse_filters, min_size=1, max_size=8),
    )
    def test_a_filtered_search_is_the_masked_unfiltered_one(
        self, tmp_path_factory: pytest.TempPathFactory, made: list[Document], wanted: list[Filters]
    ) -> None:
        folder = tmp_path_factory.mktemp("filters")
        catalog = SqliteCatalog(folder / "catalog.sqlite", shared_products=["shared"])
        index = self.open_transient(tmp_path_factory)
        for each, stored in zip(made, catalog.put([result(each) for each in made]), strict=True):
            body = "a mail one" if each.email else each.text
            index.put([(n, stored.doc_id, each, entry(body, title="any")) for n in stored.chunk_ids])
        index.commit(1)
        columns = catalog.columns()
        query = asked("one", "any", "mail")
        everything = index.search(query, EVERYTHING, 500)
        for filters in wanted:
            selection = columns.select(filters)
            kept = [
                (chunk_id, score)
                for chunk_id, score in zip(everything.ids, everything.raw, strict=True)
                if selection.mask is None or selection.mask[chunk_id]
            ]
            ranking = index.search(query, selection, 500)
            assert list(ranking.ids) == [chunk_id for chunk_id, _ in kept]
            assert ranking.raw == pytest.approx([score for _, score in kept])
        index.close()
        catalog.close()

    @pytest.mark.parametrize("many", [3, 700])
    def test_single_chunks_can_be_selected_few_or_many(self, index: KeywordIndex, many: int) -> None:
        index.put([(n, 1 + n // 10, SOME, entry("apple")) for n in range(1, 1001)])
        index.commit(1)
        chosen = list(range(2, 2 + many))
        ranking = index.search(asked("apple"), single_chunks(chosen, 1000), 2000)
        assert sorted(ranking.ids) == chosen
        assert index.search(asked("apple"), single_chunks([], 1000), 10).ids == ()

    def test_a_filter_that_most_pass_still_finds_the_few_best_of_them(self, index: KeywordIndex) -> None:
        index.put([(n, 1, SOME, entry("apple apple")) for n in range(1, 401)])
        index.put([(n, 2, SOME, entry("apple other")) for n in range(401, 801)])
        index.commit(1)
        for chosen in (range(401, 801), range(201, 601), range(1, 401)):
            ranking = index.search(asked("apple"), single_chunks(chosen, 800), 10)
            assert len(ranking.ids) == 10
            assert set(ranking.ids) <= set(chosen)
            best = [n for n in chosen if n <= 400]
            assert not best or set(ranking.ids) <= set(best)

    # -- scores and words ------------------------------------------------------------------------------------------

    def test_scores_agree_with_the_search_in_the_order_asked_for(self, index: KeywordIndex) -> None:
        index.put(
            [
                (1, 1, SOME, entry("apple apple berry", title="apple", headings="x", path="api", identifiers="a.b")),
                (2, 1, SOME, entry("cherry", title="apple", headings="berry", path="apple", identifiers="a.b c.d")),
                (3, 2, SOME, entry("nothing here")),
            ]
        )
        index.commit(1)
        query = asked("apple", "berry", identifiers=["a.b", "c.d"], phrases=[["not", "there"]], excluded=["cherry"])
        order = np.array([3, 2, 1, 77, 2], dtype=np.int64)
        found = index.scores(query, order)
        ranking = index.search(asked("apple", "berry", identifiers=["a.b", "c.d"]), EVERYTHING, 9)
        scores = dict(zip(ranking.ids, ranking.scores, strict=True))
        assert found.tolist() == pytest.approx([0.0, scores[2], scores[1], 0.0, scores[2]], rel=1e-5)
        assert found.dtype == np.float32
        assert (index.scores(asked(identifiers=["c.d"]), order) > 0).tolist() == [False, True, False, False, True]

    def test_without_terms_or_chunks_scores_are_zeros(self, index: KeywordIndex) -> None:
        index.put([(1, 1, SOME, entry("apple"))])
        index.commit(1)
        assert index.scores(asked(), np.array([1], dtype=np.int64)).tolist() == [0.0]
        assert index.scores(asked("apple"), np.empty(0, dtype=np.int64)).tolist() == []

    def test_vocabulary_gives_the_most_frequent_terms_first(self, index: KeywordIndex) -> None:
        index.put(
            [(n, n, SOME, entry(body)) for n, body in enumerate(["pod", "pods pod", "pod port", "port", "other"])]
        )
        index.commit(1)
        assert index.terms("po", 2) == ["pod", "port"]
        assert index.terms("po", 9) == ["pod", "port", "pods"]
        assert index.terms("zz", 9) == []

    def test_vocabulary_gives_the_most_frequent_identifiers_first(self, index: KeywordIndex) -> None:
        for number, names in enumerate(["max_age e42", "max_age", "max_age --all", "--all", ""], start=1):
            index.put([(number, number, SOME, entry("some words", identifiers=names))])
        index.commit(1)
        assert index.terms("", 9, identifiers=True) == ["max_age", "--all", "e42"]
        assert index.terms("", 1, identifiers=True) == ["max_age"]
        assert index.terms("e", 9, identifiers=True) == ["e42"]
        assert index.terms("words", 9, identifiers=True) == []

    def test_terms_occur_that_any_field_but_the_identifiers_holds(self, index: KeywordIndex) -> None:
        index.put([(1, 1, SOME, entry("apple it's", title="berry", headings="cherry", path="date", identifiers="a.b"))])
        assert index.frequencies(["apple"]) == {}
        index.commit(1)
        asked_for = ["apple", "berry", "cherry", "date", "it's", "a.b", "app", "zz", "", "a & b", "'"]
        assert index.frequencies(asked_for) == dict.fromkeys(("apple", "berry", "cherry", "date", "it's"), 1)
        assert index.frequencies([]) == {}

    # -- states ----------------------------------------------------------------------------------------------------

    def test_searches_see_whole_commits_while_another_thread_writes(self, index: KeywordIndex) -> None:
        index.put([(n, 1, SOME, entry("apple")) for n in range(1, 6)])
        index.commit(1)
        wrong: list[int] = []
        done = threading.Event()

        def search() -> None:
            while not done.is_set():
                found = len(index.search(asked("apple"), EVERYTHING, 99).ids)
                if found != 5:
                    wrong.append(found)

        readers = [threading.Thread(target=search) for _ in range(2)]
        for reader in readers:
            reader.start()
        for turn in range(2, 12):
            index.delete([turn - 1])
            index.put([(turn * 10 + n, turn, SOME, entry("apple")) for n in range(5)])
            index.commit(turn)
        done.set()
        for reader in readers:
            reader.join(30)
        assert wrong == []
        assert index.entry_counts() == {11: 5}
