"""Every format at once: what is proved here.

* A document of each format that has a parser is made, and a phrase known to be in it is found by search, through the
  whole program; so is a question in each of the larger languages, and a language can be asked for.
* The table of formats in the manual names every extension, and none that has no parser.
* HTML, notebooks, AsciiDoc, OpenAPI and the markup of site generators are read as a reader would see them.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import docx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from librarian.errors import SetupError, SourceError
from librarian.indexing.scanner import FolderScanner
from librarian.library import Librarian
from librarian.models import Document, Failure, SourceFile
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.encoding import decode
from librarian.parsing.reader import PARSERS, READABLE

from .conftest import Parse
from .makers import compound, epub, item, ods, odt, pdf, pptx, shape, xls, xlsb, xlsx


def _word(phrase: str) -> bytes:
    file = docx.Document()
    file.add_heading("Golden", 1)
    file.add_paragraph(phrase)
    buffer = io.BytesIO()
    file.save(buffer)
    return buffer.getvalue()


def golden(extension: str, phrase: str) -> bytes:
    """A small document of a format that holds a phrase."""
    if extension in (".docx", ".docm"):
        return _word(phrase)
    if extension in (".pptx", ".pptm", ".ppsx"):
        return pptx([shape("Golden", "title") + shape(phrase, "body")])
    if extension in (".xlsx", ".xlsm"):
        return xlsx({"Golden": f'<row><c t="inlineStr"><is><t>{phrase}</t></is></c></row>'})
    if extension in (".odt", ".ott"):
        return odt(f"<text:p>{phrase}</text:p>")
    made = {
        ".xls": lambda: xls("Golden", phrase),
        ".xlsb": lambda: xlsb("Golden", phrase),
        ".ods": lambda: ods(
            "Golden",
            '<table:table-row><table:table-cell office:value-type="string">'
            f"<text:p>{phrase}</text:p></table:table-cell></table:table-row>",
        ),
        ".pdf": lambda: pdf([[(72, 700, 10, 1, phrase)]]),
        ".epub": lambda: epub({"a.xhtml": f"<p>{phrase}</p>"}),
        ".rtf": lambda: b"{\\rtf1 " + phrase.encode() + b"\\par}",
        ".ipynb": lambda: json.dumps({"cells": [{"cell_type": "markdown", "source": [phrase]}]}).encode(),
        ".json": lambda: json.dumps({"golden": phrase}).encode(),
        ".csv": lambda: f"Name,Note\nx,{phrase}\n".encode(),
        ".tsv": lambda: f"Name\tNote\nx\t{phrase}\n".encode(),
        ".eml": lambda: f"From: a@example.org\nSubject: Golden\n\n{phrase}\n".encode(),
        ".emlx": lambda: b"%d\n" % (len(phrase) + 18) + f"Subject: Golden\n\n{phrase}\n<?xml?>\n".encode(),
        ".msg": lambda: compound(item({0x0037: "Golden", 0x1000: phrase})),
        ".mbox": lambda: f"From a@b Thu Jan  1 00:00:00 2026\nFrom: a@b.org\nSubject: Golden\n\n{phrase}\n".encode(),
    }
    if extension in (".html", ".htm", ".xhtml"):
        return f"<html><body><p>{phrase}</p></body></html>".encode()
    if extension in (".yaml", ".yml"):
        return f"golden: {phrase}\n".encode()
    return made[extension]() if extension in made else f"Golden\n\n{phrase}\n".encode()


NUMBERS = {extension: f"{place:02d}" for place, extension in enumerate(sorted(READABLE))}

MAILS = (".eml", ".mbox", ".msg", ".emlx")

LANGUAGES = {
    "de": ("Zugangsschlüssel werden jedes Jahr erneuert, und die alten werden gelöscht. Das steht in der Richtlinie.",
           "Wann werden die Zugangsschlüssel erneuert?"),
    "ru": ("Резервные копии создаются каждую ночь, и они хранятся на отдельном сервере. Это делает администратор.",
           "Где хранится резервная копия?"),
    "ja": ("サーバーの設定を変更した後は、サービスを再起動する必要があります。", "サービスの再起動が必要ですか"),
    "zh": ("更改防火墙规则之后，需要重新加载配置文件。", "如何重新加载配置文件"),
    "fr": ("Les mots de passe sont vérifiés chaque jour par le serveur, et les plus anciens sont refusés.",
           "Quels mots de passe sont refusés ?"),
    "es": ("Las copias de seguridad se guardan en otro edificio, y el técnico las comprueba cada semana.",
           "¿Dónde se guardan las copias de seguridad?"),
    "it": ("Gli utenti devono cambiare la parola chiave ogni tre mesi, e la vecchia non è più valida.",
           "Quando cambiare la parola chiave?"),
    "nl": ("De beheerder controleert elke ochtend of de reservekopie van de databank gelukt is.",
           "Wie controleert de reservekopie?"),
    "pt": ("As cópias de segurança são guardadas em outro prédio, e o técnico verifica tudo a cada semana.",
           "Onde são guardadas as cópias de segurança?"),
    "sv": ("Säkerhetskopian sparas varje natt, och den som är ansvarig kontrollerar att den går att läsa.",
           "När sparas säkerhetskopian?"),
    "ar": ("يجب تغيير كلمة المرور كل ثلاثة أشهر حتى تبقى الحسابات آمنة.", "كلمة المرور"),
    "th": ("ต้องเปลี่ยนรหัสผ่านทุกสามเดือนเพื่อความปลอดภัยของบัญชี", "เปลี่ยนรหัสผ่าน"),
    "ko": ("비밀번호는 세 달마다 변경해야 합니다.", "비밀번호 변경"),
}  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Librarian]:
    """A document of each format and each language, found by keyword alone."""
    folder = tmp_path_factory.mktemp("formats")
    place = folder / "docs" / "acme" / "golden"
    place.mkdir(parents=True)
    for extension, number in NUMBERS.items():
        (place / f"file{number}{extension}").write_bytes(golden(extension, f"the zebra{number} phrase is golden"))
    tongues = folder / "docs" / "acme" / "tongues"
    tongues.mkdir()
    for language, (text, _) in LANGUAGES.items():
        (tongues / f"{language}.md").write_text(text + "\n", encoding="utf-8")
    (folder / "config.json").write_text(
        '{"docs": {"root_path": "docs", "watch_for_changes": false}, "embeddings": {"enabled": false},'
        ' "index": {"workers": 2}}'
    )
    with Librarian.open(folder / "config.json") as opened:
        opened.refresh()
        yield opened


def paths(library: Librarian, query: str, **filters: object) -> list[str]:
    return [result.file_path for result in library.search(query, mode="keyword", **filters).results]  # type: ignore[arg-type]


def test_a_known_phrase_of_every_format_is_found(library: Librarian) -> None:
    missing: dict[str, list[str]] = {}
    for extension, number in NUMBERS.items():
        found = paths(library, f"zebra{number} phrase")
        if extension in MAILS:
            found = [mail.file_path for mail in library.search_emails(f"zebra{number} phrase", mode="keyword").results]
        if not any(path.startswith(f"acme/golden/file{number}{extension}") for path in found[:1]):
            missing[extension] = found
    assert missing == {}
    status = library.status()
    assert status.failures.total == 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_question_finds_its_document_in_its_language(library: Librarian, language: str) -> None:
    question = LANGUAGES[language][1]
    assert paths(library, question)[0] == f"acme/tongues/{language}.md"
    assert paths(library, question, language=language) == [f"acme/tongues/{language}.md"]


def test_the_manual_lists_every_extension_and_no_other() -> None:
    page = Path(__file__).parents[3] / "docs" / "librarian" / "reference" / "formats.md"
    rows = [line.split("|") for line in page.read_text("utf-8").splitlines() if line.startswith("| ")]
    listed = {name for row in rows for name in re.findall(r"`(\.\w+)`", row[2] if len(row) > 2 else "")}
    assert listed == READABLE


def test_no_library_is_imported_before_a_file_of_its_format_is_read() -> None:
    import subprocess

    code = "import sys, librarian.parsing.reader; print(sorted({'pypdfium2', 'chardet', 'docx'} & set(sys.modules)))"
    backend = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=backend, timeout=300, check=True
    )
    assert done.stdout.strip() == "[]"


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(sorted(PARSERS)), st.binary(max_size=400), st.data())
def test_hostile_bytes_are_read_or_refused_and_offsets_stay_true(
    extension: str, noise: bytes, data: st.DataObject
) -> None:
    parser = PARSERS[extension]
    good = golden(extension, "words of the phrase")
    place = data.draw(st.integers(0, len(good)))
    for content in (noise, good[:place] + noise + good[place:], good[:place]):
        source = SourceFile("/x", f"acme/x/file{extension}", "acme", "x", len(content), 0)
        try:
            doc = parser.parse(source, content)
        except SourceError:
            continue
        check(doc)


def check(doc: Document) -> None:
    ends = [0, *(block.end for block in doc.blocks)]
    assert all(end <= block.start < block.end for end, block in zip(ends, doc.blocks, strict=False))
    assert all(block.end <= len(doc.text) for block in doc.blocks)
    assert all(
        0 <= head.start <= len(doc.text) and doc.text.count("\n", 0, head.start) == head.line - 1
        for head in doc.headings
    )
    doc.text.encode("utf-8")
    for chunk in StructureChunker().chunk(doc):
        assert doc.text[chunk.start : chunk.end] == chunk.text


# -- pages -----------------------------------------------------------------------------------------------------------

PAGE = """<!doctype html><html><head><title>T &mdash; Site</title><meta name="keywords" content="a, b"></head><body>
<nav>Home</nav><div class="sidebar">Side</div><main><h1>The page<a class="headerlink" href="#x">¶</a></h1>
<p>Some <b>bold</b> text with <a href="a.html">a
link</a>.<br>Next line</p><ul><li>one<ul><li>deep</li></ul></li><li><p>two</p><p>more</p></li></ul><ol start="3"><li>x
</li></ol><div class="highlight-python"><pre><span>def</span> f():
    pass
