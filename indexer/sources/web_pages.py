"""HTML: the text that a browser would show, with a line a block."""

import re
from collections.abc import Iterator
from typing import Final

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PageElement, PreformattedString, Tag

from indexer.sources.documents import checked_id, checked_metadata, checked_text
from indexer.sources.records import Found, Reading
from models.types import Document, JsonValue, Part

_HIDDEN: Final = frozenset({"head", "script", "style", "template", "noscript", "svg", "iframe", "object"})
_INLINE_NAMES: Final = """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q s samp small span strike
    strong sub sup time tt u var wbr
"""
_INLINE: Final = frozenset(_INLINE_NAMES.split())
_SPACE: Final = re.compile(r"\s+")


def read_page(reading: Reading) -> Iterator[Found]:
    """A page is one document, with its title as metadata."""
    yield 1, lambda: _document(reading)


def _document(reading: Reading) -> Document:
    page = BeautifulSoup(reading.whole(), "html.parser", from_encoding=reading.options.encoding)
    title = _SPACE.sub(" ", page.title.get_text()).strip() if page.title else ""
    metadata: dict[str, JsonValue] = {"title": title} if title else {}
    text = checked_text(page_text(page))
    return Document(checked_id(reading.document_id), (Part(text),), checked_metadata(metadata))


def page_text(page: Tag) -> str:
    """The text of a page: white space as a browser shows it, a line break between blocks.

    >>> page_text(BeautifulSoup("<p>One <b>two</b></p><ul><li>three<li>four</ul>", "html.parser"))
    'One two\\nthree\\nfour'
    """
    pieces: list[str] = []
    for element, is_end in _walk(page):
        if isinstance(element, Tag):
            if element.name == "br" or element.name not in _INLINE:
                pieces.append("\n")
        elif not is_end and type(element) is NavigableString:
            is_preformatted = element.find_parent("pre") is not None
            pieces.append(str(element) if is_preformatted else _SPACE.sub(" ", str(element)))
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in "".join(pieces).split("\n"))
    return "\n".join(line for line in lines if line)


def _walk(root: Tag) -> Iterator[tuple[PageElement, bool]]:
    """The elements in the order of the page, tags at their start and at their end. Not recursive: pages nest deeply."""
    stack: list[tuple[PageElement, bool]] = [(root, False)]
    while stack:
        element, is_end = stack.pop()
        yield element, is_end
        if isinstance(element, Tag) and not is_end:
            stack.append((element, True))
            stack.extend(
                (child, False)
                for child in reversed(element.contents)
                if not isinstance(child, PreformattedString) and not (isinstance(child, Tag) and child.name in _HIDDEN)
            )
