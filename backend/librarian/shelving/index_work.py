"""The work of indexing, step by step, for whoever calls it: look, read, write, embed, compare, repair.

No threads here (`FileIndexer` has them), but locks, so that one thread may refresh while another embeds.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from librarian.vocabulary.errors import SetupError, SourceError
from librarian.vocabulary.protocols import (
    Catalog,
    Embedder,
    LexicalIndex,
    Observer,
    Reader,
    Scanner,
    VectorArchive,
    VectorStore,
)
from librarian.vocabulary.types import IndexReport, Progress

from .children import Children
from .embedding import Rate
from .folder_diff import examine_folder
from .index_log import tell_embedded, tell_report
from .indexer_options import IndexerOptions
from .missing_files import MissingFiles, is_moved
from .models_in_use import ModelsInUse
from .reconcile import examine_lexical, is_worn, repair_lexical
from .refresh import Refresh, Scope
from .text_writer import Batch, TextWriter
from .vector_shelf import VectorShelf
from .vector_work import VectorWork

logger = logging.getLogger(__name__)

_IGNORE_FILES = frozenset({".gitignore", ".librarianignore"})  # a change of one may concern any file
_RENEWED = "keyword index renewed"  # remembers when all its entries were last written anew
_RENEWAL_S = 86_400.0  # no sooner is that done again: it reads every file


class IndexWork:
    """Reads what changed below `root` into catalog, keyword index and vector stores.

    `stores_for` gives the vector stores of a model's fingerprint; `embedder` builds the model inside a child (so it
    must be importable there), None leaves embedding out. `model_key` names what `embedder` would load (model, backend,
    server): while it stays the same, the last fingerprint is taken as known and no child is started to ask. `fault`
    is called with the name of each step, so that tests can end the process there.
    """

    def __init__(
        self,
        root: Path | str,
        scanner: Scanner,
        reader: Reader,
        catalog: Catalog,
        lexical: LexicalIndex,
        archive: VectorArchive,
        *,
        stores_for: Callable[[str], Sequence[VectorStore]] = lambda model: (),
        embedder: Callable[[], Embedder] | None = None,
        model_key: str = "",
        options: IndexerOptions = IndexerOptions(),
        observer: Observer | None = None,
        on_generation: Iterable[Callable[[int], None]] = (),
        fault: Callable[[str], None] = lambda step: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._root = os.path.abspath(root)
        self._scanner = scanner
        self._reader = reader
        self._catalog = catalog
        self._lexical = lexical
        self._archive = archive
        self._embedder = embedder
        self._options = options
        self._observer = observer
        self._on_generation = list(on_generation)
        self._fault = fault
        self._clock = clock
        self._shelf = VectorShelf(catalog, archive, stores_for, fault)
        self._writer = TextWriter(catalog, lexical, self._shelf, fault)
        self._refreshing = threading.RLock()  # one refresh at a time
        self._filling = threading.Lock()  # one filling at a time
        self._writing = threading.RLock()  # one writer of text or vectors at a time
        self._state = threading.Condition()  # guards what follows
        self._busy = 0  # refreshes wanted or under way: embedding gives way
        self._lacking = embedder is not None  # passages may lack vectors
        self._embedding = False
        self._stop = threading.Event()
        self._prepared = False
        self._forced = Scope()
        self._children = Children(reader, options)
        self._problems: dict[str, str] = {}
        self._text_progress = Progress("idle")
        self._rate = Rate()
        self._missing = MissingFiles(self._root, scanner, catalog, self._problems, clock)
        self.away = self._missing.away
        self._models = ModelsInUse(catalog, self._shelf, model_key)
        self._vectors = VectorWork(
            catalog,
            archive,
            self._shelf,
            self._models,
            embedder,
            children=self._children,
            problems=self._problems,
            writing=self._writing,
            fault=fault,
            observe=self._observe,
            progress=self._set_rate,
        )
        self._last_indexed_at: float | None = None

    # -- called directly -------------------------------------------------------------------------------------------

    def refresh(self, paths: Iterable[str] | None = None) -> IndexReport:
        """Make the text equal to the folder; with `paths` (absolute), look only there.

        Raises `SetupError` where this index belongs to another root.
        """
        with self._urgent(), self._refreshing:
            self._text_progress = Progress("scanning")
            try:
                notes = self._prepare()
                return self._refresh(Scope() if paths is None else self._scope(map(os.path.abspath, paths)), notes)
            finally:
                self._text_progress = Progress("idle")

    def embed(self, stop: threading.Event | None = None) -> int:
        """Embed what is pending; returns the number of passages done. Raises `Unavailable` where that fails."""
        if self._embedder is None:
            return 0
        with self._refreshing:
            self._prepare()
        with self._filling:
            with self._state:
                self._lacking, self._embedding = False, True
            finished = False
            try:
                done, finished = self._fill(stop or threading.Event())
                return done
            finally:
                with self._state:
                    self._embedding = False
                    self._lacking = self._lacking or not finished
                    self._rate = Rate()
                    self._state.notify_all()

    def check(self, *, repair: bool = False) -> list[str]:
        """What catalog, keyword index and stores lack or hold too much, in sentences; with `repair`, what is mended."""
        with self._urgent(), self._refreshing:
            folder, unread = examine_folder(self._root, self._scanner, self._catalog.known(), self.away)
            if not repair:
                found = folder + examine_lexical(self._catalog, self._lexical).sentences()
                for model in self._models.fingerprints():
                    found += self._shelf.examine(model) + self._shelf.examine_archive(model)
                return found
            found = list(dict.fromkeys([*self._prepare(), *self._reconcile()]))
            with self._writing:
                for model in self._models.fingerprints():
                    found += self._shelf.examine_archive(model, repair=True)
            self._wake_embedding()
            self._forced = replace(self._forced, again=self._forced.again | unread)
            if folder or found or "root" in self._problems:
                self._refresh(Scope(), [])
            return found if "root" in self._problems else folder + found

    def rebuild(self) -> IndexReport:
        """Read every file again and fill the stores anew; what was found before is found meanwhile.

        Vectors come from the archive: nothing is embedded again but what changed.
        """
        with self._urgent(), self._refreshing:
            self._prepare()
            self._force_all()
            report = self._refresh(Scope(), [])
            again = () if "root" in self._problems else ("Every file was read again.",)
            with self._writing:
                for model in self._models.fingerprints():
                    self._shelf.clear(model)
                self._shelf.use(self._models.fingerprints())
            self._wake_embedding()
            return replace(report, notes=(*again, *report.notes))

    def prune(self) -> IndexReport:
        """Drop what is missing however much it is, and vectors that nothing has used for long."""
        with self._urgent(), self._refreshing:
            notes = self._prepare()
            with self._missing.pruning():
                report = self._refresh(Scope(), notes)
            for model in self._archive.models():
                self._archive.prune(model, self._shelf.hashes(model))
            return report

    def close(self) -> None:
        """End the children."""
        self._children.close()

    # -- getting ready ---------------------------------------------------------------------------------------------

    def _prepare(self) -> list[str]:
        """Before the first work: is it the same library, was it made by the same rules, do its parts agree?"""
        if self._prepared:
            return []
        self._check_root()
        rules = self._meta("reader")
        notes: list[str] = []
        if rules and rules != self._reader.fingerprint:
            number = self._force_all()
            notes.append(f"The rules of reading have changed: {number:,} files are read again.")
        if self._embedder is not None and self._models.changed():
            notes.append(
                "The embedding model has changed: passages are embedded again; the old vectors answer meanwhile."
            )
        with self._writing:
            self._shelf.use(self._models.fingerprints())
            notes += self._reconcile()
        self._prepared = True
        return notes

    def _check_root(self) -> None:
        """An index that holds nothing yet, of a mistyped folder for example, is any folder's."""
        held = self._meta("root")
        with self._catalog.read() as reader:
            found = reader.count()
        other = held not in ("", self._root) and (found.documents or found.emails)
        if other and not is_moved(held, self._root, self._catalog):
            raise SetupError(
                f"This index belongs to the library in {held}, not to {self._root}.",
                hint="Choose another index folder with --index or `index.path`, or set docs.root_path back.",
            )
        if held != self._root:
            self._catalog.set_meta("root", self._root)

    def _reconcile(self) -> list[str]:
        """Repair what can be repaired without reading files, and note which files the next full look must read."""
        with self._writing:
            findings = examine_lexical(self._catalog, self._lexical)
            with self._catalog.read() as reader:
                repair_lexical(self._lexical, findings, reader.generation)
            self._forced = replace(self._forced, refill=self._forced.refill | frozenset(findings.missing))
            done = findings.sentences()
            for model in self._models.fingerprints():
                done += self._shelf.repair(model)
        for sentence in done:
            logger.warning("%s", sentence)
        self._wake_embedding()
        return done

    def _renew(self) -> None:
        """Have the next full look write all keyword entries anew where too many are deleted ones; once in a day."""
        now = self._clock()
        if not is_worn(self._lexical) or 0 <= now - float(self._meta(_RENEWED) or "-inf") < _RENEWAL_S:
            return
        self._catalog.set_meta(_RENEWED, str(now))
        logger.info("%s deleted entries distort the keyword index: it is written anew.", f"{self._lexical.dead():,}")
        known = self._catalog.known()
        self._forced = replace(self._forced, renew=frozenset(path for path, (_, _, digest) in known.items() if digest))

    def _force_all(self) -> int:
        known = frozenset(self._catalog.known())
        self._forced = replace(self._forced, again=known)
        return len(known)

    # -- text ------------------------------------------------------------------------------------------------------

    def _scope(self, paths: Iterable[str]) -> Scope:
        given = frozenset(paths)
        whole = any(
            path == self._root
            or self._root.startswith(path.rstrip(os.sep) + os.sep)
            or os.path.basename(path) in _IGNORE_FILES
            for path in given
        )
        return Scope() if whole else Scope(everything=False, paths=given)

    def _refresh(self, scope: Scope, notes: Sequence[str]) -> IndexReport:
        if scope.everything:
            scope = replace(self._forced, everything=True)
        try:
            look = Refresh(
                self._root,
                self._scanner,
                self._catalog,
                write=self._write,
                pool=self._children.reading,
                keep_missing=self._missing.judge,
                away=self._missing.away,
                progress=self._set_text_progress,
                stopping=self._stop.is_set,
                limits=self._children.limits,
            )
            report = look.run(scope)
        except SourceError as error:
            if error.reason != "root":
                raise
            kept = self._missing.keep(error)
            with self._catalog.read() as reader:
                return IndexReport(generation=reader.generation, notes=(*notes, kept))
        finally:
            self._text_progress = Progress("idle")
        report = replace(report, notes=(*notes, *report.notes))
        if self._stop.is_set():
            return report
        if scope.everything:
            self._forced = Scope()
            if self._meta("reader") != self._reader.fingerprint:
                self._catalog.set_meta("reader", self._reader.fingerprint)
        self._last_indexed_at = self._clock()
        tell_report(report)
        self._observe("refreshed", added=report.added, changed=report.changed, removed=report.removed,
                      moved=report.moved, failed=len(report.failed), ms=report.took_ms)  # fmt: skip
        return report

    def _write(self, batch: Batch) -> int:
        with self._writing:
            try:
                generation = self._writer.write(batch)
            except BaseException:
                self._prepared = False  # something is half done: compare before going on
                raise
        self._tell(generation)
        self._wake_embedding()
        return generation

    # -- vectors ---------------------------------------------------------------------------------------------------

    def _fill(self, stop: threading.Event) -> tuple[int, bool]:
        """(passages done, whether all that can be embedded is)."""
        done, finished = self._vectors.fill(partial(self._give_way, stop), lambda: self._stopped(stop))
        if done and finished:
            tell_embedded(done)
            self._tell(self._catalog.bump())
        return done, finished

    def _give_way(self, stop: threading.Event) -> bool:
        """Wait while files are looked at; False where embedding is to end."""
        with self._state:
            while self._busy and not self._stopped(stop):
                self._state.wait(0.2)
        return not self._stopped(stop)

    def _stopped(self, stop: threading.Event) -> bool:
        return stop.is_set() or self._stop.is_set()

    # -- small things ----------------------------------------------------------------------------------------------

    @contextmanager
    def _urgent(self) -> Iterator[None]:
        """While this lasts, embedding gives way."""
        with self._state:
            self._busy += 1
        try:
            yield
        finally:
            with self._state:
                self._busy -= 1
                self._state.notify_all()

    def _meta(self, key: str) -> str:
        with self._catalog.read() as reader:
            return reader.meta(key)

    def _tell(self, generation: int) -> None:
        for listener in self._on_generation:
            listener(generation)

    def _observe(self, event: str, **fields: object) -> None:
        if self._observer is not None:
            self._observer(event, **fields)

    def _wake_embedding(self) -> None:
        with self._state:
            self._lacking = self._embedder is not None
            self._state.notify_all()

    def _set_rate(self, rate: Rate) -> None:
        self._rate = rate

    def _set_text_progress(self, progress: Progress) -> None:
        self._text_progress = progress
