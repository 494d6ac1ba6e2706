"""Plain text and reStructuredText: underlined titles, code, tables, lists, what is left out, encodings and binaries."""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.errors import SourceError
from librarian.models import Document
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.encoding import decode
from librarian.parsing.text import TextScanner

from .conftest import Parse

RST = """\
.. _label:

=====
Title
=====

Words first::

    literal = 1

    # more

Section
-------

.. note::
   A note.

.. code-block:: python

   x = 1

- one
- two

  deeper

.. a comment
   that goes on

=====  =====
a      b
=====  =====
1      2
=====  =====

+---+---+
| a | b |
+===+===+
| 1 | 2 |
+---+---+

See `the site <https://a.b>`_ and :doc:`the page <page>`.

Sub
~~~
"""


def test_a_restructured_page_shows_its_structure(parse: Parse) -> None:
    doc = parse(RST, "a/b/page.rst.txt")
    assert [(head.level, head.text, head.line) for head in doc.headings] == [
        (1, "Title", 3), (2, "Section", 13), (3, "Sub", RST.split("\n").index("Sub") + 1),
    ]  # fmt: skip
    kinds = [(block.kind, doc.text[block.start : block.end].split("\n")[0]) for block in doc.blocks]
    assert ("fence", "    literal = 1") in kinds
    assert ("fence", ".. code-block:: python") in kinds
    assert ("list", "- one") in kinds
    tables = [block for block in doc.blocks if block.kind == "table"]
    assert [doc.text[table.start : table.header_end].count("\n") for table in tables] == [2, 2]
    hidden = [doc.text[span.start : span.end].split("\n")[0] for span in doc.excluded]
    assert hidden == [".. _label:", ".. note::", ".. a comment", "<https://a.b>", ":doc:", "<page>"]
    assert [(link.text, link.target) for link in doc.links] == [("the site", "https://a.b"), ("the page", "page")]
    assert doc.labels == ("label",)
    assert (doc.title, doc.file_type) == ("Title", ".txt")


def test_roles_lead_to_pages_and_labels_with_words_to_show_or_the_name_alone(parse: Parse) -> None:
    text = (
        ".. _pump-oil:\n.. _`Ops: Cooling`:\n.. _ops\\:heat:\n.. _site: https://example.org\n\nTitle\n=====\n\n"
        "See :ref:`pump-oil`, :ref:`the oil <pump-oil>`, :doc:`/guide/start`, :any:`Ops: Cooling` and :func:`run`.\n"
    )
    doc = parse(text, "a/b/page.rst")
    assert doc.labels == ("pump-oil", "Ops: Cooling", "ops:heat")
    assert [(link.text, link.target) for link in doc.links] == [
        ("", "pump-oil"), ("the oil", "pump-oil"), ("", "/guide/start"), ("", "Ops: Cooling"),
    ]  # fmt: skip


def test_plain_text_needs_no_structure(parse: Parse) -> None:
    doc = parse("Just a line.\nAnd another...\n...\n\n-- \nJoe\n----\n", "a/b/some-notes_v2.txt")
    assert (doc.title, doc.title_in_text) == ("Some notes v2", False)
    assert doc.headings == ()


def test_titles_underlined_too_briefly_are_text(parse: Parse) -> None:
    assert parse("A very long line of ordinary words in a paragraph\n---\n", "a/b/c.txt").headings == ()


def seen(doc: Document) -> str:
    hidden = {place for span in doc.excluded for place in range(span.start, span.end)}
    return "".join(char for place, char in enumerate(doc.text) if place not in hidden)


def test_fields_in_a_directives_body_are_text_and_its_options_are_not(parse: Parse) -> None:
    text = (
        ".. function:: f(a)\n   :module: hidden1\n   :async:\n\n   :returns: zebras\n   :raises: KeyError\n\n"
        ".. |logo| image:: x.png\n   :alt: hidden2\n\n   :Status: stable\n\n"
        ".. note::\n\n   .. figure:: y.png\n      :width: hidden3\n\n      :rtype: list"
    )
    shown = seen(parse(text, "a/b/c.rst"))
    for word in ("zebras", ":raises: KeyError", "stable", ":rtype: list"):
        assert word in shown
    assert "hidden" not in shown


