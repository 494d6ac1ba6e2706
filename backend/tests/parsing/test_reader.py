"""The reader turns a file into a document, chunks and keyword entries, survives a pickle, and names what it can't."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from librarian.errors import SourceError
from librarian.indexing.scanner import FolderScanner
from librarian.models import AnalyzedQuery, Document, ReadResult, SourceFile, TokenSpan
from librarian.parsing.chunking import StructureChunker
from librarian.parsing.metadata import cut_at_sentence, doc_type_of, iso_of_ns, parse_date, title_from_name
from librarian.parsing.reader import PARSERS, FileReader

from .conftest import Parse


class Words:
    """An analyzer whose tokens can be worked out in the head: lower-case words; identifiers have an underscore."""

    fingerprint = "words"

    def tokens(self, text: str, language: str = "") -> list[str]:
        return [token for word in text.split() if (token := word.strip(".,:#`").lower())]

    def spans(self, text: str, language: str = "") -> list[TokenSpan]:
        return []

    def identifiers(self, text: str) -> list[str]:
        return [word for word in self.tokens(text) if "_" in word]

    def entry(self, text: str, language: str = "") -> tuple[str, list[str]]:
        return " ".join(self.tokens(text)), self.identifiers(text)

    def query(self, text: str, languages: Sequence[str] = ()) -> AnalyzedQuery:
        return AnalyzedQuery(text, (), ())

    def detect(self, text: str) -> str:
        return "en" if "the" in self.tokens(text) else ""


def reader(**options: object) -> FileReader:
    return FileReader(Words(), StructureChunker(), **options)  # type: ignore[arg-type]


def read(tmp_path: Path, text: str | bytes, name: str = "acme/auth/sign-in_page.md", **options: object) -> ReadResult:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    (source,) = FolderScanner(tmp_path, known_extensions=frozenset(PARSERS)).scan()
    assert isinstance(source, SourceFile)
    return reader(**options).read(source)


def test_entries_hold_the_analysed_fields_of_each_chunk(tmp_path: Path) -> None:
    text = "# The guide\n\nSet max_size. <!-- hidden_word -->\n\n## Part two_b\n\nMore words.\n"
    result = read(tmp_path, text)
    assert [entry.body for entry in result.entries] == ["the guide set max_size", "part two_b more words"]
    assert {entry.title for entry in result.entries} == {"the guide"}
    assert [entry.headings for entry in result.entries] == ["the guide", "the guide part two_b"]
    assert {entry.path for entry in result.entries} == {"acme auth sign in page"}
    assert [entry.identifiers for entry in result.entries] == ["max_size", "two_b two_b"]
    assert result.document.language == "en"
    assert result.document.content_hash == hashlib.sha256(text.encode()).hexdigest()
    assert result.took_ms > 0
    assert len(result.chunks) == len(result.entries)


def test_a_document_of_one_chunk_is_found_by_its_body_in_which_title_and_headings_stand(tmp_path: Path) -> None:
    (entry,) = read(tmp_path, "# The guide\n\nSet it.\n").entries
    assert (entry.body, entry.title, entry.headings) == ("the guide set it", "", "")
    (entry,) = read(tmp_path, "---\ntitle: Another name\n---\n\nSet it.\n").entries
    assert (entry.body, entry.title) == ("set it", "another name")


def test_words_whose_letters_markdown_spells_as_entities_are_found(tmp_path: Path) -> None:
    text = "# Ma&szlig;e\n\nDie Gr&ouml;&#223;e,&nbsp;das &Ouml;l, fa&#xE7;ade &copy;left `&auml;` &mdash; a&bogus;b\n"
    (entry,) = read(tmp_path, text).entries
    for word in ("größe", "öl", "façade", "&auml;"):
        assert word in entry.body.lower()
    assert "&copy;left" in entry.body
    assert "bogus" in entry.body
    assert "mdash" not in entry.body
    (raw,) = read(tmp_path / "raw", "Die Gr&ouml;&szlig;e.\n", "acme/auth/page.txt").entries
    assert "größe" not in raw.body.lower()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", "# The hand\u00adbook\n\nOf docu&shy;men&#173;tation, ele<wbr>phants, `<wbr>`\n"),
        ("page.adoc", "= The hand\u00adbook\n\nOf docu&shy;men&#173;tation, ele&ZeroWidthSpace;phants\n"),
        ("page.html", "<h1>The hand&shy;book</h1><p>Of docu&shy;mentation, ele<wbr>phants<pre>&lt;wbr></pre>"),
    ],
)
def test_words_are_found_whole_where_it_is_said_how_they_may_be_parted(tmp_path: Path, name: str, text: str) -> None:
    result = read(tmp_path, text, f"acme/auth/{name}")
    (entry,) = result.entries
    assert {"documentation", "elephants"} <= set(entry.body.split())
    assert ("wbr" in entry.body) == (not name.endswith(".adoc"))
    assert result.document.title == result.document.headings[0].text == "The handbook"
    assert result.chunks[0].heading_path == ("The handbook",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.txt", "Of docu\u00ad\nmentation and ele\u00ad \n  phants, up to 3\u00ad\n4 or so\u00ad\n\nend"),
        ("page.md", "Of docu\u00ad\nmentation and so\u00ad\n\nend\n\n> ele&shy;\n> phants"),
        ("page.adoc", "Of docu\u00ad\nmentation and ele&#173;\nphants, so\u00ad\n\nend"),
    ],
)
def test_words_are_found_whole_that_a_soft_hyphen_parts_at_the_end_of_a_line(
    tmp_path: Path, name: str, text: str
) -> None:
    result = read(tmp_path, text, f"acme/auth/{name}")
    (entry,) = result.entries
    assert {"documentation", "elephants", "end"} <= set(entry.body.split())
    assert {"34", "soend"}.isdisjoint(entry.body.split())
    (chunk,) = result.chunks
    assert result.document.text[chunk.start : chunk.end] == chunk.text
    assert "documentation and" in result.document.summary


def test_a_reader_reads_the_same_after_a_pickle(tmp_path: Path) -> None:
    source_reader = reader()
    other = pickle.loads(pickle.dumps(source_reader))
    assert other.fingerprint == source_reader.fingerprint
    result = read(tmp_path, "# A\n\nthe words\n")
    again = other.read(SourceFile(str(tmp_path / "acme/auth/sign-in_page.md"), "x.md", "acme", "auth", 1, 0))
    assert again.chunks == result.chunks
    assert pickle.loads(pickle.dumps(result)) == result


def test_options_switch_tags_types_and_dates_off(tmp_path: Path) -> None:
    text = "---\ntags: a\ndate: 2026-01-01\n---\nwords\n"
    on = read(tmp_path, text, "acme/guides/setup.md").document
    assert (on.tags, on.doc_type, on.last_modified) == (("a",), "guide", "2026-01-01T00:00:00Z")
    off = read(
        tmp_path, text, "acme/guides/setup.md", extract_tags=False, infer_doc_type=False, track_modifications=False
    ).document
    assert (off.tags, off.doc_type, off.last_modified) == ((), "documentation", "")
    assert reader().fingerprint != reader(extract_tags=False).fingerprint


def test_a_mail_keeps_its_date_where_changes_arent_tracked(tmp_path: Path) -> None:
    mail = "From: Ann <ann@example.org>\nDate: Mon, 02 Mar 2026 09:00:00 +0000\nSubject: Plan\n\nWe ship in April.\n"
    found = read(tmp_path, mail, "acme/mail/1.eml", track_modifications=False).document
    assert found.last_modified == "2026-03-02T09:00:00Z"


@pytest.mark.parametrize("infer", [True, False])
@pytest.mark.parametrize(
    ("front", "doc_type", "language"),
    [
        ("doc_type: Reference\nlanguage: de", "reference", "de"),
        ("doc_type: documentation\nlang: pt-BR", "documentation", "pt"),
        ("lang: zh_Hans_CN\ndoc_type: poem", "", "zh"),
        ("doc_type: [api]\nlanguage: python", "", ""),
        ("language: 7\nlang: true", "", ""),
    ],
)
def test_type_and_language_that_front_matter_gives_hold(
    tmp_path: Path, front: str, doc_type: str, language: str, infer: bool
) -> None:
    text = f"---\n{front}\n---\n# Setup\n\nWords of a page.\n"
    found = read(tmp_path, text, "acme/guides/setup.md", infer_doc_type=infer).document
    assert (found.doc_type, found.language) == (doc_type or ("guide" if infer else "documentation"), language)


def source(path: Path, name: str) -> SourceFile:
    return SourceFile(str(path), name, "a", "b", 0, 0)


def test_files_that_cannot_be_read_are_named_with_their_reason(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    for name, reason in (("gone.md", "vanished"), ("pipe.md", "unreadable"), ("folder.md", "unreadable")):
        with pytest.raises(SourceError) as caught:
            reader().read(source(tmp_path / name, f"a/b/{name}"))
        assert caught.value.reason == reason
        assert f"a/b/{name}" in str(caught.value)
    loop = tmp_path / "loop.md"
    loop.symlink_to(loop)
    with pytest.raises(SourceError) as caught:
        reader().read(source(loop, "a/b/loop.md"))
    assert caught.value.reason == "access", "nothing in the file tells when it is mended"
    with pytest.raises(SourceError) as caught:
        reader().read(source(tmp_path / "x.exe", "a/b/x.exe"))
    assert caught.value.reason == "extension"
    assert ".md" in str(caught.value)


@pytest.mark.parametrize("name", ["pipe.md", "folder.md"])
def test_what_is_no_file_leaves_no_handle_open(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    lowest_free = os.dup(0)
    os.close(lowest_free)
    with pytest.raises(SourceError):
        reader().read(source(tmp_path / name, f"a/b/{name}"))
    handle = os.dup(0)
    os.close(handle)
    assert handle == lowest_free


def test_a_parser_that_fails_costs_one_file_and_leaves_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing:
        extensions: tuple[str, ...] = (".odd",)

        def parse(self, source: SourceFile, data: bytes) -> Document:
            raise ZeroDivisionError("odd")

    monkeypatch.setitem(PARSERS, ".odd", Failing())
    (tmp_path / "x.odd").write_text("x")
    with pytest.raises(SourceError) as caught:
        reader().read(source(tmp_path / "x.odd", "a/b/x.odd"))
    assert caught.value.reason == "parser"
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("acme/README.md", "readme"), ("acme/auth/rest-api.md", "api"), ("acme/api/users.md", "api"),
        ("acme/auth/architecture-overview.md", "architecture"), ("acme/tutorials/first.md", "guide"),
        ("acme/getting-started.md", "guide"), ("acme/reference/flags.md", "reference"),
        ("acme/auth/words.md", "documentation"),
        ("api/auth/words.md", "documentation"),
    ],
)  # fmt: skip
def test_the_type_of_a_document_follows_from_its_name(path: str, kind: str) -> None:
    assert doc_type_of(path, "Words", "Some words.") == kind


@pytest.mark.parametrize(
    ("title", "text", "kind"),
    [
        ("Users API reference", "", "api"), ("Users", "\nGET /users\n", "api"),
        ("System architecture", "", "architecture"),
        ("Login", "In this guide you will log in.", "guide"), ("Flags", "This reference lists them.", "reference"),
    ],
)  # fmt: skip
def test_else_from_its_title_and_beginning(title: str, text: str, kind: str) -> None:
    assert doc_type_of("acme/auth/words.md", title, text) == kind


def test_a_summary_is_read_where_vowels_are_signs_beside_letters(parse: Parse) -> None:
    first = "नीति में की गई त्रुटियों की सूची यहीं दी गई है।"
    assert parse(f"# T\n\n{first}\n").summary == first
    assert parse(f"# T\n\n{' '.join([first] * 20)}\n").summary.endswith("।")


def test_small_things_about_titles_dates_and_summaries(parse: Parse) -> None:
    assert title_from_name("a/b/release-1.2.md") == "Release 1 2"
    assert title_from_name("a/b/standard-4.0.3-en.csv") == "Standard 4 0 3 en"
    assert title_from_name("a/b/page.rst.txt") == "Page"
    assert parse_date("2026/03/01") == "2026-03-01T00:00:00Z"
    assert parse_date("soon") == parse_date("0001-01-01T00:00:00+23:00") == ""
    assert iso_of_ns(0) == iso_of_ns(10**40) == "1970-01-01T00:00:00Z"
    assert cut_at_sentence("One. Two is e.g. longer. Three.", 26) == "One. Two is e.g. longer."
    assert cut_at_sentence("word " * 100, 20) == "word word word word…"
    long = parse("# T\n\n![badge](x) \n\n" + "A sentence of some length stands here. " * 20).summary
    assert len(long) <= 300
    assert long.endswith(".")


@pytest.mark.no_cover
def test_the_whole_of_the_real_library_is_read(real_data: Callable[[str], Path]) -> None:
    root = real_data("docs")
    files = list(FolderScanner(root, known_extensions=frozenset(PARSERS)).scan())
    sources = [item for item in files if isinstance(item, SourceFile)]
    assert len(sources) == 2132
    assert [item.file_path for item in sources] == sorted(item.file_path for item in sources)
    whole = reader()
    for item in sources[::10]:
        result = whole.read(item)
        assert result.document.title
        text = result.document.text
        covered = bytearray(len(text))
        for chunk in result.chunks:
            assert text[chunk.start : chunk.end] == chunk.text
            covered[chunk.start : chunk.end] = b"\1" * len(chunk.text)
        for span in result.document.excluded:
            covered[span.start : span.end] = b"\1" * (span.end - span.start)
        assert not [place for place, char in enumerate(text) if not covered[place] and not char.isspace()]
