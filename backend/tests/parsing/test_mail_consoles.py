"""Lines typed at a prompt, which look like quotes: what is proved here.

* They are a mail's own words where the mail quotes nothing else, and in an answer where a program answered them.
* Prose, code that somebody quotes, and whatever stands right below "On … wrote:" stay quotes.
"""

from __future__ import annotations

import pytest

from librarian.parsing.email.cleaning import excluded_of, own_words

WROTE = "On Tue, 3 Mar 2026 at 10:00, Ann <ann@x.org> wrote:"


def own(text: str) -> str:
    """Without anything that is excluded, whatever for."""
    return own_words(text, excluded_of(text), {span.reason for span in excluded_of(text)}).strip()


@pytest.mark.parametrize(
    "session",
    [
        '> library(RMySQL)\nLoading required package: DBI\n> con <- dbConnect(m, user="it\'s me")  # fails',
        " > z = dbConnect(\"SQLite\",\n   dbname='test')\n > z",
        "> f <- function (x) x + 1\n> f(2)\n[1] 3\n> ",
        ">>> from rpy_options import set_options\n>>> set_options(RHOME='c:/r')",
        ">>> for pump in pumps:\n...     pump.stop()\n...\nTraceback (most recent call last):",
        "> const pump = start({ speed: 3 });\nundefined",
        "> df |>\n+   summary()\n> if (ok) print(df[[1]]$name)",
        "> ?read.table",
    ],
)
def test_what_was_typed_at_a_prompt_belongs_to_the_mail(session: str) -> None:
    text = f"The import fails. This is what I did:\n\n{session}\n\nWhat is wrong?"
    assert own(text) == text


def test_a_session_at_the_end_of_a_mail_is_not_its_history() -> None:
    text = "My version:\n\n> sessionInfo()"
    assert excluded_of(text) == ()


def test_an_answer_keeps_what_a_program_answered_and_leaves_out_what_it_quotes() -> None:
    quoted = f"{WROTE}\n> The mean is wrong:\n> x <- mean(y)\n\n"
    session = "> x <- mean(y, na.rm = TRUE)\n> x\n[1] 3.5\n> q()"
    assert own(f"{quoted}Leave out what is missing:\n\n{session}") == f"Leave out what is missing:\n\n{session}"


@pytest.mark.parametrize(
    "quote",
    [
        "> library(RMySQL)\n> con <- dbConnect(m)",
        "> library(RMySQL)\n[1] 3",
    ],
)
def test_code_right_below_what_introduces_it_is_a_quote(quote: str) -> None:
    assert "library" not in own(f"{WROTE}\n{quote}\n\nUse another package.")


@pytest.mark.parametrize(
    "quote",
    [
        "> Have you tried update.packages(checkBuilt=T,\n> ask=F)?",
        "> The call foo(x) fails",
        "> Thanks.\n> x <- 3",
        "> f(x,\n>   y)",
        ">> x <- 3\n> y <- 4",
        "> > x <- 3",
        "> Yes",
        "> It's broken",
        "> Don't\n> library(x)",
        "> f)",
        "> x <- 3 because it is odd",
    ],
)
def test_what_reads_as_prose_or_as_quoted_code_stays_a_quote(quote: str) -> None:
    assert own(f"{quote}\n\nYes, twice.\n") == "Yes, twice."


def test_code_in_an_answer_that_no_program_answers_stays_a_quote() -> None:
    text = f"{WROTE}\n> Hello,\n\nHello.\n\n> x <- mean(y)\n\nThat is too much.\n"
    assert own(text) == "Hello.\n\n\n\nThat is too much."


@pytest.mark.parametrize(
    "line", ["> " + "f(" * 190, "> " + "f((" * 60 + "))" * 60, "> '" + "\\'" * 180, "> " + "a.b$" * 90]
)
def test_long_lines_cost_no_time(line: str) -> None:
    assert excluded_of("\n\n".join([line, "> x <- 3", "Hello."] * 2_000)) is not None
