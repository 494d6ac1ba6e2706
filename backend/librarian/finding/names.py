"""Which of a question's identifiers decide the order: what holds none of them comes after what holds one."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from librarian.vocabulary.protocols import Analyzer, LexicalIndex
from librarian.vocabulary.types import AnalyzedQuery, Selection

#: Names that are told from their like by a small number: `v2`, `nginx1`. Questions hold them as examples.
_NUMBERED = re.compile(r"v?\d+|[a-z]+\d{1,2}")
#: `kube-proxy` is a name and `boundary-layer` is English; their shape doesn't tell.
_HYPHENATED = re.compile(r"[a-z]+(?:-[a-z]+)+")
#: What only code and codes look like, beside `snake_case` and the like: HTTPServer, E4021, sha256, Retry-After.
_CODE = re.compile(r"\w+[A-Z][a-z]{2,}|[A-Z]+(?:-?\d{2,})+|[a-z]+\d{3,}|[A-Z][a-z]*(?:-[A-Z][a-z]*)+")
_SIGNS = re.compile(r"[_\\=]|\w[.:]+\w|^(?:--|@|\.)|[+#]$|/.*/")
#: Content words from which a question is a sentence, whose words stand there as words.
_SENTENCE = 6
#: Passages looked at for a hyphenated word, and the share of them that write it apart from which it is English.
_LOOKED_AT, _APART = 200, 0.2


def decisive(query: AnalyzedQuery, analyzer: Analyzer, lexical: LexicalIndex, selection: Selection) -> tuple[str, ...]:
    """The question's identifiers that a hit must hold to come first.

    Words with a small number count as words only: on the Kubernetes tasks (`label app=v1`, `pod 'nginx2'`) putting
    their holders first costs 0.06 of nDCG@10. In capitals they are codes (`E42`) and count.

    So do hyphenated words of a sentence that the library also writes apart, unless they are marked as code: whoever
    asks about boundary-layer separation must not first be shown whatever has the hyphen. On Cranfield's questions about
    abstracts of aerodynamics this gives hybrid 0.411 where 0.399 comes of the shape alone (p = 0.0025 over 225
    questions), on Ray and Kubernetes it changes nothing. Two small searches, for such questions only.

    What sciences write like names, `MicroRNA`, `H3K4me3`, `interferon-γ`, `nmol/liter`, doesn't decide either: others
    call it miRNA or IFN-γ. On 809 claims over SciFact's abstracts keyword nDCG@10 is 0.678 with that and 0.667 without,
    hybrid 0.735 and 0.721 (p = 0.0007), on 300 others hybrid 0.726 and 0.710; Ray, Kubernetes and CACM stay the same.
    """
    named = tuple(name for name in query.identifiers if not (_NUMBERED.fullmatch(name) and name in query.text))
    if len(query.terms) < _SENTENCE:
        return named
    return tuple(
        name
        for name in named
        if _marked(name, query.text)
        or _is_code(name, query.text)
        or (_HYPHENATED.fullmatch(name) and not english(name, analyzer, lexical, selection))
    )


def _is_code(name: str, text: str) -> bool:
    """Whether a name, as the question writes it, can only be code's: also where it stands in a sentence.

    >>> [_is_code(name.lower(), f"the {name} of it") for name in ("max_age", "HTTPServer", "E4021", "MicroRNA", "IL-6")]
    [True, True, True, False, False]
    """
    found = re.search(re.escape(name), text, re.IGNORECASE)
    if found is None:  # written with accents or the like
        return bool(_SIGNS.search(name))
    return bool(_SIGNS.search(found[0]) or _CODE.fullmatch(found[0])) or text[: found.start()].endswith("/")


def _marked(name: str, text: str) -> bool:
    """Whether a name is quoted or set as code."""
    return re.search(rf"[`'\"“‘«]{re.escape(name)}\b", text, re.IGNORECASE) is not None


def english(name: str, analyzer: Analyzer, lexical: LexicalIndex, selection: Selection) -> bool:
    """Whether a hyphenated word is one of the language rather than a name of something: the library writes it apart.

    Of the passages with its parts side by side 2 in 100 write `kube-proxy` apart, none `kube-scheduler`, and 7 in 10
    `control-plane` or `boundary-layer`.
    """
    apart = analyzer.query(f'"{name.replace("-", " ")}"')
    together = replace(apart, identifiers=(name,), phrases=())
    found = np.array(lexical.search(apart, selection, _LOOKED_AT).ids, dtype=np.int64)
    if not len(found):
        return False
    holds = lexical.features(together, found, ("identifiers",))["identifiers"] > 0
    return float(np.mean(~holds)) >= _APART
