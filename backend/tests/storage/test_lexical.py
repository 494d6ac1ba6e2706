"""The tantivy index: the contract, its arithmetic against two oracles, and what only a folder can show.

* Raw scores are BM25 with tantivy's length table, summed over weighted fields: checked against the formula by hand and
  against rank-bm25.
* `reach` bounds every score, and a text of nothing but the query's words approaches it.
* A broken folder, another format and a folder in use are told apart; an index made for another catalog is emptied.
"""

from __future__ import annotations

import contextlib
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from librarian.errors import Damaged, Unavailable
from librarian.models import AnalyzedQuery, KeywordEntry
from librarian.storage.keyword_index import K1, TantivyIndex, idf
from librarian.storage.keyword_schema import STATE_FILE, FieldWeights
from librarian.text.analyzer import StandardAnalyzer
from tests.contracts.lexical_contract import EVERYTHING, SOME, LexicalContract, asked, entry, single_chunks

B = 0.75  # tantivy's, as K1 is


class TestTantivyIndex(LexicalContract):
    def open(self, folder: Path) -> TantivyIndex:
        return TantivyIndex(folder / "lexical")

    def open_transient(self, folders: pytest.TempPathFactory) -> TantivyIndex:
        return TantivyIndex(None, dense_share=math.inf)


def stored_length(length: int) -> int:
    """The length that tantivy keeps in one byte: exact to 40, then rounded down to 4 significant bits above 24."""
    rest = length - 24
    if rest < 16:
        return length
    shift = rest.bit_length() - 4
    return 24 + (rest >> shift << shift)


def bm25(query: AnalyzedQuery, entries: Sequence[KeywordEntry], weights: FieldWeights) -> list[float]:
    """The textbook formula, field by field."""
    scores = [0.0] * len(entries)
    for field in ("body", "title", "headings", "path", "identifiers"):
        texts = [getattr(each, field).split() for each in entries]
        mean = sum(map(len, texts)) / len(texts)
        for term in query.identifiers if field == "identifiers" else query.terms:
            weight = getattr(weights, field) * idf(sum(term in text for text in texts), len(texts))
            for place, text in enumerate(texts):
                if term in text:
                    tf = text.count(term)
                    norm = K1 * (1 - B + B * stored_length(len(text)) / mean)
                    scores[place] += weight * tf * (K1 + 1) / (tf + norm)
    return scores


words = st.sampled_from(("apple", "berry", "cherry", "date", "elder"))
texts = st.lists(words, max_size=90).map(" ".join)
entries = st.lists(st.builds(KeywordEntry, texts, texts, texts, texts, texts), min_size=1, max_size=10)


def made_of(made: Sequence[KeywordEntry], weights: FieldWeights = FieldWeights()) -> TantivyIndex:
    index = TantivyIndex(None, weights=weights)
    index.put([(n, n, SOME, each) for n, each in enumerate(made)])
    index.commit(1)
    return index


def reach_of(index: TantivyIndex, query: AnalyzedQuery) -> float:
    return index._reach(index._searcher, query)


@settings(deadline=None, max_examples=40)
@given(
    made=entries,
    terms=st.lists(words, max_size=3, unique=True),
    names=st.lists(words, max_size=2, unique=True),
    weights=st.builds(FieldWeights, *[st.sampled_from((0.0, 0.2, 0.5, 1.0, 2.0))] * 5),
)
def test_raw_scores_are_bm25_over_weighted_fields(
    made: list[KeywordEntry], terms: list[str], names: list[str], weights: FieldWeights
) -> None:
    index = made_of(made, weights)
    query = asked(*terms, identifiers=names)
    ranking = index.search(query, EVERYTHING, 99)
    expected = {n: score for n, score in enumerate(bm25(query, made, weights)) if score > 0}
    assert dict(zip(ranking.ids, ranking.raw, strict=True)) == pytest.approx(expected, rel=1e-4)
    assert all(raw <= reach_of(index, query) for raw in ranking.raw)
    index.close()


@settings(deadline=None, max_examples=25)
@given(
    made=st.lists(st.lists(words, min_size=1, max_size=39), min_size=2, max_size=12),
    terms=st.lists(words, min_size=1, max_size=3, unique=True),
)
def test_one_field_is_ordered_as_by_rank_bm25(made: list[list[str]], terms: list[str]) -> None:
    index = made_of([entry(" ".join(text)) for text in made], FieldWeights(1, 0, 0, 0, 0))
    oracle = BM25Okapi(made, k1=K1, b=B)
    oracle.idf = {term: idf(sum(term in text for text in made), len(made)) for text in made for term in text}
    expected = {n: score for n, score in enumerate(oracle.get_scores(terms)) if score > 0}
    ranking = index.search(asked(*terms), EVERYTHING, 99)
    assert dict(zip(ranking.ids, ranking.raw, strict=True)) == pytest.approx(expected, rel=1e-4)
    index.close()


@pytest.mark.parametrize(("length", "kept"), [(0, 0), (39, 39), (40, 40), (41, 40), (42, 42), (100, 96), (1000, 984)])
def test_the_length_table_of_the_oracle_is_tantivys(length: int, kept: int) -> None:
    assert stored_length(length) == kept


