"""What is known about a document besides its text: title, tags, dates, type, summary."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from pathlib import PurePosixPath

from ..models import Block, Excluded, Heading, SourceFile
from ..text.characters import ENDS_ALONE, ENDS_BEFORE_BLANK, whole_until
from .plain_text import picture_words, plain

SUMMARY_CHARACTERS = 300
DOC_TYPES = frozenset({"api", "guide", "architecture", "reference", "readme", "documentation"})

_OF_FOLDERS = frozenset({"index", "readme", "toc"})  #: files that are named after their folder
_WORD_BREAKS = re.compile(r"[-_.\s]+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_PICTURES = re.compile(r"^[ \t]*(?:\[?!\[|<).*", re.MULTILINE)  #: badges and logos that a page opens with
_HTML_TITLE = re.compile(r"<h1\b[^<>]*>(.{0,1000}?)</h1>", re.S | re.I)
#: Signs of a project's state, each a picture that is a link; and pictures alone.
_BADGE = re.compile(
    r"\[!\[[^\[\]]{0,200}\](?:\([^()]{0,400}\)|\[[^\[\]]{0,200}\])\](?:\([^()]{0,400}\)|\[[^\[\]]{0,200}\])"
)
_PICTURE = re.compile(r"!\[[^\[\]]{0,200}\](?:\([^()]{0,400}\)|\[[^\[\]]{0,200}\])")
_OPENING = 4_000  #: characters in which such a heading is looked for
_PROSE = 10  #: words before a page's first heading, from which on they are no caption or date
_SENTENCE_END = re.compile(
    rf"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\betc)[{ENDS_BEFORE_BLANK}](?=[\"')\]]*\s)|[{ENDS_ALONE}]"
)
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{2,8})*$")
#: Values of front matter that say what a page is about, in the spellings of several tools, `-` and `_` apart.
_SEARCHED = {
    *("description", "summary", "abstract", "subtitle", "alias", "aliases", "tag", "tags", "keyword", "keywords"),
    *("topics", "category", "categories", "linktitle", "sidebarlabel", "sidebartitle", "navtitle", "navlabel"),
    *("shorttitle", "seotitle", "menutitle", "pagetitle", "slug", "id", "author", "authors", "excerpt", "tagline"),
    *("synonyms", "label"),
}
#: Where Docusaurus, Hugo, Jekyll, Astro, Obsidian and Microsoft's documentation say when a page changed, then when it
#: was published.
DATE_KEYS = (
    "updated", "lastmod", "last_modified", "last_update", "last_updated", "lastUpdated", "last-modified",
    "lastModified", "modified", "updatedDate", "updated_at", "ms.date", "date", "pubDate", "publishDate", "published",
)  # fmt: skip
_LONGEST_DATE = 60  #: characters
_UNIX_TIME = re.compile(r"\d{9,10}|\d{13}")  #: in seconds or milliseconds
_IN_NUMBERS = re.compile(r"\d{1,2}[-./]\d")  #: day first or month first
_YEAR = re.compile(r"\d{4}")
#: Days that put in what a date leaves open.
_DAYS = (dt.datetime(2000, 1, 1), dt.datetime(2001, 2, 2))
_DATE_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_.]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)[^/]*\Z")

#: Words of the file's name, its folders included, that tell a type; the first that matches holds.
_WORDS_OF_TYPES = {
    "api": "api|apis|openapi|swagger|rest|graphql",
    "architecture": "architecture|design|adr|internals|overview-?diagrams?",
    "guide": "guides?|tutorials?|how-?to|howto|getting-?started|quick-?start|tasks|walkthroughs?|examples?|cookbook|"
    "setup|installation|install",
    "reference": "references?|ref|glossary|configuration|config|cli|commands?|spec|specs",
}
_TYPES_BY_NAME = {
    "readme": re.compile(r"(?:^|/)readme(?:[._-][^/]*)?$"),
    **{kind: re.compile(rf"(?:^|[/_.-])(?:{words})(?:[/_.-]|$)") for kind, words in _WORDS_OF_TYPES.items()},
}
#: What the title and the beginning of the text hold, where the name says nothing.
_TYPES_BY_CONTENT = {
    "api": re.compile(r"\bAPI (?:reference|endpoints?)\b|^[ \t]*(?:GET|POST|PUT|DELETE|PATCH) /\S", re.I | re.M),
    "architecture": re.compile(
        r"\b(?:system|software|high-level) (?:architecture|design)\b|\A.*\barchitecture\b(?=.{0,80}\n)", re.I
    ),
    "guide": re.compile(
        r"\b(?:this (?:guide|tutorial)|step[- ]by[- ]step|getting started|how to|before you begin|prerequisites)\b",
        re.I,
    ),
    "reference": re.compile(r"\b(?:this reference|reference (?:guide|manual|documentation)|list of all)\b", re.I),
}
_CONTENT_SAMPLE = 2_000


def searched_metadata(front_matter: Mapping[str, object]) -> Iterator[str]:
    """Texts of front matter that a page is searched by beside its own text.

    >>> list(searched_metadata({"aliases": ["K8s sheet", "kube"], "sidebar_label": "Sheet", "slug": "a-b"}))
    ['K8s sheet', 'kube', 'Sheet', 'a b']
    """
    for key, value in front_matter.items():
        name = re.sub(r"[-_\s]", "", key).lower()
        if isinstance(value, Mapping):  # `sidebar: {label: …}`, `seo: {description: …}`
            yield from searched_metadata(value)
        elif name in _SEARCHED:
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, str | int | float) and not isinstance(item, bool):
                    yield re.sub(r"[-_/]+", " ", str(item)).strip() if name in ("slug", "id") else plain(str(item))


def title_of(
    front_matter: Mapping[str, object], headings: Sequence[Heading], file_path: str, opening: str = ""
) -> tuple[str, bool]:
    """Title, and whether the document holds it: front matter, first level-1 heading, sole highest heading, file name.

    Several headings below level 1, or one behind prose (`opening` is the markup before the first), name the parts of a
    page whose title is its file's name, as wikis have it; unless that says nothing (`index`, `0042`). A readme may have
    its project's name as a heading of HTML.
    """
    given = front_matter.get("title")
    if isinstance(given, (str, int, float)) and not isinstance(given, bool) and (title := plain(str(given))):
        return title, True
    named = [heading for heading in headings if heading.text]
    highest = min((heading.level for heading in named), default=0)
    first, *others = [heading.text for heading in named if heading.level == highest] or [""]
    if highest != 1 and _stem(file_path).lower() == "readme":
        found = _HTML_TITLE.search(opening, 0, _OPENING)
        if found and (words := plain(found[1]) or picture_words(found[1])):
            return words, True
    prose = _WORD.findall(_PICTURES.sub("", opening))
    is_part = highest > 1 and (len(others) > 0 or len(prose) >= _PROSE)
    stem = _stem(file_path)
    says_nothing = stem.strip("_").lower() in _OF_FOLDERS or not any(map(str.isalpha, stem))
    if first and (says_nothing or not is_part):
        return first, True
    return title_from_name(file_path), False


def title_from_name(file_path: str) -> str:
    """A file name made readable; an index file is named after its folder.

    >>> title_from_name("acme/auth/single-sign_on.md")
    'Single sign on'
    """
    path, stem = PurePosixPath(file_path), _stem(file_path)
    if stem.strip("_").lower() in _OF_FOLDERS and path.parent.name:
        stem = path.parent.name if stem.strip("_").lower() != "readme" else f"{path.parent.name} {stem}"
    words = _WORD_BREAKS.sub(" ", stem).strip() or path.name
    return words[:1].upper() + words[1:]


def _stem(file_path: str) -> str:
    """A file's name without its endings."""
    stem = PurePosixPath(file_path).name
    while (suffix := PurePosixPath(stem).suffix) and 1 < len(suffix) <= 6 and not suffix[1:2].isdigit():
        stem = stem[: -len(suffix)]
    return stem


