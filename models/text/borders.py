"""Borders of text: where clauses, sentences, lines, paragraphs and parts begin and end, in units.

A gap between two units has a strength. Sentences follow UAX #29 (sentence boundaries), with care for abbreviations,
initials and numbered lists; a full stop before a small letter ends a clause, and one without a space after it ends a
sentence in ``plan.Thanks``. Line breaks are borders where a turn or an item ends, not where they wrap a line
(``models.text.wrapping``). In ``text.v1`` all line breaks were, and no such full stop. Closing punctuation belongs to
what it ends, and opening punctuation to what it begins, but a span may leave it out: "this month" ends at a border in
"this month." as does "this month.".

So a unit has two strengths in one code: of a span that starts at it (low four bits), and of a span that
ends before it (high four bits).
"""

from collections.abc import Set
from enum import IntEnum
from itertools import pairwise
from typing import Final, Literal

import numpy as np
import regex
from jaxtyping import Int, UInt8

from models.interruption import checked
from models.text.units import NEWEST, TextForm, split
from models.text.wrapping import unwrapped
from models.types import CharSpan, CharSpans

Boundary = Literal["clause", "sentence", "part"]


class Border(IntEnum):
    """Strengths of borders, weakest first."""

    NONE = 0
    CLAUSE = 1
    SENTENCE = 2
    LINE = 3
    PARAGRAPH = 4
    PART = 5


STRENGTHS: Final = len(Border)
# The strength from which on a border delimits whole clauses, sentences or parts.
LEVELS: Final[dict[Boundary, Border]] = {
    "clause": Border.CLAUSE,
    "sentence": Border.SENTENCE,
    "part": Border.PART,
}
_END_SHIFT: Final = 4
# Marks between two checkpoints.
_AT_ONCE: Final = 4_096

_BREAK = r"\r\n|[\n\r\v\f\x85\u2028\u2029]"
_MARK: Final = regex.compile(
    rf"(?P<line>(?:{_BREAK})\s*+)"
    # Terminators, closing quotes and brackets, and spaces: UAX #29, SB8 to SB11.
    r"|(?P<end>[\p{SB=STerm}\p{SB=ATerm}]++(?P<quote>[\p{Pe}\p{Pf}\"']*+)(?P<space>[\p{SB=Sp}]*+))"
    r"|(?P<clause>[,;:](?=[\p{Pe}\p{Pf}\"']*(?:\s|$))|[\uFF0C\u3001\uFF1B\uFF1A\uFF64\u060C\u061B])"
    r"|(?P<dash>(?:(?<=\s)|(?<=^))\p{Pd}+(?=\s)|[\u2014\u2015])"
    r"|(?P<open>[\p{Ps}\p{Pi}¿¡]|(?<!\w)[\"'](?=\S))"
    # Not the apostrophe of a possessive plural.
    r"|(?P<close>[\p{Pe}\p{Pf}--\u2019]|\"(?!\w)|(?<!s)['\u2019](?!\w))",
    regex.V1,
)
_BREAKS: Final = regex.compile(_BREAK)
# SB8: a small letter before any other letter or terminator. SB8a: what continues a sentence.
_SMALL: Final = regex.compile(
    r"[^\p{SB=OLetter}\p{SB=Upper}\p{SB=Lower}\p{SB=Sep}\p{SB=CR}\p{SB=LF}\p{SB=STerm}\p{SB=ATerm}]*+\p{SB=Lower}",
    regex.V1,
)
_CONTINUES: Final = regex.compile(r"[\p{SB=SContinue}\p{SB=STerm}\p{SB=ATerm}]", regex.V1)
_STERM: Final = regex.compile(r"\p{SB=STerm}", regex.V1)
# Full stops that end no sentence: titles, initials, the numbers of a list, and references before a number.
_ABBREVIATION: Final = regex.compile(
    r"(?:\b(?i:mr|mrs|ms|dr|prof|st|mt|rev|hon|gen|col|capt|lt|sgt|messrs|vs|cf|e\.g|i\.e|approx|dept|est)"
    r"|(?<![\w'\u2019])(?:\p{Lu}\.)*\p{Lu}"
    r"|(?:^|[\n\r])[^\S\n\r]*(?:\d{1,3}|[ivxIVX]{1,5}|[a-zA-Z]))$",
    regex.V1,
)
_REFERENCE: Final = regex.compile(r"\b(?i:nos?|art|sec|fig|vol|pp|ch|para|cl)$", regex.V1)
# A full stop without a space after it ends a sentence before a capital letter, but not in addresses and names of code.
_NEXT: Final = regex.compile(r"\p{Lu}\p{Ll}*+(?![\p{L}\p{N}_@/\\(]|\.\p{Ll})", regex.V1)
_RUN_ON: Final = regex.compile(
    r"(?<![@/\\\w])(?!(?<=\p{Ll}\.)\p{Ll}|www$)[\p{Lu}\p{Ll}\p{Nd}]*[\p{Ll}\p{Nd}]$", regex.V1
)
# Code points before a full stop that are looked at: of an abbreviation, and of any word.
_BEFORE: Final = 16
_LONGEST: Final = 64


