"""A story of a Word file, such as its body or a note: its paragraphs and tables in order, as parts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from models.types import Part
from spanseek_files.compose import Headings, row_parts
from spanseek_files.packages import Element, attribute, branch, child, is_on, tag
from spanseek_files.word.inline import SKIPPED, Inline, Omissions, Paragraph, fields_are_whole
from spanseek_files.word.numbering import Numbering
from spanseek_files.word.styles import Numbered, Styles, heading_level, numbered

_PARAGRAPHS: Final = frozenset({"w:p", "a:p", "m:oMathPara", "m:oMath", "w:r"})
_BLOCKS: Final = _PARAGRAPHS | {"w:tbl", "a:tbl", "w:altChunk", "w:subDoc"}
_ROWS: Final = frozenset({"w:tr", "a:tr"})
_CELLS: Final = frozenset({"w:tc", "a:tc"})

# Reads what stands beside a paragraph: its kind and its element, to the parts that follow the paragraph.
Beside = Callable[[str, Element], Iterator[Part]]


@dataclass(slots=True)
class Shared:
    """All that the stories of a file share."""

    styles: Styles
    numbering: Numbering
    beside: Beside
    omissions: Omissions = field(default_factory=Omissions)
    headings: Headings = field(default_factory=Headings)


class Story:
    """Reads one story. ``kind`` is the kind of all its parts."""

    def __init__(self, root: Element, shared: Shared, kind: str = "") -> None:
        self._root = root
        self._shared = shared
        self._kind = kind
        self._inline = Inline(shared.styles, shared.omissions, has_whole_fields=fields_are_whole(root))

    def parts(self) -> Iterator[Part]:
        """A part a paragraph, or a row of a table whose cells hold no more than a paragraph each."""
        yield from self._blocks(self._root)

    def _blocks(self, container: Element) -> Iterator[Part]:
        """The blocks of a container. A paragraph whose mark is deleted or hidden goes on in the next one."""
        paragraph = Paragraph()
        for block in nearest(container, _BLOCKS):
            name = tag(block)
            if name in _PARAGRAPHS:
                style = self._read(block, paragraph)
                if not _goes_on(block):
                    yield from self._finished(paragraph, child(block, "w:pPr"), style)
                    paragraph = Paragraph()
                continue
            yield from self._finished(paragraph, None, "")
            paragraph = Paragraph()
            if name in ("w:altChunk", "w:subDoc"):
                self._shared.omissions.imports += 1
            else:
                yield from self._table(block)
        yield from self._finished(paragraph, None, "")

    def _read(self, block: Element, into: Paragraph) -> str:
        style = self._shared.styles.of(child(block, "w:pPr"))
        self._inline.read(block if tag(block) in ("w:p", "a:p") else [block], style, into)
        return style

    def _finished(self, paragraph: Paragraph, properties: Element | None, style: str) -> Iterator[Part]:
        text = paragraph.text.strip()
        label = self._label(properties, style)
        if text:
            text = f"{label} {text}" if label else text
            level = self._level(properties, style)
            if level is not None and not self._kind:
                self._shared.headings.enter(level, " ".join(text.split()))
            yield Part(text, self._shared.headings.metadata(self._kind))
        for kind, element in paragraph.beside:
            yield from self._shared.beside(kind, element)

    def _label(self, properties: Element | None, style: str) -> str:
        inherited = self._shared.styles.numbered(style)
        own, of_style = numbered(properties), None
        if inherited is not None:
            of_style, style = inherited
        if own is not None and not own.list_id and of_style is not None:
            own = Numbered(of_style.list_id, own.level)
        place = own or of_style
        if place is None or not place.list_id:
            return ""
        level = 0 if place.level is None and place is own else place.level
        return self._shared.numbering.label(Numbered(place.list_id, level), style)

    def _level(self, properties: Element | None, style: str) -> int | None:
        own = None if properties is None else child(properties, "w:outlineLvl")
        return self._shared.styles.level(style) if own is None else heading_level(own)

    def _table(self, table: Element) -> Iterator[Part]:
        for row in nearest(table, _ROWS):
            if not _is_left_out(row):
                cells = [[*self._blocks(cell)] for cell in nearest(row, _CELLS) if not _is_merged(cell)]
                yield from row_parts(cells, self._kind)


def nearest(container: Element, wanted: frozenset[str]) -> Iterator[Element]:
    """The nearest elements of some names, below whatever holds them: content controls, tags, insertions."""
    for each in container:
        name = tag(each)
        if name in wanted:
            yield each
        elif name == "mc:AlternateContent":
            for inner in branch(each):
                yield from nearest([inner], wanted)
        elif name not in SKIPPED:
            yield from nearest(each, wanted)


def _goes_on(paragraph: Element) -> bool:
    """True if the next paragraph continues this one: its mark is deleted or hidden, or it is a drop cap."""
    properties = child(paragraph, "w:pPr")
    if properties is None:
        return False
    marks = child(properties, "w:rPr")
    if marks is not None and any(tag(each) in ("w:del", "w:moveFrom") for each in marks):
        return True
    if marks is not None and is_on(child(marks, "w:vanish")):
        return True
    frame = child(properties, "w:framePr")
    return frame is not None and attribute(frame, "dropCap") in ("drop", "margin")


def _is_left_out(row: Element) -> bool:
    properties = child(row, "w:trPr")
    return properties is not None and any(tag(each) == "w:del" for each in properties)


def _is_merged(cell: Element) -> bool:
    """True if a cell only continues another, or is deleted."""
    if attribute(cell, "hMerge") in ("1", "true") or attribute(cell, "vMerge") in ("1", "true"):
        return True  # DrawingML
    properties = child(cell, "w:tcPr")
    if properties is None:
        return False
    merges = [each for each in properties if tag(each) in ("w:vMerge", "w:hMerge")]
    return any(attribute(each, "val") != "restart" for each in merges) or child(properties, "w:cellDel") is not None
