"""The registry: what is proved here.

* Scores are those of the design's formula, on examples worked by hand and for random entities.
* All candidates are scored before any is cut; an exact name comes first in both modes; disabled entities stay out.
* Every published shape is understood; duplicates merge into their latest version; only what may be is embedded.
* Without a model words alone decide, and the answer says so.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.errors import CallerError, Unavailable
from librarian.library import Librarian
from librarian.models import Deadline, ModelSpec, Window
from librarian.registry import search as scoring
from librarian.registry.entities import Entity, ToolCard, entities_of, merged
from librarian.registry.search import Registry
from librarian.schemas import EntityType, SkillItem

CONTEXT7 = Entity(
    "mcp_server",
    "/context7",
    "Context7 MCP Server",
    "Up-to-date library manuals",
    tags=("documentation", "libraries"),
    tools=(ToolCard("query-docs", "Fetch docs of a library", {"type": "object"}), ToolCard("resolve-id", "Find an id")),
)


class Compass:
    """An embedder whose vectors point where the test says: text or question → angle's cosine and sine."""

    spec = ModelSpec("compass", 2, 256)
    fingerprint = "compass"

    def __init__(self, cosines: dict[str, float]) -> None:
        self.cosines = cosines
        self.embedded: list[str] = []

    def windows(self, prefix: str, text: str) -> list[Window]:
        return [Window(text, text, 0, len(text))]

    def embed_chunks(self, texts: Sequence[str]) -> Any:
        self.embedded += texts
        cosines = [next((value for name, value in self.cosines.items() if name in text), 0.0) for text in texts]
        return np.array([[value, (1 - value * value) ** 0.5] for value in cosines], np.float32)

    def embed_query(self, text: str) -> Any:
        return np.array([1.0, 0.0], np.float32)

    def get(self) -> Any:
        return self


class Broken:
    def get(self) -> Any:
        raise Unavailable("The model isn't there.")


def registry(*entities: Entity, cosines: dict[str, float] | None = None) -> Registry:
    every = merged(entities)
    return Registry(lambda: every, Compass(cosines) if cosines is not None else None)  # type: ignore[arg-type]


def ask(one: Registry, query: str, most: int = 3, kinds: Sequence[str] = get_args(EntityType)) -> Any:
    return one.search(query, kinds, most, Deadline())


# -- the formula -----------------------------------------------------------------------------------------------------


def test_the_design_s_own_example_is_scored_as_printed() -> None:
    assert scoring.keywords("context7 docs") == ("context7", "docs")
    entity = Entity("mcp_server", "/context7", "Context7")
    assert scoring.text_boost(entity, ("context7",)) == 8.0
    assert scoring.score_of(0.3412, 8.0) == pytest.approx(0.6706 + 0.8)
    assert ask(registry(entity, cosines={"Context7": 0.3412}), "context7").servers[0].relevance_score == 1.0


@pytest.mark.parametrize(
    ("query", "boost"),
    [
        ("context7", 5 + 3),
        ("docs", 1),  # one tool
        ("library", 2 + 1),  # description, one tool; the tag says libraries
        ("librar", 2 + 1.5 + 1),  # a substring counts everywhere
        ("documentation library", 1.5 + 2 + 1),
        ("find an id of the", 1),  # "find" alone is long enough and no stop word
        ("xyzzy", 0),
        ("CONTEXT7", 8),
        ("(context7)", 8),  # nothing is a pattern
    ],
)
def test_points_add_up_over_keywords_and_places(query: str, boost: float) -> None:
    assert scoring.text_boost(CONTEXT7, scoring.keywords(query)) == boost
    lexical = ask(registry(CONTEXT7), query)
    assert lexical.search_mode == "lexical-only"
    found = [item.relevance_score for item in lexical.servers]
    assert found == ([pytest.approx(min(boost / 12.5, 1))] if boost else [])
    hybrid = ask(registry(CONTEXT7, cosines={"Context7": -0.5}), query)
    assert hybrid.search_mode == "hybrid"
    assert hybrid.servers[0].relevance_score == pytest.approx(min(0.25 + 0.1 * boost, 1))