def border_codes(text: str, units: CharSpans, form: TextForm = NEWEST) -> UInt8[np.ndarray, " units"]:
    """The code of every unit of a part, from the text of the part and the character spans of its units in it.

    >>> from models.text.units import split
    >>> text = 'Hello there, you. "Go on!"'
    >>> start_strengths(border_codes(text, split(text))).tolist()  # Hello there , you . " Go on ! "
    [5, 0, 0, 1, 0, 2, 2, 0, 0, 0]
    >>> end_strengths(border_codes(text, split(text))).tolist()
    [5, 0, 1, 1, 2, 2, 0, 0, 5, 5]
    """
    if not len(units):
        return np.zeros(0, np.uint8)
    marks = _marks_of(text, form)
    gaps = np.searchsorted(units[:, 0], np.array(marks.positions, np.int64)).tolist()
    closing, opening = _flagged(units, marks.closing), _flagged(units, marks.opening)
    starts, ends = [int(Border.NONE)] * len(units), [int(Border.NONE)] * (len(units) + 1)
    whole_part = ((0, int(Border.PART)), (len(units), int(Border.PART)))
    for gap, strength in (*whole_part, *zip(gaps, marks.strengths, strict=True)):
        _spread(gap, strength, starts, ends, closing, opening)
    return np.array(starts, np.uint8) | (np.array(ends[:-1], np.uint8) << _END_SHIFT)


def clause_around(text: str, span: CharSpan) -> CharSpan:
    """The characters of a text from the border of a clause before a span to the one behind it, in code points.

    >>> text = "Well, the parcel never came, so I called."
    >>> clause = clause_around(text, CharSpan(10, 22))
    >>> text[clause.start : clause.end]
    'the parcel never came,'
    """
    positions = _marks_of(text, NEWEST).positions
    before = max((at for at in positions if at <= span.start), default=0)
    behind = min((at for at in positions if at >= span.end), default=len(text))
    return CharSpan(
        span.start - len(text[before : span.start].lstrip()), span.end + len(text[span.end : behind].rstrip())
    )


def _marks_of(text: str, form: TextForm) -> "_Marks":
    """The marks of punctuation and line breaks of a text."""
    marks, text = _Marks(form), text if form == "text.v1" else unwrapped(text)
    for match in checked(_MARK.finditer(text), _AT_ONCE):
        marks.add(text, match)
    return marks


def start_strengths(codes: UInt8[np.ndarray, " units"]) -> UInt8[np.ndarray, " units"]:
    """The strength of the border at which a span that starts at each unit begins."""
    return codes & (2**_END_SHIFT - 1)


def end_strengths(codes: UInt8[np.ndarray, " units"]) -> UInt8[np.ndarray, " units"]:
    """The strength of the border at which a span that ends before each unit ends."""
    return codes >> _END_SHIFT


def whole_starts(codes: UInt8[np.ndarray, " units"], boundary: Boundary) -> Int[np.ndarray, " whole_spans"]:
    """The first units of all clauses, sentences or parts, with their opening and closing punctuation.

    >>> from models.text.units import split
    >>> text = 'Hello there, you. "Go on!"'
    >>> whole_starts(border_codes(text, split(text)), "sentence").tolist()
    [0, 5]
    """
    return np.flatnonzero(np.minimum(start_strengths(codes), end_strengths(codes)) >= LEVELS[boundary])


