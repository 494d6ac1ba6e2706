"""The keyword index's folder: its fields, its small state file, and how both are opened.

Nothing of a document is stored: the index holds postings, and two numbers per entry that lead back to the catalog.
"""

from __future__ import annotations

import json
import logging
import re
import textwrap
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import tantivy

from ..errors import Damaged, SetupError
from ..files.owned_folder import Kind, claim, delete_files, json_object
from ..files.writing import write_whole
from ..models import Document, KeywordEntry
from .columns import CODED
from .rows import micros_or_no_date

log = logging.getLogger(__name__)

FORMAT = 2  #: raised when fields, or what goes into them, change: an index of another format is made anew
STATE_FILE = "librarian.json"

#: Analysed text fields. Positions are kept where quoted phrases are looked for.
PHRASED = ("body", "title", "headings")
UNPHRASED = ("path", "identifiers")
FIELDS = PHRASED + UNPHRASED
WORD_FIELDS = (*PHRASED, "path")
VALUES = (*CODED, "tags")

_LEFTOVER = re.compile(r'FileAlreadyExists\("([0-9a-f]{32}\.[\w.]+)"\)')
#: Names of the files of an index: tantivy's and ours.
_OWN = re.compile(
    r"meta\.json|\.managed\.json|\.tantivy-[\w-]+\.lock|\.tmp\w+|[0-9a-f]{32}\.[\w.]+"
    rf"|{re.escape(STATE_FILE)}|\.{re.escape(STATE_FILE)}\.\d+\.part"
)
_ANALYSED = "analysed"  # entries come as tokens joined by spaces; nothing more is done to them


@dataclass(frozen=True, slots=True)
class State:
    """What the index says about itself: its format, whose projection it is, and how far it has got."""

    format: int = FORMAT
    identity: str = ""
    generation: int = 0


def build_schema() -> Any:
    """Text fields, values to filter by, and signed integers: an unsigned fast field panics on a plain int."""
    builder = tantivy.SchemaBuilder()
    for name in PHRASED:
        builder.add_text_field(name, tokenizer_name=_ANALYSED, index_option="position")
    for name in UNPHRASED:
        builder.add_text_field(name, tokenizer_name=_ANALYSED, index_option="freq")
    for name in VALUES:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("chunk", "doc", "modified"):
        builder.add_integer_field(name, indexed=True, fast=True)
    return builder.build()


def entry_of(chunk_id: int, doc_id: int, document: Document, entry: KeywordEntry) -> Any:
    """A chunk's entry, as the schema has it."""
    made = tantivy.Document()
    made.add_integer("chunk", int(chunk_id))
    made.add_integer("doc", int(doc_id))
    made.add_integer("modified", micros_or_no_date(document.last_modified))
    for name in FIELDS:
        made.add_text(name, getattr(entry, name))
    for name in CODED:
        made.add_text(name, getattr(document, name))
    for tag in document.tags:
        made.add_text("tags", tag)
    return made


def open_index(path: Path | None) -> tuple[Any, State]:
    """The index in that folder, made where there is none; in memory where `path` is None.

    Raises `Damaged` where the folder's files can't be read or have another format, and `SetupError` where the folder is
    somebody else's or can't be written.
    """
    if path is None:
        index, state = tantivy.Index(build_schema()), State()
    else:
        try:
            claim(path, FOLDER)
            made = (path / "meta.json").exists()
            if not made:
                index, state = tantivy.Index(build_schema(), str(path)), State()
                save_state(path, state)
        except (OSError, ValueError) as error:
            raise unwritable(path, str(error)) from error
        if made:
            state = _load_state(path)
            try:
                index = tantivy.Index.open(str(path))
            except BaseException as error:
                raise damaged(path, error) from error
    index.register_tokenizer(_ANALYSED, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
    index.config_reader(reload_policy="manual")
    return index, state


def save_state(path: Path | None, state: State) -> None:
    """Write the state file in one step, so that a kill leaves the old or the new one."""
    if path is None:
        return
    write_whole(path / STATE_FILE, json.dumps(asdict(state)))


def discard(path: Path) -> None:
    """Delete the files of an index that is closed or can't be opened. What else lies in its folder stays."""
    if path.exists():
        log.info("keyword index: deleting the files of %s", path)
        delete_files(path, FOLDER, _OWN)


def remove_leftover(path: Path | None, error: BaseException) -> None:
    """Delete the file that `error` says is there already: a killed writer's, which no commit names."""
    found = _LEFTOVER.search(str(error))
    if path is not None and found is not None:
        log.info("keyword index: %s was left behind by a killed writer", found[1])
        (path / found[1]).unlink(missing_ok=True)


def unwritable(path: Path | None, what: str) -> SetupError:
    """The error for a disk that is full, read-only or somebody else's: the index itself may be well."""
    return SetupError(
        f"The keyword index {path} can't be used: {what}.", hint="Check free space and permissions of the index folder."
    )


def damaged(path: Path | None, why: BaseException | str) -> BaseException:
    """The error to raise where tantivy can't read its files; `why` itself where it is no failure of tantivy."""
    if isinstance(why, BaseException) and not is_failure(why):
        return why
    return Damaged(
        f"The keyword index {path} can't be read: {textwrap.shorten(str(why), 200)}.",  # tantivy quotes whole files
        hint="Start Librarian again: the keyword index is then made again from the documents.",
    )


def is_failure(error: BaseException) -> bool:
    """Whether tantivy raises such errors: for files that it can't read or write, or a panic for broken ones."""
    return isinstance(error, (ValueError, OSError, RuntimeError)) or type(error).__name__ == "PanicException"


def _is_unmarked_index(path: Path) -> bool:
    """Whether its state file, or its schema, shows a folder to be an index that Librarian made."""
    if json_object(path / STATE_FILE).keys() == {field.name for field in fields(State)}:
        return True
    schema = json_object(path / "meta.json").get("schema")
    names = {field.get("name") for field in schema if isinstance(field, dict)} if isinstance(schema, list) else set()
    return {*FIELDS, *VALUES, "chunk", "doc"} <= names


#: The folder of a keyword index.
FOLDER = Kind(
    "keyword index",
    "librarian.storage.keyword_schema",
    "Move it away, or choose another index folder with --index or `index.path` (INDEX_PATH).",
    _is_unmarked_index,
)


def _load_state(path: Path) -> State:
    try:
        state = State(**json.loads((path / STATE_FILE).read_text(encoding="utf-8")))
    except PermissionError as error:
        raise unwritable(path, str(error)) from error
    except (OSError, ValueError, TypeError) as error:
        raise damaged(path, f"{STATE_FILE} is missing or broken") from error
    if state.format != FORMAT:
        raise damaged(path, f"it has format {state.format}, not {FORMAT}")
    return state


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """How much a term counts in each field of the keyword index.

    Measured as nDCG@10 of pages ranked by their best chunk, on 167 questions over the Ray documentation, 50 over the
    Kubernetes one and 52 over CACM abstracts, by `benchmarks/ablations.py`: body alone 0.430, 0.690, 0.512; these
    weights 0.529, 0.737, 0.512. Title 1 brings 0.038, 0.047 and 0.018 less than these, identifiers 2 brings 0.017,
    0.051 and 0.008 less. Scoring pairs of adjacent terms as phrases too moved the three by +0.02, −0.02 and +0.01 and
    doubled the time, so none are scored.
    """

    body: float = 1.0
    title: float = 0.3
    headings: float = 0.5
    path: float = 0.2
    identifiers: float = 0.5
