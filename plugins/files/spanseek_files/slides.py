"""PowerPoint files: the slides in their order, with their notes."""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from indexer.sources.records import COMMENTS, Reading, one_document
from models.types import Document, Part
from spanseek_files.compose import composed
from spanseek_files.isolated import isolated
from spanseek_files.packages import Element, Package, Relation, attribute, child, tag
from spanseek_files.word.numbering import Numbering
from spanseek_files.word.reader import drawn_texts
from spanseek_files.word.story import Shared, Story, nearest
from spanseek_files.word.styles import Styles

_DRAWN: Final = {"dgm:relIds": "diagram", "c:chart": "chart", "cx:chart": "chart"}
# Comments of older files, and those of newer ones with their replies.
_COMMENTS: Final = ("p:cm", "p188:cm", "p188:reply")
_COMMENT_TEXTS: Final = ("p:text", "p188:txBody")
# Placeholders of notes that repeat the slide or its number.
_REPEATED: Final = ("sldNum", "dt", "ftr", "hdr", "sldImg")


@isolated("a PowerPoint file", "lxml.etree")
@one_document
def read_slides(reading: Reading) -> Document:
    """A presentation is one document: a part a paragraph or a row of a table, with ``slide`` from 1 and ``kind``."""
    package = Package(reading.whole())
    main = package.target("", "officeDocument") or "ppt/presentation.xml"
    links = package.relations(main)
    slides = child(package.xml(main), "p:sldIdLst")
    ids = [_link_id(each) for each in (() if slides is None else slides)]
    names = [links[each].target for each in ids if each in links]
    parts = [part for number, name in enumerate(names, 1) for part in _slide(package, name, number, reading)]
    comments = [*chain.from_iterable(_comments(package, name, number) for number, name in enumerate(names, 1))]
    if reading.options.comments:
        parts += comments
    else:
        reading.note(len(comments), COMMENTS)
    return composed(reading, parts, {"title": package.title()})


def _link_id(slide: Element) -> str:
    """The id of the link, not of the slide."""
    return next((value for key, value in slide.attrib.items() if key.endswith("}id")), "")


def _slide(package: Package, name: str, number: int, reading: Reading) -> Iterator[Part]:
    links = package.relations(name)
    root = package.xml(name)
    for part in _story(package, root, links):
        yield Part(part.text, {"slide": number, **part.metadata})
    objects = sum(1 for _ in nearest(root, frozenset({"p:oleObj"})))
    reading.lose(objects, "embedded object", f" on slide {number:,}")
    notes = package.target(name, "notesSlide")
    if notes is not None:
        for part in _story(package, _without_repeated(package.xml(notes)), links):
            yield Part(part.text, {"slide": number, "kind": "notes"})


def _comments(package: Package, name: str, number: int) -> Iterator[Part]:
    """The comments of a slide and the replies to them."""
    found = {link.target for link in package.relations(name).values() if link.kind == "comments"}
    for each in chain.from_iterable(package.xml(target).iter() for target in sorted(found) if target in package):
        if tag(each) in _COMMENTS:
            texts = [inner for inner in each if tag(inner) in _COMMENT_TEXTS]
            text = "\n".join(filter(None, map(_comment_text, texts)))
            yield from [Part(text, {"slide": number, "kind": "comment"})] if text else []


def _comment_text(element: Element) -> str:
    if tag(element) == "p:text":
        return (element.text or "").strip()
    paragraphs = (each for each in element.iter() if tag(each) == "a:p")
    return "\n".join("".join(run.text or "" for run in each.iter() if tag(run) == "a:t") for each in paragraphs).strip()


def _story(package: Package, root: Element, links: dict[str, Relation]) -> Iterator[Part]:
    """The texts of all shapes in their order, each in its place, and of diagrams and charts."""

    def beside(kind: str, element: Element) -> Iterator[Part]:
        yield from Story(element, shared).parts()

    styles = Styles(None)
    shared = Shared(styles, Numbering(None, styles), beside)
    yield from Story(root, shared).parts()
    for each in nearest(root, frozenset(_DRAWN)):
        kind = _DRAWN[tag(each)]
        link = links.get(attribute(each, "dm" if kind == "diagram" else "id") or "")
        if link is not None and link.target in package:
            yield from (Part(text, {"kind": kind}) for text in drawn_texts(package.xml(link.target)))


def _without_repeated(root: Element) -> Element:
    for shape in [each for each in root.iter() if tag(each) == "p:sp"]:
        holder = next((each for each in shape.iter() if tag(each) == "p:ph"), None)
        if holder is not None and attribute(holder, "type") in _REPEATED:
            shape.getparent().remove(shape)
    return root