def count_sentences(text: str, units: CharSpans, form: TextForm = NEWEST) -> int:
    """The number of sentences of a text, from the character spans of its units; lines and parts count as such.

    >>> from models.text.units import split
    >>> count_sentences(text := "Mr. Day said yes. He left.", split(text))
    2
    """
    return len(whole_starts(border_codes(text, units, form), "sentence"))


def _spread(gap: int, strength: int, starts: list[int], ends: list[int], closing: Set[int], opening: Set[int]) -> None:
    """Enter a border, and repeat it before the closing punctuation, for ends, and after the opening one, for starts."""
    unit = gap
    # No span of interest begins with closing punctuation: "(or later)." has no clause "." of its own.
    while unit < len(starts) and starts[unit] < strength and (strength > Border.CLAUSE or unit not in closing):
        starts[unit] = strength
        unit += 1
        if unit - 1 not in opening:
            break
    unit = gap
    while ends[unit] < strength:
        ends[unit] = strength
        unit -= 1
        if unit not in closing:
            break


def _flagged(units: CharSpans, positions: list[int]) -> Set[int]:
    """The units that are single characters at these positions."""
    at = np.array(positions, np.int64)
    numbers = np.minimum(np.searchsorted(units[:, 0], at), len(units) - 1)
    return frozenset(numbers[(units[numbers, 0] == at) & (units[numbers, 1] == at + 1)].tolist())


class _Marks:
    """The borders of a text by position and strength, and the positions of closing and of opening punctuation."""

    def __init__(self, form: TextForm) -> None:
        self._form = form
        self.positions: list[int] = []
        self.strengths: list[int] = []
        self.closing: list[int] = []
        self.opening: list[int] = []

    def add(self, text: str, match: "regex.Match[str]") -> None:
        """Add what follows from one match."""
        start, end = match.span()
        match match.lastgroup:
            case "line":
                self._border(end, Border.PARAGRAPH if len(_BREAKS.findall(match[0])) > 1 else Border.LINE)
            case "clause" | "close":
                self.closing.append(start)
                self._border(end, Border.CLAUSE)
            case "dash" | "open":
                self.opening.extend(range(start, end))
                self._border(start, Border.CLAUSE)
            case _:
                self.closing.extend(range(start, match.end("quote")))
                self._border(end, _sentence_end(text, match, self._form))

    def _border(self, position: int, strength: int) -> None:
        if strength:
            self.positions.append(position)
            self.strengths.append(int(strength))


def _sentence_end(text: str, match: "regex.Match[str]", form: TextForm) -> int:
    """The strength of the border after terminators."""
    end = match.end()
    last = text[match.start("quote") - 1]
    if end == len(text) or text[end] in "\n\r":
        return Border.SENTENCE
    if _CONTINUES.match(text, end):
        return Border.NONE if not match["space"] else Border.CLAUSE
    if last != "." and _STERM.match(last):
        return Border.SENTENCE
    is_run_on = not match["space"] and not match["quote"]
    if is_run_on and (form == "text.v1" or not _NEXT.match(text, end)):
        return Border.NONE
    before = max(0, match.start() - _BEFORE), match.start()
    if _ABBREVIATION.search(text, *before) or (text[end].isdigit() and _REFERENCE.search(text, *before)):
        return Border.NONE
    if is_run_on:
        return Border.SENTENCE if _RUN_ON.search(text, max(0, before[1] - _LONGEST), before[1]) else Border.NONE
    return Border.CLAUSE if _SMALL.match(text, end) else Border.SENTENCE


def sentence_spans(text: str, form: TextForm = NEWEST) -> list[CharSpan]:
    """The characters of the sentences of a part.

    >>> [span.of("Stop it. Now!") for span in sentence_spans("Stop it. Now!")]
    ['Stop it.', 'Now!']
    """
    units = split(text, form)
    bounds = [*whole_starts(border_codes(text, units, form), "sentence").tolist(), len(units)]
    return [CharSpan(int(units[first, 0]), int(units[last - 1, 1])) for first, last in pairwise(bounds)]
