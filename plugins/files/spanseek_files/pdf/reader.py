"""A PDF as a document: a part a paragraph or a row of a table, with its pages."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final

from indexer.errors import InvalidDocument
from indexer.sources.records import Reading, one_document
from models.types import Document, JsonValue, Part
from spanseek_files.compose import composed
from spanseek_files.isolated import isolated
from spanseek_files.pdf.furniture import furniture
from spanseek_files.pdf.geometry import Segment, rows
from spanseek_files.pdf.glyphs import Extraction, RawPage
from spanseek_files.pdf.legibility import is_doubtful, is_garbage, readable, unreadable
from spanseek_files.pdf.order import blocks
from spanseek_files.pdf.paragraphs import Hyphens, Paragraph, all_lines, connected, lines, paragraphs
from spanseek_files.pdf.words import page_words

_NAMED: Final = 10
# Words of a stamp on an image: courts write up to 13, "Case 1:20-cv-01234 Document 12 Filed ... Page 5 of 17 ...".
_STAMP: Final = 15


@dataclass(slots=True)
class _Pages:
    """The pages that hold text, and the numbers of those that do not, by what is wrong with them.

    ``scans`` have the number of their words: those of a stamp, if any.
    """

    read: list[tuple[RawPage, list[Segment]]] = field(default_factory=list)
    empty: list[int] = field(default_factory=list)
    scans: dict[int, int] = field(default_factory=dict)
    garbage: list[int] = field(default_factory=list)
    doubtful: list[int] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    signs: int = 0

    def add(self, page: RawPage) -> None:
        """Add a page, and forget its signs."""
        found = page_words(page)
        page.signs = []
        text = " ".join(segment.text for segment in found)
        if page.problem:
            self.broken.append(page.number)
        elif is_garbage(text):
            self.garbage.append(page.number)
        else:
            self._add_legible(page, found, text)

    def _add_legible(self, page: RawPage, found: Sequence[Segment], text: str) -> None:
        """Add a page without text, or with text that can be read."""
        words = len(text.split())
        if page.is_scan and (not words or (page.is_image and words <= _STAMP)):
            self.scans[page.number] = words
        elif not words and not page.comments:
            self.empty.append(page.number)
        if is_doubtful(text):
            self.doubtful.append(page.number)
        self.signs += unreadable(text)
        if words or page.comments:
            self.read.append((page, [_cleaned(each) for each in found if readable(each.text).strip()]))

    def report(self, reading: Reading, total: int) -> None:
        """Say what was left out, and what is doubtful."""
        bare = [number for number, words in self.scans.items() if not words]
        stamped = [number for number, words in self.scans.items() if words]
        most = max(self.scans.values(), default=0)
        for numbers, what in (
            (bare, "an image and no text: it may be a scan, which needs OCR"),
            (stamped, f"an image and at most {most} word{'s' * (most > 1)}: it may be a scan, which needs OCR"),
            (self.garbage, "no readable letters: its fonts have no map to Unicode"),
            (self.broken, "what cannot be read"),
        ):
            if numbers:
                reading.lost.append(f"{_named(numbers)} of {total:,} with {what}")
        if self.signs:
            reading.lost.append(f"{self.signs:,} signs without a letter")
        notices = []
        if self.empty:
            notices.append(f"{len(self.empty):,} of {total:,} pages hold no text and are left out")
        if self.doubtful:
            notices.append(
                f"the letters of {_named(self.doubtful)} make no words: a font may have a wrong map to Unicode"
            )
        reading.notice = "; ".join(notices)


def _cleaned(segment: Segment) -> Segment:
    segment.text = readable(segment.text).strip()
    return segment


def _named(numbers: Sequence[int]) -> str:
    more = f" and {len(numbers) - _NAMED:,} more" if len(numbers) > _NAMED else ""
    return f"page{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:_NAMED]))}{more}"


@isolated("a PDF", "pypdfium2")
@one_document
def read_pdf(reading: Reading) -> Document:
    """A PDF is one document. Metadata of a part are ``page``, ``pages`` and ``kind``.

    ``page`` is the page it begins on, from 1, and ``pages`` are all of its pages. ``kind`` marks running heads
    (``header``), feet (``footer``), page numbers (``page number``) and, if they are read, notes stuck to a page
    (``comment``).
    """
    pages = _Pages()
    with closing(Extraction(reading.whole())) as extraction:
        for page in extraction:
            pages.add(page)
    pages.report(reading, extraction.pages)
    if not pages.read and not reading.lost:
        raise InvalidDocument(f"none of its {extraction.pages:,} pages holds text")
    parts = [*_parts(pages.read)]
    if reading.options.comments:
        parts += (_comment(text, page.number) for page, _ in pages.read for text in page.comments)
    return composed(reading, parts, {"title": extraction.title})


def _parts(pages: Sequence[tuple[RawPage, list[Segment]]]) -> Iterator[Part]:
    kinds = furniture([(page.box, found) for page, found in pages])
    connect = connected(paragraph for page, found in pages for paragraph in _page(page.number, found, kinds))
    hyphens = Hyphens(line.text for line in all_lines(connect))
    for paragraph in connect:
        yield Part(hyphens.text(paragraph.lines), _metadata(paragraph.pages, paragraph.kind))


def _page(number: int, found: Sequence[Segment], kinds: dict[int, str]) -> Iterator[Paragraph]:
    """The paragraphs of a page: heads, body, feet."""
    body = [segment for segment in found if id(segment) not in kinds]
    marked = rows([segment for segment in found if id(segment) in kinds])
    for side in (0, 1, 2):
        if side == 1:
            for block in blocks(body):
                yield from paragraphs(block, number)
        else:
            middle = sum(segment.middle for segment in found) / max(len(found), 1)
            for row in marked:
                if (row[0].middle > middle) == (side == 0):
                    yield Paragraph(lines(row), [number], kind=kinds[id(row[0])])


def _metadata(pages: Sequence[int], kind: str) -> dict[str, JsonValue]:
    return {"page": pages[0], "pages": list(pages), **({"kind": kind} if kind else {})}


def _comment(text: str, page: int) -> Part:
    return Part(text, _metadata([page], "comment"))
