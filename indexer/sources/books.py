"""EPUB: the chapters in their order."""

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from indexer.errors import InvalidDocument
from indexer.sources.compose import composed, guarded_parser
from indexer.sources.packages import Package, attribute, tag
from indexer.sources.records import Found, Reading
from indexer.sources.web_pages import page_text, parsed_page
from models.types import Document, Part


def read_book(reading: Reading) -> Iterator[Found]:
    """A book is one document: a part a block of a chapter, with the chapter's title or number as ``section``."""
    yield 1, lambda: _document(reading)


@guarded_parser("an EPUB")
def _document(reading: Reading) -> Document:
    package = Package(reading.whole())
    if "META-INF/encryption.xml" in package and b"http://www.w3.org/2001/04/xmlenc#aes" in package.read(
        "META-INF/encryption.xml"
    ):
        raise InvalidDocument("the book is encrypted")
    roots = [each for each in package.xml("META-INF/container.xml").iter() if tag(each) == "container:rootfile"]
    name = attribute(roots[0], "full-path") or ""
    root = package.xml(name)
    items = {attribute(each, "id"): attribute(each, "href") or "" for each in root.iter() if tag(each) == "opf:item"}
    titles = [each.text or "" for each in root.iter() if tag(each) == "dc:title"]
    parts: list[Part] = []
    for each in root.iter():
        if tag(each) == "opf:itemref":
            href = items.get(attribute(each, "idref"), "")
            parts += _chapter(package, posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(href))))
    return composed(reading, parts, {"title": "".join(titles[:1]).strip()})


def _chapter(package: Package, name: str) -> Iterator[Part]:
    if name not in package:
        return
    page = parsed_page(package.read(name))
    heading = page.find(["h1", "h2", "h3"])
    title = " ".join(heading.get_text(" ").split()) if heading else ""
    for line in page_text(page).split("\n"):
        if line:
            yield Part(line, {"section": [title]} if title else {})