def test_what_a_picture_shows_is_text_where_its_option_says_it(parse: Parse) -> None:
    text = (
        ".. image:: hidden.png\n   :width: 3\n   :alt: A pump\n      and its valve\n\n"
        ".. note::\n\n   .. figure:: y.png\n      :alt: A gauge\n      :align: hidden\n\n      Caption\n\n"
        ".. image:: z.png\n   :alt: 12\n\n.. code-block:: rst\n\n   .. image:: a.png\n      :alt: Code\n"
    )
    doc = parse(text, "a/b/c.rst")
    shown = " ".join(seen(doc).split())
    assert shown.startswith("A pump and its valve y.png A gauge Caption .. code-block::")
    assert ":alt: Code" in shown
    assert "hidden" not in shown
    assert "A pump" in StructureChunker().chunk(doc)[0].text


def test_what_stands_between_brackets_in_literals_and_titles_is_text(parse: Parse) -> None:
    text = (
        "The <name> folder\n=================\n\n<kind>\n------\n\nRun ``install <dist>`` or ``@<tag>#<hash>``.\n"
        "See `the guide <https://a.test/hidden>`_, :doc:`notes <hidden>` and :pep:`8`, :rfc:`822`, :func:`open`.\n"
    )
    doc = parse(text, "a/b/c.rst")
    assert [head.text for head in doc.headings] == ["The <name> folder", "<kind>"]
    shown = " ".join(seen(doc).split())
    assert "Run ``install <dist>`` or ``@<tag>#<hash>``." in shown
    assert shown.endswith(":pep:`8`, :rfc:`822`, `open`.")
    assert "hidden" not in shown


def test_the_body_of_a_note_is_set_apart_and_that_of_an_unknown_directive_is_code(parse: Parse) -> None:
    note = ".. note::\n\n   Beware of :doc:`here`, and of all the others.\n\n   - one\n\n   As in::\n\n     x = 1\n"
    doc = parse(f"Title\n=====\n\n{note}\nThe page begins with words.\n\n.. plot::\n\n   y = 1\n", "a/b/c.rst")
    assert [(block.kind, doc.text[block.start : block.end].strip()) for block in doc.blocks[2:]] == [
        ("quote", "Beware of :doc:`here`, and of all the others."),
        ("list", "- one"),
        ("quote", "As in::"),
        ("fence", "x = 1"),
        ("paragraph", "The page begins with words."),
        ("paragraph", ".. plot::"),
        ("fence", "y = 1"),
    ]
    assert doc.summary == "The page begins with words."


def test_a_summary_shows_the_words_of_references_alone(parse: Parse) -> None:
    doc = parse("T\n=\n\nSee :ref:`the setup <setup>`, `the site <https://a.test/>`_ and `Some part`_.\n", "a/b/c.rst")
    assert doc.summary == "See the setup, the site and Some part."


def test_a_directive_may_have_a_space_before_its_colons(parse: Parse) -> None:
    text = "Title\n=====\n\n.. note ::\n\n   Beware.\n\n.. testcode ::\n\n   x = 1\n\n.. see here ::\n\n   Hidden.\n"
    doc = parse(text, "a/b/c.rst")
    assert [doc.text[block.start : block.end] for block in doc.blocks if block.kind == "fence"] == [
        ".. testcode ::\n\n   x = 1"
    ]
    assert [doc.text[block.start : block.end].strip() for block in doc.blocks if block.kind == "quote"] == ["Beware."]
    shown = seen(doc)
    assert "note" not in shown
    assert "Hidden" not in shown


def test_an_empty_comment_hides_nothing(parse: Parse) -> None:
    text = "- item\n\n..\n\n   Quoted marmalade.\n\n..\n   Hidden words.\n\n   Hidden too.\n\nEnd\n\n.."
    shown = seen(parse(text, "a/b/c.rst"))
    assert "Quoted marmalade." in shown
    assert "Hidden" not in shown


