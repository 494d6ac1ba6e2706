"""Docstrings: what is proved here.

* Every worked example in a docstring of the house holds.
* Every module says what it is, and every public class and function of it what it does; methods may leave that to their
  protocol or their name.
"""

from __future__ import annotations

import ast
import doctest
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[2] / "librarian"
MODULES = sorted(HOUSE.rglob("*.py"))


def name_of(module: Path) -> str:
    parts = module.relative_to(HOUSE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("module", [path for path in MODULES if ">>> " in path.read_text("utf-8")], ids=name_of)
def test_worked_examples_hold(module: Path) -> None:
    assert doctest.testmod(importlib.import_module(name_of(module))).failed == 0


#: Requests, responses and settings: a docstring would go into each schema that models read; fields say what they are.
SCHEMAS = {"RequestModel", "_Search", "ResponseModel", "Section", "SearchResponseBase", "Result", "FacetItem"}


def undocumented(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        bases = {getattr(base, "id", "") for base in getattr(node, "bases", ())}
        if not bases & SCHEMAS and ast.get_docstring(node) is None:
            yield node.name


def test_what_is_public_says_what_it_does() -> None:
    trees = {name_of(path): ast.parse(path.read_text("utf-8")) for path in MODULES}
    assert trees
    assert [name for name, tree in trees.items() if tree.body and not ast.get_docstring(tree)] == []
    assert [f"{name}.{node}" for name, tree in trees.items() for node in undocumented(tree.body)] == []
