"""Signs of symbol fonts, which Word stores as code points of private use, as letters and signs of Unicode."""

from typing import Final

# Adobe's Symbol encoding from 0x20 and from 0xA1; a space stands for signs that Unicode lacks.
_SYMBOL: Final = dict(
    zip(
        range(0x20, 0x7F),
        " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",  # noqa: RUF001
        strict=True,
    )
) | dict(
    zip(
        range(0xA0, 0xFF),
        "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ 〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",  # noqa: RUF001
        strict=True,
    )
)
_WINGDINGS: Final = {
    0x6C: "●", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x75: "◆", 0x76: "❖", 0x9F: "•", 0xA7: "▪", 0xA8: "◻",
    0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒",
    0xFE: "☑", 0x4A: "☺", 0x4C: "☹", 0x28: "☎", 0x2A: "✉", 0x46: "☞",
}  # fmt: skip
_WINGDINGS_2: Final = {0x50: "✓", 0x4F: "✗", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "□", 0x97: "●"}
_FONTS: Final = {"symbol": _SYMBOL, "wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2}
_PRIVATE: Final = range(0xF000, 0xF100)


def symbol(font: str, code: int) -> str:
    """A sign of a font; empty where Unicode has none for it, and the sign itself in a font of letters.

    >>> symbol("Symbol", 0xF061), symbol("Wingdings", 0xF0FC), symbol("Arial", 0x41)
    ('α', '✓', 'A')
    """
    signs = _FONTS.get(font.lower())
    low = code - _PRIVATE.start if code in _PRIVATE else code
    if signs is not None:
        return signs.get(low, "").strip()
    is_pictures = any(word in font.lower() for word in ("dings", "symbol", "marlett"))
    return "" if is_pictures or not 0x20 <= low < 0x110000 or 0xD800 <= low < 0xE000 else chr(low)


def readable(text: str, font: str) -> str:
    """A text without code points of private use that stand for the signs of a font.

    >>> readable("10 \\uf06dm", "Symbol")
    '10 μm'
    """
    if not any(ord(sign) in _PRIVATE for sign in text):
        return text
    return "".join(symbol(font, ord(sign)) or " " if ord(sign) in _PRIVATE else sign for sign in text)
