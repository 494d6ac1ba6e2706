"""What a page in AsciiDoc says by its attributes."""

from __future__ import annotations

import time

import pytest

from .conftest import Parse


def test_references_to_attributes_are_their_values_in_text_lists_tables_and_titles(parse: Parse) -> None:
    page = (
        "= Using {product}\n:product: Acme Store\n:version: 1.4\n\nInstall {product} {Version} with {cpp}.\n\n"
        "* Open `{product}`\n\nStore:: {product}\n\n|===\n|{product} |{vbar} {version}\n|===\n\n"
        "{product} notes\n---------------\n\nimage::a.png[{product} at work]\n\n{unknown} \\{product}\n"
    )
    doc = parse(page, "a/b/c.adoc")
    assert doc.text == (
        "= Using Acme Store\n:product: Acme Store\n:version: 1.4\n\nInstall Acme Store 1.4 with C++.\n\n"
        "* Open `Acme Store`\n\nStore:: Acme Store\n\n|===\n|Acme Store |\\| 1.4\n|===\n\n"
        "Acme Store notes\n---------------\n\nimage::a.png[Acme Store at work]\n\n{unknown} \\{product}\n"
    )
    assert [(head.text, head.line) for head in doc.headings] == [("Using Acme Store", 1), ("Acme Store notes", 15)]
    assert all(doc.text.startswith(("= Using", "Acme Store notes"), head.start) for head in doc.headings)
    assert doc.summary == "Install Acme Store 1.4 with C++."


def test_a_setting_of_an_attribute_holds_from_there_on(parse: Parse) -> None:
    doc = parse("{a}\n\n:a: one\n\n{a}\n\n:a: two {a}\n\n{a}\n\n:!a:\n\n{a}\n\n:a: x\n:a!:\n\n{a}\n", "a/b/c.adoc")
    assert [line for line in doc.text.split("\n") if line and line[0] != ":"] == ["{a}", "one", "two one", "{a}", "{a}"]


def test_a_value_on_several_lines_is_put_in_on_one(parse: Parse) -> None:
    page = ":note: Keep it \\\nin the dark \\\n  and cool.\n\nPumps. {note}\n\n== Next\n"
    doc = parse(page, "a/b/c.adoc")
    assert "\nPumps. Keep it in the dark and cool.\n" in doc.text
    assert doc.text.count("\n") == page.count("\n")
    assert [doc.text[span.start : span.end] for span in doc.excluded] == [page.partition("\n\n")[0]]
    assert doc.headings[0].line == 7


@pytest.mark.parametrize(
    "code",
    [
        "----\n{a}\n----",
        "....\n{a}\n....",
        "```sh\n{a}\n```",
        "++++\n{a}\n++++",
        "////\n{a}\n////",
        "Give `+{a}+`, +++{a}+++ or pass:[{a}].",
    ],
)
def test_references_in_code_stay(parse: Parse, code: str) -> None:
    doc = parse(f":a: one\n\n{code}\n\nThen {{a}}.\n", "a/b/c.adoc")
    assert doc.text == f":a: one\n\n{code}\n\nThen one.\n"


def test_a_value_that_is_passed_as_it_is_keeps_its_braces(parse: Parse) -> None:
    doc = parse(":a: one\n:b: pass:[{a}]\n:c: pass:a,q[_{a}_]\n\n{b} {c}\n", "a/b/c.adoc")
    assert doc.text.endswith("\n\n{a} _one_\n")


def test_the_description_of_a_page_has_the_values_of_attributes(parse: Parse) -> None:
    doc = parse("= T\n:a: pumps\n:description: Of {a} \\\nand {a}.\n\n{description}\n\n== Next\n", "a/b/c.adoc")
    assert doc.summary == "Of pumps and pumps."
    assert "\n\nOf pumps and pumps.\n" in doc.text


def test_a_value_makes_no_title_or_item_of_a_line(parse: Parse) -> None:
    doc = parse(":a: == No\n:b: * no\n\nWords\n{empty}\n{a}\n{b}\nand words.\n", "a/b/c.adoc")
    assert [block.kind for block in doc.blocks] == ["other", "other", "paragraph"]
    assert doc.headings == ()


def test_a_link_that_an_attribute_holds_is_its_words(parse: Parse) -> None:
    doc = parse(":guide: xref:a/guide.adoc[the guide]\n\nRead {guide} first.\n", "a/b/c.adoc")
    assert doc.summary == "Read the guide first."
    assert [(link.text, link.target) for link in doc.links][-1] == ("the guide", "a/guide.adoc")


def test_values_that_double_each_other_make_no_huge_text(parse: Parse) -> None:
    page = ":a: aha aha\n" + ":a: {a}{a}\n" * 60 + "\n" + "{a} " * 5_000 + "\n"
    begun = time.thread_time()
    doc = parse(page, "a/b/c.adoc")
    assert time.thread_time() - begun < 5
    assert len(doc.text) <= 2 * len(page) + 100_000
    assert doc.text.count("\n") == page.count("\n")
