"""Whether the passage that is shown of a page is the one that was meant: links that lead to a section as questions.

A link's text asks, what it leads to is the answer: a passage of the section behind the `#`. Texts that say the heading
word for word are left out. Each is asked of its page alone, so that this tells how well passages are told from others
of their page, whatever place the page has. Prints, for several weights of words and meaning, in how many answers the
first passage is of the section, and its mean reciprocal rank.

    python benchmarks/sections.py --work FOLDER --set kubernetes DOCS 'kubernetes/**' - - --set …
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

import judged_sets
from judged_sets import JudgedSet, documents, engine_of, opened
from librarian.documents.dependencies import Dependencies
from librarian.documents.reader import section_at
from librarian.models import Document, Filters, Query
from librarian.search.ranker import CHUNK_WEIGHTS, words_and_cosines
from librarian.text.cross_references import Places
from librarian.tuning import own_questions

#: Points per unit of the words' share and of the cosine.
WEIGHTS = ((1.0, 0.0), (0.0, 1.0), (3.0, 10.0), (10.0, 10.0), CHUNK_WEIGHTS, (20.0, 10.0), (30.0, 10.0))
MOST, MIN_PASSAGES = 200, 4

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class VectorRequest:
    """A link's text, and what is known of its page's passages; arrays have shape (passages,)."""

    words: Floats
    semantic_score: Floats
    meant: npt.NDArray[np.bool_]

    def rank(self, words: float, semantic_score: float) -> int:
        """The first place of a passage that is meant."""
        order = np.argsort(-(words * self.words + semantic_score * self.semantic_score), kind="stable")
        return int(np.flatnonzero(self.meant[order])[0]) + 1


def links(pages: list[Document]) -> list[tuple[str, Document, int, int]]:
    """Texts with the page and the lines, from the first until before the last, that they lead to; each once."""
    places, by_path = Places(pages), {page.file_path: page for page in pages}
    found: dict[tuple[str, str, int], tuple[str, Document, int, int]] = {}
    for page in pages:
        for link in page.links:
            target, _, anchor = link.target.partition("#")
            path = places.of(page, target) if anchor else None
            at = section_at(by_path[path].headings, unquote(anchor)) if path and path != page.file_path else None
            text = " ".join(link.text.split()).strip("`*_\"'")
            if path is None or at is None or len(text.split()) < 2:
                continue
            headings = by_path[path].headings
            if text.casefold() != headings[at].text.casefold():
                after = (other.line for other in headings[at + 1 :] if other.level <= headings[at].level)
                found[text, path, at] = (text, by_path[path], headings[at].line, next(after, 1 << 30))
    return own_questions.sample([found[key] for key in sorted(found)], MOST)


def asked(parts: Dependencies) -> Iterator[VectorRequest]:
    """Every link whose section is a part of its page only."""
    with parts.catalog.read() as reader:
        for text, page, first, behind in links(documents(parts)):
            query = Query(text, mode="hybrid", filters=Filters(file_paths=(page.file_path,)))
            pool = engine_of(parts).rank(query, reader).candidates
            ids = pool.chunk_ids.tolist()
            chunks = reader.chunks(ids)
            lines = [chunks[chunk].chunk.line_start for chunk in ids]
            meant = np.array([first <= line < behind for line in lines], dtype=np.bool_)
            if len(lines) >= MIN_PASSAGES and meant.any() and not meant.all():
                yield VectorRequest(*words_and_cosines(pool), meant)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    judged_sets.add_arguments(parser)
    given = parser.parse_args()
    found: dict[str, list[VectorRequest]] = {}
    for row in given.set:
        with opened(JudgedSet.of(row), given.work) as parts:
            found[row[0]] = list(asked(parts))
    found = {name: ones for name, ones in found.items() if ones}
    found["all"] = [one for ones in found.values() for one in ones]
    print("| words : meaning | " + " | ".join(f"{name}, {len(ones)}" for name, ones in found.items()) + " |")
    print("|---|" + "---|" * len(found))
    for words, semantic_score in WEIGHTS:
        cells = []
        for ones in found.values():
            ranks = np.array([one.rank(words, semantic_score) for one in ones])
            cells.append(f"{np.mean(ranks == 1):.3f} / {np.mean(1 / ranks):.3f}")
        print(f"| {words:g} : {semantic_score:g} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