def test_reach_is_approached_by_a_text_of_nothing_but_the_terms() -> None:
    full, other = "apple " * 100, "other " * 100
    index = made_of([entry(full, title=full), *[entry(other, title=other) for _ in range(20)]], FieldWeights(1, 0.5, 0))
    query = asked("apple")
    (score,) = index.search(query, EVERYTHING, 9).scores
    assert 0.98 < score < 1
    assert reach_of(index, query) == pytest.approx(1.5 * (K1 + 1) * idf(1, 21))
    index.close()


def test_a_term_that_occurs_nowhere_counts_as_one_the_body_could_hold() -> None:
    index = made_of([entry("apple"), entry("other")])
    missing = reach_of(index, asked("apple", "unheard")) - reach_of(index, asked("apple"))
    assert missing == pytest.approx((K1 + 1) * idf(0, 2))
    assert reach_of(index, asked()) == 1.0
    index.close()


def test_deleted_entries_that_await_merging_raise_no_score() -> None:
    full = "apple " * 40
    index = made_of([entry(full, title=full)] * 5 + [entry("other", title="other")] * 15)
    query = asked("apple")
    before, reach = index.search(query, EVERYTHING, 9), reach_of(index, query)
    index.delete([*range(1, 5), *range(7, 20)])
    index.commit(2)
    assert index.count() == 3
    after = index.search(query, EVERYTHING, 9)
    assert reach_of(index, query) == reach
    assert after.scores[0] == before.scores[0] == pytest.approx(after.raw[0] / reach)
    index.close()


@settings(deadline=None, max_examples=30)
@given(
    made=st.lists(st.lists(words, min_size=1, max_size=5).map(" ".join), min_size=1, max_size=30),
    passing=st.sets(st.integers(1, 30), min_size=1),
    limit=st.integers(1, 6),
)
def test_ranking_first_and_filtering_first_give_the_same(made: list[str], passing: set[int], limit: int) -> None:
    indexes = [TantivyIndex(None, dense_share=share) for share in (0.0, math.inf)]
    rankings = []
    for index in indexes:
        index.put([(n, n, SOME, entry(body)) for n, body in enumerate(made, start=1)])
        index.commit(1)
        rankings.append(index.search(asked("apple", "berry"), single_chunks(sorted(passing), 30), limit))
        index.close()
    assert rankings[0].raw == pytest.approx(rankings[1].raw)
    assert set(rankings[0].ids) <= passing


# -- the folder ----------------------------------------------------------------------------------------------------


def filled(path: Path) -> None:
    index = TantivyIndex(path, identity="mine")
    index.put([(1, 1, SOME, entry("apple " * 50))])
    index.commit(3)
    index.close()


def test_an_index_made_for_another_catalog_is_emptied(tmp_path: Path) -> None:
    filled(tmp_path)
    same = TantivyIndex(tmp_path, identity="mine")
    assert (same.count(), same.generation) == (1, 3)
    same.close()
    other = TantivyIndex(tmp_path, identity="other")
    assert (other.count(), other.generation) == (0, 0)
    other.close()
    again = TantivyIndex(tmp_path, identity="other")
    assert again.count() == 0
    again.close()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (STATE_FILE, None),
        (STATE_FILE, "not json"),
        (STATE_FILE, '{"format": 99, "identity": "", "generation": 1}'),
        ("meta.json", "{}"),
        ("*.term", "x"),
        ("*.store", None),
        ("*.fast", "x"),
    ],
)
def test_a_broken_folder_is_damaged_and_can_be_made_anew(tmp_path: Path, name: str, content: str | None) -> None:
    path = tmp_path / "lexical"
    filled(path)
    for file in path.glob(name):
        if content is None:
            file.unlink()
        else:
            file.write_text(content)
    with pytest.raises(Damaged, match="made again"):
        TantivyIndex(path, identity="mine")
    again = TantivyIndex.sound(path, identity="mine")
    assert again.count() == 0
    again.close()


