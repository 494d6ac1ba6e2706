"""Pages that generators of documentation write: what is proved here.

* What follows the first words of an item stands under them, however many paragraphs it has.
"""

from __future__ import annotations

from .conftest import Parse


def test_all_that_follows_the_first_words_of_an_item_stands_under_them(parse: Parse) -> None:
    item = "<li>Turns it.<dl><dt>Parameters:</dt><dd>speed - in turns</dd><dt>Returns:</dt><dd>the heat</dd></dl></li>"
    assert parse(f"<ul>{item}<li>Stops it.</li></ul>", "acme/auth/pump.html").text == (
        "- Turns it.\n  Parameters:\n  speed - in turns\n  Returns:\n  the heat\n- Stops it."
    )
