"""The manual and the program: what is proved here.

* Every command, setting, environment variable, tool and exit code is in the manual.
* Every link between pages of the manual leads somewhere, and every `librarian …` line in it is a command that exists.
* What is pinned is what is asked for.
"""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from functools import cache
from pathlib import Path

import commands_page as reference
import pytest
from packaging.requirements import Requirement

from librarian import schemas
from librarian.embeddings.model_table import known, spec_of
from librarian.errors import BUG, CALLER, NOTHING_FOUND, SETUP, UNREADABLE, missing_extra
from librarian.parsing import metadata
from librarian.schemas import TOOLSETS, Operation
from librarian.search import ranker
from librarian.settings import ALIASES, DERIVED_VARIABLES, SETTINGS
from tests.docs import blocks

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS = [tool for tools in TOOLSETS.values() for tool in tools if tool.toolset != "registry"]
DOCS = REPOSITORY / "docs"
PAGES = sorted(DOCS.rglob("*.md"))

ANSWERS = (
    *(
        schemas.SearchResponse,
        schemas.Result,
        schemas.EmailResult,
        schemas.DocumentResponse,
        schemas.ThreadResponse,
        schemas.ThreadEmail,
    ),
    *(schemas.AnalyzeResponse, schemas.WhyNot, schemas.StatusResponse, schemas.HealthResponse),
)


@cache
def manual() -> str:
    return "\n".join(page.read_text("utf-8") for page in PAGES)