@settings(deadline=None, max_examples=50)
@given(st.lists(st.text(alphabet="=-~.:+| \ta1*_\n", max_size=20), max_size=15).map("\n".join), st.booleans())
def test_text_blocks_are_in_order_and_never_overlap(text: str, directives: bool) -> None:
    scanner = TextScanner(text, directives=directives)
    scanner.scan()
    reached = 0
    for block in scanner.blocks:
        assert reached <= block.start < block.end <= len(text)
        reached = block.end
    for heading in scanner.headings:
        assert text.count("\n", 0, heading.start) + 1 == heading.line


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_unicode_encodings_are_recognised_with_and_without_marks(encoding: str) -> None:
    text = "Plain words, ümläute and 漢字.\nSecond line.\n" * 5
    found = decode(text.replace("\n", "\r\n").encode(encoding), "f")
    assert found.text == text
    assert found.confidence >= 0.9


@pytest.mark.parametrize("encoding", ["ascii", "utf-8", "cp1252", "cp1251"])
def test_a_zero_byte_that_strayed_into_a_text_makes_it_no_other_encoding(encoding: str) -> None:
    words = {"cp1251": "Насос стар. ", "ascii": "The pump is old. "}
    text = words.get(encoding, "Die Pumpe läuft für Jörg. ") * 12
    for zeros in (b"\0", b"\0\0"):
        data = text.encode(encoding)
        middle = len(text[:60].encode(encoding))
        found = decode(data[:middle] + zeros + data[middle:], "f").text
        assert found.split() == f"{text[:60]} {text[60:]}".split()


#: What each file of charset-normalizer's samples is encoded in, by its own documentation.
LEGACY = {
    "sample-arabic-1.txt": "cp1256", "sample-french-1.txt": "cp1252", "sample-chinese.txt": "big5",
    "sample-greek.txt": "cp1253", "sample-greek-2.txt": "cp1253", "sample-hebrew-2.txt": "cp1255",
    "sample-hebrew-3.txt": "cp1255", "sample-korean.txt": "cp949", "sample-turkish.txt": "cp1254",
    "sample-russian.txt": "mac_cyrillic",
}  # fmt: skip


def test_real_files_in_legacy_encodings_are_read_right(real_data: Callable[[str], Path]) -> None:
    folder = real_data("files") / "encodings" / "charset_normalizer"
    for name, encoding in LEGACY.items():
        data = (folder / name).read_bytes()
        expected = data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
        assert decode(data, name).text == expected, name


def test_a_few_damaged_bytes_do_not_make_utf_8_a_legacy_encoding() -> None:
    found = decode(("Grüße aus Köln. " * 20).encode() + b"\xff end", "f")
    assert found.encoding == "utf-8"
    assert found.text.startswith("Grüße aus Köln.")
    assert 0.9 < found.confidence < 1


@pytest.mark.parametrize(
    "data",
    [b"\x7fELF\x02\x01", b"PK\x03\x04rest", b"%PDF-1.7", b"\x89PNG\r\n\x1a\n", bytes(range(256)) * 4, b"\1\2\3\4" * 50,
     b"abc\0\0def\0ghi\xff" * 9],
)  # fmt: skip
def test_binary_data_is_refused_by_name(data: bytes, parse: Parse) -> None:
    with pytest.raises(SourceError) as caught:
        parse(data, "a/b/c.txt")
    assert caught.value.reason == "binary"
    assert "a/b/c.txt" in str(caught.value)


def test_marks_and_newlines_go_and_nothing_else() -> None:
    assert decode(codecs.BOM_UTF8 + b"a\r\nb\rc\n\x0c\td ", "f").text == "a\nb\nc\n\x0c\td "
    assert decode(b"", "f").text == ""


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=300))
def test_any_bytes_are_text_or_refused(data: bytes) -> None:
    with contextlib.suppress(SourceError):
        found = decode(data, "f")
        assert "\r" not in found.text
        assert 0 <= found.confidence <= 1


@pytest.mark.parametrize(
    "below", ["* One\n\n  .. code-block:: sh\n\n     ls\n", "Mended :ticket:`12`.\n", "* One\n\n  .. _aim:\n"]
)
def test_a_text_is_structured_where_its_only_directive_is_indented_or_a_role_tells_it(parse: Parse, below: str) -> None:
    assert seen(parse(f"Title\n=====\n\nWords.\n\n{below}", "a/b/c.txt")) == seen(
        parse(f"Title\n=====\n\nWords.\n\n{below}", "a/b/c.rst")
    )
    assert parse("Title\n=====\n\nAt 12:`x` and ..\n", "a/b/c.txt").excluded == ()


