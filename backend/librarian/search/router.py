"""What kind of question is it, and which mode answers that kind best? Rules only, and each says what it saw."""

from __future__ import annotations

import re
from typing import Literal

from ..models import AnalyzedQuery, Mode
from ..schemas import AnalyzeResponse
from ..text.analyzer import StandardAnalyzer
from .retrievers import QUOTING_PARAGRAPH

Routing = Literal["measured", "design"]
QueryType = Literal["factual", "conceptual", "troubleshooting", "navigational"]

_CONCEPTUAL = re.compile(
    r"\b(why|explain|understand|concepts?|overview|architecture|difference|differ|compare|compared|versus|vs|contrast|"
    r"relate|best practices?|trade-?offs?|approach|strateg(y|ies)|design|works?|how does|how do .+ work|when should|"
    r"what (is|are)|what's|whats|purpose|benefits?|introduction|pros and cons)\b",
    re.IGNORECASE,
)
_TROUBLE = re.compile(
    r"\b(errors?|exceptions?|fail(s|ed|ing|ure)?|crash(es|ed|ing)?|broken|fix(ing)?|issues?|problems?|debug(ging)?|"
    r"troubleshoot(ing)?|stuck|hang(s|ing)?|time(d|s)? ?out|oom|out of memory|cannot|can't|doesn't|does not|"
    r"not working|won't|unable|refused|denied|missing|wrong|struggling|warning|traceback)\b",
    re.IGNORECASE,
)
_NAVIGATIONAL = re.compile(
    r"\b(where (is|are|can|do)|find|show me|link to|page (for|about|on)|docs? (for|on|about)|documentation (for|of|on)|"
    r"list (of|all)|reference for|section (on|about)|guide (to|for))\b",
    re.IGNORECASE,
)
_FACTUAL = re.compile(
    r"\b(how (many|much|long|often)|which|when|who|default|limit|version|port|value|size|maximum|minimum|syntax|"
    r"parameters?|arguments?|options?|flags?)\b",
    re.IGNORECASE,
)
_INSTRUCTION = re.compile(r"\b(how (do|can|should|to)|steps?|set ?up|configure|install|create|deploy|run|use)\b", re.I)
_QUESTION = re.compile(r"^(how|what|why|when|where|which|who|can|could|does|do|is|are|should|explain|describe)\b", re.I)
_ACRONYM = re.compile(r"\b[A-Z][A-Z0-9]{1,7}\b")  #: API, JWT, S3


#: Tried in this order.
_TYPES: tuple[tuple[QueryType, re.Pattern[str]], ...] = (
    ("troubleshooting", _TROUBLE),
    ("navigational", _NAVIGATIONAL),
    ("conceptual", _CONCEPTUAL),
    ("factual", _FACTUAL),
    ("conceptual", _INSTRUCTION),
)


class QueryRouter:
    """Chooses a mode for a question."""

    def __init__(self, analyzer: StandardAnalyzer, *, semantic: bool = True, routing: Routing = "measured") -> None:
        """`semantic`: meaning can be searched by; without it every question goes to keyword. `routing`: conceptual
        questions go to hybrid, which measures as well as hyde, or as first designed to hyde."""
        self._analyzer = analyzer
        self._routing = routing
        self._semantic = semantic

    def analyze(self, text: str) -> AnalyzeResponse:
        """Never raises; an empty question is navigational with no confidence."""
        return self.judge(self._analyzer.query(text))

    def judge(self, query: AnalyzedQuery) -> AnalyzeResponse:
        """The same for a question already analysed."""
        text, words = query.text.strip(), len(query.text.split())
        asked = bool(_QUESTION.match(text)) or text.endswith("?")
        query_type: QueryType = "factual" if asked else "navigational"
        seen, reason = 0, "factual: a plain question" if asked else "navigational: names a topic"
        for kind, pattern in _TYPES:
            indicators = [match[0] for match in pattern.finditer(text)]
            if indicators and (pattern is not _INSTRUCTION or words > 2):  # a bare "install" names a topic
                query_type, seen, reason = kind, len(indicators), f"{kind}: “{indicators[0].lower()}”"
                break
        # identifiers as they are typed, and acronyms, which decide nothing: many documents hold them
        typed = [re.search(re.escape(name), text, re.IGNORECASE) for name in query.identifiers]
        names = [match[0] if match else name for match, name in zip(typed, query.identifiers, strict=True)]
        acronyms = [] if text.isupper() and " " in text else _ACRONYM.findall(text)
        technical = sorted({name.lower(): name for name in (*acronyms, *names)}.values(), key=text.find)
        complexity = (
            0.4 * min(len(query.terms) / 10, 1.0)
            + 0.2 * (words > 12)
            + 0.25 * (query_type in ("conceptual", "troubleshooting"))
            + 0.15 * asked
        )
        mode, confidence, why = self._mode(query, query_type, asked, words)
        return AnalyzeResponse(
            query=query.text,
            query_type=query_type,
            complexity=round(complexity, 3),
            word_count=words,
            technical_terms=technical,
            recommended_mode=mode,
            confidence=round(min(0.95, confidence + 0.05 * max(0, seen - 1)), 3),
            reasons=[reason, *([f"names {', '.join(technical[:3])}"] if technical else []), why],
        )

    def _mode(self, query: AnalyzedQuery, query_type: str, asked: bool, words: int) -> tuple[Mode, float, str]:
        if not self._semantic:
            return "keyword", 0.9, "without embeddings, words decide"
        if not (query.terms or query.identifiers or query.phrases):
            return "hybrid", 0.3, "no content word: meaning is all there is"
        if query.phrases and len(query.terms) < QUOTING_PARAGRAPH:
            return "keyword", 0.85, "quoted words must occur as they are"
        if query.identifiers and words <= 3 and not asked:
            return "keyword", 0.85, "a short technical query: exact words decide"
        if self._routing == "design" and query_type == "conceptual" and not query.identifiers and len(query.terms) > 1:
            return "hyde", 0.65, "a conceptual question: searched with a hypothetical answer"
        return "hybrid", 0.7, "words and meaning together measure best on questions like this"
