"""What doors check of arguments, and how they call:

* a known argument of a usable type passes, as the type it should be; null is "not given";
* anything else is refused with its name, its value and what would be right;
* calls run in threads, at most so many at once, and know when their caller has gone.
"""

from __future__ import annotations

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from librarian.api.calls import Calls
from librarian.errors import Busy, CallerError, NotFound
from librarian.models import Deadline
from librarian.schemas import CLEAR_CACHE, SEARCH, VERBS, Argument, Kind, checked, schema_of

TAKES = [
    Argument("query", required=True),
    Argument("count", "whole", "How many"),
    Argument("weight", "number"),
    Argument("deep", "flag"),
    Argument("types", "texts"),
    Argument("mode"),
    Argument("sort", limits={"enum": ["title", "date"]}),
    Argument("kinds", "texts", limits={"items": {"type": "string", "enum": ["tool", "agent"]}}),
]


@pytest.mark.parametrize(
    ("given_", "taken"),
    [
        ({"query": "a"}, {"query": "a"}),
        ({"query": 7}, {"query": "7"}),
        ({"query": "a", "count": None}, {"query": "a"}),
        ({"query": "a", "count": "7"}, {"query": "a", "count": 7}),
        ({"query": "a", "count": 7.0}, {"query": "a", "count": 7}),
        ({"query": "a", "count": 10**15}, {"query": "a", "count": 10**15}),
        ({"query": "a", "count": str(10**400)}, {"query": "a", "count": 10**400}),
        ({"query": "a", "count": "1e15"}, {"query": "a", "count": 10**15}),
        ({"query": "a", "weight": "0.5"}, {"query": "a", "weight": 0.5}),
        ({"query": "a", "weight": 1e20}, {"query": "a", "weight": 1e20}),
        ({"query": "a", "deep": "True"}, {"query": "a", "deep": True}),
        ({"query": "a", "deep": False}, {"query": "a", "deep": False}),
        ({"query": "a", "types": "md, txt,"}, {"query": "a", "types": ["md", "txt"]}),
        ({"query": "a", "types": '["md"]'}, {"query": "a", "types": ["md"]}),
        ({"query": "a", "types": ["md"]}, {"query": "a", "types": ["md"]}),
        ({"query": "a", "search_mode": "keyword"}, {"query": "a", "mode": "keyword"}),
        ({"query": "a", "count": "", "weight": " ", "deep": "", "types": "", "mode": ""}, {"query": "a"}),
        ({"query": "a", "deep": 1}, {"query": "a", "deep": True}),
        ({"query": "a", "deep": 0.0}, {"query": "a", "deep": False}),
        ({"query": ["a"], "count": ["7"], "deep": [True]}, {"query": "a", "count": 7, "deep": True}),
        ({"query": "a", "sort": "Date "}, {"query": "a", "sort": "date"}),
        ({"query": "a", "kinds": "Tool,other"}, {"query": "a", "kinds": ["tool", "other"]}),
    ],
)
def test_usable_arguments_pass(given_: dict[str, object], taken: dict[str, object]) -> None:
    assert checked("search", TAKES, given_) == taken


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({}, "search needs the argument query (a string)"),
        ({"query": None}, "search needs the argument query"),
        ({"query": "a", "cuont": 3}, "has no argument 'cuont' (given: 3). Did you mean 'count'?"),
        ({"query": "a", "hybrid_weight": 1}, "has no argument 'hybrid_weight'"),
        ({"query": "a", "search_mod": "b"}, "Did you mean 'mode'?"),
        ({"question": "a"}, "Did you mean 'query'?"),
        ({"query": "a", "zzz": "b" * 500}, "…). It takes query, count"),
        ({"query": "a", "count": "many"}, "count must be a whole number, not 'many'. How many."),
        ({"query": "a", "count": True}, "count must be a whole number, not True"),
        ({"query": "a", "count": 1.5}, "count must be a whole number, not 1.5"),
        ({"query": "a", "count": "inf"}, "count must be a whole number, not 'inf'"),
        ({"query": "a", "count": float("nan")}, "count must be a whole number, not nan"),
        ({"query": "a", "weight": "nan"}, "weight must be a number, not 'nan'"),
        ({"query": "a", "weight": "inf"}, "weight must be a number, not 'inf'"),
        ({"query": "a", "deep": "perhaps"}, "deep must be true or false, not 'perhaps'"),
        ({"query": "a", "types": "[1"}, "types must be a list of strings, not '[1'"),
        ({"query": "a", "types": [1]}, "types must be a list of strings, not [1]"),
        ({"query": True}, "query must be a string, not True"),
        ({"query": ["a", "b"]}, "query must be a string, not ['a', 'b']"),
        ({"query": "a", "deep": 2}, "deep must be true or false, not 2"),
        ({"query": "a", "mode": "b", "search_mode": "c"}, "given mode twice"),
    ],
)
def test_other_arguments_are_refused_with_the_remedy(given_: dict[str, object], words: str) -> None:
    with pytest.raises(CallerError) as error:
        checked("search", TAKES, given_)
    assert words in str(error.value)