def tags_of(front_matter: Mapping[str, object]) -> tuple[str, ...]:
    """`tags` (or `keywords`) as a list or comma-separated, in order, without repeats."""
    given = front_matter.get("tags", front_matter.get("keywords"))
    given = given.split(",") if isinstance(given, str) else given
    tags: list[str] = []
    for part in given if isinstance(given, Sequence | Mapping) else [given]:
        if isinstance(part, Mapping):  # Docusaurus may give `{label: …, permalink: …}`
            part = next((part[key] for key in ("label", "name", "title") if part.get(key)), "")
        tags.append("" if part is None else str(part).strip())
    return tuple(dict.fromkeys(filter(None, tags)))


def modified_of(front_matter: Mapping[str, object], source: SourceFile) -> str:
    """The date of front matter or of the file's name, else the mtime; empty where front matter has none but unclear
    dates: those of a copy's mtime would be wrong.

    `05/06/2024` is one, except under Microsoft's `ms.date`, whose month comes first.
    """
    is_given = False
    for key in DATE_KEYS:
        value = front_matter.get(key)
        value = value.get("date") if isinstance(value, Mapping) else value
        if value in (None, ""):
            continue
        is_given = True
        if found := parse_date(value, is_month_first=key == "ms.date"):
            return found
    return date_in_name(source.file_path) or ("" if is_given else iso_of_ns(source.mtime_ns))