NAMES = st.text("abc -_/.7é", min_size=1, max_size=12)


@settings(max_examples=50)
@given(st.lists(st.tuples(NAMES, NAMES, st.floats(-1, 1)), max_size=8), st.text("abc 7", min_size=1), st.integers(1, 4))
def test_answers_are_the_best_of_all_and_scored_by_the_formula(
    rows: list[tuple[str, str, float]], query: str, most: int
) -> None:
    entities = [Entity("mcp_server", f"/{i}/{path}x", f"N{i} {name}") for i, (path, name, _) in enumerate(rows)]
    cosines = {f"N{i} ": value for i, (_, _, value) in enumerate(rows)}
    words = scoring.keywords(query)
    expected = {
        entity.path: min((cosines[f"N{i} "] + 1) / 2 + 0.1 * scoring.text_boost(entity, words), 1.0)
        for i, entity in enumerate(entities)
    }
    answer = ask(registry(*entities, cosines=cosines), query, most)
    scores = [item.relevance_score for item in answer.servers]
    assert scores == pytest.approx(sorted(expected.values(), reverse=True)[:most], abs=1e-5)
    for item in answer.servers:
        assert item.relevance_score == pytest.approx(expected[item.path], abs=1e-5)


# -- order and content -----------------------------------------------------------------------------------------------


def test_an_exact_name_comes_first_in_both_modes() -> None:
    loud = Entity(
        "mcp_server",
        "/github-actions",
        "GitHub actions for GitHub",
        "github github",
        tags=("github",),
        tools=tuple(ToolCard(f"github-{i}") for i in range(9)),
    )
    named = Entity("mcp_server", "/vcs", "GitHub")
    for one in (registry(loud, named), registry(loud, named, cosines={"actions": 0.9, "GitHub": -0.9})):
        assert ask(one, "github").servers[0].path == "/vcs"
        assert ask(one, "github-actions").servers[0].path == "/github-actions"


def test_more_candidates_than_nearest_ones_are_scored_where_words_match() -> None:
    near = [Entity("mcp_server", f"/n{i}", f"Near {i}") for i in range(60)]
    far = Entity("mcp_server", "/weather", "Weather")
    answer = ask(registry(*near, far, cosines={"Near": 0.3, "Weather": -0.9}), "weather forecast")
    assert answer.servers[0].path == "/weather"
    assert answer.servers[0].relevance_score == pytest.approx(0.05 + 0.8)


def test_tools_come_from_all_servers_with_schemas_and_stay_light_inside_them() -> None:
    answer = ask(registry(CONTEXT7), "docs")
    assert answer.servers[0].matching_tools[0].model_dump() == {
        "tool_name": "query-docs",
        "description": "Fetch docs of a library",
    }
    (tool,) = answer.tools
    assert (tool.server_path, tool.tool_name, tool.inputSchema) == ("/context7", "query-docs", {"type": "object"})
    assert tool.relevance_score == answer.servers[0].relevance_score
    only = ask(registry(CONTEXT7), "docs", kinds=["tool"])
    assert only.servers == []
    assert only.tools == answer.tools


def test_a_disabled_entity_is_never_answered() -> None:
    (entity,) = entities_of({"path": "/x", "name": "X server", "description": "d", "is_enabled": False})
    answer = ask(registry(entity, cosines={"X": 1.0}), "x server")
    assert answer.servers == []


def test_each_candidate_leaves_a_line_for_debugging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "librarian.registry.search"):
        ask(registry(CONTEXT7, cosines={"Context7": 0.3412}), "context7")
    assert (
        "Score for 'Context7 MCP Server' (type=mcp_server): vector=0.3412, normalized_vector=0.6706, text_boost=8.0, "
        "boost_contrib=0.8000, final=1.0000"
    ) in caplog.messages


def test_a_model_that_does_not_load_leaves_words_alone() -> None:
    one = Registry(lambda: (CONTEXT7,), Broken())  # type: ignore[arg-type]
    answer = ask(one, "context7")
    assert (answer.search_mode, answer.servers[0].relevance_score) == ("lexical-only", pytest.approx(8 / 12.5))