</pre></div><table><caption>Cap</caption><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2|<b>3</b></td></tr></table>
<blockquote><p>quoted</p></blockquote><p hidden>no</p></main><script>x</script><footer>f</footer></body></html>"""


def test_a_page_is_its_main_text(parse: Parse) -> None:
    doc = parse(PAGE, "acme/auth/page.html")
    assert doc.text == (
        "# The page\n\nSome bold text with a link.\nNext line\n\n- one\n  - deep\n- two\n  more\n3. x\n\n"
        "```python\ndef f():\n    pass\n```\n\nCap\n\n| A | B |\n| --- | --- |\n| 1 | 2\\|3 |\n\n> quoted"
    )
    assert (doc.title, doc.tags) == ("The page", ("a", "b"))
    assert [(link.text, link.target) for link in doc.links] == [("a link", "a.html")]
    check(doc)


def test_a_page_in_a_declared_encoding_or_nested_without_end_is_read(parse: Parse) -> None:
    page = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>Сервер</p>'
    doc = parse(page.encode("cp1251"), "acme/auth/page.htm")
    assert (doc.text, doc.encoding) == ("Сервер", "cp1251")
    assert "deep words" in parse("<div>" * 20_000 + "deep words", "acme/auth/page.html").text
    assert parse("<nav>only a menu</nav>", "acme/auth/page.html").text == "only a menu"
    with pytest.raises(SourceError) as caught:
        parse("<script>draw()</script>", "acme/auth/page.html")
    assert caught.value.reason == "no_text"


def test_a_notebook_is_its_cells_with_their_outputs(parse: Parse) -> None:
    book = {
        "metadata": {"kernelspec": {"language": "python"}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "Words."]},
            {"cell_type": "code", "source": "print(1)", "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {"output_type": "display_data", "data": {"text/plain": "<Figure size 640x480 with 1 Axes>"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "no"},
            ]},
        ],
    }  # fmt: skip
    doc = parse(json.dumps(book), "acme/auth/book.ipynb")
    assert doc.text == (
        "# Title\nWords.\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n```text\nValueError: no\n```"
    )
    assert (doc.title, doc.file_type) == ("Title", ".ipynb")


ADOC = """= The Title
Eve <eve@example.org>
:keywords: x, y

