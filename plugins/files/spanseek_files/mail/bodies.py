"""Bodies of messages: paragraphs whose lines were wrapped, and what is quoted from earlier messages."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from indexer.sources.web_pages import page_lines, parsed_page
from models.types import Part

# Programs wrap lines at 60 signs or more; shorter lines end where their writer ended them.
_NARROWEST: Final = 60
_QUOTE: Final = re.compile(r"\s?>[> ]*")
_WROTE: Final = (
    r"On\b.{4,200}\bwrote", r"Am\b.{4,200}\bschrieb.{0,80}", r"Le\b.{4,200}a écrit", r"El\b.{4,200}escribió",
    r"Il\b.{4,200}ha scritto",
)  # fmt: skip
_INTRODUCED: Final = re.compile(rf"(?:{'|'.join(_WROTE)})\s*:\s*", re.DOTALL)
_FORWARDED: Final = "Original Message|Forwarded message|Ursprüngliche Nachricht|Message d'origine|Mensaje original"
_ORIGINAL: Final = re.compile(rf"\s*-{{3,}}\s*(?:{_FORWARDED})\s*-{{3,}}\s*", re.IGNORECASE)
_SENT: Final = "Sent|Date|Gesendet|Envoyé|Enviado|Inviato"
_HEADERS: Final = re.compile(rf"\*?(?:From|Von|De|Da)\*?:\s.*\n(?:.*\n){{0,6}}?\*?(?:{_SENT})\*?:\s")
_ITEM: Final = re.compile(r"\s*(?:[-*•–]|\(?\w{1,3}[.)])\s")  # noqa: RUF001


def body_parts(text: str) -> Iterator[Part]:
    r"""A part a paragraph; paragraphs of earlier messages are marked ``quoted``.

    >>> for part in body_parts("Yes.\n\nOn Monday, Ann wrote:\n> Will you\n> come?\n"):
    ...     print(part)
    Part(text='Yes.', metadata={})
    Part(text='On Monday, Ann wrote:', metadata={'quoted': True})
    Part(text='Will you\ncome?', metadata={'quoted': True})
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    width = max((len(line) for line in lines if len(line) <= 100), default=0)
    below = False
    for block, is_marked in _blocks(lines):
        joined = "\n".join(block)
        introduces = bool(_INTRODUCED.fullmatch(joined.strip()))
        below = below or bool(_ORIGINAL.fullmatch(block[0]) or _HEADERS.match(joined + "\n"))
        is_quoted = is_marked or below or introduces
        yield Part(unwrapped(block, width), {"quoted": True} if is_quoted else {})


def _blocks(lines: list[str]) -> Iterator[tuple[list[str], bool]]:
    """Runs of lines without an empty one, and whether they are marked as quoted; the marks are removed."""
    block: list[str] = []
    was_marked = False
    for line in [*lines, ""]:
        mark = _QUOTE.match(line)
        inner = line[mark.end() :] if mark else line
        if block and (not inner.strip() or bool(mark) != was_marked):
            yield block, was_marked
            block = []
        was_marked = bool(mark)
        if inner.strip():
            block.append(inner.rstrip() if not inner.endswith(" ") else inner)


def unwrapped(block: list[str], width: int) -> str:
    r"""Lines of a paragraph as one, where a program wrapped them: the next word had no room in the widest line.

    >>> unwrapped(["a" * 40 + " " + "b" * 20, "wrapped", "not"], 62).count("\n")
    1
    """
    text = block[0].strip()
    for before, line in pairwise(block):
        first = line.split(maxsplit=1)[0]
        is_wrapped = width >= _NARROWEST and len(before.rstrip()) + 1 + len(first) > width and not _ITEM.match(line)
        text += f"{' ' if is_wrapped or before.endswith(' ') else chr(10)}{line.strip()}"
    return text


def text_of_page(html: str | bytes) -> str:
    """The text of a message in HTML; what it quotes is marked as in plain text."""
    page = parsed_page(html)
    for quote in page.find_all("blockquote"):
        if quote.find_parent("blockquote") is None and quote.parent is not None:
            marked = page.new_tag("pre")
            marked.string = "\n".join(f"> {line}" for line in page_lines(quote) if line)
            quote.replace_with(marked)
    return "\n".join(page_lines(page))
