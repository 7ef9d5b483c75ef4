"""A Word file as a document: its headers, its body with notes and boxes, and its footers."""

from collections.abc import Iterator
from typing import Final

from indexer.sources.records import COMMENTS, Reading, one_document
from models.types import Document, Part
from spanseek_files.compose import Headings, composed
from spanseek_files.isolated import isolated
from spanseek_files.packages import Element, Package, attribute, branch, child, is_on, tag
from spanseek_files.word.inline import Omissions
from spanseek_files.word.numbering import Numbering
from spanseek_files.word.story import Shared, Story
from spanseek_files.word.styles import Styles

_NOTES: Final = {"footnote": "footnotes", "endnote": "endnotes", "comment": "comments"}


@isolated("a Word file", "lxml.etree")
@one_document
def read_word(reading: Reading) -> Document:
    """A Word file is one document: what Word shows in its final view, a part a paragraph or a row of a table.

    ``section`` of a part's metadata holds the headings above it, and ``kind`` says what is not of the body: header,
    footer, footnote, endnote, text box, diagram, chart, comment.
    """
    word = Word(Package(reading.whole()), with_comments=reading.options.comments)
    parts = list(word.parts())
    word.report(reading)
    return composed(reading, parts, {"title": word.title})


class Word:
    """The stories of a Word file."""

    def __init__(self, package: Package, *, with_comments: bool = False) -> None:
        self._package = package
        self._main = package.target("", "officeDocument") or "word/document.xml"
        self._root = package.xml(self._main)
        self._links = package.relations(self._main)
        self._with_comments = with_comments
        self._comments = 0
        styles = Styles(self._linked("styles"))
        self._shared = Shared(styles, Numbering(self._linked("numbering"), styles), self._beside)
        self._notes = {kind: self._by_id(name) for kind, name in _NOTES.items()}
        self._seen: set[str] = set()
        self.title = package.title()

    def parts(self) -> Iterator[Part]:
        """Headers, the body, and footers, as parts."""
        yield from self._margins("w:headerReference", "header")
        yield from Story(self._root, self._shared).parts()
        self._shared.headings = Headings()
        yield from self._margins("w:footerReference", "footer")

    def report(self, reading: Reading) -> None:
        """Say what was left out."""
        omissions: Omissions = self._shared.omissions
        reading.lose(omissions.objects, "embedded object")
        reading.lose(omissions.controls, "form control")
        reading.lose(omissions.imports, "imported file")
        reading.note(omissions.hidden_words, "words of hidden text are left out")
        reading.note(omissions.symbols, "signs of symbol fonts have no letter and are left out")
        reading.note(self._comments, COMMENTS)

    def _linked(self, kind: str) -> Element | None:
        name = next((link.target for link in self._links.values() if link.kind == kind), None)
        return self._package.xml(name) if name is not None and name in self._package else None

    def _by_id(self, name: str) -> dict[str, Element]:
        root = self._linked(name)
        shown = () if root is None else [each for each in root if "eparator" not in (attribute(each, "type") or "")]
        return {attribute(each, "id") or "": each for each in shown}

    def _beside(self, kind: str, element: Element) -> Iterator[Part]:
        """The parts of what stands beside a paragraph."""
        if kind == "text box":
            yield from Story(element, self._shared, kind).parts()
        elif kind in ("diagram", "chart"):
            yield from self._drawing(kind, element)
        elif kind == "comment" and not self._with_comments:
            self._comments += 1
        else:
            note = self._notes[kind].pop(attribute(element, "id") or "", None)
            if note is not None:
                yield from Story(note, self._shared, kind).parts()

    def _drawing(self, kind: str, element: Element) -> Iterator[Part]:
        """The texts of a diagram or of a chart, which are parts of the package."""
        link = self._links.get(attribute(element, "dm" if kind == "diagram" else "id") or "")
        if link is None or link.target not in self._package:
            return
        for text in drawn_texts(self._package.xml(link.target)):
            yield Part(text, self._shared.headings.metadata(kind))

    def _margins(self, name: str, kind: str) -> Iterator[Part]:
        """Headers or footers of all sections, each text once; of first and of even pages if they are shown."""
        settings = self._linked("settings")
        even = settings is not None and is_on(child(settings, "w:evenAndOddHeaders"))
        for section in self._root.iter():
            if tag(section) != "w:sectPr" or tag(section.getparent()) == "w:sectPrChange":
                continue
            shown = {"default", *(["even"] if even else []), *(["first"] if is_on(child(section, "w:titlePg")) else [])}
            for each in section:
                if tag(each) == name and (attribute(each, "type") or "default") in shown:
                    yield from self._margin(attribute(each, "id") or "", kind)

    def _margin(self, link_id: str, kind: str) -> Iterator[Part]:
        link = self._links.get(link_id)
        if link is None or link.target not in self._package or link.target in self._seen:
            return
        self._seen.add(link.target)
        body, self._links = self._links, self._package.relations(link.target)
        for part in Story(self._package.xml(link.target), self._shared, kind).parts():
            if part.text not in self._seen:
                self._seen.add(part.text)
                yield part
        self._links = body


def drawn_texts(root: Element) -> Iterator[str]:
    """The texts of a diagram's or chart's part, a paragraph or a label each; charts of newer files are ``cx``.

    Categories that several series share are read once.
    """
    seen: set[tuple[str, ...]] = set()
    for each in _shown(root):
        if tag(each) == "c:cat":
            categories = tuple(_categories(each))
            if categories not in seen:
                seen.add(categories)
                yield from categories
            continue
        if tag(each) == "a:p":
            text = "".join(inner.text or "" for inner in each.iter() if tag(inner) == "a:t").strip()
        elif _is_label(each):
            text = (each.text or "").strip()
        else:
            continue
        if text:
            yield text


def _shown(root: Element) -> Iterator[Element]:
    """An element and all below it but categories and formats, which repeat texts; one of several alternatives."""
    yield root
    if tag(root) == "c:cat":
        return
    for each in branch(root) if tag(root) == "mc:AlternateContent" else root:
        if tag(each) != "cx:txPr":
            yield from _shown(each)


def _categories(element: Element) -> Iterator[str]:
    """The categories of a series, at all their levels; numbers as they are, such as years, but not in a format."""
    form = next((each.text for each in element.iter() if tag(each) == "c:formatCode"), None)
    texts = (each.text or "" for each in element.iter() if tag(each) == "c:v" and form in (None, "General"))
    yield from filter(None, map(str.strip, texts))


def _is_label(element: Element) -> bool:
    if tag(element) == "c:v":
        return tag(element.getparent().getparent()) == "c:strCache"
    if tag(element) == "cx:pt":
        return tag(element.getparent().getparent()) == "cx:strDim"
    return tag(element) == "cx:v"
