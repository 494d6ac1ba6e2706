"""Answers as models get them: as compact text, complete for hosts that show nothing else, and as small fields."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import takewhile
from typing import Any, TypeVar

from .. import schemas
from ..errors import counted
from ..models import QUOTED_PATH, Progress
from ..search.suggestions import no_mention
from ..text.sanitizing import has_control_characters, inline, visible_within, wrap_untrusted


def documents(answer: schemas.SiteDocumentsResponse) -> str:
    """Title, category, sources and date, summary, sections; several documents with a rule between them."""
    parts = [_document(item, answer.include_sections, answer.include_metadata) for item in answer.documents]
    return wrap_untrusted("documents", "\n\n---\n\n".join(parts))


def _document(item: schemas.SiteDocument, sections: bool, metadata: bool) -> str:
    parts = [f"# {item.title}"]
    if metadata:
        facts = [f"**Category:** {item.category}", f"**Sources:** [{', '.join(item.sources or [item.file_path])}]"]
        facts += [f"**Last Updated:** {item.last_updated[:10]}"]
        parts.append("\n".join([*facts, *([f"**Keywords:** {', '.join(item.keywords)}"] if item.keywords else [])]))
    parts += ["## Summary", item.summary or "(none)"]
    if sections and item.sections:
        parts.append("## Sections")
        for section in item.sections:
            first, _, rest = section.content.partition("\n")
            text = rest.strip("\n") if first.lstrip().startswith("#") else section.content
            parts += [f"### {section.title}", *([text] if text.strip() else [])]
    return "\n\n".join(parts)


T = TypeVar("T", bound=schemas.ResponseModel)

SECTIONS = 40  #: headings that a truncated document names of what follows, the last one aside
LONGEST_LIST = 1_000_000  #: items that are shown of a list
_CONTEXT = 90  #: bytes of a line of what stands around a passage
_HEADING = 60  #: bytes of the heading of a passage that is listed


def cleaned(answer: T) -> T:
    """`answer` without hidden characters in any of its strings: done before a text is made of it and fenced."""
    if not has_control_characters(answer.model_dump_json()):
        return answer
    return type(answer).model_validate(visible_within(answer.model_dump(mode="json")))


#: Fields of searches that come with `explain` only: they say how an answer was found, or repeat what it says.
ON_REQUEST = frozenset({"retrievers", "coverage", "took_ms", "generation"})
_RESULT_ON_REQUEST = frozenset(
    {"file_name", "file_type", "uri", "summary", "match_type", "language", "doc_type", "last_modified"}
)


def structured(answer: schemas.ResponseModel) -> dict[str, Any]:
    """The structured half of a cleaned answer: no null or empty fields, numbers rounded, a citation as each id.

    What only explains a search is left out unless it was asked for; all of it is there then.
    """
    fields = answer.as_fields()
    if isinstance(answer, schemas.SearchResponse | schemas.EmailSearchResponse):
        explained = answer.routing is not None or any(item.why for item in answer.results)
        for item, result in zip(answer.results, fields["results"], strict=True):
            result["id"] = _citation(item)
            if not explained:
                _leave_out_details(item, result)
        if not explained:
            failed = {name: state for name, state in fields["retrievers"].items() if state["status"] == "failed"}
            embedding = 0 < answer.coverage.embedded_chunks < answer.coverage.chunks
            left_out = ON_REQUEST - ({"coverage"} if embedding else set())
            fields = {name: value for name, value in fields.items() if name not in left_out} | {"retrievers": failed}
    found: dict[str, Any] = _without_empty(fields)
    return found


def _leave_out_details(item: schemas.Result, result: dict[str, Any]) -> None:
    for name in _RESULT_ON_REQUEST:
        result.pop(name, None)
    if item.file_path.startswith(f"{item.product}/{item.component}/"):
        del result["product"], result["component"]
    if isinstance(item, schemas.EmailResult):
        del result["title"]  # its subject


def _without_empty(value: Any) -> Any:
    """A JSON value without null, empty text, lists and objects at any depth, and with numbers to four digits."""
    if isinstance(value, dict):
        found = {name: _without_empty(item) for name, item in value.items()}
        return {name: item for name, item in found.items() if item not in (None, "", [], {})}
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    return round(value, 4) if isinstance(value, float) else value


def _citation(item: schemas.Result) -> str:
    """What to cite, which `get_document` takes as `path`."""
    return f"{item.file_path}:{item.line_start}-{item.line_end}"


def render(answer: schemas.ResponseModel) -> str:
    """The text half of a cleaned answer: every string from a file is fenced, or quoted on one line."""
    match answer:
        case schemas.SearchResponse() | schemas.EmailSearchResponse():
            return _search(answer)
        case schemas.ThreadResponse():
            return thread(answer)
        case schemas.DocumentResponse():
            return document(answer)
        case schemas.SiteDocumentsResponse():
            return documents(answer)
    return wrap_untrusted("fields", "\n".join(listed(structured(answer))))


def listed(fields: Mapping[str, Any], most: int = LONGEST_LIST, indent: str = "") -> list[str]:
    """Fields that say something as lines; of a list of alike objects their names once, then a row for each.

    Of a list at most `most` items are shown.

    >>> listed({"total": 2, "products": [{"name": "ray", "documents": 2}, {"name": "a | b"}]})
    ['total: 2', 'products (name | documents):', '  ray | 2', '  "a | b" | ']
    """
    lines = []
    for name, value in fields.items():
        if isinstance(value, Mapping) and not any(isinstance(item, Mapping | list) for item in value.values()):
            pairs = [f"{key} {_cell(item)}" for key, item in value.items() if item not in (None, "")]
            lines += [f"{indent}{name}: {', '.join(pairs)}"] * bool(pairs)
        elif isinstance(value, Mapping):
            lines += [f"{indent}{name}:", *listed(value, most, f"{indent}  ")]
        elif isinstance(value, list) and value:
            columns = list(dict.fromkeys(key for item in value if isinstance(item, Mapping) for key in item))
            heads = f" ({' | '.join(columns)})" if columns else ""
            lines.append(f"{indent}{name}{heads}:")
            rows = [[item.get(key) for key in columns] if columns else [item] for item in value[:most]]
            lines += [f"{indent}  {' | '.join(map(_cell, row))}" for row in rows]
            lines += [f"{indent}  … {len(value) - most} more"] * (len(value) > most)
        elif value not in (None, "", [], {}):
            lines.append(f"{indent}{name}: {_cell(value)}")
    return lines


def _cell(value: object) -> str:
    """A value on one line: a text as it is unless that would be unclear, all else as JSON."""
    if value is None or (isinstance(value, str) and not re.search(r"[\r\n\u2028\u2029]| \| ", value)):
        return value or ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _search(answer: schemas.SearchResponse | schemas.EmailSearchResponse) -> str:
    described = set[str]()
    blocks = []
    for item in answer.results:
        parts = (_result_head(item), _context(item, described), item.snippet, _tail(item))
        blocks.append("\n".join(filter(None, parts)))
    kind = "email" if isinstance(answer, schemas.EmailSearchResponse) else "document"
    missing = inline(no_mention(answer.not_mentioned, answer.not_mentioned_in, of=kind))
    head = "\n".join(filter(None, (missing, _head(answer))))
    shown = wrap_untrusted("passages", "\n\n".join(blocks)) if blocks else ""
    return "\n\n".join(part for part in (head, shown, _foot(answer)) if part)


def _head(answer: schemas.SearchResponse | schemas.EmailSearchResponse) -> str:
    if not answer.results and answer.total:
        return f"Nothing on this page; results on all pages: {_all(answer)}."
    if not answer.results:
        asked = f" for {inline(repr(answer.query))} (mode {answer.mode})" if answer.query.strip() else ""
        return f"Nothing found{asked}."
    mode = answer.mode if answer.mode == answer.requested_mode else f"{answer.mode}, asked for {answer.requested_mode}"
    first, last = answer.results[0].rank, answer.results[-1].rank
    doubt = "" if answer.calibrated else ", relevance isn't calibrated yet"
    by_date = answer.results[0].relevance_score is None  # passed filters alone: then no score says anything
    how = "newest first" if by_date else f"mode {mode}; answerable: {answer.answerable}{doubt}"
    text = f"Results {first}–{last} of {_all(answer)} ({how})"
    return f"{text}. More: offset={answer.next_offset}" if answer.next_offset is not None else text


def _all(answer: schemas.SearchResponse | schemas.EmailSearchResponse) -> str:
    """How many results there are on all pages, which may be but the best."""
    return f"the best {answer.total}" if answer.capped else str(answer.total)


def _foot(answer: schemas.SearchResponse | schemas.EmailSearchResponse) -> str:
    lines = [f"Degraded: {inline(reason)}" for reason in answer.degraded]
    for name, retriever in answer.retrievers:
        if retriever.status == "failed":
            lines.append(f"The {name} retriever failed: {inline(retriever.reason)}")
        elif name == answer.requested_mode != answer.mode and retriever.reason not in ("", *answer.degraded):
            lines.append(f"No {name}: {inline(retriever.reason)}")
    coverage, semantic = answer.coverage, answer.retrievers.semantic
    reported = any(reason.startswith("semantic:") for reason in answer.degraded)
    if coverage.embedded_chunks < coverage.chunks and semantic.status in ("ok", "failed") and not reported:
        lines.append(f"Embedded so far: {coverage.embedded_chunks} of {coverage.chunks} passages.")
    rewritten = answer.rewritten  # what was corrected is among the suggestions, word by word
    if rewritten is not None and rewritten.source != "spelling" and rewritten.search_terms:
        lines.append(f"Also searched for: {inline(rewritten.search_terms)} ({rewritten.source})")
    if answer.weak_hidden:
        lines.append(f"Left out as hardly relevant: {answer.weak_hidden}; include_weak=true shows them.")
    lines += [f"Note: {inline(note)}" for note in answer.notes]
    lines += [f"Suggestion: {inline(item.text)}" for item in answer.suggestions]
    return "\n".join(lines)


def _result_head(item: schemas.Result) -> str:
    if isinstance(item, schemas.EmailResult):
        return _email_head(item)
    path = " › ".join([item.title, *(part for part in item.heading_path if part != item.title)])
    lines = [f"{item.rank}. {_cut(path, 140)}", _place(item)]
    if item.why:
        lines.append(_cut(" · ".join(f"{part.source} {part.points:.2f}" for part in item.why), 100))
    if item.also_in:
        lines.append(f"Also in: {_cut(', '.join(item.also_in), 100)}")
    return "\n".join(lines)


def _place(item: schemas.Result) -> str:
    """What to cite, with the score and, where more of its section is there than shown, what that takes to read."""
    page = f", page {item.page}" if item.page is not None else ""
    score = "" if item.relevance_score is None else f" · score {item.relevance_score:.2f}"
    section = ""
    if item.section_lines is not None:
        first, last = item.section_lines
        section = f" · of {first}-{last}, {counted(item.tokens, 'token')}"
    return f"{_citation(item)}{page}{' (stale)' if item.stale else ''}{score}{section}"


def _tail(item: schemas.Result) -> str:
    """The further passages of a document, a line each."""
    lines = []
    for one in item.more:
        heading = f": {_cut(one.heading, _HEADING)}" if one.heading else ""
        lines.append(f"lines {one.line_start}-{one.line_end} ({counted(one.tokens, 'token')}){heading}")
    return "\n".join(lines)


def _email_head(item: schemas.EmailResult) -> str:
    who = "Quoted by" if tuple(item.heading_path[:1]) == QUOTED_PATH else "From"
    others = f" (1 of {item.thread_size} emails; get_email_thread reads them)" if item.thread_size > 1 else ""
    lines = [
        f"{item.rank}. {_cut(item.subject or '(no subject)', 140)}",
        _place(item),
        f"{who} {_cut(item.sender, 80) or '–'} to {_cut(', '.join(item.to) or '–', 80)} "
        f"on {item.date or 'unknown date'}",
        f"thread_id {item.thread_id}{others}",
    ]
    if item.attachments:
        lines.append("Attachments: " + _cut(", ".join(part.filename for part in item.attachments), 100))
    return "\n".join(lines)


def _context(item: schemas.Result, described: set[str]) -> str:
    """What stands around a passage, a line each; a document is described with its first passage."""
    about = item.parent_context
    if about is None:
        return ""
    parts = [(name, part.text) for name, part in (("Before", about.previous), ("After", about.next)) if part]
    if item.file_path not in described:
        headings = ("Headings", "; ".join(about.headings))
        parts = [("In", about.breadcrumb or about.title), ("Summary", about.summary), headings, *parts]
    described.add(item.file_path)
    return "\n".join(f"{name}: {_cut(text, _CONTEXT)}" for name, text in parts if text.strip())


STALE = "[The file has changed since it was read: this is its text before. Ask again in a moment.]"


def remarks(answer: schemas.DocumentResponse) -> list[str]:
    """What a model should know of a document's text before it relies on it, each in brackets."""
    missing = f"[There is no section {inline(repr(answer.missing_section))} in it: this is the document.]"
    notes = [f"[{inline(note)}]" for note in answer.notes]
    return [*([missing] if answer.missing_section else []), *notes, *([STALE] if answer.stale else [])]


