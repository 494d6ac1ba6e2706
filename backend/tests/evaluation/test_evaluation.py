"""Metrics by the textbook, judged questions from files, and how sure a difference is.

* nDCG, precision, recall and reciprocal rank agree with ir-measures (trec_eval's definitions) on random rankings
* a perfect ranking has nDCG 1, and no ranking more
* the interval holds the mean and narrows with more questions; p is small for a clear difference and 1 for none
* files with mistakes are refused with their name and line
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import RR, P, R, nDCG

from librarian.errors import CallerError
from librarian.evaluation.evaluate import (
    MEASURES,
    RatedQuery,
    as_dict,
    evaluate,
    interval,
    load,
    ndcg,
    percentile,
    randomisation,
)

files = st.integers(0, 30).map(lambda number: f"f{number:02}")
rankings = st.lists(files, max_size=25, unique=True)
grades = st.dictionaries(files, st.integers(0, 3), min_size=1, max_size=15)


@settings(max_examples=50, deadline=None)
@given(rankings, grades)
def test_measures_agree_with_ir_measures(ranked: list[str], judged: dict[str, int]) -> None:
    names = {nDCG @ 10: "nDCG@10", P @ 10: "P@10", R @ 10: "recall@10", RR @ 10: "MRR@10"}
    qrels = [ir_measures.Qrel("q", path, grade) for path, grade in judged.items()]
    run = [ir_measures.ScoredDoc("q", path, -float(rank)) for rank, path in enumerate(ranked)]
    expected = ir_measures.calc_aggregate(list(names), qrels, run) if run else dict.fromkeys(names, 0.0)
    for measure, name in names.items():
        assert MEASURES[name](ranked, judged) == pytest.approx(expected[measure])


@settings(max_examples=50, deadline=None)
@given(rankings, grades)
def test_no_ranking_beats_the_ideal_one(ranked: list[str], judged: dict[str, int]) -> None:
    ideal = sorted(judged, key=lambda path: -judged[path])
    assert ndcg(ranked, judged) <= ndcg(ideal, judged) + 1e-12
    assert ndcg(ideal, judged) == pytest.approx(1.0 if any(judged.values()) else 0.0)


def test_the_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    few, many = [0.0, 1.0] * 10, [0.0, 1.0] * 500
    low, high = interval(few)
    assert low < 0.5 < high
    assert interval(few) == (low, high)
    narrow = interval(many)
    assert narrow[1] - narrow[0] < (high - low) / 3
    assert interval([]) == (0.0, 0.0)


def test_a_clear_difference_has_a_small_p_and_none_has_1() -> None:
    assert randomisation([0.9] * 20, [0.1] * 20) < 0.001
    assert randomisation([0.3, 0.7], [0.3, 0.7]) == 1.0
    assert randomisation([0.6, 0.4, 0.5], [0.5, 0.5, 0.5]) > 0.5
    assert randomisation([], []) == 1.0
    assert percentile([], 0.5) == 0.0


def test_every_mode_is_reported_against_the_first() -> None:
    questions = [RatedQuery(str(n), f"q{n}", {"good": 1}) for n in range(12)]

    def search(text: str, mode: str) -> Sequence[str]:
        return ["bad", "bad", "good"] if mode == "keyword" else ["good", "bad"]

    keyword, hybrid = evaluate(questions, search, ["keyword", "hybrid"])
    assert keyword.measures["MRR@10"].mean == 0.5  # a path counts once, at its first place
    assert keyword.measures["MRR@10"].p is None
    assert hybrid.measures["nDCG@10"].mean == 1.0
    assert hybrid.measures["nDCG@10"].p is not None
    assert hybrid.measures["nDCG@10"].p < 0.01
    assert hybrid.p95_ms >= hybrid.p50_ms >= 0
    assert json.loads(json.dumps(as_dict([keyword, hybrid])))["modes"]["hybrid"]["nDCG@10"]["mean"] == 1.0


def write(folder: Path, queries: str, qrels: str) -> tuple[Path, Path]:
    (folder / "queries.jsonl").write_text(queries, "utf-8")
    (folder / "qrels.tsv").write_text(qrels, "utf-8")
    return folder / "queries.jsonl", folder / "qrels.tsv"


def test_questions_without_a_relevant_file_are_left_out(tmp_path: Path) -> None:
    queries = '{"_id": "1", "text": "a"}\n{"_id": 2, "text": "b"}\n\n{"_id": "3", "text": "c"}\n'
    judged = load(*write(tmp_path, queries, "query\tfile\tgrade\n1\tx/a.md\t2\n2\tx/b.md\t1\n3\tx/c.md\t0\n"))
    assert [question.query_id for question in judged] == ["1", "2"]
    assert judged[0].grades == {"x/a.md": 2}


@pytest.mark.parametrize(
    ("queries", "qrels", "message"),
    [
        ('{"_id": "1"}\n', "1\ta\t1\n", "queries.jsonl, line 1"),
        ("nonsense\n", "1\ta\t1\n", "queries.jsonl, line 1"),
        ('{"_id": "1", "text": "a"}\n', "1\ta\t1\n1 b 1\n", "qrels.tsv, line 2"),
        ('{"_id": "1", "text": "a"}\n', "1 a 1\n", "qrels.tsv, line 1"),
        ('{"_id": "1", "text": "a"}\n', "2\ta\t1\n", "No question of queries.jsonl"),
        ('{"_id": "1", "text": null}\n', "1\ta\t1\n", "queries.jsonl, line 1"),
        ('{"_id": null, "text": "a"}\n', "1\ta\t1\n", "queries.jsonl, line 1"),
        ('{"_id": "1", "text": "a"}\n{"_id": 1, "text": "b"}\n', "1\ta\t1\n", "queries.jsonl, line 2"),
        ('{"_id": "1", "text": "a"}\n', "1\ta\t1.5\n", "qrels.tsv, line 1"),
        ('{"_id": "1", "text": "a"}\n', "1\ta\t1\n1\ta\t2\n", "qrels.tsv, line 2"),
        ('{"_id": "1", "text": "a"}\n', "1\ta\thigh\n", "qrels.tsv, line 1"),
    ],
)
def test_mistakes_in_the_files_are_named(tmp_path: Path, queries: str, qrels: str, message: str) -> None:
    with pytest.raises(CallerError, match=message):
        load(*write(tmp_path, queries, qrels))


def test_questions_may_hold_unusual_line_separators_and_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    queries = '\ufeff{"_id": "1", "text": "one\u2028two\u0085three"}\r\n'
    judged = load(*write(tmp_path, queries, "\ufeffquery\tfile\tgrade\r\n1\tx/a.md\t2\r\n"))
    assert [(question.text, question.grades) for question in judged] == [("one\u2028two\u0085three", {"x/a.md": 2})]


@pytest.mark.parametrize("missing", ["queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    queries, qrels = tmp_path / "queries.jsonl", tmp_path / "qrels.tsv"
    queries.write_text('{"_id": "1", "text": "a"}\n')
    qrels.write_text("1\ta\t1\n")
    (tmp_path / missing).unlink()
    with pytest.raises(CallerError, match=re.escape(missing)):
        load(queries, qrels)