Intro with link:a.adoc[the a page].

== Section *one*

[source,ruby]
----
== not a title
----

|===
|A |B
|===

* one
* two

include::x.adoc[]
// comment
////
hidden
////
"""


def test_asciidoc_keeps_its_blocks_and_hides_its_macros(parse: Parse) -> None:
    doc = parse(ADOC, "acme/auth/page.adoc")
    assert [(head.level, head.text) for head in doc.headings] == [(1, "The Title"), (2, "Section one")]
    assert [block.kind for block in doc.blocks if block.kind != "other"] == [
        "heading", "paragraph", "paragraph", "heading", "fence", "table", "list",
    ]  # fmt: skip
    assert [doc.text[span.start : span.end] for span in doc.excluded] == [
        ":keywords: x, y", "link:a.adoc[", "]", "[source,ruby]", "include::x.adoc[]", "// comment",
        "////\nhidden\n////",
    ]  # fmt: skip
    assert (doc.tags, doc.links[0].target) == (("x", "y"), "a.adoc")


def test_what_a_page_in_asciidoc_is_about_is_its_summary_and_searched_where_an_attribute_says_it(parse: Parse) -> None:
    header = (
        "= Flush\n:description: pass:q[_Flushing_ deletes \\\nevery object.]\n:page-aliases: a, b\n\n{description}\n"
    )
    doc = parse(f"{header}\n== Next\n\nWords.\n", "acme/auth/page.adoc")
    hidden = [doc.text[span.start : span.end].partition(" ")[0] for span in doc.excluded]
    assert hidden == [":description:", ":page-aliases:"]
    assert "\n\n_Flushing_ deletes every object.\n" in doc.text
    assert doc.summary == "Flushing deletes every object."
    assert dict(doc.front_matter) == {"description": "_Flushing_ deletes every object."}


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ("A pump, 300", "A pump"),
        ('"A pump, open", role=x', "A pump, open"),
        ("width=30,alt=A pump", "A pump"),
        ('role=x, alt="A pump, open"', "A pump, open"),
        ("", ""),
        ("300,200", ""),
        ("width=300", ""),
    ],
)
def test_what_a_picture_in_asciidoc_shows_is_text(parse: Parse, attributes: str, words: str) -> None:
    text = f"= Page\n\nBefore.\n\nimage::pump.png[{attributes}]\n\nAfter.\n"
    doc = parse(text, "acme/auth/page.adoc")
    hidden = {place for span in doc.excluded for place in range(span.start, span.end)}
    shown = "".join(char for place, char in enumerate(text) if place not in hidden)
    assert " ".join(shown.split()) == " ".join(f"= Page Before. {words} After.".split())


def test_where_links_and_pictures_of_asciidoc_lead_is_left_out_and_their_words_stay(parse: Parse) -> None:
    text = (
        'See xref:a/b.adoc#c[the guide], link:d.html["the list, too",window=_blank] or https://e.example[the site^].\n'
        "Or <<part,this part>> with image:g.png[a pump], but \\xref:h.adoc[so], xref:i.adoc[] and <<j>>.\n\n"
        "----\nlink:k[code]\n----\n"
    )
    doc = parse(text, "acme/auth/page.adoc")
    hidden = {place for span in doc.excluded for place in range(span.start, span.end)}
    assert "".join(char for place, char in enumerate(text) if place not in hidden) == (
        "See the guide, the list, too or the site.\n"
        "Or this part with a pump, but \\xref:h.adoc[so], xref:i.adoc[] and <<j>>.\n\n"
        "----\nlink:k[code]\n----\n"
    )
    assert doc.summary.startswith("See the guide, the list, too or the site. Or this part with a pump, but")
    assert doc.summary.endswith("xref:i.adoc[] and <<j>>.")


def test_titles_of_asciidoc_are_those_that_a_reader_sees(parse: Parse) -> None:
    text = (
        "= Using {product} {edition}\n:product: Acme Store\n\n== [[two]]Install the {cpp} client\n\nWords.\n\n"
        "=== Backups [.paid]*Pro* [[backups]]\n\nMore of `{x}`.\n\n== Keep \\{product}\n"
    )
    early = parse(text.replace(":product:", ":other:"), "acme/auth/page.adoc")
    doc = parse(f":product: Acme Store\n{text}", "acme/auth/page.adoc")
    shown = ["Install the C++ client", "Backups Pro", "Keep {product}"]
    assert [head.text for head in doc.headings] == ["Using Acme Store {edition}", *shown]
    assert early.title == "Using {product} {edition}"


def test_links_and_pictures_in_titles_of_asciidoc_are_their_words(parse: Parse) -> None:
    titles = {
        'Acme Data image:https://b.example/badge?a=B&c=1["Build passing", link="https://b.example"]': (
            "Acme Data Build passing"
        ),
        "xref:{chapters}what.adoc[What is it?]": "What is it?",
        "Ask link:https://a.example[on the list^] or https://b.example/x[in the chat,window=_blank]": (
            "Ask on the list or in the chat"
        ),
        "Other <<parents,{caret} Parents>> icon:tags[role=blue]": "Other ^ Parents",
        "Items a[0] at https://a.example": "Items a[0] at https://a.example",
    }
    doc = parse("".join(f"== {title}\n\nWords.\n\n" for title in titles), "acme/auth/page.adoc")
    assert [head.text for head in doc.headings] == list(titles.values())


API = """openapi: 3.0.1
info: {title: Pets, version: "1.2", description: All about pets}
paths:
  /pets/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get:
      summary: Get a pet
      operationId: getPet
      parameters: [{$ref: '#/components/parameters/Verbose'}]
      responses: {'200': {description: the pet, content: {application/json: {schema: {$ref: '#/x/Pet'}}}}}
