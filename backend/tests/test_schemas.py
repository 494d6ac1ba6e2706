"""Arguments are validated once, by the request models:

* lenient about form: numbers and lists as text, any case, null and blank as "not given", older names;
* each refusal names the argument, the value and what would be right;
* whatever is sent is accepted or refused with a `CallerError`.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from librarian import schemas
from librarian.documents import queries
from librarian.errors import CallerError, NotFound
from librarian.schemas import (
    MAX_NUMBER,
    OPERATIONS,
    TOOLSETS,
    EmailSearchRequest,
    FacetsRequest,
    ProductsRequest,
    RegistryRequest,
    RequestModel,
    SearchRequest,
    input_schema,
    known_name,
    validated,
)
from librarian.settings import Settings

SETTINGS = Settings()


def search(**arguments: Any) -> SearchRequest:
    return validated(SearchRequest, {"query": "a", **arguments}, "search")


def refusal(model: type[RequestModel] = SearchRequest, **arguments: Any) -> str:
    with pytest.raises(CallerError) as error:
        validated(model, arguments, "search")
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("query", 7, "7"),
        ("query", [" a "], "a"),
        ("max_results", None, None),
        ("max_results", " ", None),
        ("max_results", "7", 7),
        ("max_results", [7.0], 7),
        ("offset", MAX_NUMBER, MAX_NUMBER),
        ("semantic_weight", "0.5", 0.5),
        ("explain", " True", True),
        ("explain", "on", True),
        ("explain", 0.0, False),
        ("explain", [1], True),
        ("mode", " Hybrid ", "hybrid"),
        ("doc_type", "API", "api"),
        ("tags", "a, b,", ("a", "b")),
        ("tags", '["a"]', ("a",)),
        ("tags", {"a"}, ("a",)),
        ("tags", "", ()),
        ("file_types", ["md", ".MD", " .docx"], (".md", ".docx")),
        ("file_types", "*.md, txt", (".md", ".txt")),
        ("language", "en-US", "en"),
        ("language", "pt_BR", "pt"),
        ("modified_after", dt.date(2025, 3, 1), "2025-03-01T00:00:00Z"),
        ("modified_after", "2024", "2024-01-01T00:00:00Z"),
        ("modified_before", "2024-02", "2024-02-29T23:59:59.999999Z"),
        ("modified_before", "9999-12", "9999-12-31T23:59:59.999999Z"),
        ("modified_before", "2025-03-01", "2025-03-01T23:59:59.999999Z"),
        ("modified_after", "2025-03-01T01:00:00+02:00", "2025-02-28T23:00:00Z"),
        ("modified_after", "2025-03-01T12:00:00 0200", "2025-03-01T10:00:00Z"),
        ("product", "x\udc00y", "x\ufffdy"),
        ("query", "\ud83d\ude00 smile", "\U0001f600 smile"),
    ],
)
def test_usable_values_are_accepted_in_several_forms(name: str, value: object, expected: object) -> None:
    assert getattr(search(**{name: value}), name) == expected


def test_older_names_are_accepted() -> None:
    request = search(search_mode="keyword", hybrid_weight=0.2)
    assert (request.mode, request.semantic_weight) == ("keyword", 0.2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "search needs the argument query (a string)"),
        ({"query": None}, "search needs the argument query"),
        ({"query": " "}, "query is empty. Ask with at least one word"),
        ({"query": "x" * 3000}, "query has 3000 characters; at most 2000 are allowed"),
        ({"query": True}, "query must be a string, not True"),
        ({"query": ["a", "b"]}, "query must be a string, not ['a', 'b']"),
        ({"query": "a", "offse": 3}, "has no argument 'offse' (given: 3). Did you mean 'offset'?"),
        ({"query": "a", "search_mod": "b"}, "Did you mean 'mode'?"),
        ({"question": "a"}, "Did you mean 'query'?"),
        ({"query": "a", "top_k": 3}, "Did you mean 'max_results'?"),
        ({"query": "a", "zzz": "b" * 500}, "…). It takes query, product"),
        ({"query": "a", "zzz": None}, "has no argument 'zzz'"),
        ({"query": "a", "mode": "auto", "search_mode": "hyde"}, "given mode twice: search_mode and mode"),
        ({"query": "a", "mode": "semantik"}, "mode 'semantik' is unknown. Use one of keyword, semantic"),
        ({"query": "a", "mode": "semantik"}, "Did you mean 'semantic'"),
        ({"query": "a", "doc_type": "guides"}, "doc_type 'guides' is unknown"),
        (
            {"query": "a", "offset": "many"},
            "offset must be a whole number, not 'many'. next_offset of the page before.",
        ),
        ({"query": "a", "offset": True}, "offset must be a whole number, not True"),
        ({"query": "a", "offset": 1.5}, "offset must be a whole number, not 1.5"),
        ({"query": "a", "offset": float("inf")}, "offset must be a whole number, not inf"),
        ({"query": "a", "offset": -1}, "offset is -1; it must be 0 or more"),
        ({"query": "a", "offset": 10**15}, "offset is 1000000000000000; it must be 0 to 999999999999999"),
        ({"query": "a", "offset": 10**400}, "it must be 0 to 999999999999999"),
        ({"query": "a", "max_results": 0}, "max_results is 0; it must be 1 or more"),
        ({"query": "a", "semantic_weight": "nan"}, "semantic_weight must be a number, not 'nan'"),
        ({"query": "a", "semantic_weight": 1.1}, "semantic_weight is 1.1; it must be 0 to 1"),
        ({"query": "a", "explain": "perhaps"}, "explain must be true or false, not 'perhaps'"),
        ({"query": "a", "explain": 2}, "explain must be true or false, not 2"),
        ({"query": "a", "tags": "[1"}, "tags must be a list of strings, not '[1'"),
        ({"query": "a", "tags": [1]}, "tags must be a list of strings, not [1]"),
        ({"query": "a", "product": "x" * 20_001}, "product has 20001 characters; at most 20000 are allowed"),
        ({"query": "a", "language": "English"}, "language 'english' is not a code. Use ISO 639-1, such as en"),
        ({"query": "a", "modified_after": "2025", "modified_before": "2024"}, "Swap them"),
    ],
)
def test_other_values_are_refused_with_the_remedy(arguments: dict[str, Any], words: str) -> None:
    assert words in refusal(**arguments)


@pytest.mark.parametrize(
    "value",
    ["yesterday", "2025-13", "2025-00", "0000", "2025-13-01", "01/02/2025", 20250301, "0001-01-01T00:00:00+14:00"],
)
def test_what_is_not_a_date_is_refused_with_an_example(value: object) -> None:
    assert "is not a date. Use ISO 8601" in refusal(query="a", modified_after=value)


def test_a_moment_within_the_last_day_of_a_range_lies_in_it() -> None:
    assert search(modified_after="2025-03-10T23:59:59Z", modified_before="2025-03-10")
    assert "Swap them" in refusal(query="a", modified_after="2025-03-11T00:00:00Z", modified_before="2025-03-10")


def test_lists_of_names_accept_any_case_and_refuse_unknown_ones() -> None:
    request = validated(RegistryRequest, {"query": "a", "entity_types": "Tool, a2a_agent"}, "search_registry")
    assert request.entity_types == ("tool", "a2a_agent")
    assert "entity_types holds 'other', which is unknown" in refusal(RegistryRequest, query="a", entity_types=["other"])
    assert "type 'pages' is unknown. Use one of documents, emails" in refusal(FacetsRequest, type="pages")


def test_an_operation_without_arguments_says_so() -> None:
    assert "It takes no arguments" in refusal(ProductsRequest, all=True)


def test_an_empty_email_query_needs_a_filter() -> None:
    request = validated(EmailSearchRequest, {"query": " "}, "search_emails")
    with pytest.raises(CallerError, match=r"query is empty.*or give a filter"):
        queries.email_query(request, SETTINGS, dict)
    assert queries.email_query(request.model_copy(update={"sender": "ann"}), SETTINGS, dict).text == ""


def test_a_number_of_results_above_the_settings_is_lowered_with_a_note() -> None:
    request = search(max_results=500)
    assert queries.document_query(request, SETTINGS, dict).max_results == 50
    assert queries.result_notes(request, SETTINGS) == [
        "max_results is 500: at most 50 come at once; page on with offset."
    ]


def test_a_name_is_found_in_any_case_and_a_wrong_one_names_the_nearest() -> None:
    assert known_name("product", "RAY", ["ray", "fastapi"], hint="") == "ray"
    with pytest.raises(NotFound, match=r"No product 'fastapy'.*Did you mean 'fastapi'"):
        known_name("product", "fastapy", ["ray", "fastapi"], hint="Use list_products.")


LONG = "x" * 15_000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", LONG),
        ("semantic_weight", LONG),
        ("semantic_weight", 10**400),
        ("offset", LONG),
        ("tags", [LONG, 1]),
        ("product", {"a": LONG}),
        ("explain", LONG),
        ("modified_after", LONG),
        ("language", LONG),
        ("doc_type", LONG),
    ],
)
def test_a_long_wrong_value_is_shortened_in_the_message(name: str, value: object) -> None:
    message = refusal(query="a", **{name: value})
    assert "…" in message
    assert len(message) < 400


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\udc00"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(list(OPERATIONS.values())), st.data())
def test_whatever_a_caller_sends_is_accepted_or_refused(operation: schemas.Operation, data: st.DataObject) -> None:
    names = st.sampled_from([*operation.request.model_fields, "search_mode"]) | st.text(max_size=12)
    arguments = data.draw(st.dictionaries(names, json_values, max_size=4))
    try:
        validated(operation.request, arguments, operation.name)
    except CallerError:
        return


@given(st.sampled_from(list(SearchRequest.model_fields)), json_values)
@example("query", "0\x1f")
def test_any_value_of_a_search_argument_is_accepted_or_refused(name: str, value: object) -> None:
    try:
        validated(SearchRequest, {"query": "a", name: value}, "search")
    except CallerError:
        return


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_schemas_allow_no_other_arguments_and_limit_questions(operation: schemas.Operation) -> None:
    schema = input_schema(operation.request)
    assert schema["additionalProperties"] is False
    assert schema["properties"].get("query", {"maxLength": 2000}).get("maxLength") in (2000, None)
    if operation.toolset:
        assert schema["properties"].get("query", {"maxLength": 2000})["maxLength"] == 2000


def test_every_mcp_tool_is_an_operation_of_one_toolset() -> None:
    assert [len(tools) for tools in TOOLSETS.values()] == [9, 1, 1, 3]
    assert all(OPERATIONS[tool.name] is tool for tools in TOOLSETS.values() for tool in tools)
