"""HTML: the text that a browser would show, with a line a block."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from bs4.dammit import EncodingDetector
from bs4.element import NavigableString, PageElement, PreformattedString, RubyTextString, Tag

from indexer.errors import InvalidDocument, NoText
from indexer.sources.documents import checked_id, checked_metadata, checked_text
from indexer.sources.encodings import decoded, errors_of, labelled_codec
from indexer.sources.page_tree import PageTree
from indexer.sources.records import Reading, one_document
from indexer.sources.style_sheets import StyleSheets
from models.types import Document, JsonValue, Part

_HIDDEN_NAMES: Final = """
    annotation annotation-xml area audio canvas datalist desc iframe metadata noframes noscript object rp script
    style template title video
"""
_HIDDEN: Final = frozenset(_HIDDEN_NAMES.split())
_INLINE_NAMES: Final = """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q rb rt rtc ruby s samp small
    span strike strong sub sup time tspan tt u var wbr
"""
# A page that says so is read as ASCII first, so it is no UTF-16.
_UTF_16: Final = ("utf-16", "utf-16le", "utf-16be")
_FIELDS: Final = ("text", "search", "email", "url", "tel", "number", "submit", "button", "date")
_INLINE: Final = frozenset(_INLINE_NAMES.split())
_SPACE: Final = re.compile(r"\s+")
_OPEN_TAG: Final = re.compile(r"<[A-Za-z][^<>]*")
_MAX_TAGS: Final = 600_000
_MAX_ATTRIBUTES: Final = 400_000


@one_document
def read_page(reading: Reading) -> Document:
    """A page is one document, with its title as metadata."""
    page = parsed_page(_decoded(reading))
    title = _SPACE.sub(" ", page.title.get_text()).strip() if page.title else ""
    metadata: dict[str, JsonValue] = {"title": title} if title else {}
    text = checked_text(page_text(page))
    if not text:
        raise NoText("the page holds no text")
    return Document(checked_id(reading.document_id), (Part(text),), checked_metadata(metadata))


def parsed_page(text: str | bytes) -> PageTree:
    """A page as a tree.

    Raises ``InvalidDocument`` for one of too many tags or attributes: every element takes a kilobyte.
    """
    markup = text if isinstance(text, str) else text.decode("latin-1")
    if markup.count("<") > _MAX_TAGS:
        raise InvalidDocument(f"a page has more than {_MAX_TAGS:,} tags")
    if sum(tag.group().count("=") for tag in _OPEN_TAG.finditer(markup)) > _MAX_ATTRIBUTES:
        raise InvalidDocument(f"a page has more than {_MAX_ATTRIBUTES:,} attributes")
    return PageTree(text, "html.parser")


def _decoded(reading: Reading) -> str:
    """The page in the encoding that is given, that its first bytes or itself declare, or that its bytes are of."""
    data = reading.whole()
    start, marked = EncodingDetector.strip_byte_order_mark(data)
    declared = EncodingDetector.find_declared_encoding(start, is_html=True)
    declared = "utf-8" if declared in _UTF_16 else declared
    named = reading.options.encoding or marked or (declared and labelled_codec(declared))
    if named:
        return start.decode(named, errors_of(named, "replace"))
    text, encoding = decoded(data)
    if encoding.codec != "utf-8-sig":
        reading.notice = f"no encoding is declared: read as {encoding}"
    return text


def page_text(page: Tag) -> str:
    """The text of a page: white space as a browser shows it, a line break between blocks.

    >>> page_text(parsed_page("<p>One <b>two</b></p><ul><li>three<li hidden>four<li>five</ul>"))
    'One two\\nthree\\nfive'
    """
    return "\n".join(line for line in page_lines(page) if line)


def page_lines(page: Tag) -> list[str]:
    """The lines of a page as a browser shows them, with empty ones between blocks."""
    pieces: list[str] = []
    preformatted = 0
    sheets = StyleSheets(_sheets(page))
    for element, is_end in _walk(page, lambda each: each.name in _HIDDEN or sheets.hides(each)):
        if isinstance(element, Tag):
            pieces.append(_around(element, is_end=is_end))
            preformatted += (-1 if is_end else 1) * (element.name == "pre")
        elif not is_end and type(element) in (NavigableString, RubyTextString):
            pieces.append(str(element) if preformatted else _SPACE.sub(" ", str(element)))
    return [re.sub(r"[ \t]+", " ", line).strip() for line in "".join(pieces).split("\n")]


def _sheets(page: Tag) -> Iterator[Tag]:
    """The style sheets that browsers apply."""
    for element, is_end in _walk(page, lambda each: each.name in ("noscript", "template")):
        if isinstance(element, Tag) and element.name == "style" and not is_end:
            yield element


def _around(element: Tag, *, is_end: bool) -> str:
    """The text that the start or the end of an element adds."""
    if element.name == "rt":
        return ")" if is_end else "("
    if element.name == "input":
        is_shown = not is_end and str(element.get("type", "text")).lower() in _FIELDS
        return f" {element.get('value', '')} " if is_shown else ""
    if element.name == "br":
        return "" if is_end else "\n"
    return "" if element.name in _INLINE else "\n\n"


def _walk(root: Tag, leaves_out: Callable[[Tag], bool]) -> Iterator[tuple[PageElement, bool]]:
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
                if not isinstance(child, PreformattedString) and not (isinstance(child, Tag) and leaves_out(child))
            )