def rest_of(answer: schemas.DocumentResponse) -> str:
    """The arguments with which a truncated document goes on."""
    if answer.next_column is not None:
        return f"line_start={answer.line_end}, column_start={answer.next_column}"
    return f"line_start={answer.next_line}"


def document(answer: schemas.DocumentResponse) -> str:
    """A document or the part of it that was asked for, under a line that says what it is."""
    part = f", section {answer.section!r}" if answer.section else ""
    lines = f"lines {answer.line_start}–{answer.line_end}"
    if answer.sections or answer.outline:
        parts = ", ".join(f"{one.line_start}–{one.line_end}" for one in answer.sections)
        lines = f"lines {parts or f'{answer.line_start}–{answer.line_end}'} of {counted(answer.tokens, 'token')}"
    head = [
        f"# {answer.title}",
        f"{answer.file_path}{part}, {lines} · {answer.product}/{answer.component}"
        f" · {answer.doc_type} · {answer.last_modified[:10]}"
        + (f" · tags {', '.join(answer.tags)}" if answer.tags else ""),
        *(_mail_head(answer.email) if answer.email else ()),
    ]
    inside = [*head, "", answer.content]
    foot = [line for remark in remarks(answer) for line in ("", remark)]
    if answer.outline:
        inside += ["", "Sections:", *_outline(answer)]
        hint = "[This is its outline and its beginning. Pass query for what answers a question, a section, or lines;"
        foot += ["", f"{hint} max_chars=0 gives all of it.]"]
    elif answer.truncated:
        foot += ["", f"[Truncated. Go on with {rest_of(answer)}.]"]
        if ahead := _ahead(answer):
            named = "; ".join(f"{item.text} (line {item.line})" for item in ahead[:SECTIONS])
            last = f"; … {ahead[-1].text} (line {ahead[-1].line})" if len(ahead) > SECTIONS else ""
            which = f"{len(ahead)} sections further on"
            if len(answer.headings) < answer.heading_count:
                which = f"Of {answer.heading_count} headings the next sections"
            inside += ["", f"{which}: {named}{last}"]
    return "\n".join([wrap_untrusted("document", "\n".join(inside)), *foot])


