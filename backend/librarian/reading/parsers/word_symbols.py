"""Signs of a Word file that aren't written as text: tabs, hyphens that don't break, and characters of symbol fonts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .word_styles import attribute, local

if TYPE_CHECKING:
    from lxml.etree import _Element

#: Elements that stand for characters.
SIGNS = frozenset({"tab", "ptab", "noBreakHyphen", "sym"})
_PRIVATE = range(0xF000, 0xF100)  #: where Word moves the codes of fonts that have an encoding of their own
#: The encoding of the font Symbol, from its codes 0x20 and 0xA0 on.
_SYMBOL = {
    first + place: sign
    for first, signs in (
        (0x20, " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"),
        (0xA0, "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑"),
        (0xF1, "〉∫"),
    )
    for place, sign in enumerate(signs)
}  # fmt: skip
#: The signs of Wingdings that mean something in a text: ticks, boxes, arrows, bullets.
_WINGDINGS = {
    0x6F: "☐", 0xA7: "▪", 0xA8: "☐", 0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨",
    0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
}  # fmt: skip
_WINGDINGS_2 = {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0xA3: "☐"}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2}


def sign_of(element: _Element) -> str:
    """The character that an element of `SIGNS` stands for; empty for the little pictures of symbol fonts."""
    name = local(element)
    if name != "sym":
        return "-" if name == "noBreakHyphen" else "\t"
    try:
        code = int(attribute(element, "char"), 16)
    except ValueError:
        return ""
    known = _FONTS.get(attribute(element, "font").lower())
    if known is not None:
        return known.get(code - _PRIVATE.start if code in _PRIVATE else code, "")
    return "" if code in _PRIVATE or not 0x20 <= code < 0x10000 else chr(code)