def date_in_name(file_path: str) -> str:
    """The date in a file's name, such as `2024-05-06-release.md`; empty where there is none."""
    found = _DATE_IN_NAME.search(file_path, file_path.rfind("/") + 1)
    return parse_date("-".join(found.group(1, 3, 4))) if found else ""


def parse_date(value: object, *, is_month_first: bool = False) -> str:
    """ISO 8601 in UTC, or empty where it isn't a date or may be one of two.

    >>> parse_date("May 6, 2024"), parse_date(20240506), parse_date("1714953600"), parse_date("05/06/2024")
    ('2024-05-06T00:00:00Z', '2024-05-06T00:00:00Z', '2024-05-06T00:00:00Z', '')
    """
    words = "" if isinstance(value, bool) else str(value or "").strip()
    if not _YEAR.search(words) or len(words) > _LONGEST_DATE:
        return ""
    from dateutil import parser

    orders = (False, True) if _IN_NUMBERS.match(words) and not is_month_first else (False,)
    try:
        if _UNIX_TIME.fullmatch(words):
            return iso(dt.datetime.fromtimestamp(int(words[:10]), dt.UTC))
        found = {parser.parse(words, default=day, dayfirst=order, tzinfos=_zone) for day in _DAYS for order in orders}
        return iso(found.pop()) if len(found) == 1 else ""
    except (ValueError, OverflowError, OSError):
        return ""


def _zone(name: str | None, offset: int | None) -> dt.tzinfo | None:
    return None if offset is None else dt.timezone(dt.timedelta(seconds=offset))


def iso(moment: dt.datetime) -> str:
    """`2026-11-05T08:30:00Z`; a moment without a zone is taken as UTC."""
    if moment.tzinfo is not None:
        moment = moment.astimezone(dt.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)