def _outline(answer: schemas.DocumentResponse) -> list[str]:
    top = min(item.level for item in answer.outline)
    return [
        f"{'  ' * (item.level - top)}lines {item.line_start}-{item.line_end} ({counted(item.tokens, 'token')}): "
        f"{_cut(item.text, _HEADING)}"
        for item in answer.outline
    ]


def _mail_head(mail: schemas.MailHeaders) -> list[str]:
    lines = [f"From {mail.sender or '–'} on {mail.date or 'unknown date'}", *_addressed(mail)]
    return [*lines, f"thread_id {mail.thread_id} · message_id {mail.message_id}"]


def _addressed(mail: schemas.MailHeaders | schemas.ThreadEmail) -> list[str]:
    cc = f"; cc {', '.join(mail.cc)}" if mail.cc else ""
    return [f"To {', '.join(mail.to)}{cc}"] if mail.to or mail.cc else []


def _ahead(answer: schemas.DocumentResponse) -> list[schemas.HeadingItem]:
    """The sections behind what is shown: of a section its own, of a document those of its two highest levels."""
    behind = [item for item in answer.headings if item.line > answer.line_end]
    named = [item for item in answer.headings if item.text == answer.section and item.line <= answer.line_start]
    if not named:
        return [item for item in behind if item.level <= 2]
    return list(takewhile(lambda item: item.level > named[-1].level, behind))


