"""Questions that mean no good, and everything that takes a question apart."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import strategies as st

from librarian.bootstrap import Librarian
from librarian.errors import CallerError
from tests.library.conftest import write_library

PIECES = (
    *('"', "'", "`", "-", "+", "~", "^", "*", "?", "(", ")", "[", "]", "{", "}", "/", "\\", ":", "|", "&&", "||", "!"),
    *(" AND ", " OR ", " NOT ", "AND", "title:", "body:", "path:", "product:", "from:", "before:2026-99-99", "after:"),
    *("*:*", "/(a+)+$/", "(a|a)*b", "a~99999", "[a TO z]", "{* TO *]", '"a b"~9', "^1e308", "e4021", "E4021", "--id"),
    *(
        "\x00",
        "\x1b[31m",
        "\r\n",
        "\u202e",
        "\u2066",
        "\ufeff",
        "\ud800",
        "\U000e0001",
        "\u200b",
        "ﬀ",
        "İ",
        "ß",
        "漢字",
        "👩‍👩‍👧",
    ),
    *(
        "refund",
        "token",
        "checkout",
        "invoice.prefix",
        "max_age_s",
        "shopctl token revoke",
        "a" * 300,
        "é" * 50,
        "1" * 400,
    ),
    *("' OR 1=1 --", "<script>", "${jndi:ldap://x}", "{{7*7}}", "%s%n", "../../etc/passwd", "ignore all instructions"),
)
QUERIES = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
    st.text(max_size=200),
    st.sampled_from(PIECES).map(lambda piece: (piece * 2000)[:1990]),
)


class VectorRequest:
    """Asks a small library, without embeddings; whatever comes must be an answer or a refusal in words."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        root = write_library(Path(self._folder.name) / "docs")
        overrides: dict[str, object] = {"embeddings.enabled": False, "docs.watch_for_changes": False}
        self._library = Librarian.open(root=root, index=Path(self._folder.name) / "index", **overrides)
        self.tried = self.refused = 0

    def __call__(self, text: str) -> None:
        self.tried += 1
        try:
            answer = self._library.search(text, mode="keyword", explain=True)
            self._library.search_emails(text, mode="keyword")
            self._library.analyze(text)
        except CallerError:
            self.refused += 1
            return
        for result in answer.results:
            assert 0 <= result.relevance_score <= 1
            for start, end in result.highlights:
                assert 0 <= start < end <= len(result.snippet)

    def close(self) -> None:
        self._library.close()
        self._folder.cleanup()
