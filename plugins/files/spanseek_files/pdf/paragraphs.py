"""Lines become paragraphs, also across columns and pages; hyphens at the ends of lines go."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Final

from spanseek_files.pdf.geometry import Line, Segment, rows, spread
from spanseek_files.pdf.words import logical

# A line goes on with the next one up to this ratio of their distance to the usual one, and of their fonts' sizes.
_APART: Final = 1.4
# In heights of the line: a gap between cells.
_WIDE: Final = 1.3
_LARGER: Final = 1.15
_INDENT: Final = 0.9
_ITEM: Final = re.compile(
    r"(?:[•▪▸‣◦●○■□➢✓\u2013\u2014*-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)])(?:\s|$)|\d+(?:\.\d+)+\.?\s"
)
_ENDED: Final = re.compile(r"[.!?:;…。！？]['\"”’)\]]*$")  # noqa: RUF001
_HYPHEN: Final = re.compile(r"(\w+)-$")
_WORD: Final = re.compile(r"\w+(?:-\w+)*")


@dataclass(slots=True)
class Paragraph:
    """Lines that are read as one. ``room`` is the width that the last line left free, ``kind`` names furniture."""

    lines: list[Line]
    pages: list[int]
    room: float = 0.0
    kind: str = ""
    is_first: bool = False
    is_last: bool = False

    @property
    def size(self) -> float:
        """The size of its signs."""
        return spread([line.size for line in self.lines], 0.5)

    @property
    def is_table(self) -> bool:
        """True if it is the row of a table."""
        return self.lines[0].is_table


def lines(words: Sequence[Segment]) -> list[Line]:
    """The lines of a block: a row whose gaps run on above or below is one of a table, with tabs between its cells."""
    found = rows(words)
    cells = [_cells(row) for row in found]
    left, right = (min(word.left for word in words), max(word.right for word in words)) if words else (0, 0)
    return [
        _line(row, cells[max(at - 1, 0) : at] + cells[at + 1 : at + 2], (left, right)) for at, row in enumerate(found)
    ]


def _cells(row: Sequence[Segment]) -> list[tuple[float, float]]:
    """From where to where words stand without a wide gap."""
    found = [(row[0].left, row[0].right)]
    for before, after in pairwise(row):
        if after.left - before.right > _WIDE * max(before.size, after.size):
            found.append((after.left, after.right))
        else:
            found[-1] = (found[-1][0], max(found[-1][1], after.right))
    return found


def _line(row: Sequence[Segment], beside: Sequence[Sequence[tuple[float, float]]], edges: tuple[float, float]) -> Line:
    is_even = _is_justified(row, edges)
    pieces, is_table = [row[0].text], False
    for before, after in pairwise(row):
        is_wide = after.left - before.right > _WIDE * max(before.size, after.size)
        is_gap = is_wide and not is_even and not _is_stretched(before, after, beside)
        pieces += ["\t" if is_gap else " ", after.text]
        is_table |= is_gap
    largest = max(row, key=lambda each: each.size)
    right = max(word.right for word in row)
    return Line("".join(logical(pieces)), row[0].left, largest.bottom, right, largest.top, largest.size, is_table)


def _is_justified(row: Sequence[Segment], edges: tuple[float, float]) -> bool:
    """True if a row reaches both edges of its block with even gaps."""
    gaps = [after.left - before.right for before, after in pairwise(row)]
    reaches = row[0].left - edges[0] < row[0].size and edges[1] - row[-1].right < row[0].size
    return len(gaps) > 1 and reaches and min(gaps) > 0.7 * max(gaps)


def _is_stretched(before: Segment, after: Segment, beside: Sequence[Sequence[tuple[float, float]]]) -> bool:
    """True if a gap is one between the words of a justified line: the lines above and below run through it."""
    place = (before.right + after.left) / 2
    if after.left - before.right > 4 * max(before.size, after.size) or not beside:
        return False
    return all(any(left < place < right for left, right in cells) for cells in beside)


def paragraphs(block: Sequence[Segment], page: int) -> Iterator[Paragraph]:
    """The paragraphs of one block of a page."""
    of_block = lines(block)
    if not of_block:
        return
    left, right = min(line.left for line in of_block), max(line.right for line in of_block)
    usual = _usual_distance(of_block)
    found: list[Paragraph] = []
    for at, line in enumerate(of_block):
        if at and _goes_on(found[-1].lines, line, usual, left, right):
            found[-1].lines.append(line)
        else:
            found.append(Paragraph([line], [page]))
        found[-1].room = right - line.right
    found[0].is_first = found[-1].is_last = True
    yield from found


def _usual_distance(of_block: Sequence[Line]) -> float:
    distances = [above.bottom - below.bottom for above, below in pairwise(of_block)]
    sizes = spread([line.size for line in of_block], 0.5)
    return spread([each for each in distances if 0 < each < 2.5 * sizes], 0.4) or 1.2 * sizes


def _goes_on(above: Sequence[Line], line: Line, usual: float, left: float, right: float) -> bool:
    last = above[-1]
    distance = last.bottom - line.bottom
    if last.is_table or line.is_table or not 0 < distance <= _APART * max(usual, last.size):
        return False
    if max(last.size, line.size) > _LARGER * min(last.size, line.size) or _ITEM.match(line.text):
        return False
    indent = _INDENT * line.size
    if line.left - left > indent and line.left - last.left > indent and len(above) > 1:
        return False
    if len(above) > 1 and last.left - line.left > indent:
        return False
    return not _ends_early(last, line, right)


def _ends_early(last: Line, line: Line, right: float) -> bool:
    """True if the first word of the next line would have had room at the end of a line."""
    first, *_ = line.text.split(maxsplit=1)
    width = (line.right - line.left) / max(len(line.text), 1) * (len(first) + 1)
    return not _HYPHEN.search(last.text) and right - last.right > width + line.size


def connected(found: Iterable[Paragraph]) -> list[Paragraph]:
    """Paragraphs in their order; one that goes on in the next column or on the next page is one.

    Running heads and notes in a smaller font at the end of a page do not part it.
    """
    out: list[Paragraph] = []
    for paragraph in found:
        before = _before(out, paragraph)
        if before is None:
            out.append(paragraph)
        else:
            before.lines += paragraph.lines
            before.pages += [page for page in paragraph.pages if page not in before.pages]
            before.room, before.is_last = paragraph.room, paragraph.is_last
    return out


def _before(out: Sequence[Paragraph], paragraph: Paragraph) -> Paragraph | None:
    """The paragraph that this one continues."""
    if paragraph.kind or paragraph.is_table or not paragraph.is_first:
        return None
    for other in reversed(out[-12:]):
        if other.kind or other.size * _LARGER < paragraph.size:
            continue
        if paragraph.pages[0] - other.pages[-1] > 1:
            return None
        return other if _continues(other, paragraph) else None
    return None


def _continues(other: Paragraph, paragraph: Paragraph) -> bool:
    if other.is_table or not other.is_last:
        return False
    if max(other.size, paragraph.size) > _LARGER * min(other.size, paragraph.size):
        return False
    below = other.lines[-1].bottom - paragraph.lines[0].bottom
    if other.pages[-1] == paragraph.pages[0] and below > 1.7 * other.size:
        return False
    end, start = other.lines[-1].text, paragraph.lines[0].text
    if _ENDED.search(end) or _ITEM.match(start):
        return False
    is_full = other.room < 3 * other.size and len(other.lines) > 1
    return start[:1].islower() or bool(_HYPHEN.search(end)) or is_full


class Hyphens:
    """Decides if a word that is split at the end of a line keeps its hyphen: as it is written in the document."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._words = Counter(word.lower() for text in texts for word in _WORD.findall(text))

    def text(self, of: Sequence[Line]) -> str:
        """Lines as one text.

        >>> line = lambda text: Line(text, 0, 0, 9, 9, 9)
        >>> Hyphens([]).text([line("end my sub-"), line("scription"), line("now")])
        'end my subscription now'
        >>> Hyphens(["a well-known name"]).text([line("well-"), line("known")])
        'well-known'
        """
        text = of[0].text
        for line in of[1:]:
            text = self._joined(text, line.text)
        return text

    def _joined(self, text: str, following: str) -> str:
        parted = _HYPHEN.search(text)
        if not parted or not following[:1].isalpha():
            return f"{text} {following}" if _needs_space(text, following) else text + following
        head, tail = parted[1], (_WORD.match(following) or [""])[0]
        is_compound = (following[:1].isupper() and not head.isupper()) or head.isdigit()
        with_hyphen, without = f"{head}-{tail}".lower(), f"{head}{tail}".lower()
        if is_compound or self._words[with_hyphen] > self._words[without]:
            return text + following
        return text[:-1] + following


def _needs_space(text: str, following: str) -> bool:
    """False between Chinese or Japanese lines, which are joined without a space."""
    return not (_is_ideographic(text[-1:]) and _is_ideographic(following[:1]))


def _is_ideographic(sign: str) -> bool:
    return bool(sign) and ("\u2e80" <= sign <= "\u9fff" or "\uf900" <= sign <= "\ufaff" or "\uff00" <= sign <= "\uffef")


def all_lines(found: Iterable[Paragraph]) -> Iterator[Line]:
    """The lines of all paragraphs."""
    return chain.from_iterable(paragraph.lines for paragraph in found)
