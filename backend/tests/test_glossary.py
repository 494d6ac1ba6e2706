"""Identifiers of the package use the field's standard terms; the words of earlier versions don't come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import librarian

PACKAGE = Path(librarian.__file__).parent

RETIRED = frozenset((Path(__file__).parent / "retired_words.txt").read_text("utf-8").split())
RETIRED_PHRASES = ("looks_up", "as_told", "newest_first", "take_over", "second_look", "question_log", "text_writer")
#: Fields that the contract names, and tantivy's own word for a writer's memory.
ALLOWED = frozenset(
    {
        ("schemas.py", "connected"),
        ("schemas.py", "problems"),
        ("search/query_expansion.py", "connected"),
        ("storage/keyword_index.py", "_HEAP"),
    }
)
#: Where processes and connections are pooled; elsewhere a pool was a set of candidates.
POOLS = ("indexing/", "storage/")


def words(name: str) -> list[str]:
    return [part.lower() for part in re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", name)]


def identifiers(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg


def retired_in(name: str, path: str = "") -> bool:
    found = RETIRED.intersection(words(name)) - ({"pool"} if path.startswith(POOLS) else set())
    return (path, name) not in ALLOWED and (bool(found) or any(phrase in name.lower() for phrase in RETIRED_PHRASES))


def test_the_check_finds_a_retired_word_in_a_class_and_in_an_argument() -> None:
    found = [
        name for name in identifiers("class KeywordLeg:\n    def search(self, second_look): ...") if retired_in(name)
    ]
    assert found == ["KeywordLeg", "second_look"]


def test_no_identifier_of_the_package_uses_a_retired_word() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for name in [path.stem, *identifiers(path.read_text("utf-8"))]
        if retired_in(name, path.relative_to(PACKAGE).as_posix())
    ]
    assert found == []
