"""How each response looks on a terminal. Responses are JSON objects, as `librarian.schemas` describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import counted
from ..models import QUOTED_PATH
from ..search.suggestions import no_mention
from .output import Page
from .wording import in_own_words

SHOWN = 20  #: items of a list
COPIES = 3  #: other paths of equal text that are shown
BEST = 5  #: results that are shown by default
GRADES = {0.75: "Excellent", 0.5: "Good", 0.25: "Fair", 0.0: "Weak"}  #: of calibrated relevance, from the key on
FAIR = 0.25
MARKDOWN = (".md", ".markdown")
Answer = Mapping[str, Any]


def best(answer: Answer) -> list[Answer]:
    """The results that are shown by default: at most five, of at least Fair relevance."""
    return [one for one in answer["results"] if _is_fair(answer, one)][:BEST]


def _is_fair(answer: Answer, result: Answer) -> bool:
    score = result.get("relevance_score")
    return score is None or score >= FAIR or not _is_graded(answer)


def _is_graded(answer: Answer) -> bool:
    return bool(answer.get("calibrated", True)) and answer.get("semantic_weight") is None


def search(page: Page, answer: Answer, *, why: bool = False, everything: bool = True, folder: str = "") -> None:
    """Results, best first: headings and relevance, place, snippet with its matches; then what is noteworthy.

    Without `everything` the `best` are shown, or if there are none, where the nearest lie.
    """
    results = answer["results"]
    of = "email" if any("sender" in result for result in results) else "document"
    if missing := no_mention(answer.get("not_mentioned") or (), answer.get("not_mentioned_in") or "", of=of):
        page.line((missing, "bold"))
        page.line()
    place = f" in {folder}" if folder else ""
    shown = results if everything else best(answer)
    if not results:
        page.line(("Nothing on this page." if answer["total"] else f"Nothing found{place}.", "bold"))
    elif not shown or answer.get("answerable") == "unlikely":
        page.line((f"Probably nothing{place} answers this. The nearest:", "bold"))
        page.line()
    for result in shown or results[:COPIES]:
        _heading(page, result, graded=_is_graded(answer))
        if shown:
            _body(page, result, why=why)
            page.line()
    if results and not shown:
        page.line()
    _lines(page, [suggestion["text"] for suggestion in answer.get("suggestions") or ()], indent=3)
    rewritten = answer.get("rewritten") or {}
    if rewritten.get("search_terms") and rewritten["source"] != "spelling":  # which the suggestions tell
        page.line(f"Also searched for: {rewritten['search_terms']} ({rewritten['source']})", indent=3)
    _lines(page, answer.get("notes"), indent=3)
    page.line((_search_summary(answer, len(shown), everything=everything), "dim"))
    _lines(page, answer.get("degraded"), "degraded: ", "yellow")


def _lines(page: Page, items: Sequence[object] | None, label: str = "", style: str = "dim", *, indent: int = 0) -> None:
    for item in items or ():
        page.line((label, style), in_own_words(str(item)), indent=indent)


def _heading(page: Page, result: Answer, *, graded: bool) -> None:
    crumbs = [result["title"], *(part for part in result.get("heading_path") or () if part != result["title"])]
    parts: list[str | tuple[str, str]] = [f"{result['rank']}. "]
    if "sender" in result:
        crumbs = [result["subject"] or "(no subject)"]
        quoted = "quoted by " if tuple(result.get("heading_path", ())[:1]) == QUOTED_PATH else ""
        parts = [*parts, quoted, (result["sender"], "cyan"), f"  {(result.get('date') or '')[:10]}  "]
    score = ""
    if (relevance := result.get("relevance_score")) is not None:
        grade = next(word for least, word in GRADES.items() if relevance >= least) if graded else "relevance"
        score = f"  {grade} {relevance:.2f}"
    page.line(*parts, (" › ".join(crumbs), "bold"), (score, "green"))
    place = f"{result['file_path']}:{result['line_start']}-{result['line_end']}"
    page_number = f"  page {result['page']}" if result.get("page") else ""
    part = f"  thread {result['thread_id']}" if "sender" in result else ""
    if (size := result.get("thread_size") or 1) > 1:
        part = f"  1 of {size} emails: librarian thread {result['thread_id']}"
    if lines := result.get("section_lines"):
        part = f"  of {lines[0]}-{lines[1]}, {counted(result['tokens'], 'token')}"
    stale = ("  stale: changed since", "red") if result.get("stale") else ""
    page.line((place, "blue"), page_number, (part, "dim"), stale, indent=3)


def _body(page: Page, result: Answer, *, why: bool) -> None:
    highlights = [(start, end) for start, end in result.get("highlights") or ()]
    page.passage(result["snippet"], highlights, markdown=result["file_path"].lower().endswith(MARKDOWN))
    for one in result.get("more") or ():
        heading = f": {one['heading']}" if one.get("heading") else ""
        size = counted(one["tokens"], "token")
        page.line((f"lines {one['line_start']}-{one['line_end']} ({size}){heading}", "dim"), indent=3)
    others = result.get("also_in") or ()
    for other in others[:COPIES]:
        page.line(("also in ", "dim"), other, indent=3)
    if len(others) > COPIES:
        page.line((f"also in {len(others) - COPIES} more (--json lists them)", "dim"), indent=3)
    for reason in (result.get("why") or ()) if why else ():
        _why(page, reason)


def _why(page: Page, reason: Answer) -> None:
    rank = f"rank {reason['rank']}" if reason.get("rank") is not None else ""
    raw = f"raw {reason['raw']:.3f}" if reason.get("raw") is not None else ""
    points = f"{reason['points']:+.4f}"
    page.line((f"{reason['source']:<20} {rank:<9} {raw:<12} {points}", "dim"), indent=5)


def _search_summary(answer: Answer, shown: int, *, everything: bool) -> str:
    total, weak, mode, asked = answer["total"], answer.get("weak_hidden") or 0, answer["mode"], answer["requested_mode"]
    capped = bool(answer.get("capped"))
    if everything:
        parts = [f"{shown} of {'the best ' * capped}{total}"]
        parts += [f"{counted(weak, 'hardly relevant result')} left out: --all"] * bool(weak)
    else:
        rest = total - shown + weak
        parts = [counted(shown, "result")] * bool(shown)
        parts += [f"{rest}{'+' * capped} {'weaker' if shown else 'weak'}: --all"] * (rest > 0)
    parts += [mode if mode == asked else f"{mode} (asked: {asked})", f"{answer['took_ms']:.0f} ms"]
    if everything and answer.get("next_offset") is not None:
        parts.append(f"more with --offset {answer['next_offset']}")
    parts += [] if answer.get("calibrated", True) else ["relevance isn't calibrated yet"]
    return " · ".join(parts)


def document(page: Page, answer: Answer) -> None:
    """A document or a part of it. In a pipe it is the text alone."""
    if page.styled:
        page.line((answer["title"], "bold"), ("  " + answer["file_path"], "blue"))
        page.line((f"lines {answer['line_start']}-{answer['line_end']} · {answer['last_modified']}", "dim"))
        if mail := answer.get("email"):
            _mail_head(page, mail)
        page.line()
    if answer["file_path"].lower().endswith(MARKDOWN):
        page.passage(answer["content"], indent=0, markdown=True)
    else:
        page.passage(answer["content"], indent=0)
    if missing := answer.get("missing_section"):
        page.line((f"… no section {missing!r}: this is the document", "red"))
    _lines(page, answer.get("notes"), "… ")
    if answer.get("stale"):
        page.line(("… stale: the file has changed since it was read", "red"))
    if answer.get("next_column"):
        page.line((f"… line {answer['line_end']} was cut: --max-chars 0", "dim"))
    if answer.get("next_line"):
        page.line((f"… goes on at line {answer['next_line']}: --lines {answer['next_line']}-", "dim"))


def _mail_head(page: Page, mail: Answer) -> None:
    page.line((mail["sender"], "cyan"), f"  {mail['date'] or ''}  ", (f"thread {mail['thread_id']}", "dim"))
    for name in ("to", "cc"):
        if mail[name]:
            page.line((f"{name}: {', '.join(mail[name])}", "dim"))


def thread(page: Page, answer: Answer) -> None:
    """A conversation, oldest first."""
    page.line((answer["subject"] or "(no subject)", "bold"), f"  {counted(answer['total'], 'mail')}")
    page.line((", ".join(answer["participants"]), "dim"))
    for mail in answer["emails"]:
        page.line()
        page.line((mail["sender"], "cyan"), f"  {mail.get('date') or ''}  ", (mail["file_path"], "blue"))
        page.passage(mail["body"])
        for attachment in mail.get("attachments") or ():
            page.line((f"attached: {attachment['filename']} ({attachment['size']} bytes)", "dim"), indent=3)
    if answer.get("next_offset"):
        page.line()
        page.line((f"… {answer['total'] - answer['next_offset']} more: --offset {answer['next_offset']}", "dim"))


def fields(page: Page, answer: Answer) -> None:
    """Any other answer: its fields, as models get them."""
    from ..api.model_text import listed  # with pydantic, which other commands start without

    for line in listed(answer, SHOWN):
        page.line(in_own_words(line))


_COUNTED = "documents and emails"


def products(page: Page, answer: Answer) -> None:
    """Products, or the components of one."""
    if "components" in answer:
        rows = [[item["name"], item["document_count"]] for item in answer["components"]]
        page.table([answer["product"], _COUNTED], rows)
    else:
        rows = [[item["name"], item["component_count"], item["document_count"]] for item in answer["products"]]
        page.table(["product", "components", _COUNTED], rows)


def status(page: Page, answer: Answer) -> None:
    """What the index holds and whether everything works."""
    from ..api.model_text import status_rows  # with pydantic, which other commands start without
    from ..schemas import StatusResponse

    for name, value in status_rows(StatusResponse.model_validate(answer)).items():
        page.line((f"{name}: ", "dim"), value)
    _left_out(page, "skipped", answer["skipped"]["total"], answer["skipped"]["examples"])
    _left_out(page, "unreadable", answer["failures"]["total"], answer["failures"]["items"])
    _lines(page, answer.get("notes"), "note: ")


def _left_out(page: Page, word: str, total: int, items: Sequence[Answer]) -> None:
    if total:
        page.line(f"{word}: {total}")
        for item in items[:5]:
            page.line((f"{item['path']}  {item['reason']}", "dim"), indent=3)


def refresh(page: Page, answer: Answer, *, folder: str = "") -> None:
    """What an index run of a folder did."""
    words = ("added", "changed", "removed", "moved", "unchanged")
    page.line(", ".join(f"{answer[word]} {word}" for word in words))
    took = f"{answer['took_ms'] / 1000:.1f} s"
    embedded = f"{answer['embedded']} of {counted(answer['chunks'], 'passage')} embedded"
    mails = f" and {counted(answer['emails'], 'email')}" if answer.get("emails") else ""
    page.line(f"{counted(answer['documents'], 'document')}{mails}, {embedded}, {took}")
    _left_out(page, "skipped", answer["skipped"]["total"], answer["skipped"]["examples"])
    for item in answer.get("failed") or ():
        page.line(("unreadable: ", "red"), f"{item['path']}  {item['reason']}")
    reasons = answer.get("reasons") or ()
    _lines(page, reasons, "not done: ", "red")
    notes = [note for note in answer.get("notes") or () if not any(reason.endswith(note) for reason in reasons)]
    _lines(page, notes, "note: ")
    held = answer["documents"] or answer.get("emails")
    if not (held or answer["skipped"]["total"] or answer.get("failed") or reasons):
        page.line(("note: ", "dim"), f"no file to index was found in {folder or 'the folder'}")


def evaluation(page: Page, answer: Answer) -> None:
    """Measures by mode: a number, or a mean with its 95% interval and the p of its difference from the first mode."""
    modes: Mapping[str, Answer] = answer.get("modes") or {}
    measures = list(dict.fromkeys(name for found in modes.values() for name in found))
    rows = [[mode, *(_measure(found.get(name)) for name in measures)] for mode, found in modes.items()]
    if rows:
        page.table(["mode", *measures], rows)
    if "questions" in answer:
        page.line((f"{counted(answer['questions'], 'question')}; mean with its 95% interval", "dim"))
    _lines(page, answer.get("notes"), "note: ")


def _measure(value: object) -> str:
    if isinstance(value, Mapping):
        p = value.get("p")
        shown = "" if p is None else " p<0.001" if p < 0.001 else f" p={p:.3f}"
        return f"{value['mean']:.3f} [{value['low']:.3f}, {value['high']:.3f}]{shown}"
    return f"{value:.2f}" if isinstance(value, float) else "" if value is None else str(value)


def findings(page: Page, answer: Answer) -> None:
    """What `doctor` looked at, with the remedy of what is not in order."""
    styles = {"ok": "green", "note": "yellow", "wrong": "bold red"}
    for one in answer["findings"]:
        page.line((f"{one['outcome']:<6}", styles[one["outcome"]]), f"{one['what']:<10} {one['detail']}", hang=17)
        if one["remedy"] and one["outcome"] != "ok":
            page.line(one["remedy"], indent=17)
