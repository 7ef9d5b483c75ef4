"""Wrapped lines: the breaks that programs put into a sentence, and those that people put between things.

E-mails, Markdown, text files and PDF break lines where a width is reached. Such a break reads as a space. A blank line
is none, nor is a break around a heading, before an item of a list, a quotation, a row of a table, or a turn
(``Agent: ...``). A title is known by capitals alone, or by a mark beside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import regex

from models.interruption import checked

# Breaks between two checkpoints.
_AT_ONCE: Final = 4_096
# Characters that a label of a turn may have.
_LONGEST: Final = 256
_ENDS: Final = r"\n\r\v\f\x85\u2028\u2029"
_BREAK: Final = regex.compile(rf"(?<!\s)[^\S{_ENDS}]*+[{_ENDS}]\s*+", regex.V1)
_LINE: Final = regex.compile(r"\r\n|[\n\r\v\x85\u2028\u2029]")  # a form feed stands where a page happens to end
# Breaks that say what they are.
_EXPLICIT: Final = regex.compile(r"[\u2028\u2029]")
_LABEL: Final = r"[\p{L}\p{N}][\w.'\u2019()&/-]*+(?: [\w.'\u2019()&/-]++){0,3}:(?=\s)"
# What begins an item, a quotation, a row or a rule, and what begins a turn, or a message of a chat.
_ITEM: Final = regex.compile(
    r"(?:[-*+\u2022\u2023\u25aa\u25cf\u25e6\u25cb\u00b7]|\#{1,6}|>+)(?=\s)|\|"
    r"|\(?(?:\d{1,3}|\p{L}|[ivxlc]{1,6}|[IVXLC]{1,6})[.)](?=\s)"
    r"|[=\-_*~]{3,}[^\S\n\r]*+(?=[\n\r]|$)",
    regex.V1,
)
_TURN: Final = regex.compile(
    r"\[\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?\]|<\p{Lu}[^>\s]{0,30}>\s"
    rf"|(?:\d{{1,2}}:\d{{2}}(?::\d{{2}})?\s+)?(?=\p{{Lu}}){_LABEL}",
    regex.V1,
)
_SMALL_LABEL: Final = regex.compile(_LABEL, regex.V1)
_HEADING: Final = regex.compile(r"\#{1,6}\s|[=\-_*~]{3,}\s*$|\|")
# A title in capitals, and the text below it, which has small letters.
_TITLE: Final = regex.compile(r"(?=.*\p{Lu}{2})[^\p{Ll}.!?,;:]+$", regex.V1)
_TEXT: Final = regex.compile(r"[^\p{Ll}].*\p{Ll}", regex.V1)


@dataclass(frozen=True, slots=True)
class LineBreak:
    """White space with a line break: its characters, and whether it wraps a line, or ends a paragraph or turn."""

    start: int
    end: int
    kind: Literal["wrap", "line", "part"]

    @property
    def wraps(self) -> bool:
        """True if it only wraps a line."""
        return self.kind == "wrap"


def line_breaks(text: str) -> Iterator[LineBreak]:
    r"""The line breaks of a text, with the white space around them.

    >>> text = "Agent: I can\ncancel it.\nCustomer: Thanks\n\nBye"
    >>> [(text[:each.start].split()[-1], each.kind) for each in line_breaks(text)]
    [('can', 'wrap'), ('it.', 'part'), ('Thanks', 'part')]
    """
    line = 0  # where the line before the break begins
    is_first = True  # in its paragraph
    for match in checked(_BREAK.finditer(text), _AT_ONCE):
        start, end = match.span()
        if _is_apart(match[0]) or _begins_turn(text, line, start, end):
            found = LineBreak(start, end, "part")
        else:
            found = LineBreak(start, end, "line" if _is_line(text, line, start, end, is_first=is_first) else "wrap")
        yield found
        line, is_first = end, not found.wraps


def unwrapped(text: str) -> str:
    r"""The text with spaces for the breaks that only wrap a line; all else stays where it is.

    >>> unwrapped("I want to\n  cancel.\n\n- It")
    'I want to   cancel.\n\n- It'
    """
    if not _BREAK.search(text):
        return text
    pieces, at = [], 0
    for each in line_breaks(text):
        if each.wraps:
            pieces += [text[at : each.start], " " * (each.end - each.start)]
            at = each.end
    return "".join([*pieces, text[at:]])


def _is_apart(white: str) -> bool:
    """True for blank lines, and for breaks that are meant."""
    return len(_LINE.findall(white)) > 1 or _EXPLICIT.search(white) is not None


def _begins_turn(text: str, line: int, start: int, end: int) -> bool:
    """True for a break before a turn: ``text[line:start]`` is the line before it, of a turn if names are small."""
    # Bounded, because a pattern that needs a colon would look for one in the whole rest of the text.
    if _TURN.match(text, end, end + _LONGEST):
        return True
    labels = _SMALL_LABEL.match(text, end, end + _LONGEST), _SMALL_LABEL.match(text, line, start)
    return None not in labels


def _is_line(text: str, line: int, start: int, end: int, *, is_first: bool) -> bool:
    """True for a break after a heading or before an item: ``text[line:start]`` is the line before it."""
    if start == line or end == len(text) or _ITEM.match(text, end) or _HEADING.match(text, line, start):
        return True
    return is_first and _TITLE.match(text, line, start) is not None and _TEXT.match(text, end) is not None
