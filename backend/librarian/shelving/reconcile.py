"""Compares the keyword index with the catalog after a kill, a restored copy or a deleted folder.

The catalog is the truth. What the keyword index lacks is read again from the files; what it holds too much is deleted.
Vector stores are compared by `VectorShelf`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from librarian.vocabulary.protocols import Catalog, LexicalIndex

#: Deleted entries that a keyword index may keep counting: so many, or this share of those that live. Where a frequent
#: word counted three times (911 for 302), 35 of 49 questions had other lists of hits than in an index made afresh.
FEW_DEAD, DEAD_SHARE = 1_000, 0.33


@dataclass(frozen=True, slots=True)
class LexicalFindings:
    """`missing` are file paths of documents that lack entries, `orphans` ids of documents that are to have none."""

    missing: tuple[str, ...] = ()
    orphans: tuple[int, ...] = ()
    foreign: bool = False  #: made for another catalog: none of its ids can be trusted
    damage: str = ""  #: why its files can't be read

    def sentences(self) -> list[str]:
        """What was found, for people."""
        found = []
        if self.damage:
            found.append(f"{self.damage[:1].upper()}{self.damage[1:]}. It is made again.")
        elif self.foreign:
            found.append("The keyword index doesn't belong to this catalog and is made again.")
        if self.orphans:
            found.append(f"The keyword index holds {len(self.orphans):,} documents that are no more.")
        if self.missing and not (self.foreign or self.damage):
            found.append(f"The keyword index lacks {len(self.missing):,} documents or holds other passages of them.")
        return found


def examine_lexical(catalog: Catalog, lexical: LexicalIndex) -> LexicalFindings:
    """Compare; changes nothing."""
    with catalog.read() as reader:
        generation = reader.generation
        passages = reader.passage_counts()
    damage = lexical.damage
    held: Mapping[int, int] = {}
    if not damage:
        try:
            held = lexical.tally()
        except Exception:
            if not lexical.damage:
                raise
            damage = lexical.damage
    with_entries = {doc_id for doc_id, (_, chunks) in passages.items() if chunks}
    orphans = held.keys() - with_entries
    # A document with a wrong number of entries is read again like one without any: its old ones go then.
    missing = {doc_id for doc_id in with_entries if held.get(doc_id, 0) != passages[doc_id][1]}
    # A commit carries the generation that the catalog reaches right after it, so at most one ahead is a mere kill.
    foreign = lexical.generation > generation + 1
    if foreign or damage:
        missing = with_entries
    paths = tuple(sorted({passages[doc_id][0] for doc_id in missing}))
    return LexicalFindings(paths, tuple(sorted(orphans)), foreign, damage)


def is_worn(lexical: LexicalIndex) -> bool:
    """Whether deleted entries distort its word frequencies enough to write all entries anew."""
    return lexical.dead() > max(FEW_DEAD, DEAD_SHARE * lexical.count())


def repair_lexical(lexical: LexicalIndex, findings: LexicalFindings, generation: int) -> None:
    """Delete what is too much; what is missing is left to a refresh that reads those files."""
    if findings.foreign or findings.damage:
        lexical.clear()
    elif findings.orphans:
        lexical.delete(findings.orphans)
    else:
        return
    lexical.commit(generation)