components:
  parameters: {Verbose: {name: verbose, in: query, schema: {type: boolean}, description: Say more}}
  schemas: {Pet: {type: object, required: [name], properties: {name: {type: string, description: Its name}}}}
"""


def test_an_interface_is_read_by_operation(parse: Parse) -> None:
    doc = parse(API, "acme/auth/pets.yaml")
    assert [head.text for head in doc.headings] == ["Pets 1.2", "GET /pets/{id}", "Schema Pet"]
    assert "| verbose | query | boolean | no | Say more |" in doc.text
    assert "- 200: the pet (application/json Pet)" in doc.text
    assert "| name | string | yes | Its name |" in doc.text
    broken = parse("openapi: 3.0\npaths: [1, 2", "acme/auth/broken.yaml")
    assert broken.text.startswith("openapi")
    assert broken.notes[0].startswith("not a readable OpenAPI")
    bomb = "openapi: 3.0.0\na: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(12)
    )
    check(parse(bomb, "acme/auth/bomb.yaml"))
    for deep in ("[" * 100_000, "- " * 100_000, '{"a":' * 100_000):
        assert "nested" in parse(f"openapi: 3.0.0\na: {deep}", "acme/auth/deep.yaml").notes[0]
        assert "nested" in parse(f"---\na: {deep[:90_000]}\n---\nwords").notes[0]


def test_other_data_is_cut_between_its_entries(parse: Parse) -> None:
    doc = parse("# top\nkind: Pod\nspec:\n  a: 1\n---\nkind: Job\n", "acme/auth/pod.yml")
    assert [doc.text[block.start : block.end] for block in doc.blocks] == [
        "# top\nkind: Pod\nspec:\n  a: 1", "---\nkind: Job",
    ]  # fmt: skip
    assert (doc.title, doc.title_in_text) == ("Pod", False)


MARKED = """# T