def words(page: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", page))


def test_the_page_of_commands_says_what_the_commands_say() -> None:
    assert reference.PAGE.read_text("utf-8") == reference.page(), "run python scripts/commands_page.py"


@pytest.mark.parametrize("name", sorted(reference.commands()))
def test_every_command_and_its_options_are_on_the_commands_page(name: str) -> None:
    page = reference.PAGE.read_text("utf-8")
    assert f"## librarian {name}\n" in page
    for parameter in (each for each in reference.commands()[name].params if not getattr(each, "hidden", False)):
        for option in parameter.opts:
            assert not option.startswith("--") or option == "--help" or option in page, f"{option} is undocumented"


@pytest.mark.parametrize("code", [0, NOTHING_FOUND, CALLER, UNREADABLE, BUG, SETUP])
def test_every_exit_code_is_on_the_commands_page(code: int) -> None:
    assert f"| {code} |" in reference.PAGE.read_text("utf-8")


@pytest.mark.parametrize("key", SETTINGS)
def test_every_setting_is_in_the_manual(key: str) -> None:
    assert f"`{key}`" in manual()


@pytest.mark.parametrize("name", sorted({each.env for each in SETTINGS.values() if each.env} | set(DERIVED_VARIABLES)))
def test_every_variable_is_in_the_manual(name: str) -> None:
    assert f"`{name}`" in manual()


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_and_its_arguments_are_in_the_manual(tool: Operation) -> None:
    page = (DOCS / "librarian" / "reference" / "tools.md").read_text("utf-8")
    assert tool.name in page
    for name in tool.request.model_fields:
        assert name in words(page), f"{name} of {tool.name} is undocumented"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_has_its_method_on_the_page_of_python(tool: Operation) -> None:
    page = (DOCS / "librarian" / "guide" / "python.md").read_text("utf-8")
    [row] = [line for line in page.splitlines() if line.startswith("|") and f"`{tool.method}`" in line.split("|")[1]]
    assert f"`{tool.name}`" in row


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", blocks.prose(page.read_text("utf-8"))):
        if not re.match(r"[a-z]+:|#", target):
            path, _, anchor = target.partition("#")
            assert (page.parent / path).exists(), f"{target} leads nowhere"
            assert not anchor or anchor in anchors(page.parent / path), f"{target}: no such heading"


def anchors(page: Path) -> set[str]:
    """A page's headings as they are linked to: lower case, blanks as hyphens, other signs left out."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda each: each.__name__)
def test_every_field_of_an_answer_is_on_the_page_of_fields(answer: type[schemas.ResponseModel]) -> None:
    page = words((DOCS / "librarian" / "reference" / "result-fields.md").read_text("utf-8"))
    assert set(answer.model_fields) <= page


def test_every_source_of_points_is_on_the_page_of_fields() -> None:
    page = words((DOCS / "librarian" / "reference" / "result-fields.md").read_text("utf-8"))
    packages = [REPOSITORY / "backend" / "librarian" / name for name in ("search", "documents")]
    source = "\n".join(path.read_text("utf-8") for package in packages for path in sorted(package.glob("*.py")))
    told = set(re.findall(r'\bPart\(\s*"([^"]+)"', source))
    assert len(told) > 6
    weighed = ranker.in_sentences(dict(ranker.shipped().weights), 1.0)
    assert told | {*ranker.READ, *ranker.GIVEN, "hyde", *(name for name, weight in weighed.items() if weight)} <= page


def test_every_route_is_on_the_page_of_rest() -> None:
    page = (DOCS / "librarian" / "reference" / "rest.md").read_text("utf-8")
    source = (REPOSITORY / "backend" / "librarian" / "api" / "rest.py").read_text("utf-8")
    routes = set(re.findall(r'"(/(?:api/\w+|health|metrics))"', source))
    assert len(routes) > 8
    assert {route for route in routes if route not in page} == set()


def test_every_key_of_front_matter_that_is_read_is_on_the_page_of_formats() -> None:
    page = words((DOCS / "librarian" / "reference" / "formats.md").read_text("utf-8"))
    source = (REPOSITORY / "backend" / "librarian" / "parsing" / "metadata.py").read_text("utf-8")
    read = {*re.findall(r'front_matter\.get\("(\w+)"', source), *metadata.DATE_KEYS}
    assert len(read) > 10
    assert read - page == set()


def test_every_reason_for_leaving_a_file_out_is_on_the_page_of_troubles() -> None:
    page = words((DOCS / "librarian" / "guide" / "troubleshooting.md").read_text("utf-8"))
    folders = [REPOSITORY / "backend" / "librarian" / name for name in ("parsing", "storage", "indexing")]
    source = "\n".join(path.read_text("utf-8") for folder in folders for path in sorted(folder.rglob("*.py")))
    reasons = set(re.findall(r'(?:\breason ?= ?|"(?:failed|skipped)", )"(\w+)"', source))
    assert len(reasons) > 20
    assert reasons - page == {"root", "vanished"}, "the root's own, and what the next look tells"


def test_the_page_of_models_has_every_known_model_with_its_size() -> None:
    page = (DOCS / "librarian" / "reference" / "models.md").read_text("utf-8")
    for name in known():
        row = next(line for line in page.splitlines() if line.startswith("|") and f"`{name}`" in line)
        assert str(spec_of(name).dimension) in row
        assert f"{spec_of(name).max_tokens} tokens" in row


def test_every_test_and_benchmark_that_the_page_of_promises_names_exists() -> None:
    page = (DOCS / "librarian" / "explanation" / "promises.md").read_text("utf-8")
    named = {word for word in words(page) if word.endswith(".py")}
    assert len(named) > 20
    places = {name: name if name.startswith("benchmarks/") else f"backend/tests/{name}" for name in named}
    assert {name for name, path in places.items() if not (REPOSITORY / path).is_file()} == set()


def test_every_command_line_in_the_manual_exists() -> None:
    known = {name.split()[0] for name in reference.commands()}
    shown = (block for page in PAGES for block in blocks.of(page) if block.kind in ("text", "bash", "sh", "console"))
    lines = [line for block in shown for line in block.text.splitlines()]
    lines += sorted(words(blocks.prose(manual())))
    for line in lines:
        found = re.match(r"(?:\$ )?(?:\.venv/bin/)?librarian ([a-z]+)\b", line.strip())
        if found:
            assert found[1] in known, line


def test_a_section_of_this_manual_that_an_example_shows_is_there() -> None:
    examples = re.findall(r"librarian show (librarian/\S+\.md) --section '([^']+)'", manual())
    assert examples
    for path, section in examples:
        assert re.search(rf"^#+ {re.escape(section)}$", (DOCS / path).read_text("utf-8"), re.MULTILINE), section


def test_a_missing_extra_is_named_with_the_command_of_the_environment_that_runs() -> None:
    hint = missing_extra("qdrant", ImportError("no module")).hint
    command = shlex.split(hint.split("`")[1])
    assert command == [sys.executable, "-m", "pip", "install", "librarian-docs[qdrant]"]
    pages = re.findall(r"(\S+) -m pip install 'librarian-docs\[([\w-]+)\]'|(\bpip install 'librarian)", manual())
    assert pages
    assert {python for python, _, _ in pages} <= {"`.venv/bin/python"}, "another pip installs elsewhere"


def test_every_settings_key_in_the_manual_exists() -> None:
    sections = {key.split(".")[0] for key in SETTINGS if "." in key}
    known = set(SETTINGS) | set(ALIASES)
    known |= {key.rpartition(".")[0] for key in known}
    for word in words(blocks.prose(manual())):
        if re.fullmatch(r"[a-z_]+(\.[A-Za-z_]+)+", word) and word.split(".")[0] in sections:
            suffix = word.rpartition(".")[2]
            assert word in known or suffix in {"json", "md", "py", "txt", "sqlite"}, f"{word} isn't a setting"


@pytest.mark.parametrize("script", sorted((REPOSITORY / "scripts").glob("*.sh")), ids=lambda script: script.name)
def test_every_script_is_named_to_readers(script: Path) -> None:
    pages = [manual(), *((REPOSITORY / name).read_text("utf-8") for name in ("README.md", "CONTRIBUTING.md"))]
    assert any(script.name in page for page in pages)


def test_what_is_pinned_is_what_is_asked_for() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    pins = dict(re.findall(r"^([a-z0-9-]+)==([^ ]+)", (REPOSITORY / "requirements.txt").read_text("utf-8"), re.M))
    assert not {"torch", "sentence-transformers", "pytest"} & set(pins)
    for text in project["dependencies"]:
        wanted = Requirement(text)
        name = re.sub(r"[-_.]+", "-", wanted.name).lower()
        assert name in pins, f"{name} isn't pinned: run scripts/pin.sh"
        assert wanted.specifier.contains(pins[name]), (
            f"{name} {pins[name]} is outside {wanted.specifier}: run scripts/pin.sh"
        )
