"""EPUB: the chapters in their order."""

import posixpath
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from bs4.element import Tag

from indexer.errors import InvalidDocument
from indexer.sources.records import Reading, one_document
from indexer.sources.web_pages import page_text, parsed_page
from models.types import Document, Part
from spanseek_files.compose import composed
from spanseek_files.isolated import isolated
from spanseek_files.packages import Package, attribute, tag
from spanseek_files.word.numbering import formatted

_FORMS: Final = {
    **dict.fromkeys(("a", "lower-alpha", "lower-latin"), "lowerLetter"),
    **dict.fromkeys(("A", "upper-alpha", "upper-latin"), "upperLetter"),
    **dict.fromkeys(("i", "lower-roman"), "lowerRoman"),
    **dict.fromkeys(("I", "upper-roman"), "upperRoman"),
    **dict.fromkeys(("1", "decimal"), "decimal"),
    "decimal-leading-zero": "decimalZero",
}
_STYLE: Final = re.compile(r"list-style(?:-type)?\s*:\s*([a-z-]+)")
_BLOCKS: Final = ("p", "div", "section")


@isolated("an EPUB", "lxml.etree")
@one_document
def read_book(reading: Reading) -> Document:
    """A book is one document: a part a block of a chapter, with the chapter's title or number as ``section``."""
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
    hrefs = [items.get(attribute(each, "idref"), "") for each in root.iter() if tag(each) == "opf:itemref"]
    chapters = [posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(href))) for href in hrefs]
    # A book names each chapter once; one that does not would be longer than its file allows.
    once = dict.fromkeys(chapters)
    missing = [chapter for chapter in once if chapter not in package]
    if missing:
        reading.lose(len(missing), "chapter", f" that the file lacks ({missing[0]})")
    parts = [part for chapter in once if chapter in package for part in _chapter(package, chapter)]
    return composed(reading, parts, {"title": "".join(titles[:1]).strip()})


def _chapter(package: Package, name: str) -> Iterator[Part]:
    page = parsed_page(package.read(name))
    for each in page.find_all("ol"):
        if each.find_parent("nav") is None:
            _number(each)
    heading = page.find(["h1", "h2", "h3"])
    title = " ".join(heading.get_text(" ").split()) if heading else ""
    for line in page_text(page).split("\n"):
        if line:
            yield Part(line, {"section": [title]} if title else {})


def _number(ordered: Tag) -> None:
    """Put the numbers of an ordered list before its items, which pages do not hold as text."""
    styled = _STYLE.search(str(ordered.get("style", "")))
    form = _FORMS.get(styled[1] if styled else str(ordered.get("type", "1")))
    if form is None:
        return
    items = ordered.find_all("li", recursive=False)
    step = -1 if ordered.has_attr("reversed") else 1
    number = _integer(ordered, "start", len(items) if step < 0 else 1)
    for item in items:
        number = _integer(item, "value", number)
        _first_block(item).insert(0, f"{formatted(number, form)}. ")
        number += step


def _integer(element: Tag, name: str, otherwise: int) -> int:
    value = str(element.get(name, ""))
    return int(value) if re.fullmatch(r"-?[0-9]{1,9}", value) else otherwise


def _first_block(item: Tag) -> Tag:
    """The paragraph that an item begins with, or the item."""
    first = next((each for each in item.contents if isinstance(each, Tag) or str(each).strip()), None)
    return _first_block(first) if isinstance(first, Tag) and first.name in _BLOCKS else item