def test_texts_are_embedded_once() -> None:
    model = Compass({"Context7": 0.5})
    one = Registry(lambda every=(CONTEXT7,): every, model)  # type: ignore[arg-type, misc]
    ask(one, "a")
    ask(one, "b")
    assert len(model.embedded) == 1


# -- shapes ----------------------------------------------------------------------------------------------------------

SERVER_JSON = {
    "$schema": "https://static.example.org/schemas/2025-10-17/server.schema.json",
    "name": "io.github.acme/weather",
    "title": "Weather",
    "description": "Forecasts for any place",
    "version": "1.10.0",
    "packages": [{"registryType": "npm", "identifier": "@acme/weather"}],
}
CARD = {
    "protocolVersion": "0.3.0",
    "name": "Trip Planner",
    "description": "Plans journeys",
    "url": "https://agents.example.org/trip",
    "version": "1.0.0",
    "capabilities": {"streaming": True, "pushNotifications": False},
    "skills": [
        {"id": "route-9", "name": "Find route", "description": "Best route", "tags": ["maps"], "examples": ["to Rome"]}
    ],
}


def test_a_server_json_is_a_server() -> None:
    (entity,) = entities_of(SERVER_JSON, "a/server.json")
    assert (entity.kind, entity.path, entity.name) == ("mcp_server", "/io.github.acme/weather", "Weather")
    assert entity.text == "Weather\nForecasts for any place"


def test_a_gateway_s_entry_has_its_tools_with_what_they_do_and_take() -> None:
    takes = {"type": "object", "properties": {"zone": {"type": "string"}}}
    tool = {"name": "now", "parsed_description": {"main": "Says how late it is", "args": None}, "schema": takes}
    entry = {"server_name": "Clock", "description": "Time", "path": "/clock", "tool_list": [tool], "is_enabled": True}
    (entity,) = entities_of(entry)
    assert entity.tools == (ToolCard("now", "Says how late it is", takes),)
    assert ask(registry(entity), "how late").tools[0].inputSchema == takes


def test_an_agent_card_is_an_agent_of_which_ids_tags_and_examples_of_skills_are_not_embedded() -> None:
    (entity,) = entities_of(CARD)
    assert (entity.kind, entity.path) == ("a2a_agent", "/trip-planner")
    assert entity.text == "Trip Planner\nPlans journeys\nCapabilities: streaming\nFind route\nBest route"
    assert entity.skills == (SkillItem(name="Find route", description="Best route"),)


def test_a_server_is_embedded_without_schemas_and_paths() -> None:
    assert CONTEXT7.text == (
        "Context7 MCP Server\nUp-to-date library manuals\nTags: documentation, libraries\nquery-docs\n"
        "Fetch docs of a library\nresolve-id\nFind an id"
    )


def dump_of(*versions: tuple[str, bool | None]) -> dict[str, object]:
    official = "io.modelcontextprotocol.registry/official"
    return {
        "servers": [
            {
                "server": {"name": "io.github.acme/weather", "description": f"Version {version}", "version": version},
                "_meta": {official: {"status": "active", **({} if latest is None else {"isLatest": latest})}},
            }
            for version, latest in versions
        ],
        "metadata": {"count": len(versions)},
    }


@pytest.mark.parametrize(
    ("versions", "kept"),
    [
        ([("1.9.0", None), ("1.10.0", None)], "1.10.0"),
        ([("2.0.0-rc.1", None), ("2.0.0", None)], "2.0.0"),
        ([("1.9.0", True), ("1.10.0", False)], "1.9.0"),
    ],
)
def test_of_a_dump_each_server_counts_once_in_its_latest_version(
    versions: list[tuple[str, bool | None]], kept: str
) -> None:
    for order in (versions, versions[::-1]):
        (entity,) = merged(entities_of(dump_of(*order)))
        assert (entity.version, entity.description) == (kept, f"Version {kept}")