def thread(answer: schemas.ThreadResponse) -> str:
    """A conversation or a part of it, oldest mail first."""
    last = answer.total if answer.next_offset is None else answer.next_offset
    part = f"emails {last - len(answer.emails) + 1}–{last} of {answer.total}"
    whole = len(answer.emails) == answer.total
    head = counted(answer.total, "email") if whole else part
    lines = [f"thread_id {answer.thread_id}", f"# {answer.subject}", ", ".join(answer.participants)]
    for mail in answer.emails:
        lines += ["", f"## {mail.date or 'unknown date'}, {mail.sender}", *_addressed(mail)]
        if mail.subject != answer.subject:
            lines.append(f"Subject: {mail.subject}")
        lines.append(f"{mail.file_path} · message_id {mail.message_id}")
        if mail.attachments:
            lines.append(
                "Attachments: " + ", ".join(f"{part.filename} ({part.size} bytes)" for part in mail.attachments)
            )
        lines += ["", mail.body]
        if mail.quoted:
            lines.append(f"[{counted(len(mail.quoted), 'quoted passage')} left out]")
    more = f"[{answer.total - last} more. Go on with get_email_thread, offset={last}.]"
    foot = [] if answer.next_offset is None else ["", more]
    return "\n".join([head, wrap_untrusted("thread", "\n".join(lines)), *foot])