def iso_of_ns(mtime_ns: int) -> str:
    """A file's mtime as ISO 8601 in UTC."""
    try:
        return iso(dt.datetime.fromtimestamp(mtime_ns // 1_000_000_000, dt.UTC))
    except (OverflowError, ValueError, OSError):
        return "1970-01-01T00:00:00Z"


def doc_type_of(file_path: str, title: str, text: str, start: int = 0) -> str:
    """api | guide | architecture | reference | readme | documentation, by name, then by title and beginning."""
    name = file_path.lower()
    inner = name.split("/", 1)[1] if "/" in name else name
    beginning = f"{title}\n{text[start : start + _CONTENT_SAMPLE]}"
    for patterns, words in (
        (_TYPES_BY_NAME, inner.rsplit("/", 1)[-1]),
        (_TYPES_BY_NAME, inner),
        (_TYPES_BY_CONTENT, beginning),
    ):
        if found := next((kind for kind, pattern in patterns.items() if pattern.search(words)), ""):
            return found
    return "documentation"


def given_doc_type(front_matter: Mapping[str, object]) -> str:
    """`doc_type` of front matter where it is one of the types, else empty."""
    given = str(front_matter.get("doc_type") or "").strip().lower()
    return given if given in DOC_TYPES else ""


def given_language(front_matter: Mapping[str, object]) -> str:
    """`language` or `lang` of front matter where it is a code, else empty; script and region are dropped.

    >>> given_language({"lang": "pt-BR"})
    'pt'
    """
    given = front_matter.get("language") or front_matter.get("lang")
    code = _LANGUAGE.match(str(given or "").strip())
    return code.group(1).lower() if code else ""


def summary_of(
    text: str, blocks: Sequence[Block], front_matter: Mapping[str, object], excluded: Sequence[Excluded] = ()
) -> str:
    """The first sentences of prose, at most 300 characters, cut at a sentence where there is one."""
    given = front_matter.get("description", front_matter.get("summary"))
    if isinstance(given, str) and (words := plain(given)):
        return cut_at_sentence(words, SUMMARY_CHARACTERS)
    collected = ""
    for block in blocks[:60]:
        if block.kind != "paragraph":
            if collected and block.kind == "heading":
                break
            continue
        piece = without(text, block.start, min(block.end, block.start + 4 * SUMMARY_CHARACTERS), excluded)
        if "![" in piece:
            piece = _BADGE.sub(" ", piece)
            if not _PICTURE.sub("", piece).strip():
                continue
        piece = plain(piece)
        if sum(map(str.isalpha if piece.isascii() else _is_written, piece)) < max(12, len(piece) // 2):
            continue  # badges, directives, rules
        collected = f"{collected} {piece}".strip()
        if len(collected) >= SUMMARY_CHARACTERS // 2:
            break
    return cut_at_sentence(collected, SUMMARY_CHARACTERS)


def _is_written(char: str) -> bool:
    """A letter, or a vowel's sign of a script that writes these beside its letters."""
    return char.isalpha() or (char > "\x7f" and unicodedata.category(char)[0] == "M")


def cut_at_sentence(text: str, limit: int) -> str:
    """The whole sentences that fit into `limit` characters; else whole words and an ellipsis."""
    if len(text) <= limit:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, limit)]
    if ends and ends[-1] >= limit // 4:
        return text[: ends[-1]]
    space = text.rfind(" ", 0, limit)
    return text[: space if space > limit // 2 else whole_until(text, limit - 1)].rstrip(" ,;:") + "…"


def pieces_without(text: str, start: int, end: int, excluded: Sequence[Excluded]) -> list[str]:
    """What is left of `text[start:end]` around the excluded spans in it, which come sorted and don't overlap."""
    pieces: list[str] = []
    place = bisect_right(excluded, start, key=attrgetter("end"))
    while place < len(excluded) and excluded[place].start < end:
        if excluded[place].start > start:
            pieces.append(text[start : excluded[place].start])
        start = excluded[place].end
        place += 1
    return [*pieces, text[start:end]] if start < end else pieces


def without(text: str, start: int, end: int, excluded: Sequence[Excluded]) -> str:
    """The same as one text; words that only the spans parted stay apart.

    >>> spans = [Excluded(start, end, "tag") for start, end in ((2, 5), (6, 10), (14, 18))]
    >>> without("A <b>B</b>, or<br>C.", 0, 20, spans)
    'A B, or C.'
    """
    pieces = pieces_without(text, start, end, excluded)
    joined = pieces[:1]
    for before, piece in pairwise(pieces):
        joined += (" ", piece) if before[-1].isalnum() and piece[0].isalnum() else (piece,)
    return "".join(joined)
