"""The house rules, read from the source: what is proved here.

* Rooms import what the table allows and nothing else; `assembly.py` joins them.
* Each library has its keeper: the few modules that may import it.
* Modules are named after something and swallow no errors.

The table is that of `docs/librarian/internals/architecture.md`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

BACKEND = Path(__file__).resolve().parents[1]
HOUSE = BACKEND / "librarian"
MODULES = sorted(path.relative_to(HOUSE).as_posix() for path in HOUSE.rglob("*.py"))

INNER = {"language", "reading", "shelving", "finding", "gathering", "evaluation", "models"}
DOORS = {"mcp_server", "web", "cli", "terminal", "serve"}

MAY_IMPORT: dict[str, set[str]] = {
    "vocabulary": set(),
    "files": {"vocabulary"},
    "settings": {"vocabulary", "files"},
    **{room: {"vocabulary"} for room in INNER},
    "desk": {"vocabulary"},
    "mcp_server": {"vocabulary"},
    "web": {"vocabulary", "mcp_server.app", "mcp_server.coming"},  # one port: MCP's routes are grafted in
    "keeper": {
        "files.config_files",
        "vocabulary.errors",
        "vocabulary.index_folder",
        "vocabulary.private_umask",
        "vocabulary.whole_file",
        "vocabulary.working_directory",
    },
    "assembly": {
        "vocabulary",
        "settings",
        "desk",
        "assembly_adapting",
        "assembly_calibration",
        "assembly_fitting",
        "assembly_study",
        "assembly_storage",
        "assembly_sharing",
        "assembly_spaces",
        "assembly_parts",
        "keeper.lock",  # who opens a library in a program of their own owns its index folder as a keeper does
        "keeper.starting",  # and one that a command left behind makes way for them
        *(INNER - {"reading"}),
    },
    "assembly_adapting": {"vocabulary", "evaluation", "finding"},
    "assembly_calibration": {"vocabulary", "evaluation", "finding"},
    "assembly_fitting": {"vocabulary"},
    "assembly_study": {"vocabulary", "desk", "evaluation", "finding"},
    "assembly_parts": {
        "vocabulary",
        "settings",
        "desk",
        *(INNER - {"evaluation", "gathering"}),
    },  # settings as the rooms' options
    "assembly_sharing": {"vocabulary", "settings", "assembly_storage", "shelving"},
    "assembly_spaces": {"vocabulary", "settings", "assembly_parts", "gathering", "models", "shelving"},
    "assembly_storage": {"vocabulary", "settings", "models", "shelving"},
    "log": {"settings", "vocabulary"},
    "reloading": {"settings", "vocabulary", "log"},
    "opening": {"vocabulary", "desk"},
    "command_door": {"vocabulary", "keeper"},
    "serve": {
        "vocabulary",
        "settings",
        "keeper",
        "assembly",
        "mcp_server",
        "web",
        "log",
        "reloading",
        "opening",
        "ending",
        "event_loop",
        "garbage",
        "listening",
        "shelving.heap",
        "welcome",
        "command_door",
    },
    "__main__": {"cli"},
    "cli": {"vocabulary", "keeper", "terminal", "ending"},
    "ending": {"keeper"},
    "event_loop": set(),
    "garbage": set(),
    "listening": {"vocabulary"},
    "welcome": {"vocabulary", "settings"},
    "terminal": {
        "vocabulary",
        "files",
        "settings",
        "keeper",
        "gathering",
        "models",
        "serve",
        "assembly",
        "assembly_parts",
    }
    | {"assembly_sharing", "listening"},
    "__init__": {"assembly", "shelving", "finding"},
}
"""Room (or module of the top floor) → rooms that it may import. A dotted name allows that module alone."""

KEEPERS: dict[str, tuple[str, ...]] = {
    "apsw": ("shelving/vectors/sqlite_vec.py",),
    "anyio": ("mcp_server/*",),
    "boto3": ("models/bedrock_embedder.py",),
    "botocore": ("models/bedrock_embedder.py",),
    "chardet": ("reading/*",),
    "chromadb": ("shelving/vectors/*",),
    "compressed_rtf": ("reading/mail/outlook.py",),
    "dotenv": ("files/config_files.py",),
    "fastapi": ("web/*",),
    "httpx": ("models/*", "gathering/*"),
    "huggingface_hub": ("models/*",),
    "lxml": ("reading/*", "gathering/*"),
    "mcp": ("mcp_server/*",),
    "numpy": ("vocabulary/*", "shelving/*", "finding/*", "gathering/*", "models/*", "evaluation/*", "assembly*"),
    "olefile": ("reading/compound_file.py",),
    "onnx": ("models/*",),
    "onnxruntime": ("models/*", "shelving/vectors/exact.py"),
    "pathspec": ("reading/*",),
    "prometheus_client": ("web/metrics.py",),
    "psycopg": ("shelving/postgres/*",),
    "psycopg_pool": ("shelving/postgres/*",),
    "psutil": ("shelving/*", "listening.py"),
    "pydantic": ("vocabulary/*", "settings.py", "mcp_server/*"),
    "pydantic_settings": ("settings.py",),
    "pypdfium2": ("reading/parsers/pdf.py",),
    "qdrant_client": ("shelving/vectors/qdrant.py",),
    "rich": ("terminal/page.py",),
    "sentence_transformers": ("models/*",),
    "spellchecker": ("language/respelling.py",),
    "sqlite_vec": ("shelving/vectors/sqlite_vec.py",),
    "sqlite3": ("shelving/*",),
    "starlette": ("mcp_server/*", "web/*"),
    "Stemmer": ("language/*",),
    "tantivy": ("shelving/lexical_*.py",),
    "tokenizers": ("models/*",),
    "torch": ("models/*",),
    "trafilatura": ("gathering/main_text.py",),
    "typer": ("terminal/*",),
    "uvicorn": ("serve.py",),
    "uvloop": ("event_loop.py",),
    "watchdog": ("shelving/*",),
    "yaml": ("reading/*",),
}
"""Library → the modules that may import it. `sqlite3` is listed although it comes with Python: the catalog hides it."""

EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "core", "misc", "services", "manager"}


@cache
def text_of(module: str) -> str:
    return (HOUSE / module).read_text("utf-8")


@cache
def nodes_of(module: str) -> list[ast.AST]:
    """All nodes of a module, itself first."""
    return list(ast.walk(ast.parse(text_of(module))))


@cache
def imports(module: str) -> list[tuple[str, int]]:
    """Absolute names of what a module imports, `import_module("…")` included, with their lines."""
    package = ["librarian", *module.removesuffix(".py").split("/")][:-1]
    found: list[tuple[str, int]] = []
    for node in nodes_of(module):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            if name == "librarian" or node.module is None:
                found += [(f"{name}.{alias.name}", node.lineno) for alias in node.names]
            else:
                found.append((name, node.lineno))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "import_module":
            found += [
                (str(ast.literal_eval(arg)), node.lineno) for arg in node.args[:1] if isinstance(arg, ast.Constant)
            ]
    return found


def room_of(module: str) -> str:
    return module.split("/")[0].removesuffix(".py")


# Each rule is one test that names all who break it: a test for each of the modules takes longer to start than to run.


def test_the_rooms_are_those_of_the_table() -> None:
    assert {room_of(module) for module in MODULES} == MAY_IMPORT.keys()
    assert {"librarian.vocabulary.types", "numpy"} <= {name for module in MODULES for name, _ in imports(module)}


def test_a_room_imports_only_what_the_table_allows() -> None:
    def strangers(module: str) -> Iterator[str]:
        room = room_of(module)
        if room not in MAY_IMPORT:
            yield f"{room} isn't in the table of rooms"
            return
        for name, line in imports(module):
            first, _, rest = name.partition(".")
            other = rest.split(".")[0]
            if first != "librarian" or not other or other.startswith("__") or other == room:
                continue
            allowed = other in MAY_IMPORT[room] or any(
                rest == single or rest.startswith(f"{single}.") for single in MAY_IMPORT[room] if "." in single
            )
            if not allowed:
                yield f"{module} may not import {other} (line {line})"

    assert [broken for module in MODULES for broken in strangers(module)] == []


def test_a_library_is_imported_by_its_keepers_alone() -> None:
    def strangers(module: str) -> Iterator[str]:
        for name, line in imports(module):
            library = name.split(".")[0]
            if library in ("librarian", "__future__") or (
                library in sys.stdlib_module_names and library not in KEEPERS
            ):
                continue
            if library not in KEEPERS:
                yield f"{library}, imported by {module} (line {line}), has no keeper: add it to the table"
            elif not any(fnmatch(module, pattern) for pattern in KEEPERS[library]):
                yield f"{module} may not import {library} (line {line})"

    assert [broken for module in MODULES for broken in strangers(module)] == []


@pytest.mark.parametrize("script", ["main.py", "stdio_server.py"])
def test_the_scripts_beside_the_package_only_open_a_door(script: str) -> None:
    path = BACKEND / script
    if not path.is_file():
        pytest.skip(f"no backend/{script}")
    tree = ast.parse(path.read_text("utf-8"))
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    ours = {name for name in names if name.startswith("librarian")}
    assert ours <= {"librarian.cli", "librarian.serve", "librarian.keeper.relay"}
    assert {name.split(".")[0] for name in names} - {"librarian"} <= sys.stdlib_module_names


def test_a_module_is_named_after_something() -> None:
    named = {module: set(module.removesuffix(".py").split("/")) for module in MODULES}
    assert [f"{module} could hold anything" for module, words in named.items() if words & EMPTY_NAMES] == []


def test_no_error_is_swallowed() -> None:
    def swallowed(node: ast.AST) -> bool:
        if not isinstance(node, ast.ExceptHandler):
            return False
        broad = node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException")
        return broad and all(isinstance(step, ast.Pass | ast.Continue) for step in node.body)

    assert [
        f"{module} swallows every error (line {getattr(node, 'lineno', 0)})"
        for module in MODULES
        for node in nodes_of(module)
        if swallowed(node)
    ] == []


def test_a_module_says_what_it_is_for() -> None:
    said = {
        module: ast.get_docstring(tree) or ""
        for module in MODULES
        if isinstance(tree := nodes_of(module)[0], ast.Module)
    }
    assert len(said) == len(MODULES)
    assert [
        f"{module} has no docstring that says what it is for" for module, text in said.items() if len(text.split()) <= 3
    ] == []