def progress(now: Progress) -> tuple[float | None, str]:
    """How far indexing is: a share from 0 to 1 where it is known, and a sentence."""
    eta = now.eta_s or 0
    left = f", about {f'{eta:.0f} s' if eta < 90 else f'{eta / 60:.0f} min'} left" if eta else ""
    if now.phase == "reading" and now.files_total:
        return now.files_done / now.files_total, f"Reading files: {now.files_done:,} of {now.files_total:,}{left}"
    if now.phase == "embedding" and now.chunks_total:
        share = now.chunks_embedded / now.chunks_total
        done = f"{now.chunks_embedded:,} of {now.chunks_total:,} passages"
        return share, f"Preparing search by meaning: {done}{left}"
    if now.phase == "learning":
        return None, "Learning what headings and links call the pages"
    return None, "Looking through the folder"


def status_rows(status: schemas.StatusResponse) -> dict[str, str]:
    """What there is to tell of the status in a line each, by name."""
    embeddings, llm, storage = status.embeddings, status.llm, status.storage
    state = {"ready": "Ready", "indexing": f"Indexing: {progress(status.progress)[1]}"}
    connection = {None: "not asked yet", True: "connected", False: "not connected"}[llm.connected]
    stores = f"{storage.catalog}, {storage.keyword}, {storage.vectors}"
    held = ((status.documents, "document"), (status.emails, "email"), (status.products, "product"))
    embedded = f"{status.embedded_chunks:,} of {counted(status.chunks, 'passage')}"
    model = ", ".join(filter(None, (embeddings.model, embeddings.backend, embeddings.device)))
    rows = {
        "State": state.get(status.status, f"Degraded: {'; '.join(status.reasons)}"),
        "Holds": ", ".join(counted(*one) for one in held),
        "Searchable by meaning": embedded if embeddings.enabled else "off",
        "Embedding model": model if embeddings.enabled else "none",
        "Reranker": status.reranker or "by words and meaning, no model",
        "Language model": f"{llm.model} ({llm.provider}), {connection}" if llm.enabled else "off",
        "Text is sent to": "; ".join(status.sent_to) or "no other machine",
        "Follows changes": "yes" if status.watching else "no",
        "Last scan of the folder": (status.last_indexed_at or "")[:16].replace("T", " ") or "not yet",
        "Folder": status.root_path,
        "Index": f"{status.index_path} ({storage.disk_bytes / 1e6:.1f} MB; {stores})",
        "Cached answers": f"{status.caches.exact.entries:,} ({status.caches.exact.hits:,} hits)",
        "Version": status.version,
    }
    return {name: value for name, value in rows.items() if value}


def _cut(text: str, limit: int) -> str:
    """`text` on one line, in at most `limit` UTF-8 bytes."""
    text = inline(text)
    if len(text.encode()) <= limit:
        return text
    return text.encode()[: limit - 3].decode(errors="ignore").rstrip() + "…"