def scratch(file: Path) -> None:
    """Overwrite the file in place, as an open index sees it, but for its end."""
    size = file.stat().st_size
    with file.open("r+b") as opened:
        opened.write(b"\xff" * max(size - 200, size // 2))


@pytest.mark.parametrize("kind", ["term", "idx", "fast", "pos", "fieldnorm", "store"])
def test_an_index_whose_files_break_while_it_is_open_never_fails_with_a_panic(tmp_path: Path, kind: str) -> None:
    filled(tmp_path / "lexical")
    index = TantivyIndex(tmp_path / "lexical", identity="mine")
    for file in (tmp_path / "lexical").glob(f"*.{kind}"):
        scratch(file)
    with contextlib.suppress(Exception):  # a panic is none: it would end the thread
        index.search(asked("apple"), EVERYTHING, 10)
    with contextlib.suppress(Exception):
        index.entry_counts()
    index.close()
    again = TantivyIndex.sound(tmp_path / "lexical", identity="mine")
    if index.damage:
        assert again.count() == 0, "it is made again"
    again.close()


def test_an_index_that_cannot_be_read_says_so_and_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "lexical"
    filled(path)
    index = TantivyIndex(path, identity="mine")
    assert index.damage == ""
    index.give_up(RuntimeError("a bad block"))
    assert "a bad block" in index.damage
    index.put([(9, 9, SOME, entry("pear"))])
    index.commit(9)
    index.close()
    with pytest.raises(Damaged, match="made again"):
        TantivyIndex(path, identity="mine")
    again = TantivyIndex.sound(path, identity="mine")
    assert (again.count(), again.damage) == (0, "")
    again.close()


def test_clearing_a_damaged_index_makes_it_usable(tmp_path: Path) -> None:
    filled(tmp_path / "lexical")
    index = TantivyIndex(tmp_path / "lexical", identity="mine")
    index.give_up(RuntimeError("a bad block"))
    index.clear()
    assert (index.count(), index.damage) == (0, "")
    index.close()
    TantivyIndex(tmp_path / "lexical", identity="mine").close()


def test_a_folder_that_another_index_writes_to_is_in_use(tmp_path: Path) -> None:
    first = TantivyIndex(tmp_path)
    first.put([(1, 1, SOME, entry("apple"))])
    first.commit(1)
    second = TantivyIndex(tmp_path)
    with pytest.raises(Unavailable, match="can't be written"):
        second.put([(2, 2, SOME, entry("apple"))])
    first.close()
    second.put([(2, 2, SOME, entry("apple"))])
    second.commit(2)
    assert second.count() == 2
    second.close()


def test_many_small_commits_are_merged_into_few_segments(tmp_path: Path) -> None:
    index = TantivyIndex(tmp_path)
    for number in range(25):
        index.put([(number, number, SOME, entry(f"apple w{number}"))])
        index.commit(number)
    index.close()
    index = TantivyIndex(tmp_path)
    assert index.count() == 25
    assert index._searcher.num_segments < 10
    index.close()


def test_a_writer_that_was_killed_is_followed_by_another(tmp_path: Path) -> None:
    path = tmp_path / "lexical"
    index = TantivyIndex(path)
    index.put([(1, 1, SOME, entry("apple"))])
    index.commit(1)
    kept = path.rename(tmp_path / "away")  # as a full disk: nothing can be written any more
    with pytest.raises(Unavailable, match=r"can't be written.*free space"):
        index.put(repeat((2, 2, SOME, entry("apple"))))
    kept.rename(path)
    index.put([(3, 3, SOME, entry("pear"))])
    index.commit(2)
    assert index.count() == 2
    index.close()


def test_a_commit_that_cannot_be_written_is_told_and_searches_go_on(tmp_path: Path) -> None:
    path = tmp_path / "lexical"
    index = TantivyIndex(path)
    index.put([(1, 1, SOME, entry("apple"))])
    index.commit(1)
    shutil.rmtree(path)
    index.put([(2, 2, SOME, entry("apple"))])
    with pytest.raises(Unavailable, match="can't be written"):
        index.commit(2)
    assert index.search(asked("apple"), EVERYTHING, 9).ids == (1,)
    assert index.generation == 1
    index.close()


@settings(deadline=None, max_examples=25)
@given(made=entries, terms=st.lists(words, max_size=3, unique=True), limit=st.integers(1, 20))
def test_scores_by_the_text_alone_are_those_of_an_index_of_texts(
    made: list[KeywordEntry], terms: list[str], limit: int
) -> None:
    index = made_of(made)
    query = asked(*terms)
    ids, scores = index.body_scores(query, EVERYTHING, limit)
    assert ids.tolist() == sorted(ids.tolist())
    alone = made_of(made, FieldWeights(1, 0, 0, 0, 0))
    ranking = alone.search(query, EVERYTHING, len(made))
    every = {number: raw / reach_of(index, query) for number, raw in zip(ranking.ids, ranking.raw, strict=True)}
    assert scores.tolist() == pytest.approx([every.pop(number) for number in ids.tolist()], rel=1e-5)
    assert len(ids) == min(limit, len(ranking.ids))
    assert scores.min(initial=1e9) >= max(every.values(), default=0.0) - 1e-6
    alone.close()
    index.close()


def test_a_borrowed_word_in_another_language_s_page_does_not_outrank_the_asker_s_own() -> None:
    english = ("the ready service", *repeat("a ready pod", 8), *repeat("each request", 8))
    texts = [*((text, "en") for text in english), ("ist der Dienst ready, kommen Requests", "de")]
    analyzer = StandardAnalyzer()
    index = made_of([KeywordEntry(analyzer.entry(text, of)[0], "", "", "", "") for text, of in texts])
    question = analyzer.query("when is the service ready for requests", ["en", "de"])
    assert question.other_stems == ("ready", "requ")
    assert index.search(replace(question, other_stems=()), EVERYTHING, 9).ids[0] == len(english)
    assert index.search(question, EVERYTHING, 9).ids[0] == 0
    assert analyzer.query("service ready requests", ["en", "de"]).other_stems == ()  # it doesn't tell its language
