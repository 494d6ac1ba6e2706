"""Arguments are checked once, and each refusal names the argument, the value and what would be right."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from librarian.documents import validation
from librarian.documents import validation as check
from librarian.documents.dependencies import LibraryOptions
from librarian.errors import CallerError, NotFound

OPTIONS = LibraryOptions("1", Path("docs"), Path("index"))


def test_a_mode_is_accepted_in_any_case() -> None:
    assert check.mode_name(" Hybrid ") == "hybrid"


def test_an_unknown_mode_names_the_six_and_the_nearest() -> None:
    with pytest.raises(CallerError, match=r"mode 'semantik' is unknown.*keyword, semantic.*Did you mean 'semantic'"):
        check.mode_name("semantik")


@pytest.mark.parametrize("value", ["", "   ", None, 7])
def test_an_empty_or_foreign_query_is_refused(value: object) -> None:
    with pytest.raises(CallerError, match="query"):
        check.query_text(value)


def test_a_query_of_three_thousand_characters_is_refused_with_both_lengths() -> None:
    with pytest.raises(CallerError, match="3000 characters; at most 2000"):
        check.query_text("x" * 3000)


def test_a_text_too_long_to_look_for_names_the_argument() -> None:
    assert check.text_or_none("section", "x" * 20_000)
    with pytest.raises(CallerError, match=r"section has 20001 characters; at most 20000 are allowed"):
        check.text_or_none("section", "x" * 20_001)


@pytest.mark.parametrize(("value", "expected"), [(5, 5), ("5", 5), (5.0, 5), (1, 1), (50, 50)])
def test_whole_numbers_come_in_three_spellings(value: object, expected: int) -> None:
    assert check.whole_number("max_results", value, 1, 50) == expected


@pytest.mark.parametrize("value", [0, 51, -1, "x", 1.5, True, None])
def test_a_number_out_of_range_or_kind_names_the_argument(value: object) -> None:
    with pytest.raises(CallerError, match="max_results"):
        check.whole_number("max_results", value, 1, 50)


def test_a_number_that_is_too_large_is_said_to_be_so() -> None:
    assert check.whole_number("offset", 10**15 - 1, 0, None) == 10**15 - 1
    with pytest.raises(CallerError, match="offset is 1000000000000000; it must be 0 to 999999999999999"):
        check.whole_number("offset", 10**15, 0, None)
    with pytest.raises(CallerError, match=r"max_results is 10+…0+; it must be 1 to 50"):
        check.whole_number("max_results", 10**400, 1, 50)
    with pytest.raises(CallerError, match="offset is -1; it must be 0 or more"):
        check.whole_number("offset", -1, 0, None)


@pytest.mark.parametrize(
    ("value", "truth"),
    [(None, None), (True, True), (" Yes", True), ("1", True), ("on", True), ("No ", False), ("0", False)],
)
def test_a_truth_comes_as_such_or_as_a_word(value: object, truth: bool | None) -> None:
    assert check.truth("has_attachments", value) is truth


@pytest.mark.parametrize("value", ["maybe", "", 1, 0.0, ["true"]])
def test_what_is_neither_true_nor_false_names_the_argument(value: object) -> None:
    with pytest.raises(CallerError, match="has_attachments must be true or false"):
        check.truth("has_attachments", value)


@pytest.mark.parametrize("value", [-0.1, 1.1, "much", True, float("nan")])
def test_a_weight_lies_between_zero_and_one(value: object) -> None:
    with pytest.raises(CallerError, match="semantic_weight"):
        check.fraction("semantic_weight", value)


def test_file_types_are_one_spelling() -> None:
    assert check.extensions(["md", ".MD", " .docx"]) == (".md", ".docx")
    assert check.extensions("md, txt") == (".md", ".txt")
    assert check.extensions("*.md") == (".md",)
    assert check.extensions(None) == ()


def test_a_bare_date_means_its_first_or_its_last_moment() -> None:
    assert check.moment("modified_after", "2025-03-01", end=False) == "2025-03-01T00:00:00Z"
    assert check.moment("modified_before", "2025-03-01", end=True) == "2025-03-01T23:59:59.999999Z"


@pytest.mark.parametrize("zone", ["+02:00", " 02:00", " 0200"])
def test_a_zone_whose_plus_a_url_made_a_space_is_that_zone(zone: str) -> None:
    assert check.moment("modified_after", f"2025-03-01T12:00:00{zone}", end=False) == "2025-03-01T10:00:00Z"


def test_a_date_may_be_pythons_own_with_a_time_or_without() -> None:
    noon = dt.datetime(2025, 3, 1, 13, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    assert check.moment("modified_after", noon, end=True) == "2025-03-01T12:00:00Z"
    assert check.moment("modified_before", dt.date(2025, 3, 1), end=True) == "2025-03-01T23:59:59.999999Z"


@pytest.mark.parametrize(
    ("value", "first", "last"),
    [
        ("2024", "2024-01-01T00:00:00Z", "2024-12-31T23:59:59.999999Z"),
        ("2024-02", "2024-02-01T00:00:00Z", "2024-02-29T23:59:59.999999Z"),
        ("9999-12", "9999-12-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_a_bare_month_or_year_means_its_first_or_its_last_moment(value: str, first: str, last: str) -> None:
    assert check.moment("modified_after", value, end=False) == first
    assert check.moment("modified_before", value, end=True) == last


def test_a_time_with_a_zone_becomes_utc() -> None:
    assert check.moment("date_after", "2025-03-01T01:00:00+02:00", end=False) == "2025-02-28T23:00:00Z"


@pytest.mark.parametrize(
    "value",
    ["yesterday", "2025-13", "2025-00", "0000", "2025-13-01", "01/02/2025", 20250301, "0001-01-01T00:00:00+14:00"],
)
def test_what_is_not_a_date_is_refused_with_an_example(value: object) -> None:
    with pytest.raises(CallerError, match="ISO 8601"):
        check.moment("modified_after", value, end=False)


@pytest.mark.parametrize(
    ("given", "code"), [("en", "en"), ("EN", "en"), ("en-US", "en"), ("pt_BR", "pt"), (None, None)]
)
def test_a_language_is_a_code_with_or_without_a_region(given: object, code: str | None) -> None:
    assert check.language_code(given) == code


def test_a_language_by_its_name_is_refused_with_an_example() -> None:
    with pytest.raises(CallerError, match=r"'English' is not a code.*such as en"):
        check.language_code("English")


def test_a_moment_within_the_last_day_of_a_range_lies_in_it() -> None:
    given = {"query": "x", "modified_after": "2025-03-10T23:59:59Z", "modified_before": "2025-03-10"}
    wanted = validation.documents(OPTIONS, dict, given)
    assert wanted.filters.modified_after is not None
    with pytest.raises(CallerError, match="Swap them"):
        validation.documents(OPTIONS, dict, {**given, "modified_after": "2025-03-11T00:00:00Z"})


def test_a_name_is_found_in_any_case_and_a_wrong_one_names_the_nearest() -> None:
    assert check.known_name("product", "RAY", ["ray", "fastapi"], hint="") == "ray"
    with pytest.raises(NotFound, match=r"No product 'fastapy'.*Did you mean 'fastapi'"):
        check.known_name("product", "fastapy", ["ray", "fastapi"], hint="Use list_products.")


LONG = "x" * 15_000


@pytest.mark.parametrize(
    "refused",
    [
        lambda: check.mode_name(LONG),
        lambda: check.fraction("semantic_weight", LONG),
        lambda: check.fraction("semantic_weight", 10**400),
        lambda: check.whole_number("offset", LONG, 0, None),
        lambda: check.strings("tags", [LONG, 1]),
        lambda: check.text_or_none("sender", [LONG]),
        lambda: check.truth("has_attachments", LONG),
        lambda: check.moment("modified_after", LONG, end=False),
        lambda: check.known_name("product", LONG, ["ray"], hint=""),
        lambda: check.language_code(LONG),
        lambda: check.doc_type_name(LONG),
    ],
)
def test_a_long_wrong_value_is_shortened_in_what_is_said_of_it(refused: Callable[[], object]) -> None:
    with pytest.raises(CallerError) as error:
        refused()
    assert "…" in str(error.value)
    assert len(str(error.value)) < 400


@given(st.one_of(st.none(), st.text(), st.integers(), st.floats(), st.lists(st.text()), st.booleans()))
@example("0\x1f")
def test_any_value_at_all_is_accepted_or_refused_by_a_caller_error(value: object) -> None:
    refusals = []
    for name, checked in (
        ("mode", check.mode_name),
        ("file_types", check.extensions),
        ("doc_type", check.doc_type_name),
        ("moment", lambda given: check.moment("modified_after", given, end=True)),
        ("fraction", lambda given: check.fraction("semantic_weight", given)),
        ("number", lambda given: check.whole_number("offset", given, 0, None)),
        ("tags", lambda given: check.strings("tags", given)),
        ("truth", lambda given: check.truth("has_attachments", given)),
        ("query", lambda given: check.query_text(given)),
    ):
        try:
            checked(value)
        except CallerError as error:
            refusals.append((name, str(error)))
    assert all(sentence for _, sentence in refusals)
