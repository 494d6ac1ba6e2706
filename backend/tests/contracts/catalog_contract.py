"""What every `Catalog` promises, as tests: subclass `CatalogContract` and say how to open one in a folder.

* What is put comes back equal, field by field; a put replaces what its path held and names the ids it dropped.
* Ids are never given twice, not even after everything was removed and the catalog was opened again.
* A read transaction sees one committed state, whatever is written meanwhile.
* A chunk is pending for a model until it is marked; touching a document keeps its ids and its vectors.
* Columns brought up to date after any puts, moves and removals equal columns loaded anew, and select exactly the chunks
  that a plain reading of the filters selects.
* Generations only grow; failures, fingerprints and identity outlive closing.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from librarian.errors import CallerError
from librarian.models import (
    WINDOWS_PER_CHUNK,
    Attachment,
    Block,
    Chunk,
    Document,
    Email,
    Excluded,
    Failure,
    Filters,
    Frame,
    Heading,
    Included,
    Link,
    ReadResult,
    embedding_prefix,
)
from librarian.storage.base import Catalog
from librarian.text.cross_references import Places

SEVERAL = [HealthCheck.differing_executors]  # a contract is meant to run for several storages
PRODUCTS = ("alpha", "Alpha", "beta", "shared")
COMPONENTS = ("api", "API", "general")
TAGS = ("howto", "Howto", "old")
SENDERS = ("Ann Lee <ann@example.org>", "bob@example.org", "Éva <eva@example.org>")
DATES = ("", "2026-01-31T00:00:00Z", "2026-01-31T23:59:59.999999+00:00", "2026-02-01", "2025-06-01T12:00:00+02:00")


def document(path: str = "alpha/api/a.md", text: str = "One two.\n\nThree four.", **changes: object) -> Document:
    """A small document whose hash follows from its text."""
    parts = path.split("/")
    made = Document(
        file_path=path,
        product=parts[0],
        component=parts[1] if len(parts) > 2 else "general",
        kind="document",
        file_type=f".{path.rsplit('.', 1)[-1]}",
        title=parts[-1],
        text=text,
        size=len(text),
        mtime_ns=1,
        content_hash=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def mail(path: str, *, thread: str, sender: str = "", subject: str = "", date: str = "", attached: int = 0) -> Document:
    attachments = tuple(Attachment(f"{n}.pdf", "application/pdf", 10 + n) for n in range(attached))
    email = Email(subject, sender, date=date or None, thread_id=thread, message_id=path, attachments=attachments)
    return document(path, f"A mail: {path}", kind="email", email=email, last_modified=date)


def result(made: Document, size: int = 7) -> ReadResult:
    """The document cut every `size` characters."""
    chunks = []
    for ordinal, start in enumerate(range(0, len(made.text), size)):
        text = made.text[start : start + size]
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
        chunks.append(Chunk(ordinal, start, start + len(text), text, ("Guide", f"Part {ordinal}"), 2, hash=digest))
    if chunks:
        fence = Frame("fence", -3, 9, "```sh", 2, "```", 8)
        chunks[0] = replace(chunks[0], frames=(fence,), titles=((0, 3),))
    return ReadResult(made, tuple(chunks), ())


FULL = document(
    "alpha/api/full.md",
    "# Title\n\nText with \u2603 and | a | table |\n",
    headings=(Heading(1, "Title", 1, 0), Heading(2, "Page", 3, 9, page=2)),
    blocks=(Block("heading", 0, 7), Block("table", 9, 20, header_end=12)),
    page_starts=(0, 9),
    excluded=(Excluded(9, 13, "quote"),),
    links=(Link("see", "../b.md#x", 9),),
    labels=("full-page",),
    doc_type="guide",
    tags=("howto", "old"),
    language="en",
    encoding="latin-1",
    encoding_confidence=0.73,
    summary="What it says.",
    last_modified="2026-01-31T10:00:00Z",
    title_in_text=False,
    front_matter={"weight": 3, "nested": {"a": [1, None]}},
    included=(Included("alpha/code/a.py", 7, 1_700_000_000_000_000_000), Included("/elsewhere/b.py", -1, 0)),
    notes=("no text layer",),
)
FULL_MAIL = document(
    "beta/mail/full.eml",
    "Hello.",
    kind="email",
    last_modified="2026-01-30T10:00:00Z",
    email=Email(
        subject="Re: Plan",
        sender="Ann <ann@example.org>",
        to=("bob@example.org", "c@example.org"),
        cc=("d@example.org",),
        date="2026-01-30T10:00:00Z",
        message_id="2@example.org",
        in_reply_to=("1@example.org",),
        references=("0@example.org", "1@example.org"),
        thread_id="t1",
        attachments=(Attachment("a.pdf", "application/pdf", 12),),
    ),
)


def plainly_passes(made: Document, filters: Filters, stored: Sequence[Document], shared: frozenset[str]) -> bool:
    """The filters read word by word: the oracle for `select`."""

    def named(wanted: str | None, column: str) -> bool:
        if wanted is None:
            return True
        exact = any(getattr(other, column) == wanted for other in stored)
        value = str(getattr(made, column))
        return value == wanted if exact else value.casefold() == wanted.casefold()

    def dated() -> bool:
        if filters.modified_after is None and filters.modified_before is None:
            return True
        if not made.last_modified:
            return False
        moment = _moment(made.last_modified)
        if filters.modified_after is not None and moment < _moment(filters.modified_after):
            return False
        if filters.modified_before is None:
            return True
        last = _moment(filters.modified_before)
        if len(filters.modified_before) == 10:
            return moment < last + timedelta(days=1)
        return moment <= last

    def mailed() -> bool:
        asked = (filters.sender, filters.thread_id, filters.subject_contains, filters.has_attachments)
        if asked == (None, None, None, None):
            return True
        email = made.email
        return email is not None and (
            (filters.sender or "").casefold() in email.sender.casefold()
            and (filters.subject_contains or "").casefold() in email.subject.casefold()
            and filters.thread_id in (None, email.thread_id)
            and filters.has_attachments in (None, bool(email.attachments))
        )

    return (
        filters.kind in (None, made.kind)
        and (named(filters.product, "product") or (filters.product is not None and made.product in shared))
        and named(filters.component, "component")
        and (not filters.file_types or made.file_type in filters.file_types)
        and filters.doc_type in (None, made.doc_type)
        and filters.language in (None, made.language)
        and (not filters.tags or bool({t.casefold() for t in filters.tags} & {t.casefold() for t in made.tags}))
        and (not filters.file_paths or made.file_path in filters.file_paths)
        and not any(f"{made.file_path}/".startswith(f"{path}/") for path in filters.absent)
        and dated()
        and mailed()
    )


def _moment(date: str) -> datetime:
    moment = datetime.fromisoformat(date)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def maybe(*values: object) -> st.SearchStrategy[object]:
    return st.one_of(st.none(), st.sampled_from(values))


documents = st.builds(
    lambda n, product, component, ending, tags, language, doc_type, date, words: document(
        f"{product}/{component}/{n}{ending}",
        " ".join(words),
        tags=tuple(tags),
        language=language,
        doc_type=doc_type,
        last_modified=date,
    ),
    st.integers(0, 5),
    st.sampled_from(PRODUCTS),
    st.sampled_from(COMPONENTS),
    st.sampled_from((".md", ".txt")),
    st.lists(st.sampled_from(TAGS), unique=True, max_size=2),
    st.sampled_from(("", "en", "de")),
    st.sampled_from(("guide", "api")),
    st.sampled_from(DATES),
    st.lists(st.sampled_from(("one", "two", "three")), max_size=6),
)
mails = st.builds(
    lambda n, product, thread, sender, subject, date, attached: mail(
        f"{product}/mail/{n}.eml", thread=thread, sender=sender, subject=subject, date=date, attached=attached
    ),
    st.integers(0, 5),
    st.sampled_from(PRODUCTS),
    st.sampled_from(("", "t1", "t2")),
    st.sampled_from(SENDERS),
    st.sampled_from(("Re: Release plan", "Lunch", "STRASSE")),
    st.sampled_from(DATES),
    st.integers(0, 1),
)
filters = st.builds(
    Filters,
    kind=maybe("document", "email"),
    product=maybe("alpha", "ALPHA", "beta", "unknown"),
    component=maybe("api", "Api", "general"),
    file_types=st.sampled_from(((), (), (".md",), (".md", ".eml"))),
    doc_type=maybe("guide", "api"),
    tags=st.sampled_from(((), (), ("howto",), ("OLD", "unknown"))),
    language=maybe("en", "fr"),
    modified_after=maybe("2026-01-31", "2026-01-31T23:59:59.999999Z", "2025-06-01T10:00:00Z"),
    modified_before=maybe("2026-01-31", "2026-01-31T00:00:00", "2026-02-01T00:00:00Z"),
    sender=maybe("ANN", "éva", "example.org"),
    thread_id=maybe("t1", "t9"),
    subject_contains=maybe("plan", "straße"),
    has_attachments=maybe(True, False),
    file_paths=st.sampled_from(((), (), (), ("alpha/api/1.md", "beta/mail/2.eml", "nowhere.md"))),
    absent=st.sampled_from(((), (), ("alpha/api",), ("alpha/api/1.md", "beta/mail", "alpha/ap", "nowhere.md"))),
)
sparse_filters = st.builds(
    lambda full, kept: Filters(**{name: getattr(full, name) for name in kept}),
    filters,
    st.sets(st.sampled_from(list(Filters.__dataclass_fields__)), max_size=3),
)


#: What a catalog goes through, and what is asked of its columns afterwards.
HISTORY = {
    "puts": st.lists(st.lists(st.one_of(documents, mails), max_size=6), min_size=1, max_size=4),
    "moves": st.lists(st.tuples(st.integers(0, 20), st.sampled_from(PRODUCTS)), max_size=3),
    "removals": st.lists(st.integers(0, 20), max_size=4),
    "asked": st.lists(sparse_filters, min_size=1, max_size=6),
}


class CatalogContract:
    """Subclass, and return a new or reopened catalog for the folder."""

    def open(self, folder: Path, shared_products: Sequence[str] = ()) -> Catalog:
        raise NotImplementedError

    @staticmethod
    def move(catalog: Catalog, old: str, new: str, **changes: object) -> int:
        """Put what lies at a path to another one, as the indexer does with a file that was moved; returns its id."""
        with catalog.read() as reader:
            found = reader.document_by_path(old)
        assert found is not None
        parts = new.split("/")
        place = {"file_path": new, "product": parts[0], "component": parts[1] if len(parts) > 2 else "general"}
        catalog.remove([old])
        (stored,) = catalog.put([result(replace(found.document, **(place | changes)))])
        return stored.doc_id

    @pytest.fixture
    def catalog(self, tmp_path: Path) -> Iterator[Catalog]:
        opened = self.open(tmp_path)
        yield opened
        opened.close()

    # -- what is put comes back ------------------------------------------------------------------------------------

    def test_a_document_comes_back_equal(self, catalog: Catalog) -> None:
        (stored,) = catalog.put([result(FULL)])
        with catalog.read() as reader:
            found = reader.documents([stored.doc_id], text=True)[stored.doc_id]
            by_path = reader.document_by_path(FULL.file_path)
        assert found.document == FULL
        assert found.chunk_count == len(stored.chunk_ids)
        assert found.indexed_at
        assert by_path == found

    def test_what_documents_include_is_listed_without_those_that_include_nothing(self, catalog: Catalog) -> None:
        catalog.put([result(FULL), result(document("alpha/api/plain.md", "Plain."))])
        with catalog.read() as reader:
            assert reader.included() == {FULL.file_path: FULL.included}
        catalog.remove([FULL.file_path])
        with catalog.read() as reader:
            assert reader.included() == {}

    def test_a_mail_comes_back_equal(self, catalog: Catalog) -> None:
        catalog.put([result(FULL_MAIL)])
        with catalog.read() as reader:
            found = reader.document_by_path(FULL_MAIL.file_path)
        assert found is not None
        assert found.document == FULL_MAIL

    def test_without_text_a_document_keeps_what_describes_it(self, catalog: Catalog) -> None:
        (stored,) = catalog.put([result(FULL)])
        with catalog.read() as reader:
            found = reader.documents([stored.doc_id])[stored.doc_id].document
        bare = replace(FULL, text="", blocks=(), page_starts=(), excluded=(), links=(), labels=(), front_matter={})
        assert found == bare

    def test_chunks_come_back_equal_by_id_and_in_order(self, catalog: Catalog) -> None:
        put = result(FULL)
        (stored,) = catalog.put([put])
        with catalog.read() as reader:
            by_id = reader.chunks([*reversed(stored.chunk_ids), 999])
            in_order = reader.chunks_of(stored.doc_id)
        assert [by_id[n].chunk for n in stored.chunk_ids] == list(put.chunks)
        assert [each.chunk for each in in_order] == list(put.chunks)
        assert {each.doc_id for each in in_order} == {stored.doc_id}
        assert 999 not in by_id

    def test_chunks_are_read_by_where_they_lie(self, catalog: Catalog) -> None:
        put = result(document(), size=10)
        (stored,) = catalog.put([put])
        assert len(put.chunks) > 2
        second = put.chunks[1]
        with catalog.read() as reader:
            for first, last, start, end, found in (
                (0, 9, second.start, second.end, [second]),
                (0, 9, second.start, second.end + 1, [second, put.chunks[2]]),
                (0, 1, 0, 1000, list(put.chunks[:2])),
                (2, 9, 0, second.end, []),
            ):
                near = reader.chunks_between(stored.doc_id, first, last, start, end)
                assert [one.chunk for one in near] == found

    @pytest.mark.parametrize("stored", ["NFC", "NFD"])
    @pytest.mark.parametrize("asked", ["NFC", "NFD"])
    def test_filters_find_accents_however_they_are_composed(
        self, catalog: Catalog, stored: Literal["NFC", "NFD"], asked: Literal["NFC", "NFD"]
    ) -> None:
        def put(text: str) -> str:
            return unicodedata.normalize(stored, text)

        def ask(text: str) -> str:
            return unicodedata.normalize(asked, text)

        email = Email(put("Größe der Äpfel"), put("Zoë Gärtner <z@x.org>"), to=(put("André <a@x.org>"),), thread_id="t")
        catalog.put([result(document("a/b/z.eml", "Hello.", kind="email", email=email, tags=(put("Grün"),)))])
        for one in (
            Filters(sender=ask("gärtner")),
            Filters(subject_contains=ask("GRÖSSE")),
            Filters(recipients=(ask("ANDRÉ"),)),
            Filters(tags=(ask("grün"),)),
            Filters(sender="gartner"),  # of mails accents may be left out, which a keyboard may lack
            Filters(subject_contains="Apfel"),
            Filters(recipients=("andre",)),
        ):
            assert catalog.columns().select(one).count == 1, one
        for none in (Filters(sender="gaertner"), Filters(tags=("grun",))):
            assert catalog.columns().select(none).count == 0, none

    def test_mails_are_found_by_what_ties_them_together(self, catalog: Catalog) -> None:
        other = replace(FULL_MAIL, file_path="beta/mail/other.eml", content_hash="x", email=Email("Lunch", "bob@x.org"))
        held = FULL_MAIL.email
        assert held is not None
        tied = replace(FULL_MAIL, email=replace(held, topic="plan", is_answer=True, fingerprint="f"))
        copy = replace(tied, file_path="beta/mail/copy.eml", content_hash="y")
        first, _, second = catalog.put([result(tied), result(other), result(copy)])
        asked: tuple[dict[str, list[str]], ...] = (
            {"mentioning": ["2@example.org"]},
            {"mentioning": ["0@example.org"]},
            {"threads": ["t1"]},
            {"topics": ["plan"]},
            {"fingerprints": ["f"]},
            {"paths": [tied.file_path, copy.file_path]},
        )
        with catalog.read() as reader:
            for one in asked:
                found = reader.mails(**one)
                assert [mail.doc_id for mail in found] == [first.doc_id, second.doc_id], one
                assert found[0].email == tied.email
            assert reader.mails(topics=["lunch"], threads=["t9"]) == []
            by_path = reader.document_by_path(tied.file_path)
        assert by_path is not None
        assert by_path.also_in == (copy.file_path,)
        catalog.rethread({first.doc_id: "t2"})
        with catalog.read() as reader:
            assert [stored.doc_id for stored in reader.thread("t2")] == [first.doc_id]
        assert catalog.columns().select(Filters(thread_id="t2")).count == len(first.chunk_ids)
        assert catalog.columns().select(Filters(recipients=("C@EXAMPLE",))).count == 2 * len(first.chunk_ids)
        assert catalog.columns().select(Filters(recipients=("nobody",))).count == 0
        assert catalog.columns().select(Filters(recipients=("c@example", "nobody"))).count == 0
        for per_group in (0, 1):  # copies of one mail, even where they were told to stand in two threads
            newest = catalog.columns().newest(Filters(kind="email"), per_group).tolist()
            assert len({first.doc_id, second.doc_id}.intersection(newest)) == 1
        for one, doc_id in (("t1", second.doc_id), ("t2", first.doc_id)):
            assert catalog.columns().newest(Filters(thread_id=one), 1).tolist() == [doc_id]

    def test_an_archive_is_one_file_with_many_documents(self, catalog: Catalog) -> None:
        label = replace(FULL_MAIL, file_path="beta/mail/a.mbox", content_hash="whole", size=9, mtime_ns=8, email=None)
        inside = [
            replace(FULL_MAIL, file_path=f"beta/mail/a.mbox/{n}.eml", content_hash=f"h{n}", archive="beta/mail/a.mbox")
            for n in range(2)
        ]
        catalog.put([result(one) for one in inside])
        assert catalog.known()["beta/mail/a.mbox"][0] < 0, "its mails alone: to be read again"
        catalog.put_archive(label)
        assert catalog.known() == {"beta/mail/a.mbox": (9, 8, "whole")}
        with catalog.read() as reader:
            assert reader.members("beta/mail/a.mbox") == {one.file_path: one.content_hash for one in inside}
            assert len(reader.mails(paths=["beta/mail/a.mbox"])) == 2
            stored = reader.document_by_path(inside[0].file_path)
        assert stored is not None
        assert (stored.document.archive, stored.document.size, stored.document.mtime_ns) == (label.file_path, 9, 8)
        catalog.outdate([inside[0].file_path])
        assert catalog.known()["beta/mail/a.mbox"][:2] == (-1, -1)
        catalog.touch("beta/mail/a.mbox", 10, 11)
        assert catalog.known()["beta/mail/a.mbox"] == (10, 11, "whole")
        documents, chunks = catalog.remove(["beta/mail/a.mbox"])
        assert len(documents) == 2
        assert chunks
        assert catalog.known() == {}

    def test_passages_of_a_document_that_stays_can_go(self, catalog: Catalog) -> None:
        put = result(FULL_MAIL, 3)
        (stored,) = catalog.put([put])
        catalog.withdraw([stored.chunk_ids[0], 10_000])
        with catalog.read() as reader:
            assert [one.chunk_id for one in reader.chunks_of(stored.doc_id)] == list(stored.chunk_ids[1:])
            held = reader.document_by_path(FULL_MAIL.file_path)
            assert held is not None
            assert held.chunk_count == len(put.chunks) - 1
            assert reader.count().chunks == len(put.chunks) - 1
        found = catalog.columns().doc_of(np.array(stored.chunk_ids[:2], dtype=np.int64))
        assert found.tolist() == [0, stored.doc_id]
        assert catalog.verify() == []

    def test_names_are_listed_by_path_and_kind(self, catalog: Catalog) -> None:
        page = replace(FULL_MAIL, file_path="alpha/api/page.md", kind="document", email=None, title="Page")
        catalog.put([result(FULL_MAIL), result(page)])
        with catalog.read() as reader:
            assert reader.names("document", 9) == [(page.file_path, "Page")]
            assert reader.names("email", 9) == [(FULL_MAIL.file_path, FULL_MAIL.title)]
            assert [path for path, _ in reader.names("", 9)] == sorted([page.file_path, FULL_MAIL.file_path])
            assert len(reader.names("", 1)) == 1

    def test_what_is_unknown_is_missing(self, catalog: Catalog) -> None:
        with catalog.read() as reader:
            assert reader.documents([1]) == {}
            assert reader.chunks([]) == {}
            assert reader.chunks_of(1) == []
            assert reader.document_by_path("alpha/api/none.md") is None
            assert reader.thread("t") == []
            assert reader.products() == {}
            assert reader.meta("nothing", "else") == "else"
            assert reader.count().chunks == 0
        assert catalog.columns().select(Filters()).count == 0
        assert catalog.columns().select(Filters(product="x")).count == 0
        assert catalog.remove(["alpha/none.md"]) == ([], [])

    def test_half_a_surrogate_pair_is_stored_as_a_replacement_character(self, catalog: Catalog) -> None:
        (stored,) = catalog.put([result(document(text="ab\udc80cd"), size=10)])
        with catalog.read() as reader:
            assert [each.chunk.text for each in reader.chunks_of(stored.doc_id)] == ["ab\ufffdcd"]
        assert catalog.verify() == []

    # -- replacing, removing, moving -------------------------------------------------------------------------------

    def test_a_put_replaces_what_its_path_held_and_says_so(self, catalog: Catalog) -> None:
        (first,) = catalog.put([result(document(text="old text here"))])
        (second,) = catalog.put([result(document(text="new"))])
        assert (first.dropped_doc_ids, first.dropped_chunk_ids) == ((), ())
        assert second.dropped_doc_ids == (first.doc_id,)
        assert second.dropped_chunk_ids == first.chunk_ids
        with catalog.read() as reader:
            assert reader.chunks(first.chunk_ids) == {}
            assert reader.count().documents == 1

    def test_one_put_may_hold_a_path_twice_and_the_last_wins(self, catalog: Catalog) -> None:
        first, second = catalog.put([result(document(text="a")), result(document(text="b"))])
        assert second.dropped_doc_ids == (first.doc_id,)
        with catalog.read() as reader:
            found = reader.document_by_path("alpha/api/a.md")
        assert found is not None
        assert found.document.text == "b"

    def test_removing_names_what_was_dropped(self, catalog: Catalog) -> None:
        stored = catalog.put([result(document("alpha/api/a.md")), result(document("alpha/api/b.md"))])
        doc_ids, chunk_ids = catalog.remove(["alpha/api/b.md", "alpha/api/unknown.md"])
        assert doc_ids == [stored[1].doc_id]
        assert tuple(chunk_ids) == stored[1].chunk_ids

    def test_ids_are_never_given_twice(self, tmp_path: Path) -> None:
        doc_ids: set[int] = set()
        chunk_ids: set[int] = set()
        for turn in range(3):
            catalog = self.open(tmp_path)
            for text in ("one two three", "four"):
                (stored,) = catalog.put([result(document(text=f"{text} {turn}"))])
                assert stored.doc_id not in doc_ids
                assert chunk_ids.isdisjoint(stored.chunk_ids)
                doc_ids.add(stored.doc_id)
                chunk_ids.update(stored.chunk_ids)
            catalog.remove(["alpha/api/a.md"])
            catalog.close()

    def test_a_failing_put_leaves_everything_as_it_was(self, catalog: Catalog) -> None:
        catalog.put([result(document(text="stays"))])
        broken = result(document(text="broken"))
        twice = replace(broken, chunks=(broken.chunks[0], broken.chunks[0]))
        with pytest.raises(Exception):  # noqa: B017 - each storage has its own error for a broken constraint
            catalog.put([result(document("alpha/api/b.md")), twice])
        with catalog.read() as reader:
            assert [each.document.file_path for each in reader.iter_documents()] == ["alpha/api/a.md"]
        assert catalog.columns().select(Filters()).count == 1

    def test_a_transaction_becomes_visible_at_its_end(self, catalog: Catalog) -> None:
        (before,) = catalog.put([result(document("alpha/api/a.md"))])
        generation = catalog.bump()
        with catalog.transaction():
            catalog.remove(["alpha/api/a.md"])
            (stored,) = catalog.put([result(document("alpha/api/b.md"))])
            assert catalog.bump() == generation + 1
            with catalog.read() as reader:
                assert reader.generation == generation
                assert [each.document.file_path for each in reader.iter_documents()] == ["alpha/api/a.md"]
            assert catalog.columns().select(Filters()).count == len(before.chunk_ids)
        with catalog.read() as reader:
            assert reader.generation == generation + 1
            assert [(each.doc_id, each.document.file_path) for each in reader.iter_documents()] == [
                (stored.doc_id, "alpha/api/b.md")
            ]
        assert catalog.columns().doc_of(np.array(stored.chunk_ids)).tolist() == [stored.doc_id] * len(stored.chunk_ids)

    def test_of_a_failing_transaction_nothing_stays_and_of_a_failing_part_in_it_that_part_alone(
        self, catalog: Catalog
    ) -> None:
        (stored,) = catalog.put([result(document("alpha/api/a.md"))])
        catalog.columns()
        with contextlib.suppress(KeyError), catalog.transaction():
            catalog.put([result(document("alpha/api/b.md")), result(document("alpha/api/a.md", text="changed"))])
            catalog.bump()
            raise KeyError
        broken = result(document("alpha/api/d.md", text="broken"))
        twice = replace(broken, chunks=(broken.chunks[0], broken.chunks[0]))
        with catalog.transaction():
            catalog.put([result(document("alpha/api/c.md"))])
            with pytest.raises(Exception):  # noqa: B017 - each storage has its own error for a broken constraint
                catalog.put([twice])
        with catalog.read() as reader:
            assert [each.document.file_path for each in reader.iter_documents()] == ["alpha/api/a.md", "alpha/api/c.md"]
            kept = reader.document_by_path("alpha/api/a.md")
            assert kept is not None
            assert kept.document.text == document().text
            assert reader.generation == 0
        assert catalog.columns().select(Filters()).count == 2 * len(stored.chunk_ids)

    def test_a_document_that_was_put_at_another_path_is_found_there_alone(self, catalog: Catalog) -> None:
        catalog.put([result(document())])
        catalog.mark_embedded("m", {chunk.chunk_id: ["h"] for chunk, _ in catalog.pending("m", 9)})
        self.move(catalog, "alpha/api/a.md", "beta/general/b.md", size=9, mtime_ns=8, title="b.md")
        assert len(catalog.pending("m", 10)) == len(result(document()).chunks)
        with catalog.read() as reader:
            found = reader.document_by_path("beta/general/b.md")
            assert reader.document_by_path("alpha/api/a.md") is None
        assert found is not None
        assert (found.document.product, found.document.title) == ("beta", "b.md")
        assert catalog.known() == {"beta/general/b.md": (9, 8, document().content_hash)}
        assert catalog.columns().select(Filters(product="alpha")).count == 0
        assert catalog.columns().select(Filters(product="beta", file_paths=("beta/general/b.md",))).mask is None

    def test_touching_changes_what_is_known_and_nothing_else(self, catalog: Catalog) -> None:
        (stored,) = catalog.put([result(document())])
        catalog.touch("alpha/api/a.md", 77, 88)
        assert catalog.known() == {"alpha/api/a.md": (77, 88, document().content_hash)}
        with catalog.read() as reader:
            assert [each.chunk_id for each in reader.chunks_of(stored.doc_id)] == list(stored.chunk_ids)

    # -- looking ---------------------------------------------------------------------------------------------------

    def test_equal_content_under_several_paths_stays_several_documents(self, catalog: Catalog) -> None:
        paths = ["alpha/api/a.md", "beta/api/b.md", "beta/api/c.md"]
        stored = catalog.put([result(document(path, "the same words")) for path in paths])
        lone = catalog.put([result(document("alpha/api/lone.md", "other words"))])[0]
        empty = catalog.put([result(document(f"alpha/api/{n}.md", "", content_hash="")) for n in (1, 2)])
        with catalog.read() as reader:
            found = reader.documents([each.doc_id for each in (*stored, lone, *empty)])
            copies = reader.copies([stored[0].chunk_ids[0], lone.chunk_ids[0]])
        assert found[stored[0].doc_id].also_in == ("beta/api/b.md", "beta/api/c.md")
        assert found[lone.doc_id].also_in == ()
        assert found[empty[0].doc_id].also_in == ()
        assert copies == {stored[0].chunk_ids[0]: ("beta/api/b.md", "beta/api/c.md")}

    def test_a_thread_is_read_oldest_first(self, catalog: Catalog) -> None:
        dates = {"b": "2026-01-02T00:00:00Z", "c": "2026-01-01T23:00:00-05:00", "a": "2026-01-01T00:00:00Z"}
        catalog.put([result(mail(f"beta/mail/{n}.eml", thread="t", date=date)) for n, date in dates.items()])
        catalog.put([result(mail("beta/mail/other.eml", thread="u"))])
        with catalog.read() as reader:
            found = reader.thread("t")
        assert [each.document.file_path for each in found] == [f"beta/mail/{n}.eml" for n in "abc"]
        assert all(each.document.text for each in found)

    def test_counts_products_and_components(self, catalog: Catalog) -> None:
        stored = catalog.put(
            [
                result(document("alpha/api/a.md")),
                result(document("alpha/general/b.md")),
                result(mail("beta/mail/m.eml", thread="t")),
            ]
        )
        catalog.mark_embedded("m", {stored[0].chunk_ids[0]: ["h"]})
        catalog.mark_embedded("n", {n: ["h"] for n in stored[0].chunk_ids[:2]})
        with catalog.read() as reader:
            assert reader.products() == {"alpha": {"api": 1, "general": 1}, "beta": {"mail": 1}}
            count = reader.count("m")
            assert (count.documents, count.emails, count.products) == (2, 1, 2)
            assert count.chunks == sum(len(each.chunk_ids) for each in stored)
            assert count.embedded_chunks == 1
            assert count.by_product == {"alpha": 2, "beta": 1}
            assert reader.count().embedded_chunks == 2
            assert reader.count("unheard of").embedded_chunks == 0

    def test_a_table_s_header_comes_back_however_long_it_is(self, catalog: Catalog) -> None:
        header, rows = f"|{'column|' * 400}\n", "|1|2|\n" * 30
        text = header + rows
        places = range(len(header), len(text), 60)
        behind = len(text)
        chunks = tuple(
            Chunk(
                number,
                start,
                start + 59,
                text[start : start + 59],
                frames=(Frame("table", -start, behind - start, header[:-1], len(header) - start, "", behind - start),),
                unseen=((0, 5), (12, 17)),
            )
            for number, start in enumerate(places)
        )
        (stored,) = catalog.put([ReadResult(document("alpha/api/wide.md", text), chunks, ())])
        with catalog.read() as reader:
            found = reader.chunks(stored.chunk_ids)
            assert [found[number].chunk for number in stored.chunk_ids] == list(chunks)
            assert [each.chunk for each in reader.chunks_of(stored.doc_id)] == list(chunks)

    def test_passages_are_counted_by_document_with_the_file_it_was_read_from(self, catalog: Catalog) -> None:
        made = [
            result(document("alpha/api/a.md")),
            result(document("alpha/m/box.mbox/1.eml", archive="alpha/m/box.mbox")),
        ]
        stored = catalog.put(made)
        with catalog.read() as reader:
            assert reader.passage_counts() == {
                stored[0].doc_id: ("alpha/api/a.md", len(stored[0].chunk_ids)),
                stored[1].doc_id: ("alpha/m/box.mbox", len(stored[1].chunk_ids)),
            }

    def test_documents_are_listed_by_path_and_filtered(self, catalog: Catalog) -> None:
        catalog.put([result(document(path)) for path in ("beta/api/b.md", "alpha/api/a.md", "alpha/api/c.txt")])
        with catalog.read() as reader:
            listed = [each.document.file_path for each in reader.iter_documents()]
            filtered = [each.document.file_path for each in reader.iter_documents(Filters(file_types=(".md",)))]
            all_pass = [each.document.file_path for each in reader.iter_documents(Filters(kind="document"))]
        assert listed == all_pass == ["alpha/api/a.md", "alpha/api/c.txt", "beta/api/b.md"]
        assert filtered == ["alpha/api/a.md", "beta/api/b.md"]

    def test_failures_are_kept_until_replaced_or_read(self, catalog: Catalog) -> None:
        failed = Failure("alpha/api/a.md", "failed", "unreadable", "why", 5, 6)
        skipped = Failure("alpha/api/z.bin", "skipped", "binary")
        catalog.set_failures([skipped], replace=True)
        catalog.set_failures([failed], replace=False)
        with catalog.read() as reader:
            assert reader.failures() == [failed, skipped]
        assert catalog.known() == {"alpha/api/a.md": (5, 6, "")}
        catalog.put([result(document())])
        with catalog.read() as reader:
            assert reader.failures() == [skipped]
        catalog.set_failures([], replace=True)
        with catalog.read() as reader:
            assert reader.failures() == []

    # -- embedding -------------------------------------------------------------------------------------------------

    def test_chunks_are_pending_for_each_model_until_marked(self, catalog: Catalog) -> None:
        put = result(document(title="A guide"))
        (stored,) = catalog.put([put])
        pending = catalog.pending("m", 2)
        assert [each.chunk_id for each, _ in pending] == list(stored.chunk_ids[:2])
        assert [prefix for _, prefix in pending] == [
            embedding_prefix(put.document, chunk.heading_path) for chunk in put.chunks[:2]
        ]
        catalog.mark_embedded("m", {stored.chunk_ids[0]: ["a", "b"], stored.chunk_ids[1]: [], 999: ["gone"]})
        assert [each.chunk_id for each, _ in catalog.pending("m", 1)] == [stored.chunk_ids[2]]
        assert [each.chunk_id for each, _ in catalog.pending("n", 1)] == [stored.chunk_ids[0]]
        first = stored.chunk_ids[0] * WINDOWS_PER_CHUNK
        assert list(catalog.windows("m")) == [(first, "a"), (first + 1, "b")]
        assert list(catalog.windows("n")) == []

    def test_chunks_put_later_are_pending_after_all_was_embedded(self, catalog: Catalog) -> None:
        catalog.put([result(document())])
        while pending := catalog.pending("m", 2):
            catalog.mark_embedded("m", {each.chunk_id: ["h"] for each, _ in pending})
        (later,) = catalog.put([result(document("alpha/api/b.md"))])
        assert [each.chunk_id for each, _ in catalog.pending("m", 99)] == list(later.chunk_ids)
        catalog.remove(["alpha/api/a.md", "alpha/api/b.md"])
        assert list(catalog.windows("m")) == []

    def test_a_forgotten_model_has_everything_pending_again(self, catalog: Catalog) -> None:
        (stored,) = catalog.put([result(document())])
        for model in ("m", "n"):
            catalog.pending(model, 9)
            catalog.mark_embedded(model, {n: ["h"] for n in stored.chunk_ids})
        catalog.forget("m")
        assert len(catalog.pending("m", 99)) == len(stored.chunk_ids)
        assert catalog.pending("n", 99) == []
        catalog.forget("never seen")

    def test_a_chunk_counts_as_embedded_whichever_model_did_it(self, catalog: Catalog) -> None:
        (stored,) = catalog.put([result(document())])
        first, second, *_ = stored.chunk_ids
        catalog.mark_embedded("m", {first: ["h"], second: ["h"]})
        catalog.mark_embedded("n", {second: ["h"], stored.chunk_ids[2]: ["h"]})
        with catalog.read() as reader:
            assert reader.count().embedded_chunks == 3
            assert reader.count("n").embedded_chunks == 2

    # -- states ----------------------------------------------------------------------------------------------------

    def test_a_reader_sees_one_state_while_others_write(self, catalog: Catalog) -> None:
        catalog.put([result(document(text="before"))])
        generation = catalog.bump()
        with catalog.read() as reader:
            other = threading.Thread(target=lambda: (catalog.put([result(document(text="after"))]), catalog.bump()))
            other.start()
            other.join(30)
            found = reader.document_by_path("alpha/api/a.md")
            assert found is not None
            assert found.document.text == "before"
            assert reader.generation == generation
            assert reader.meta("generation") == str(generation)
        with catalog.read() as reader:
            assert reader.generation == generation + 1

    def test_threads_read_while_one_writes(self, catalog: Catalog) -> None:
        catalog.put([result(document(text="0 0"))])
        wrong: list[str] = []
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                with catalog.read() as reader:
                    found = reader.document_by_path("alpha/api/a.md")
                    assert found is not None
                    texts = "".join(each.chunk.text for each in reader.chunks_of(found.doc_id))
                    if texts != found.document.text:
                        wrong.append(texts)
                columns = catalog.columns()
                if columns.select(Filters(product="alpha")).count != 1:
                    wrong.append("columns")

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for number in range(40):
            catalog.put([result(document(text=f"{number} {number}"))])
            catalog.bump()
        done.set()
        for reader in readers:
            reader.join(30)
        assert wrong == []

    def test_generations_only_grow_and_facts_outlive_closing(self, tmp_path: Path) -> None:
        catalog = self.open(tmp_path)
        identity = catalog.identity
        assert [catalog.bump(), catalog.bump()] == [1, 2]
        catalog.set_meta("fingerprint", "one")
        catalog.set_meta("fingerprint", "two")
        catalog.close()
        catalog = self.open(tmp_path)
        with catalog.read() as reader:
            assert (reader.generation, reader.meta("fingerprint")) == (2, "two")
        assert catalog.identity == identity
        assert identity
        assert catalog.bump() == 3
        assert catalog.columns().generation == 3
        catalog.close()

    def test_two_catalogs_have_two_identities(self, tmp_path: Path) -> None:
        catalogs = [self.open(tmp_path / name) for name in "ab"]
        assert catalogs[0].identity != catalogs[1].identity
        for catalog in catalogs:
            catalog.close()

    def test_what_was_put_is_consistent(self, catalog: Catalog) -> None:
        catalog.put([result(FULL), result(FULL_MAIL), result(document())])
        catalog.put([result(document(text="changed"))])
        assert catalog.verify() == []

    # -- columns ---------------------------------------------------------------------------------------------------

    def test_mails_of_a_thread_share_a_group(self, catalog: Catalog) -> None:
        threads = ("t", "t", "u", "")
        stored = catalog.put([result(mail(f"beta/mail/{n}.eml", thread=t)) for n, t in enumerate(threads)])
        stored += catalog.put([result(document())])
        columns = catalog.columns()
        first = np.array([each.chunk_ids[0] for each in stored] + [999], dtype=np.int64)
        assert columns.doc_of(first).tolist() == [each.doc_id for each in stored] + [0]
        groups = columns.group_of(first).tolist()
        assert groups[0] == groups[1]
        assert len(set(groups)) == 5
        assert groups[3:] == [stored[3].doc_id, stored[4].doc_id, 0]

    def test_chunks_of_equal_text_share_a_number(self, catalog: Catalog) -> None:
        first = catalog.put([result(document("alpha/api/a.md", "same 1.other 2")), result(document("alpha/api/b.md"))])
        (again,) = catalog.put([result(document("beta/api/c.md", "what 3.same 1."))])  # into columns that are loaded
        texts = catalog.columns().text_of(np.array([*first[0].chunk_ids, *again.chunk_ids, 999, -1])).tolist()
        assert texts[0] == texts[3] != 0
        assert len({*texts[:4], 0}) == 4
        assert texts[4:] == [0, 0]
        catalog.remove(["alpha/api/a.md"])
        assert catalog.columns().text_of(np.array([first[0].chunk_ids[0], again.chunk_ids[1]])).tolist() == [
            0,
            texts[3],
        ]

    def test_a_chunk_is_as_old_as_its_document(self, catalog: Catalog) -> None:
        dates = ("2026-01-02", "", "2026-01-01T23:00:00-05:00")
        stored = catalog.put([result(document(f"alpha/api/{n}.md", last_modified=d)) for n, d in enumerate(dates)])
        middle, none, latest = catalog.columns().modified_of(np.array([s.chunk_ids[1] for s in stored])).tolist()
        assert none < middle < latest
        assert catalog.columns().modified_of(np.array([999])).tolist() == [none]

    def test_documents_passages_are_counted(self, catalog: Catalog) -> None:
        stored = catalog.put([result(document(f"alpha/api/{name}.md")) for name in ("one", "two")])
        ids = [one.doc_id for one in stored]
        assert catalog.columns().chunk_counts(np.array([*ids, 999])).tolist() == [
            *(len(one.chunk_ids) for one in stored),
            0,
        ]

    def test_links_from_given_documents_to_others_are_counted(self, catalog: Catalog) -> None:
        def page(name: str, *targets: str, **changes: object) -> ReadResult:
            links = tuple(Link("see", target, 0) for target in targets)
            return result(document(f"alpha/{name}", links=links, **changes))

        def counted(*ids: int) -> list[int]:
            given = np.array(ids, dtype=np.int64)
            return catalog.columns().in_links(given, given).tolist()

        assert counted() == []
        assert counted(1, 2) == [0, 0]
        stored = catalog.put(
            [
                page("api/one.md", "two.md", "two.md#part", "../guide/three/", "one.md", "lost.md"),
                page("api/two.md", "the-third", "/docs/api/one"),
                page("guide/three.md", "../api/two.md", labels=("the-third",)),
                page("mail/four.eml", "../api/one.md", kind="email", email=Email("Plan", "z@x.org")),
            ]
        )
        one, two, three, four = (each.doc_id for each in stored)
        assert counted(one, two, three, four) == [1, 2, 2, 0]
        assert counted(three, one) == [1, 0]
        assert counted(three, 999, three, one, two) == [2, 0, 2, 1, 2]
        assert catalog.columns().in_links(np.array([one, two, three]), np.array([two, 999])).tolist() == [1, 0, 1]
        catalog.put([page("api/one.md", "../guide/three.md")])
        assert counted(two, three) == [1, 1]
        three = self.move(catalog, "alpha/guide/three.md", "alpha/guide/deep/three.md")
        assert counted(two, three) == [0, 1]  # its relative link leads elsewhere now, its label is where it was
        four = self.move(catalog, "alpha/mail/four.eml", "alpha/api/four.eml")
        assert counted(two, three, four) == [0, 1, 0]
        catalog.remove(["alpha/api/two.md"])
        assert counted(two, three) == [0, 0]

    def test_links_lead_where_a_look_at_all_documents_says(self, catalog: Catalog) -> None:
        draw = random.Random(7)
        names = ["index", "a", "b", "c.v1", "d e"]
        paths = sorted({f"{p}/{c}/{n}.md" for p in ("alpha", "beta") for c in ("x", "y", "x/a") for n in names})
        targets = [
            f"{way}{name}{end}"
            for way in ("", "../", "../x/", "/x/", "/")
            for name in names
            for end in ("", ".md", "/")
        ]
        documents = [
            document(
                path,
                links=tuple(Link("see", target, 0) for target in draw.sample(targets, 4)),
                labels=tuple(draw.sample(names, 1)),
            )
            for path in draw.sample(paths, 25)
        ]
        stored = catalog.put([result(each) for each in documents])
        ids = dict(zip((each.file_path for each in documents), (each.doc_id for each in stored), strict=True))
        places = Places(documents)
        expected: Counter[str] = Counter()
        for each in documents:
            found = {path for link in each.links for path in places.targets(each, link.target)}
            expected.update(found - {each.file_path})
        given = np.array([*ids.values()])
        assert dict(zip(ids, catalog.columns().in_links(given, given).tolist(), strict=True)) == {
            path: expected[path] for path in ids
        }
        assert expected.total() > 20

    def test_senders_of_mails_are_told_without_accents_and_documents_have_none(self, catalog: Catalog) -> None:
        mail = replace(document("alpha/mail/1.eml"), kind="email", email=Email("Plan", "Zoë Lee <z@x.org>"))
        stored = catalog.put([result(document("alpha/api/one.md")), result(mail)])
        page, sent = (one.doc_id for one in stored)
        assert catalog.columns().senders(np.array([sent, page, sent])) == ["zoe lee <z@x.org>", "", "zoe lee <z@x.org>"]
        catalog.remove(["alpha/mail/1.eml"])
        assert catalog.columns().senders(np.array([sent, page])) == ["", ""]

    def test_languages_are_told_most_frequent_first(self, catalog: Catalog) -> None:
        languages = ("de", "en", "en", "", "", "", "fr", "de", "en")
        catalog.put([result(document(f"alpha/api/{n}.md", language=lang)) for n, lang in enumerate(languages)])
        assert catalog.columns().languages() == ("en", "de", "fr")
        catalog.remove([f"alpha/api/{n}.md" for n in (1, 2, 8)])
        assert catalog.columns().languages() == ("de", "fr", "en"), "what has none is read as English"
        catalog.remove([f"alpha/api/{n}.md" for n in (3, 4, 5)])
        assert catalog.columns().languages() == ("de", "fr")

    def test_given_chunks_are_a_selection(self, catalog: Catalog) -> None:
        stored = catalog.put([result(document("alpha/api/a.md")), result(document("alpha/api/b.md"))])
        wanted = stored[1].chunk_ids[:2]
        selection = catalog.columns().only(np.array([*wanted, 999, -1, 0], dtype=np.int64))
        assert selection.mask is not None
        assert np.flatnonzero(selection.mask).tolist() == list(wanted)
        assert selection.count == 2

    @pytest.mark.parametrize("wrong", [Filters(modified_after="soon"), Filters(modified_before="2026-13-01")])
    def test_a_date_that_is_none_is_the_callers_mistake(self, catalog: Catalog, wrong: Filters) -> None:
        with pytest.raises(CallerError, match="is not a date"):
            catalog.columns().select(wrong)

    @settings(deadline=None, max_examples=40, suppress_health_check=SEVERAL)
    @given(**HISTORY)
    def test_columns_select_what_a_plain_reading_of_the_filters_does(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        puts: list[list[Document]],
        moves: list[tuple[int, str]],
        removals: list[int],
        asked: list[Filters],
    ) -> None:
        folder = tmp_path_factory.mktemp("catalog")
        self.assert_columns_are_true(lambda: self.open(folder, ["shared"]), puts, moves, removals, asked)

    def assert_columns_are_true(
        self,
        opened: Callable[[], Catalog],
        puts: list[list[Document]],
        moves: list[tuple[int, str]],
        removals: list[int],
        asked: list[Filters],
    ) -> None:
        """`opened` gives a catalog that is empty at first."""
        catalog = opened()
        catalog.columns()
        for made in puts:
            catalog.put([result(each) for each in made])
            catalog.columns()
        paths = sorted(catalog.known())
        for number, product in moves:
            if number < len(paths) and paths[number] in catalog.known():
                self.move(catalog, paths[number], f"{product}/moved/{paths[number].replace('/', '-')}")
        catalog.columns()
        catalog.remove([paths[number] for number in removals if number < len(paths)])
        kept = catalog.columns()
        again = opened()
        fresh = again.columns()
        with catalog.read() as reader:
            stored = {each.doc_id: each.document for each in reader.iter_documents()}
            chunks = {doc_id: [each.chunk_id for each in reader.chunks_of(doc_id)] for doc_id in stored}
        for wanted in asked:
            passing = {
                doc_id
                for doc_id, made in stored.items()
                if plainly_passes(made, wanted, list(stored.values()), frozenset({"shared"}))
            }
            expected = sorted(chunk_id for doc_id in passing for chunk_id in chunks[doc_id])
            for columns in (kept, fresh):
                selection = columns.select(wanted)
                if selection.mask is None:
                    assert passing == set(stored)
                    assert selection.doc_ids is None
                else:
                    assert np.flatnonzero(selection.mask).tolist() == expected
                    assert selection.doc_ids is not None
                    assert set(selection.doc_ids.tolist()) == passing
                assert selection.count == len(expected)
                assert columns.select(wanted) is selection
        every = np.array([n for numbers in chunks.values() for n in numbers], dtype=np.int64)
        assert kept.doc_of(every).tolist() == fresh.doc_of(every).tolist()
        assert kept.languages() == fresh.languages()
        assert catalog.verify() == []
        again.close()
        catalog.close()
