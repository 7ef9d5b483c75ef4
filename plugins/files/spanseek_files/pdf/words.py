"""Signs become words: what stands close together on the page, in whatever order it was drawn."""

import math
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from spanseek_files.pdf.geometry import Segment, spread
from spanseek_files.pdf.glyphs import RawPage, Sign

# In widths of the font's size: a gap between words.
_SPACE: Final = 0.09
_SLANT: Final = 0.35
_HYPHENS: Final = {0x02, 0xAD, 0x2010, 0xFFFE}
_ACCENTS: Final = {
    "`": "\u0300", "\u00b4": "\u0301", "\u02c6": "\u0302", "^": "\u0302", "\u02dc": "\u0303", "\u00af": "\u0304",
    "\u02d8": "\u0306", "\u02d9": "\u0307", "\u00a8": "\u0308", "\u02da": "\u030a", "\u02dd": "\u030b",
    "\u02c7": "\u030c", "\u00b8": "\u0327", "\u02db": "\u0328",
}  # fmt: skip
_BULLETS: Final = {0xF0B7: "•", 0xF0A7: "▪", 0xF0D8: "➢", 0xF0FC: "✓", 0xF06F: "□"}


@dataclass(slots=True)
class _Run:
    """Signs that were drawn one after the other in one line."""

    signs: list[Sign] = field(default_factory=list)
    size: float = 0.0

    def add(self, sign: Sign) -> None:
        self.signs.append(sign)
        self.size = max(self.size, sign.top - sign.bottom)


def page_words(page: RawPage) -> list[Segment]:
    """The words of a page. Turned text is turned upright; it keeps its words together, not its place."""
    turned: dict[int, list[Sign]] = defaultdict(list)
    for sign in page.signs:
        quarter = round(-sign.angle / (math.pi / 2)) % 4
        if _is_on(sign, page.box):
            turned[quarter].append(_upright(sign, quarter))
    found = [word for signs in turned.values() for word in _words(signs)]
    seen = _folded("".join(word.text for word in found))
    fields = [each for each in page.fields if _folded(each.text) not in seen]
    return found + [Segment(each.text, *each[1:], size=min(each.top - each.bottom, 12.0)) for each in fields]


def _folded(text: str) -> str:
    return "".join(text.split()).lower()


def _is_on(sign: Sign, box: tuple[float, float, float, float]) -> bool:
    """True if a sign stands on the page, or just beyond its edge."""
    left, bottom, right, top = box
    across, up = (sign.left + sign.right) / 2, (sign.bottom + sign.top) / 2
    margin = max(sign.size, sign.top - sign.bottom, 12.0)
    return left - margin <= across <= right + margin and bottom - margin <= up <= top + margin


def _upright(sign: Sign, quarter: int) -> Sign:
    """The sign as if the page were turned until its text is upright."""
    if quarter == 0:
        return sign
    left, bottom, right, top = sign[1:5]
    boxes = (
        (left, bottom, right, top),
        (bottom, -right, top, -left),
        (-right, -top, -left, -bottom),
        (-top, left, -bottom, right),
    )
    return Sign(sign.code, *boxes[quarter], sign.size, sign.angle)


def _words(signs: Sequence[Sign]) -> list[Segment]:
    lines: list[list[_Run]] = []
    for run in sorted(_runs(signs), key=lambda run: -run.size):
        line = next((line for line in reversed(lines) if _is_level(run, line[0])), None)
        if line is None:
            lines.append([run])
        elif not any(_is_shadow(run, other) for other in line):
            line.append(run)
    return [word for line in lines for word in _split(line)]


def _runs(signs: Iterable[Sign]) -> list[_Run]:
    """Signs that were drawn from left to right in one line, in this order: boxes of neighbours may overlap."""
    runs: list[_Run] = []
    last: Sign | None = None
    for sign in signs:
        height = sign.top - sign.bottom
        if height <= 0 or (last is not None and _is_doubled(sign, last)):
            continue
        is_near = (
            last is not None
            and abs(sign.bottom - last.bottom) < _SLANT / 2 * height
            and abs(sign.top - last.top) < _SLANT / 2 * height
            and sign.left > last.left - 0.2 * height
            and sign.left - last.right < height
        )
        if not is_near:
            runs.append(_Run())
        runs[-1].add(sign)
        last = sign
    return runs


def _is_doubled(sign: Sign, last: Sign) -> bool:
    """True if a sign is drawn twice to look bold. The letters of a ligature have one box: two f are not doubled."""
    if sign.code != last.code or abs(sign.bottom - last.bottom) > 1.0:
        return False
    is_ligature = sign.code == ord("f") and sign[1:5] == last[1:5]
    return abs(sign.left - last.left) < 0.25 * (sign.right - sign.left) and not is_ligature


def _is_shadow(run: _Run, other: _Run) -> bool:
    """True if a run repeats another one to make it look bold."""
    first, second = run.signs[0], other.signs[0]
    is_near = abs(first.left - second.left) < 0.1 * run.size and abs(first.bottom - second.bottom) < 0.1 * run.size
    return is_near and [sign.code for sign in run.signs] == [sign.code for sign in other.signs]


