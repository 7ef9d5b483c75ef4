"""Cues of WebVTT and SubRip: WebVTT by the W3C's parsing algorithm, SubRip as players take it.

Nothing that a reader of the file sees is dropped without a word: time codes are read leniently in both formats, text
after an empty line stays with its cue, and what belongs to no cue is named by its line.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

_CODE: Final = r"(?:(\d{1,9}):)?(\d{1,2}):(\d{1,2})(?:[.,:](\d{1,9}))?"
_TIMES: Final = re.compile(rf"\s*{_CODE}\s*--\s*>\s*{_CODE}(?![\d:]).*", re.ASCII)
_CLOCK: Final = re.compile(r"\d:\d", re.ASCII)
_MARKS: Final = dict.fromkeys([0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF])
_BREAK: Final = re.compile(r"\r\n|\r|\n")
# A comment; a style sheet or a region, whose first line is nothing else.
_NO_TEXT: Final = re.compile(r"NOTE(?:[ \t]|$)|(?:STYLE|REGION)[ \t]*$")
_NUMBER: Final = re.compile(r"\s*(\d{1,9})\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Cue:
    """The lines of a cue that are not blank, with their markup, and its times in seconds."""

    start: float
    end: float
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class CueFile:
    """The cues of a file in its order.

    ``broken`` are the lines, from 1, at which text begins that belongs to no cue; ``continued`` counts the blocks of
    text after an empty line that were read as text of the cue before.
    """

    cues: list[Cue] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    continued: int = 0


def read_cues(text: str, *, is_vtt: bool) -> CueFile:
    r"""The cues of a WebVTT or SubRip file.

    >>> read_cues("1\n00:00:01,500-->00:00:02\nHello\n2\n0:0:3,0 --> 0:0:4,0\nBye\n", is_vtt=False).cues
    [Cue(start=1.5, end=2.0, lines=['Hello']), Cue(start=3.0, end=4.0, lines=['Bye'])]
    >>> read_cues("WEBVTT\nKind: x\n00:01.000 --> 00:02.000\nHi\n\nNOTE no\n\nthere\n", is_vtt=True).cues
    [Cue(start=1.0, end=2.0, lines=['Hi', 'there'])]
    """
    lines = _BREAK.split(text.removeprefix("\ufeff"))
    file = CueFile()
    if is_vtt:
        for first, block in _vtt_blocks(lines):
            _add_block(file, first, block)
    else:
        _read_subrip(file, lines)
    return file


def _times(line: str) -> tuple[float, float] | None:
    """The start and the end of a cue from its line of time codes; None for another line."""
    match = _TIMES.fullmatch(line.translate(_MARKS)) if "--" in line else None
    return None if match is None else (_seconds(*match.group(1, 2, 3, 4)), _seconds(*match.group(5, 6, 7, 8)))


def _seconds(hours: str | None, minutes: str, seconds: str, fraction: str | None) -> float:
    whole = 3600 * int(hours or 0) + 60 * int(minutes) + int(seconds)
    return round(whole + int((fraction or "0").ljust(3, "0")[:3]) / 1000, 3)


def _has_arrow(line: str) -> bool:
    """True if a line has an arrow beside a time code; another arrow is text."""
    return "-->" in line and _CLOCK.search(line) is not None


def _vtt_blocks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The blocks of a WebVTT file after its header, each with the number of its first line ("collect a block").

    A block ends at an empty line, and before a line with an arrow that is not its first, or its second after an
    identifier.
    """
    block: list[str] = []
    is_header, has_arrow = lines[0].startswith("WEBVTT"), False
    for number, line in enumerate([*lines, ""], 1):
        is_arrow = _has_arrow(line)
        if line and not (is_arrow and block and (has_arrow or is_header or len(block) > 1)):
            block.append(line)
        else:
            if block and not is_header:
                yield number - len(block), block
            block = [line] if line else []
            is_header = has_arrow = False
        has_arrow = has_arrow or (is_arrow and not is_header)


def _add_block(file: CueFile, first: int, block: list[str]) -> None:
    """Add a block to the file: as a cue, as text of the previous cue, or as text of no cue.

    Comments, style sheets and regions are ignored.
    """
    at = next((number for number, line in enumerate(block[:2]) if _has_arrow(line)), None)
    times = None if at is None else _times(block[at])
    if at is not None and times is not None:
        file.cues.append(Cue(*times, _filled(block[at + 1 :])))
    elif not _filled(block) or _NO_TEXT.match(block[0]) or (len(block) == 1 and _NUMBER.fullmatch(block[0])):
        return
    elif at is not None or not file.cues:
        file.broken.append(first)
    else:
        file.cues[-1].lines.extend(_filled(block))
        file.continued += 1


def _read_subrip(file: CueFile, lines: Sequence[str]) -> None:
    """A cue goes from its time codes to the number of the next one; SubRip has no comments and no header."""
    times = [(number, found) for number, line in enumerate(lines) if (found := _times(line)) is not None]
    last, count = _before(lines, 0, times[0][0] if times else len(lines), None)
    file.broken += [number + 1 for number in range(last) if lines[number].strip()][:1]
    for (number, (start, end)), (until, _) in pairwise([*times, (len(lines), (0.0, 0.0))]):
        last, count = _before(lines, number + 1, until, count) if until < len(lines) else (until, count)
        text, broken = _without_broken(lines, number + 1, last)
        file.broken += broken
        file.cues.append(Cue(start, end, text))


def _before(lines: Sequence[str], first: int, times: int, count: int | None) -> tuple[int, int | None]:
    """Find where the text before a line of time codes ends, and the number of the cue.

    A number directly before the time codes belongs to the cue if an empty line precedes it, or if it continues the
    count.
    """
    at = times - 1
    while at >= first and not lines[at].strip():
        at -= 1
    match = _NUMBER.fullmatch(lines[at].translate(_MARKS)) if at >= first else None
    if match is None:
        return times, count
    goes_on = int(match[1]) == (0 if count is None else count) + 1
    is_apart = at == times - 1 and (at == first or not lines[at - 1].strip())
    return (at, int(match[1])) if goes_on or is_apart else (times, count)


def _without_broken(lines: Sequence[str], first: int, last: int) -> tuple[list[str], list[int]]:
    """The lines of a cue up to a block that has a broken line of time codes, and the line at which that begins."""
    for number in range(first, last):
        if re.match(r"\s*\d+:\d+.*->", lines[number]):
            has_number = number > first and _NUMBER.fullmatch(lines[number - 1])
            begin = number - bool(has_number)
            return _filled(lines[first:begin]), [begin + 1]
    return _filled(lines[first:last]), []


def _filled(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip()]