def test_titles_of_structured_texts_may_be_long_and_hold_words_joined_to_code(parse: Parse) -> None:
    long = " ".join(["Potential denial of service in"] * 5)
    titles = [long, "When ``Set``\\s are read", "All ``find()``\\ s and re\\ ``Load``", "The path ``\\d``"]
    text = "".join(f"{title}\n{'-' * len(title)}\n\nWords.\n\n" for title in titles)
    shown = [long, "When Sets are read", "All find()s and reLoad", "The path \\d"]
    assert [head.text for head in parse(text, "a/b/c.rst").headings] == shown
    assert [head.text for head in parse(f"{long}\n{'-' * len(long)}\n1 2 3\n", "a/b/c.txt").headings] == []


@pytest.mark.parametrize("above", ["Words::", "* Item::", "1. An item that\n   goes on::"])
def test_a_literal_block_goes_on_where_its_lines_stand_further_left_than_its_first(parse: Parse, above: str) -> None:
    drawing = "          +---+\n          | a |\n     +---+---+\n\n     | b | c |"
    doc = parse(f"{above}\n\n{drawing}\n\n   Words below.\n", "a/b/c.rst")
    fence = next(block for block in doc.blocks if block.kind == "fence")
    assert doc.text[fence.start : fence.end].startswith(drawing)


TARGETS = """\
The `Sphinx`_ tool
==================

See `many words
wrapped`_, Zope_ (`Sphinx`_), a var_name_ and `anonymous`__.

.. _Sphinx: https://sphinx.example/zzyzx
.. _zope: home_
.. _home: https://zope.example
.. _many words wrapped: https://wrapped.example/
   and/on
.. _`a: b`: ab.html
.. __: https://anonymous.example
__ https://anonymous.example/2

.. _place:

After.
"""


def test_where_the_names_of_a_restructured_page_lead_is_no_text_and_what_names_them_is_a_link(parse: Parse) -> None:
    doc = parse(TARGETS, "a/b/page.rst")
    hidden = [doc.text[span.start : span.end].replace("\n   ", "") for span in doc.excluded]
    assert hidden == [line for line in TARGETS.replace("\n   ", "").split("\n") if line.startswith((".. _", "__"))]
    assert [(link.text, link.target) for link in doc.links] == [
        ("Sphinx", "https://sphinx.example/zzyzx"),
        ("many words wrapped", "https://wrapped.example/and/on"),
        ("Zope", "https://zope.example"),
        ("Sphinx", "https://sphinx.example/zzyzx"),
    ]
    assert doc.labels == ("place",)
    assert doc.title == doc.headings[0].text == "The Sphinx tool"
    assert doc.summary == "See many words wrapped, Zope (Sphinx), a var_name_ and anonymous."
    chunks = StructureChunker().chunk(doc)
    assert not any("example" in chunk.text for chunk in chunks)


def test_a_link_with_its_target_beside_its_words_names_it_for_others(parse: Parse) -> None:
    doc = parse(
        "Title\n=====\n\nNative support of Zope_, that is\n`Zope <https://z.example>`_, and `Zope <b>`__.\n",
        "a/b/c.rst",
    )
    assert [link.target for link in doc.links] == ["https://z.example", "https://z.example", "b"]
    assert doc.summary == "Native support of Zope, that is Zope, and Zope."


def test_directives_and_targets_may_stand_right_below_each_other(parse: Parse) -> None:
    text = ".. highlight:: none\n.. _faq:\n\nTitle\n=====\n\n.. index:: pump\n.. _oil:\n\nUse **oil**\\ s and water.\n"
    doc = parse(text, "a/b/c.rst")
    hidden = [doc.text[span.start : span.end] for span in doc.excluded]
    assert hidden == [".. highlight:: none", ".. _faq:", ".. index::", ".. _oil:"]
    assert doc.labels == ("faq", "oil")
    assert doc.summary == "Use oils and water."


def test_a_text_whose_only_markup_is_where_a_name_leads_is_structured(parse: Parse) -> None:
    doc = parse("Title\n=====\n\nSee Zope_.\n\n.. _Zope: https://zope.example\n", "a/b/page.txt")
    assert [(link.text, link.target) for link in doc.links] == [("Zope", "https://zope.example")]
    assert [span.reason for span in doc.excluded] == ["markup"]