def test_a_verb_without_arguments_says_so() -> None:
    with pytest.raises(CallerError, match="It takes no arguments"):
        checked("clear", CLEAR_CACHE.arguments, {"all": True})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(VERBS), st.data())
def test_whatever_a_caller_sends_is_taken_or_refused(verb: object, data: st.DataObject) -> None:
    names = st.sampled_from([item.name for item in SEARCH.arguments]) | st.text(max_size=12)
    sent = data.draw(st.dictionaries(names, json_values, max_size=4))
    kinds = {"text": str, "whole": int, "number": float, "flag": bool, "texts": list}
    try:
        taken = checked("search", SEARCH.arguments, sent)
    except CallerError:
        return
    for item in SEARCH.arguments:
        assert item.name not in taken or type(taken[item.name]) is kinds[item.kind]


def test_schemas_allow_no_other_arguments() -> None:
    schema = schema_of(TAKES)
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["query"]
    assert schema_of([]) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_no_more_calls_run_than_there_are_threads_and_the_rest_wait_or_are_refused() -> None:
    async def body() -> None:
        calls, release, started = Calls(threads=2, queue=1), threading.Event(), threading.Semaphore(0)

        def work(_: Deadline) -> str:
            started.release()
            assert release.wait(10)
            return "done"

        tasks = [asyncio.create_task(calls.run(work)) for _ in range(3)]
        for _ in range(2):
            assert await asyncio.to_thread(started.acquire, timeout=120)
        assert calls.pending == 3
        with pytest.raises(Busy, match="Try again"):
            await calls.run(work)
        assert not started.acquire(blocking=False)
        release.set()
        assert await asyncio.gather(*tasks) == ["done"] * 3
        calls.close()
        assert calls.pending == 0

    asyncio.run(body())


def test_a_caller_that_leaves_cancels_its_budget_and_a_waiting_call_never_starts() -> None:
    async def body() -> None:
        calls, started, seen = Calls(threads=1), threading.Event(), threading.Event()

        def work(budget: Deadline) -> None:
            started.set()
            if budget.cancelled.wait(10):
                seen.set()

        def never(_: Deadline) -> None:
            pytest.fail("a call that was given up has started")

        running = asyncio.create_task(calls.run(work))
        assert await asyncio.to_thread(started.wait, 10)
        waiting = asyncio.create_task(calls.run(never))
        await asyncio.sleep(0)
        waiting.cancel()
        running.cancel()
        await asyncio.gather(running, waiting, return_exceptions=True)
        assert await asyncio.to_thread(seen.wait, 10)
        calls.close()
        assert calls.pending == 0

    asyncio.run(body())


def test_a_call_has_a_deadline_and_passes_on_what_its_work_raises() -> None:
    async def body() -> None:
        calls = Calls(threads=1, timeout_s=5)
        assert 0 < await calls.run(lambda budget: budget.remaining_ms()) <= 5000

        def fails(_: Deadline) -> None:
            raise CallerError("no")

        with pytest.raises(CallerError, match="no"):
            await calls.run(fails)
        calls.close()
        with pytest.raises(RuntimeError):
            await calls.run(lambda budget: None)
        assert calls.pending == 0

    asyncio.run(body())


@pytest.mark.parametrize("kind", ["text", "texts"])
def test_half_characters_are_replaced_and_whole_pairs_joined(kind: Kind) -> None:
    def taken(value: str) -> object:
        return checked("verb", [Argument("query", kind)], {"query": value})["query"]

    one = (lambda text: text) if kind == "text" else (lambda text: [text])
    assert taken("x\udc00y") == one("x\ufffdy")
    assert taken("\ud83d\ude00 smile") == one("\U0001f600 smile")


def test_an_argument_under_two_names_is_refused_with_both() -> None:
    with pytest.raises(CallerError, match="search_mode and mode"):
        checked("search", [Argument("mode")], {"search_mode": "keyword", "mode": "hybrid"})


def test_a_refusal_quotes_only_the_ends_of_what_is_too_long_to_quote() -> None:
    """It comes back into the window of the model that asked."""
    refused = CallerError(f"mode {'x' * 500_000!r} is unknown.", hint="Use keyword.")
    assert len(str(refused)) < 1100
    assert str(refused).startswith("mode 'xxx")
    assert str(refused).endswith("' is unknown. Use keyword.")
    assert str(NotFound("No document 'a.md'.")) == "No document 'a.md'."