!!! note "The title"
    Words

=== "Linux"

    ```sh
    ::: kept in code
    ```

:::tip[Good]
text
:::

/// warning | Careful
more
///

{* ../a.py hl[1] *}

--8<-- "x.md"

A {% include "x" %} B.
"""


def test_markers_of_site_generators_arent_indexed_and_their_titles_are(parse: Parse) -> None:
    doc = parse(MARKED)
    shown = doc.text
    for span in reversed(doc.excluded):
        shown = shown[: span.start] + shown[span.end :]
    assert " ".join(shown.split()) == (
        "# T The title Words Linux ```sh ::: kept in code ``` Good text Careful more A B."
    )


# -- source files, sizes, encodings ------------------------------------------------------------------------------------


def test_source_files_are_skipped_as_other_unknown_types_are(tmp_path: Path) -> None:
    (tmp_path / "p" / "c").mkdir(parents=True)
    for name in ("a.py", "a.go", "a.unknown"):
        (tmp_path / "p" / "c" / name).write_text("# Words.\n")
    found = list(FolderScanner(tmp_path, known_extensions=READABLE).scan())
    assert {(type(one), getattr(one, "reason", "")) for one in found} == {(Failure, "extension")}
    assert len(found) == 3


def test_a_format_may_have_a_limit_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "p" / "c").mkdir(parents=True)
    for name in ("a.pdf", "a.md"):
        (tmp_path / "p" / "c" / name).write_bytes(b"x" * 3_000)
    scanner = FolderScanner(
        tmp_path, max_file_size_mb=0.001, size_limits=[".pdf:1"], known_extensions=frozenset(PARSERS)
    )  # fmt: skip
    assert [type(found) for found in scanner.scan()] == [Failure, SourceFile]


@pytest.mark.parametrize("given", [".pdf:0", ".pdf:-1", ".pdf:nan", ".pdf:inf", ".pdf:", ".pdf", ":5"])
def test_a_limit_that_is_no_size_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(SetupError, match=r"docs\.size_limits holds"):
        FolderScanner(tmp_path, size_limits=[given], known_extensions=frozenset(PARSERS))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Name;Größe;Ort\nAnna;1,80;Köln\n", "cp1252"),
        ("L’été, c’est déjà fini.", "cp1252"),
        ("Zażółć gęślą jaźń", "cp1250"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy při každém spuštění", "iso8859-2"),
        ("Настройки вступают в силу после перезагрузки службы.", "iso8859-5"),
        ("Настройки вступают в силу после перезагрузки службы.", "koi8-r"),
        ("Настройки вступают в силу после перезагрузки службы.", "cp866"),
        ("サーバーの設定を変更します。", "iso2022_jp"),
        ("サーバーの設定を変更します。", "cp932"),
        ("更改在重新启动服务后生效。昨天我们沿着河边走了很久。", "gb18030"),
        ("서버는 시작할 때마다 키를 확인합니다.", "cp949"),
        ("Größe ändern", "utf-16"),
        ("Größe ändern", "utf-32-be"),
    ],
)
def test_legacy_encodings_are_told(text: str, encoding: str) -> None:
    decoded = decode(text.encode(encoding), "x.txt")
    assert decoded.text == text
    assert 0 < decoded.confidence <= 1