def _is_level(run: _Run, line: _Run) -> bool:
    """True if a run belongs to the line of a larger one."""
    one, other = run.signs[0], line.signs[0]
    common = min(one.top, other.top) - max(one.bottom, other.bottom)
    return common > 0.5 * run.size and run.size > 0.45 * line.size


def _split(line: list[_Run]) -> list[Segment]:
    """The words of a line from the left."""
    drawn = [sign for run in sorted(line, key=lambda run: run.signs[0].left) for sign in run.signs]
    spaces = sorted(_centre(sign) for sign in drawn if chr(sign.code).isspace())
    signs = _accented([sign for sign in drawn if not chr(sign.code).isspace()])
    if not signs:
        return []
    limit = _limit([sign for _, sign in signs])
    words = [[signs[0]]]
    for before, after in pairwise(signs):
        if _is_apart(before[1], after[1], spaces, limit):
            words.append([])
        words[-1].append(after)
    return [_word(word) for word in words]


def _limit(signs: Sequence[Sign]) -> float:
    """The least gap between two words of a line. Letters that are spaced out stand apart without being words.

    So do the dots that lead to a number of a page, which say nothing about letters.
    """
    size = spread([_font_size(sign) for sign in signs], 0.5)
    between = [pair for pair in pairwise(signs) if all(chr(sign.code).isalnum() for sign in pair)]
    gaps = [after.left - before.right for before, after in between]
    usual = spread(gaps, 0.25) if len(gaps) > 3 else 0.0  # in a line of short words half of the gaps are between words
    return _SPACE * size + (usual if 0.08 * size < usual < size else 0.0)


def _font_size(sign: Sign) -> float:
    """The size of a sign's font, which may be less than the height of its box; that height where a matrix scales it."""
    height = sign.top - sign.bottom
    return sign.size if height / 2 < sign.size < height else height


def _is_apart(before: Sign, after: Sign, spaces: Sequence[float], limit: float) -> bool:
    gap = after.left - before.right
    at = bisect_right(spaces, _centre(before))
    has_space = at < len(spaces) and spaces[at] < _centre(after) and gap > -0.3 * (after.top - after.bottom)
    return has_space or gap > limit


def _word(signs: Sequence[tuple[str, Sign]]) -> Segment:
    text = "".join(logical([text for text, _ in signs]))
    boxes = [sign[1:5] for _, sign in signs]
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    size = spread([top - bottom for _, bottom, _, top in boxes], 0.5)
    return Segment(text, min(lefts), min(bottoms), max(rights), max(tops), size)


def _centre(sign: Sign) -> float:
    return (sign.left + sign.right) / 2


def _text(sign: Sign) -> str:
    if sign.code in _HYPHENS:
        return "-"
    if sign.code in _BULLETS:
        return _BULLETS[sign.code]
    if 0xD800 <= sign.code < 0xE000 or sign.code > 0x10FFFF:
        return "\ufffd"
    text = chr(sign.code)
    return unicodedata.normalize("NFKC", text) if 0xFB00 <= sign.code <= 0xFB06 else text


def _accented(signs: Sequence[Sign]) -> list[tuple[str, Sign]]:
    """The texts of signs; an accent that is drawn over a letter makes one sign with it."""
    texts = [(_text(sign), sign) for sign in signs]
    for at, (text, accent) in enumerate(texts):
        if text not in _ACCENTS:
            continue
        for beside in (at + 1, at - 1):
            if 0 <= beside < len(texts) and texts[beside][0].isalpha() and _stands_over(accent, texts[beside][1]):
                letter, sign = texts[beside]
                texts[beside] = unicodedata.normalize("NFC", letter + _ACCENTS[text]), sign
                texts[at] = "", accent
                break
    return [(text, sign) for text, sign in texts if text]


def _stands_over(accent: Sign, letter: Sign) -> bool:
    common = min(accent.right, letter.right) - max(accent.left, letter.left)
    return common > 0.5 * (min(accent.right - accent.left, letter.right - letter.left))


def logical(pieces: list[str]) -> list[str]:
    """The signs of a line in the order of reading, from their order on the page.

    >>> "".join(logical(list("12 םולש")))
    'שלום 12'
    """
    kinds = [_direction(piece) for piece in pieces]
    if "R" not in kinds:
        return pieces
    if kinds.count("R") >= kinds.count("L"):
        return _runs_reversed(pieces[::-1], kinds[::-1], "L")
    return _runs_reversed(pieces, kinds, "R")


def _direction(piece: str) -> str:
    kind = unicodedata.bidirectional(piece[:1]) if piece else ""
    if kind in ("R", "AL"):
        return "R"
    return "L" if kind in ("L", "EN", "AN") else "N"


def _runs_reversed(pieces: list[str], kinds: list[str], inner: str) -> list[str]:
    """Runs of the other direction turned round; what stands between two of its signs belongs to it."""
    out: list[str] = []
    at = 0
    while at < len(pieces):
        if kinds[at] != inner:
            out.append(pieces[at])
            at += 1
            continue
        end = last = at
        while end < len(pieces) and kinds[end] in (inner, "N"):
            last = end if kinds[end] == inner else last
            end += 1
        out += pieces[at : last + 1][::-1]
        at = last + 1
    return out
