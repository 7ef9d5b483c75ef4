"""Rich text as tokens: groups, control words, and characters in the encodings of their fonts."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<byte>[0-9A-Fa-f]{2})|\\(?P<sign>[^A-Za-z])"
    r"|(?P<group>[{}])|(?P<text>[^\\{}]+)",
    re.DOTALL,
)
# Codecs of the character sets of Windows, by their numbers; the others are of the file's own code page.
CHARACTER_SETS: Final = {
    77: "mac_roman", 128: "cp932", 129: "cp949", 130: "johab", 134: "gb18030", 136: "big5", 161: "cp1253",
    162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874",
    238: "cp1250",
}  # fmt: skip
FILE_ENCODINGS: Final = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
SYMBOL_SET: Final = 2


class Token(NamedTuple):
    """A brace, ``text`` with its bytes as Latin-1, ``sign``, or else a control word and its number."""

    name: str
    text: str = ""
    number: int | None = None


def tokens(source: str) -> Iterator[Token]:
    r"""The tokens of rich text; what ``\bin`` announces is left out.

    >>> [(token.name, token.text, token.number) for token in tokens("{\\b0 a\\'e9\\~}")]
    [('{', '', None), ('b', '', 0), ('text', 'a', None), ('text', 'é', None), ('sign', '~', None), ('}', '', None)]
    """
    at = 0
    while match := _TOKEN.match(source, at):
        at = match.end()
        kind = match.lastgroup
        if kind in ("word", "number"):
            number = match["number"]
            if match["word"] == "bin":
                at += max(int(number or 0), 0)
            yield Token(match["word"], number=None if number is None else int(number))
        elif kind == "byte":
            yield Token("text", chr(int(match["byte"], 16)))
        elif kind == "text":
            yield Token("text", match[0].replace("\r", "").replace("\n", ""))
        elif kind is not None:
            yield Token(match[0]) if kind == "group" else Token(kind, match[kind])


def code_page(number: int) -> str:
    """The codec of a code page; that of windows-1252 for an unknown one."""
    name = {0: "cp1252", 10000: "mac_roman", 65001: "utf-8", 936: "gb18030", 950: "big5"}.get(number, f"cp{number}")
    try:
        b"a".decode(name)
    except LookupError:
        return "cp1252"
    return name


def joined_pairs(text: str) -> str:
    r"""A text in which the halves of UTF-16 are whole characters.

    >>> joined_pairs("\ud83d\ude00") == "\U0001f600"
    True
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
