"""Rules read from the source: modules are named after something, say what they are for and swallow no errors."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

BACKEND = Path(__file__).resolve().parents[1]
HOUSE = BACKEND / "librarian"
MODULES = sorted(path.relative_to(HOUSE).as_posix() for path in HOUSE.rglob("*.py"))

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
