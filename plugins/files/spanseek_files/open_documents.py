"""OpenDocument texts, spreadsheets and presentations: what is shown, in the order of the file."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from indexer.sources.records import COMMENTS, Reading, one_document
from models.types import Document, Part
from spanseek_files.compose import Headings, composed, row_parts
from spanseek_files.isolated import isolated
from spanseek_files.open_lists import Lists
from spanseek_files.packages import Element, Package, attribute, child, tag

_PARAGRAPHS: Final = ("text:p", "text:h")
_SKIPPED: Final = frozenset(
    {"text:tracked-changes", "text:note-citation", "text:sequence-decls", "text:variable-decls",
     "table:covered-table-cell", "svg:title", "svg:desc", "text:ruby-text", "text:hidden-text", "office:settings"}
)  # fmt: skip
_BESIDE: Final = ("text:note", "draw:text-box", "office:annotation")
# What holds texts of its own within a paragraph, such as a drawn shape.
_BLOCKS: Final = frozenset({*_PARAGRAPHS, "text:list", "table:table"})
_OBJECTS: Final = ("draw:object", "draw:object-ole")
_CONTROLS: Final = frozenset(
    f":{name}" for name in (
        "button", "checkbox", "combobox", "date", "file", "fixed-text", "formatted-text", "frame", "generic-control",
        "image", "listbox", "number", "radio", "text", "textarea", "time", "value-range",
    )
)  # fmt: skip
_SHOWN_OF_CONTROLS: Final = ("label", "value", "current-value")
_PAGES: Final = ("", "-left", "-first")
_MOST_REPEATED: Final = 100


class _Reader:
    """Reads the texts of one file. ``box`` is the kind of what stands in frames and shapes."""

    def __init__(self, lists: Lists, box: str, *, with_comments: bool) -> None:
        self._lists = lists
        self._box = box
        self._with_comments = with_comments
        self._headings = Headings()
        self.comments = 0
        self.objects = 0
        self.controls = 0

    def parts(self, container: Element, kind: str = "") -> Iterator[Part]:
        """A part a paragraph, or a row of a table whose cells hold a paragraph at most."""
        for each in container:
            name = tag(each)
            if name in _PARAGRAPHS:
                yield from self._paragraph(each, kind)
            elif name == "table:table-row":
                yield from self._row(each, kind)
            elif name in _BESIDE:
                yield from self._beside(each, kind)
            elif name == "text:list":
                yield from self._list(each, kind)
            elif name == "presentation:notes":
                yield from self.parts(each, "notes")
            elif name == "office:forms":
                self.controls += sum(map(_is_filled, each.iter()))
            elif name not in _SKIPPED:
                self.objects += name in _OBJECTS
                is_shape = name.startswith("draw:") and name != "draw:page"
                yield from self.parts(each, (kind or self._box) if is_shape else kind)

    def _list(self, element: Element, kind: str) -> Iterator[Part]:
        with self._lists.within(element):
            for item in element:
                self._lists.begin(item)
                yield from self.parts(item, kind)

    def _paragraph(self, element: Element, kind: str) -> Iterator[Part]:
        beside: list[Element] = []
        label, text = self._lists.label(element), "".join(self._pieces(element, beside)).strip()
        text = f"{label} {text}" if label and text else text
        if text and tag(element) == "text:h" and not kind:
            self._headings.enter(int(attribute(element, "outline-level") or 1), text)
        if text:
            yield Part(text, self._headings.metadata(kind))
        for each in beside:
            yield from self._beside(each, kind)

    def _pieces(self, element: Element, beside: list[Element]) -> Iterator[str]:
        yield element.text or ""
        for each in element:
            name = tag(each)
            if name == "text:s":
                yield " " * min(int(attribute(each, "c") or 1), 100)
            elif name in ("text:tab", "text:line-break"):
                yield "\t" if name == "text:tab" else "\n"
            elif name == "text:ruby-text":
                yield f"({each.text or ''})"
            elif name in _BESIDE or any(tag(inner) in _BLOCKS for inner in each):
                beside.append(each)
            elif name not in _SKIPPED:
                self.objects += name in _OBJECTS
                yield from self._pieces(each, beside)
            yield each.tail or ""

    def _beside(self, element: Element, around: str) -> Iterator[Part]:
        """The parts of an element beside a text: a note, a comment, or a text box of the text's kind."""
        name = tag(element)
        if name == "text:note":
            kind, body = attribute(element, "note-class") or "footnote", child(element, "text:note-body")
            yield from self.parts(() if body is None else body, kind)
        elif name != "office:annotation":
            yield from self.parts(element, around or self._box)
        elif self._with_comments:
            yield from self.parts(element, "comment")
        else:
            self.comments += 1

    def _row(self, row: Element, kind: str) -> Iterator[Part]:
        cells = [(each, [*self.parts(each, kind)]) for each in row if tag(each) == "table:table-cell"]
        found = [parts for cell, parts in cells for _ in range(_repeated(cell))]
        yield from row_parts(found, kind, _repeated(row))


def _is_filled(element: Element) -> bool:
    """True for a control of a form that shows a text, or a choice of texts."""
    if tag(element) not in _CONTROLS:
        return False
    return any(attribute(each, name) for each in (element, *element) for name in _SHOWN_OF_CONTROLS)


def _repeated(element: Element) -> int:
    count = attribute(element, "number-columns-repeated") or attribute(element, "number-rows-repeated") or "1"
    return min(int(count), _MOST_REPEATED) if element.getchildren() else 1


@isolated("an OpenDocument file", "lxml.etree")
@one_document
def read_open_document(reading: Reading) -> Document:
    """A file of OpenDocument is one document, with ``section`` and ``kind`` as Word files have them."""
    package = Package(reading.whole())
    content = package.xml("content.xml")
    styles = [package.xml("styles.xml")] if "styles.xml" in package else []
    body = child(content, "office:body")
    is_show = body is not None and child(body, "office:presentation") is not None
    box = "" if is_show else "text box"
    reader = _Reader(Lists([*styles, content]), box, with_comments=reading.options.comments)
    heads = [*_margins(styles, reader, "header")]
    parts = [*heads, *reader.parts(() if body is None else body), *_margins(styles, reader, "footer")]
    title = _title(package)
    reading.note(reader.comments, COMMENTS)
    reading.lose(reader.objects, "embedded object")
    reading.lose(reader.controls, "form control")
    return composed(reading, parts, {"title": title})


def _margins(styles: list[Element], reader: _Reader, kind: str) -> Iterator[Part]:
    """Headers or footers of all kinds of pages, each text once."""
    seen = set()
    names = {f"style:{kind}{page}" for page in _PAGES}
    for each in chain.from_iterable(root.iter() for root in styles):
        if tag(each) in names and attribute(each, "display") != "false":
            for part in reader.parts(each, kind):
                if part.text not in seen:
                    seen.add(part.text)
                    yield part


def _title(package: Package) -> str:
    if "meta.xml" not in package:
        return ""
    return "".join((each.text or "") for each in package.xml("meta.xml").iter() if tag(each) == "dc:title").strip()
