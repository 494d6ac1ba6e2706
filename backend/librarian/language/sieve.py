"""Which pieces of a text may hold certain tokens, asked of their letters: far quicker than taking each piece apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

#: Those of some pieces that may hold one of the tokens which the sieve was made for.
Sieve = Callable[[Sequence[str]], Sequence[str]]

#: Letters of a token that a word with it surely begins with. Snowball's English stems differ from their words in the
#: last letter at most (`happy`, `happi`), but for `dying`, `lying` and `tying`, which become `die`, `lie` and `tie`
#: (Porter, "The English (Porter2) stemming algorithm", 2002).
_LETTERS, _IRREGULAR = 4, {"die", "lie", "tie"}


def everything(pieces: Sequence[str]) -> Sequence[str]:
    """The sieve that holds nothing back."""
    return pieces


def in_english(tokens: Collection[str]) -> Sieve:
    """Keeps every piece with one of the tokens in English, or with a token that begins like one; of others few.

    >>> may_hold = in_english(["scale", "pod"])
    >>> may_hold(["Pods.", "deployment", "résumé", "autoScaling,"])
    ['résumé', 'Pods.', 'autoScaling,']
    """
    # A hyphen may stand within the beginning: `e-mail` is also `email`.
    wanted = sorted({"-", *map(_beginning, tokens)})

    def may_hold(pieces: Sequence[str]) -> list[str]:
        found = [piece for piece in pieces if not piece.isascii()]  # whose letters are folded
        plain = [piece for piece in pieces if piece.isascii()] if found else pieces
        together = "\n".join(plain).lower()
        places = set[int]()
        for beginning in wanted:
            at = together.find(beginning)
            while at >= 0:
                places.add(together.count("\n", 0, at))
                at = together.find(beginning, at + 1)
        found += [plain[place] for place in sorted(places)]
        return found

    return may_hold


def _beginning(token: str) -> str:
    if token in _IRREGULAR:
        return token[0]
    return token[: min(_LETTERS, max(len(token) - 1, 2))]
