"""Flags of one letter, operators and emoji are identifiers: the passage that holds one comes first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from librarian.models import Query

from .library import Library

PAGES = {
    "cli/a/pull.md": "# pull\n\n-x\n: Exclude paths.\n",
    "cli/a/grab.md": "# grab\n\n| option | what |\n|---|---|\n| `-k` | keep going |\n",
    "cli/a/push.md": "# push\n\n```\npush [-z] [-1] FILE\n```\n",
    "cli/a/win.md": "# On Windows\n\nUse `/v` for more, and /? for help.\n",
    "cli/a/both.md": "# Both\n\n-u/--user or -w/-W names one.\n",
    "cli/a/help.md": "# Help\n\nWhat does an option do? Ask -? and see. An option is an x, a k or a z.\n",
    "lang/a/null.md": "# Null\n\nUse ?? for defaults and ?. for safe access.\n",
    "lang/a/arrow.md": "# Functions\n\nWrite `=>` in front of the body.\n",
    "lang/a/pipe.md": "# Chains\n\nThe sign |> passes a value on, and <| turns it round.\n",
    "lang/a/equal.md": "# Equality\n\nCompare with `===` or `!==`, not with <>.\n",
    "lang/a/spaceship.md": "# Order\n\n`<=>` gives one of three numbers; `:=` assigns and `->` returns.\n",
    "team/a/launch.md": "# Launch\n\nA 🚀 marks a launch.\n",
    "team/a/bugs.md": "# Faults\n\nWrite 🐛 in front, and ✅ when it is done.\n",
    "team/a/mood.md": "# Mood\n\n👍🏽 is yes, ❤️ is more.\n",
    "team/a/flags.md": "# Countries\n\n🇫🇮 is Finland, 🇩🇪 is Germany.\n",
    "team/a/plain.md": "# Marks\n\nWhat does a mark mean? It marks what is meant: a launch, a bug, a mood, defaults.\n",
}
QUESTIONS = {
    "-x": "pull",
    "what does -x do": "pull",
    "`-k`": "grab",
    '"-k"': "grab",
    "option -z": "push",
    "-1": "push",
    "/v": "win",
    "what does /? do": "win",
    "-?": "help",
    "the option `-z`?": "push",
    "??": "null",
    "what does ?? mean": "null",
    "?.": "null",
    "how do I use =>?": "arrow",
    "`|>`": "pipe",
    "<|": "pipe",
    "===": "equal",
    "what is `!==`": "equal",
    "<=>": "spaceship",
    ":=": "spaceship",
    "->": "spaceship",
    "🚀": "launch",
    "what does 🐛 mean": "bugs",
    "✅": "bugs",
    "👍": "mood",
    "👍🏿": "mood",
    "❤": "mood",
    "🇩🇪": "flags",
    "-u": "both",
    "-w": "both",
}


@pytest.fixture
def library(shelve: Callable[..., Library]) -> Library:
    return shelve(PAGES)


@pytest.mark.parametrize("mode", ["keyword", "auto"])
def test_the_passage_that_holds_the_sign_comes_first(library: Library, mode: str) -> None:
    engine = library.engine()
    for question, name in QUESTIONS.items():
        found = engine.search(Query(question, mode=mode))  # type: ignore[arg-type]
        assert [hit.document.document.title for hit in found.hits][:1] == [
            PAGES[next(path for path in PAGES if path.endswith(f"/{name}.md"))].split("\n")[0][2:]
        ], question
        assert found.answerable != "unlikely", question


def test_rules_headings_and_tables_are_no_operators(library: Library) -> None:
    ornaments = "--- === * ** # ## ... | |---| |:-- -- ~~ !!! ???".replace("===", "=====")
    assert library.analyzer.tokens(ornaments) == []


def test_a_minus_before_a_number_or_a_word_is_no_flag(library: Library) -> None:
    assert library.analyzer.identifiers("a-b and/or n/a well-x 3-1 -1.5 /etc/x") == [
        *("and/or", "well-x", "1.5", "etc/x")
    ]