def test_a_duplicate_fills_the_gaps_of_the_latest_version() -> None:
    older = {"path": "/io.github.acme/weather", "name": "w", "description": "d", "version": "1.0", "tags": ["sky"]}
    (entity,) = merged([*entities_of(SERVER_JSON), *entities_of(older)])
    assert (entity.version, entity.tags) == ("1.10.0", ("sky",))


@pytest.mark.parametrize(
    "data", [None, 3, "x", [], {}, {"name": "lodash", "version": "1", "dependencies": {}}, [[[[1]]]]]
)
def test_other_json_holds_no_entities(data: object) -> None:
    assert entities_of(data) == ()


# -- in a library ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Librarian]:
    root = tmp_path_factory.mktemp("registry")
    write: Callable[[str, object], object] = lambda name, data: (  # noqa: E731
        (root / name).parent.mkdir(parents=True, exist_ok=True),
        (root / name).write_text(json.dumps(data), "utf-8"),
    )
    write("tools/acme/server.json", SERVER_JSON)
    write("tools/agents/agent-card.json", CARD)
    write("tools/own/all.registry.json", [{"path": "/c7", "name": "C7", "description": "Manuals", "tools": []}])
    write("tools/own/unnamed.json", {"servers": [{"path": "/u", "server_name": "Unnamed", "description": "Hidden"}]})
    write("tools/own/package.json", {"name": "x", "version": "1"})
    (root / "tools/own/broken").mkdir()
    (root / "tools/own/broken/server.json").write_text("{", "utf-8")
    (root / "tools/readme.md").write_text("# Tools\n", "utf-8")
    with Librarian.open(
        root=root,
        index=tmp_path_factory.mktemp("index"),
        # The tool's own three are more than a caller may ask for.
        **{"embeddings.enabled": False, "docs.watch_for_changes": False, "index.workers": 1, "search.max_results": 2},
    ) as opened:
        yield opened


def test_a_library_s_files_are_found_by_name_and_by_content(library: Librarian) -> None:
    assert library.search_registry("weather").servers[0].server_name == "Weather"
    assert library.search_registry("trip planner").agents[0].file_path == "tools/agents/agent-card.json"
    assert library.search_registry("manuals").servers[0].path == "/c7"
    assert library.search_registry("unnamed", entity_types=["mcp_server"]).servers[0].path == "/u"
    assert library.search_registry("weather").total_entities == 4


def test_a_file_that_changes_changes_the_answer_at_once(library: Librarian) -> None:
    path = library.root / "tools/own/unnamed.json"
    before = path.read_text("utf-8")
    path.write_text(before.replace("Unnamed", "Renamed!"), "utf-8")
    assert library.search_registry("renamed").servers[0].server_name == "Renamed!"
    path.write_text(before, "utf-8")
    assert library.search_registry("renamed").servers == []


def test_what_json_can_not_hold_spoils_no_answer(library: Librarian) -> None:
    path = library.root / "tools/own/unnamed.json"
    before = path.read_text("utf-8")
    tool = r'{"name": "odd_\ud83d", "inputSchema": {"maximum": NaN, "minimum": -Infinity, "title": "\udc00"}}'
    path.write_text(f'{{"path": "/odd", "name": "Odd \\ud800", "description": "Peculiar", "tools": [{tool}]}}', "utf-8")
    try:
        answer = library.search_registry("odd peculiar")
    finally:
        path.write_text(before, "utf-8")
    assert answer.servers[0].server_name == "Odd \ufffd"
    assert answer.tools[0].tool_name == "odd_\ufffd"
    assert answer.tools[0].inputSchema == {"maximum": None, "minimum": None, "title": "\ufffd"}


def test_unusable_arguments_are_named(library: Librarian) -> None:
    with pytest.raises(CallerError, match=r"entity_types holds 'mcp_servers'.*Did you mean 'mcp_server'"):
        library.search_registry("x", entity_types=["mcp_servers"])
    with pytest.raises(CallerError, match="max_results is 0"):
        library.search_registry("x", max_results=0)
    with pytest.raises(CallerError, match="max_results is 3"):
        library.search_registry("x", max_results=3)
